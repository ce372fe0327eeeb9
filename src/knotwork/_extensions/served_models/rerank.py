"""Rerank texts on a server with the endpoint `/rerank`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from knotwork._extensions.served_models.http import ModelServer, Refusal
from knotwork._inference.call_limits import RetryPolicy
from knotwork.errors import ModelUnavailable

_RERANK_PATH = "/rerank"
_BATCH_TEXTS = 32
"""Most texts in one request: the default limit of servers."""


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
