"""Shapes of conversations, for the command line and the HTTP server."""

from __future__ import annotations

from typing import Annotated

import knotwork._shapes.results  # noqa: F401  the shapes of answers
from knotwork._extensions.agents.chat import ChatResponse, MemoryOffer, MemoryUpdate
from knotwork._extensions.agents.fact_memory import RememberedFact
from knotwork._shapes.base import Shape

FACT = Shape(
    "FactShape",
    RememberedFact,
    "A remembered fact. Times have the precision that was stated: 2021, 2021-05, 2021-05-14.",
    "id subject relation object since until=valid_to source sentence",
    since=(
        Annotated[str | None, "Null if only the end is known."],
        lambda fact: fact.valid_from or None,
    ),
    until=Annotated[str | None, "Null while the fact is valid."],
    source=Annotated[str, "Where it was stated."],
    sentence=Annotated[
        str, 'The fact as a sentence that calls the user "you", without its times and a full stop.'
    ],
)
OFFER = Shape(
    "OfferShape",
    MemoryOffer,
    "Facts of a statement that are stored only if somebody accepts the offer; ``ended`` are known "
    "facts that it ends.",
)
MEMORY_UPDATE = Shape(
    "MemoryUpdateShape",
    MemoryUpdate,
    "The facts that a statement added and ended. ``note`` says why nothing was stored, or why a "
    "model did not read the statement. Unless ``saved``, the changes are lost when the "
    "conversation ends. ``tokens`` are those that a model used to read the statement.",
)
CHAT_REPLY = Shape(
    "ChatReplyShape",
    ChatResponse,
    "The reply to a message of a conversation: what it asked, what it stated, or both. ``told`` is "
    "what a message that asks to be remembered has changed. ``remembered`` are facts about the "
    "names of the question; the answer cites some of them in ``memory``.",
    "message understood answer told offer remembered",
    understood=(
        Annotated[str, 'The question made standalone, or "" without a question.'],
        lambda reply: reply.evidence.query.text if reply.evidence else "",
    ),
)
