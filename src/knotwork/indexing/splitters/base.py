"""The protocol of splitters, and the sizes they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from knotwork.errors import ConfigError
from knotwork.records import Chunk, Document, Section


class Splitter(Protocol):
    """Cuts a document into its section tree and its chunks."""

    name: str

    def split(self, document: Document) -> tuple[list[Section], list[Chunk]]:
        """Return the sections in reading order, the root first, and the chunks.

        The leaf chunks come first, in reading order, then their parents, if any. Every non-blank
        character lies in exactly one leaf (with overlap: in at least one).
        """


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large chunks may become, in tokens of `knotwork.text.tokens`.

    Raises ConfigError where the sizes contradict each other.
    """

    chunk_tokens: int = 200
    overlap_tokens: int = 0
    parent_tokens: int = 800

    def __post_init__(self) -> None:
        if self.chunk_tokens < 1:
            raise ConfigError(f"`chunk_tokens` is `{self.chunk_tokens}`, but must be at least 1.")
        if not 0 <= self.overlap_tokens < self.chunk_tokens:
            raise ConfigError(
                f"`overlap_tokens` is `{self.overlap_tokens}`, but must be at least 0 and less "
                f"than `chunk_tokens`, which is `{self.chunk_tokens}`."
            )
