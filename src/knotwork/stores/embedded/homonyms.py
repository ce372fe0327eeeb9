"""Which names mean several things, in tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from knotwork.records import Homonym, id_to_int, int_to_id
from knotwork.stores.embedded.database import Database
from knotwork.stores.embedded.packing import keys_of, pack_keys, pack_line, unpack_line

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
