"""The optional parts of a store, and `Capabilities`, which declares those that a store has.

The protocols of the required parts are in `base`. Each later feature is a part of its own here, so
that a store that lacks it stays valid.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from knotwork._companions import Companions
from knotwork._stores.fields import FieldStore, LinkStore
from knotwork.records import (
    ChunkReading,
    Community,
    CommunityReport,
    Correction,
    Description,
    EntitySummary,
    Homonym,
    PropertyNode,
    PropertyValue,
    QueryResult,
    ReadingStatus,
    Relationship,
    SameAs,
)

if TYPE_CHECKING:
    from knotwork._extensions.tables.table_file import TableFile


class CommunityStore(Protocol):
    """Communities of the graph and their reports; writes join the transaction of the store."""

    def replace(self, communities: Iterable[Community]) -> None:
        """Replace all stored communities, and mark none as stale.

        Reports of communities that no longer exist are removed; the other reports stay.
        """

    def communities(self, ids: Collection[str]) -> dict[str, Community]: ...

    def levels(self) -> list[list[str]]:
        """Return the ids of the communities of each level, topmost level first, ids ascending."""

    def parents(self) -> Mapping[str, str | None]:
        """Return the parent of each community, None for the topmost, by ascending id."""

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[str]]:
        """Return the ids of the communities of each entity, from the topmost to the lowest."""

    def of_chunks(self, chunk_ids: Collection[str]) -> dict[str, list[str]]:
        """Return the ids of the communities with each chunk, from the topmost to the lowest."""

    def stale(self) -> list[str]:
        """Return the ids of the communities that a removal changed since `replace`, ascending."""

    def forget(
        self, chunk_ids: Collection[str], *, mentioned: Collection[str], vanished: Collection[str]
    ) -> list[str]:
        """Remove chunks and ``vanished`` entities from all communities.

        Communities with one of the chunks or of the ``mentioned`` entities become stale; those
        without members are removed. Reports that cite one of the chunks are removed. Return the
        ids of the communities that lost their report, ascending.
        """

    def put_reports(self, reports: Iterable[CommunityReport]) -> None:
        """Add or replace the reports of communities."""

    def reports(self, community_ids: Collection[str]) -> dict[str, CommunityReport]:
        """Return the reports of these communities, by community id."""


class ReadingStore(Protocol):
    """Model readings of chunks, entity descriptions and their summaries; writes join the
    transaction of the store.
    """

    def put(
        self, readings: Iterable[ChunkReading], descriptions: Iterable[Description] = ()
    ) -> None:
        """Add or replace readings (one per chunk) and descriptions (one per chunk and entity).

        Earlier descriptions of the chunks read are removed, and so are the summaries of entities
        that have no description afterwards.
        """

    def readings(self, chunk_ids: Collection[str]) -> dict[str, ChunkReading]:
        """Return the readings of these chunks, by chunk id."""

    def quarantined(self) -> list[ChunkReading]:
        """Return the quarantined readings, ordered by chunk id."""

    def counts(self) -> Mapping[ReadingStatus, int]:
        """Return the number of chunks with each status, without statuses that no chunk has."""

    def descriptions(self, entity_ids: Collection[str]) -> dict[str, list[Description]]:
        """Return the descriptions of each entity that has any, ordered by chunk id."""

    def descriptions_in(self, chunk_ids: Collection[str]) -> dict[str, list[Description]]:
        """Return the descriptions from each chunk, ordered by entity id."""

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        """Remove the readings and descriptions of chunks, and the summaries of entities that have
        no description afterwards. Other summaries stay: their content key shows that they are old.
        """

    def put_summaries(self, summaries: Iterable[EntitySummary]) -> None:
        """Add or replace the summaries of entities."""

    def summaries(self, entity_ids: Collection[str]) -> dict[str, EntitySummary]:
        """Return the summaries of entities, by entity id."""

    def has_readings(self) -> bool:
        """Return True if there is a reading of any chunk; reads one row at most."""
        ...

    def described(self) -> list[str]:
        """Return the ids of all entities that have a description, ascending."""


class QuestionStore(Protocol):
    """Hypothetical questions by chunk; writes join the transaction of the store."""

    def put(self, questions: Mapping[str, Sequence[str]]) -> None:
        """Replace the questions of these chunks, and drop repeated questions of a chunk."""

    def questions(self, chunk_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the questions of each chunk, in order, without chunks that have none."""
        ...

    def chunk_ids(self) -> list[str]:
        """Return the ids of the chunks that have questions, ascending."""
        ...

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        """Remove the questions of these chunks."""


