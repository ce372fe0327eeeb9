"""Show the rows of a query as text, and find the passages that state them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from knotwork._retrieval.chunk_entities import chunks_about
from knotwork._stores.base import Store
from knotwork._text.names import normal_form
from knotwork.records import ENTITY_EDGES, PropertyValue, QueryResult

NAMING_PROPERTIES = ("name", "title", "label")
COUNT, HOLDS = "count", "holds"
"""The first columns of a count of nodes, and of whether something holds; names follow."""
SHOWN_NAMES = 10
"""The maximum number of names that follow."""
_NODE_KEYS = {"id", "labels", "properties"}
_RELATIONSHIP_KEYS = {"id", "type", "source", "target", "properties"}


def show_value(value: PropertyValue) -> str:
    """Return a value as text: a node by its name, a relationship by its type, lists as JSON.

    Floats have at most 12 significant digits, so 0.1 + 0.2 is shown as 0.3.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return _show_float(value)
    if is_node(value):
        return node_name(value)
    if is_relationship(value):
        return str(value["properties"].get("relation") or value["type"])
    return json.dumps(value, ensure_ascii=False, default=str)


def show_row(columns: Sequence[str], row: Sequence[PropertyValue]) -> str:
    """Return a row on one line, as ``column: value; column: value`` without empty values."""
    pairs = [(name, show_value(value)) for name, value in zip(columns, row, strict=True)]
    return " ".join("; ".join(f"{name}: {text}" for name, text in pairs if text).split())


def is_node(value: PropertyValue) -> bool:
    """Return True if a value is a node of a graph."""
    return isinstance(value, Mapping) and set(value) == _NODE_KEYS


def is_relationship(value: PropertyValue) -> bool:
    """Return True if a value is a relationship of a graph."""
    return isinstance(value, Mapping) and set(value) == _RELATIONSHIP_KEYS


def node_name(node: Mapping[str, PropertyValue]) -> str:
    """Return the name or title of a node, or else its id."""
    properties = {key.lower(): value for key, value in node["properties"].items()}
    keys = sorted(properties, key=len)  # "name" before "company name"
    found = (properties[key] for end in NAMING_PROPERTIES for key in keys if key.endswith(end))
    return next((value for value in found if isinstance(value, str) and value), str(node["id"]))


def show_parameters(result: QueryResult) -> str:
    """Return the parameters of a statement as ``name = value``; "" if it has none."""
    return ", ".join(f"{name} = {value!r}" for name, value in result.parameters.items())


def _show_float(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN
        return str(value)
    text = f"{value:.12g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < 1e18 else text


CITED_ROWS_READ = 50
MOST_CITED_NAMES = 100
_FAN = 3
ROWS_SCORE = "rows"
"""The key in ``Hit.scores`` of the gain from stating what rows contain."""
_NEIGHBOURS = 200
_LONGEST_NAME = 120
_RELATED_WORTH = 1.0
_ABOUT_WORTH = 0.5


def cite_rows(
    result: QueryResult, asked_names: Sequence[str], store: Store
) -> tuple[dict[str, float], dict[str, tuple[str, ...]]]:
    """Return the chunks that state rows, with their worth above 0 and up to 1, and the names they
    match.

    A chunk that states a relation between an entity of the question and one of the rows is worth
    most. A chunk about an entity of the rows is worth less the more rows there are.
    """
    forms = dict.fromkeys(normal_form(name) for name in row_names(result))
    found = store.graph.lookup([form for form in forms if form])
    asked = store.graph.lookup([normal_form(name) for name in asked_names])
    answers = {entity.id: entity.name for entity in found.values()}
    for entity in asked.values():
        answers.pop(entity.id, None)
    worths: dict[str, float] = {}
    seeds: dict[str, tuple[str, ...]] = {}
    around = store.graph.neighbours(
        [entity.id for entity in asked.values()], types=ENTITY_EDGES, fan=_NEIGHBOURS
    )
    for entity_id, edges in around.items():
        for edge in edges:
            other = edge.target if edge.source == entity_id else edge.source
            if other in answers:
                for chunk_id in edge.chunks:
                    _raise_to(worths, chunk_id, _RELATED_WORTH)
                    seeds.setdefault(chunk_id, (answers[other],))
    share = _ABOUT_WORTH / max(len(answers), 1) ** 0.5
    for entity_id, chunks in chunks_about(
        store, list(answers)[:MOST_CITED_NAMES], fan=_FAN
    ).items():
        for chunk in chunks:
            _raise_to(worths, chunk.id, share * max(min(chunk.score, 1.0), 0.0))
            seeds.setdefault(chunk.id, (answers[entity_id],))
    return {key: worth for key, worth in worths.items() if worth > 0}, seeds


def row_names(result: QueryResult) -> list[str]:
    """Return the distinct texts in rows that may be names, in order."""
    return list(dict.fromkeys(_texts(result.rows[:CITED_ROWS_READ])))[:MOST_CITED_NAMES]


def _texts(values: Iterable[PropertyValue]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            if 0 < len(value) <= _LONGEST_NAME:
                yield value
        elif isinstance(value, Mapping):
            yield from _texts(value.values())
        elif isinstance(value, list | tuple):
            yield from _texts(value)


def _raise_to(worths: dict[str, float], key: str, worth: float) -> None:
    worths[key] = max(worth, worths.get(key, 0.0))
