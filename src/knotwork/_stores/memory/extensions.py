"""The optional parts of the memory store.

They are communities, model readings, questions, merge decisions, homonyms and imported graphs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from knotwork._stores.memory.state import ImportedGraph, StateAccess
from knotwork._stores.property_graphs import validate_graph, validate_graph_name
from knotwork._stores.resolutions import form_groups
from knotwork.records import (
    ChunkReading,
    Community,
    CommunityReport,
    Description,
    EntitySummary,
    Homonym,
    PropertyNode,
    ReadingStatus,
    Relationship,
    SameAs,
)


class MemoryCommunities:
    """The `CommunityStore` of the memory store."""

    def __init__(self, access: StateAccess) -> None:
        self._state, self._transaction = access

    def replace(self, communities: Iterable[Community]) -> None:
        with self._transaction():
            state = self._state()
            state.communities = {community.id: community for community in communities}
            state.stale = frozenset()
            state.reports = {
                key: report for key, report in state.reports.items() if key in state.communities
            }

    def communities(self, ids: Collection[str]) -> dict[str, Community]:
        stored = self._state().communities
        return {key: stored[key] for key in ids if key in stored}

    def levels(self) -> list[list[str]]:
        stored = self._state().communities
        depth = max((community.level for community in stored.values()), default=-1) + 1
        return [
            sorted(key for key, community in stored.items() if community.level == level)
            for level in range(depth)
        ]

    def parents(self) -> dict[str, str | None]:
        stored = self._state().communities
        return {key: stored[key].parent_id for key in sorted(stored)}

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[str]]:
        return self._communities_of(entity_ids, lambda community: community.entity_ids)

    def of_chunks(self, chunk_ids: Collection[str]) -> dict[str, list[str]]:
        return self._communities_of(chunk_ids, lambda community: community.chunk_ids)

    def _communities_of(
        self, ids: Collection[str], contents: Callable[[Community], Collection[str]]
    ) -> dict[str, list[str]]:
        wanted = set(ids)
        found: dict[str, list[str]] = {}
        stored = self._state().communities.values()
        for community in sorted(stored, key=lambda c: (c.level, c.id)):
            for key in wanted.intersection(contents(community)):
                found.setdefault(key, []).append(community.id)
        return found

    def stale(self) -> list[str]:
        return sorted(self._state().stale)

    def forget(
        self, chunk_ids: Collection[str], *, mentioned: Collection[str], vanished: Collection[str]
    ) -> list[str]:
        chunks, touched, gone = set(chunk_ids), set(mentioned), set(vanished)
        with self._transaction():
            state = self._state()
            for key, community in list(state.communities.items()):
                if chunks.isdisjoint(community.chunk_ids) and touched.isdisjoint(
                    community.entity_ids
                ):
                    continue
                members = tuple(m for m in community.members if m.entity_id not in gone)
                kept = tuple(chunk for chunk in community.chunk_ids if chunk not in chunks)
                state.communities[key] = replace(community, members=members, chunk_ids=kept)
                state.stale |= {key}
                if not members:
                    del state.communities[key]
                    state.stale -= {key}
            dropped = sorted(
                key
                for key, report in state.reports.items()
                if key not in state.communities or not chunks.isdisjoint(report.chunk_ids)
            )
            self.remove_reports(dropped)
        return dropped

    def put_reports(self, reports: Iterable[CommunityReport]) -> None:
        with self._transaction():
            self._state().reports.update((report.community_id, report) for report in reports)

    def remove_reports(self, community_ids: Collection[str]) -> None:
        with self._transaction():
            for key in community_ids:
                self._state().reports.pop(key, None)

    def reports(self, community_ids: Collection[str]) -> dict[str, CommunityReport]:
        stored = self._state().reports
        return {key: stored[key] for key in community_ids if key in stored}


class MemoryReadings:
    """The `ReadingStore` of the memory store."""

    def __init__(self, access: StateAccess) -> None:
        self._state, self._transaction = access

    def put(
        self, readings: Iterable[ChunkReading], descriptions: Iterable[Description] = ()
    ) -> None:
        with self._transaction():
            read = {reading.chunk_id: reading for reading in readings}
            before = self._drop_descriptions(read)
            state = self._state()
            state.readings.update(read)
            state.descriptions.update(((d.chunk_id, d.entity_id), d) for d in descriptions)
            self._drop_summaries(before)

    def readings(self, chunk_ids: Collection[str]) -> dict[str, ChunkReading]:
        stored = self._state().readings
        return {key: stored[key] for key in chunk_ids if key in stored}

    def quarantined(self) -> list[ChunkReading]:
        return [
            reading
            for _, reading in sorted(self._state().readings.items())
            if reading.status is ReadingStatus.QUARANTINED
        ]

    def counts(self) -> Mapping[ReadingStatus, int]:
        return dict(Counter(reading.status for reading in self._state().readings.values()))

    def has_readings(self) -> bool:
        return bool(self._state().readings)

    def descriptions(self, entity_ids: Collection[str]) -> dict[str, list[Description]]:
        wanted = set(entity_ids)
        found: defaultdict[str, list[Description]] = defaultdict(list)
        for (_, entity), description in sorted(
            self._state().descriptions.items(), key=lambda item: item[0]
        ):
            if entity in wanted:
                found[entity].append(description)
        return dict(found)

    def descriptions_in(self, chunk_ids: Collection[str]) -> dict[str, list[Description]]:
        wanted = set(chunk_ids)
        found: defaultdict[str, list[Description]] = defaultdict(list)
        for (chunk, _), description in sorted(
            self._state().descriptions.items(), key=lambda item: item[0]
        ):
            if chunk in wanted:
                found[chunk].append(description)
        return dict(found)

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        gone = set(chunk_ids)
        with self._transaction():
            state = self._state()
            state.readings = {k: r for k, r in state.readings.items() if k not in gone}
            self._drop_summaries(self._drop_descriptions(gone))

    def put_summaries(self, summaries: Iterable[EntitySummary]) -> None:
        with self._transaction():
            self._state().summaries.update((summary.entity_id, summary) for summary in summaries)

    def summaries(self, entity_ids: Collection[str]) -> dict[str, EntitySummary]:
        stored = self._state().summaries
        return {key: stored[key] for key in entity_ids if key in stored}

    def described(self) -> list[str]:
        return sorted({entity for _, entity in self._state().descriptions})

    def _drop_descriptions(self, chunks: Collection[str]) -> set[str]:
        """Remove the descriptions from these chunks; return the entities that lose one."""
        state = self._state()
        lost = {entity for chunk, entity in state.descriptions if chunk in chunks}
        state.descriptions = {k: d for k, d in state.descriptions.items() if k[0] not in chunks}
        return lost

    def _drop_summaries(self, lost: set[str]) -> None:
        """Remove the summaries of those entities that have no description."""
        state = self._state()
        gone = lost.difference(entity for _, entity in state.descriptions)
        state.summaries = {k: s for k, s in state.summaries.items() if k not in gone}


class MemoryQuestions:
    """The `QuestionStore` of the memory store."""

    def __init__(self, access: StateAccess) -> None:
        self._state, self._transaction = access

    def put(self, questions: Mapping[str, Sequence[str]]) -> None:
        with self._transaction():
            self.remove_chunks(questions)
            state = self._state()
            state.questions |= {
                key: tuple(dict.fromkeys(asked)) for key, asked in questions.items() if asked
            }

    def questions(self, chunk_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        stored = self._state().questions
        return {key: stored[key] for key in chunk_ids if key in stored}

    def chunk_ids(self) -> list[str]:
        return sorted(self._state().questions)

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        with self._transaction():
            state = self._state()
            for key in chunk_ids:
                state.questions.pop(key, None)


class MemoryResolutions:
    """The `ResolutionStore` of the memory store."""

    def __init__(self, access: StateAccess) -> None:
        self._state, self._transaction = access

    def put(self, decisions: Iterable[SameAs]) -> None:
        with self._transaction():
            self._state().same_as.update((decision.pair, decision) for decision in decisions)

    def decisions(self) -> list[SameAs]:
        existing = self._chunk_counts()
        return [
            decision
            for (first, second), decision in sorted(
                self._state().same_as.items(), key=lambda item: item[0]
            )
            if first in existing and second in existing
        ]

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[SameAs]]:
        wanted = set(entity_ids)
        found: defaultdict[str, list[SameAs]] = defaultdict(list)
        for decision in self.decisions():
            for end in wanted.intersection(decision.pair):
                found[end].append(decision)
        return dict(found)

    def remove(self, pairs: Collection[tuple[str, str]]) -> None:
        with self._transaction():
            for pair in pairs:
                self._state().same_as.pop(pair, None)

    def groups(self) -> dict[str, str]:
        return form_groups(self.decisions(), self._chunk_counts()).canonical

    def touch(self, entity_ids: Collection[str]) -> None:
        with self._transaction():
            self._state().touched |= set(entity_ids)

    def touched(self) -> list[str]:
        return sorted(self._state().touched)

    def settle(self, entity_ids: Collection[str]) -> None:
        settled = set(entity_ids)
        with self._transaction():
            state = self._state()
            state.touched -= settled
            gone = settled.difference(self._chunk_counts())
            state.same_as = {
                pair: decision
                for pair, decision in state.same_as.items()
                if decision.by_person or gone.isdisjoint(pair)
            }

    def _chunk_counts(self) -> Counter[str]:
        return Counter(entity for _, entity in self._state().mentions)


class MemoryHomonyms:
    """The `HomonymStore` of the memory store."""

    def __init__(self, access: StateAccess) -> None:
        self._state, self._transaction = access

    def replace(self, homonyms: Iterable[Homonym], *, among: Collection[str] | None = None) -> None:
        with self._transaction():
            state = self._state()
            gone = set(state.homonyms if among is None else among)
            kept = {key: known for key, known in state.homonyms.items() if key not in gone}
            state.homonyms = kept | {homonym.entity_id: homonym for homonym in homonyms}

    def read(self, entity_ids: Collection[str] | None = None) -> dict[str, Homonym]:
        state = self._state()
        wanted = state.homonyms if entity_ids is None else set(entity_ids) & state.homonyms.keys()
        found: dict[str, Homonym] = {}
        for key in sorted(wanted):
            known = state.homonyms[key]
            senses = [
                tuple(sorted(c for c in sense if (c, key) in state.mentions))
                for sense in known.senses
            ]
            nonempty = tuple(sense for sense in senses if sense)
            if len(nonempty) > 1:
                found[key] = replace(known, senses=nonempty)
        return found


class MemoryPropertyGraphs:
    """The `PropertyGraphStore` of the memory store."""

    def __init__(self, access: StateAccess) -> None:
        self._state, self._transaction = access

    def put(
        self, name: str, nodes: Iterable[PropertyNode], relationships: Iterable[Relationship]
    ) -> None:
        valid_nodes, edges = validate_graph(nodes, relationships)
        with self._transaction():
            self._state().graphs[validate_graph_name(name)] = ImportedGraph(
                tuple(valid_nodes), tuple(edges)
            )

    def remove(self, name: str) -> None:
        with self._transaction():
            self._state().graphs.pop(name, None)

    def names(self) -> list[str]:
        return sorted(self._state().graphs)

    def read(self, name: str) -> ImportedGraph | None:
        """Return the graph of this name, or None."""
        return self._state().graphs.get(name)
