"""The optional parts of a store in tables.

They are communities with their reports, what a model has read and asked, decisions about names, and
imported graphs: labels and properties as JSON, ends as positions of nodes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from knotwork._stores.capabilities import OWN_GRAPH
from knotwork._stores.graph_view import question_id
from knotwork._stores.resolutions import form_groups
from knotwork._stores.sql.database import (
    Row,
    SqlDatabase,
    SqlPart,
    delete_keys,
    insert,
    insert_new,
    key_list,
    keys_of,
    optional_id,
    optional_key,
    pack_line,
    pack_text,
    unpack_json,
    unpack_line,
    unpack_status,
    unpack_strings,
    unpack_text,
    unpack_verdict,
    upsert,
)
from knotwork._stores.sql.documents import SqlIdChecks
from knotwork.errors import StoreError
from knotwork.records import (
    PERSON_SOURCE,
    ChunkReading,
    Community,
    CommunityReport,
    Description,
    EntitySummary,
    Finding,
    Homonym,
    Member,
    PropertyNode,
    PropertyValue,
    ReadingStatus,
    Relationship,
    SameAs,
    Span,
    Support,
    id_to_int,
    int_to_id,
)


class SqlCommunities(SqlPart):
    """The `CommunityStore` of stores in SQL databases."""

    _COMMUNITIES = """
        SELECT c.id, c.level, c.parent FROM keys($1) CROSS JOIN community c WHERE c.id = j.value
    """
    _MEMBERS = """
        SELECT m.community, m.entity, m.importance
        FROM keys($1) CROSS JOIN community_member m WHERE m.community = j.value
        ORDER BY m.community, m.importance DESC, m.entity
    """
    _CHUNKS = """
        SELECT c.community, c.chunk
        FROM keys($1) CROSS JOIN community_chunk c WHERE c.community = j.value
        ORDER BY c.community, c.chunk
    """
    _LEVELS = "SELECT level, id FROM community ORDER BY level, id"
    _PARENTS = "SELECT id, parent FROM community ORDER BY id"
    _OF_ENTITIES = """
        SELECT m.entity, m.community
        FROM keys($1) CROSS JOIN community_member m CROSS JOIN community c
        WHERE m.entity = j.value AND c.id = m.community
        ORDER BY m.entity, c.level, c.id
    """
    _OF_CHUNKS = """
        SELECT h.chunk, h.community
        FROM keys($1) CROSS JOIN community_chunk h CROSS JOIN community c
        WHERE h.chunk = j.value AND c.id = h.community
        ORDER BY h.chunk, c.level, c.id
    """
    _ANY = "SELECT 1 FROM community LIMIT 1"
    _STALE = "SELECT id FROM community WHERE stale = 1 ORDER BY id"
    _EMPTY = """
        SELECT c.id FROM community c
        WHERE c.stale = 1
        AND NOT EXISTS (SELECT 1 FROM community_member m WHERE m.community = c.id)
    """
    _MARK = """
        UPDATE community SET stale = 1 WHERE id IN (
            SELECT m.community FROM keys($1) CROSS JOIN community_member m
            WHERE m.entity = j.value
            UNION SELECT c.community FROM keys($2) CROSS JOIN community_chunk c
            WHERE c.chunk = j.value
        )
    """
    _SETTLE = "UPDATE community SET stale = 0 WHERE stale = 1"
    _REPORTS = """
        SELECT r.community, r.title, r.summary, r.findings, r.rating, r.language, r.source,
            r.content_key
        FROM keys($1) CROSS JOIN report r WHERE r.community = j.value
    """
    _CITING = """
        SELECT DISTINCT r.community
        FROM keys($1) CROSS JOIN report_citation r WHERE r.chunk = j.value
    """
    _PUT_COMMUNITY = insert("community", "id", "level", "parent", "stale")
    _PUT_MEMBER = insert("community_member", "community", "entity", "importance")
    _PUT_CHUNK = insert("community_chunk", "community", "chunk")
    _PUT_REPORT = insert(
        "report",
        *("community", "title", "summary", "findings", "rating", "language", "source"),
        "content_key",
    )
    _PUT_CITATION = insert_new("report_citation", "chunk", "community")
    _REMOVE = (
        delete_keys("community", "id"),
        delete_keys("community_member", "community"),
        delete_keys("community_chunk", "community"),
    )
    _REMOVE_REPORTS = (
        delete_keys("report", "community"),
        delete_keys("report_citation", "community"),
    )
    _FORGET_CHUNKS = delete_keys("community_chunk", "chunk")
    _FORGET_ENTITIES = delete_keys("community_member", "entity")

    def replace(self, communities: Iterable[Community]) -> None:
        """Replace all stored communities; writes only those that differ."""
        with self._database.transaction():
            ids = [key for level in self.levels() for key in level]
            stored = self.communities(ids)
            wanted = {community.id: community for community in communities}
            gone = [id_to_int(key) for key in stored if key not in wanted]
            self._write_each((*self._REMOVE, *self._REMOVE_REPORTS), gone)
            self.write([c for key, c in wanted.items() if stored.get(key) != c])
            self._database.write(self._SETTLE)

    def communities(self, ids: Collection[str]) -> dict[str, Community]:
        keys = dict(keys_of(ids))
        bound = ([*keys.values()],)
        with self._database.reading():
            rows = self._database.rows(self._COMMUNITIES, bound)
            member_rows = self._database.rows(self._MEMBERS, bound)
            chunk_rows = self._database.rows(self._CHUNKS, bound)
        members: defaultdict[int, list[Member]] = defaultdict(list)
        for key, entity, importance in member_rows:
            members[key].append(Member(int_to_id(entity), importance))
        chunks: defaultdict[int, list[str]] = defaultdict(list)
        for key, chunk in chunk_rows:
            chunks[key].append(int_to_id(chunk))
        found = {
            key: Community(
                int_to_id(key),
                level,
                optional_id(parent),
                tuple(members[key]),
                tuple(chunks[key]),
            )
            for key, level, parent in rows
        }
        return {identifier: found[key] for identifier, key in keys.items() if key in found}

    def levels(self) -> list[list[str]]:
        found: list[list[str]] = []
        for level, key in self._database.rows(self._LEVELS):
            while len(found) <= level:
                found.append([])
            found[level].append(int_to_id(key))
        return found

    def parents(self) -> dict[str, str | None]:
        rows = self._database.rows(self._PARENTS)
        return {int_to_id(key): optional_id(parent) for key, parent in rows}

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[str]]:
        return self._lists(self._OF_ENTITIES, entity_ids, _other_id)

    def of_chunks(self, chunk_ids: Collection[str]) -> dict[str, list[str]]:
        return self._lists(self._OF_CHUNKS, chunk_ids, _other_id)

    def stale(self) -> list[str]:
        return self._ids(self._STALE)

    def forget(
        self, chunk_ids: Collection[str], *, mentioned: Collection[str], vanished: Collection[str]
    ) -> list[str]:
        database, chunks = self._database, key_list(chunk_ids)
        with database.transaction():
            if not database.rows(self._ANY):
                return []
            database.write(self._MARK, (key_list(mentioned), chunks))
            database.write(self._FORGET_CHUNKS, (chunks,))
            database.write(self._FORGET_ENTITIES, (key_list(vanished),))
            dropped = {key for (key,) in database.rows(self._CITING, (chunks,))}
            empty = [key for (key,) in database.rows(self._EMPTY)]
            dropped.update(key for key, *_ in database.rows(self._REPORTS, (empty,)))
            self._write_each((*self._REMOVE, *self._REMOVE_REPORTS), empty)
            self._write_each(self._REMOVE_REPORTS, sorted(dropped))
        return [int_to_id(key) for key in sorted(dropped)]

    def put_reports(self, reports: Iterable[CommunityReport]) -> None:
        with self._database.transaction():
            new = {id_to_int(report.community_id): report for report in reports}
            self._write_each(self._REMOVE_REPORTS, [*new])
            self._database.write_many(
                self._PUT_REPORT, ((key, *_report_columns(r)) for key, r in new.items())
            )
            self._database.write_many(
                self._PUT_CITATION,
                ((id_to_int(chunk), key) for key, r in new.items() for chunk in r.chunk_ids),
            )

    def reports(self, community_ids: Collection[str]) -> dict[str, CommunityReport]:
        return self._by_id(self._REPORTS, community_ids, _report)

    def write(self, communities: Sequence[Community], *, stale: Collection[str] = ()) -> None:
        """Add or replace communities in the open transaction, and mark those of ``stale``.

        Reports stay.
        """
        database = self._database
        keys = [id_to_int(community.id) for community in communities]
        self._write_each(self._REMOVE, keys)
        keyed = list(zip(keys, communities, strict=True))
        database.write_many(
            self._PUT_COMMUNITY,
            ((key, c.level, optional_key(c.parent_id), int(c.id in stale)) for key, c in keyed),
        )
        database.write_many(
            self._PUT_MEMBER,
            (
                (key, id_to_int(member.entity_id), member.importance)
                for key, community in keyed
                for member in community.members
            ),
        )
        database.write_many(
            self._PUT_CHUNK,
            ((key, id_to_int(chunk)) for key, community in keyed for chunk in community.chunk_ids),
        )


def _other_id(_: str, key: int) -> str:
    return int_to_id(key)


def _report_columns(report: CommunityReport) -> tuple[str | float, ...]:
    findings = [
        [finding.text, [[support.chunk_id, *support.span] for support in finding.supports]]
        for finding in report.findings
    ]
    return (
        report.title,
        report.summary,
        json.dumps(findings),
        report.rating,
        report.language,
        report.source,
        report.content_key,
    )


def _report(
    community_id: str,
    title: str,
    summary: str,
    findings: str,
    rating: float,
    language: str,
    source: str,
    content_key: str,
) -> CommunityReport:
    unpacked = tuple(
        Finding(text, tuple(Support(chunk, Span(start, end)) for chunk, start, end in supports))
        for text, supports in unpack_json(findings)
    )
    return CommunityReport(
        community_id, title, summary, unpacked, rating, language, source, content_key
    )


class SqlReadings(SqlPart):
    """The `ReadingStore` of stores in SQL databases."""

    _READINGS = """
        SELECT r.chunk, r.status, r.source, r.reason, r.complaints, r.raw
        FROM keys($1) CROSS JOIN chunk_reading r WHERE r.chunk = j.value
    """
    _QUARANTINED = f"""
        SELECT chunk, status, source, reason, complaints, raw FROM chunk_reading
        WHERE status = '{ReadingStatus.QUARANTINED.value}' ORDER BY chunk
    """
    _COUNTS = "SELECT status, count(*) FROM chunk_reading GROUP BY status"
    _ANY = "SELECT 1 FROM chunk_reading LIMIT 1"
    _DESCRIPTIONS = """
        SELECT d.entity, d.chunk, d.normal_form, d.text
        FROM keys($1) CROSS JOIN description d WHERE d.entity = j.value
        ORDER BY d.entity, d.chunk
    """
    _DESCRIPTIONS_IN = """
        SELECT d.chunk, d.chunk, d.normal_form, d.text
        FROM keys($1) CROSS JOIN description d WHERE d.chunk = j.value
        ORDER BY d.chunk, d.entity
    """
    _DESCRIBED_IN = """
        SELECT DISTINCT d.entity FROM keys($1) CROSS JOIN description d WHERE d.chunk = j.value
    """
    _DESCRIBED = "SELECT DISTINCT entity FROM description ORDER BY entity"
    _SUMMARIES = """
        SELECT s.entity, s.text, s.source, s.content_key
        FROM keys($1) CROSS JOIN entity_summary s WHERE s.entity = j.value
    """
    _PUT_READING = upsert(
        "chunk_reading",
        *("chunk", "status", "source", "reason", "complaints", "raw"),
        key=["chunk"],
    )
    _PUT_DESCRIPTION = upsert(
        "description",
        *("chunk", "entity", "normal_form", "text"),
        key=["chunk", "entity"],
    )
    _PUT_SUMMARY = upsert(
        "entity_summary", "entity", "text", "source", "content_key", key=["entity"]
    )
    _REMOVE_READINGS = delete_keys("chunk_reading", "chunk")
    _REMOVE_DESCRIPTIONS = delete_keys("description", "chunk")
    _REMOVE_BARE_SUMMARIES = """
        DELETE FROM entity_summary WHERE entity IN (
            SELECT j.value FROM keys($1)
            WHERE NOT EXISTS (SELECT 1 FROM description d WHERE d.entity = j.value)
        )
    """

    def put(
        self, readings: Iterable[ChunkReading], descriptions: Iterable[Description] = ()
    ) -> None:
        database = self._database
        read = {id_to_int(reading.chunk_id): reading for reading in readings}
        with database.transaction():
            lost = self._drop_descriptions(list(read))
            rows = ((key, *_reading_columns(reading)) for key, reading in read.items())
            database.write_many(self._PUT_READING, rows)
            database.write_many(self._PUT_DESCRIPTION, map(_description_row, descriptions))
            self._drop_summaries(lost)

    def readings(self, chunk_ids: Collection[str]) -> dict[str, ChunkReading]:
        return self._by_id(self._READINGS, chunk_ids, _reading)

    def quarantined(self) -> list[ChunkReading]:
        rows = self._database.rows(self._QUARANTINED)
        return [_reading(int_to_id(key), *columns) for key, *columns in rows]

    def counts(self) -> Mapping[ReadingStatus, int]:
        rows = self._database.rows(self._COUNTS)
        return {unpack_status(status): count for status, count in rows}

    def has_readings(self) -> bool:
        return self._database.row(self._ANY) is not None

    def descriptions(self, entity_ids: Collection[str]) -> dict[str, list[Description]]:
        return self._lists(self._DESCRIPTIONS, entity_ids, _description)

    def descriptions_in(self, chunk_ids: Collection[str]) -> dict[str, list[Description]]:
        return self._lists(self._DESCRIPTIONS_IN, chunk_ids, _description)

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        chunks = key_list(chunk_ids)
        with self._database.transaction():
            self._database.write(self._REMOVE_READINGS, (chunks,))
            self._drop_summaries(self._drop_descriptions(chunks))

    def put_summaries(self, summaries: Iterable[EntitySummary]) -> None:
        with self._database.transaction():
            self._database.write_many(
                self._PUT_SUMMARY,
                (
                    (id_to_int(s.entity_id), pack_line(s.text), s.source, s.content_key)
                    for s in summaries
                ),
            )

    def summaries(self, entity_ids: Collection[str]) -> dict[str, EntitySummary]:
        return self._by_id(self._SUMMARIES, entity_ids, _summary)

    def described(self) -> list[str]:
        return self._ids(self._DESCRIBED)

    def _drop_descriptions(self, chunks: list[int]) -> list[int]:
        rows = self._database.rows(self._DESCRIBED_IN, (chunks,))
        if rows:
            self._database.write(self._REMOVE_DESCRIPTIONS, (chunks,))
        return [entity for (entity,) in rows]

    def _drop_summaries(self, lost: list[int]) -> None:
        if lost:
            self._database.write(self._REMOVE_BARE_SUMMARIES, (lost,))


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


class SqlQuestions(SqlPart):
    """The `QuestionStore` of stores in SQL databases."""

    _QUESTIONS = """
        SELECT q.chunk, q.text
        FROM keys($1) CROSS JOIN question q WHERE q.chunk = j.value
        ORDER BY q.chunk, q.ordinal
    """
    _CHUNKS = "SELECT DISTINCT chunk FROM question ORDER BY chunk"
    _PUT = insert("question", "id", "chunk", "ordinal", "text")
    _REMOVE = delete_keys("question", "chunk")

    def __init__(self, database: SqlDatabase) -> None:
        super().__init__(database)
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
            self._database.write_many(self._PUT, rows)

    def questions(self, chunk_ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        found = self._lists(self._QUESTIONS, chunk_ids, lambda _, text: unpack_line(text))
        return {identifier: tuple(asked) for identifier, asked in found.items()}

    def chunk_ids(self) -> list[str]:
        return self._ids(self._CHUNKS)

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        with self._database.transaction():
            self._database.write(self._REMOVE, (key_list(chunk_ids),))


DECISION_COLUMNS = "d.first, d.second, d.verdict, d.source, d.reason, d.score, d.content_key"
_BOTH_EXIST = "a.id = d.first AND b.id = d.second"
_NOT_BY_PERSON = f"source <> '{PERSON_SOURCE}'"


class SqlResolutions(SqlPart):
    """The `ResolutionStore` of stores in SQL databases."""

    _DECISIONS = f"""
        SELECT {DECISION_COLUMNS} FROM same_as d CROSS JOIN entity a CROSS JOIN entity b
        WHERE {_BOTH_EXIST} ORDER BY d.first, d.second
    """
    _OF_ENTITIES = f"""
        SELECT j.value, {DECISION_COLUMNS}
        FROM keys($1) CROSS JOIN same_as d CROSS JOIN entity a CROSS JOIN entity b
        WHERE d.first = j.value AND {_BOTH_EXIST}
        UNION ALL SELECT j.value, {DECISION_COLUMNS}
        FROM keys($1) CROSS JOIN same_as d CROSS JOIN entity a CROSS JOIN entity b
        WHERE d.second = j.value AND {_BOTH_EXIST}
        ORDER BY 1, 2, 3
    """
    _STORED = f"SELECT {DECISION_COLUMNS} FROM same_as d WHERE d.first = $1"
    _CHUNK_COUNTS = """
        SELECT e.id, e.chunk_count
        FROM (SELECT first AS id FROM same_as UNION SELECT second FROM same_as) d
        CROSS JOIN entity e WHERE e.id = d.id
    """
    _TOUCHED = "SELECT entity FROM touched_entity ORDER BY entity"
    _PUT = upsert(
        "same_as",
        *("first", "second", "verdict", "source", "reason", "score", "content_key"),
        key=["first", "second"],
    )
    _REMOVE = "DELETE FROM same_as WHERE first = $1 AND second = $2"
    _TOUCH = insert_new("touched_entity", "entity")
    _SETTLE = delete_keys("touched_entity", "entity")
    _ABSENT = """
        SELECT j.value FROM keys($1)
        WHERE NOT EXISTS (SELECT 1 FROM entity e WHERE e.id = j.value)
        AND NOT EXISTS (SELECT 1 FROM aside_mention m WHERE m.entity = j.value)
    """
    _FORGET_ABSENT = f"""
        DELETE FROM same_as
        WHERE (first IN ({_ABSENT}) OR second IN ({_ABSENT})) AND {_NOT_BY_PERSON}
    """

    def put(self, decisions: Iterable[SameAs]) -> None:
        with self._database.transaction():
            self._database.write_many(self._PUT, map(_row, decisions))

    def decisions(self) -> list[SameAs]:
        return [decision_of(*row) for row in self._database.rows(self._DECISIONS)]

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[SameAs]]:
        return self._lists(self._OF_ENTITIES, entity_ids, lambda _, *columns: decision_of(*columns))

    def stored(self, first: str) -> list[SameAs]:
        """Return the decisions about the pairs with this first entity, also of hidden ones."""
        return [decision_of(*row) for row in self._database.rows(self._STORED, (id_to_int(first),))]

    def remove(self, pairs: Collection[tuple[str, str]]) -> None:
        keys = dict(keys_of([end for pair in pairs for end in pair]))
        rows = [(keys[one], keys[other]) for one, other in pairs if one in keys and other in keys]
        with self._database.transaction():
            self._database.write_many(self._REMOVE, rows)

    def groups(self) -> dict[str, str]:
        """Return the canonical entity of every merged entity, itself included.

        The result is cached until the index changes.
        """
        return dict(self._once(self._form_groups))

    def touch(self, entity_ids: Collection[str]) -> None:
        with self._database.transaction():
            self._database.write_many(self._TOUCH, ((key,) for _, key in keys_of(entity_ids)))

    def touched(self) -> list[str]:
        return self._ids(self._TOUCHED)

    def settle(self, entity_ids: Collection[str]) -> None:
        with self._database.transaction():
            self._write_each((self._SETTLE, self._FORGET_ABSENT), key_list(entity_ids))

    def _form_groups(self) -> dict[str, str]:
        with self._database.reading():
            counts = {int_to_id(key): n for key, n in self._database.rows(self._CHUNK_COUNTS)}
            return form_groups(self.decisions(), counts).canonical


def _row(decision: SameAs) -> tuple[int | str | bytes | float, ...]:
    return (
        id_to_int(decision.first),
        id_to_int(decision.second),
        decision.verdict.value,
        decision.source,
        pack_line(decision.reason),
        decision.score,
        decision.content_key,
    )


def decision_of(
    first: int,
    second: int,
    verdict: str,
    source: str,
    reason: bytes,
    score: float,
    content_key: str,
) -> SameAs:
    """Return the decision in a row of `DECISION_COLUMNS`."""
    return SameAs(
        int_to_id(first),
        int_to_id(second),
        unpack_verdict(verdict),
        source,
        unpack_line(reason),
        score,
        content_key,
    )


class SqlHomonyms(SqlPart):
    """The `HomonymStore` of stores in SQL databases."""

    _SENSES, _ALL_SENSES = (
        f"""
            SELECT s.entity, h.reason, s.number, s.chunk
            FROM {keys} homonym h CROSS JOIN sense s CROSS JOIN mention m
            WHERE s.entity = h.entity AND m.chunk = s.chunk AND m.entity = s.entity {chosen}
            ORDER BY s.entity, s.number, s.chunk
        """
        for keys, chosen in (("keys($1) CROSS JOIN", "AND h.entity = j.value"), ("", ""))
    )
    _STORED = "SELECT reason FROM homonym WHERE entity = $1"
    _STORED_SENSES = "SELECT number, chunk FROM sense WHERE entity = $1 ORDER BY number, chunk"
    _PUT_HOMONYM = insert("homonym", "entity", "reason")
    _PUT_SENSE = insert("sense", "entity", "number", "chunk")
    _CLEAR = ("DELETE FROM homonym", "DELETE FROM sense")
    _REMOVE = (delete_keys("homonym", "entity"), delete_keys("sense", "entity"))

    def replace(self, homonyms: Iterable[Homonym], *, among: Collection[str] | None = None) -> None:
        database, new = self._database, list(homonyms)
        with database.transaction():
            if among is None:
                for sql in self._CLEAR:
                    database.write(sql)
            else:
                replaced = [*among, *(homonym.entity_id for homonym in new)]
                self._write_each(self._REMOVE, key_list(replaced))
            database.write_many(
                self._PUT_HOMONYM, ((id_to_int(h.entity_id), pack_line(h.reason)) for h in new)
            )
            database.write_many(
                self._PUT_SENSE,
                (
                    (id_to_int(h.entity_id), number, id_to_int(chunk))
                    for h in new
                    for number, chunks in enumerate(h.senses)
                    for chunk in chunks
                ),
            )

    def stored(self, entity_id: str) -> Homonym:
        """Return a homonym as it was stored, with chunks that do not mention it for now."""
        key = (id_to_int(entity_id),)
        with self._database.reading():
            ((reason,),) = self._database.rows(self._STORED, key)
            rows = self._database.rows(self._STORED_SENSES, key)
        senses = (
            tuple(int_to_id(chunk) for _, chunk in of_sense)
            for _, of_sense in groupby(rows, key=itemgetter(0))
        )
        return Homonym(entity_id, tuple(senses), unpack_line(reason))

    def read(self, entity_ids: Collection[str] | None = None) -> dict[str, Homonym]:
        if entity_ids is None:
            rows = self._database.rows(self._ALL_SENSES)
        else:
            rows = self._database.rows(self._SENSES, (key_list(entity_ids),))
        senses: defaultdict[int, defaultdict[int, list[str]]]
        senses = defaultdict(lambda: defaultdict(list))
        reasons: dict[int, str] = {}
        for entity, reason, number, chunk in rows:
            reasons[entity] = unpack_line(reason)
            senses[entity][number].append(int_to_id(chunk))
        return {
            int_to_id(entity): Homonym(
                int_to_id(entity), tuple(map(tuple, of_entity.values())), reasons[entity]
            )
            for entity, of_entity in senses.items()
            if len(of_entity) > 1
        }


_pack = json.JSONEncoder(separators=(",", ":")).encode


class GraphRows(NamedTuple):
    """The rows of an imported graph: (id, labels, properties) and (id, type, ends, properties)."""

    nodes: list[Row]
    relationships: list[Row]


class SqlPropertyGraphs(SqlPart):
    """The `PropertyGraphStore` of stores in SQL databases."""

    _NAMES = "SELECT name FROM property_graph"
    _KEY = "SELECT id FROM property_graph WHERE name = $1"
    _NODES = "SELECT id, labels, properties FROM property_node WHERE graph = $1 ORDER BY position"
    _RELATIONSHIPS = """
        SELECT id, type, source, target, properties FROM property_relationship
        WHERE graph = $1 ORDER BY position
    """
    _PUT_GRAPH = insert("property_graph", "name")
    _PUT_NODE = insert("property_node", "graph", "position", "id", "labels", "properties")
    _PUT_RELATIONSHIP = insert(
        "property_relationship",
        *("graph", "position", "id", "type", "source", "target", "properties"),
    )
    _REMOVE = (
        "DELETE FROM property_relationship WHERE graph = $1",
        "DELETE FROM property_node WHERE graph = $1",
        "DELETE FROM property_graph WHERE id = $1",
    )

    def put(
        self, name: str, nodes: Iterable[PropertyNode], relationships: Iterable[Relationship]
    ) -> None:
        if name == OWN_GRAPH:
            raise StoreError(
                "An imported graph needs a name; the empty name is reserved for the index's own "
                "graph.",
                fix="Choose a name, such as `people`.",
            )
        self.put_rows(name, _graph_rows(nodes, relationships))

    def put_rows(self, name: str, rows: GraphRows) -> None:
        """Add a graph of rows that `read` returned, or replace the one of this name."""
        with self._database.transaction():
            self.remove(name)
            self._database.write(self._PUT_GRAPH, (pack_line(name),))
            key = self.key(name)
            for sql, listed in zip((self._PUT_NODE, self._PUT_RELATIONSHIP), rows, strict=True):
                numbered = ((key, position, *row) for position, row in enumerate(listed))
                self._database.write_many(sql, numbered)

    def remove(self, name: str) -> None:
        with self._database.transaction():
            key = self.key(name)
            for sql in self._REMOVE if key is not None else ():
                self._database.write(sql, (key,))

    def names(self) -> list[str]:
        rows = self._database.rows(self._NAMES)
        return sorted(unpack_line(name) for (name,) in rows)

    def key(self, name: str) -> int | None:
        """Return the key of the graph of this name, or None. A replaced graph gets a new key."""
        row = self._database.row(self._KEY, (pack_line(name),))
        return None if row is None else int(row[0])

    def rows_of(self, name: str) -> GraphRows:
        """Return the rows of the graph of this name, none if it does not exist."""
        with self._database.reading():
            key = self.key(name)
            return GraphRows([], []) if key is None else self.read(key)

    def read(self, key: int) -> GraphRows:
        """Return the rows of the graph with this key, in insertion order."""
        with self._database.reading():
            nodes = self._database.rows(self._NODES, (key,))
            return GraphRows(nodes, self._database.rows(self._RELATIONSHIPS, (key,)))


_MAX_DEPTH = 32
_PLAIN_TYPES = frozenset([str, bool, int, float])
"""The types of most property values, which are always valid."""


def _graph_rows(nodes: Iterable[PropertyNode], relationships: Iterable[Relationship]) -> GraphRows:
    """Return the rows of a valid graph, without properties that are None.

    Raises StoreError for a duplicate id, a relationship with a missing end, or a property value
    that cannot be stored.
    """
    places: dict[str, int] = {}
    node_rows: list[Row] = []
    for node in nodes:
        if places.setdefault(node.id, len(node_rows)) < len(node_rows):
            raise StoreError(f"Two nodes have the id `{node.id}`.")
        labels = _pack(tuple(dict.fromkeys(node.labels)))
        node_rows.append((pack_line(node.id), labels, _pack_properties(node.id, node.properties)))
    edge_rows: dict[str, Row] = {}
    for edge in relationships:
        for end in (edge.source, edge.target):
            if end not in places:
                raise StoreError(
                    f"The relationship `{edge.id}` refers to the node `{end}`, which is missing.",
                    fix="Add the node, or leave out the relationship.",
                )
        if edge.id in edge_rows:
            raise StoreError(f"Two relationships have the id `{edge.id}`.")
        ends = places[edge.source], places[edge.target]
        properties = _pack_properties(edge.id, edge.properties)
        edge_rows[edge.id] = (pack_line(edge.id), pack_line(edge.type), *ends, properties)
    return GraphRows(node_rows, list(edge_rows.values()))


def _pack_properties(owner: str, properties: Mapping[str, PropertyValue]) -> str:
    return _pack(
        {
            key: value
            if type(value) in _PLAIN_TYPES
            else _plain(value, f"`{key}` of `{owner}`", _MAX_DEPTH)
            for key, value in properties.items()
            if value is not None
        }
    )


def _plain(value: PropertyValue, place: str, depth: int) -> PropertyValue:
    """Return a value in the types of JSON. Raises StoreError if it has others."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if depth and isinstance(value, list | tuple):
        return [_plain(item, place, depth - 1) for item in value]
    if depth and isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, place, depth - 1) for key, item in value.items()}
    raise StoreError(
        f"The property {place} has the unsupported type {type(value).__name__}, or is nested more"
        f" than {_MAX_DEPTH} levels deep. Valid are strings, numbers, booleans, and lists and"
        " mappings of these."
    )
