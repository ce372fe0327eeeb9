"""What the readers of questions know of a language, and the parts into which they divide one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
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

    def match(self, text: str) -> re.Match[str] | None:
        """Return the match at the start of a text."""
        return self.form.match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the match of a whole text."""
        return self.form.fullmatch(text)

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
    ``text`` is a phrase that ends with a word for texts behind the group ``rest``, ``titled`` one
    that is or names a text, ``whole`` one that means all documents; ``determiner`` names no text by
    itself. ``bare`` names nothing, and a request with a ``fact`` is no summary.
    """

    text: Words
    titled: Words
    whole: Words
    determiner: Words
    rankings: Sequence[Words]
    mentions: Sequence[Words]
    listings: Sequence[Words]
    bare: Words
    summary: Words
    said: Sequence[Words]
    about: Sequence[Words]
    tell: Words
    tell_all: Words
    fact: Words


@dataclass(frozen=True)
class Language:
    """The words by which a language asks and points, in simplified characters and any case.

    ``yes_no`` to ``where`` are questions for a value of that kind, ``relations`` for a thing and
    its relations. ``pronoun`` is what a sentence begins with that stands for a name, in a group
    named after its kind.
    """

    scopes: ScopeWords
    asks_what_many_say: Callable[[str], bool]
    relations: Words
    yes_no: Words
    amount: Words
    default: Words
    date: Words
    name: Words
    who: Words
    when: Words
    where: Words
    pronoun: Words


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One of the questions in a compound question.

    ``asked`` is its own wording, ``text`` can be understood without the other parts.
    """

    asked: str
    text: str


@dataclass(frozen=True, slots=True)
class DividedQuestion:
    """The parts of a compound question, in order.

    ``compared`` are the two names of a comparison; empty for any other question.
    """

    parts: tuple[SubQuestion, ...]
    compared: tuple[str, ...] = ()
