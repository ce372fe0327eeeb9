"""Protocols of models that read a question and a passage together, and the client of `/rerank`.

A `Reranker` scores texts against a question; an `AnswerReader` finds the answer in a passage.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from knotwork.errors import ModelUnavailable
from knotwork.inference.embedder import PassageText
from knotwork.inference.retries import RetryPolicy
from knotwork.records import Prediction

if TYPE_CHECKING:
    from knotwork.inference.model_servers import ChatServer


_RERANK_PATH = "/rerank"
_BATCH_TEXTS = 32
"""Texts in one request, at most: what servers take that are left at their defaults."""


class Reranker(Protocol):
    """Scores texts against a question; ``name`` identifies the model."""

    @property
    def name(self) -> str: ...

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text, in order; only their order within a model has a meaning.

        Raises ModelUnavailable when the server cannot be had after all attempts, ModelError when it
        refuses.
        """


class ServedReranker:
    """Asks the `/rerank` endpoint of a server, as Jina, Cohere, vLLM, llama.cpp and TEI have it.

    TEI (text-embeddings-inference) has another name for the texts, which is learned when it misses
    it. Texts go in batches: each is scored by itself.
    """

    def __init__(
        self,
        model: str,
        server: ChatServer,
        *,
        batch_texts: int = _BATCH_TEXTS,
        retries: RetryPolicy | None = None,
    ) -> None:
        self.name = f"rerank:{model}"
        self._model = model
        self._server = server
        self._batch_texts = batch_texts
        self._retries = retries or RetryPolicy(jitter=0.5)
        self._field = "documents"

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text, in order."""
        scores: list[float] = []
        for start in range(0, len(texts), self._batch_texts):
            batch = texts[start : start + self._batch_texts]
            scores += self._retries.call(partial(self._score_batch, question, batch))
        return scores

    def _score_batch(self, question: str, texts: Sequence[str]) -> list[float]:
        from knotwork.inference.model_servers import Refusal

        field = self._field
        try:
            answer = self._ask(field, question, texts)
        except Refusal as error:
            if field == "texts" or error.status not in {400, 422} or "texts" not in error.message:
                raise
            answer = self._ask("texts", question, texts)
            self._field = "texts"
        return parse_scores(answer, count=len(texts))

    def _ask(self, field: str, question: str, texts: Sequence[str]) -> object:
        # Servers refuse an empty text; a space stands for it.
        documents = [text.encode("utf-8", "replace").decode() or " " for text in texts]
        payload = {"model": self._model, "query": question, field: documents}
        return self._server.exchange(_RERANK_PATH, payload)


def parse_scores(answer: object, *, count: int) -> list[float]:
    """Return the scores of a server's answer in the order of the request.

    Raises ModelUnavailable for an answer of the wrong form, as a server under load may give one.
    """
    results = answer.get("results") if isinstance(answer, dict) else answer
    scores: dict[int, float] = {}
    for item in results if isinstance(results, list) else []:
        index = item.get("index") if isinstance(item, dict) else None
        score = item.get("relevance_score", item.get("score")) if isinstance(item, dict) else None
        if (
            isinstance(index, int)
            and isinstance(score, int | float)
            and math.isfinite(score)
            and index not in scores
        ):
            scores[index] = float(score)
    if sorted(scores) != list(range(count)):
        raise ModelUnavailable(f"The server gave scores for {len(scores)} of {count} texts.")
    return [scores[place] for place in range(count)]


class AnswerReader(Protocol):
    """Reads passages for the answer to a question.

    ``embedder`` is the name of the embedder that the reader is built on. Safe in several threads.
    """

    @property
    def embedder(self) -> str: ...

    def read(self, question: str, passages: Sequence[PassageText]) -> Iterator[Prediction]:
        """Yield a prediction for each passage, in order."""
