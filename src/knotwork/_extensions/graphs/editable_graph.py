"""A mutable graph of entities and relations in memory, for users who build one by hand."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from numbers import Real
from typing import Any, Self

from knotwork._graph.walk import AdjacentEdge, strongest_edges, walk_graph
from knotwork.errors import ConfigError, UnknownName
from knotwork.records import (
    Direction,
    Edge,
    Node,
    PropertyValue,
    Subgraph,
    content_id,
    entity_label,
    relation_edge_type,
)

DEFAULT_RELATION = "is connected to"
"""The relation of edges that do not name one."""

_SUGGESTED_NAMES = 5
_COMPARED_NAMES = 5_000
"""Names that an unknown one is compared with; more would take seconds."""

_ENTITY_FIELDS = frozenset({"name", "type", "description", "normal_form", "chunk_count"})
_RELATION_FIELDS = frozenset({"relation", "weight", "description"})

_SURROGATE = re.compile("[\ud800-\udfff]")

_EdgeKey = tuple[str, str, str]


class Graph:
    """A graph that you build and change: entities with types, and named relations between them.

    Methods take an entity as its name, or as a `Node` that a method returned, which is clear even
    if several entities have that name: an entity is identified by its name and type. A relation is
    identified by its name and both entities, which may be the same. White space in names counts as
    one space. Entities and relations are in the order in which they were added.

    ``triples`` are added as `add_triples` does. `kb.graph.import_graph` imports a graph into an
    index.
    """

    def __init__(self, triples: Iterable[tuple[str, str, str]] = ()) -> None:
        self._nodes: dict[str, Node] = {}
        self._named: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._edges: dict[_EdgeKey, Edge] = {}
        self._edges_of: defaultdict[str, dict[_EdgeKey, None]] = defaultdict(dict)
        self.add_triples(triples)

    def __repr__(self) -> str:
        return f"<Graph: {len(self._nodes)} entities, {len(self._edges)} relations>"

    def __contains__(self, entity: str | Node) -> bool:
        """Return True if this is an entity of the graph, or the name of one."""
        if isinstance(entity, Node):
            return entity.id in self._nodes
        return bool(self._named.get(_one_line(entity)))

    @property
    def entities(self) -> list[Node]:
        """All entities."""
        return list(self._nodes.values())

    @property
    def relations(self) -> list[Edge]:
        """All relations, between the ids of entities."""
        return list(self._edges.values())

    def triples(self) -> Iterator[tuple[str, str, str]]:
        """Yield the names of the source, the relation and the target of each relation."""
        for edge in self._edges.values():
            yield self._nodes[edge.source].name, edge.name, self._nodes[edge.target].name

    def entity(self, name: str, type: str | None = None) -> Node:  # noqa: A002
        """Return the entity of this name, and of this type if one is given.

        Raises UnknownName for an unknown entity, ConfigError if several have the name.
        """
        cleaned = _check_name(name)
        found = [self._nodes[key] for key in self._named.get(cleaned, ())]
        wanted = None if type is None else _type_key(type)
        fitting = [node for node in found if wanted in (None, node.type)]
        if not fitting:
            shown = f"{cleaned} ({wanted})" if wanted and found else cleaned
            raise self._unknown_entity(shown, [f"{node.name} ({node.type})" for node in found])
        if len(fitting) > 1:
            types = ", ".join(f"`{node.type}`" for node in fitting)
            raise ConfigError(
                f"`{cleaned}` is the name of {len(fitting)} entities, of the types {types}.",
                fix="Pass the entity itself, such as `graph.entity(name, type)` returns.",
            )
        return fitting[0]

    def add_entity(
        self,
        name: str,
        type: str = "",  # noqa: A002
        *,
        description: str = "",
        properties: Mapping[str, PropertyValue] | None = None,
    ) -> Node:
        """Add an entity and return it. The property ``aliases``, a list, has its other names.

        Raises ConfigError if the graph has an entity of this name and type, or a property has the
        name of a field, and TypeError for a value that no property can have.
        """
        cleaned, type = _check_name(name), _check_text(type)  # noqa: A001
        given = _check_properties(properties, _ENTITY_FIELDS)
        self._check_free(cleaned, type)
        identifier = content_id("entity", cleaned, type)
        number = 1
        while identifier in self._nodes:  # of an entity that was renamed
            number += 1
            identifier = content_id("entity", cleaned, type, str(number))
        values = {"type": type, "description": _check_text(description), **given}
        return self._put_node(Node(identifier, entity_label(type), cleaned, _without_empty(values)))

    def update_entity(
        self,
        entity: str | Node,
        *,
        name: str | None = None,
        type: str | None = None,  # noqa: A002
        description: str | None = None,
        properties: Mapping[str, PropertyValue] | None = None,
    ) -> Node:
        """Change what is given of an entity, and return it; its relations stay.

        ``properties`` are added to those that it has; a value of None removes one. Raises
        UnknownName for an unknown entity, ConfigError and TypeError as `add_entity`.
        """
        node = self._find(entity)
        fields = {"type": type, "description": description}
        values = {
            **node.properties,
            **_check_properties(properties, _ENTITY_FIELDS),
            **{field: _check_text(text) for field, text in fields.items() if text is not None},
        }
        changed = replace(
            node,
            name=node.name if name is None else _check_name(name),
            label=node.label if type is None else entity_label(type),
            properties=_without_empty(values),
        )
        if (changed.name, changed.type) != (node.name, node.type):
            self._check_free(changed.name, changed.type)
        del self._named[_one_line(node.name)][node.id]
        return self._put_node(changed)

    def remove_entity(self, entity: str | Node) -> None:
        """Remove an entity and all its relations. Raises UnknownName for an unknown entity."""
        node = self._find(entity)
        for key in list(self._edges_of[node.id]):
            self._drop_edge(key)
        del self._named[_one_line(node.name)][node.id], self._nodes[node.id]
        del self._edges_of[node.id]

    def merge_entities(self, entity: str | Node, other: str | Node) -> Node:
        """Merge another entity into one, and return the one.

        It gets the relations of the other, the other's name as an alias, and its description and
        properties where it has none. Weights of equal relations are added; relations between the
        two are removed. Raises UnknownName for an unknown entity, ConfigError if both are the same.
        """
        kept, gone = self._find(entity), self._find(other)
        if kept.id == gone.id:
            raise ConfigError(
                f"Cannot merge `{kept.name}` with itself.", fix="Name two different entities."
            )
        edges = [self._edges[key] for key in self._edges_of[gone.id]]
        self.remove_entity(gone)
        moved = {gone.id: kept.id}
        for edge in edges:
            source, target = (moved.get(end, end) for end in (edge.source, edge.target))
            if {edge.source, edge.target} != {kept.id, gone.id}:
                self._add_edge(replace(edge, source=source, target=target))
        aliases = [node.properties.get("aliases", ()) for node in (kept, gone)]
        names = [*aliases[0], gone.name, *aliases[1]]
        values = {
            **gone.own_properties,
            **kept.properties,
            "aliases": [name for name in dict.fromkeys(names) if name != kept.name],
        }
        return self._put_node(replace(kept, properties=_without_empty(values)))

    def relation(self, source: str | Node, relation: str, target: str | Node) -> Edge:
        """Return a relation. Raises UnknownName for an unknown entity or relation."""
        start, end = self._find(source), self._find(target)
        key = start.id, _check_name(relation), end.id
        if key not in self._edges:
            known = {edge[1] for edge in self._edges_of[start.id] if edge[::2] == key[::2]}
            place = f" from `{start.name}` to `{end.name}`"
            raise UnknownName("relation", key[1], known, place=place)
        return self._edges[key]

    def add_relation(
        self,
        source: str | Node,
        relation: str,
        target: str | Node,
        *,
        weight: float = 1.0,
        description: str = "",
        properties: Mapping[str, PropertyValue] | None = None,
    ) -> Edge:
        """Add a relation between two entities, and return it.

        Raises UnknownName for an unknown entity, ConfigError if the graph has the relation, its
        weight is not finite, or a property has the name of a field, and TypeError for a value that
        no property can have.
        """
        start, end = self._find(source), self._find(target)
        edge = _make_edge(start, relation, end, weight, description, properties)
        if _key(edge) in self._edges:
            raise ConfigError(
                f"The graph has the relation `{start.name} -{edge.name}→ {end.name}` already.",
                fix="Change it with `update_relation`.",
            )
        return self._put_edge(edge)

    def add_triples(self, triples: Iterable[tuple[str, str, str]]) -> None:
        """Add relations as the names of source, relation and target, and their entities.

        The weight of a relation that the graph has grows by 1. Raises ConfigError for an empty name
        and the name of several entities; the triples before it are added.
        """
        for triple in triples:
            source, relation, target = map(_check_name, triple)
            known = {name: self.entity(name) for name in (source, target) if name in self}
            for name in (source, target):
                if name not in known:
                    known[name] = self.add_entity(name)
            self._add_edge(_make_edge(known[source], relation, known[target]))

    def update_relation(
        self,
        source: str | Node,
        relation: str,
        target: str | Node,
        *,
        weight: float | None = None,
        description: str | None = None,
        properties: Mapping[str, PropertyValue] | None = None,
    ) -> Edge:
        """Change what is given of a relation, and return it.

        ``properties`` are added to those that it has; a value of None removes one. Raises
        UnknownName for an unknown entity or relation, ConfigError and TypeError as `add_relation`.
        """
        edge = self.relation(source, relation, target)
        values = {**edge.properties, **_check_properties(properties, _RELATION_FIELDS)}
        if description is not None:
            values["description"] = _check_text(description)
        weight = edge.weight if weight is None else _check_weight(weight)
        return self._put_edge(replace(edge, weight=weight, properties=_without_empty(values)))

    def remove_relation(self, source: str | Node, relation: str, target: str | Node) -> None:
        """Remove a relation; its entities stay. Raises UnknownName as `relation`."""
        self._drop_edge(_key(self.relation(source, relation, target)))

    def neighbours(self, entity: str | Node, *, direction: Direction = "both") -> list[Node]:
        """Return the entities that are related to one, the strongest relation first.

        Among equals the first added comes first. Raises UnknownName for an unknown entity.
        """
        adjacent = list(self._adjacent(self._find(entity).id, direction))
        adjacent.sort(key=lambda edge: edge.rank)
        return [self._nodes[key] for key in dict.fromkeys(edge.other for edge in adjacent)]

    def explore(
        self,
        entities: str | Node | Sequence[str | Node],
        *,
        direction: Direction = "both",
        depth: int = 2,
        fan: int | None = None,
        limit: int | None = None,
    ) -> Subgraph:
        """Return the graph around entities, in the order of a walk, as `kb.graph.explore`.

        The walk is breadth first, the strongest relations of each entity first, up to ``fan``
        neighbours of an entity and ``limit`` relations. Raises UnknownName for an unknown entity.
        """
        seeds = [entities] if isinstance(entities, str | Node) else entities
        reached = walk_graph(
            lambda keys: [strongest_edges(self._adjacent(key, direction), fan) for key in keys],
            [self._find(seed).id for seed in seeds],
            depth=depth,
            limit=limit,
        )
        return Subgraph(
            tuple(self._nodes[key] for key in reached.nodes),
            tuple(self._edges[e.source, e.relation or e.type, e.target] for e in reached.edges),
        )

    def to_subgraph(self) -> Subgraph:
        """Return the whole graph as a value, which later changes do not affect."""
        return Subgraph(tuple(self._nodes.values()), tuple(self._edges.values()))

    @classmethod
    def from_subgraph(cls, subgraph: Subgraph) -> Self:
        """Return a graph with the entities and relations of a subgraph."""
        graph = cls()
        for node in subgraph.nodes:
            graph._put_node(node)
        for edge in subgraph.edges:
            graph._put_edge(edge)
        return graph

    def to_networkx(self) -> Any:  # noqa: ANN401 - networkx is optional
        """Return a `networkx.MultiDiGraph`, with the relations as keys of its edges.

        A node is the name of an entity, or its id if several entities have the name. Names, types,
        descriptions, weights and properties are attributes. Raises ConfigError if networkx is not
        installed.
        """
        try:
            from networkx import MultiDiGraph
        except ImportError as error:
            raise ConfigError(
                "networkx is not installed.", fix="Install it with: pip install networkx"
            ) from error
        graph = MultiDiGraph()
        keys: dict[str, str] = {}
        for node in self._nodes.values():
            is_unique = len(self._named[_one_line(node.name)]) == 1
            key = keys[node.id] = node.name if is_unique else node.id
            graph.add_node(key)
            graph.nodes[key].update(
                node.own_properties, name=node.name, type=node.properties.get("type", "")
            )
        for edge in self._edges.values():
            ends = keys[edge.source], keys[edge.target]
            graph.add_edge(*ends, key=edge.name)
            graph.edges[*ends, edge.name].update(
                edge.properties, relation=edge.name, weight=edge.weight
            )
        return graph

    @classmethod
    def from_networkx(cls, graph: Any) -> Self:  # noqa: ANN401 - networkx is optional
        """Return a graph with the nodes and edges of a networkx graph of any kind.

        Nodes have the attributes ``name`` (by default the node itself as text), ``type`` and
        ``description``, edges ``relation`` (by default "is connected to"), ``weight`` and
        ``description``; others become properties. An edge without direction leads from its first
        node to its second; the weights of parallel edges with one relation are added. Raises
        ConfigError if two nodes have the same name and type or a weight is not finite, and
        TypeError for a value that no property can have.
        """
        made = cls()
        nodes: dict[Any, Node] = {}
        for key, attributes in graph.nodes(data=True):
            rest = dict(attributes)
            name, type_ = str(rest.pop("name", key)), str(rest.pop("type", ""))
            text = str(rest.pop("description", ""))
            nodes[key] = made.add_entity(name, type_, description=text, properties=rest)
        for source, target, attributes in graph.edges(data=True):
            rest = dict(attributes)
            relation, weight = str(rest.pop("relation", DEFAULT_RELATION)), rest.pop("weight", 1.0)
            text = str(rest.pop("description", ""))
            edge = _make_edge(nodes[source], relation, nodes[target], weight, text, rest)
            made._add_edge(edge)
        return made

    def _find(self, entity: str | Node) -> Node:
        if not isinstance(entity, Node):
            return self.entity(entity)
        if entity.id not in self._nodes:
            raise self._unknown_entity(entity.name)
        return self._nodes[entity.id]

    def _unknown_entity(self, name: str, homonyms: Sequence[str] = ()) -> UnknownName:
        names = (known for known, ids in self._named.items() if ids)
        compared = islice(names, _COMPARED_NAMES)
        near = homonyms or get_close_matches(name, compared, n=_SUGGESTED_NAMES)
        return UnknownName("entity", name, nearest=near)

    def _check_free(self, name: str, type_: str) -> None:
        label = _type_key(type_)
        if any(self._nodes[key].type == label for key in self._named.get(name, ())):
            raise ConfigError(
                f"The graph has an entity `{name}` of the type `{label}` already.",
                fix="Change it with `update_entity`, or choose another name or type.",
            )

    def _put_node(self, node: Node) -> Node:
        self._nodes[node.id] = node
        self._named[_one_line(node.name)][node.id] = None
        return node

    def _put_edge(self, edge: Edge) -> Edge:
        key = _key(edge)
        self._edges[key] = edge
        for end in (edge.source, edge.target):
            self._edges_of[end][key] = None
        return edge

    def _add_edge(self, edge: Edge) -> None:
        """Add an edge, or its weight, chunks and further properties to the equal one."""
        known = self._edges.get(_key(edge))
        if known is not None:
            edge = replace(
                known,
                weight=known.weight + edge.weight,
                chunks=tuple(sorted({*known.chunks, *edge.chunks})),
                properties={**edge.properties, **known.properties},
            )
        self._put_edge(edge)

    def _drop_edge(self, key: _EdgeKey) -> None:
        del self._edges[key]
        for end in {key[0], key[2]}:
            del self._edges_of[end][key]

    def _adjacent(self, node: str, direction: Direction) -> Iterator[AdjacentEdge[str]]:
        for key in self._edges_of[node]:
            edge = self._edges[key]
            for near, far, seen_as in (
                (edge.source, edge.target, "out"),
                (edge.target, edge.source, "in"),
            ):
                if near == node and direction in ("both", seen_as):
                    yield AdjacentEdge(
                        -edge.weight, far, edge.type, edge.relation, edge.source, edge.target
                    )


def _make_edge(
    source: Node,
    relation: str,
    target: Node,
    weight: float = 1.0,
    description: str = "",
    properties: Mapping[str, PropertyValue] | None = None,
) -> Edge:
    name = _check_name(relation)
    given = _check_properties(properties, _RELATION_FIELDS)
    return Edge(
        source.id,
        relation_edge_type(name),
        target.id,
        _check_weight(weight),
        name,
        properties=_without_empty({"description": _check_text(description), **given}),
    )


def _key(edge: Edge) -> _EdgeKey:
    return edge.source, edge.name, edge.target


def _one_line(name: str) -> str:
    return " ".join(name.split())


def _check_name(name: str) -> str:
    cleaned = _one_line(_check_text(name))
    if not cleaned:
        raise ConfigError("The name of an entity or a relation is empty.", fix="Pass a name.")
    return cleaned


def _check_text(text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"Expected a str, got {type(text).__name__} {text!r}.")
    if _SURROGATE.search(text):
        raise ConfigError(
            f"The text {text!r} has half of a surrogate pair, which is not a character.",
            fix='Replace it, for example with `text.encode("utf-8", "replace").decode()`.',
        )
    return text


def _type_key(type_: str) -> str:
    """Return a type as `Node.type` does: the label if it is unknown."""
    return type_ or entity_label(type_)


def _check_properties(
    properties: Mapping[str, PropertyValue] | None, fields: frozenset[str]
) -> dict[str, PropertyValue]:
    given = dict(properties or {})
    if taken := sorted(fields & given.keys()):
        raise ConfigError(
            f"`{taken[0]}` is a field, not a property.",
            fix="Choose another name for the property, or pass the field by its own keyword.",
        )
    for name, value in given.items():
        _check_value(_check_text(name), value)
    aliases = given.get("aliases") if fields is _ENTITY_FIELDS else None
    if aliases is not None and not (
        isinstance(aliases, list | tuple) and all(isinstance(alias, str) for alias in aliases)
    ):
        raise TypeError(f"Expected the property `aliases` as a list of str, got {aliases!r}.")
    return deepcopy(given)


def _check_value(name: str, value: object) -> None:
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _check_value(_check_text(key), item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_value(name, item)
    elif value is not None and not isinstance(value, bool | int | float):
        raise TypeError(
            f"The property `{name}` has a value of type {type(value).__name__}. Expected a str,"
            " number, bool, None, or a list or mapping of these."
        )


def _without_empty(properties: Mapping[str, PropertyValue]) -> dict[str, PropertyValue]:
    return {name: value for name, value in properties.items() if value not in (None, "", [])}


def _check_weight(weight: float) -> float:
    if not isinstance(weight, Real):
        raise TypeError(f"Expected a weight as a number, got {type(weight).__name__} {weight!r}.")
    if not math.isfinite(weight):
        raise ConfigError(f"The weight {weight} is not finite.", fix="Pass a finite number.")
    return float(weight)
