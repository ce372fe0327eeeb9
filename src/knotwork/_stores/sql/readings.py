"""Store model readings, entity descriptions and summaries, and chunk questions in tables."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from knotwork._stores.graph_view import question_id
from knotwork._stores.sql.collisions import SqlIdChecks
from knotwork._stores.sql.database import (
    Dialect,
    SqlDatabase,
    SqlPart,
    delete_keys,
    insert,
    reports_damage,
    upsert,
)
from knotwork._stores.sql.packing import (
    keys_of,
    pack_line,
    pack_text,
    unpack_line,
    unpack_status,
    unpack_strings,
    unpack_text,
)
from knotwork.records import (
    ChunkReading,
    Description,
    EntitySummary,
    ReadingStatus,
    id_to_int,
    int_to_id,
)


class ReadingStatements:
    """The statements of `SqlReadings` in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        keys = dialect.keys("$1")
        self.readings = f"""
            SELECT r.chunk, r.status, r.source, r.reason, r.complaints, r.raw
            FROM {keys} CROSS JOIN chunk_reading r WHERE r.chunk = j.value
        """
        self.quarantined = f"""
            SELECT chunk, status, source, reason, complaints, raw FROM chunk_reading
            WHERE status = '{ReadingStatus.QUARANTINED.value}' ORDER BY chunk
        """
        self.counts = "SELECT status, count(*) FROM chunk_reading GROUP BY status"
        self.any = "SELECT 1 FROM chunk_reading LIMIT 1"
        self.descriptions = f"""
            SELECT d.entity, d.chunk, d.normal_form, d.text
            FROM {keys} CROSS JOIN description d WHERE d.entity = j.value
            ORDER BY d.entity, d.chunk
        """
        self.descriptions_in = f"""
            SELECT d.chunk, d.chunk, d.normal_form, d.text
            FROM {keys} CROSS JOIN description d WHERE d.chunk = j.value
            ORDER BY d.chunk, d.entity
        """
        self.described_in = f"""
            SELECT DISTINCT d.entity FROM {keys} CROSS JOIN description d WHERE d.chunk = j.value
        """
        self.described = "SELECT DISTINCT entity FROM description ORDER BY entity"
        self.summaries = f"""
            SELECT s.entity, s.text, s.source, s.content_key
            FROM {keys} CROSS JOIN entity_summary s WHERE s.entity = j.value
        """
        self.put_reading = upsert(
            "chunk_reading",
            *("chunk", "status", "source", "reason", "complaints", "raw"),
            key=["chunk"],
        )
        self.put_description = upsert(
            "description",
            *("chunk", "entity", "normal_form", "text"),
            key=["chunk", "entity"],
        )
        self.put_summary = upsert(
            "entity_summary", "entity", "text", "source", "content_key", key=["entity"]
        )
        self.remove_readings = delete_keys(dialect, "chunk_reading", "chunk")
        self.remove_descriptions = delete_keys(dialect, "description", "chunk")
        self.remove_bare_summaries = f"""
            DELETE FROM entity_summary WHERE entity IN (
                SELECT j.value FROM {keys}
                WHERE NOT EXISTS (SELECT 1 FROM description d WHERE d.entity = j.value)
            )
        """


