"""The prompts of indexing, one file for each task and language: instructions, ``---``, the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from knotwork.inference.chat import Message
from knotwork.inference.prompts import PROMPT_LANGUAGES, read_prompt
from knotwork.text.languages import detect_language

Item = TypeVar("Item")

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
