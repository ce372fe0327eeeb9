"""Subgraphs: a part of a graph as a value, as text for prompts and people, and its schema."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from knotwork.records._graph import Edge, EdgeType, Label, Node
from knotwork.records._query_results import PropertyValue, value_text

_MOST_CHARACTERS = 500
"""A longer name or value is cut, so that a single one cannot fill the text."""

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that break a line, change its direction or cannot be encoded."""

_TAG_START = re.compile(r"<(?=[A-Za-z/!?|｜])")

_Type = TypeVar("_Type", str, tuple[str, str, str])


@dataclass(frozen=True, slots=True)
class _Labels:
    """The words of a language; ``counted`` has the one and the many of each section."""

    entities: str
    relations: str
    co_occurrences: str
    entity_types: str
    relation_types: str
    weight: str
    type: str
    colon: str
    comma: str
    semicolon: str
    not_shown: str
    counted: tuple[tuple[str, str], tuple[str, str], tuple[str, str]]


_ENGLISH = _Labels(
    entities="Entities:",
    relations="Relations:",
    co_occurrences="Co-occurrences:",
    entity_types="Entity types:",
    relation_types="Relation types:",
    weight=" (weight {})",
    type=" ({})",
    colon=": ",
    comma=", ",
    semicolon="; ",
    not_shown="(Not shown: {})",
    counted=(
        ("{} entity", "{} entities"),
        ("{} relation", "{} relations"),
        ("{} co-occurrence", "{} co-occurrences"),
    ),
)
_CHINESE = _Labels(
    entities="实体：",
    relations="关系：",
    co_occurrences="共现：",
    entity_types="实体类型：",
    relation_types="关系类型：",
    weight="（权重 {}）",
    type="（{}）",
    colon="：",
    comma="、",
    semicolon="；",
    not_shown="（未列出：{}）",
    counted=(("{} 个实体",) * 2, ("{} 条关系",) * 2, ("{} 条共现",) * 2),
)


@dataclass(frozen=True, slots=True)
class EntityType:
    """A type of entities, with their number and the names of their properties, ascending."""

    name: str
    count: int
    properties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RelationType:
    """A relation between entities of two types, with its number and its properties, ascending."""

    source: str
    relation: str
    target: str
    count: int
    properties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubgraphSchema:
    """The types of entities and relations of a subgraph, the most frequent first, then by name."""

    entity_types: tuple[EntityType, ...] = ()
    relation_types: tuple[RelationType, ...] = ()

    def __str__(self) -> str:
        return self.format()

    def format(self, *, language: str = "en") -> str:
        """Return a line for each type, with English labels, or Chinese ones for "zh"."""
        labels = _labels_in(language)
        entities = [
            f"- {_one_line(item.name)}{labels.colon}{item.count}{_listed(item.properties, labels)}"
            for item in self.entity_types
        ]
        relations = [
            f"- {_arrow(_one_line(item.source), item.relation, _one_line(item.target))}"
            f"{labels.colon}{item.count}{_listed(item.properties, labels)}"
            for item in self.relation_types
        ]
        return _join_sections(((labels.entity_types, entities), (labels.relation_types, relations)))


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Nodes and edges, the most important first: in the order of a walk.

    ``nodes`` has both ends of every edge.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()

    def __str__(self) -> str:
        return self.format()

    def schema(self) -> SubgraphSchema:
        """Return the types of the entities and relations, with counts and properties."""
        types = {node.id: node.type for node in self.nodes}
        entities: defaultdict[str, list[Iterable[str]]] = defaultdict(list)
        for node in self.nodes:
            entities[node.type].append(node.own_properties)
        relations: defaultdict[tuple[str, str, str], list[Iterable[str]]] = defaultdict(list)
        for edge in self.edges:
            key = types[edge.source], edge.name, types[edge.target]
            relations[key].append(edge.properties)
        return SubgraphSchema(
            tuple(EntityType(name, n, names) for name, n, names in _count_types(entities)),
            tuple(RelationType(*key, n, names) for key, n, names in _count_types(relations)),
        )

    def format(
        self,
        *,
        budget: int | None = None,
        count: Callable[[str], int] = len,
        language: str = "en",
    ) -> str:
        """Return the graph as text: a line for each entity, relation and co-occurrence.

        Entities have their type, description and properties; one without any of them has a line
        only if it has no relation. Relations have a weight other than 1, description and
        properties. Names and values are on one line without control characters, cannot open a tag,
        and are cut after 500 characters.

        The text has at most ``budget`` units, as counted by ``count``: characters, or tokens if it
        is a tokenizer. Relations that do not fit are left out, the last of the subgraph first, but
        co-occurrences before them and entities without a relation before these; a last line says
        how many. A budget that is too small even for that line gives "". Labels are English, or
        Chinese for the ``language`` "zh".
        """
        text = _SubgraphText(self, _labels_in(language))
        whole = text.of_first(text.size)
        if budget is None or count(whole) <= budget:
            return whole
        low, high = 0, text.size
        while low < high - 1:
            middle = (low + high) // 2
            low, high = (middle, high) if count(text.of_first(middle)) <= budget else (low, middle)
        shown = text.of_first(low)
        return shown if count(shown) <= budget else ""


