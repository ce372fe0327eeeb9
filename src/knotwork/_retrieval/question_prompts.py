"""Requests to a language model about a question, in the language of the question."""

from __future__ import annotations

from knotwork._inference.chat import ChatModel, ChatRequest
from knotwork._inference.own_prompts import prompts_of
from knotwork._inference.prompt_files import fill_prompt
from knotwork._questions.reading import reading_of


def request_about(
    question: str,
    room: str,
    task: str,
    model: ChatModel,
    /,
    *,
    stage: str,
    output_tokens: int,
    **blanks: str,
) -> ChatRequest:
    """Return the request of a task; ``room`` is the package with its prompt (`fill_prompt`)."""
    language = reading_of(question).language
    messages = fill_prompt(room, task, language, blanks, prompts_of(model))
    return ChatRequest(messages, max_output_tokens=output_tokens, stage=stage)
