"""What a model read, in dictionaries."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from knotwork.records import ChunkReading, Description, EntitySummary, ReadingStatus
from knotwork.stores.memory.state import Access


class MemoryReadings:
    """The `ReadingStore` of the memory store."""

    def __init__(self, access: Access) -> None:
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
        """Drop the descriptions that these chunks give; return the entities that lose one."""
        state = self._state()
        lost = {entity for chunk, entity in state.descriptions if chunk in chunks}
        state.descriptions = {k: d for k, d in state.descriptions.items() if k[0] not in chunks}
        return lost

    def _drop_summaries(self, lost: set[str]) -> None:
        """Drop the summaries of those of these entities that no description is left of."""
        state = self._state()
        gone = lost.difference(entity for _, entity in state.descriptions)
        state.summaries = {k: s for k, s in state.summaries.items() if k not in gone}
