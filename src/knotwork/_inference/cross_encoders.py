"""Protocols of models that read a question with a passage, and the client of `/rerank` servers.

A `Reranker` scores texts against a question; an `AnswerReader` finds the answer in a passage.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from knotwork._inference.call_limits import RetryPolicy
from knotwork._inference.embedder import PassageText
from knotwork.errors import ModelUnavailable
from knotwork.records import Prediction

if TYPE_CHECKING:
    from knotwork._inference.model_servers import ModelServer


_RERANK_PATH = "/rerank"
_BATCH_TEXTS = 32
"""Most texts in one request: the default limit of servers."""


class Reranker(Protocol):
    """Scores texts against a question; ``name`` identifies the model."""

    @property
    def name(self) -> str: ...

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text, in order. Scores of different models are not comparable.

        Raises ModelUnavailable if the server is still unavailable after all attempts, ModelError if
        it refuses the request.
        """


class ServedReranker:
    """Client of the `/rerank` endpoint that Jina, Cohere, vLLM, llama.cpp and TEI serve.

    TEI (text-embeddings-inference) names the field of the texts differently; the client switches
    when a server complains that it is missing. Texts are sent in batches and scored independently.
    """

    def __init__(
        self,
        model: str,
        server: ModelServer,
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
        from knotwork._inference.model_servers import Refusal

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
        # Servers refuse an empty text, so send a space.
        documents = [text.encode("utf-8", "replace").decode() or " " for text in texts]
        payload = {"model": self._model, "query": question, field: documents}
        return self._server.exchange(_RERANK_PATH, payload)


def parse_scores(answer: object, *, count: int) -> list[float]:
    """Return the scores of a server's answer in the order of the request.

    Raises ModelUnavailable for an invalid answer, which a server under load may give.
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
        raise ModelUnavailable(f"The server returned scores for {len(scores)} of {count} texts.")
    return [scores[index] for index in range(count)]


class AnswerReader(Protocol):
    """Predicts which sentences and words of a passage answer a question. Thread-safe.

    ``embedder`` is the name of the embedder that the reader is built on.
    """

    @property
    def embedder(self) -> str: ...

    def read(self, question: str, passages: Sequence[PassageText]) -> Iterator[Prediction]:
        """Yield a prediction for each passage, in order."""
