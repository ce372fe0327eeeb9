"""Values of rows as a person reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from knotwork.records import PropertyValue, QueryResult

NAMING_PROPERTIES = ("name", "title", "label")
_NODE_KEYS = {"id", "labels", "properties"}
_RELATIONSHIP_KEYS = {"id", "type", "source", "target", "properties"}


def show_value(value: PropertyValue) -> str:
    """Return a value as text: a node by its name, a relationship by its type, lists as JSON.

    Floats have at most 12 significant digits, so that 0.1 + 0.2 is shown as 0.3.
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
    """Return whether a value is a node of a graph."""
    return isinstance(value, Mapping) and set(value) == _NODE_KEYS


def is_relationship(value: PropertyValue) -> bool:
    """Return whether a value is a relationship of a graph."""
    return isinstance(value, Mapping) and set(value) == _RELATIONSHIP_KEYS


def node_name(node: Mapping[str, PropertyValue]) -> str:
    """Return the name or title of a node, or else its id."""
    properties = {key.lower(): value for key, value in node["properties"].items()}
    found = (properties.get(key) for key in NAMING_PROPERTIES)
    return next((value for value in found if isinstance(value, str) and value), str(node["id"]))


def show_parameters(result: QueryResult) -> str:
    """Return the parameters of a statement as ``name = value``; "" if it has none."""
    return ", ".join(f"{name} = {value!r}" for name, value in result.parameters.items())


def _show_float(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - NaN
        return str(value)
    text = f"{value:.12g}"
    return f"{value:.0f}" if "e+" in text and abs(value) < 1e18 else text
