"""The prompts of steps, one file for each task and language: instructions, ``---``, the rest."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from knotwork.inference.chat import Message

_BORDER = "\n---\n"
_LANGUAGES = ("en", "zh")


def make_messages(task: str, language: str, material: str) -> tuple[Message, ...]:
    """Return the messages of a task about ``material``, in English where there are no others."""
    instructions, asked = _read(task, language if language in _LANGUAGES else "en")
    return (
        Message("system", instructions),
        Message("user", asked.replace("{material}", material)),
    )


@cache
def _read(task: str, language: str) -> tuple[str, str]:
    text = files(__name__).joinpath(f"{task}.{language}.txt").read_text("utf-8")
    instructions, _, asked = text.partition(_BORDER)
    return instructions.strip(), asked.strip()
