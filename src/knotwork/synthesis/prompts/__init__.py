"""The prompts, one file for each task and language: instructions, ``---``, then what is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from knotwork.inference.chat import Message

_BLANK = re.compile(r"\{(\w+)\}")
_BORDER = "\n---\n"
_LANGUAGES = ("en", "zh")


def fill_prompt(task: str, language: str, blanks: Mapping[str, str]) -> tuple[Message, ...]:
    """Return the messages of a prompt in a language, English where there is none in it.

    ``blanks`` replace their ``{names}``; what they bring is not filled in again. A name that the
    prompt has and ``blanks`` lack is a KeyError.
    """
    instructions, asked = _read(task, language if language in _LANGUAGES else "en")
    return (
        Message("system", _fill(instructions, blanks)),
        Message("user", _fill(asked, blanks)),
    )


def _fill(text: str, blanks: Mapping[str, str]) -> str:
    return _BLANK.sub(lambda match: blanks[match[1]], text)


@cache
def _read(task: str, language: str) -> tuple[str, str]:
    text = files(__name__).joinpath(f"{task}.{language}.txt").read_text("utf-8")
    instructions, _, asked = text.partition(_BORDER)
    return instructions.strip(), asked.strip()
