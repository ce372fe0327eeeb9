"""Store model readings, entity descriptions and summaries, and chunk questions in tables."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from knotwork._stores.embedded.collisions import check_question_ids
from knotwork._stores.embedded.database import Database, reports_damage
from knotwork._stores.embedded.packing import (
    keys_of,
    pack_keys,
    pack_line,
    pack_text,
    unpack_line,
    unpack_status,
    unpack_strings,
    unpack_text,
)
from knotwork._stores.graph_view import question_id
from knotwork.records import (
    ChunkReading,
    Description,
    EntitySummary,
    ReadingStatus,
    id_to_int,
    int_to_id,
)

_READINGS = (
    "SELECT r.chunk, r.status, r.source, r.reason, r.complaints, r.raw FROM json_each(?) j"
    " CROSS JOIN chunk_reading r ON r.chunk = j.value"
)
_QUARANTINED = (
    "SELECT chunk, status, source, reason, complaints, raw FROM chunk_reading"
    " WHERE status = 'quarantined' ORDER BY chunk"
)
_OF_ENTITIES = (
    "SELECT d.entity, d.chunk, d.normal_form, d.text FROM json_each(?) j"
    " CROSS JOIN description d ON d.entity = j.value ORDER BY d.entity, d.chunk"
)
_IN_CHUNKS = (
    "SELECT d.chunk, d.chunk, d.normal_form, d.text FROM json_each(?) j"
    " CROSS JOIN description d ON d.chunk = j.value ORDER BY d.chunk, d.entity"
)
_DESCRIBED_IN = (
    "SELECT DISTINCT d.entity FROM json_each(?) j CROSS JOIN description d ON d.chunk = j.value"
)
_SUMMARIES = (
    "SELECT s.entity, s.text, s.source, s.content_key FROM json_each(?) j"
    " CROSS JOIN entity_summary s ON s.entity = j.value"
)
_PUT_READING = "INSERT OR REPLACE INTO chunk_reading VALUES (?, ?, ?, ?, ?, ?)"
_PUT_DESCRIPTION = "INSERT OR REPLACE INTO description VALUES (?, ?, ?, ?)"
_PUT_SUMMARY = "INSERT OR REPLACE INTO entity_summary VALUES (?, ?, ?, ?)"
_DROP_SUMMARY = (
    "DELETE FROM entity_summary WHERE entity = ?1"
    " AND NOT EXISTS (SELECT 1 FROM description WHERE entity = ?1)"
)


@reports_damage
class EmbeddedReadings:
    """The `ReadingStore` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(
        self, readings: Iterable[ChunkReading], descriptions: Iterable[Description] = ()
    ) -> None:
        """Add readings and descriptions; see `ReadingStore.put`."""
        database = self._database
        read = {id_to_int(reading.chunk_id): reading for reading in readings}
        with database.transaction():
            lost = self._drop_descriptions(list(read))
            rows = ((key, *_reading_columns(reading)) for key, reading in read.items())
            database.write_many(_PUT_READING, rows)
            database.write_many(_PUT_DESCRIPTION, map(_description_row, descriptions))
            self._drop_summaries(lost)

    def readings(self, chunk_ids: Collection[str]) -> dict[str, ChunkReading]:
        """Return the readings of these chunks, by chunk id."""
        keys = dict(keys_of(chunk_ids))
        rows = self._database.rows(_READINGS, (pack_keys(keys.values()),))
        found = {key: _reading(key, *columns) for key, *columns in rows}
        return {identifier: found[key] for identifier, key in keys.items() if key in found}

    def quarantined(self) -> list[ChunkReading]:
        """Return the quarantined readings, ordered by chunk id."""
        return [_reading(*row) for row in self._database.rows(_QUARANTINED)]

    def counts(self) -> Mapping[ReadingStatus, int]:
        """Return the number of chunks with each status, without statuses that no chunk has."""
        rows = self._database.rows("SELECT status, count(*) FROM chunk_reading GROUP BY status")
        return {unpack_status(status): count for status, count in rows}

    def has_readings(self) -> bool:
        """Return True if there is a reading of any chunk; reads one row at most."""
        return self._database.row("SELECT 1 FROM chunk_reading LIMIT 1") is not None

    def descriptions(self, entity_ids: Collection[str]) -> dict[str, list[Description]]:
        """Return the descriptions of each entity that has any, ordered by chunk id."""
        return self._read_descriptions(_OF_ENTITIES, entity_ids)

    def descriptions_in(self, chunk_ids: Collection[str]) -> dict[str, list[Description]]:
        """Return the descriptions from each chunk, ordered by entity id."""
        return self._read_descriptions(_IN_CHUNKS, chunk_ids)

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        """Remove the readings and descriptions of chunks; see `ReadingStore.remove_chunks`."""
        chunks = [key for _, key in keys_of(chunk_ids)]
        with self._database.transaction():
            self._database.write_many(
                "DELETE FROM chunk_reading WHERE chunk = ?", ((key,) for key in chunks)
            )
            self._drop_summaries(self._drop_descriptions(chunks))

    def put_summaries(self, summaries: Iterable[EntitySummary]) -> None:
        """Add or replace the summaries of entities."""
        with self._database.transaction():
            self._database.write_many(
                _PUT_SUMMARY,
                (
                    (id_to_int(s.entity_id), pack_line(s.text), s.source, s.content_key)
                    for s in summaries
                ),
            )

    def summaries(self, entity_ids: Collection[str]) -> dict[str, EntitySummary]:
        """Return the summaries of entities, by entity id."""
        keys = dict(keys_of(entity_ids))
        rows = self._database.rows(_SUMMARIES, (pack_keys(keys.values()),))
        found = {
            key: EntitySummary(int_to_id(key), unpack_line(text), source, content_key)
            for key, text, source, content_key in rows
        }
        return {identifier: found[key] for identifier, key in keys.items() if key in found}

    def described(self) -> list[str]:
        """Return the ids of all entities that have a description, ascending."""
        rows = self._database.rows("SELECT DISTINCT entity FROM description ORDER BY entity")
        return [int_to_id(entity) for (entity,) in rows]

    def _read_descriptions(self, sql: str, ids: Collection[str]) -> dict[str, list[Description]]:
        found: defaultdict[str, list[Description]] = defaultdict(list)
        packed = pack_keys(key for _, key in keys_of(ids))
        for key, chunk, form, text in self._database.rows(sql, (packed,)):
            found[int_to_id(key)].append(Description(int_to_id(chunk), form, unpack_line(text)))
        return dict(found)

    def _drop_descriptions(self, chunks: Sequence[int]) -> list[int]:
        """Remove the descriptions from these chunks; return the entities that lose one."""
        lost = [entity for (entity,) in self._database.fetch(_DESCRIBED_IN, (pack_keys(chunks),))]
        if lost:
            self._database.write_many(
                "DELETE FROM description WHERE chunk = ?", ((key,) for key in chunks)
            )
        return lost

    def _drop_summaries(self, lost: Iterable[int]) -> None:
        """Remove the summaries of those entities that have no description."""
        self._database.write_many(_DROP_SUMMARY, ((entity,) for entity in lost))


