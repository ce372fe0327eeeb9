"""Protocols of models that read a question with a passage.

A `Reranker` scores texts against a question; an `AnswerReader` finds the answer in a passage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from knotwork._inference.embedder import PassageText
from knotwork.records import Prediction


class Reranker(Protocol):
    """Scores texts against a question; ``name`` identifies the model."""

    @property
    def name(self) -> str: ...

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text, in order. Scores of different models are not comparable.

        Raises ModelUnavailable if the server is still unavailable after all attempts, ModelError if
        it refuses the request.
        """


class AnswerReader(Protocol):
    """Predicts which sentences and words of a passage answer a question. Thread-safe.

    ``embedder`` is the name of the embedder that the reader is built on.
    """

    @property
    def embedder(self) -> str: ...

    def read(self, question: str, passages: Sequence[PassageText]) -> Iterator[Prediction]:
        """Yield a prediction for each passage, in order."""
