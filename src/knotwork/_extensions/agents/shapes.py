"""Shapes of conversations in JSON, for the command line and the HTTP server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knotwork._shapes.answers import AnswerShape
from knotwork._shapes.base import Shape

if TYPE_CHECKING:
    from knotwork._extensions.agents.chat import ChatResponse
    from knotwork._extensions.agents.fact_memory import RememberedFact


@dataclass(frozen=True, slots=True, kw_only=True)
class FactShape(Shape):
    """A remembered fact. Times have the precision that was stated: 2021, 2021-05, 2021-05-14."""

    id: str
    subject: str
    relation: str
    object: str
    since: str | None
    """Null if only the end is known."""
    until: str | None
    """Null while the fact is valid."""
    source: str
    """Where it was stated."""
    sentence: str
    """The fact as a sentence that calls the user "you", without its times and a full stop."""

    @classmethod
    def derived(cls, record: RememberedFact) -> dict[str, Any]:
        return {"since": record.valid_from or None, "until": record.valid_to}


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferShape(Shape):
    """Facts of a statement that are stored only if somebody accepts the offer."""

    id: str
    statement: str
    facts: tuple[FactShape, ...]
    ended: tuple[FactShape, ...]
    """Known facts that the statement ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUpdateShape(Shape):
    """The facts that a statement added and ended."""

    learned: tuple[FactShape, ...]
    ended: tuple[FactShape, ...]
    note: str
    """Why nothing was stored, or why a model did not read the statement."""
    saved: bool
    """False if the changes are lost when the conversation ends."""
    tokens: int
    """The tokens that a language model used to read the statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReplyShape(Shape):
    """The reply to a message of a conversation: what it asked, what it stated, or both."""

    message: str
    understood: str
    """The question made standalone, or "" without a question."""
    answer: AnswerShape | None
    told: MemoryUpdateShape | None
    """What a message that asks to be remembered has changed."""
    offer: OfferShape | None
    remembered: tuple[FactShape, ...]
    """The facts about the names of the question; the answer cites some of them in `memory`."""

    @classmethod
    def derived(cls, record: ChatResponse) -> dict[str, object]:
        return {"understood": record.evidence.query.text if record.evidence else ""}
