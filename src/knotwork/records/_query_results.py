"""Records of Cypher and SQL results, and of the nodes and relationships of imported graphs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from knotwork.records._documents import Span

PropertyValue = Any
"""None, a bool, int, float or str, a list of these, or a mapping of str to them. Nodes,
relationships and paths of a graph are mappings."""

RETRIEVAL_QUERY = "retrieval_query"
"""The ``source`` of the results of a user's own statement over the hits of a search."""

_NO_SPAN = Span(0, 0)


def value_text(value: PropertyValue) -> str:
    """Return a value as text on one line; "" for None and empty values."""
    if value is None or isinstance(value, str):
        return " ".join((value or "").split())
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if math.isfinite(value) and value.is_integer() else repr(value)
    if isinstance(value, Sequence):
        return ", ".join(filter(None, map(value_text, value)))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {value_text(item)}" for key, item in value.items())
    return str(value)


@dataclass(frozen=True, slots=True)
class PropertyNode:
    """A node of an imported graph."""

    id: str
    labels: tuple[str, ...] = ()
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Relationship:
    """A directed edge of an imported graph, between two nodes (by id)."""

    id: str
    type: str
    source: str
    target: str
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowSource:
    """A row of a file that a result was computed from.

    ``document`` is the uri of a document, or the path of a file that is not indexed. ``row`` is the
    row number in the file or sheet, from 1 with the header. ``span`` is the line of the row in the
    text of the document, empty without one.
    """

    document: str
    table: str
    row: int
    span: Span = _NO_SPAN


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of a statement: rows with one value per column.

    ``truncated`` is True if there were more rows than the limit. ``language`` is "cypher" or "sql",
    ``source`` the retriever or the person that wrote the statement, ``place`` the graph or tables
    that it read. ``confidence`` in [0, 1] is the estimated probability that the statement expresses
    the question; it is 0 for the statement of a person. ``row_count`` is the number of rows of
    files that the result was computed from, None if unknown, and ``row_sources`` are the first of
    them. If ``is_listing`` is True, each row of the result is the row source at the same position.
    """

    language: str
    statement: str
    columns: tuple[str, ...]
    rows: tuple[tuple[PropertyValue, ...], ...]
    parameters: Mapping[str, PropertyValue] = field(default_factory=dict)
    truncated: bool = False
    seconds: float = 0.0
    source: str = ""
    place: str = ""
    confidence: float = 0.0
    row_sources: tuple[RowSource, ...] = ()
    row_count: int | None = None
    is_listing: bool = False

    @property
    def is_empty(self) -> bool:
        """True if there are no rows, or only one row of nulls, zeros and empty lists."""
        if not self.rows:
            return True
        return len(self.rows) == 1 and all(value in (None, 0, []) for value in self.rows[0])
