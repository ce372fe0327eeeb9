"""An embedder without a model: texts that share words have near vectors. For trials and tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from knotwork.inference.base import FloatMatrix, Passage, PassageVectors

_TOKEN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+|[^\W_\u3400-\u9fff\uf900-\ufaff]+")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_PART_WEIGHT = 0.3


class HashingEmbedder:
    """Hashes words, parts of words and Chinese bigrams to signed dimensions.

    Deterministic on every machine. ``calls`` and ``texts`` count what was asked of it, so that a
    test can tell that unchanged text is not embedded again.
    """

    def __init__(self, dimension: int = 256) -> None:
        self.dimension = dimension
        self.name = f"hashing:{dimension}"
        self.calls = 0
        self.texts = 0

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return unit rows of shape (len(texts), dimension)."""
        self.calls += 1
        self.texts += len(texts)
        return self._embed(texts)

    def embed_passages(self, passages: Sequence[Passage]) -> list[PassageVectors]:
        """Return the vectors of passages, with their context, and of their sentences."""
        self.calls += 1
        self.texts += len(passages)
        return [
            PassageVectors(
                self._embed([f"{passage.context} {passage.text}"])[0],
                self._embed([passage.text[start:end] for start, end in passage.sentences]),
            )
            for passage in passages
        ]

    def _embed(self, texts: Sequence[str]) -> FloatMatrix:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float64)
        for row, text in zip(rows, texts, strict=True):
            for feature, weight in _features(text):
                place = _hash(feature)
                row[(place >> 1) % self.dimension] += weight if place & 1 else -weight
            if not row.any():
                row[0] = 1.0
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows.astype(np.float32)


def _features(text: str) -> Iterator[tuple[str, float]]:
    for token in _TOKEN.findall(text.lower()):
        if _HAN.match(token):
            yield from ((char, _PART_WEIGHT) for char in token)
            yield from ((token[i : i + 2], 1.0) for i in range(len(token) - 1))
        else:
            yield token, 1.0
            padded = f"<{token}>"
            yield from ((padded[i : i + 4], _PART_WEIGHT) for i in range(len(padded) - 3))


@lru_cache(maxsize=1 << 16)
def _hash(feature: str) -> int:
    return int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")
