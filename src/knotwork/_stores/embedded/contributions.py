"""Keep the entities and edges of the graph up to date with the contributions of chunks."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping

from knotwork._cancellation import checked
from knotwork._stores.graph_view import entity_type, most_frequent
from knotwork._stores.sql.documents import check_same_name
from knotwork._stores.sql.graph import Contributions, GraphChanges
from knotwork._stores.sql.packing import unpack_json

_ENTITIES = (
    "SELECT e.id, e.chunk_count, e.name, e.type, e.names, e.types, e.normal_form"
    " FROM keys($1) CROSS JOIN entity e ON e.id = j.value"
)
_NEW_ENTITY = "INSERT INTO entity VALUES (?, ?, ?, ?, ?, ?, ?)"
_COUNT_ENTITY = "UPDATE entity SET chunk_count = ?, names = ?, types = ? WHERE id = ?"
_NAME_ENTITY = "UPDATE entity SET name = ?, type = ? WHERE id = ?"
_SUPPORTS = (
    "SELECT e.source, e.target, e.relation, e.supports"
    " FROM rows($1, source, target, relation) CROSS JOIN edge e"
    " ON e.source = j.source AND e.target = j.target AND e.relation = j.relation"
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


class EmbeddedContributions(Contributions):
    """The contributions of the embedded store, whose sums are brought up to date at once.

    An entity has the number of mentions with each of its names and types.
    """

    def _changes(self) -> GraphChanges:
        return GraphChanges()

    def _apply(self, changes: GraphChanges) -> None:
        self._checks.check_relations(changes.relations)
        self._update_entities(changes)
        self._update_edges(changes)

    def _update_entities(self, changes: GraphChanges) -> None:
        chunks: dict[int, int] = {}
        new_names: defaultdict[int, dict[str, int]] = defaultdict(dict)
        new_types: defaultdict[int, dict[str, int]] = defaultdict(dict)
        for key, times in changes.times.items():
            entity, name, type_ = key
            chunks[entity] = chunks.get(entity, 0) + changes.chunks[key]
            names, types = new_names[entity], new_types[entity]
            names[name] = names.get(name, 0) + times
            if type_:
                types[type_] = types.get(type_, 0) + times
        database, forms = self._database, changes.normal_forms
        stored = {row[0]: row[1:] for row in database.rows(_ENTITIES, ([*chunks],))}
        for entity, held in stored.items():
            if forms.get(entity, held[-1]) != held[-1]:
                check_same_name(entity, "entity", held[-1], forms[entity])
        self._checks.check_entities({key: forms[key] for key in chunks if key not in stored})
        added, counted, renamed, removed = [], [], [], []
        for entity, change in checked(chunks.items()):
            count, name, type_, stored_names, stored_types, _ = stored.get(entity, _NO_ENTITY)
            count += change
            names, types = (
                _sum(stored_names, new_names[entity]),
                _sum(stored_types, new_types[entity]),
            )
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

    def _update_edges(self, changes: GraphChanges) -> None:
        database = self._database
        rows = database.rows(_SUPPORTS, ([*changes.supports],))
        stored = {
            (source, target, relation): supports for source, target, relation, supports in rows
        }
        new_edges: Counter[int] = Counter()
        changed, removed = [], []
        for key, supports in checked(changes.supports.items()):
            before = stored.get(key, 0)
            if before + supports <= 0:
                removed.append(key)
                new_edges[key[2]] -= 1
            else:
                changed.append((*key, changes.weights[key], supports))
                new_edges[key[2]] += not before
        database.write_many(_ADD_EDGE, changed)
        database.write_many(_DROP_EDGE, removed)
        names = changes.relations
        database.write_many(
            _ADD_RELATION,
            ((key, edges, names.get(key, "")) for key, edges in new_edges.items() if edges),
        )
        database.write_many(
            "DELETE FROM relation WHERE id = ? AND edges <= 0",
            ((key,) for key, edges in new_edges.items() if edges < 0),
        )


def _sum(packed: str, changes: Mapping[str, int]) -> dict[str, int]:
    forms: dict[str, int] = unpack_json(packed)
    for form, times in changes.items():
        forms[form] = forms.get(form, 0) + times
    return {form: times for form, times in forms.items() if times > 0}
