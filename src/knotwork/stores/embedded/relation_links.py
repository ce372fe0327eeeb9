"""Relations and co-occurrences at entities, without their chunks: what a walk along paths reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import apsw

from knotwork.records import int_to_id
from knotwork.stores.relations import RelationLink

_OUT = (
    "SELECT relation, target, weight FROM edge WHERE source = ?"
    " ORDER BY weight DESC, target, relation LIMIT ?"
)
_IN = (
    "SELECT relation, source, weight FROM edge WHERE target = ?"
    " ORDER BY weight DESC, source, relation LIMIT ?"
)
_NAME = "SELECT name FROM relation WHERE id = ?"


def read_relation_links(
    connection: apsw.Connection, keys: Iterable[tuple[str, int]], *, limit: int
) -> dict[str, list[RelationLink]]:
    """Return the links of each id with its key, as `LinksRelations` describes."""
    execute: Callable[..., Any] = connection.execute

    @cache
    def name_of(relation: int) -> str:
        ((name,),) = execute(_NAME, (relation,)).fetchall()
        return str(name)

    found: dict[str, list[RelationLink]] = {}
    for identifier, key in keys:
        links = [
            RelationLink(name_of(relation), forward, int_to_id(other), float(weight))
            for sql, forward in ((_OUT, True), (_IN, False))
            for relation, other, weight in execute(sql, (key, max(limit, 0))).fetchall()
        ]
        if links:
            found[identifier] = links
    return found
