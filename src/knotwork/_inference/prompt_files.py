"""Read prompts from files, one for each task and language, fill their placeholders, escape texts.

A file holds the system message, a line `---`, and the user message, with placeholders in braces.
Plugins bring the prompts of further languages: see `PROMPTS`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from knotwork._inference.chat import Message
from knotwork._registry import Entry, Registry
from knotwork.errors import ConfigError

PROMPT_LANGUAGES = ("en", "zh")
PROMPTS: Registry[None] = Registry(
    "prompts",
    [Entry(language, "knotwork") for language in PROMPT_LANGUAGES],
    kind="language of prompts",
    protocol=None,
)
"""The languages of prompts, by ISO 639-1 code. The target of a plugin is a package that holds files
``TASK.LANGUAGE.txt``; a task without a file has its English prompt."""

_TAG = re.compile(r"</?\s*(question|context|facts|text|memory|points|reports)\s*>", re.IGNORECASE)
_MARK = re.compile(r"\[(\d{1,4})\]")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_SEPARATOR = "\n---\n"


def fill_prompt(
    room: str, task: str, language: str, blanks: Mapping[str, str]
) -> tuple[Message, ...]:
    """Return the messages of a prompt in a language, or in English if it has no such translation.

    ``room`` is the package whose folder ``prompts`` holds the files. ``blanks`` are the values of
    the placeholders; braces inside a value are left alone. Raises KeyError for a placeholder
    without a value, and ConfigError as `read_prompt`.
    """

    def fill(text: str) -> str:
        return _PLACEHOLDER.sub(lambda match: blanks[match[1]], text)

    instructions, request = read_prompt(room, task, language)
    return Message("system", fill(instructions)), Message("user", fill(request))


def escape_tags(text: str) -> str:
    """Return a text with the tags of prompts replaced by parentheses."""
    return _TAG.sub(r"(\1)", text)


def escape_passage(text: str) -> str:
    """Return a text with citation marks and the tags of prompts replaced by parentheses."""
    return escape_tags(_MARK.sub(r"(\1)", text))


@cache
def read_prompt(room: str, task: str, language: str) -> tuple[str, str]:
    """Return the system and the user message of a prompt, with their placeholders.

    Raises ConfigError if the plugin of a language cannot be used, or its prompt has not exactly
    the placeholders of the English one.
    """
    own = files(room).joinpath("prompts")
    english = _split_prompt(own.joinpath(f"{task}.en.txt").read_text("utf-8"))
    name = f"{task}.{language}.txt"
    if language in PROMPT_LANGUAGES:
        return _split_prompt(own.joinpath(name).read_text("utf-8"))
    if language not in PROMPTS:
        return english
    path = files(PROMPTS.load(language)).joinpath(name)
    if not path.is_file():
        return english
    found = _split_prompt(path.read_text("utf-8"))
    wanted, given = ({*_PLACEHOLDER.findall("".join(text))} for text in (english, found))
    if wanted != given:
        origin = PROMPTS.find(language).origin
        raise ConfigError(
            f"The prompt `{name}` of {origin} has the placeholders {sorted(given)}, but must have "
            f"{sorted(wanted)}.",
            fix="Update or uninstall the plugin.",
        )
    return found


def _split_prompt(text: str) -> tuple[str, str]:
    instructions, _, request = text.partition(_SEPARATOR)
    return instructions.strip(), request.strip()
