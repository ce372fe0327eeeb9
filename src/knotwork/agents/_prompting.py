"""Fill the prompts of agents, and escape texts that go into them."""

from __future__ import annotations

import re
from functools import partial

from knotwork._inference import prompt_files

_TAG = re.compile(r"</?\s*(question|context|facts|text|memory|points|reports)\s*>", re.IGNORECASE)

fill_prompt = partial(prompt_files.fill_prompt, "knotwork.agents")
"""Return the messages of a prompt of agents, given its task, a language and its blanks."""


def make_harmless(text: str) -> str:
    """Return a text with the tags of our prompts replaced by parentheses."""
    return _TAG.sub(r"(\1)", text)
