"""The prompts of steps."""

from __future__ import annotations

from knotwork.inference.chat import Message
from knotwork.inference.prompts import read_prompt


def make_messages(task: str, language: str, material: str) -> tuple[Message, ...]:
    """Return the messages of a task about ``material``, in English where there are no others."""
    instructions, asked = read_prompt("knotwork.retrieval.steps", task, language)
    return (
        Message("system", instructions),
        Message("user", asked.replace("{material}", material)),
    )
