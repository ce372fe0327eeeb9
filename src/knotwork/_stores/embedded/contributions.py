"""Write the graph: add and remove contributions, and update entities and edges incrementally."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap

from knotwork._cancellation import checked
from knotwork._stores.embedded.database import SQLITE, Database
from knotwork._stores.graph_view import entity_type, most_frequent
from knotwork._stores.sql.collisions import SqlIdChecks, check_same_name
from knotwork._stores.sql.graph import (
    GraphChanges,
    contribution_row,
    keyed_mentions,
    keyed_relations,
    mention_row,
)
from knotwork._stores.sql.packing import unpack_json
from knotwork.records import Mention, Relation, int_to_id

_MENTIONS = (
    "SELECT m.chunk, m.entity, m.times, m.name, m.type FROM json_each(?1) j"
    " CROSS JOIN mention m ON m.chunk = j.value"
)
_RELATIONS = (
    "SELECT c.chunk, c.source, c.target, c.relation, c.weight FROM json_each(?1) j"
    " CROSS JOIN contribution c ON c.chunk = j.value"
)
_PUT_MENTION = "INSERT OR REPLACE INTO mention VALUES (?, ?, ?, ?, ?, ?, ?)"
_PUT_CONTRIBUTION = "INSERT OR REPLACE INTO contribution VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_ENTITIES = (
    "SELECT e.id, e.chunk_count, e.name, e.type, e.names, e.types, e.normal_form"
    " FROM json_each(?) j CROSS JOIN entity e ON e.id = j.value"
)
_NEW_ENTITY = "INSERT INTO entity VALUES (?, ?, ?, ?, ?, ?, ?)"
_COUNT_ENTITY = "UPDATE entity SET chunk_count = ?, names = ?, types = ? WHERE id = ?"
_NAME_ENTITY = "UPDATE entity SET name = ?, type = ? WHERE id = ?"
_SUPPORTS = (
    "SELECT e.source, e.target, e.relation, e.supports FROM json_each(?) j CROSS JOIN edge e"
    " ON e.source = j.value ->> 0 AND e.target = j.value ->> 1 AND e.relation = j.value ->> 2"
)
_ADD_EDGE = (
    "INSERT INTO edge VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (source, target, relation) DO UPDATE SET"
    " weight = weight + excluded.weight, supports = supports + excluded.supports"
)
_DROP_EDGE = "DELETE FROM edge WHERE source = ? AND target = ? AND relation = ?"
_ADD_RELATION = (
    "INSERT INTO relation VALUES (?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET edges = edges + excluded.edges"
)

_NO_ENTITY = (0, "", "", "{}", "{}", "")
_Forms = dict[str, int]
"""Names or types of an entity, with the number of occurrences of each."""


@dataclass(slots=True)
class _Difference(GraphChanges):
    """The changes that a set of contributions causes, with the names and types of each entity."""

    chunks: Counter[int] = field(default_factory=Counter)
    names: defaultdict[int, _Forms] = field(default_factory=lambda: defaultdict(dict))
    types: defaultdict[int, _Forms] = field(default_factory=lambda: defaultdict(dict))

    def mention(self, sign: int, *, entity: int, times: int, name: str, type_: str) -> None:
        self.chunks[entity] += sign
        names = self.names[entity]
        names[name] = names.get(name, 0) + sign * times
        if type_:
            types = self.types[entity]
            types[type_] = types.get(type_, 0) + sign * times


class EmbeddedContributions:
    """The `Contributions` of the embedded store. Use it inside `Database.transaction`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._checks = SqlIdChecks(database)

    def add(self, mentions: Iterable[Mention], relations: Iterable[Relation]) -> None:
        database, difference = self._database, _Difference()
        new_mentions = keyed_mentions(mentions, difference.normal_forms)
        new_relations = keyed_relations(relations, difference.relations)
        self._checks.check_relations(difference.relations)
        _subtract_replaced(database, difference, new_mentions, new_relations)
        difference.add(new_mentions, new_relations)
        database.write_many(_PUT_MENTION, starmap(mention_row, new_mentions.items()))
        database.write_many(_PUT_CONTRIBUTION, starmap(contribution_row, new_relations.items()))
        self._apply(difference)

    def remove(self, chunks: Sequence[int]) -> None:
        database, difference = self._database, _Difference()
        packed = SQLITE.bind_keys(chunks)
        for _, entity, times, name, type_ in checked(database.fetch(_MENTIONS, (packed,))):
            difference.mention(-1, entity=entity, times=times, name=name, type_=type_)
        for _, source, target, relation, weight in checked(database.fetch(_RELATIONS, (packed,))):
            difference.relation(-1, key=(source, target, relation), weight=weight)
        for table in ("mention", "contribution"):
            sql = f"DELETE FROM {table} WHERE chunk IN (SELECT value FROM json_each(?1))"  # noqa: S608
            database.write(sql, (packed,))
        self._apply(difference)

    def _apply(self, difference: _Difference) -> None:
        _update_entities(self._database, difference, self._checks)
        _update_edges(self._database, difference)


