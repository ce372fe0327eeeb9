"""Embedders whose vectors a test gives or moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._inference.embedder import Embedder, FloatMatrix, PassageText, PassageVectors


class GivenEmbedder:
    """Gives each passage and its sentences the cosine with any question that a test sets.

    Cosines are listed by words: the first that a passage contains counts.
    """

    name = "given:3"
    dimension = 3

    def __init__(self, cosines: Mapping[str, float]) -> None:
        self._cosines = dict(cosines)

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return the same vector for each question or name."""
        return np.tile(np.array([1, 0, 0], dtype=np.float32), (len(texts), 1))

    def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        """Return the vector of each passage, once for itself and once for each sentence."""
        rows = [self._row(passage.text) for passage in passages]
        return [
            PassageVectors(row, np.tile(row, (len(passage.sentences), 1)))
            for row, passage in zip(rows, passages, strict=True)
        ]

    def _row(self, text: str) -> FloatMatrix:
        cosine = next(value for key, value in self._cosines.items() if key in text)
        return np.array([cosine, np.sqrt(1 - cosine**2), 0], dtype=np.float32)


class DistinctEmbedder(HashingEmbedder):
    """Hashes words, and moves each text a little its own way, so that no two cosines are equal."""

    def __init__(self, name: str, dimension: int = 256) -> None:
        super().__init__(dimension)
        self.name = name

    def _embed(self, texts: Sequence[str]) -> FloatMatrix:
        seeds = [crc32(text.encode()) for text in texts]
        own = [np.random.default_rng(seed).standard_normal(self.dimension) for seed in seeds]
        rows = super()._embed(texts) + 0.02 * np.reshape(own, (len(texts), self.dimension))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows.astype(np.float32)


class SqueezedEmbedder:
    """Moves the cosines of another embedder into the upper quarter.

    Each vector v becomes [v / 2, 1/2, 1/2, 1/2], and a cosine c becomes 0.75 + 0.25 c. The halves
    lose nothing in the half precision of stored sentences.
    """

    def __init__(self, inner: Embedder, *, name: str) -> None:
        self._inner = inner
        self.name = name
        self.dimension = inner.dimension + 3

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return the moved rows of the other embedder."""
        return self._squeeze(self._inner.embed(texts))

    def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        """Return the moved vectors of the other embedder."""
        return [
            PassageVectors(self._squeeze(found.chunk[None])[0], self._squeeze(found.sentences))
            for found in self._inner.embed_passages(passages)
        ]

    def _squeeze(self, rows: FloatMatrix) -> FloatMatrix:
        return np.hstack([rows / 2, np.full((len(rows), 3), 0.5)]).astype(np.float32)
