"""The protocols of models: what the rest of Knotwork may ask of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from knotwork.records import Chunk, Span

FloatMatrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk to embed: its text, the titles above it, its sentences (offsets into ``text``)."""

    text: str
    context: str = ""
    sentences: tuple[Span, ...] = ()

    @classmethod
    def of(cls, chunk: Chunk) -> Passage:
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

    ``name`` identifies model and settings: equal names mean comparable vectors. Neither it nor
    ``dimension`` is asked of a model before it is needed, so making an embedder is cheap. An
    embedder may also have ``languages``, the codes of those it was made for; without, or empty, it
    serves all. One with a model in this process may also have ``is_loaded``, False until the first
    use, and ``stream_passages``, which yields the vectors of passages one by one.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return unit rows of shape (len(texts), dimension), for questions and names."""

    def embed_passages(self, passages: Sequence[Passage]) -> list[PassageVectors]:
        """Return the vectors of passages and of their sentences, in order."""
