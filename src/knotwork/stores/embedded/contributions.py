"""Writing to the graph: contributions go in and out, and the aggregates move by the difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from knotwork.records import Mention, Relation, content_id, id_to_int
from knotwork.stores.embedded.database import Database
from knotwork.stores.embedded.packing import pack_spans

_MENTIONS_OF_CHUNK = "SELECT entity, times, name, type FROM mention WHERE chunk = ?"
_RELATIONS_OF_CHUNK = "SELECT source, target, relation, weight FROM contribution WHERE chunk = ?"
_PUT_MENTION = "INSERT OR REPLACE INTO mention VALUES (?, ?, ?, ?, ?, ?, ?)"
_PUT_CONTRIBUTION = "INSERT OR REPLACE INTO contribution VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_ADD_ENTITY = (
    "INSERT INTO entity VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET chunk_count = chunk_count + excluded.chunk_count"
    " RETURNING chunk_count"
)
_ADD_FORM = (
    "INSERT INTO entity_form VALUES (?, ?, ?, ?)"
    " ON CONFLICT (entity, is_type, value) DO UPDATE SET times = times + excluded.times"
)
_DROP_FORM = "DELETE FROM entity_form WHERE entity = ? AND is_type = ? AND value = ? AND times <= 0"
_BEST_FORM = (
    "SELECT value FROM entity_form WHERE entity = ? AND is_type = ?"
    " ORDER BY times DESC, value LIMIT 1"
)
_ADD_EDGE = (
    "INSERT INTO edge VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (source, target, relation) DO UPDATE SET"
    " weight = weight + excluded.weight, supports = supports + excluded.supports"
    " RETURNING supports"
)
_DROP_EDGE = "DELETE FROM edge WHERE source = ? AND target = ? AND relation = ?"
_ADD_RELATION = (
    "INSERT INTO relation VALUES (?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET edges = edges + excluded.edges"
)

_Form = tuple[int, bool, str]
_EdgeKey = tuple[int, int, int]


@dataclass(slots=True)
class _Difference:
    """By how much the aggregates change."""

    chunks: Counter[int] = field(default_factory=Counter)
    forms: Counter[_Form] = field(default_factory=Counter)
    normal_forms: dict[int, str] = field(default_factory=dict)
    weights: Counter[_EdgeKey] = field(default_factory=Counter)
    supports: Counter[_EdgeKey] = field(default_factory=Counter)
    relations: dict[int, str] = field(default_factory=dict)

    def mention(self, sign: int, *, entity: int, times: int, name: str, type_: str) -> None:
        self.chunks[entity] += sign
        self.forms[entity, False, name] += sign * times
        if type_:
            self.forms[entity, True, type_] += sign * times

    def relation(self, sign: int, *, key: _EdgeKey, weight: int) -> None:
        self.supports[key] += sign
        self.weights[key] += sign * weight


def relation_key(name: str) -> int:
    """Return the key of a relation's name."""
    return id_to_int(content_id("relation", name))


def write_contributions(
    database: Database, mentions: Iterable[Mention], relations: Iterable[Relation]
) -> None:
    """Add contributions; one with the key of an earlier one takes its place."""
    difference = _Difference()
    new_mentions = {(id_to_int(m.chunk_id), id_to_int(m.entity_id)): m for m in mentions}
    new_relations = {_contribution_key(relation): relation for relation in relations}
    _subtract_replaced(database, difference, new_mentions, new_relations)
    rows = []
    for (chunk, entity), mention in new_mentions.items():
        times = max(1, len(mention.spans))
        difference.mention(1, entity=entity, times=times, name=mention.name, type_=mention.type)
        difference.normal_forms[entity] = mention.normal_form
        spans = pack_spans(mention.spans)
        rows.append((chunk, entity, times, mention.about, mention.name, mention.type, spans))
    database.write_many(_PUT_MENTION, rows)
    rows_of_relations = []
    for (chunk, *key), relation in new_relations.items():
        difference.relation(1, key=(key[0], key[1], key[2]), weight=relation.weight)
        difference.relations[key[2]] = relation.relation
        span = relation.span or (None, None)
        rows_of_relations.append((chunk, *key, relation.weight, *span, relation.description))
    database.write_many(_PUT_CONTRIBUTION, rows_of_relations)
    _apply(database, difference)


