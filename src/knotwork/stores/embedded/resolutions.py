"""Entity resolution in tables: merge decisions and homonyms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from knotwork.records import PERSON_SOURCE, Homonym, SameAs, Verdict, id_to_int, int_to_id
from knotwork.stores.embedded.database import Database
from knotwork.stores.embedded.packing import keys_of, pack_keys, pack_line, unpack_line
from knotwork.stores.resolutions import form_groups

_DECISION_COLUMNS = (
    "d.first, d.second, d.verdict, d.source, d.reason, d.score, d.content_key, d.undone"
)
_BOTH_THERE = " CROSS JOIN entity a ON a.id = d.first CROSS JOIN entity b ON b.id = d.second"
_DECISIONS = f"SELECT {_DECISION_COLUMNS} FROM same_as d{_BOTH_THERE} ORDER BY d.first, d.second"  # noqa: S608
_OF_ENTITIES = (
    f"SELECT j.value, {_DECISION_COLUMNS} FROM json_each(?1) j"  # noqa: S608
    f" CROSS JOIN same_as d ON d.first = j.value{_BOTH_THERE}"
    f" UNION ALL SELECT j.value, {_DECISION_COLUMNS} FROM json_each(?1) j"
    f" CROSS JOIN same_as d ON d.second = j.value{_BOTH_THERE} ORDER BY 1, 2, 3"
)
_CHUNK_COUNTS = (
    "SELECT e.id, e.chunk_count FROM (SELECT first AS id FROM same_as"
    " UNION SELECT second FROM same_as) d CROSS JOIN entity e ON e.id = d.id"
)
_PUT_DECISION = "INSERT OR REPLACE INTO same_as VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_ABSENT = (
    "SELECT j.value FROM json_each(?) j WHERE NOT EXISTS (SELECT 1 FROM entity WHERE id = j.value)"
)
_OF_RUNS = f"undone = 0 AND source != '{PERSON_SOURCE}'"
"""Decisions that no person made; see `SameAs.by_person`."""


class EmbeddedResolutions:
    """The `ResolutionStore` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._groups: tuple[int, dict[str, str]] | None = None  # a generation, and its groups

    def put(self, decisions: Iterable[SameAs]) -> None:
        """Add decisions, each in the place of an earlier one of the same pair."""
        with self._database.transaction():
            self._database.write_many(_PUT_DECISION, map(_row, decisions))

    def decisions(self) -> list[SameAs]:
        """Return all decisions, ordered by the ids of their pairs."""
        return [_decision(*row) for row in self._database.rows(_DECISIONS)]

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[SameAs]]:
        """Return the decisions that each entity is an end of, ordered by pair."""
        found: defaultdict[str, list[SameAs]] = defaultdict(list)
        packed = pack_keys(key for _, key in keys_of(entity_ids))
        for end, *columns in self._database.rows(_OF_ENTITIES, (packed,)):
            found[int_to_id(end)].append(_decision(*columns))
        return dict(found)

    def remove(self, pairs: Collection[tuple[str, str]]) -> None:
        """Remove the decisions of these pairs, in ascending ids, whoever made them."""
        keys = dict(keys_of([end for pair in pairs for end in pair]))
        rows = [(keys[one], keys[other]) for one, other in pairs if one in keys and other in keys]
        with self._database.transaction():
            self._database.write_many("DELETE FROM same_as WHERE first = ? AND second = ?", rows)

    def groups(self) -> dict[str, str]:
        """Return the canonical entity of every entity that is one with another, itself included.

        They are formed once for each state of the index.
        """
        if self._database.writing:
            return self._form_groups()
        with self._database.reading():
            generation = self._database.generation()
            known = self._groups
            if known is None or known[0] != generation:
                known = self._groups = generation, self._form_groups()
            return dict(known[1])

    def touch(self, entity_ids: Collection[str]) -> None:
        """Remember that what is known of these entities, there or not, has changed."""
        with self._database.transaction():
            self._database.write_many(
                "INSERT OR IGNORE INTO touched_entity VALUES (?)",
                ((key,) for _, key in keys_of(entity_ids)),
            )

    def touched(self) -> list[str]:
        """Return the ids remembered since they were last settled, ascending."""
        rows = self._database.rows("SELECT entity FROM touched_entity ORDER BY entity")
        return [int_to_id(entity) for (entity,) in rows]

    def settle(self, entity_ids: Collection[str]) -> None:
        """Forget that these were touched; see `ResolutionStore.settle`."""
        database = self._database
        keys = [key for _, key in keys_of(entity_ids)]
        with database.transaction():
            database.write_many(
                "DELETE FROM touched_entity WHERE entity = ?", ((key,) for key in keys)
            )
            gone = database.fetch(_ABSENT, (pack_keys(keys),))
            for end in ("first", "second"):
                database.write_many(f"DELETE FROM same_as WHERE {end} = ? AND {_OF_RUNS}", gone)  # noqa: S608

    def _form_groups(self) -> dict[str, str]:
        with self._database.reading():
            counts = {int_to_id(key): n for key, n in self._database.fetch(_CHUNK_COUNTS)}
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
        decision.undone,
    )


