"""Ask a model about several items in one call, and ask again about those missing in the reply.

The prompt texts are in `prompts/`: one file for each task and language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Generic, TypeVar

from knotwork._extensions.model_indexing.reply_formats import Complaint, plain_text
from knotwork._inference.chat import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    complete_checked,
    concerns_one_request,
)
from knotwork._inference.own_prompts import OwnPrompts
from knotwork._inference.prompt_files import PROMPT_LANGUAGES, fill_prompt
from knotwork._inference.prompt_material import escape_tags
from knotwork._text.languages import prompt_language
from knotwork.errors import ModelError, ModelUnavailable, Unparsable

Item = TypeVar("Item")
Made = TypeVar("Made")


LONGEST_LINE = 2_000
"""Characters of a usable line of a reply; no prompt asks for longer ones."""


@dataclass(frozen=True, slots=True)
class BatchReply(Generic[Made]):
    """A parsed reply: usable parts by the position of their item, and complaints on the rest."""

    found: Mapping[int, Made]
    complaints: tuple[Complaint, ...] = ()


@dataclass(slots=True)
class BatchOutcome(Generic[Item, Made]):
    """The outcome of a batch: items with their results, and ``failed`` ones with the reason.

    For ``unanswered`` items no server answered, for the reason ``absence``; they can be tried
    again.
    """

    made: list[tuple[Item, Made]] = field(default_factory=list)
    failed: list[tuple[Item, str]] = field(default_factory=list)
    complaints: list[Complaint] = field(default_factory=list)
    unanswered: list[Item] = field(default_factory=list)
    absence: str = ""


@dataclass(frozen=True, slots=True)
class BatchTask(Generic[Item, Made]):
    """How to ask about items and parse the reply.

    ``request`` builds a request for items; its second argument is the fault of the last reply, or
    empty. ``read`` parses a reply and never raises. ``missing`` is the fault, in a sentence, of a
    reply without a part for some item.
    """

    request: Callable[[Sequence[Item], str], ChatRequest]
    read: Callable[[ChatReply, Sequence[Item]], BatchReply[Made]]
    missing: str


def reply_lines(text: str) -> list[str]:
    """Return the non-empty lines of a reply, with bars for tabs and single spaces."""
    lines = plain_text(text).replace("\t", "|").split("\n")
    return [flat for line in lines if (flat := " ".join(line.split()))]


def ask_in_batch(
    model: ChatModel, items: Sequence[Item], task: BatchTask[Item, Made]
) -> BatchOutcome[Item, Made]:
    """Ask about items in one call, and in a second call about those missing in the reply.

    If the server refuses the request, each item gets a request of its own. If no server answers,
    the items are left for another run. Raises ModelError for what concerns all calls: an exhausted
    budget, a refused key.
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
    """Add the results of all replies to the outcome, and return the fault of the last one."""
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
    def parse(reply: ChatReply) -> BatchReply[Made]:
        reading = task.read(reply, items)
        if not reading.found:
            missing = task.missing
            if reading.complaints:
                missing = f"{missing.removesuffix('.')}: {reading.complaints[0].reason}."
            raise Unparsable(reply.why_empty or missing)
        return reading

    try:
        reading = complete_checked(model, task.request(items, fault), parse)
    except Unparsable as error:
        return error.reason, False
    except ModelError as error:
        if isinstance(error, ModelUnavailable) or not concerns_one_request(error):
            raise
        return error.message, True
    outcome.made += [(items[place], made) for place, made in sorted(reading.found.items())]
    outcome.complaints += reading.complaints
    return task.missing, False


def _left(items: Sequence[Item], outcome: BatchOutcome[Item, Made]) -> list[Item]:
    made = [id(item) for item, _ in outcome.made]
    return [item for item in items if id(item) not in made]


_REPAIR = {
    "en": "Your last reply could not be used: {fault} Reply again, in the form above alone.",
    "zh": "上一次的回答无法使用：{fault} 请只按上述格式重新回答。",
}


def make_messages(
    task: str, language: str, material: str, *, prompts: OwnPrompts, fault: str = ""
) -> tuple[Message, ...]:
    """Return the messages of a task: the fixed part, which servers can cache, then the material.

    A language without prompts gets the English ones. ``fault`` is a sentence on why the last reply
    was unusable.
    """
    known = language if language in PROMPT_LANGUAGES else "en"
    blanks = {"material": escape_tags(material)}
    system, user = fill_prompt("knotwork._extensions.model_indexing", task, known, blanks, prompts)
    if fault:
        said = f"{user.content}\n\n{_REPAIR[known].format(fault=fault)}"
        user = replace(user, content=said)
    return system, user


def batches_by_language(
    items: Iterable[Item], text: Callable[[Item], str], *, size: int
) -> Iterator[tuple[str, tuple[Item, ...]]]:
    """Yield batches of at most ``size`` items whose texts share a prompt language, in order.

    So no reply has to switch languages.
    """
    groups: dict[str, list[Item]] = {"en": [], "zh": []}
    for item in items:
        groups[prompt_language(text(item))].append(item)
    for language, group in groups.items():
        rest = iter(group)
        while batch := tuple(islice(rest, size)):
            yield language, batch