@reports_damage
class SqlReadings(SqlPart):
    """The `ReadingStore` of stores in SQL databases."""

    def __init__(self, database: SqlDatabase) -> None:
        super().__init__(database)
        self._sql = ReadingStatements(database.dialect)

    def put(
        self, readings: Iterable[ChunkReading], descriptions: Iterable[Description] = ()
    ) -> None:
        database = self._database
        read = {id_to_int(reading.chunk_id): reading for reading in readings}
        with database.transaction():
            lost = self._drop_descriptions(list(read))
            rows = ((key, *_reading_columns(reading)) for key, reading in read.items())
            database.write_many(self._sql.put_reading, rows)
            database.write_many(self._sql.put_description, map(_description_row, descriptions))
            self._drop_summaries(lost)

    def readings(self, chunk_ids: Collection[str]) -> dict[str, ChunkReading]:
        return self._by_id(self._sql.readings, chunk_ids, _reading)

    def quarantined(self) -> list[ChunkReading]:
        rows = self._database.rows(self._sql.quarantined)
        return [_reading(int_to_id(key), *columns) for key, *columns in rows]

    def counts(self) -> Mapping[ReadingStatus, int]:
        rows = self._database.rows(self._sql.counts)
        return {unpack_status(status): count for status, count in rows}

    def has_readings(self) -> bool:
        return self._database.row(self._sql.any) is not None

    def descriptions(self, entity_ids: Collection[str]) -> dict[str, list[Description]]:
        return self._lists(self._sql.descriptions, entity_ids, _description)

    def descriptions_in(self, chunk_ids: Collection[str]) -> dict[str, list[Description]]:
        return self._lists(self._sql.descriptions_in, chunk_ids, _description)

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        chunks = [key for _, key in keys_of(chunk_ids)]
        with self._database.transaction():
            self._database.write(self._sql.remove_readings, (self._bind(chunks),))
            self._drop_summaries(self._drop_descriptions(chunks))

    def put_summaries(self, summaries: Iterable[EntitySummary]) -> None:
        with self._database.transaction():
            self._database.write_many(
                self._sql.put_summary,
                (
                    (id_to_int(s.entity_id), pack_line(s.text), s.source, s.content_key)
                    for s in summaries
                ),
            )

    def summaries(self, entity_ids: Collection[str]) -> dict[str, EntitySummary]:
        return self._by_id(self._sql.summaries, entity_ids, _summary)

    def described(self) -> list[str]:
        return self._ids(self._sql.described)

    def _drop_descriptions(self, chunks: Sequence[int]) -> list[int]:
        """Remove the descriptions from these chunks; return the entities that lose one."""
        bound = (self._bind(chunks),)
        lost = [entity for (entity,) in self._database.fetch(self._sql.described_in, bound)]
        if lost:
            self._database.write(self._sql.remove_descriptions, bound)
        return lost

    def _drop_summaries(self, lost: Sequence[int]) -> None:
        """Remove the summaries of those entities that have no description."""
        if lost:
            self._database.write(self._sql.remove_bare_summaries, (self._bind(lost),))


def _reading_columns(reading: ChunkReading) -> tuple[str | bytes | None, ...]:
    return (
        reading.status.value,
        reading.source,
        pack_line(reading.reason),
        json.dumps(reading.complaints) if reading.complaints else "",
        pack_text(reading.raw) if reading.raw else None,
    )


def _summary(entity: str, text: bytes, source: str, content_key: str) -> EntitySummary:
    return EntitySummary(entity, unpack_line(text), source, content_key)


def _description(_: str, chunk: int, normal_form: str, text: bytes) -> Description:
    return Description(int_to_id(chunk), normal_form, unpack_line(text))


def _reading(
    chunk_id: str, status: str, source: str, reason: bytes, complaints: str, raw: bytes | None
) -> ChunkReading:
    return ChunkReading(
        chunk_id,
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


class QuestionStatements:
    """The statements of `SqlQuestions` in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self.questions = f"""
            SELECT q.chunk, q.text
            FROM {dialect.keys("$1")} CROSS JOIN question q WHERE q.chunk = j.value
            ORDER BY q.chunk, q.ordinal
        """
        self.chunks = "SELECT DISTINCT chunk FROM question ORDER BY chunk"
        self.put = insert("question", "id", "chunk", "ordinal", "text")
        self.remove = delete_keys(dialect, "question", "chunk")


@reports_damage
class SqlQuestions(SqlPart):
    """The `QuestionStore` of stores in SQL databases."""

    def __init__(self, database: SqlDatabase) -> None:
        super().__init__(database)
        self._sql = QuestionStatements(database.dialect)
        self._checks = SqlIdChecks(database)

    def put(self, questions: Mapping[str, Sequence[str]]) -> None:
        with self._database.transaction():
            self.remove_chunks(questions)
            rows = [
                (id_to_int(question_id(key, text)), id_to_int(key), ordinal, pack_line(text))
                for key, asked in questions.items()
                for ordinal, text in enumerate(dict.fromkeys(asked))
            ]
            self._checks.check_questions(rows)
            self._database.write_many(self._sql.put, rows)

    def questions(self, chunk_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        found = self._lists(self._sql.questions, chunk_ids, lambda _, text: unpack_line(text))
        return {identifier: tuple(asked) for identifier, asked in found.items()}

    def chunk_ids(self) -> list[str]:
        return self._ids(self._sql.chunks)

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        with self._database.transaction():
            self._database.write(self._sql.remove, self._bound(chunk_ids))
