"""Read a model's reply to a question: an answer with its citations, or no answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from knotwork.errors import Unparsable
from knotwork.inference.chat import ChatReply
from knotwork.synthesis.checking import check_reply
from knotwork.synthesis.marks import ReplyReader
from knotwork.synthesis.messages import no_answer
from knotwork.synthesis.packing import Passage
from knotwork.synthesis.selection import Selected

CUT_OFF = "The reply was cut off at its limit of tokens."

_NOISE = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A reply that can be used. ``is_unknown`` says that the passages hold no answer."""

    text: str
    cited: tuple[Selected, ...]
    notes: tuple[str, ...]
    is_unknown: bool
    reply: ChatReply


def parse_reply(
    reply: ChatReply, passages: Sequence[Passage], *, question: str, unknown: str
) -> ParsedReply:
    """Return what a reply says; ``unknown`` is the sentence agreed on for "I don't know".

    Raises Unparsable for one that is empty, withheld, or cites no passage at all: nothing in it
    can be traced to a source.
    """
    if reply.finish_reason == "filter":
        raise Unparsable("The reply was withheld by the server.")
    if not reply.text.strip():
        raise Unparsable("The reply is empty.")
    reader = ReplyReader({passage.number: passage for passage in passages})
    reader.feed(reply.text.strip())
    reader.finish()
    if means_unknown(reader.plain, unknown, is_cited=bool(reader.cited)):
        return ParsedReply("", (), (), is_unknown=True, reply=reply)
    if not reader.cited:
        raise Unparsable("The reply cites none of the passages it was given.")
    notes = check_reply(reader, passages, question=question)
    if reply.finish_reason == "length":
        notes = (*notes, CUT_OFF)
    return ParsedReply(
        reader.text.strip(), tuple(reader.cited), notes, is_unknown=False, reply=reply
    )


def means_unknown(plain: str, unknown: str, *, is_cited: bool) -> bool:
    """Return whether a reply without its marks says that there is no answer.

    It does when it begins with the agreed sentence, in either language, or has it anywhere without
    citing anything.
    """
    said = _bare(plain)
    phrases = [_bare(phrase) for phrase in {unknown, no_answer("en"), no_answer("zh")}]
    if any(said.startswith(phrase) for phrase in phrases):
        return True
    return not is_cited and any(phrase in said for phrase in phrases)


def may_become_unknown(plain: str, unknown: str) -> bool:
    """Return whether the beginning of a reply may still turn out to say that there is no answer."""
    said = _bare(plain)
    phrases = [_bare(phrase) for phrase in {unknown, no_answer("en"), no_answer("zh")}]
    return any(phrase.startswith(said) or said.startswith(phrase) for phrase in phrases)


def _bare(text: str) -> str:
    return _NOISE.sub("", text).casefold()