def _decision(
    first: int,
    second: int,
    verdict: str,
    source: str,
    reason: bytes,
    score: float,
    content_key: str,
    undone: int,
) -> SameAs:
    return SameAs(
        int_to_id(first),
        int_to_id(second),
        Verdict(verdict),
        source,
        unpack_line(reason),
        score,
        content_key,
        bool(undone),
    )


_SENSES = (
    "SELECT s.entity, h.reason, s.number, s.chunk FROM homonym h"
    " CROSS JOIN sense s ON s.entity = h.entity"
    " CROSS JOIN mention m ON m.chunk = s.chunk AND m.entity = s.entity"
    " WHERE ?1 IS NULL OR h.entity IN (SELECT value FROM json_each(?1))"
    " ORDER BY s.entity, s.number, s.chunk"
)


class EmbeddedHomonyms:
    """The `HomonymStore` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def replace(self, homonyms: Iterable[Homonym], *, among: Collection[str] | None = None) -> None:
        """Put these in the place of what is known of ``among``, by default of all."""
        database = self._database
        fresh = list(homonyms)
        with database.transaction():
            if among is None:
                database.write("DELETE FROM homonym")
                database.write("DELETE FROM sense")
            else:
                self._forget([*among, *(homonym.entity_id for homonym in fresh)])
            database.write_many(
                "INSERT INTO homonym VALUES (?, ?)",
                ((id_to_int(h.entity_id), pack_line(h.reason)) for h in fresh),
            )
            database.write_many(
                "INSERT INTO sense VALUES (?, ?, ?)",
                (
                    (id_to_int(h.entity_id), number, id_to_int(chunk))
                    for h in fresh
                    for number, chunks in enumerate(h.senses)
                    for chunk in chunks
                ),
            )

    def read(self, entity_ids: Collection[str] | None = None) -> dict[str, Homonym]:
        """Return the homonyms among these entities, or all, by entity id, ascending."""
        packed = None if entity_ids is None else pack_keys(key for _, key in keys_of(entity_ids))
        senses: defaultdict[int, defaultdict[int, list[str]]]
        senses = defaultdict(lambda: defaultdict(list))
        reasons: dict[int, str] = {}
        for entity, reason, number, chunk in self._database.rows(_SENSES, (packed,)):
            reasons[entity] = unpack_line(reason)
            senses[entity][number].append(int_to_id(chunk))
        return {
            int_to_id(entity): Homonym(
                int_to_id(entity), tuple(map(tuple, of_entity.values())), reasons[entity]
            )
            for entity, of_entity in senses.items()
            if len(of_entity) > 1
        }

    def _forget(self, entity_ids: Collection[str]) -> None:
        keys = pack_keys(dict.fromkeys(key for _, key in keys_of(entity_ids)))
        for table in ("homonym", "sense"):
            self._database.write(
                f"DELETE FROM {table} WHERE entity IN (SELECT value FROM json_each(?))",  # noqa: S608
                (keys,),
            )
