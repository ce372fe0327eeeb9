"""Write the graph: contributions by chunk at once, and the sums of many chunks at the end.

Mentions and relations are rows of one chunk, and writers add them side by side. Entities and edges
sum up many chunks. A transaction notes how it changes them, and applies the changes under the lock
of the index, as late as it can: before it commits, or before it reads what they change. The changes
are added to the stored sums in SQL, in the order of keys, and entities are computed again from the
sums of their names. So the index does not depend on how many writers there were.

Ids are checked when rows are written, against what is committed. Writers side by side do not see
each other's rows, nor may they read entities before the lock. So a transaction notes its new ids,
and checks them once more under the lock: the later of two writers then sees the earlier one. Two
rows of one table with one key never get as far.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from knotwork._cancellation import checked
from knotwork._extensions.postgres.database import PostgresDatabase
from knotwork._stores.sql.documents import (
    HELD_BY_DOCUMENTS,
    SqlIdChecks,
    check_same_name,
    describe_holder,
    refuse_held,
)
from knotwork._stores.sql.graph import GraphChanges, SqlGraph
from knotwork.errors import IdCollision
from knotwork.records import KEYWORD_TYPES, content_id, id_to_int, int_to_id

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


class _NewIds(threading.local):
    def __init__(self) -> None:
        self.noted: dict[int, str] = {}


class PostgresIdChecks(SqlIdChecks):
    """Checks of new ids among many writers. A transaction calls `settle` or `forget` at its end."""

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database)
        self._new = _NewIds()

    @property
    def is_due(self) -> bool:
        """Whether the open transaction has new ids that `settle` has not checked."""
        return bool(self._new.noted)

    def check_forms(self, entities: Collection[int], normal_forms: Mapping[int, str]) -> None:
        """Raise IdCollision if a stored entity has another normal form; call under the lock.

        The entities with a normal form that are not stored are noted.
        """
        keys = [entity for entity in entities if entity in normal_forms]
        rows = self._database.rows(_NORMAL_FORMS, (keys,)) if keys else []
        stored: dict[int, str] = dict(rows)
        for key in keys:
            if key not in stored:
                self._new.noted[key] = describe_holder("entity", normal_forms[key])
            elif stored[key] != normal_forms[key]:
                check_same_name(key, "entity", stored[key], normal_forms[key])

    def settle(self) -> None:
        """Raise IdCollision if two things have one of the noted ids; call under the lock."""
        noted, self._new.noted = self._new.noted, {}
        for key, kind, name in self._database.rows(_HELD_TWICE, (list(noted),)) if noted else ():
            holder = describe_holder(kind, name)
            if holder != noted[key]:
                raise IdCollision(int_to_id(key), holder, noted[key])

    def forget(self) -> None:
        """Forget the noted ids of a transaction that was rolled back."""
        self._new.noted = {}

    def _check_parts(self, new: Mapping[int, str], document: int) -> None:
        held = self._database.rows(HELD_BY_DOCUMENTS, ([*new], document))
        refuse_held(held, new.__getitem__)
        self._new.noted.update(new)


_ADD_FORMS = (
    "INSERT INTO entity_form AS f (entity, form, name, type, times, chunks) SELECT * FROM"
    " unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])"
    " AS d (entity, form, name, type, times, chunks) ORDER BY entity, form"
    " ON CONFLICT (entity, form) DO UPDATE SET times = f.times + excluded.times,"
    " chunks = f.chunks + excluded.chunks"
)
_DROP_FORMS = "DELETE FROM entity_form WHERE entity = ANY($1::bigint[]) AND chunks <= 0"
_KEYWORDS = ", ".join(f"'{type_}'" for type_ in sorted(KEYWORD_TYPES))
_PUT_ENTITIES = f"""
    WITH changed AS (
        SELECT * FROM unnest($1::bigint[], $2::text[]) AS d (id, normal_form)
    ), form AS MATERIALIZED (
        SELECT f.* FROM changed d JOIN entity_form f ON f.entity = d.id
    ), named AS (
        SELECT DISTINCT ON (entity) entity, name FROM
        (SELECT entity, name, sum(times) AS times FROM form GROUP BY entity, name) n
        ORDER BY entity, times DESC, name
    ), typed AS (
        SELECT entity, type, sum(times) AS times FROM form WHERE type <> '' GROUP BY entity, type
    ), counted AS (
        SELECT entity, sum(chunks)::bigint AS chunks,
            bool_and(type IN ({_KEYWORDS})) AS is_keyword
        FROM form GROUP BY entity
    ), best AS (
        SELECT DISTINCT ON (t.entity) t.entity, t.type FROM typed t
        JOIN counted c ON c.entity = t.entity
        WHERE c.is_keyword OR t.type NOT IN ({_KEYWORDS})
        ORDER BY t.entity, t.times DESC, t.type
    )
    INSERT INTO entity AS e (id, chunk_count, name, type, normal_form)
    SELECT c.entity, c.chunks, coalesce(g.name, n.name), coalesce(g.type, b.type, ''), d.normal_form
    FROM counted c JOIN changed d ON d.id = c.entity JOIN named n ON n.entity = c.entity
    LEFT JOIN best b ON b.entity = c.entity
    LEFT JOIN unnest($3::bigint[], $4::text[], $5::text[]) AS g (id, name, type) ON g.id = c.entity
    ORDER BY c.entity
    ON CONFLICT (id) DO UPDATE SET
        chunk_count = excluded.chunk_count, name = excluded.name, type = excluded.type
