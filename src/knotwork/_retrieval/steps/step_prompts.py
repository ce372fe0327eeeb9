"""Steps that ask a language model: their base class, requests, and parsers of the replies."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from knotwork._inference.chat import (
    ChatModel,
    ChatReply,
    complete_checked,
    usable_lines,
)
from knotwork._inference.embedder import Embedder
from knotwork._inference.prompt_material import escape_passage
from knotwork._retrieval.base import Retriever
from knotwork._retrieval.basic_retrievers import WrappingRetriever
from knotwork._retrieval.question_prompts import request_about
from knotwork._stores.base import Store
from knotwork.errors import ModelError, RetrievalError, Unparsable

T = TypeVar("T")

ROOM = "knotwork._retrieval.steps"
STAGE = "search"

MOST_PARTS = 4
MOST_WORDS = 10
BEST_RATING = 5

_LONGEST_PART = 300
_LONGEST_WORD = 60
_LONGEST_PASSAGE = 1_200
_BULLET = re.compile(r"^(?:[\-–*•>#\s]+|\(?\d{1,2}[.)、]\s*)+")
_RATING = re.compile(r"^\W*(\d{1,3})\W+(\d+(?:\.\d+)?)")


class ModelStep(WrappingRetriever):
    """A step that asks a language model if its option ``by`` is "model".

    Raises RetrievalError if that model is missing.
    """

    def __init__(
        self,
        *,
        store: Store,
        base: Retriever,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        options: Any = None,  # noqa: ANN401  an instance of `Options`
    ) -> None:
        super().__init__(store=store, embedder=embedder, base=base, options=options)
        self._model = model if self.options.by == "model" else None
        if self.options.by == "model" and model is None:
            raise RetrievalError(
                f"`{self.name}(by=model)` needs a language model, but none is configured.",
                fix="Set llm.model, or leave out `by=model`.",
            )

    def _try(
        self, ask: Callable[[ChatModel], T], otherwise: T, failure: str
    ) -> tuple[T, tuple[str, ...]]:
        """Return the model's reply; ``otherwise`` without a model, or with a note if it fails."""
        if self._model is None:
            return otherwise, ()
        try:
            return ask(self._model), ()
        except ModelError as error:
            return otherwise, (f"{failure}: {error.message}",)


def ask_parts(question: str, model: ChatModel) -> tuple[str, ...]:
    """Return the simple questions that a question consists of. Raises ModelError."""
    return _ask("split-question", question, 200, model, _read_parts)


def ask_passage(question: str, model: ChatModel) -> str:
    """Return a passage that may answer the question. Raises ModelError."""
    return _ask("imagine-passage", question, 200, model, _read_passage)


def ask_rewriting(question: str, model: ChatModel) -> str:
    """Return a clearer wording of the question. Raises ModelError."""
    return _ask("rewrite-question", question, 150, model, lambda reply: _read_parts(reply)[0])


def ask_words(question: str, model: ChatModel) -> tuple[str, ...]:
    """Return words that answering passages may contain. Raises ModelError."""
    return _ask("expand-question", question, 120, model, _read_words)


def ask_ratings(question: str, texts: Sequence[str], model: ChatModel) -> list[float]:
    """Return a rating of each text from 0 to 1, all by one request. Raises ModelError.

    A text that the reply does not rate gets 0.
    """
    lines = [
        f"[{n}] {escape_passage(' '.join(text.split()))}" for n, text in enumerate(texts, start=1)
    ]
    passages = "\n".join(["<context>", *lines, "</context>"])
    material = f"<question>\n{escape_passage(question)}\n</question>\n{passages}"
    numbers = range(1, len(texts) + 1)
    ratings = _ask(
        "rate-passages",
        question,
        10 + 8 * len(texts),
        model,
        lambda reply: parse_ratings(reply, numbers),
        material,
    )
    return [ratings.get(number, 0.0) / BEST_RATING for number in numbers]


def _ask(
    task: str,
    question: str,
    output_tokens: int,
    model: ChatModel,
    read: Callable[[ChatReply], T],
    material: str = "",
) -> T:
    """Return what ``read`` makes of the reply to a task, by default about the question alone."""
    request = request_about(
        question,
        ROOM,
        task,
        model,
        stage=STAGE,
        output_tokens=output_tokens,
        material=material or escape_passage(question.strip()),
    )
    return complete_checked(model, request, read)


def bare_lines(reply: ChatReply) -> list[str]:
    """Return the `usable_lines` of a reply without bullets. Raises Unparsable if there is none."""
    lines = [_BULLET.sub("", line).strip(" \t`*") for line in usable_lines(reply)]
    if not any(lines):
        raise Unparsable("The reply is empty.")
    return [line for line in lines if line]


def _read_parts(reply: ChatReply) -> tuple[str, ...]:
    parts = [line for line in bare_lines(reply) if len(line) <= _LONGEST_PART]
    if not parts or BLANK in parts[0]:
        raise Unparsable("The reply contains no question that can be asked first.")
    return tuple(parts[:MOST_PARTS])


def _read_passage(reply: ChatReply) -> str:
    return " ".join(bare_lines(reply))[:_LONGEST_PASSAGE]


def _read_words(reply: ChatReply) -> tuple[str, ...]:
    words = [line for line in bare_lines(reply) if len(line) <= _LONGEST_WORD]
    if not words:
        raise Unparsable("The reply contains no words.")
    return tuple(dict.fromkeys(words))[:MOST_WORDS]


def parse_ratings(reply: ChatReply, numbers: Collection[int]) -> dict[int, float]:
    """Parse the rating of each number, from 0 to 5; numbers without a rating are absent.

    Raises Unparsable for a reply without a rating.
    """
    ratings: dict[int, float] = {}
    for match in filter(None, map(_RATING.match, usable_lines(reply))):
        if int(match[1]) in numbers:
            ratings.setdefault(int(match[1]), min(float(match[2]), BEST_RATING))
    if not ratings:
        raise Unparsable("The reply has no rating.")
    return ratings


BLANK = "{}"
"""The placeholder in a part for the result of the part before."""