def _reading_columns(reading: ChunkReading) -> tuple[str | bytes | None, ...]:
    return (
        reading.status.value,
        reading.source,
        pack_line(reading.reason),
        json.dumps(reading.complaints) if reading.complaints else "",
        pack_text(reading.raw) if reading.raw else None,
    )


def _reading(
    key: int, status: str, source: str, reason: bytes, complaints: str, raw: bytes | None
) -> ChunkReading:
    return ChunkReading(
        int_to_id(key),
        source,
        unpack_status(status),
        unpack_line(reason),
        "" if raw is None else unpack_text(raw),
        unpack_strings(complaints),
    )


def _description_row(description: Description) -> tuple[int | str | bytes, ...]:
    return (
        id_to_int(description.chunk_id),
        id_to_int(description.entity_id),
        description.normal_form,
        pack_line(description.text),
    )


_QUESTIONS = (
    "SELECT q.chunk, q.text FROM json_each(?) j CROSS JOIN question q ON q.chunk = j.value"
    " ORDER BY q.chunk, q.ordinal"
)


@reports_damage
class EmbeddedQuestions:
    """The `QuestionStore` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, questions: Mapping[str, Sequence[str]]) -> None:
        """Replace the questions of these chunks, and drop repeated questions of a chunk."""
        with self._database.transaction():
            self.remove_chunks(questions)
            rows = [
                (id_to_int(question_id(key, text)), id_to_int(key), ordinal, pack_line(text))
                for key, asked in questions.items()
                for ordinal, text in enumerate(dict.fromkeys(asked))
            ]
            check_question_ids(self._database, rows)
            self._database.write_many("INSERT INTO question VALUES (?, ?, ?, ?)", rows)

    def questions(self, chunk_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the questions of each chunk, in order, without chunks that have none."""
        keys = dict(keys_of(chunk_ids))
        found: defaultdict[int, list[str]] = defaultdict(list)
        for key, text in self._database.rows(_QUESTIONS, (pack_keys(keys.values()),)):
            found[key].append(unpack_line(text))
        return {identifier: tuple(found[key]) for identifier, key in keys.items() if key in found}

    def chunk_ids(self) -> list[str]:
        """Return the ids of the chunks that have questions, ascending."""
        rows = self._database.rows("SELECT DISTINCT chunk FROM question ORDER BY chunk")
        return [int_to_id(key) for (key,) in rows]

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        """Remove the questions of these chunks."""
        with self._database.transaction():
            self._database.write_many(
                "DELETE FROM question WHERE chunk = ?", ((key,) for _, key in keys_of(chunk_ids))
            )
