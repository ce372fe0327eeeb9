"""Communities and reports, and descriptions by a model, as a filter leaves them.

What a report or a description says comes from certain chunks. It exists only if none of them is
excluded: text from an excluded passage never comes back inside a summary.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property

from knotwork.records import (
    ChunkReading,
    Community,
    CommunityReport,
    Description,
    EntitySummary,
    Member,
    ReadingStatus,
)
from knotwork.stores.communities import CommunityStore, read_parents
from knotwork.stores.fields import Selection
from knotwork.stores.filtered.documents import refuse_to_write
from knotwork.stores.filtered.graph import FilteredGraph
from knotwork.stores.id_sets import IdSet
from knotwork.stores.readings import ReadingStore

_BATCH = 500


class FilteredCommunities:
    """The `CommunityStore` of a filtered index: communities that hold an allowed chunk."""

    replace = refuse_to_write
    forget = refuse_to_write
    put_reports = refuse_to_write
    remove_reports = refuse_to_write

    def __init__(self, held: CommunityStore, selection: Selection, graph: FilteredGraph) -> None:
        self._held = held
        self._selection = selection
        self._graph = graph

    @cached_property
    def reported(self) -> IdSet:
        """The ids of the communities whose report may be shown."""
        ids = [i for level in self._held.levels() for i in level]
        shown: list[str] = []
        for start in range(0, len(ids), _BATCH):
            shown += self.reports(ids[start : start + _BATCH])
        return IdSet.of(shown)

    @cached_property
    def _allowed(self) -> frozenset[str]:
        found = self._held.of_chunks(self._selection.chunks)
        return frozenset(key for around in found.values() for key in around)

    def communities(self, ids: Collection[str]) -> dict[str, Community]:
        """Return communities with their allowed chunks, and the entities that these mention."""
        found = self._held.communities([i for i in ids if i in self._allowed])
        return {key: self._cut(community) for key, community in found.items()}

    def levels(self) -> list[list[str]]:
        """Return the ids of the communities of each level, the topmost first, each ascending."""
        kept = [[i for i in level if i in self._allowed] for level in self._held.levels()]
        return [level for level in kept if level]

    def parents(self) -> Mapping[str, str | None]:
        """Return the parent of each community, None for the topmost, by ascending id."""
        parents = read_parents(self._held)
        return {key: above for key, above in parents.items() if key in self._allowed}

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[str]]:
        """Return the communities of each entity, from the topmost to the lowest."""
        entities = [i for i in entity_ids if i in self._graph.allowed_entities]
        return self._only_allowed(self._held.of_entities(entities))

    def of_chunks(self, chunk_ids: Collection[str]) -> dict[str, list[str]]:
        """Return the communities that hold each allowed chunk, topmost to lowest."""
        chunks = [i for i in chunk_ids if i in self._selection.chunks]
        return self._only_allowed(self._held.of_chunks(chunks))

    def stale(self) -> list[str]:
        """Return the ids of the communities that a removal touched."""
        return [i for i in self._held.stale() if i in self._allowed]

    def reports(self, community_ids: Collection[str]) -> dict[str, CommunityReport]:
        """Return the reports that are made of allowed chunks alone."""
        found = self._held.reports([i for i in community_ids if i in self._allowed])
        sources = self._held.communities(found)
        chunks = self._selection.chunks
        return {
            key: report
            for key, report in found.items()
            if all(i in chunks for i in (*report.chunk_ids, *sources[key].chunk_ids))
        }

    def _cut(self, community: Community) -> Community:
        entities = self._graph.allowed_entities
        members = [member for member in community.members if member.entity_id in entities]
        total = sum(member.importance for member in members) or 1.0
        return replace(
            community,
            members=tuple(Member(m.entity_id, m.importance / total) for m in members),
            chunk_ids=tuple(i for i in community.chunk_ids if i in self._selection.chunks),
        )

    def _only_allowed(self, found: Mapping[str, list[str]]) -> dict[str, list[str]]:
        kept = {key: [i for i in around if i in self._allowed] for key, around in found.items()}
        return {key: around for key, around in kept.items() if around}


class FilteredReadings:
    """The `ReadingStore` of a filtered index."""

    put = refuse_to_write
    remove_chunks = refuse_to_write
    put_summaries = refuse_to_write

    def __init__(self, held: ReadingStore, selection: Selection) -> None:
        self._held = held
        self._chunks = selection.chunks

    def readings(self, chunk_ids: Collection[str]) -> dict[str, ChunkReading]:
        """Return the readings of these chunks, by chunk id."""
        return self._held.readings([i for i in chunk_ids if i in self._chunks])

    def quarantined(self) -> list[ChunkReading]:
        """Return the quarantined readings, ordered by chunk id."""
        return [reading for reading in self._held.quarantined() if reading.chunk_id in self._chunks]

    def counts(self) -> Mapping[ReadingStatus, int]:
        """Return how many chunks of the whole index have each status."""
        return self._held.counts()

    def descriptions(self, entity_ids: Collection[str]) -> dict[str, list[Description]]:
        """Return the descriptions that allowed chunks give, ordered by chunk id."""
        return self._allowed(self._held.descriptions(entity_ids))

    def descriptions_in(self, chunk_ids: Collection[str]) -> dict[str, list[Description]]:
        """Return the descriptions that each allowed chunk gives, ordered by entity id."""
        return self._held.descriptions_in([i for i in chunk_ids if i in self._chunks])

    def summaries(self, entity_ids: Collection[str]) -> dict[str, EntitySummary]:
        """Return the summaries of entities that only allowed chunks describe."""
        described = self._held.descriptions(entity_ids)
        outside = {
            key
            for key, every in described.items()
            if any(d.chunk_id not in self._chunks for d in every)
        }
        return self._held.summaries([i for i in entity_ids if i not in outside])

    def described(self) -> list[str]:
        """Return the ids of all entities that an allowed chunk describes, ascending."""
        ids = self._held.described()
        return [i for i in ids if i in self.descriptions(ids)] if ids else []

    def _allowed(self, found: Mapping[str, list[Description]]) -> dict[str, list[Description]]:
        kept = {
            key: [d for d in every if d.chunk_id in self._chunks] for key, every in found.items()
        }
        return {key: every for key, every in kept.items() if every}
