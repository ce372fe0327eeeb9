"""Read prompts from files, one for each task and language, and fill in their placeholders.

A file holds the system message, a line `---`, and the user message, with placeholders in braces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from knotwork._inference.chat import Message

PROMPT_LANGUAGES = ("en", "zh")

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_SEPARATOR = "\n---\n"


def fill_prompt(
    room: str, task: str, language: str, blanks: Mapping[str, str]
) -> tuple[Message, ...]:
    """Return the messages of a prompt in a language, or in English if it has no such translation.

    ``room`` is the package whose folder ``prompts`` holds the files. ``blanks`` are the values of
    the placeholders; braces inside a value are left alone. Raises KeyError for a placeholder
    without a value.
    """

    def fill(text: str) -> str:
        return _PLACEHOLDER.sub(lambda match: blanks[match[1]], text)

    instructions, request = read_prompt(room, task, language)
    return Message("system", fill(instructions)), Message("user", fill(request))


def read_prompt(room: str, task: str, language: str) -> tuple[str, str]:
    """Return the system and the user message of a prompt, with their placeholders."""
    return _read_prompt_file(room, task, language if language in PROMPT_LANGUAGES else "en")


@cache
def _read_prompt_file(room: str, task: str, language: str) -> tuple[str, str]:
    path = files(room).joinpath("prompts", f"{task}.{language}.txt")
    instructions, _, request = path.read_text("utf-8").partition(_SEPARATOR)
    return instructions.strip(), request.strip()
