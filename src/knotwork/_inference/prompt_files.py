"""Read prompts from files, one for each task and language, and fill their placeholders.

A file ``TASK.LANGUAGE.txt`` holds the system message, a line `---`, and the user message, with
placeholders in braces. Plugins bring the prompts of further languages: see `PROMPTS`. A folder of
the user's own has such files instead of built-in ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from knotwork._inference.chat import Message
from knotwork._inference.own_prompts import BUILT_IN, OwnPrompts
from knotwork._registry import Entry, Registry
from knotwork.errors import ConfigError

PROMPT_LANGUAGES = ("en", "zh")
PROMPTS: Registry[None] = Registry(
    "prompts",
    [Entry(language, "knotwork") for language in PROMPT_LANGUAGES],
    kind="language of prompts",
    protocol=None,
)
"""The languages of prompts, by ISO 639-1 code. The target of a plugin is a package, or a
registered folder, with files ``TASK.LANGUAGE.txt``; a task without one has its English prompt."""

PLACEHOLDER = re.compile(r"\{(\w+)\}")


def fill_prompt(
    room: str, task: str, language: str, blanks: Mapping[str, str], prompts: OwnPrompts = BUILT_IN
) -> tuple[Message, ...]:
    """Return the messages of a prompt in a language, or in English if it has no such translation.

    ``room`` is the package whose folder ``prompts`` holds the files. ``blanks`` are the values of
    the placeholders; braces inside a value are left alone. ``prompts`` replace built-in ones.
    Raises KeyError for a placeholder without a value, and ConfigError as `read_prompt`.
    """
    instructions, request = read_prompt(room, task, language, prompts)
    return (
        Message("system", fill_blanks(instructions, blanks)),
        Message("user", fill_blanks(request, blanks)),
    )


def fill_blanks(text: str, blanks: Mapping[str, str]) -> str:
    """Return a text with values for its placeholders. Raises KeyError for one without a value."""
    return PLACEHOLDER.sub(lambda match: blanks[match[1]], text)


def read_prompt(
    room: str, task: str, language: str, prompts: OwnPrompts = BUILT_IN
) -> tuple[str, str]:
    """Return the system and the user message of a prompt, with their placeholders.

    A prompt of ``prompts`` in this language replaces that of Knotwork or of a plugin. Raises
    ConfigError if the plugin of a language cannot be used, or its prompt has not exactly the
    placeholders of the English one.
    """
    if (task, language) in prompts.texts:
        return prompts.texts[task, language]
    english = prompts.texts.get((task, "en")) or _read_own(room, task, "en")
    if language in PROMPT_LANGUAGES:
        return _read_own(room, task, language)
    if language not in PROMPTS:
        return english
    name = f"{task}.{language}.txt"
    target = PROMPTS.load(language)
    folder = target if isinstance(target, Path) else files(target)
    path = folder.joinpath(name)
    if not path.is_file():
        return english
    found = split_prompt(path.read_text("utf-8"))
    wanted, given = ({*PLACEHOLDER.findall("".join(text))} for text in (english, found))
    if wanted != given:
        origin = PROMPTS.find(language).origin
        raise ConfigError(
            f"The prompt `{name}` of {origin} has the placeholders {sorted(given)}, but must have "
            f"{sorted(wanted)}.",
            fix="Update or uninstall the plugin.",
        )
    return found


@cache
def _read_own(room: str, task: str, language: str) -> tuple[str, str]:
    path = files(room).joinpath("prompts", f"{task}.{language}.txt")
    return split_prompt(path.read_text("utf-8"))


def split_prompt(text: str) -> tuple[str, str]:
    """Return the system and the user message of a file; the latter is "" without a line `---`."""
    instructions, _, request = text.partition("\n---\n")
    return instructions.strip(), request.strip()
