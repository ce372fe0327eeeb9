"""Optional store protocols: communities, model readings, questions, relation reads, vector swaps.

A released protocol never gains a required method, so each later feature is a protocol of its own,
checked as in `isinstance(store, StoresCommunities)`. The modules `resolutions`, `property_graphs`
and `fields` have the optional protocols of entity resolution, imported graphs and filters.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from knotwork.records import (
    ChunkReading,
    Community,
    CommunityReport,
    Description,
    EntitySummary,
    ReadingStatus,
    Relation,
)


class CommunityStore(Protocol):
    """Communities of the graph and their reports; writes join the transaction of the store."""

    def replace(self, communities: Iterable[Community]) -> None:
        """Replace all stored communities, and mark none as stale.

        Reports of communities that no longer exist are removed; the other reports stay.
        """

    def communities(self, ids: Collection[str]) -> dict[str, Community]: ...

    def levels(self) -> list[list[str]]:
        """Return the ids of the communities of each level, topmost level first, ids ascending."""

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

    def remove_reports(self, community_ids: Collection[str]) -> None: ...

    def reports(self, community_ids: Collection[str]) -> dict[str, CommunityReport]:
        """Return the reports of these communities, by community id."""


@runtime_checkable
class CountsSettings(Protocol):
    """A ledger that counts its entries by settings without yielding them."""

    def settings_counts(self) -> Mapping[str, int]:
        """Return the number of entries without an error, by `LedgerEntry.settings`."""
        ...


@runtime_checkable
class ReadsCommunityParents(Protocol):
    """A community store that returns the community hierarchy without reading the communities."""

    def parents(self) -> Mapping[str, str | None]:
        """Return the parent of each community, None for the topmost, by ascending id."""
        ...


def read_parents(held: CommunityStore) -> Mapping[str, str | None]:
    """Return the parent of each community, by ascending id.

    A store without `ReadsCommunityParents` is read whole.
    """
    if isinstance(held, ReadsCommunityParents):
        return held.parents()
    ids = sorted(key for level in held.levels() for key in level)
    return {key: community.parent_id for key, community in held.communities(ids).items()}


@runtime_checkable
class StoresCommunities(Protocol):
    """A store that can hold communities."""

    @property
    def communities(self) -> CommunityStore: ...


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

    def described(self) -> list[str]:
        """Return the ids of all entities that have a description, ascending."""


@runtime_checkable
class StoresReadings(Protocol):
    """A store that can hold what a model read."""

    @property
    def readings(self) -> ReadingStore: ...


@runtime_checkable
class FindsAnyReading(Protocol):
    """A reading store that finds out whether it has readings without counting them."""

    def has_readings(self) -> bool:
        """Return True if there is a reading of any chunk; reads one row at most."""


def has_readings(readings: ReadingStore) -> bool:
    """Return True if there is a reading of any chunk.

    A store without `FindsAnyReading` counts its readings.
    """
    if isinstance(readings, FindsAnyReading):
        return readings.has_readings()
    return bool(readings.counts())


def was_read_by_model(store: object) -> bool:
    """Return True if a model, or a recording of one, read any chunk of a store.

    Descriptions do not prove it, as rules extract definitions too.
    """
    return isinstance(store, StoresReadings) and has_readings(store.readings)


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


@runtime_checkable
class StoresQuestions(Protocol):
    """A store that can hold questions."""

    @property
    def questions(self) -> QuestionStore: ...


@runtime_checkable
class ReadsRelations(Protocol):
    """A graph store that returns the relations that each chunk contributes."""

    def relations(self, chunk_ids: Collection[str]) -> dict[str, list[Relation]]:
        """Return the relations of each chunk with their descriptions, ordered by source, relation
        and target.
        """


class RelationLink(NamedTuple):
    """A relation or co-occurrence seen from one end; ``forward`` if that end is the source."""

    relation: str
    forward: bool
    other: str
    weight: float


@runtime_checkable
class LinksRelations(Protocol):
    """A graph store that reads relations without their chunks, which is much faster."""

    def relation_links(
        self, entity_ids: Collection[str], *, limit: int
    ) -> dict[str, list[RelationLink]]:
        """Return the relations and co-occurrences of each entity: outgoing, then incoming.

        Each direction has the ``limit`` strongest, ordered by weight descending, then by the id of
        the other end; relations between the same two ends are in the order of the store.
        """

    def relation_chunks(
        self, relations: Sequence[tuple[str, str, str]], *, limit: int
    ) -> list[tuple[str, ...]]:
        """Return the ``limit`` chunks with the smallest ids of each (source, relation, target)."""


@runtime_checkable
class ReplacesVectors(Protocol):
    """A store that can replace a whole vector index at once."""

    def replace_vectors(self, name: str, source: str) -> None:
        """Move the vectors of ``source`` to index ``name``, and drop those that were there.

        ``source`` is the staged name of ``name`` (see `knotwork._stores.vectors.staged_name`), so
        that both store the same number type. The cost must not depend on the number of vectors.
        """

    def clear_vectors(self, name: str) -> None:
        """Remove all vectors of an index."""


@runtime_checkable
class ChecksItself(Protocol):
    """A store that can check its own integrity."""

    def check(self) -> list[str]:
        """Read the whole store, and return a sentence for each fault found."""


@runtime_checkable
class ReportsWriting(Protocol):
    """A store that reports whether this thread has a write transaction open.

    What is read then may include uncommitted changes, so nothing computed from it may be cached
    under `Store.generation`.
    """

    @property
    def writing(self) -> bool:
        """Whether this thread is inside a write transaction."""
        ...
