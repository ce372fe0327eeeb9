"""The embedder protocol, the similarity scale of vectors, and an embedder without a model.

Everything that stores or searches vectors depends on `Embedder`. `to_similarity` maps the cosines
of different models to one scale. `HashingEmbedder` is for trials and tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from hashlib import blake2b
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from knotwork._cancellation import checked
from knotwork._config import EmbeddingSettings
from knotwork.errors import ConfigError
from knotwork.records import Chunk, Span, content_id

FloatMatrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PassageText:
    """A chunk to embed; ``context`` is its titles, ``sentences`` are offsets into ``text``."""

    text: str
    context: str = ""
    sentences: tuple[Span, ...] = ()

    @classmethod
    def of(cls, chunk: Chunk) -> PassageText:
        """Return the passage of a chunk."""
        start = chunk.span.start
        sentences = tuple(Span(s.start - start, s.end - start) for s in chunk.sentences)
        return cls(text=chunk.text, context=chunk.context, sentences=sentences)


@dataclass(frozen=True, slots=True)
class PassageVectors:
    """Unit vectors of one passage: ``chunk`` of shape (d,), ``sentences`` of shape (n, d)."""

    chunk: FloatMatrix
    sentences: FloatMatrix


class Embedder(Protocol):
    """Turns text into unit vectors.

    ``name`` identifies the model and its settings: equal names mean comparable vectors.
    A text that it cannot embed, unlike others, has a row of zeros or of what is not finite.
    Construction is cheap: a model is loaded, or a server contacted, on first use. An embedder may
    also have ``languages``, the codes of the languages it was trained for; if missing or empty, it
    serves all. An embedder with a model in this process may also have ``is_loaded``, False until
    the first use, ``stream_passages``, which yields the vectors of passages one by one, and
    ``uses_gpu``, True if it computes on a GPU if one is available. `embed` may be called before the
    stream has ended.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return unit rows of shape (len(texts), dimension), for questions and names."""

    def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        """Return the vectors of passages and of their sentences, in order."""


def normalise_rows(rows: FloatMatrix) -> FloatMatrix:
    """Return the rows scaled to length 1, as float32; a row without a direction is zero."""
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    is_usable = (lengths > 0) & np.isfinite(lengths)
    scaled: FloatMatrix = np.divide(
        rows, lengths, out=np.zeros(rows.shape, dtype=np.float32), where=is_usable
    )
    return scaled


Cosines = TypeVar("Cosines", float, NDArray[np.float32], NDArray[np.float64])

_BASELINE_COSINES = {
    "local:multilingual-e5-*": 0.75,
    "*e5-small*": 0.75,
    "*e5-base*": 0.72,
    "*e5-large*": 0.72,
    "*text-embedding-ada-002*": 0.7,
}
"""The mean cosine of unrelated texts by pattern of embedder names; the first match applies."""


def baseline_cosine(embedder: str) -> float:
    """Return the mean cosine of unrelated texts for an embedder of this name; 0 if unknown."""
    return next(
        (value for pattern, value in _BASELINE_COSINES.items() if fnmatchcase(embedder, pattern)),
        0.0,
    )


def to_similarity(cosines: Cosines, embedder: str) -> Cosines:
    """Return cosines as similarities: 0 for unrelated texts, 1 for equal ones."""
    baseline = baseline_cosine(embedder)
    return (cosines - baseline) / (1.0 - baseline) if baseline else cosines


_HASHED_TOKEN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+|[^\W_\u3400-\u9fff\uf900-\ufaff]+")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_PART_WEIGHT = 0.3


class HashingEmbedder:
    """Hashes words, parts of words and Chinese bigrams to signed dimensions.

    Deterministic on every machine. ``calls`` and ``texts`` count its use, so that a test can check
    that unchanged text is not embedded again.
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

    def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
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
        for row, text in checked(zip(rows, texts, strict=True)):
            for feature, weight in _features(text):
                code = _hash(feature)
                row[(code >> 1) % self.dimension] += weight if code & 1 else -weight
            if not row.any():
                row[0] = 1.0
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows.astype(np.float32)


def open_hashing(model: str, settings: EmbeddingSettings) -> HashingEmbedder:
    """Open the embedder without a model, "hashing:256": for trials and tests.

    Raises ConfigError unless ``model`` is a dimension.
    """
    del settings
    if not model.isdecimal() or not 1 <= int(model) <= 65_536:
        raise ConfigError(
            f"`hashing:{model}` is not a valid embedding model: it needs a dimension from 1 to "
            "65536.",
            fix="For example: hashing:256",
        )
    return HashingEmbedder(int(model))


def _features(text: str) -> Iterator[tuple[str, float]]:
    for token in _HASHED_TOKEN.findall(text.lower()):
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


PREFIXES_LABEL = " prefixes "
"""Before what the name of an embedder says of the prefixes of its texts."""


def without_prefixes(embedder: str) -> str:
    """Return the name of an embedder without what it says about prefixes."""
    return embedder.partition(PREFIXES_LABEL)[0]


def embedding_key(embedder_name: str, passage: PassageText) -> str:
    """Return the cache key of a passage's vectors, those of its sentences included."""
    offsets = (offset for sentence in passage.sentences for offset in sentence)
    return content_id("embedding", embedder_name, passage.context, passage.text, *offsets)
