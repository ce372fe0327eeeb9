"""What the readers of questions know of a language: one object each for English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property


class Words:
    """A pattern of words in any case, which is compiled when it is first looked for."""

    def __init__(self, *forms: str) -> None:
        self._forms = forms

    @cached_property
    def form(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile("|".join(self._forms), re.IGNORECASE)

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match in a text."""
        return self.form.search(text)

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        """Return the match at the start of a text, or at an offset."""
        return self.form.match(text, start)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the match of a whole text."""
        return self.form.fullmatch(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield all matches in a text."""
        return self.form.finditer(text)

    def sub(self, text: str) -> str:
        """Return a text without its matches."""
        return self.form.sub("", text)


NOTHING = Words(r"(?!)")
"""Words that no text has."""


@dataclass(frozen=True)
class ScopeWords:
    """How questions ask about a whole, a document, a topic or a number.

    Forms with the group ``target`` match a text or a topic, forms with ``subject`` and ``where`` a
    topic and the texts about it. ``noun`` and ``other`` are words for what is ranked or listed.
    """

    text: Words
    """A phrase that ends with a word for texts, behind the group ``rest``."""
    titled: Words
    """A phrase that is or names a text."""
    whole: Words
    """A phrase that means all documents."""
    determiner: Words
    """What a phrase may begin with that names no text by itself."""
    rankings: Sequence[Words]
    mentions: Sequence[Words]
    listings: Sequence[Words]
    bare: Words
    """Questions about the whole that name nothing."""
    summary: Words
    said: Sequence[Words]
    about: Sequence[Words]
    tell: Words
    """Requests to describe a ``target``, which is a text or a thing."""
    tell_all: Words
    """Requests for all about a ``subject``, which is a thing."""
    fact: Words
    """Words that ask for one fact; a request with them is no summary."""


@dataclass(frozen=True)
class ExtentWords:
    """How questions without a scope ask what many say, or about a thing and its relations."""

    general: Callable[[str], bool]
    about: Words


@dataclass(frozen=True)
class Language:
    """The words by which a language asks, compares, counts and points.

    All match simplified characters and any case.
    """

    code: str
    scopes: ScopeWords
    extents: ExtentWords
    yes_no: Words
    amount: Words
    """A question for an amount."""
    default: Words
    """A question for a default value."""
    date: Words
    """A question for a date."""
    name: Words
    """A question for a name."""
    who: Words
    when: Words
    where: Words
    pronoun: Words
    """What a sentence begins with that stands for a name, in a group named after its kind."""