"""  # noqa: S608
_DROP_ENTITIES = (
    "DELETE FROM entity e USING unnest($1::bigint[]) AS d (id) WHERE e.id = d.id"
    " AND NOT EXISTS (SELECT 1 FROM entity_form f WHERE f.entity = d.id)"
)
_EDGE_KEYS = "unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS d (source, target, relation)"
_IS_EDGE = "e.source = d.source AND e.target = d.target AND e.relation = d.relation"
_STORED_EDGES = (
    f"SELECT e.source, e.target, e.relation FROM {_EDGE_KEYS}"  # noqa: S608
    f" JOIN edge e ON {_IS_EDGE}"
)
_ADD_EDGES = (
    "INSERT INTO edge AS e (source, target, relation, weight, supports) SELECT * FROM"
    " unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])"
    " AS d (source, target, relation, weight, supports) ORDER BY source, target, relation"
    " ON CONFLICT (source, target, relation) DO UPDATE SET weight = e.weight + excluded.weight,"
    " supports = e.supports + excluded.supports"
)
_DROP_EDGES = (
    f"DELETE FROM edge e USING {_EDGE_KEYS} WHERE {_IS_EDGE}"  # noqa: S608
    " AND e.supports <= 0 RETURNING e.source, e.target, e.relation"
)
_ADD_RELATIONS = (
    "INSERT INTO relation AS r (id, edges, name) SELECT * FROM"
    " unnest($1::bigint[], $2::bigint[], $3::text[]) AS d (id, edges, name) ORDER BY id"
    " ON CONFLICT (id) DO UPDATE SET edges = r.edges + excluded.edges"
)
_DROP_RELATIONS = "DELETE FROM relation WHERE id = ANY($1::bigint[]) AND edges <= 0"
_MOST_AT_ONCE = 5_000

_Key = TypeVar("_Key")


class _Thread(threading.local):
    def __init__(self) -> None:
        self.changes = GraphChanges()


class PostgresGraph(SqlGraph):
    """The graph of an index, whose sums are written at the end of a transaction."""

    _database: PostgresDatabase
    checks: PostgresIdChecks

    def __init__(self, database: PostgresDatabase) -> None:
        super().__init__(database, PostgresIdChecks(database))
        self._thread = _Thread()
        database.settle = self.settle
        database.abandon = self._abandon

    def _changes(self) -> GraphChanges:
        return self._thread.changes

    def _apply(self, changes: GraphChanges) -> None:
        """Leave the changes of a transaction to `settle`."""

    def settle(self) -> None:
        """Apply the noted changes to entities and edges, under the lock of the index.

        Raises IdCollision if new ids are those of something else.
        """
        changes = self._thread.changes
        if not changes and not self.checks.is_due:
            return
        self._thread.changes = GraphChanges()
        self._database.lock_shared()
        self.checks.check_relations(changes.relations)
        self._update_entities(changes)
        self._update_edges(changes)
        self.checks.settle()

    def _abandon(self) -> None:
        self._thread.changes = GraphChanges()
        self.checks.forget()

    def _update_entities(self, changes: GraphChanges) -> None:
        """Add to the counts of names and types, and compute the entities that have them again."""
        database = self._database
        changed = [key for key in changes.times if changes.times[key] or changes.chunks[key]]
        changed.sort(key=lambda key: key[0])
        for part in _parts(changed):
            columns = [list(column) for column in zip(*part, strict=True)]
            entities, names, types = columns
            forms = [_form_key(name, type_) for _, name, type_ in part]
            times = [changes.times[key] for key in part]
            chunks = [changes.chunks[key] for key in part]
            database.write(_ADD_FORMS, (entities, forms, names, types, times, chunks))
        shrunk = sorted({key[0] for key in changed if changes.chunks[key] < 0})
        for keys in _parts(shrunk):
            database.write(_DROP_FORMS, (keys,))
        rules = self.rules()
        given = sorted({*rules.names, *rules.types})
        corrected = given, [*map(rules.names.get, given)], [*map(rules.types.get, given)]
        for keys in _parts(sorted({key[0] for key in changed} | changes.renamed)):
            self.checks.check_forms(keys, changes.normal_forms)
            normal_forms = [changes.normal_forms.get(entity, "") for entity in keys]
            database.write(_PUT_ENTITIES, (keys, normal_forms, *corrected))
        for keys in _parts(shrunk):
            database.write(_DROP_ENTITIES, (keys,))

    def _update_edges(self, changes: GraphChanges) -> None:
        database = self._database
        new_edges: Counter[int] = Counter()
        changed = [key for key in changes.supports if changes.supports[key] or changes.weights[key]]
        for part in _parts(sorted(changed)):
            columns = [list(column) for column in zip(*part, strict=True)]
            stored = set(database.rows(_STORED_EDGES, columns))
            new_edges.update(key[2] for key in part if key not in stored)
            weights = [changes.weights[key] for key in part]
            supports = [changes.supports[key] for key in part]
            database.write(_ADD_EDGES, (*columns, weights, supports))
        shrunk = [key for key in changed if changes.supports[key] < 0]
        for part in _parts(sorted(shrunk)):
            columns = [list(column) for column in zip(*part, strict=True)]
            new_edges.subtract(key[2] for key in database.write(_DROP_EDGES, columns))
        keys = sorted(key for key, edges in new_edges.items() if edges)
        if keys:
            names = [changes.relations.get(key, "") for key in keys]
            database.write(_ADD_RELATIONS, (keys, [new_edges[key] for key in keys], names))
            database.write(_DROP_RELATIONS, (keys,))


def _parts(keys: Sequence[_Key]) -> Iterator[list[_Key]]:
    for start in checked(range(0, len(keys), _MOST_AT_ONCE)):
        yield list(keys[start : start + _MOST_AT_ONCE])


@lru_cache(maxsize=1 << 14)
def _form_key(name: str, type_: str) -> int:
    return id_to_int(content_id("form", name, type_))
