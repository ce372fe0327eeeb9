"""Asking about several things in one call, and once more about those that the reply lacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from knotwork.errors import ModelError, ModelUnavailable, Unparsable
from knotwork.inference.chat import ChatModel, ChatReply, ChatRequest
from knotwork.inference.checked import complete_checked
from knotwork.transform.model.cleaning import plain_text
from knotwork.transform.model.drafts import Complaint
from knotwork.transform.model.outcomes import concerns_one_chunk

Item = TypeVar("Item")
Made = TypeVar("Made")


LONGEST_LINE = 2_000
"""Characters of a line of a reply; what is longer was never asked for."""


@dataclass(frozen=True, slots=True)
class Reading(Generic[Made]):
    """What a reply holds: the usable parts, by the place of their item, and what is not used."""

    found: Mapping[int, Made]
    complaints: tuple[Complaint, ...] = ()


@dataclass(slots=True)
class BatchOutcome(Generic[Item, Made]):
    """What became of the items of a batch: ``failed`` has those without a part, each with why.

    ``unanswered`` are those for which no server answered, and may be asked about again;
    ``absence`` says why it did not.
    """

    made: list[tuple[Item, Made]] = field(default_factory=list)
    failed: list[tuple[Item, str]] = field(default_factory=list)
    complaints: list[Complaint] = field(default_factory=list)
    unanswered: list[Item] = field(default_factory=list)
    absence: str = ""


@dataclass(frozen=True, slots=True)
class BatchTask(Generic[Item, Made]):
    """How items are asked about, and how a reply is read.

    ``request`` makes a request for some items, with the fault of the last reply; ``read`` never
    fails; ``missing`` says in a sentence what a reply without a part for any item lacks.
    """

    request: Callable[[Sequence[Item], str], ChatRequest]
    read: Callable[[ChatReply, Sequence[Item]], Reading[Made]]
    missing: str


def reply_lines(text: str) -> list[str]:
    """Return the lines of a reply that hold anything, tabs as bars, spaces one at a time."""
    lines = plain_text(text).replace("\t", "|").split("\n")
    return [flat for line in lines if (flat := " ".join(line.split()))]


def ask_in_batch(
    model: ChatModel, items: Sequence[Item], task: BatchTask[Item, Made]
) -> BatchOutcome[Item, Made]:
    """Ask about items in one call, and once more, in one call, about those it says nothing of.

    What a server refuses as one request is asked about item by item. Items that no server answers
    for are left for another time. Raises ModelError for what concerns all calls: a ceiling reached,
    a key refused.
    """
    outcome: BatchOutcome[Item, Made] = BatchOutcome()
    try:
        fault = _ask_twice(model, items, task, outcome)
    except ModelUnavailable as error:
        outcome.absence = error.message
        outcome.unanswered += _left(items, outcome)
    else:
        outcome.failed += [(item, fault) for item in _left(items, outcome)]
    return outcome


def _ask_twice(
    model: ChatModel,
    items: Sequence[Item],
    task: BatchTask[Item, Made],
    outcome: BatchOutcome[Item, Made],
) -> str:
    """Add what the replies hold to the outcome, and return what the last one lacks."""
    fault, refused = _ask(model, items, task, "", outcome)
    left = _left(items, outcome)
    groups = [[item] for item in left] if refused else [left]
    for group in groups:
        if not group or (refused and len(items) == 1):
            continue
        fault, _ = _ask(model, group, task, "" if refused else fault, outcome)
    return fault


def _ask(
    model: ChatModel,
    items: Sequence[Item],
    task: BatchTask[Item, Made],
    fault: str,
    outcome: BatchOutcome[Item, Made],
) -> tuple[str, bool]:
    """Add what a reply holds to the outcome; return what it lacks, and whether it was refused."""

    def parse(reply: ChatReply) -> Reading[Made]:
        reading = task.read(reply, items)
        if not reading.found:
            raise Unparsable(_why_empty(reply, reading.complaints, task.missing))
        return reading

    try:
        reading = complete_checked(model, task.request(items, fault), parse)
    except Unparsable as error:
        return error.reason, False
    except ModelError as error:
        if isinstance(error, ModelUnavailable) or not concerns_one_chunk(error):
            raise
        return error.message, True
    outcome.made += [(items[place], made) for place, made in sorted(reading.found.items())]
    outcome.complaints += reading.complaints
    return task.missing, False


def _left(items: Sequence[Item], outcome: BatchOutcome[Item, Made]) -> list[Item]:
    made = [id(item) for item, _ in outcome.made]
    return [item for item in items if id(item) not in made]


def _why_empty(reply: ChatReply, complaints: Sequence[Complaint], missing: str) -> str:
    """Return in one sentence why nothing of a reply can be used."""
    if reply.finish_reason == "filter":
        return "The server withheld the reply."
    if not reply.text.strip():
        return "The reply is empty."
    if complaints:
        return f"{missing.removesuffix('.')}: {complaints[0].reason}."
    return missing