class ResolutionStore(Protocol):
    """Decisions whether two entities are the same; writes join the transaction of the store.

    A decision is visible only while both its entities exist. If an entity is removed with its
    document and returns, as when a file is indexed again, so does the decision, unless `settle`
    ran in between.
    """

    def put(self, decisions: Iterable[SameAs]) -> None:
        """Add or replace decisions, one per pair."""

    def decisions(self) -> list[SameAs]:
        """Return all decisions, ordered by the ids of their pairs."""

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[SameAs]]:
        """Return the decisions about each entity, ordered by pair."""

    def remove(self, pairs: Collection[tuple[str, str]]) -> None:
        """Remove the decisions about these pairs (ids ascending), including those of persons."""

    def groups(self) -> dict[str, str]:
        """Return the canonical entity of every merged entity, itself included (`form_groups`)."""

    def touch(self, entity_ids: Collection[str]) -> None:
        """Mark entities as changed, whether they exist or not.

        `Store.remove_documents` marks every entity that a removed chunk mentioned.
        """

    def touched(self) -> list[str]:
        """Return the ids of the entities marked as changed, ascending."""

    def settle(self, entity_ids: Collection[str]) -> None:
        """Clear the mark of these entities, and remove decisions about those that do not exist.

        Decisions of persons (`SameAs.by_person`) stay, in case the entity returns.
        """


class HomonymStore(Protocol):
    """Names with several meanings; writes join the transaction of the store."""

    def replace(self, homonyms: Iterable[Homonym], *, among: Collection[str] | None = None) -> None:
        """Replace the stored homonyms of ``among`` (entity ids), by default all."""

    def read(self, entity_ids: Collection[str] | None = None) -> dict[str, Homonym]:
        """Return the homonyms among these entities (default: all), by entity id, ascending.

        A sense has the chunks that still mention the entity. A homonym with fewer than two senses
        that have chunks is left out.
        """
        ...


class SetAside(NamedTuple):
    """What documents say of hidden ``entities`` (ids) and removed ``relations`` (source, relation,
    target).
    """

    entities: frozenset[str]
    relations: frozenset[tuple[str, str, str]]


class CorrectionStore(Protocol):
    """What persons changed in the graph; writes join the transaction of the store.

    The graph is what documents contribute, changed by the corrections in effect
    (`knotwork._stores.corrections`): hidden entities and removed relations are not in it, also if
    documents bring them later, and entities have the names and types that they were given. What
    else follows from a correction, such as decisions on merged entities, full text and vectors, is
    written by its caller.
    """

    def corrections(self) -> list[Correction]:
        """Return all corrections, the oldest first."""
        ...

    def kept(self, correction_id: str) -> str:
        """Return what was put with a correction for the time when it is undone; "" for nothing."""
        ...

    def alone(self) -> AbstractContextManager[None]:
        """Return a transaction of the store beside which nobody else writes.

        A document that is being written could otherwise miss a correction.
        """
        ...

    def put(self, correction: Correction, *, kept: str = "") -> None:
        """Add a correction as the newest one, and replace the one with its id.

        `GraphStore.lookup` finds a renamed entity by the normal form of its new name too.
        """

    def remove(self, correction_ids: Collection[str]) -> None:
        """Remove corrections; the graph is as without them."""

    def set_aside(self) -> SetAside:
        """Return what documents say and the graph does not show."""
        ...


OWN_GRAPH = ""
"""The name of the graph that an index builds from its documents; see `CypherRunner`."""


class PropertyGraphStore(Protocol):
    """Imported graphs with labels and properties, by name; `OWN_GRAPH` is not one of them."""

    def put(
        self, name: str, nodes: Iterable[PropertyNode], relationships: Iterable[Relationship]
    ) -> None:
        """Add a graph, or replace the one of this name, in the transaction of the store.

        Raises StoreError for an empty name, a duplicate id, a relationship with a missing end, or a
        property value that cannot be stored.
        """

    def remove(self, name: str) -> None:
        """Remove the graph of this name, if it exists."""

    def names(self) -> list[str]:
        """Return the names of all graphs, ascending."""