class _SubgraphText:
    """The lines of a subgraph. Its items are relations, co-occurrences, then entities without."""

    def __init__(self, subgraph: Subgraph, labels: _Labels) -> None:
        self._labels = labels
        self._edges = sorted(subgraph.edges, key=_is_co_occurrence)
        self._stated = sum(not _is_co_occurrence(edge) for edge in self._edges)
        names = {node.id: _one_line(node.name) or node.id for node in subgraph.nodes}
        self._edge_lines = [_edge_line(edge, names, labels) for edge in self._edges]
        related = _ends(self._edges)
        self._alone = [key for key in names if key not in related]
        self._entity_lines: dict[str, str] = {}
        for node in subgraph.nodes:
            known = _type_of(node, labels) + _details(node.own_properties, labels)
            if known or node.id not in related:
                self._entity_lines[node.id] = f"- {names[node.id]}{known}"
        self._entities = len(names)
        self.size = len(self._edges) + len(self._alone)

    def of_first(self, items: int) -> str:
        """Return the text of the first items, with the entities of each relation."""
        labels = self._labels
        edges = self._edges[:items]
        shown = _ends(edges) | {*self._alone[: max(items - len(self._edges), 0)]}
        stated = min(len(edges), self._stated)
        text = _join_sections(
            (
                (labels.entities, [v for k, v in self._entity_lines.items() if k in shown]),
                (labels.relations, self._edge_lines[:stated]),
                (labels.co_occurrences, self._edge_lines[stated : len(edges)]),
            )
        )
        missing = (
            self._entities - len(shown),
            self._stated - stated,
            len(self._edges) - self._stated - (len(edges) - stated),
        )
        listed = labels.comma.join(
            words[number != 1].format(number)
            for words, number in zip(labels.counted, missing, strict=True)
            if number
        )
        notice = labels.not_shown.format(listed) if listed else ""
        return "\n".join(filter(None, (text, notice)))


def _ends(edges: Iterable[Edge]) -> set[str]:
    return {end for edge in edges for end in (edge.source, edge.target)}


def _count_types(
    found: Mapping[_Type, list[Iterable[str]]],
) -> list[tuple[_Type, int, tuple[str, ...]]]:
    """Return each type with its number and its properties, the most frequent first."""
    counted = [
        (key, len(items), tuple(sorted({name for names in items for name in names})))
        for key, items in found.items()
    ]
    return sorted(counted, key=lambda item: (-item[1], item[0]))


def _type_of(node: Node, labels: _Labels) -> str:
    return labels.type.format(_one_line(node.type)) if node.type != Label.ENTITY else ""


def _edge_line(edge: Edge, names: Mapping[str, str], labels: _Labels) -> str:
    source, target = names[edge.source], names[edge.target]
    pair = f"{source}{labels.comma}{target}"
    line = pair if _is_co_occurrence(edge) else _arrow(source, edge.name, target)
    weight = labels.weight.format(f"{edge.weight:g}") if edge.weight != 1 else ""
    return f"- {line}{weight}{_details(edge.properties, labels)}"


def _details(properties: Mapping[str, PropertyValue], labels: _Labels) -> str:
    """Return ": DESCRIPTION; NAME: VALUE; …", or ""."""
    texts = {name: _one_line(value_text(value)) for name, value in properties.items()}
    parts = [texts.pop("description", "")]
    parts += [f"{_one_line(name)}{labels.colon}{text}" for name, text in texts.items() if text]
    listed = labels.semicolon.join(filter(None, parts))
    return f"{labels.colon}{listed}" if listed else ""


def _listed(properties: Iterable[str], labels: _Labels) -> str:
    names = labels.comma.join(map(_one_line, properties))
    return labels.type.format(names) if names else ""


def _arrow(source: str, relation: str, target: str) -> str:
    return f"{source} -{_one_line(relation)}→ {target}"


def _is_co_occurrence(edge: Edge) -> bool:
    return edge.type == EdgeType.CO_OCCURS


def _one_line(text: str) -> str:
    if not text.isprintable():
        text = "".join(" " if unicodedata.category(c) in _INVISIBLE else c for c in text)
    line = _TAG_START.sub("‹", " ".join(text.split()))
    return line if len(line) <= _MOST_CHARACTERS else f"{line[: _MOST_CHARACTERS - 1].rstrip()}…"


def _join_sections(sections: Iterable[tuple[str, list[str]]]) -> str:
    return "\n".join("\n".join((title, *lines)) for title, lines in sections if lines)


def _labels_in(language: str) -> _Labels:
    return _CHINESE if language == "zh" else _ENGLISH
