"""Prompts in files: one file for each task and language.

A file holds the instructions, a line `---`, and the request. Blanks in braces are filled in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from knotwork.inference.chat import Message

PROMPT_LANGUAGES = ("en", "zh")

_BLANK = re.compile(r"\{(\w+)\}")
_BORDER = "\n---\n"


def fill_prompt(
    room: str, task: str, language: str, blanks: Mapping[str, str]
) -> tuple[Message, ...]:
    """Return the messages of a prompt in a language, English where there is none in it.

    ``room`` is the package whose folder ``prompts`` holds the files. ``blanks`` replace their
    ``{names}``; what they bring is not filled in again. A name that the prompt has and ``blanks``
    lack is a KeyError.
    """
    instructions, asked = read_prompt(room, task, language)
    return (
        Message("system", _fill_blanks(instructions, blanks)),
        Message("user", _fill_blanks(asked, blanks)),
    )


def read_prompt(room: str, task: str, language: str) -> tuple[str, str]:
    """Return the instructions of a prompt, and what is asked, as `fill_prompt` finds them."""
    return _read_prompt_file(room, task, language if language in PROMPT_LANGUAGES else "en")


def _fill_blanks(text: str, blanks: Mapping[str, str]) -> str:
    return _BLANK.sub(lambda match: blanks[match[1]], text)


@cache
def _read_prompt_file(room: str, task: str, language: str) -> tuple[str, str]:
    path = files(room).joinpath("prompts", f"{task}.{language}.txt")
    instructions, _, asked = path.read_text("utf-8").partition(_BORDER)
    return instructions.strip(), asked.strip()
