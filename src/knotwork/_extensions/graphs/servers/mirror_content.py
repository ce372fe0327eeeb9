"""Read the nodes and edges that the mirror of an index must hold, in pages ordered by id.

The nodes, edges and properties are those that Cypher shows on the index. Everything is read through
the protocols of stores, so that any store can be mirrored.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from heapq import merge
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._extensions.cypher.store_graphs import edge_properties, node_properties, read_records
from knotwork._extensions.graphs.export import split_batches
from knotwork._stores.base import Store
from knotwork._stores.graph_view import edge_order
from knotwork.records import (
    Edge,
    EdgeType,
    Label,
    Node,
    PropertyValue,
    QueriedEdgeType,
    QueriedLabel,
    id_to_int,
    int_to_id,
)

NODE_PAGE = 1_000
EDGE_PAGE = 4_000
_READ_AT_ONCE = 1_000

LABELS: tuple[str, ...] = (*Label, *QueriedLabel)
"""The labels of a mirror, in the order in which they are written."""

SOURCES: Mapping[str, tuple[str, ...]] = {
    EdgeType.HAS_SECTION: (Label.DOCUMENT, Label.SECTION),
    EdgeType.HAS_CHUNK: (Label.SECTION,),
    EdgeType.HAS_CHILD: (Label.CHUNK, QueriedLabel.COMMUNITY),
    EdgeType.NEXT: (Label.CHUNK,),
    EdgeType.MENTIONS: (Label.CHUNK,),
    EdgeType.ABOUT: (Label.CHUNK,),
    EdgeType.RELATES: (Label.ENTITY, Label.KEYWORD),
    EdgeType.CO_OCCURS: (Label.ENTITY, Label.KEYWORD),
    QueriedEdgeType.IN_COMMUNITY: (Label.ENTITY, Label.KEYWORD, Label.CHUNK),
    QueriedEdgeType.ANSWERS: (Label.CHUNK,),
    QueriedEdgeType.LINKS_TO: (Label.DOCUMENT,),
}
"""The types of a mirror, in the order of writing, and the labels of their sources."""

Properties = dict[str, PropertyValue]


class EdgeKey(NamedTuple):
    """The key of an edge among those of its type: the ids of its ends, and its relation."""

    source: str
    target: str
    relation: str


class NodePage(NamedTuple):
    """Nodes of a label by id: all with an id above ``low`` and up to ``high`` (None: the last)."""

    label: str
    low: str
    high: str | None
    nodes: dict[str, Properties]


class EdgePage(NamedTuple):
    """Edges of a type from sources with a label: all whose source is in the range, as in a page of
    nodes. ``targets`` has the label of each target.
    """

    type: str
    label: str
    low: str
    high: str | None
    edges: dict[EdgeKey, Properties]
    targets: dict[str, str]


def digest(value: object) -> int:
    """Return 64 bits of a hash of plain values, the same for equal ones."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


