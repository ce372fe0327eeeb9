"""Prompts of agents, and texts made safe to put into them."""

from __future__ import annotations

import re
from functools import partial

from knotwork.inference import prompt_files

_TAG = re.compile(r"</?\s*(question|context|facts|text|memory|points|reports)\s*>", re.IGNORECASE)

fill_prompt = partial(prompt_files.fill_prompt, "knotwork.agents")
"""Returns the messages of a prompt of agents, of its task, a language and what fills its blanks."""


def make_harmless(text: str) -> str:
    """Return a text without what means something in a prompt."""
    return _TAG.sub(r"(\1)", text)