def _subtract_replaced(
    database: Database,
    difference: _Difference,
    mentions: Mapping[tuple[int, int], Mention],
    relations: Mapping[tuple[int, int, int, int], Relation],
) -> None:
    """Subtract the stored contributions that have the key of a new one."""
    packed = SQLITE.bind_keys(dict.fromkeys(chunk for chunk, _ in mentions))
    for chunk, entity, times, name, type_ in checked(database.fetch(_MENTIONS, (packed,))):
        if (chunk, entity) in mentions:
            difference.mention(-1, entity=entity, times=times, name=name, type_=type_)
    packed = SQLITE.bind_keys(dict.fromkeys(key[0] for key in relations))
    for chunk, *key, weight in checked(database.fetch(_RELATIONS, (packed,))):
        if (chunk, *key) in relations:
            difference.relation(-1, key=(key[0], key[1], key[2]), weight=weight)


def _update_entities(database: Database, difference: _Difference, checks: SqlIdChecks) -> None:
    """Update chunk counts, names and types of entities, and delete those without a mention."""
    stored = {
        row[0]: row[1:] for row in database.fetch(_ENTITIES, (SQLITE.bind_keys(difference.names),))
    }
    forms = difference.normal_forms
    for entity, held in stored.items():
        if forms.get(entity, held[-1]) != held[-1]:
            check_same_name(int_to_id(entity), "entity", held[-1], forms[entity])
    checks.check_entities(
        {entity: forms[entity] for entity in difference.names if entity not in stored}
    )
    added, counted, renamed, removed = [], [], [], []
    for entity, changes in checked(difference.names.items()):
        count, name, type_, stored_names, stored_types, _ = stored.get(entity, _NO_ENTITY)
        count += difference.chunks[entity]
        names = _sum(stored_names, changes)
        types = _sum(stored_types, difference.types.get(entity, {}))
        best = most_frequent(names), entity_type(types, sum(names.values()))
        packed = json.dumps(names), json.dumps(types)
        if entity not in stored:
            added.append((entity, count, *best, forms[entity], *packed))
        elif not count:
            removed.append((entity,))
        else:
            counted.append((count, *packed, entity))
            if best != (name, type_):
                renamed.append((*best, entity))
    database.write_many(_NEW_ENTITY, added)
    database.write_many(_COUNT_ENTITY, counted)
    database.write_many(_NAME_ENTITY, renamed)
    database.write_many("DELETE FROM entity WHERE id = ?", removed)


def _sum(packed: str, changes: _Forms) -> _Forms:
    forms: _Forms = unpack_json(packed)
    for form, times in changes.items():
        forms[form] = forms.get(form, 0) + times
    return {form: times for form, times in forms.items() if times > 0}


def _update_edges(database: Database, difference: _Difference) -> None:
    """Update weights, supports and the edge count of relations; delete edges without support."""
    rows = database.fetch(_SUPPORTS, (SQLITE.bind_rows(difference.supports),))
    stored = {(source, target, relation): supports for source, target, relation, supports in rows}
    new_edges: Counter[int] = Counter()
    changed, removed = [], []
    for key, supports in checked(difference.supports.items()):
        before = stored.get(key, 0)
        if before + supports <= 0:
            removed.append(key)
            new_edges[key[2]] -= 1
        else:
            changed.append((*key, difference.weights[key], supports))
            new_edges[key[2]] += not before
    database.write_many(_ADD_EDGE, changed)
    database.write_many(_DROP_EDGE, removed)
    names = difference.relations
    database.write_many(
        _ADD_RELATION,
        ((key, edges, names.get(key, "")) for key, edges in new_edges.items() if edges),
    )
    database.write_many(
        "DELETE FROM relation WHERE id = ? AND edges <= 0",
        ((key,) for key, edges in new_edges.items() if edges < 0),
    )