class MirrorContent:
    """The graph of one state of an index. Reads all ids at first, and everything else in pages."""

    def __init__(self, store: Store) -> None:
        self._store = store
        nodes, edges = read_records(store)
        self._records = {node.id: node for node in nodes}
        self._record_edges: defaultdict[str, list[Edge]] = defaultdict(list)
        for edge in sorted(edges, key=edge_order):
            self._record_edges[str(edge.type)].append(edge)
        found = {
            str(Label.DOCUMENT): store.documents.document_ids(),
            str(Label.SECTION): self._targets(EdgeType.HAS_SECTION),
            str(Label.CHUNK): self._targets(EdgeType.HAS_CHUNK),
            **self._entity_ids(),
            **{
                str(label): [node.id for node in nodes if node.label == label]
                for label in QueriedLabel
            },
        }
        self._ids = {label: _to_keys(found[label]) for label in LABELS}
        keys = np.concatenate([self._ids[label] for label in LABELS])
        codes = np.repeat(
            np.arange(len(LABELS), dtype=np.int8), [len(self._ids[label]) for label in LABELS]
        )
        order = np.argsort(keys, kind="stable")
        self._all, self._codes = keys[order], codes[order]

    def node_count(self, label: str) -> int:
        """Return the number of nodes with a label."""
        return len(self._ids[label])

    def edge_counts(self) -> dict[str, int]:
        """Return about how many edges each type has: those with a missing end count too."""
        counts = dict(self._store.graph.schema().edge_types)
        more = {kind: len(edges) for kind, edges in self._record_edges.items()}
        return {kind: counts.get(kind, 0) + more.get(kind, 0) for kind in SOURCES}

    def node_pages(self, label: str) -> Iterator[NodePage]:
        """Yield the nodes of a label in pages that together cover all ids."""
        keys, low = self._ids[label], ""
        starts = range(0, max(len(keys), 1), NODE_PAGE)
        for start in starts:
            ids = [int_to_id(key) for key in keys[start : start + NODE_PAGE].tolist()]
            is_last = start + NODE_PAGE >= len(keys)
            high = None if is_last else ids[-1]
            nodes = {node.id: clean(node_properties(node)) for node in self._nodes(label, ids)}
            yield NodePage(label, low, high, nodes)
            low = high or low

    def edge_pages(self, type_: str) -> Iterator[EdgePage]:
        """Yield the edges of a type in pages that together cover all sources of each label.

        A page has all edges of its sources, so that it may be long for one with many. Edges with a
        missing end are left out.
        """
        lows = dict.fromkeys(SOURCES[type_], "")
        waiting: dict[str, EdgePage] = {}
        for batch in split_batches(self._edges(type_), _READ_AT_ONCE):
            labels = self._labels([end for edge in batch for end in (edge.source, edge.target)])
            for edge in batch:
                label, target = labels.get(edge.source), labels.get(edge.target)
                if label not in lows or target is None:
                    continue
                page = waiting.get(label)
                if page is not None and len(page.edges) >= EDGE_PAGE:
                    last = next(reversed(page.edges)).source
                    if edge.source != last:
                        yield page._replace(high=last)
                        lows[label], page = last, None
                if page is None:
                    page = waiting[label] = EdgePage(type_, label, lows[label], None, {}, {})
                self._add(page, edge, label, target)
        for label, low in lows.items():
            yield waiting.get(label) or EdgePage(type_, label, low, None, {}, {})

    @staticmethod
    def _add(page: EdgePage, edge: Edge, label: str, target: str) -> None:
        relation = edge.relation if edge.type in (EdgeType.RELATES, EdgeType.CO_OCCURS) else ""
        key = EdgeKey(edge.source, edge.target, clean_text(relation))
        properties = edge_properties(
            edge.type, edge.weight, edge.relation, lambda: edge.chunks, source=label
        )
        page.edges[key] = clean(properties)
        page.targets[edge.target] = target

    def _targets(self, type_: EdgeType) -> list[str]:
        return [edge.target for edge in self._store.graph.edges(types=[type_])]

    def _entity_ids(self) -> dict[str, list[str]]:
        """Return the ids of entities and keywords, by label; each is mentioned somewhere."""
        keys = np.unique(_to_keys(self._targets(EdgeType.MENTIONS)))
        found: dict[str, list[str]] = {str(Label.ENTITY): [], str(Label.KEYWORD): []}
        for batch in split_batches(map(int_to_id, keys.tolist()), _READ_AT_ONCE):
            for entity in self._store.graph.entities(batch).values():
                found[str(Label.KEYWORD if entity.is_keyword else Label.ENTITY)].append(entity.id)
        return found

    def _nodes(self, label: str, ids: Sequence[str]) -> Iterable[Node]:
        if label in tuple(QueriedLabel):
            return [self._records[key] for key in ids]
        found = self._store.graph.nodes(ids)
        return [found[key] for key in ids if key in found]

    def _edges(self, type_: str) -> Iterator[Edge]:
        """Yield the edges of a type, ordered by source, target and relation."""
        more = self._record_edges.get(type_, [])
        if type_ in tuple(QueriedEdgeType):
            yield from more
        else:
            yield from merge(self._store.graph.edges(types=[type_]), more, key=edge_order)

    def _labels(self, ids: Sequence[str]) -> dict[str, str]:
        """Return the labels of those nodes that exist."""
        keys = np.array([id_to_int(key) for key in ids], np.int64)
        places = np.minimum(np.searchsorted(self._all, keys), max(len(self._all) - 1, 0))
        if not len(self._all):
            return {}
        return {
            key: LABELS[self._codes[place]]
            for key, place, number in zip(ids, places.tolist(), keys.tolist(), strict=True)
            if self._all[place] == number
        }


def clean(properties: Mapping[str, PropertyValue]) -> Properties:
    """Return properties as a server stores them: without nulls, in text that UTF-8 can encode."""
    return {key: _clean(value) for key, value in properties.items() if value is not None}


def _clean(value: PropertyValue) -> PropertyValue:
    if isinstance(value, str):
        return clean_text(value)
    return [_clean(item) for item in value] if isinstance(value, list | tuple) else value


def clean_text(text: str) -> str:
    """Return a text with a question mark for half a character, which no server stores."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _to_keys(ids: Sequence[str]) -> NDArray[np.int64]:
    return np.sort(np.array([id_to_int(key) for key in ids], np.int64))
