"""The columns of Microsoft GraphRAG's tables, as its version 3 writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knotwork.errors import MissingExtra
from knotwork.stores.export.outline import replace_file, split_batches

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_AT_ONCE = 1000

_TEXT, _NUMBER, _REAL = "text", "number", "real"
_TEXTS, _NUMBERS, _FINDINGS = "texts", "numbers", "findings"

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "documents": {
        "id": _TEXT,
        "human_readable_id": _NUMBER,
        "title": _TEXT,
        "text": _TEXT,
        "text_unit_ids": _TEXTS,
        "creation_date": _TEXT,
        "raw_data": _TEXT,
    },
    "text_units": {
        "id": _TEXT,
        "human_readable_id": _NUMBER,
        "text": _TEXT,
        "n_tokens": _NUMBER,
        "document_id": _TEXT,
        "entity_ids": _TEXTS,
        "relationship_ids": _TEXTS,
        "covariate_ids": _TEXTS,
    },
    "entities": {
        "id": _TEXT,
        "human_readable_id": _NUMBER,
        "title": _TEXT,
        "type": _TEXT,
        "description": _TEXT,
        "text_unit_ids": _TEXTS,
        "frequency": _NUMBER,
        "degree": _NUMBER,
    },
    "relationships": {
        "id": _TEXT,
        "human_readable_id": _NUMBER,
        "source": _TEXT,
        "target": _TEXT,
        "description": _TEXT,
        "weight": _REAL,
        "combined_degree": _NUMBER,
        "text_unit_ids": _TEXTS,
    },
    "communities": {
        "id": _TEXT,
        "human_readable_id": _NUMBER,
        "community": _NUMBER,
        "level": _NUMBER,
        "parent": _NUMBER,
        "children": _NUMBERS,
        "title": _TEXT,
        "entity_ids": _TEXTS,
        "relationship_ids": _TEXTS,
        "text_unit_ids": _TEXTS,
        "period": _TEXT,
        "size": _NUMBER,
    },
    "community_reports": {
        "id": _TEXT,
        "human_readable_id": _NUMBER,
        "community": _NUMBER,
        "level": _NUMBER,
        "parent": _NUMBER,
        "children": _NUMBERS,
        "title": _TEXT,
        "summary": _TEXT,
        "full_content": _TEXT,
        "rank": _REAL,
        "rating_explanation": _TEXT,
        "findings": _FINDINGS,
        "full_content_json": _TEXT,
        "period": _TEXT,
        "size": _NUMBER,
    },
}
"""The columns of each table with their kinds, in order."""


def write_table(output: Path, name: str, rows: Iterable[Mapping[str, Any]]) -> tuple[Path, int]:
    """Write one table into a folder; return its file and how many rows it has.

    Text that Parquet cannot hold is written with escapes. Raises MissingExtra without the extra
    `parquet`, OSError where the place cannot be written.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("Export as tables of GraphRAG", "parquet") from error
    schema = _schema(name)
    target = output / f"{name}.parquet"
    written = 0
    with replace_file(target) as file, pq.ParquetWriter(file, schema) as writer:
        for batch in split_batches(rows, ROWS_AT_ONCE):
            writer.write_table(pa.Table.from_pylist([_storable(r) for r in batch], schema=schema))
            written += len(batch)
    return target, written


def _schema(name: str) -> pa.Schema:
    import pyarrow as pa

    finding = pa.struct([("explanation", pa.string()), ("summary", pa.string())])
    kinds = {
        _TEXT: pa.string(),
        _NUMBER: pa.int64(),
        _REAL: pa.float64(),
        _TEXTS: pa.list_(pa.string()),
        _NUMBERS: pa.list_(pa.int64()),
        _FINDINGS: pa.list_(finding),
    }
    return pa.schema([(column, kinds[kind]) for column, kind in COLUMNS[name].items()])


def _storable(value: Any) -> Any:  # noqa: ANN401 - rows, their values, and the items of these
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {key: _storable(item) for key, item in value.items()}
    return [_storable(item) for item in value] if isinstance(value, list) else value
