"""Define the common form of foreign indexes, and read values from their files.

Ids are those of the other system. ``number`` is the short number by which its reports cite a row.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from knotwork.errors import IndexingError, required


class ForeignDocument(NamedTuple):
    """A source text; ``unit_ids`` are its text units in order, if the system lists them."""

    id: str
    title: str
    text: str
    unit_ids: tuple[str, ...] = ()


class ForeignUnit(NamedTuple):
    """A text unit: a part of a document that a model processed as a whole."""

    id: str
    number: int
    text: str
    document_ids: tuple[str, ...]


class ForeignEntity(NamedTuple):
    """An entity with its description and the text units that mention it."""

    id: str
    number: int
    name: str
    type: str
    description: str
    unit_ids: tuple[str, ...]


class ForeignRelation(NamedTuple):
    """A relation between two entities, given by name.

    ``label`` is its name in the system, or "". ``directed`` is False if source and target may be
    exchanged.
    """

    number: int
    source: str
    target: str
    description: str
    weight: float
    unit_ids: tuple[str, ...]
    label: str = ""
    directed: bool = True


class ForeignClaim(NamedTuple):
    """A claim about a subject and an optional object; ``status`` is TRUE, FALSE or SUSPECTED."""

    number: int
    subject: str
    object: str
    type: str
    description: str
    status: str
    unit_id: str


class ForeignCommunity(NamedTuple):
    """A community; level 0 is the topmost. ``entity_ids`` are ids of entities."""

    id: str
    level: int
    parent_id: str | None
    entity_ids: tuple[str, ...]


class ForeignReport(NamedTuple):
    """The report on a community; ``rank`` is in [0, 10].

    A finding is a summary and an explanation, with references still in the text.
    """

    community_id: str
    title: str
    summary: str
    findings: tuple[tuple[str, str], ...]
    rank: float


Losses = Counter[tuple[str, str]]
"""Counts of items that are not imported, by kind and reason."""


@dataclass(slots=True)
class ForeignIndex:
    """The index of another system; ``format`` names the system, ``name`` this index of it."""

    format: str
    name: str
    documents: list[ForeignDocument] = field(default_factory=list)
    units: list[ForeignUnit] = field(default_factory=list)
    entities: list[ForeignEntity] = field(default_factory=list)
    relations: list[ForeignRelation] = field(default_factory=list)
    claims: list[ForeignClaim] = field(default_factory=list)
    communities: list[ForeignCommunity] = field(default_factory=list)
    reports: list[ForeignReport] = field(default_factory=list)
    losses: Losses = field(default_factory=Counter)

    def held(self) -> dict[str, int]:
        """Return the number of rows of each kind in the files, including dropped ones."""
        held = {
            "documents": len(self.documents),
            "text units": len(self.units),
            "entities": len(self.entities),
            "relations": len(self.relations),
            "claims": len(self.claims),
            "communities": len(self.communities),
            "reports": len(self.reports),
        }
        for (kind, _), count in self.losses.items():
            held[kind] = held.get(kind, 0) + count
        return held


ForeignRow = Mapping[str, Any]


def read_parquet_rows(
    path: Path, columns: Collection[str], needed: Iterable[Sequence[str]]
) -> list[dict[str, Any]]:
    """Return the rows of a Parquet file with the ``columns`` that exist.

    Raises MissingExtra without the extra `parquet`, IndexingError if the file cannot be read, or
    lacks a ``needed`` column under all of its names.
    """
    with required("Reading Parquet files", "parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    try:
        with pq.ParquetFile(path) as file:
            there = file.schema_arrow.names
            rows: list[dict[str, Any]] = file.read([c for c in there if c in columns]).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise IndexingError(
            f"`{path}` cannot be read as a Parquet file: {error}.",
            fix="Copy the file again, or run the indexing of the other system again.",
        ) from error
    for names in needed:
        if not set(names) & set(there):
            others = f" (nor `{'`, `'.join(names[1:])}`)" if len(names) > 1 else ""
            listed = ", ".join(f"`{name}`" for name in there)
            raise IndexingError(
                f"`{path}` has no column `{names[0]}`{others}; it has {listed}.",
                fix="Give the output folder of Microsoft GraphRAG.",
            )
    return rows


def read_json(path: Path) -> dict[str, Any]:
    """Return the object of a JSON file. Raises IndexingError for invalid JSON or another type."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise IndexingError(
            f"`{path}` cannot be read as JSON: {error}.",
            fix="Copy the file again.",
        ) from error
    if not isinstance(value, dict):
        raise IndexingError(
            f"Expected a JSON object in `{path}`, found a {type(value).__name__}.",
            fix="Give the working directory of LightRAG.",
        )
    return value


def column_text(row: ForeignRow, *names: str) -> str:
    """Return the stripped text of the first non-empty column, or ""."""
    for name in names:
        value = row.get(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value is not None and (text := str(value).strip()):
            return text
    return ""


def raw_column_text(row: ForeignRow, *names: str) -> str:
    """Return the unchanged text of the first column with text, or ""."""
    values = (row.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value.strip()), "")


def column_number(row: ForeignRow, name: str, default: float = 0.0) -> float:
    """Return a finite number, which may be given as text, or else ``default``."""
    value = row.get(name)
    try:
        number = float(value) if value is not None else default
    except (TypeError, ValueError):
        return default
    return number if math.isfinite(number) else default


def column_ids(row: ForeignRow, *names: str) -> tuple[str, ...]:
    """Return the distinct ids of the first non-empty column.

    Older tables join several ids with commas, even within the items of a list.
    """
    for name in names:
        value = row.get(name)
        if value is None:
            continue
        items = [value] if isinstance(value, str | int) else value
        parts = (
            part.strip() for item in items if item is not None for part in str(item).split(",")
        )
        found = tuple(dict.fromkeys(part for part in parts if part))
        if found:
            return found
    return ()