def remove_contributions(database: Database, chunks: Sequence[int]) -> None:
    """Remove the contributions of these chunks, and what is then supported by none."""
    difference = _Difference()
    for rows in database.rows_of_each(_MENTIONS_OF_CHUNK, chunks):
        for entity, times, name, type_ in rows:
            difference.mention(-1, entity=entity, times=times, name=name, type_=type_)
    for rows in database.rows_of_each(_RELATIONS_OF_CHUNK, chunks):
        for source, target, relation, weight in rows:
            difference.relation(-1, key=(source, target, relation), weight=weight)
    database.write_many("DELETE FROM mention WHERE chunk = ?", ((chunk,) for chunk in chunks))
    database.write_many("DELETE FROM contribution WHERE chunk = ?", ((chunk,) for chunk in chunks))
    _apply(database, difference)


def _contribution_key(relation: Relation) -> tuple[int, int, int, int]:
    return (
        id_to_int(relation.chunk_id),
        id_to_int(relation.source),
        id_to_int(relation.target),
        relation_key(relation.relation),
    )


def _subtract_replaced(
    database: Database,
    difference: _Difference,
    mentions: Mapping[tuple[int, int], Mention],
    relations: Mapping[tuple[int, int, int, int], Relation],
) -> None:
    chunks = list(dict.fromkeys(chunk for chunk, _ in mentions))
    for chunk, rows in zip(chunks, database.rows_of_each(_MENTIONS_OF_CHUNK, chunks), strict=True):
        for entity, times, name, type_ in rows:
            if (chunk, entity) in mentions:
                difference.mention(-1, entity=entity, times=times, name=name, type_=type_)
    chunks = list(dict.fromkeys(key[0] for key in relations))
    for chunk, rows in zip(chunks, database.rows_of_each(_RELATIONS_OF_CHUNK, chunks), strict=True):
        for *key, weight in rows:
            if (chunk, *key) in relations:
                difference.relation(-1, key=(key[0], key[1], key[2]), weight=weight)


def _apply(database: Database, difference: _Difference) -> None:
    _apply_forms(database, difference)
    _apply_entities(database, difference)
    _apply_edges(database, difference)


def _apply_forms(database: Database, difference: _Difference) -> None:
    changed = [(*form, times) for form, times in difference.forms.items() if times]
    database.write_many(_ADD_FORM, changed)
    database.write_many(_DROP_FORM, (row[:3] for row in changed if row[3] < 0))


def _apply_entities(database: Database, difference: _Difference) -> None:
    """Count chunks, name entities by their most frequent form, drop those no chunk mentions."""
    for entity, chunks in difference.chunks.items():
        name, type_ = (_best_form(database, entity, is_type=kind) for kind in (False, True))
        normal_form = difference.normal_forms.get(entity, "")
        row = (entity, chunks, name, type_, normal_form)
        ((count,),) = database.fetch(_ADD_ENTITY, row)
        if count <= 0:
            database.write("DELETE FROM entity WHERE id = ?", (entity,))
        elif count != chunks:
            _rename(database, entity, name, type_)


def _best_form(database: Database, entity: int, *, is_type: bool) -> str:
    rows = database.fetch(_BEST_FORM, (entity, is_type))
    return str(rows[0][0]) if rows else ""


def _rename(database: Database, entity: int, name: str, type_: str) -> None:
    database.write(
        "UPDATE entity SET name = ?1, type = ?2 WHERE id = ?3 AND (name <> ?1 OR type <> ?2)",
        (name, type_, entity),
    )


def _apply_edges(database: Database, difference: _Difference) -> None:
    made: Counter[int] = Counter()
    for key, supports in difference.supports.items():
        weight = difference.weights[key]
        if not supports and not weight:
            continue
        row = (*key, weight, supports)
        ((count,),) = database.fetch(_ADD_EDGE, row)
        if count <= 0:
            database.write(_DROP_EDGE, key)
            made[key[2]] -= 1
        elif count == supports:
            made[key[2]] += 1
    names = difference.relations
    database.write_many(
        _ADD_RELATION, ((key, edges, names.get(key, "")) for key, edges in made.items() if edges)
    )
    database.write_many(
        "DELETE FROM relation WHERE id = ? AND edges <= 0",
        ((key,) for key, edges in made.items() if edges < 0),
    )
