"""Export as a Cypher script: for graph databases that read statements from a file.

Every statement stands on its own, ends in a semicolon, holds a batch, and may be run again: nodes
are merged by id, edges by their ends and relation. The constraints at the top are those of Neo4j 5;
they make the merges fast and may be removed for databases that write them otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from knotwork.records import Edge, Label
from knotwork.stores.base import Store
from knotwork.stores.export.outline import (
    ExportedNode,
    ExportReport,
    Outline,
    replace_text_file,
    split_groups,
)

STATEMENT_ROWS = 200

_ESCAPED = re.compile(r"[\\'\"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

Literal = str | int | float | bool | Sequence[str]


def write_cypher(store: Store, output: Path) -> ExportReport:
    """Write one UTF-8 file of Cypher statements.

    Raises OSError where the place cannot be written.
    """
    outline = Outline(store)
    with replace_text_file(output) as file:
        for label in Label:
            file.write(
                f"CREATE CONSTRAINT knotwork_{label.lower()}_id IF NOT EXISTS "
                f"FOR (n:{label}) REQUIRE n.id IS UNIQUE;\n"
            )
        file.writelines(_node_statements(outline.nodes()))
        file.writelines(_edge_statements(outline))
    return outline.report(output)


def format_literal(value: Literal) -> str:
    """Return a value as a Cypher literal.

    Quotes, backslashes, control characters and line separators are escaped, so that no text can
    end its string.
    """
    if isinstance(value, str):
        return f"'{_ESCAPED.sub(_escape, value)}'"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return f"[{', '.join(format_literal(item) for item in value)}]"


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character in "\\'\"":
        return f"\\{character}"
    if "\ud800" <= character <= "\udfff":
        return "\ufffd"
    return f"\\u{ord(character):04x}"


def _format_row(values: dict[str, Literal]) -> str:
    return "{" + ", ".join(f"{name}: {format_literal(v)}" for name, v in values.items()) + "}"


def _format_rows(rows: Sequence[dict[str, Literal]]) -> str:
    return "UNWIND [\n  " + ",\n  ".join(map(_format_row, rows)) + "\n] AS row\n"


def _node_statements(nodes: Iterator[ExportedNode]) -> Iterator[str]:
    for label, batch in split_groups(nodes, lambda node: node.label, STATEMENT_ROWS):
        rows: list[dict[str, Literal]] = [{"id": n.id, **n.properties} for n in batch]
        yield f"{_format_rows(rows)}MERGE (n:{label} {{id: row.id}}) SET n = row;\n"


def _edge_statements(outline: Outline) -> Iterator[str]:
    def key(edge: Edge) -> tuple[str, Label, Label]:
        return edge.type, *outline.end_labels(edge)

    for (edge_type, source, target), batch in split_groups(outline.edges(), key, STATEMENT_ROWS):
        rows: list[dict[str, Literal]] = [
            {
                "source": edge.source,
                "target": edge.target,
                "relation": edge.relation,
                "weight": float(edge.weight),
                "chunks": sorted(edge.chunks),
            }
            for edge in batch
        ]
        match = f"MATCH (a:{source} {{id: row.source}}), (b:{target} {{id: row.target}})"
        merge = f"MERGE (a)-[r:{edge_type} {{relation: row.relation}}]->(b)"
        update = "SET r.weight = row.weight, r.chunks = row.chunks"
        yield f"{_format_rows(rows)}{match}\n{merge}\n{update};\n"
