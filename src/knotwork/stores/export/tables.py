"""The two formats of tables: a folder with one file of nodes and one of edges."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knotwork.errors import MissingExtra
from knotwork.records import Edge
from knotwork.stores.base import Store
from knotwork.stores.export.outline import (
    BATCH_SIZE,
    PROPERTIES,
    ExportedNode,
    ExportReport,
    Outline,
    Value,
    replace_file,
    replace_text_file,
    split_batches,
)

if TYPE_CHECKING:
    import pyarrow as pa

NODE_COLUMNS = ("id", "label", *PROPERTIES)
EDGE_COLUMNS = ("source", "type", "target", "relation", "weight", "chunks")


def write_csv(store: Store, output: Path) -> ExportReport:
    """Write `nodes.csv` and `edges.csv`: UTF-8, a header, `chunks` joined by spaces."""
    outline = Outline(store)
    files = (output / "nodes.csv", output / "edges.csv")
    _write_rows(files[0], NODE_COLUMNS, map(_node_row, outline.nodes()))
    _write_rows(files[1], EDGE_COLUMNS, map(_edge_row, outline.edges()))
    return outline.report(*files)


def write_parquet(store: Store, output: Path) -> ExportReport:
    """Write `nodes.parquet` and `edges.parquet`, `chunks` as lists.

    Raises MissingExtra without the extra `parquet`.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtra("Export as Parquet", "parquet") from error
    outline = Outline(store)
    files = (output / "nodes.parquet", output / "edges.parquet")
    kinds = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}
    node_schema = pa.schema(
        [("id", pa.string()), ("label", pa.string())]
        + [(name, kinds[kind]) for name, kind in PROPERTIES.items()]
    )
    edge_schema = pa.schema(
        [(name, pa.string()) for name in EDGE_COLUMNS[:4]]
        + [("weight", pa.float64()), ("chunks", pa.list_(pa.string()))]
    )
    _write_batches(files[0], node_schema, map(_node_record, outline.nodes()))
    _write_batches(files[1], edge_schema, map(_edge_record, outline.edges()))
    return outline.report(*files)


def _write_rows(target: Path, columns: Iterable[str], rows: Iterator[list[Any]]) -> None:
    with replace_text_file(target) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def _write_batches(target: Path, schema: pa.Schema, records: Iterator[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with replace_file(target) as file, pq.ParquetWriter(file, schema) as writer:
        for batch in split_batches(records, BATCH_SIZE):
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def _node_row(node: ExportedNode) -> list[Any]:
    values = (node.properties.get(name, "") for name in PROPERTIES)
    return [node.id, node.label, *(_plain(value) for value in values)]


def _edge_row(edge: Edge) -> list[Any]:
    chunks = " ".join(sorted(edge.chunks))
    return [edge.source, edge.type, edge.target, edge.relation, edge.weight, chunks]


def _node_record(node: ExportedNode) -> dict[str, Any]:
    properties = {
        name: _without_surrogates(value) if isinstance(value, str) else value
        for name, value in node.properties.items()
    }
    return {"id": node.id, "label": node.label, **properties}


def _edge_record(edge: Edge) -> dict[str, Any]:
    return {
        "source": edge.source,
        "type": edge.type,
        "target": edge.target,
        "relation": _without_surrogates(edge.relation) or None,
        "weight": edge.weight,
        "chunks": sorted(edge.chunks),
    }


def _plain(value: Value) -> Value:
    return str(value).lower() if isinstance(value, bool) else value


def _without_surrogates(value: str) -> str:
    return value.encode("utf-8", "backslashreplace").decode("utf-8")
