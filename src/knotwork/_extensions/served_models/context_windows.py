"""Learn the context window of a model from its server, and fit requests into it.

Servers state the window in an error (OpenAI, vLLM, llama.cpp, LM Studio) or in their list of models
(vLLM, llama.cpp, LM Studio, OpenRouter). Some state nothing and drop the beginning of a prompt
(Ollama), which only the reported number of its tokens shows.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace

from knotwork._inference.chat import (
    ChatRequest,
    estimate_input_tokens,
    estimate_picture_tokens,
    estimate_text_tokens,
)
from knotwork.errors import ModelError

_CONTEXT_ERROR = re.compile(
    r"context.{0,12}(?:length|size|window)|exceed_context_size|n_ctx|max_model_len"
    r"|prompt is too long|input length exceeds|input is too long",
    re.IGNORECASE,
)
_WINDOWS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"n_ctx\D{0,6}(\d[\d,]*)",
        r"max_model_len\D{0,10}(\d[\d,]*)",
        r"> (\d[\d,]*) maximum",
        r"context (?:length|window|size)[^\d]{0,40}(\d[\d,]*)",
    )
)
_PROMPTS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"n_prompt_tokens\D{0,6}(\d[\d,]*)",
        r"\((\d[\d,]*) in the messages",
        r"(?:has|contains)(?: at least)? (\d[\d,]*) (?:input|prompt)? ?tokens",
        r"prompt is too long: (\d[\d,]*)",
    )
)
_LISTED = (
    "loaded_context_length",
    "max_model_len",
    "context_length",
    "max_context_length",
    "context_window",
    "n_ctx",
)
_REFUSING = frozenset({400, 413, 422, 500})
_LEAST_WINDOW = 256
_SECTION = re.compile(r"<(\w+)>(.*?)</\1>", re.DOTALL)
"""The material of a prompt: prompts put it between tags, which the material itself cannot hold."""
_LEAST_OUTPUT_TOKENS = 128
_OUTPUT_SHARE = 0.25
"""Part of the window that a reply may always use, before material is dropped for a longer one."""
_MARGIN = 1.1
_CUT_SHARE = 0.5
_CUT_FROM_TOKENS = 1_500


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """The window of a model in tokens, 0 if unknown.

    ``scale`` is the server's count of tokens divided by our estimate.
    """

    tokens: int = 0
    scale: float = _MARGIN

    def learn(
        self, error: ModelError, request: ChatRequest, listed: Mapping[str, object] | None
    ) -> ContextWindow | None:
        """Return the window that an error states, or the server's list of models.

        None if the error is about something else, or nothing new is known.
        """
        stated = _first_number(_WINDOWS, error.message)
        tokens = stated or read_listed_window(listed) or self.tokens
        prompt, estimate = _first_number(_PROMPTS, error.message), estimate_input_tokens(request)
        scale = max(self.scale, prompt / max(estimate, 1) * 1.02)
        if tokens < _LEAST_WINDOW:
            return None
        if tokens == self.tokens and scale == self.scale:
            scale *= _MARGIN  # our estimate was too low
        return ContextWindow(tokens, scale)

    def fit(self, request: ChatRequest) -> ChatRequest:
        """Return the request with a shorter reply and less material, so that it fits.

        The end of the longest section of material is dropped, whole lines first. A request whose
        fixed parts alone are too long is returned as well as it fits.
        """
        if not self.tokens:
            return request
        room = int(self.tokens / self.scale)
        needed = estimate_input_tokens(request)
        most_output = max(room - needed, int(_OUTPUT_SHARE * room), _LEAST_OUTPUT_TOKENS)
        output = min(request.max_output_tokens, most_output)
        over = needed + output - room
        fitted = replace(request, max_output_tokens=output)
        return _drop_material(fitted, over) if over > 0 else fitted

    def warn(self, request: ChatRequest, fitted: ChatRequest) -> str:
        """Return a sentence if material was dropped to fit a request into the window; else ""."""
        if fitted.messages == request.messages:
            return ""
        return (
            f"A prompt of about {estimate_input_tokens(request):,} tokens was cut to fit into the "
            f"context window of {self.tokens:,}, so that the model did not read all of it. Serve "
            "the model with a longer window, or lower index.chunk_tokens or answer.context_tokens."
        )


def is_context_error(error: ModelError) -> bool:
    """Return True if a server refused a request because it is longer than the model's window."""
    return error.status in _REFUSING and _CONTEXT_ERROR.search(error.message) is not None


def read_listed_window(listed: Mapping[str, object] | None) -> int:
    """Return the window in an entry of `/models`, or 0."""
    if listed is None:
        return 0
    meta = listed.get("meta")
    for part in (listed, meta if isinstance(meta, dict) else {}):
        for name in _LISTED:
            value = part.get(name)
            if isinstance(value, int) and value >= _LEAST_WINDOW:
                return value
    return 0


def warn_of_cut(request: ChatRequest, reported_tokens: int | None) -> str:
    """Return a sentence if the server read far fewer tokens than were sent; else "".

    Our estimate is within a third of the count of any vocabulary in use: half of it is a cut.
    """
    # Servers differ widely in how they count pictures.
    sent = estimate_input_tokens(request) - estimate_picture_tokens(request)
    if not reported_tokens or sent < _CUT_FROM_TOKENS or reported_tokens > _CUT_SHARE * sent:
        return ""
    return (
        f"The server read {reported_tokens:,} tokens of a prompt of about {sent:,}: it drops what "
        "does not fit into its context window. Serve the model with a longer one (num_ctx or "
        f"OLLAMA_CONTEXT_LENGTH in Ollama), or set llm.context_window = {reported_tokens}."
    )


def _first_number(patterns: tuple[re.Pattern[str], ...], text: str) -> int:
    for pattern in patterns:
        if found := pattern.search(text):
            digits = found[1].replace(",", "")
            return int(digits) if len(digits) < 10 else 0
    return 0


def _drop_material(request: ChatRequest, tokens: int) -> ChatRequest:
    """Return the request without about ``tokens`` at the end of its longest section."""
    sections = [
        (found.end(2) - found.start(2), place, found)
        for place, message in enumerate(request.messages)
        if message.role == "user"
        for found in _SECTION.finditer(message.content)
    ]
    if not sections:
        return request
    _, place, found = max(sections, key=lambda section: section[:2])
    material = found[2]
    kept = _shorten(material, estimate_text_tokens(material) - tokens)
    messages = list(request.messages)
    text = messages[place].content
    shorter = f"{text[: found.start(2)]}{kept}\n{text[found.end(2) :]}"
    messages[place] = replace(messages[place], content=shorter)
    return replace(request, messages=tuple(messages))


def _shorten(text: str, tokens: int) -> str:
    """Return the first lines of a text, or else words, of at most ``tokens`` estimated tokens."""
    ends = range(1, len(text) + 1)
    fitting = bisect_right(ends, max(tokens, 0), key=lambda end: estimate_text_tokens(text[:end]))
    cut = text[:fitting]
    for mark in ("\n", " "):
        end = cut.rfind(mark)
        if end > len(cut) // 2:
            return cut[:end]
    return cut
