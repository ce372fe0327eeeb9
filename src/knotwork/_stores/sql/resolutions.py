"""Store merge decisions and homonyms in tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from knotwork._stores.resolutions import form_groups
from knotwork._stores.sql.database import (
    Dialect,
    SqlDatabase,
    SqlPart,
    delete_keys,
    insert,
    insert_new,
    reports_damage,
    upsert,
)
from knotwork._stores.sql.packing import keys_of, pack_line, unpack_line, unpack_verdict
from knotwork.records import PERSON_SOURCE, Homonym, SameAs, id_to_int, int_to_id

DECISION_COLUMNS = (
    "d.first, d.second, d.verdict, d.source, d.reason, d.score, d.content_key, d.undone"
)
_BOTH_EXIST = "a.id = d.first AND b.id = d.second"
_NOT_BY_PERSON = f"undone = 0 AND source <> '{PERSON_SOURCE}'"
"""The decisions of indexing runs; see `SameAs.by_person`."""


class ResolutionStatements:
    """The statements of `SqlResolutions` in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        keys = dialect.keys("$1")
        self.decisions = f"""
            SELECT {DECISION_COLUMNS} FROM same_as d CROSS JOIN entity a CROSS JOIN entity b
            WHERE {_BOTH_EXIST} ORDER BY d.first, d.second
        """
        self.of_entities = f"""
            SELECT j.value, {DECISION_COLUMNS}
            FROM {keys} CROSS JOIN same_as d CROSS JOIN entity a CROSS JOIN entity b
            WHERE d.first = j.value AND {_BOTH_EXIST}
            UNION ALL SELECT j.value, {DECISION_COLUMNS}
            FROM {keys} CROSS JOIN same_as d CROSS JOIN entity a CROSS JOIN entity b
            WHERE d.second = j.value AND {_BOTH_EXIST}
            ORDER BY 1, 2, 3
        """
        self.chunk_counts = """
            SELECT e.id, e.chunk_count
            FROM (SELECT first AS id FROM same_as UNION SELECT second FROM same_as) d
            CROSS JOIN entity e WHERE e.id = d.id
        """
        self.touched = "SELECT entity FROM touched_entity ORDER BY entity"
        self.put = upsert(
            "same_as",
            *("first", "second", "verdict", "source", "reason", "score", "content_key", "undone"),
            key=["first", "second"],
        )
        self.remove = "DELETE FROM same_as WHERE first = $1 AND second = $2"
        self.touch = insert_new("touched_entity", "entity")
        self.settle = delete_keys(dialect, "touched_entity", "entity")
        absent = f"""
            SELECT j.value FROM {keys}
            WHERE NOT EXISTS (SELECT 1 FROM entity e WHERE e.id = j.value)
        """
        self.forget_absent = f"""
            DELETE FROM same_as
            WHERE (first IN ({absent}) OR second IN ({absent})) AND {_NOT_BY_PERSON}
        """


@reports_damage
class SqlResolutions(SqlPart):
    """The `ResolutionStore` of stores in SQL databases."""

    def __init__(self, database: SqlDatabase) -> None:
        super().__init__(database)
        self._sql = ResolutionStatements(database.dialect)

    def put(self, decisions: Iterable[SameAs]) -> None:
        with self._database.transaction():
            self._database.write_many(self._sql.put, map(_row, decisions))

    def decisions(self) -> list[SameAs]:
        return [decision_of(*row) for row in self._database.rows(self._sql.decisions)]

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[SameAs]]:
        return self._lists(
            self._sql.of_entities, entity_ids, lambda _, *columns: decision_of(*columns)
        )

    def remove(self, pairs: Collection[tuple[str, str]]) -> None:
        keys = dict(keys_of([end for pair in pairs for end in pair]))
        rows = [(keys[one], keys[other]) for one, other in pairs if one in keys and other in keys]
        with self._database.transaction():
            self._database.write_many(self._sql.remove, rows)

    def groups(self) -> dict[str, str]:
        """Return the canonical entity of every merged entity, itself included.

        The result is cached until the index changes.
        """
        return dict(self._once(self._form_groups))

    def touch(self, entity_ids: Collection[str]) -> None:
        with self._database.transaction():
            self._database.write_many(self._sql.touch, ((key,) for _, key in keys_of(entity_ids)))

    def touched(self) -> list[str]:
        return self._ids(self._sql.touched)

    def settle(self, entity_ids: Collection[str]) -> None:
        bound = self._bound(entity_ids)
        with self._database.transaction():
            self._database.write(self._sql.settle, bound)
            self._database.write(self._sql.forget_absent, bound)

    def _form_groups(self) -> dict[str, str]:
        with self._database.reading():
            counts = {int_to_id(key): n for key, n in self._database.fetch(self._sql.chunk_counts)}
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
        int(decision.undone),
    )


def decision_of(
    first: int,
    second: int,
    verdict: str,
    source: str,
    reason: bytes,
    score: float,
    content_key: str,
    undone: int,
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
        bool(undone),
    )


class HomonymStatements:
    """The statements of `SqlHomonyms` in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        keys = dialect.keys("$1")
        columns = "SELECT s.entity, h.reason, s.number, s.chunk FROM"
        tables = "homonym h CROSS JOIN sense s CROSS JOIN mention m"
        joined = "s.entity = h.entity AND m.chunk = s.chunk AND m.entity = s.entity"
        order = "ORDER BY s.entity, s.number, s.chunk"
        self.all_senses = f"{columns} {tables} WHERE {joined} {order}"
        self.senses = f"""
            {columns} {keys} CROSS JOIN {tables} WHERE h.entity = j.value AND {joined} {order}
        """
        self.put_homonym = insert("homonym", "entity", "reason")
        self.put_sense = insert("sense", "entity", "number", "chunk")
        self.clear_homonyms = "DELETE FROM homonym"
        self.clear_senses = "DELETE FROM sense"
        self.remove_homonyms = delete_keys(dialect, "homonym", "entity")
        self.remove_senses = delete_keys(dialect, "sense", "entity")


@reports_damage
class SqlHomonyms(SqlPart):
    """The `HomonymStore` of stores in SQL databases."""

    def __init__(self, database: SqlDatabase) -> None:
        super().__init__(database)
        self._sql = HomonymStatements(database.dialect)

    def replace(self, homonyms: Iterable[Homonym], *, among: Collection[str] | None = None) -> None:
        database, sql = self._database, self._sql
        new = list(homonyms)
        with database.transaction():
            if among is None:
                database.write(sql.clear_homonyms)
                database.write(sql.clear_senses)
            else:
                replaced = [*among, *(homonym.entity_id for homonym in new)]
                bound = self._bound(replaced)
                database.write(sql.remove_homonyms, bound)
                database.write(sql.remove_senses, bound)
            database.write_many(
                sql.put_homonym, ((id_to_int(h.entity_id), pack_line(h.reason)) for h in new)
            )
            database.write_many(
                sql.put_sense,
                (
                    (id_to_int(h.entity_id), number, id_to_int(chunk))
                    for h in new
                    for number, chunks in enumerate(h.senses)
                    for chunk in chunks
                ),
            )

    def read(self, entity_ids: Collection[str] | None = None) -> dict[str, Homonym]:
        if entity_ids is None:
            rows = self._database.rows(self._sql.all_senses)
        else:
            rows = self._database.rows(self._sql.senses, self._bound(entity_ids))
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
