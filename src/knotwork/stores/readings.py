"""The power to store what a language model read, which not every store has to have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol, runtime_checkable

from knotwork.records import ChunkReading, Description, EntitySummary, ReadingStatus


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
