"""Ask a model about several items in one call, and ask again about those missing in the reply.

The prompt texts are in `indexing/prompts/`: one file for each task and language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, TypeVar

from knotwork.errors import ModelError, ModelUnavailable, Unparsable
from knotwork.inference.chat import ChatModel, ChatReply, ChatRequest, Message, complete_checked
from knotwork.inference.prompt_files import PROMPT_LANGUAGES, read_prompt
from knotwork.text.languages import detect_language
from knotwork.transform.model.model_extractor import concerns_one_chunk
from knotwork.transform.model.reply_records import Complaint, plain_text

Item = TypeVar("Item")
Made = TypeVar("Made")


LONGEST_LINE = 2_000
"""Characters of a line of a reply; what is longer was never asked for."""


@dataclass(frozen=True, slots=True)
class BatchReply(Generic[Made]):
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
    read: Callable[[ChatReply, Sequence[Item]], BatchReply[Made]]
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

    def parse(reply: ChatReply) -> BatchReply[Made]:
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


_MARKS = re.compile(r"<(/?\s*(?:community|descriptions|name)\s*)>", re.IGNORECASE)
_REPAIR = {
    "en": "Your last reply could not be used: {fault} Reply again, in the form above alone.",
    "zh": "上一次的回答无法使用：{fault} 请只按上述格式重新回答。",
}


def make_messages(
    task: str, language: str, material: str, *, fault: str = ""
) -> tuple[Message, ...]:
    """Return the messages of a task: the fixed part first, which servers keep, then the material.

    English stands in for a language without prompts of its own. ``fault`` says why the last reply
    could not be used, in one sentence.
    """
    known = language if language in PROMPT_LANGUAGES else "en"
    instructions, asked = read_prompt("knotwork.indexing", task, known)
    told = asked.replace("{material}", _harmless(material))
    if fault:
        told = f"{told}\n\n{_REPAIR[known].format(fault=fault)}"
    return Message("system", instructions), Message("user", told)


def batches_by_language(
    items: Iterable[Item], text: Callable[[Item], str], *, size: int
) -> Iterator[tuple[str, tuple[Item, ...]]]:
    """Yield batches of at most ``size`` items that are asked about in one language, in order.

    So no reply has to change its language halfway.
    """
    groups: dict[str, list[Item]] = {"en": [], "zh": []}
    for item in items:
        groups["zh" if detect_language(text(item)) == "zh" else "en"].append(item)
    for language, group in groups.items():
        rest = iter(group)
        while batch := tuple(islice(rest, size)):
            yield language, batch


def _harmless(text: str) -> str:
    """Return a text that cannot end its own section."""
    return _MARKS.sub("‹\\1›", text)
