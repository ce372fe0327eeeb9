"""The protocols every store implements, and nothing else.

A store bundles four things that commit together: the documents with their chunks, the graph, text
indexes and vector indexes, plus the ledger of what was indexed. Reads are batch first; ids that do
not exist are absent from the result, never None; ranked results are ordered by score descending,
then id ascending. A released protocol never gains a required method: a new power is a new protocol.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from knotwork.records import (
    Chunk,
    Direction,
    Document,
    Edge,
    Entity,
    GraphSchema,
    Mention,
    Node,
    Relation,
    Section,
    Subgraph,
)

FloatMatrix = NDArray[np.float32]
IntMatrix = NDArray[np.int32]


class Capability(StrEnum):
    """What a retriever may require of a store."""

    TEXT = "text"
    VECTORS = "vectors"
    GRAPH = "graph"
    CYPHER = "cypher"


class Scored(NamedTuple):
    """An id and its score."""

    id: str
    score: float


class DocumentStore(Protocol):
    """Documents, their section trees and their chunks."""

    def put(self, document: Document, sections: Sequence[Section], chunks: Sequence[Chunk]) -> None:
        """Add a document, or replace the one with its id (structure only)."""

    def remove(self, document_ids: Collection[str]) -> None:
        """Remove documents, sections and chunks (structure only; see `Store.remove_documents`)."""

    def documents(self, ids: Collection[str]) -> dict[str, Document]: ...

    def document_ids(self) -> list[str]:
        """Return all document ids, ascending."""

    def sections(self, document_id: str) -> list[Section]:
        """Return a document's sections in reading order, the root first."""

    def chunks(self, ids: Collection[str]) -> dict[str, Chunk]: ...

    def chunk_ids(self, document_id: str) -> list[str]:
        """Return a document's chunk ids: leaves in order, then parents in order."""

    def chunk_count(self) -> int:
        """Return the number of leaf chunks."""

    def document_count(self) -> int: ...


