"""Store merge decisions and homonyms in tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from knotwork._stores.embedded.database import Database, reports_damage
from knotwork._stores.embedded.packing import keys_of, pack_keys, pack_line, unpack_line
from knotwork._stores.resolutions import form_groups
from knotwork.records import PERSON_SOURCE, Homonym, SameAs, Verdict, id_to_int, int_to_id

DECISION_COLUMNS = (
    "d.first, d.second, d.verdict, d.source, d.reason, d.score, d.content_key, d.undone"
)
_BOTH_EXIST = " CROSS JOIN entity a ON a.id = d.first CROSS JOIN entity b ON b.id = d.second"
_DECISIONS = f"SELECT {DECISION_COLUMNS} FROM same_as d{_BOTH_EXIST} ORDER BY d.first, d.second"  # noqa: S608
_OF_ENTITIES = (
    f"SELECT j.value, {DECISION_COLUMNS} FROM json_each(?1) j"  # noqa: S608
    f" CROSS JOIN same_as d ON d.first = j.value{_BOTH_EXIST}"
    f" UNION ALL SELECT j.value, {DECISION_COLUMNS} FROM json_each(?1) j"
    f" CROSS JOIN same_as d ON d.second = j.value{_BOTH_EXIST} ORDER BY 1, 2, 3"
)
_CHUNK_COUNTS = (
    "SELECT e.id, e.chunk_count FROM (SELECT first AS id FROM same_as"
    " UNION SELECT second FROM same_as) d CROSS JOIN entity e ON e.id = d.id"
)
_PUT_DECISION = "INSERT OR REPLACE INTO same_as VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_ABSENT = (
    "SELECT j.value FROM json_each(?) j WHERE NOT EXISTS (SELECT 1 FROM entity WHERE id = j.value)"
)
_NOT_BY_PERSON = f"undone = 0 AND source != '{PERSON_SOURCE}'"
"""The decisions of indexing runs; see `SameAs.by_person`."""


@reports_damage
class EmbeddedResolutions:
    """The `ResolutionStore` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._groups: tuple[int, dict[str, str]] | None = None  # the generation, and its groups

    def put(self, decisions: Iterable[SameAs]) -> None:
        """Add or replace decisions, one per pair."""
        with self._database.transaction():
            self._database.write_many(_PUT_DECISION, map(_row, decisions))

    def decisions(self) -> list[SameAs]:
        """Return all decisions, ordered by the ids of their pairs."""
        return [decision_of(*row) for row in self._database.rows(_DECISIONS)]

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[SameAs]]:
        """Return the decisions about each entity, ordered by pair."""
        found: defaultdict[str, list[SameAs]] = defaultdict(list)
        packed = pack_keys(key for _, key in keys_of(entity_ids))
        for end, *columns in self._database.rows(_OF_ENTITIES, (packed,)):
            found[int_to_id(end)].append(decision_of(*columns))
        return dict(found)

    def remove(self, pairs: Collection[tuple[str, str]]) -> None:
        """Remove the decisions about these pairs (ids ascending), including those of persons."""
        keys = dict(keys_of([end for pair in pairs for end in pair]))
        rows = [(keys[one], keys[other]) for one, other in pairs if one in keys and other in keys]
        with self._database.transaction():
            self._database.write_many("DELETE FROM same_as WHERE first = ? AND second = ?", rows)

    def groups(self) -> dict[str, str]:
        """Return the canonical entity of every merged entity, itself included.

        The result is cached until the index changes.
        """
        if self._database.writing:
            return self._form_groups()
        with self._database.reading():
            generation = self._database.generation()
            cached = self._groups
            if cached is None or cached[0] != generation:
                cached = self._groups = generation, self._form_groups()
            return dict(cached[1])

    def touch(self, entity_ids: Collection[str]) -> None:
        """Mark entities as changed, whether they exist or not."""
        with self._database.transaction():
            self._database.write_many(
                "INSERT OR IGNORE INTO touched_entity VALUES (?)",
                ((key,) for _, key in keys_of(entity_ids)),
            )

    def touched(self) -> list[str]:
        """Return the ids of the entities marked as changed, ascending."""
        rows = self._database.rows("SELECT entity FROM touched_entity ORDER BY entity")
        return [int_to_id(entity) for (entity,) in rows]

    def settle(self, entity_ids: Collection[str]) -> None:
        """Clear the mark of these entities; see `ResolutionStore.settle`."""
        database = self._database
        keys = [key for _, key in keys_of(entity_ids)]
        with database.transaction():
            database.write_many(
                "DELETE FROM touched_entity WHERE entity = ?", ((key,) for key in keys)
            )
            absent = database.fetch(_ABSENT, (pack_keys(keys),))
            for end in ("first", "second"):
                database.write_many(
                    f"DELETE FROM same_as WHERE {end} = ? AND {_NOT_BY_PERSON}",  # noqa: S608
                    absent,
                )

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


@reports_damage
class EmbeddedHomonyms:
    """The `HomonymStore` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def replace(self, homonyms: Iterable[Homonym], *, among: Collection[str] | None = None) -> None:
        """Replace the stored homonyms of ``among``, by default all."""
        database = self._database
        new = list(homonyms)
        with database.transaction():
            if among is None:
                database.write("DELETE FROM homonym")
                database.write("DELETE FROM sense")
            else:
                replaced = [*among, *(homonym.entity_id for homonym in new)]
                keys = pack_keys(dict.fromkeys(key for _, key in keys_of(replaced)))
                for table in ("homonym", "sense"):
                    database.write(
                        f"DELETE FROM {table}"  # noqa: S608
                        " WHERE entity IN (SELECT value FROM json_each(?))",
                        (keys,),
                    )
            database.write_many(
                "INSERT INTO homonym VALUES (?, ?)",
                ((id_to_int(h.entity_id), pack_line(h.reason)) for h in new),
            )
            database.write_many(
                "INSERT INTO sense VALUES (?, ?, ?)",
                (
                    (id_to_int(h.entity_id), number, id_to_int(chunk))
                    for h in new
                    for number, chunks in enumerate(h.senses)
                    for chunk in chunks
                ),
            )

    def read(self, entity_ids: Collection[str] | None = None) -> dict[str, Homonym]:
        """Return the homonyms among these entities (default: all), by entity id, ascending."""
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
