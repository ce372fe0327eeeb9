"""Corrections in tables. The graph follows from what chunks contribute and from these.

A correction keeps no copy of the graph: what chunks say of hidden entities, removed relations and
divided entities is set aside (`SqlGraph.refile`), and names and types are given when entities are
summed up. So documents may come and go, and a correction that is removed leaves the graph as
without it.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import asdict

from knotwork._stores.capabilities import SetAside
from knotwork._stores.corrections import in_effect
from knotwork._stores.sql.database import (
    SqlDatabase,
    SqlPart,
    decodes,
    delete_keys,
    key_list,
    upsert,
)
from knotwork._stores.sql.graph import GraphRules, Move, SqlGraph
from knotwork._stores.sql.tables import relation_key
from knotwork._text.names import normal_form
from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    Correction,
    Document,
    entity_id,
    id_to_int,
    int_to_id,
)

_ALL = "SELECT body FROM correction ORDER BY position, id"
_KEPT = "SELECT kept FROM correction WHERE id = $1"
_LAST = "SELECT coalesce(max(position), 0) FROM correction"
_ENTITIES_ASIDE = """
    SELECT DISTINCT c.document, a.entity, a.normal_form
    FROM aside_mention a JOIN chunk c ON c.id = a.chunk
"""
_RELATIONS_ASIDE = """
    SELECT DISTINCT c.document, a.source, a.target, a.relation_name
    FROM aside_contribution a JOIN chunk c ON c.id = a.chunk
"""
_PUT = upsert("correction", "id", "position", "entity", "form", "body", "kept", key=["id"])
_REMOVE = delete_keys("correction", "id")


class SqlCorrections(SqlPart):
    """The `CorrectionStore` of stores in SQL databases."""

    def __init__(self, database: SqlDatabase, graph: SqlGraph) -> None:
        super().__init__(database)
        self._graph = graph
        graph.rules = self._read_rules

    def corrections(self) -> list[Correction]:
        return list(self._once(self._read))

    def kept(self, correction_id: str) -> str:
        rows = self._database.rows(_KEPT, (id_to_int(correction_id),))
        return str(rows[0][0]) if rows else ""

    def alone(self) -> AbstractContextManager[None]:
        return self._database.alone()

    def put(self, correction: Correction, *, kept: str = "") -> None:
        renamed = correction.kind == "rename"
        form = id_to_int(entity_id(normal_form(correction.name))) if renamed else 0
        body = json.dumps(asdict(correction))
        ids = id_to_int(correction.id), id_to_int(correction.entity_ids[0])
        with self._database.transaction():
            before = self._graph.rules()
            ((last,),) = self._database.rows(_LAST)
            self._database.write(_PUT, (ids[0], last + 1, ids[1], form, body, kept))
            self._graph.refile(before, self._graph.rules())

    def remove(self, correction_ids: Collection[str]) -> None:
        with self._database.transaction():
            before = self._graph.rules()
            self._database.write(_REMOVE, (key_list(correction_ids),))
            self._graph.refile(before, self._graph.rules())

    def set_aside(self) -> SetAside:
        rules = self._read_rules()
        entities, relations = (
            {rules.moved(row, ends, row[0])[1:] for row in self._database.rows(sql)}
            for ends, sql in enumerate((_ENTITIES_ASIDE, _RELATIONS_ASIDE), start=1)
        )
        return SetAside(
            frozenset(int_to_id(key) for key, _ in entities if key in rules.hidden),
            frozenset((int_to_id(one), name, int_to_id(two)) for one, two, name in relations),
        )

    def _read(self) -> list[Correction]:
        return [_correction(body) for (body,) in self._database.rows(_ALL)]

    def _read_rules(self) -> GraphRules:
        """Return what the corrections in effect change."""
        hidden: set[int] = set()
        removed: set[tuple[int, int, int]] = set()
        moves: dict[int, tuple[Move, ...]] = {}
        names: dict[int, str] = {}
        types: dict[int, str] = {}
        for correction in in_effect(self._read()).values():
            ids = list(map(id_to_int, correction.entity_ids))
            others = list(map(id_to_int, correction.other_ids))
            match correction.kind:
                case "rename":
                    names[ids[0]] = correction.name
                case "retype":
                    types[ids[0]] = correction.type
                case "hide":
                    hidden.update(ids)
                case "divide":
                    named = frozenset(
                        id_to_int(Document(uri, "").id) for uri in correction.documents
                    )
                    move = Move(named, others[0], correction.other_forms[0])
                    moves[ids[0]] = (*moves.get(ids[0], ()), move)
                    names.setdefault(others[0], correction.name)
                case "remove_relation":
                    relation = relation_key(correction.relation)
                    removed.update((one, other, relation) for one in ids for other in others)
                    if correction.relation == CO_OCCURRENCE_RELATION:  # it has no direction
                        removed.update((other, one, relation) for one in ids for other in others)
        return GraphRules(frozenset(hidden), frozenset(removed), moves, names, types)


@decodes("a correction")
def _correction(body: str) -> Correction:
    fields = json.loads(body)
    fields |= {name: tuple(fields[name]) for name in ("forms", "other_forms", "documents")}
    return Correction(**fields)
