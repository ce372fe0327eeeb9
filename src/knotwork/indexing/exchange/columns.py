"""Tables of files as lists of rows, and the values in their columns."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from knotwork.errors import IndexingError, MissingExtra

Row = Mapping[str, Any]


def read_rows(path: Path, columns: Iterable[str]) -> list[dict[str, Any]]:
    """Return the rows of a Parquet file with those of ``columns`` that it has.

    Raises MissingExtra without the extra `parquet`, IndexingError when the file cannot be read.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("Reading Parquet files", "parquet") from error
    try:
        with pq.ParquetFile(path) as file:
            there = set(file.schema_arrow.names)
            rows: list[dict[str, Any]] = file.read([c for c in columns if c in there]).to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise IndexingError(
            f"`{path}` cannot be read as a Parquet file: {error}.",
            fix="Copy it again from where it was made, or run the indexing there once more.",
        ) from error
    return rows


def check_columns(path: Path, wanted: Iterable[Sequence[str]]) -> None:
    """Raise IndexingError when a Parquet file has none of the names of a column that is needed."""
    import pyarrow.parquet as pq

    there = pq.read_schema(path).names
    for names in wanted:
        if not set(names) & set(there):
            others = f" (nor `{'`, `'.join(names[1:])}`)" if len(names) > 1 else ""
            listed = ", ".join(f"`{name}`" for name in there)
            raise IndexingError(
                f"`{path}` has no column `{names[0]}`{others}; it has {listed}.",
                fix="Give the folder that Microsoft GraphRAG wrote its tables to.",
            )


def read_json(path: Path) -> dict[str, Any]:
    """Return the object of a JSON file. Raises IndexingError when it holds anything else."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise IndexingError(
            f"`{path}` cannot be read as JSON: {error}.",
            fix="Copy it again from where it was made.",
        ) from error
    if not isinstance(value, dict):
        raise IndexingError(
            f"`{path}` holds a JSON {type(value).__name__}, and an object is needed.",
            fix="Give the working directory of LightRAG.",
        )
    return value


def text_of(row: Row, *names: str) -> str:
    """Return the first of these columns that holds text, without white space around it."""
    for name in names:
        value = row.get(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if value is not None and str(value).strip():
            return str(value).strip()
    return ""


def raw_text_of(row: Row, *names: str) -> str:
    """Return the first of these columns that holds text, exactly as it is."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def number_of(row: Row, name: str, default: float = 0.0) -> float:
    """Return a number, also where it is written as text; ``default`` where there is none."""
    value = row.get(name)
    try:
        number = float(value) if value is not None else default
    except (TypeError, ValueError):
        return default
    return number if math.isfinite(number) else default


def ids_of(row: Row, *names: str) -> tuple[str, ...]:
    """Return the ids of the first of these columns that has any, each once.

    Older tables join several ids with commas, inside the items of a list too.
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
