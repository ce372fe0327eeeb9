"""The prompts of agents, and what makes a text harmless in them."""

from __future__ import annotations

import re
from functools import partial

from knotwork.inference import prompts

_TAG = re.compile(r"</?\s*(question|context|facts|text|memory|points|reports)\s*>", re.IGNORECASE)

fill_prompt = partial(prompts.fill_prompt, "knotwork.agents")
"""Returns the messages of a prompt of agents, of its task, a language and what fills its blanks."""


def make_harmless(text: str) -> str:
    """Return a text without what means something in a prompt."""
    return _TAG.sub(r"(\1)", text)
