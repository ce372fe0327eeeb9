"""The protocols that every store implements.

A store commits documents with their chunks, the graph, text indexes, vector indexes and the ledger
of indexed sources together. Reads take batches of ids. An id that does not exist is absent from the
result, never None. Ranked results are ordered by score descending, then id ascending. A released
protocol never gains a required method: later features are parts in `Store.capabilities`.

The functions `require_*` return an optional part of a store, or raise MissingCapability, which
names both; call them before any work that writes to the part. Companions and tables are found
beside an index file, or in the database of the index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from knotwork._companions import Companions, FileCompanions
from knotwork._registry import PARTS
from knotwork._sqlite_file import TABLES_SUFFIX
from knotwork._stores.capabilities import Capabilities
from knotwork.errors import MissingCapability
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

if TYPE_CHECKING:
    from knotwork._extensions.tables.table_file import TableFile

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)

FloatMatrix = NDArray[np.float32]
IntMatrix = NDArray[np.int32]


class Scored(NamedTuple):
    """An id and its score."""

    id: str
    score: float


class RelationLink(NamedTuple):
    """A relation or co-occurrence seen from one end; ``forward`` if that end is the source."""

    relation: str
    forward: bool
    other: str
    weight: float


class DocumentStore(Protocol):
    """Documents, their section trees and their chunks."""

    def put(self, document: Document, sections: Sequence[Section], chunks: Sequence[Chunk]) -> None:
        """Add a document, or replace the one with its id (structure only)."""

    def remove(self, document_ids: Collection[str]) -> None:
        """Remove documents, sections and chunks (structure only; see `Store.remove_documents`)."""

    def documents(self, ids: Collection[str]) -> dict[str, Document]: ...

    def document_ids(self) -> list[str]:
        """Return all document ids, ascending."""

    def sections_of(self, document_ids: Collection[str]) -> dict[str, list[Section]]:
        """Return the sections of each document in reading order, the root first."""

    def chunks(self, ids: Collection[str]) -> dict[str, Chunk]: ...

    def chunk_ids_of(self, document_ids: Collection[str]) -> dict[str, list[str]]:
        """Return the chunk ids of each document: leaves in order, then parents in order.

        A document without chunks is absent.
        """

    def chunk_count(self) -> int:
        """Return the number of leaf chunks."""

    def document_count(self) -> int: ...


class GraphStore(Protocol):
    """The knowledge graph: takes contributions by chunk, returns aggregated nodes and edges."""

    def upsert(
        self, *, mentions: Iterable[Mention] = (), relations: Iterable[Relation] = ()
    ) -> None:
        """Add contributions. One with the same key (chunk and entity, or chunk, source, relation
        and target) replaces the earlier one. The ends of a relation are mentioned by its chunk.
        """

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        """Remove the contributions of these chunks, and nodes and edges without other support."""

    def entities(self, ids: Collection[str]) -> dict[str, Entity]: ...

    def lookup(self, normal_forms: Collection[str]) -> dict[str, Entity]:
        """Return the entities with these normal forms, by normal form."""

    def entity_count(self) -> int:
        """Return the number of entities without keywords."""

    def mentions(self, chunk_ids: Collection[str]) -> dict[str, list[Mention]]:
        """Return each chunk's mentions, ordered by entity id."""

    def relations(self, chunk_ids: Collection[str]) -> dict[str, list[Relation]]:
        """Return the relations that each chunk contributes, with their descriptions, ordered by
        source, relation and target.
        """

    def relation_links(
        self, entity_ids: Collection[str], *, limit: int
    ) -> dict[str, list[RelationLink]]:
        """Return the relations and co-occurrences of each entity: outgoing, then incoming.

        Each direction has the ``limit`` strongest: relations, then co-occurrences, both ordered by
        weight descending, then by the id of the other end; relations between the same two ends
        are in the order of the store.
        """

    def relation_chunks(
        self, relations: Sequence[tuple[str, str, str]], *, limit: int
    ) -> list[tuple[str, ...]]:
        """Return the ``limit`` chunks with the smallest ids of each (source, relation, target)."""

    def about(
        self, entity_ids: Collection[str], *, fan: int, minimum: float = 0.0
    ) -> dict[str, list[Scored]]:
        """Return, for each entity, the ``fan`` chunks with the highest ``about`` > ``minimum``."""

    def nodes(self, ids: Collection[str]) -> dict[str, Node]:
        """Return nodes of any label."""

    def find(
        self, *, label: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[Node]:
        """Return nodes of a label, a name or both, ordered by id. Names match exactly; an entity
        also matches by its normal form.
        """

    def neighbours(
        self,
        ids: Collection[str],
        *,
        direction: Direction = "both",
        types: Collection[str] | None = None,
        fan: int | None = None,
    ) -> dict[str, list[Edge]]:
        """Return the edges of each node, strongest first: co-occurrences last, then by weight
        descending, the id of the other end, type and relation. A node has at most ``fan``
        *neighbours*, with all edges to each of them. An edge lists its first 16 supporting chunks,
        ordered by id.
        """

    def edges(self, *, types: Collection[str] | None = None) -> Iterator[Edge]:
        """Yield all edges with all their chunks, ordered by (type, source, target, relation)."""

    def explore(
        self,
        seeds: Sequence[str],
        *,
        direction: Direction = "both",
        depth: int = 2,
        fan: int | None = 8,
        limit: int | None = 50,
        types: Collection[str] | None = None,
    ) -> Subgraph:
        """Walk breadth first from ``seeds`` (entity ids, in order).

        Each hop visits the nodes that the previous one found, in that order. A node contributes at
        most ``fan`` neighbours, strongest first; edges found before are skipped. The walk ends
        after ``limit`` edges or ``depth`` hops; None is no limit. ``types`` defaults to RELATES and
        CO_OCCURS.
        """

    def schema(self) -> GraphSchema: ...


class TextIndex(Protocol):
    """A BM25 index (k1 = 1.2, b = 0.75) over the terms of `knotwork._text.terms`."""

    def add(self, items: Iterable[tuple[str, str]]) -> None:
        """Add (id, text) pairs; an id that exists is replaced."""

    def remove(self, ids: Collection[str]) -> None: ...

    def search(self, query: str, *, k: int, where: Collection[str] | None = None) -> list[Scored]:
        """Return the ``k`` best items that share a term with ``query``, of ``where`` if given.

        Stop words of the query count only if it has no other words.
        """

    def occurrences(self, ids: Sequence[str], terms: Sequence[str]) -> IntMatrix:
        """Return how often each term occurs in each item, of shape (len(ids), len(terms)).

        An item that does not exist has a row of zeros; ``terms`` are distinct.
        """

    def document_frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Return the number of items with each term, without terms that no item has."""

    def count(self) -> int: ...


class VectorIndex(Protocol):
    """Vectors by id. Each id has a matrix of one or more unit rows. An index can be searched only
    if all its matrices have one row.
    """

    def put(self, items: Iterable[tuple[str, str, FloatMatrix]]) -> None:
        """Add (id, content key, matrix) triples; an id that exists is replaced.

        A matrix of zeros, that of a text without a vector, is left out.
        Raises DimensionMismatch if a row has another length than the rows of the index.
        """

    def get(self, ids: Collection[str]) -> dict[str, FloatMatrix]: ...

    def products(self, ids: Collection[str], vectors: FloatMatrix) -> dict[str, FloatMatrix]:
        """Return the dot products of the rows of each id with each of ``vectors``.

        ``vectors`` has the shape (m, d), the products of an id with n rows (n, m). Only products
        leave the store, so a server sends a few numbers for each chunk, not its vectors.
        """

    def by_key(self, keys: Collection[str]) -> dict[str, FloatMatrix]:
        """Return matrices by content key, to avoid embedding unchanged text again."""

    def remove(self, ids: Collection[str]) -> None: ...

    def search(
        self, vector: FloatMatrix, *, k: int, where: Collection[str] | None = None
    ) -> list[Scored]:
        """Return the ``k`` ids with the largest dot product with ``vector`` (shape ``(d,)``)."""

    def count(self) -> int: ...


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One source: the revision and settings it was indexed with, or the error that prevented it.

    ``root`` is the folder or site that was indexed. ``settings`` is the fingerprint of everything
    that shapes the result. ``size`` and the times, in nanoseconds since the epoch, allow an
    unchanged file to be skipped unread: ``modified_ns``, which programs may set, ``changed_ns``,
    which only the system sets (0 if unknown), and ``checked_ns``, when these were read (0 if
    unknown). ``digest`` is a hash of the file's bytes, empty if unknown.
    ``error`` is empty for an indexed document, else the reason why it was skipped. ``edge_keys``
    are hashes of the first and last lines of a web page, which its site may repeat: each is a
    little-endian uint64. ``repeated`` is the fingerprint of the repeated lines that were left out.
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
    changed_ns: int = 0
    checked_ns: int = 0
    digest: str = ""


class Ledger(Protocol):
    """The record of every source that was ever passed to an indexing run and not removed since."""

    def put(self, entries: Iterable[LedgerEntry]) -> None: ...

    def get(self, uris: Collection[str]) -> dict[str, LedgerEntry]: ...

    def entries(self) -> Iterator[LedgerEntry]:
        """Yield all entries ordered by uri."""

    def settings_counts(self) -> Mapping[str, int]:
        """Return the number of entries without an error, by `LedgerEntry.settings`."""

    def remove(self, uris: Collection[str]) -> None: ...


@runtime_checkable
class Store(Protocol):
    """One index. All writes of one ``transaction()`` become visible together or not at all.

    ``url`` is shown in messages and names files beside the index, so it has no password.
    """

    url: str

    @property
    def capabilities(self) -> Capabilities:
        """The optional parts of the store; they never change while it is open."""
        ...

    @property
    def documents(self) -> DocumentStore: ...

    @property
    def graph(self) -> GraphStore: ...

    @property
    def ledger(self) -> Ledger: ...

    def texts(self, name: str) -> TextIndex:
        """Return the text index of a name: "chunk", "entity", "question" or "report"."""

    def vectors(self, name: str) -> VectorIndex:
        """Return the vector index of a name of `VECTOR_INDEXES`, or of its staged name."""

    def meta(self) -> Mapping[str, str]:
        """Return all settings stored with the index (embedder, dimension, versions)."""

    def set_meta(self, values: Mapping[str, str]) -> None: ...

    def transaction(self) -> AbstractContextManager[None]:
        """Open the write transaction, or join it if it is open.

        Raises StoreBusy if another process keeps writing, StoreReadOnly on a read-only store.
        """

    def reading(self) -> AbstractContextManager[None]:
        """Read one state of the store in the block, also while others write; nested use joins it.

        What does not change within a state, such as settings and the sizes of indexes, is read once
        in the block. A server keeps a transaction open for it, so no model is asked inside.
        """
        ...

    @property
    def writing(self) -> bool:
        """Whether this thread is inside a write transaction.

        What is read then may include uncommitted changes, so nothing computed from it may be cached
        under `generation`.
        """
        ...

    def remove_documents(self, document_ids: Collection[str]) -> None:
        """Remove documents and all that only they supported from every part of the store."""

    def generation(self) -> int:
        """Return a number that changes with every committed write, by any process."""

    def close(self) -> None: ...


def companions_of(store: Store) -> Companions:
    """Return what opens the companions of an index, such as its cache of model calls."""
    return store.capabilities.companions or FileCompanions(store.url)


def opener_of(store: Store) -> Callable[[], Store] | None:
    """Return what opens a store once more, to write beside it; None if it has a single writer."""
    return cast("Callable[[], Store] | None", store.capabilities.opener)


def whole_of(store: Store) -> Store:
    """Return the store of which a store is a part, as a filter leaves it; else the store itself."""
    return cast("Store", store.capabilities.whole or store)


def was_read_by_model(store: Store) -> bool:
    """Return True if a model, or a recording of one, read any chunk of a store.

    Descriptions do not prove it, as rules extract definitions too.
    """
    readings = store.capabilities.readings
    return readings is not None and readings.has_readings()


Part = TypeVar("Part")


def _required(find: Callable[[Capabilities], Part | None], name: str) -> Callable[[Store], Part]:

    def require(store: Store) -> Part:
        part = find(store.capabilities)
        if part is None:
            raise MissingCapability(store.url, name)
        return part

    return require


require_communities = _required(lambda parts: parts.communities, "communities")
require_readings = _required(lambda parts: parts.readings, "readings by a language model")
require_questions = _required(lambda parts: parts.questions, "questions of chunks")
require_resolutions = _required(lambda parts: parts.resolutions, "merged entities")
require_homonyms = _required(lambda parts: parts.homonyms, "homonyms")
require_corrections = _required(lambda parts: parts.corrections, "corrections of the graph")
require_property_graphs = _required(lambda parts: parts.property_graphs, "imported graphs")
require_fields = _required(lambda parts: parts.fields, "filters")
require_cypher = _required(lambda parts: parts.cypher, "Cypher")
require_vector_replacement = _required(
    lambda parts: parts.vector_replacement, "a change of the embedder"
)


def index_file(url: str) -> Path | None:
    """Return the path of the index file that ``url`` names; None for a store of another scheme."""
    scheme, rest = split_url(url)
    return Path(rest) if scheme == "file" else None


def split_url(url: str) -> tuple[str, str]:
    """Split a URL into scheme and rest. A path, with or without a drive, has the scheme "file"."""
    match = _SCHEME.fullmatch(url)
    if match is None:
        return "file", url
    scheme, rest = match.group(1).lower(), match.group(2)
    if scheme == "file":
        return scheme, rest.removeprefix("//")
    if scheme == "memory" or rest.startswith("//"):
        return scheme, rest
    return "file", url


def tables_path(url: str) -> Path | None:
    """Return the path of the table file of an index; None for an index that is not a file."""
    path = index_file(url)
    return path and path.with_name(path.name + TABLES_SUFFIX)


def tables_of(store: Store) -> TableFile | None:
    """Return the tables of an index; None if it has no place for tables, as a filtered index."""
    if store.capabilities.whole is not None:
        return None
    path = tables_path(store.url)
    if path is None:
        return store.capabilities.tables
    tables: TableFile = PARTS.load("table_file")(path)
    return tables


def has_tables(store: Store) -> bool:
    """Return True if tables of an index have been written."""
    path = tables_path(store.url)
    if path is not None and not path.exists():
        return False
    tables = tables_of(store)
    return tables is not None and tables.exists()


def has_graphs(store: Store) -> bool:
    """Return True if a graph was imported into an index, or is connected to it."""
    return bool(graph_names(store))


def graph_names(store: Store) -> list[str]:
    """Return the names of the imported and the connected graphs that run Cypher."""
    graphs, live = store.capabilities.property_graphs, store.capabilities.live_graphs
    return [*(graphs.names() if graphs else ()), *(live.names() if live else ())]
