"""The prompts of answers."""

from __future__ import annotations

from functools import partial

from knotwork.inference import prompts

fill_prompt = partial(prompts.fill_prompt, "knotwork.synthesis")
"""Returns the messages of a prompt of answers, of its task, a language and its blanks."""
