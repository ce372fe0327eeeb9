"""A document on its way through indexing: as offered, and as prepared for storage.

Every stage takes and returns these records. Nothing here knows a store, a model or a setting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from knotwork.records import Chunk, ChunkReading, Description, Document, Extraction, Section

if TYPE_CHECKING:
    pass


UNKNOWN_TIME_NS = -1
"""The time of a source that has none: it is read to see whether it changed."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something to index: what identifies it, what tells that it changed, and how to read it.

    ``read`` raises LoadError when it cannot be read. ``edge_keys`` and ``repeated`` are those of
    `LedgerEntry`, for the page of a site.
    """

    uri: str
    read: Callable[[], Document]
    root: str = ""
    size: int = 0
    modified_ns: int = UNKNOWN_TIME_NS
    edge_keys: bytes = b""
    repeated: str = ""


def document_source(document: Document) -> Candidate:
    """Return the source of a document that is in memory already."""
    return Candidate(document.uri, partial(_give, document), size=len(document.text))


def _give(document: Document) -> Document:
    return document


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that was read, split and extracted from, ready to be embedded and stored.

    ``keys`` are the content keys of the leaf chunks, in order, NO_VECTORS for a chunk that gets
    none; empty without an embedder. ``settings`` are what the ledger will say it was indexed with.
    ``memories`` are what the prompt about each chunk recalls, by its id; ``readings`` and
    ``descriptions`` what definitions say and what a model read, if one did.
    """

    source: Candidate
    document: Document
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]
    extractions: tuple[Extraction, ...]
    settings: str
    keys: tuple[str, ...] = ()
    readings: tuple[ChunkReading, ...] = ()
    descriptions: tuple[Description, ...] = ()
    memories: Mapping[str, str] = field(default_factory=dict)

    @property
    def leaves(self) -> list[Chunk]:
        """The chunks that are searched."""
        return [chunk for chunk in self.chunks if not chunk.is_parent]

    @property
    def sentence_count(self) -> int:
        return sum(len(chunk.sentences) for chunk in self.leaves)
