"""Optional store protocols: communities, model readings, questions, relation reads, vector swaps.

A released protocol never gains a required method, so each later capability is a protocol of its
own. Check with `isinstance(store, StoresCommunities)`. Entity resolution and imported graphs have
theirs in `resolutions` and `property_graphs`.
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
    """Communities of the graph and their reports, in the transactions of their store."""

    def replace(self, communities: Iterable[Community]) -> None:
        """Put these in the place of all communities there are; none of them is stale then.

        Reports of communities that are gone go too; the others stay as they are.
        """

    def communities(self, ids: Collection[str]) -> dict[str, Community]: ...

    def levels(self) -> list[list[str]]:
        """Return the ids of the communities of each level, the topmost first, each ascending."""

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[str]]:
        """Return the communities of each entity, from the topmost to the lowest."""

    def of_chunks(self, chunk_ids: Collection[str]) -> dict[str, list[str]]:
        """Return the communities that hold each chunk, from the topmost to the lowest."""

    def stale(self) -> list[str]:
        """Return the ids of the communities that a removal touched since `replace`, ascending."""

    def forget(
        self, chunk_ids: Collection[str], *, mentioned: Collection[str], vanished: Collection[str]
    ) -> list[str]:
        """Forget removed chunks: return the ids of the communities whose reports went, ascending.

        Communities that hold one of the chunks, or one of the ``mentioned`` entities of these, are
        stale from now on. The chunks leave them, and so do the ``vanished`` entities; a community
        without members goes. A report goes when it cites one of the chunks.
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
    """A community store that tells how communities lie in each other without reading them."""

    def parents(self) -> Mapping[str, str | None]:
        """Return the parent of each community, None for the topmost, by ascending id."""
        ...


def read_parents(held: CommunityStore) -> Mapping[str, str | None]:
    """Return the parent of each community; a store that does not tell is read whole."""
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
    """Readings, descriptions and their summaries, in the transactions of their store."""

    def put(
        self, readings: Iterable[ChunkReading], descriptions: Iterable[Description] = ()
    ) -> None:
        """Add readings, each in the place of an earlier one of its chunk; and descriptions, each in
        the place of an earlier one with the same chunk and entity. Descriptions that a chunk has
        from an earlier reading go, and the summaries of entities that then none is left of.
        """

    def readings(self, chunk_ids: Collection[str]) -> dict[str, ChunkReading]:
        """Return the readings of these chunks, by chunk id."""

    def quarantined(self) -> list[ChunkReading]:
        """Return the quarantined readings, ordered by chunk id."""

    def counts(self) -> Mapping[ReadingStatus, int]:
        """Return how many chunks have each status; those that none has are absent."""

    def descriptions(self, entity_ids: Collection[str]) -> dict[str, list[Description]]:
        """Return the descriptions of each entity that has any, ordered by chunk id."""

    def descriptions_in(self, chunk_ids: Collection[str]) -> dict[str, list[Description]]:
        """Return the descriptions that each chunk gives, ordered by entity id."""

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        """Remove the readings and descriptions of chunks, and the summaries of entities that no
        description is left of. Other summaries stay: their content key tells that they are old.
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


def was_read_by_model(store: object) -> bool:
    """Return whether a model, or a recording of one, read any chunk of a store.

    Descriptions alone do not show it: rules take definitions from the documents too.
    """
    return isinstance(store, StoresReadings) and bool(store.readings.counts())


class QuestionStore(Protocol):
    """Hypothetical questions by chunk, in the transactions of their store."""

    def put(self, questions: Mapping[str, Sequence[str]]) -> None:
        """Replace the questions of these chunks; of equal questions of a chunk the first stays."""

    def questions(self, chunk_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the questions of these chunks in their order; a chunk without any is absent."""
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
    """A graph store that tells which relations each chunk contributes, with their descriptions."""

    def relations(self, chunk_ids: Collection[str]) -> dict[str, list[Relation]]:
        """Return each chunk's relations, ordered by source, relation and target."""


class RelationLink(NamedTuple):
    """A relation or co-occurrence seen from one end; ``forward`` when that end is its source."""

    relation: str
    forward: bool
    other: str
    weight: float


@runtime_checkable
class LinksRelations(Protocol):
    """A graph store that tells relations without the chunks behind them, which is far quicker."""

    def relation_links(
        self, entity_ids: Collection[str], *, limit: int
    ) -> dict[str, list[RelationLink]]:
        """Return the relations and co-occurrences at each entity: out of it, then into it.

        Of either kind the ``limit`` strongest, ordered by weight descending, then by the id of the
        other end; several between the same two ends in the order of the store.
        """

    def relation_chunks(
        self, relations: Sequence[tuple[str, str, str]], *, limit: int
    ) -> list[tuple[str, ...]]:
        """Return the first chunks, by id, that state each (source, relation, target), in order."""


@runtime_checkable
class ReplacesVectors(Protocol):
    """A store that can replace a whole vector index at once; an extra power."""

    def replace_vectors(self, name: str, source: str) -> None:
        """Replace the vectors of index ``name`` with those of ``source``, which ends up empty.

        The cost must not depend on the size of the vectors. Both indexes store the same number
        type: ``source`` is a staged name (`knotwork.stores.vectors`) of ``name``.
        """

    def clear_vectors(self, name: str) -> None:
        """Remove all vectors of an index."""


@runtime_checkable
class ChecksItself(Protocol):
    """A store that can examine what it holds; an extra power, not required of one."""

    def check(self) -> list[str]:
        """Return what is wrong, in words; nothing when all is well. Reads everything."""


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
