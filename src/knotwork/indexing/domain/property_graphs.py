"""The labelled property graph of what was imported, for stores that answer statements about it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from knotwork.indexing.domain.spool import Spool
from knotwork.indexing.domain.wording import is_iri, short_name
from knotwork.records import GRAPH_URI, PropertyNode, PropertyValue, Relationship
from knotwork.stores.base import LedgerEntry, Store
from knotwork.stores.queries import StoresPropertyGraphs

"""What the roots of graphs begin with in the ledger: no folder, so that none covers them."""

_FACTS = (
    "SELECT f.id, r.raw, f.source, f.target, f.properties FROM fact f"
    " JOIN relation r ON r.id = f.relation ORDER BY f.id"
)


def graph_root(name: str) -> str:
    """Return what the ledger calls the root of a graph."""
    return f"{GRAPH_URI}{name}"


def put_property_graph(store: Store, spool: Spool, name: str) -> bool:
    """Put a graph with its labels, types and properties under its name; False where the store
    cannot hold one.
    """
    if not isinstance(store, StoresPropertyGraphs):
        return False
    store.property_graphs.put(name, _nodes(spool), _relationships(spool))
    return True


def lacks_property_graph(store: Store, name: str) -> bool:
    """Tell whether a graph should be there and is not."""
    return isinstance(store, StoresPropertyGraphs) and name not in store.property_graphs.names()


def remove_property_graphs(store: Store, entries: Iterable[LedgerEntry]) -> None:
    """Remove the graphs of removed documents of which no document is left."""
    roots = {entry.root for entry in entries if entry.root.startswith(GRAPH_URI)}
    if roots and isinstance(store, StoresPropertyGraphs):
        left = {entry.root for entry in store.ledger.entries()}
        for root in sorted(roots - left):
            store.property_graphs.remove(root.removeprefix(GRAPH_URI))


def _nodes(spool: Spool) -> Iterator[PropertyNode]:
    said_of = spool.said()
    number, said = next(said_of, (-1, None))
    for thing, key, name in spool.rows("SELECT id, key, name FROM thing ORDER BY id"):
        labels: tuple[str, ...] = ()
        properties: dict[str, PropertyValue] = {}
        named = True
        if said is not None and number == thing:
            labels, properties = tuple(said.labels), said.properties
            named = bool(said.names) or not properties
            number, said = next(said_of, (-1, None))
        if named:  # a name that was made of an id is no property of what has properties
            properties.setdefault("name", name)
        if is_iri(key):
            properties.setdefault("iri", key)
        yield PropertyNode(str(thing), labels, properties)


def _relationships(spool: Spool) -> Iterator[Relationship]:
    for number, raw, source, target, packed in spool.rows(_FACTS):
        properties = json.loads(packed) if packed else {}
        kind = short_name(raw) if is_iri(raw) else raw
        yield Relationship(str(number), kind, str(source), str(target), properties)
