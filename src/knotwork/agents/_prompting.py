"""Fill the prompts of agents."""

from __future__ import annotations

from functools import partial

from knotwork._inference import prompt_files

fill_prompt = partial(prompt_files.fill_prompt, "knotwork.agents")
"""Return the messages of a prompt of agents, given its task, a language and its blanks."""
