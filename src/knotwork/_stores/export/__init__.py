"""Export the whole graph of a store to files for other programs.

The bytes depend only on the content of the index: equal indexes give equal files. All writers
stream; memory holds one batch of nodes, the ids of the documents and one integer per entity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from knotwork._stores.base import Store
from knotwork._stores.export.formats import (
    write_csv,
    write_cypher_script,
    write_graph_json,
    write_graphml,
    write_parquet,
)
from knotwork._stores.export.reader import ExportReport
from knotwork.errors import UnknownName

Writer = Callable[[Store, Path], ExportReport]

FORMATS: Mapping[str, Writer] = {
    "csv": write_csv,
    "cypher": write_cypher_script,
    "graphml": write_graphml,
    "json": write_graph_json,
    "parquet": write_parquet,
}
"""The writer of each format. `csv` and `parquet` write a folder of two files, the others a file."""

FOLDER_FORMATS = frozenset({"csv", "parquet"})


def export_graph(
    store: Store,
    output: Path,
    *,
    format: str,  # noqa: A002
    raw: bool = False,
) -> ExportReport:
    """Write the graph of a store to ``output``, and return the number of nodes and edges.

    Cells of `csv` that a spreadsheet would run as a formula begin with an apostrophe, unless
    ``raw``, which has no effect on other formats. Existing files are replaced only after everything
    is written. Raises UnknownName for a format that is not in `FORMATS`, MissingExtra for `parquet`
    without its library, OSError if ``output`` is not writable.
    """
    if format not in FORMATS:
        raise UnknownName("export format", format, FORMATS)
    if raw and format == "csv":
        return write_csv(store, output, raw=True)
    return FORMATS[format](store, output)


__all__ = ["FOLDER_FORMATS", "FORMATS", "ExportReport", "export_graph"]
