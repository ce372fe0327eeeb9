"""The graphs that questions of the text-to-Cypher data sets are about."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

from benchmarks.cypher.building import GraphBuilder

from knotwork._extensions.cypher.language.property_graph import PropertyGraph, Value

_HEADLESS = ["LABEL=has_genre", "SRC_LABEL=movie", "DST_LABEL=genre"]
_HEADLESS_COLUMNS = ["id:INT32:SRC_ID", "id:INT32:DST_ID"]
_WHOLE = ("INT8", "INT16", "INT32", "INT64")


def read_crimes(archive: Path) -> PropertyGraph:
    """Return the graph of crimes, from the tables of its importer: all but places are strings."""
    builder, positions = GraphBuilder(), dict[str, int]()
    with zipfile.ZipFile(archive) as packed:
        names = sorted(packed.namelist(), key=lambda name: ".relationships." in name)
        for name in names:
            if not name.endswith(".csv"):
                continue
            for row in csv.DictReader(io.TextIOWrapper(packed.open(name), "utf-8-sig")):
                if ".nodes." in name:
                    positions[row[":ID"]] = len(builder.nodes)
                    builder.nodes.append(((row[":LABEL"],), _crime_properties(row)))
                else:
                    ends = positions[row[":START_ID"]], positions[row[":END_ID"]]
                    builder.edges.append((row[":TYPE"], *ends, _crime_properties(row)))
    return builder.graph()


def _crime_properties(row: dict[str, str]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for column, text in row.items():
        key, _, kind = column.partition(":")
        if key and text:
            found[key] = float(text) if kind == "double" else text
    return found


def read_chinese_movies(folder: Path) -> PropertyGraph:
    """Return the graph of films that TuGraph's questions are about.

    Two lines head every table: the label (and those of the ends), then names and types of columns.
    """
    builder, positions = GraphBuilder(), dict[tuple[str, str], int]()
    tables = sorted((folder / "raw_data").glob("*.csv"), key=lambda path: path.name, reverse=True)
    for path in tables:
        with path.open(encoding="utf-8", newline="") as lines:
            rows = csv.reader(lines)
            first = next(rows)
            if "=" not in first[0]:  # one table has no head, and ends in genres
                first, second = _HEADLESS, _HEADLESS_COLUMNS
                lines.seek(0)
            else:
                second = next(rows)
            head = dict(item.split("=") for item in first if item)
            columns = [column.split(":") for column in second if column]
            for row in rows:
                _add_row(builder, positions, head, list(zip(columns, row, strict=False)))
    return builder.graph()


def _add_row(
    builder: GraphBuilder,
    positions: dict[tuple[str, str], int],
    head: dict[str, str],
    cells: list[tuple[list[str], str]],
) -> None:
    label = head["LABEL"]
    ends = {column[-1]: text for column, text in cells if column[-1] in ("SRC_ID", "DST_ID")}
    typed = {
        column[0]: _typed(text, column[1])
        for column, text in cells
        if text and column[0] != "SKIP" and column[-1] not in ends
    }
    if ends:
        source = positions[head["SRC_LABEL"], ends["SRC_ID"]]
        target = positions[head["DST_LABEL"], ends["DST_ID"]]
        builder.edges.append((label, source, target, typed))
    else:
        positions[label, str(typed["id"])] = len(builder.nodes)
        builder.nodes.append(((label,), typed))


def _typed(text: str, kind: str) -> Value:
    if kind in _WHOLE:
        return int(text)
    return float(text) if kind in ("FLOAT", "DOUBLE") else text


def read_movies(script: Path) -> PropertyGraph:
    """Return the graph of films that Neo4j's tutorials are about."""
    builder = GraphBuilder()
    statements = script.read_text(encoding="utf-8").split(";\n")
    for statement in statements:
        if statement.strip().startswith("CREATE ("):
            builder.execute(statement)
    return builder.graph()
