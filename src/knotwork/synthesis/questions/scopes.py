"""The scope of a question (documents, a topic, a number), or the sub-questions it consists of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class ScopeKind(StrEnum):
    """What is summarised or counted."""

    WHOLE = "whole"
    """All documents."""
    PART = "part"
    """A document or a section."""
    TOPIC = "topic"
    """What is said about ``subject``."""
    THING = "thing"
    """The same of the thing that ``subject`` names: a language model is given the graph around it,
    not reports of communities."""
    RANKING = "ranking"
    """The entities of a type, by how often they are mentioned; ``subject`` is the word for them."""
    STEPS = "steps"
    """What is done, or has to be settled, for ``subject``, in order."""
    MENTIONS = "mentions"
    """How often, and where, ``subject`` is mentioned."""


@dataclass(frozen=True, slots=True)
class QuestionScope:
    """What a question asks for. See `ScopeKind` for ``subject``.

    ``named`` is a phrase that may name a document or a section: this is then summarised, or what is
    said about a topic is taken from it. A scope that is not ``is_sure`` needs such a document.
    ``limit`` is a number of entities that the question asks for, 0 for none. ``by_importance`` asks
    for important entities rather than for those mentioned often.
    """

    kind: ScopeKind
    subject: str = ""
    named: str = ""
    is_sure: bool = True
    limit: int = 0
    by_importance: bool = False

    @property
    def needs_communities(self) -> bool:
        """Whether the answer is made from communities."""
        return self.kind is ScopeKind.WHOLE or self.by_importance


_QUOTED = re.compile("^[《“「『]([^》”」』]+)[》”」』]")
_MENTIONED_OFTEN = re.compile(r"mention|nam|cit|refer|discuss|common|frequent")


def read_count(
    text: str, rankings: tuple[re.Pattern[str], ...], mentions: tuple[re.Pattern[str], ...]
) -> QuestionScope | None:
    """Return the scope of a question that counts, by the forms of a language."""
    for form in rankings:
        if found := form.search(text):
            parts = found.groupdict()
            most = (parts.get("most") or "").casefold()
            return QuestionScope(
                ScopeKind.RANKING,
                parts["noun"].casefold(),
                limit=int(parts.get("limit") or 0),
                by_importance=bool(most) and not _MENTIONED_OFTEN.search(most),
            )
    for form in mentions:
        if found := form.match(text):
            return QuestionScope(ScopeKind.MENTIONS, bare_name(found["subject"]))
    return None


def bare_name(phrase: str) -> str:
    """Return a phrase without the quotes around it."""
    quoted = _QUOTED.match(phrase)
    return quoted[1] if quoted else phrase.strip(" \"'“”‘’「」『』")


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One of the questions that a question consists of.

    ``asked`` has its own words, ``text`` can be understood without the other parts.
    """

    asked: str
    text: str


@dataclass(frozen=True, slots=True)
class DividedQuestion:
    """The parts of a question, in its order.

    ``compared`` are the two things that a comparison is about, else it is empty.
    """

    parts: tuple[SubQuestion, ...]
    compared: tuple[str, ...] = ()
