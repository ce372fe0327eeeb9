"""Results of Cypher and SQL statements, and the nodes and relationships of imported graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from knotwork.records.documents import Span

PropertyValue = Any
"""None, a bool, int, float or str, a list of these, or a mapping of str to them; nodes,
relationships and paths of a graph come as mappings."""


RETRIEVAL_QUERY = "retrieval_query"
"""The ``source`` of rows of the user's own statement over the hits of a search."""

_NO_SPAN = Span(0, 0)


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
class RowSource:
    """A row of a file that a result was computed from.

    ``document`` is the uri of the document, or the path of a file that is not indexed; ``row`` is
    the row's number in the file or sheet, counted from 1 with the header. ``span`` is its line in
    the text of the document, empty if it has none.
    """

    document: str
    table: str
    row: int
    span: Span = _NO_SPAN


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The rows of a statement, each with a value for every column.

    ``truncated`` is True if there were more rows than were asked for. ``language`` is "cypher" or
    "sql", ``source`` the retriever or the person that wrote the statement, ``place`` the graph or
    the tables that it read. ``confidence`` in [0, 1] is how likely the statement asks what the
    question asks; 0 for the statement of a person. ``row_sources`` are the first of the
    ``row_count`` rows of files that the result was computed from; None if that is not known.
    ``is_listing`` says that each row is that of the row source at its place.
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
        """Whether the rows say nothing: no row, or a single one of nulls and zeros."""
        if not self.rows:
            return True
        return len(self.rows) == 1 and all(value in (None, 0, []) for value in self.rows[0])
