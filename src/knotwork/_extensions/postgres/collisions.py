"""Find ids that collide with those of other writers.

Rows of documents are checked when they are written, against what is committed. Writers side by side
do not see each other's rows, nor may they read entities before the lock of the index. So a
transaction notes its new ids, and checks them once more under this lock at its end: the later of
two writers then sees the earlier one. Two rows of one table with one key never get as far.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping

from knotwork._extensions.postgres.database import PostgresDatabase
from knotwork._stores.collisions import check_same_name, describe_holder
from knotwork._stores.sql.collisions import SqlIdChecks
from knotwork.errors import IdCollision
from knotwork.records import int_to_id

_NORMAL_FORMS = "SELECT id, normal_form FROM entity WHERE id = ANY($1::bigint[])"
_HELD_TWICE = """
    WITH held AS MATERIALIZED (
        SELECT id, 'document' AS kind, id AS document FROM document WHERE id = ANY($1::bigint[])
        UNION ALL SELECT id, 'section', document FROM section WHERE id = ANY($1::bigint[])
        UNION ALL SELECT id, 'chunk', document FROM chunk WHERE id = ANY($1::bigint[])
        UNION ALL SELECT id, 'entity', NULL FROM entity WHERE id = ANY($1::bigint[])
    )
    SELECT h.id, h.kind, coalesce(d.uri, e.normal_form)
    FROM held h LEFT JOIN document d ON d.id = h.document LEFT JOIN entity e ON e.id = h.id
    WHERE h.id IN (SELECT id FROM held GROUP BY id HAVING count(*) > 1) ORDER BY h.id
"""


class _Thread(threading.local):
    def __init__(self) -> None:
        self.noted: dict[int, str] = {}


class PostgresIdChecks(SqlIdChecks):
    """Checks of new ids among many writers. A transaction calls `settle` or `forget` at its end."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database)
        self._thread = _Thread()

    @property
    def is_due(self) -> bool:
        """Whether the open transaction has new ids that `settle` has not checked."""
        return bool(self._thread.noted)

    def check_forms(self, entities: Collection[int], normal_forms: Mapping[int, str]) -> None:
        """Raise IdCollision if a stored entity has another normal form; call under the lock.

        The entities with a normal form that are not stored are noted.
        """
        keys = [entity for entity in entities if entity in normal_forms]
        rows = self._database.fetch(_NORMAL_FORMS, (keys,)) if keys else []
        stored: dict[int, str] = dict(rows)
        for key in keys:
            if key not in stored:
                self._thread.noted[key] = describe_holder("entity", normal_forms[key])
            elif stored[key] != normal_forms[key]:
                check_same_name(int_to_id(key), "entity", stored[key], normal_forms[key])

    def settle(self) -> None:
        """Raise IdCollision if two things have one of the noted ids; call under the lock."""
        noted, self._thread.noted = self._thread.noted, {}
        for key, kind, name in self._database.fetch(_HELD_TWICE, (list(noted),)) if noted else ():
            holder = describe_holder(kind, name)
            if holder != noted[key]:
                raise IdCollision(int_to_id(key), holder, noted[key])

    def forget(self) -> None:
        """Forget the noted ids of a transaction that was rolled back."""
        self._thread.noted = {}

    def _check_parts(self, new: Mapping[int, str], document: int) -> None:
        self._raise_first(self._sql.held_by_documents, new, document)
        self._thread.noted.update(new)