class LiveGraphs(Protocol):
    """Graphs on servers that an index is connected to, and only reads, by name."""

    def names(self, language: str = "cypher") -> list[str]:
        """Return the names of the graphs that a language is spoken to, ascending."""
        ...

    def version(self, name: str) -> int:
        """Return a number that changes whenever what was read of a graph is to be read again."""
        ...

    def query(
        self,
        name: str,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
    ) -> QueryResult:
        """Run a statement in the language of a graph. Raises as `CypherRunner`."""
        ...


class CypherRunner(Protocol):
    """Runs a read-only openCypher statement.

    The graph `OWN_GRAPH` is the index itself, with the labels and relationship types of
    `records.graph` (Document, Section, Chunk, Entity, Keyword; RELATES with ``relation``). If the
    store has communities and questions, they are nodes too (`QueriedLabel`, `QueriedEdgeType`).
    """

    def __call__(
        self,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        graph: str = OWN_GRAPH,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
    ) -> QueryResult:
        """Run a statement and return its rows, at most ``row_limit``.

        Raises QueryRefused for a statement that is not supported or does more than read this graph,
        QuerySyntaxError for one that cannot be parsed, QueryTimeout after ``timeout_s``.
        """
        ...


class VectorReplacement(Protocol):
    """Replaces a whole vector index at once."""

    def replace_vectors(self, name: str, source: str) -> None:
        """Move the vectors of ``source`` to index ``name``, and drop those that were there.

        ``source`` is the staged name of ``name`` (see `knotwork._stores.indexes.staged_name`), so
        that both store the same number type. The cost must not depend on the number of vectors.
        """

    def clear_vectors(self, name: str) -> None:
        """Remove all vectors of an index."""


class RowPage(NamedTuple):
    """Rows of a part, and the key of the last one, as a text."""

    rows: Sequence[Any]
    last: str


class Contents(Protocol):
    """Everything that a store holds, as rows that are the same on every kind of store."""

    def page(self, part: str, after: str, *, limit: int) -> RowPage:
        """Return the first rows of a part whose keys follow ``after``, "" for the first ones."""
        ...

    def count(self, part: str) -> int:
        """Return the number of rows of a part."""
        ...

    def add(self, part: str, rows: Sequence[Any]) -> None:
        """Add rows that another store returned, in the open transaction of a new index."""

    def values(self, part: str, rows: Sequence[Any]) -> Iterable[tuple[str, object]]:
        """Return what rows say, each with its kind, in the types of JSON and bytes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The optional parts of a store; one that the store lacks is None.

    Reading from a store that lacks a part finds nothing. Writing to it is refused before any work
    (`knotwork._stores.base`). ``contents`` returns what lists all rows, for copies. ``self_check``
    reads the whole store and returns a sentence for each fault found; ``full_check`` also computes
    again what follows from documents.
    ``companions`` keeps what accompanies the index in the store, and ``tables`` its tables; without
    them, both are in files. ``opener`` opens the store once more, to write beside others, also in a
    process to which it is sent (`opener_of`); a store with a single writer has none. ``whole`` is
    the store of which this one is a part: see `whole_of`.
    """

    communities: CommunityStore | None = None
    readings: ReadingStore | None = None
    questions: QuestionStore | None = None
    resolutions: ResolutionStore | None = None
    homonyms: HomonymStore | None = None
    corrections: CorrectionStore | None = None
    property_graphs: PropertyGraphStore | None = None
    fields: FieldStore | None = None
    links: LinkStore | None = None
    cypher: CypherRunner | None = None
    live_graphs: LiveGraphs | None = None
    vector_replacement: VectorReplacement | None = None
    contents: Callable[[], Contents] | None = None
    companions: Companions | None = None
    tables: TableFile | None = None
    opener: Callable[[], object] | None = None
    whole: object | None = None
    self_check: Callable[[], list[str]] | None = None
    full_check: Callable[[], list[str]] | None = None
