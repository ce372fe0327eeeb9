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
    """What the documents say about ``subject``."""
    THING = "thing"
    """What they say about the entity ``subject``: a language model gets the graph around it, not
    community reports."""
    RANKING = "ranking"
    """The entities of a type, by how often they are mentioned; ``subject`` is the word for them."""
    STEPS = "steps"
    """The steps of ``subject``, or what has to be decided for it, in order."""
    MENTIONS = "mentions"
    """How often, and where, ``subject`` is mentioned."""


@dataclass(frozen=True, slots=True)
class QuestionScope:
    """What a question asks for. See `ScopeKind` for ``subject``.

    ``named`` is a phrase that may name a document or section, which is then summarised, or searched
    for the topic. A scope that is not ``is_sure`` holds only if there is such a document. ``limit``
    is the number of entities asked for, 0 if none is stated. ``by_importance`` asks for important
    entities rather than for those mentioned often.
    """

    kind: ScopeKind
    subject: str = ""
    named: str = ""
    is_sure: bool = True
    limit: int = 0
    by_importance: bool = False

    @property
    def needs_communities(self) -> bool:
        """Whether the answer is composed from communities."""
        return self.kind is ScopeKind.WHOLE or self.by_importance


_QUOTED = re.compile("^[《“「『]([^》”」』]+)[》”」』]")
_MENTIONED_OFTEN = re.compile(r"mention|nam|cit|refer|discuss|common|frequent")


def read_count(
    text: str, rankings: tuple[re.Pattern[str], ...], mentions: tuple[re.Pattern[str], ...]
) -> QuestionScope | None:
    """Return the scope of a counting question by the patterns of a language; else None."""
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
    """Return a phrase without surrounding quotes."""
    quoted = _QUOTED.match(phrase)
    return quoted[1] if quoted else phrase.strip(" \"'“”‘’「」『』")


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
