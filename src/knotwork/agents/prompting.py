"""The prompts of agents: files by task and language, filled with what is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from knotwork.inference.chat import Message

_BLANK = re.compile(r"\{(\w+)\}")
_TAG = re.compile(r"</?\s*(question|context|facts|text|memory|points|reports)\s*>", re.IGNORECASE)


def make_harmless(text: str) -> str:
    """Return a text without what means something in a prompt."""
    return _TAG.sub(r"(\1)", text)


def fill_prompt(task: str, language: str, blanks: Mapping[str, str]) -> tuple[Message, ...]:
    """Return the messages of a prompt in a language, English where there is none in it."""
    instructions, body = _read(task, "zh" if language == "zh" else "en")
    return Message("system", _fill(instructions, blanks)), Message("user", _fill(body, blanks))


def _fill(text: str, blanks: Mapping[str, str]) -> str:
    return _BLANK.sub(lambda match: blanks.get(match[1], match[0]), text)


@cache
def _read(task: str, language: str) -> tuple[str, str]:
    path = files("knotwork.agents") / "prompts" / f"{task}.{language}.txt"
    instructions, _, body = path.read_text("utf-8").partition("\n---\n")
    return instructions.strip(), body.strip()
