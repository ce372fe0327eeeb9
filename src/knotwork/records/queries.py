"""What a query language gives back: rows, and the statement that found them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PropertyValue = Any
"""None, a bool, int, float or str, a list of these, or a mapping of str to them; nodes,
relationships and paths of a graph come as mappings."""


@dataclass(frozen=True, slots=True)
class PropertyNode:
    """A node of a graph that was imported: its labels and properties."""

    id: str
    labels: tuple[str, ...] = ()
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Relationship:
    """A directed edge of a graph that was imported, between two ids of nodes."""

    id: str
    type: str
    source: str
    target: str
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The rows of a statement, each with a value for every column.

    ``truncated`` tells that there were more rows than were asked for. ``language`` is "cypher" or
    "sql", ``source`` the retriever or the person that wrote the statement.
    """

    language: str
    statement: str
    columns: tuple[str, ...]
    rows: tuple[tuple[PropertyValue, ...], ...]
    parameters: Mapping[str, PropertyValue] = field(default_factory=dict)
    truncated: bool = False
    seconds: float = 0.0
    source: str = ""
