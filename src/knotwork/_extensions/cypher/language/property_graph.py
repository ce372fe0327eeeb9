"""Hold a property graph in memory: adjacency arrays, indexes and lazily loaded properties.

Nodes and relationships are numbered from 0; an ``index`` is such a number.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._extensions.cypher.language.syntax_tree import (
    Direction,
    LabelExpression,
    names_test,
)

Value = Any
"""A Cypher value: None, bool, int, float, str, list, dict, an element, a path or a time."""

Properties = Mapping[str, Value]
LoadProperties = Callable[[int], Properties]

_KEPT_RELATIONSHIPS = 200_000
_MOST_ASKED_FOR_PROPERTIES = 20_000


class Element:
    """A node or relationship; two elements of one kind are equal if their indices are."""

    __slots__ = ("_load", "_properties", "index")

    def __init__(self, index: int, load: LoadProperties) -> None:
        self.index = index
        self._load = load
        self._properties: Properties | None = None

    @property
    def properties(self) -> Properties:
        """The properties of the element, loaded on first use."""
        known = self._properties
        if known is None:
            known = self._properties = self._load(self.index)
        return known

    def __hash__(self) -> int:
        return hash((type(self), self.index))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and other.index == self.index


class GraphNode(Element):
    """A node, with its labels."""

    __slots__ = ("id", "labels")

    def __init__(self, index: int, id_: str, labels: tuple[str, ...], load: LoadProperties) -> None:
        super().__init__(index, load)
        self.id = id_
        self.labels = labels


class GraphRelationship(Element):
    """A relationship, with its type and the indices of its source and target nodes."""

    __slots__ = ("source", "target", "type")

    def __init__(
        self, index: int, type_: str, source: int, target: int, load: LoadProperties
    ) -> None:
        super().__init__(index, load)
        self.type = type_
        self.source = source
        self.target = target


class GraphPath(NamedTuple):
    """A path: its relationships in order, and its nodes, one more than relationships."""

    nodes: tuple[GraphNode, ...]
    relationships: tuple[GraphRelationship, ...]


@dataclass(frozen=True, slots=True)
class _Adjacency:
    """The relationships of each node in one direction, and the nodes at their other ends.

    Those of a node begin at its place in ``starts``, and end where those of the next node begin.
    """

    starts: array[int]
    relationships: array[int]
    others: array[int]

    def pairs(self, node: int) -> Iterable[tuple[int, int]]:
        own = slice(self.starts[node], self.starts[node + 1])
        return zip(self.relationships[own], self.others[own], strict=True)


class PropertyGraph:
    """An immutable snapshot of a graph.

    ``ids`` and ``labels`` have an item for each node, ``types``, ``sources`` and ``targets`` one
    for each relationship; the latter two are indices of nodes. ``relationship_id`` returns the id
    of a relationship for results. Threads may share a graph: everything built on first use is
    assigned only when it is complete.
    """

    def __init__(
        self,
        *,
        ids: Sequence[str],
        labels: Sequence[tuple[str, ...]],
        types: Iterable[str],
        sources: Sequence[int] | NDArray[np.integer],
        targets: Sequence[int] | NDArray[np.integer],
        node_properties: LoadProperties,
        relationship_properties: LoadProperties,
        relationship_id: Callable[[int], str] = str,
    ) -> None:
        self.nodes = [
            GraphNode(index, id_, own, node_properties)
            for index, (id_, own) in enumerate(zip(ids, labels, strict=True))
        ]
        self.relationship_id = relationship_id
        self._sources = np.asarray(sources, np.int32)
        self._targets = np.asarray(targets, np.int32)
        self._load_relationship = relationship_properties
        self._by_label: defaultdict[str, list[int]] = defaultdict(list)
        for index, own in enumerate(labels):
            for label in own:
                self._by_label[label].append(index)
        self._code_of_type: dict[str, int] = {}
        code_of = self._code_of_type
        codes = (code_of.setdefault(name, len(code_of)) for name in types)
        self._codes = np.fromiter(codes, np.int32, len(self._sources))
        self._types = list(code_of)
        self.type_counts = Counter(
            dict(zip(self._types, np.bincount(self._codes).tolist(), strict=True))
        )
        self._adjacent: dict[tuple[str | None, str], _Adjacency] = {}
        self._known: dict[int, GraphRelationship] = {}
        self._indexes: dict[tuple[str | None, str], dict[Value, list[int]]] = {}
        self._means: dict[tuple[str | None, str], float] = {}
        self._by_id: dict[str, int] | None = None

    def labelled(self, label: str | None) -> Sequence[int]:
        """Return the indices of the nodes with a label, or of all nodes."""
        return range(len(self.nodes)) if label is None else self._by_label.get(label, [])

    @property
    def label_names(self) -> Collection[str]:
        """The labels that a node has."""
        return self._by_label.keys()

    @cached_property
    def property_names(self) -> frozenset[str] | None:
        """The properties that a node or relationship has; None in a graph too large to look."""
        if len(self.nodes) + self.relationship_count > _MOST_ASKED_FOR_PROPERTIES:
            return None
        edges = map(self.relationship, range(self.relationship_count))
        return frozenset().union(*(item.properties for item in (*self.nodes, *edges)))

    @property
    def relationship_count(self) -> int:
        """The number of relationships."""
        return len(self._sources)

    def types(self, wanted: LabelExpression | None) -> tuple[str, ...] | None:
        """Return the types in the graph that fit an expression, None for all."""
        if wanted is None:
            return None
        fits = names_test(wanted)
        return tuple(t for t in self._types if fits((t,)))

    def count_of(self, types: Sequence[str] | None) -> int:
        """Return the number of relationships of some types, None for all."""
        if types is None:
            return self.relationship_count
        return sum(self.type_counts[name] for name in types)

    def relationship(self, index: int) -> GraphRelationship:
        """Return the relationship with an index; recent ones are cached."""
        known = self._known.get(index)
        if known is None:
            if len(self._known) > _KEPT_RELATIONSHIPS:
                self._known = {}
            ends = int(self._sources[index]), int(self._targets[index])
            type_ = self._types[self._codes[index]]
            known = GraphRelationship(index, type_, *ends, self._load_relationship)
            self._known[index] = known
        return known

    def expand(
        self, node: int, direction: Direction, types: Sequence[str] | None
    ) -> Iterator[tuple[int, int]]:
        """Yield the index of each relationship of a node and of the node at its other end.

        None means all types. A self-loop is yielded once in every direction.
        """
        for type_ in (None,) if types is None else types:
            if direction != "in":
                yield from self._adjacency(type_, "out").pairs(node)
            if direction == "in":
                yield from self._adjacency(type_, "in").pairs(node)
            elif direction == "both":
                for relationship, other in self._adjacency(type_, "in").pairs(node):
                    if other != node:
                        yield relationship, other

    def seek(
        self, label: str | None, key: str, value: Value, step: Callable[[], None]
    ) -> Sequence[int]:
        """Return the indices of nodes with a label (or any) whose property ``key`` is ``value``."""
        return self.index(label, key, step).get(index_key(value), ())

    def index(
        self, label: str | None, key: str, step: Callable[[], None]
    ) -> dict[Value, list[int]]:
        """Return the index of a property: nodes by `index_key` of its value, built on first use."""
        found = self._indexes.get((label, key))
        if found is None:
            grouped: defaultdict[Value, list[int]] = defaultdict(list)
            for index in self.labelled(label):
                step()
                value = self.nodes[index].properties.get(key)
                if isinstance(value, str | int | float):
                    grouped[index_key(value)].append(index)
            found = self._indexes[label, key] = dict(grouped)
        return found

    def mean_found(self, label: str | None, key: str, step: Callable[[], None]) -> float:
        """Return the mean number of nodes for a value of a property; 0.25 without values."""
        found = self._means.get((label, key))
        if found is None:
            index = self.index(label, key, step)
            found = sum(map(len, index.values())) / len(index) if index else 0.25
            self._means[label, key] = found
        return found

    def position(self, id_: str) -> int | None:
        """Return the index of the node with an id, None if there is no such node."""
        if self._by_id is None:
            self._by_id = {node.id: node.index for node in self.nodes}
        return self._by_id.get(id_)

    def _adjacency(self, type_: str | None, direction: str) -> _Adjacency:
        found = self._adjacent.get((type_, direction))
        if found is None:
            found = self._adjacent[type_, direction] = self._make_adjacency(type_, direction)
        return found

    def _make_adjacency(self, type_: str | None, direction: str) -> _Adjacency:
        chosen = np.arange(self.relationship_count, dtype=np.int32)
        if type_ is not None:
            chosen = chosen[self._codes == self._code_of_type.get(type_, -1)]
        near, far = self._sources[chosen], self._targets[chosen]
        if direction == "in":
            near, far = far, near
        order = np.argsort(near, kind="stable")
        counts = np.bincount(near, minlength=len(self.nodes))
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        return _Adjacency(*(_as_array(part) for part in (starts, chosen[order], far[order])))


def _as_array(numbers: NDArray[np.int32]) -> array[int]:
    """Return numbers in an array whose items are integers of Python."""
    found = array("i")
    found.frombytes(numbers.tobytes())
    return found


def index_key(value: Value) -> Value:
    """Return the key of a value in a property index: 1 and 1.0 share one, true and 1 do not."""
    return (value,) if isinstance(value, bool) else value