class GraphStore(Protocol):
    """The knowledge graph: contributions by chunk in, aggregated nodes and edges out."""

    def upsert(
        self, *, mentions: Iterable[Mention] = (), relations: Iterable[Relation] = ()
    ) -> None:
        """Add contributions; one with the same key (chunk and entity, or chunk, source, relation
        and target) replaces the earlier one. Ends of relations are mentioned by the same chunk.
        """

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        """Remove all contributions of these chunks, and what is then supported by none."""

    def entities(self, ids: Collection[str]) -> dict[str, Entity]: ...

    def lookup(self, normal_forms: Collection[str]) -> dict[str, Entity]:
        """Return the entities with these normal forms, by normal form."""

    def entity_count(self) -> int:
        """Return the number of entities, keywords left out."""

    def mentions(self, chunk_ids: Collection[str]) -> dict[str, list[Mention]]:
        """Return each chunk's mentions, ordered by entity id."""

    def about(
        self, entity_ids: Collection[str], *, fan: int, minimum: float = 0.0
    ) -> dict[str, list[Scored]]:
        """Return, for each entity, the ``fan`` chunks most about it (more than ``minimum``)."""

    def nodes(self, ids: Collection[str]) -> dict[str, Node]:
        """Return nodes of any label."""

    def find(
        self, *, label: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[Node]:
        """Return nodes by label and/or exact name (entities: by normal form too), ordered by id."""

    def neighbours(
        self,
        ids: Collection[str],
        *,
        direction: Direction = "both",
        types: Collection[str] | None = None,
        fan: int | None = None,
    ) -> dict[str, list[Edge]]:
        """Return each node's edges, strongest first (weight descending, then the id of the other
        end, then type, then relation); at most ``fan`` *neighbours* are taken per node, with every
        edge to each of them. An edge shows its first 16 supporting chunks, ordered by id.
        """

    def edges(self, *, types: Collection[str] | None = None) -> Iterator[Edge]:
        """Scan all edges with all their chunks, ordered by (type, source, target, relation)."""

    def explore(
        self,
        seeds: Sequence[str],
        *,
        direction: Direction = "both",
        depth: int = 2,
        fan: int = 8,
        limit: int = 50,
        types: Collection[str] | None = None,
    ) -> Subgraph:
        """Walk breadth first from ``seeds`` (entity ids, in order).

        Each hop visits the nodes found by the last one, in the order found; a node contributes at
        most ``fan`` neighbours, strongest first; edges already taken are skipped; the walk ends
        when ``limit`` edges are taken or after ``depth`` hops. ``types`` defaults to RELATES
        and CO_OCCURS.
        """

    def schema(self) -> GraphSchema: ...


class TextIndex(Protocol):
    """A BM25 index (k1 = 1.2, b = 0.75) over the terms of `knotwork.text.terms`."""

    def add(self, items: Iterable[tuple[str, str]]) -> None:
        """Add (id, text) pairs; an id that exists is replaced."""

    def remove(self, ids: Collection[str]) -> None: ...

    def search(self, query: str, *, k: int, where: Collection[str] | None = None) -> list[Scored]:
        """Return the ``k`` best of the items that share a term with ``query``; among ``where``.

        Stop words of the query count only when it has no other words.
        """

    def occurrences(self, ids: Sequence[str], terms: Sequence[str]) -> IntMatrix:
        """Return how often each term occurs in each item, of shape (len(ids), len(terms)).

        An item that does not exist has a row of zeros; ``terms`` are distinct.
        """

    def document_frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Return in how many items each term occurs; absent terms are absent."""

    def count(self) -> int: ...


class VectorIndex(Protocol):
    """Vectors by id. Each id holds a matrix of one or more unit rows; only tables whose matrices
    have one row can be searched.
    """

    def put(self, items: Iterable[tuple[str, str, FloatMatrix]]) -> None:
        """Add (id, content key, matrix) triples; an id that exists is replaced.

        Raises DimensionMismatch when a row's length is not the index's.
        """

    def get(self, ids: Collection[str]) -> dict[str, FloatMatrix]: ...

    def by_key(self, keys: Collection[str]) -> dict[str, FloatMatrix]:
        """Return matrices by content key, so that unchanged text is not embedded again."""

    def remove(self, ids: Collection[str]) -> None: ...

    def search(
        self, vector: FloatMatrix, *, k: int, where: Collection[str] | None = None
    ) -> list[Scored]:
        """Return the ``k`` ids with the largest dot product with ``vector`` (shape ``(d,)``)."""

    def count(self) -> int: ...


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What is known of one source: indexed with which revision and settings, or why not.

    ``root`` and ``path`` say where it was found, ``size`` and ``modified_ns`` let an unchanged file
    be skipped unread, ``settings`` is the fingerprint of all that shapes the result. ``error`` is
    empty for an indexed document, else the reason it was skipped. ``edge_keys`` are those of the
    lines of a web page that its site may repeat, each a little-endian uint64; ``repeated`` is the
    fingerprint of those that it was indexed without.
    """

    uri: str
    document_id: str
    root: str
    revision: str
    settings: str
    size: int
    modified_ns: int
    chunks: int = 0
    error_reason: str = ""
    error: str = ""
    edge_keys: bytes = b""
    repeated: str = ""


class Ledger(Protocol):
    """The record of every source ever offered and not removed since."""

    def put(self, entries: Iterable[LedgerEntry]) -> None: ...

    def get(self, uris: Collection[str]) -> dict[str, LedgerEntry]: ...

    def entries(self) -> Iterator[LedgerEntry]:
        """Yield all entries ordered by uri."""

    def remove(self, uris: Collection[str]) -> None: ...


@runtime_checkable
class Store(Protocol):
    """One index. What is written in one ``transaction()`` becomes visible at once or never."""

    url: str
    capabilities: frozenset[Capability]

    @property
    def documents(self) -> DocumentStore: ...

    @property
    def graph(self) -> GraphStore: ...

    @property
    def ledger(self) -> Ledger: ...

    def texts(self, name: str) -> TextIndex:
        """Return the text index of this name ("chunk", "entity"), made on first use."""

    def vectors(self, name: str) -> VectorIndex:
        """Return the vector index of this name ("chunk", "sentence", "entity")."""

    def meta(self) -> Mapping[str, str]:
        """Return all settings stored with the index (embedder, dimension, versions)."""

    def set_meta(self, values: Mapping[str, str]) -> None: ...

    def transaction(self) -> AbstractContextManager[None]:
        """Open the one write transaction; nested use joins it.

        Raises StoreBusy when another process keeps writing, StoreReadOnly on a read-only store.
        """

    def remove_documents(self, document_ids: Collection[str]) -> None:
        """Remove documents with all that only they supported, from every part of the store."""

    def generation(self) -> int:
        """Return a number that changes with every committed write, by any process."""

    def close(self) -> None: ...
