"""Export the whole graph of a store to files for other programs.

The bytes depend only on the content of the index: equal indexes give equal files. Documents come
first, then sections, then chunks by document id, then entities by id; the edges by type, source,
target and relation. All writers stream; memory holds one batch of nodes, the ids of the documents
and one integer per entity.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from lxml import etree

from knotwork._durable_files import replace_file
from knotwork._stores.base import Store
from knotwork._stores.graph_view import chunk_node, document_node, entity_node, section_node
from knotwork._stores.resolutions import read_groups
from knotwork._text.visible import escape_unsafe, neutralize_cell
from knotwork.errors import StoreBusy, UnknownName, required
from knotwork.records import EdgeType, Label, Node, id_to_int, int_to_id

if TYPE_CHECKING:
    import pyarrow as pa


BATCH_SIZE = 1000

Item = TypeVar("Item")
Key = TypeVar("Key")

PROPERTIES: dict[str, type] = {
    "name": str,
    "document": str,
    "uri": str,
    "media_type": str,
    "language": str,
    "metadata": str,
    "section": str,
    "parent": str,
    "ordinal": int,
    "level": int,
    "is_parent": bool,
    "start": int,
    "end": int,
    "text": str,
    "type": str,
    "normal_form": str,
    "chunk_count": int,
    "description": str,
    "same_as": str,
}
"""The type of every node property, in the order of the columns of tables."""


ExportRow = dict[str, Any]
"""A node: `id`, `label`, and the `PROPERTIES` of its label that have a value. Or an edge: `source`,
`type`, `target`, `relation` (None without one), `weight`, and `chunks` in order.
"""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The result of an export: the number of nodes and edges, and the files written."""

    nodes: int
    edges: int
    files: tuple[Path, ...]


class ExportReader:
    """The graph of one store in export order."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._generation = store.generation()
        self._document_ids = sorted(store.documents.document_ids())
        self._documents = frozenset(self._document_ids)
        # Every entity has a mention, so these edges include all entities.
        mentions = store.graph.edges(types=[EdgeType.MENTIONS])
        self._entity_keys = sorted({id_to_int(edge.target) for edge in mentions})
        self._keywords: set[str] = set()
        self._node_count = 0
        self._edge_count = 0

    def nodes(self) -> Iterator[ExportRow]:
        """Yield all nodes, with their names and all other properties that have a value."""
        for node, more in self._read_nodes():
            self._node_count += 1
            if node.label == Label.KEYWORD:
                self._keywords.add(node.id)
            values = {k: v for k, v in {**node.properties, **more}.items() if v != ""}
            yield {"id": node.id, "label": node.label, "name": node.name, **values}

    def edges(self) -> Iterator[ExportRow]:
        """Yield all edges, ordered by type, source, target and relation.

        Raises StoreBusy at the end if the index changed since this reader was created, as nodes and
        edges would be of different states.
        """
        for edge in self._store.graph.edges():
            self._edge_count += 1
            yield {
                "source": edge.source,
                "type": edge.type,
                "target": edge.target,
                "relation": edge.relation or None,
                "weight": edge.weight,
                "chunks": sorted(edge.chunks),
            }
        if self._store.generation() != self._generation:
            raise StoreBusy(
                "The index changed during the export; nothing was written.",
                fix="Export again after indexing has finished.",
            )

    def report(self, *files: Path) -> ExportReport:
        """Return a report with the number of nodes and edges read so far."""
        return ExportReport(self._node_count, self._edge_count, files)

    def end_labels(self, edge: ExportRow) -> tuple[Label, Label]:
        """Return the labels of an edge's source and target, after all nodes were read."""
        source, target = edge["source"], edge["target"]
        match EdgeType(edge["type"]):
            case EdgeType.HAS_SECTION:
                is_top = source in self._documents
                return Label.DOCUMENT if is_top else Label.SECTION, Label.SECTION
            case EdgeType.HAS_CHUNK:
                return Label.SECTION, Label.CHUNK
            case EdgeType.NEXT | EdgeType.HAS_CHILD:
                return Label.CHUNK, Label.CHUNK
            case EdgeType.MENTIONS | EdgeType.ABOUT:
                return Label.CHUNK, self._entity_label(target)
            case EdgeType.RELATES | EdgeType.CO_OCCURS:
                return self._entity_label(source), self._entity_label(target)

    def _entity_label(self, identifier: str) -> Label:
        return Label.KEYWORD if identifier in self._keywords else Label.ENTITY

    def _read_nodes(self) -> Iterator[tuple[Node, ExportRow]]:
        """Yield the nodes, with properties that are in no node of the graph."""
        documents = self._store.documents
        for ids in split_batches(self._document_ids, BATCH_SIZE):
            found = documents.documents(ids)
            for document in (found[key] for key in ids if key in found):
                metadata = dict(document.metadata)
                packed = json.dumps(metadata, ensure_ascii=False, sort_keys=True)
                yield document_node(document), {"metadata": packed if metadata else ""}
        for ids in split_batches(self._document_ids, BATCH_SIZE):
            for section in chain.from_iterable(documents.sections_of(ids).values()):
                yield section_node(section), {"parent": section.parent_id or ""}
        for document_id in self._document_ids:
            held = documents.chunk_ids_of([document_id]).get(document_id, [])
            for ids in split_batches(held, BATCH_SIZE):
                chunks = documents.chunks(ids)
                for chunk in (chunks[key] for key in ids if key in chunks):
                    more = {"parent": chunk.parent_id or "", "is_parent": chunk.is_parent}
                    yield chunk_node(chunk), more
        groups = read_groups(self._store)
        for keys in split_batches(self._entity_keys, BATCH_SIZE):
            entities = self._store.graph.entities([int_to_id(key) for key in keys])
            descriptions = _entity_descriptions(self._store, entities.keys())
            for key in sorted(entities):
                more = {"description": descriptions.get(key, ""), "same_as": groups.get(key, "")}
                yield entity_node(entities[key]), more


def split_batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists of at most ``size`` items, in order."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def split_groups(
    items: Iterable[Item], key: Callable[[Item], Key], size: int
) -> Iterator[tuple[Key, list[Item]]]:
    """Yield lists of at most ``size`` items with the same key, in order within a key."""
    waiting: dict[Key, list[Item]] = {}
    for item in items:
        group = waiting.setdefault(key(item), [])
        group.append(item)
        if len(group) == size:
            yield key(item), waiting.pop(key(item))
    yield from waiting.items()


@contextmanager
def replace_text_file(target: Path) -> Iterator[TextIO]:
    """Open a temporary UTF-8 file that replaces ``target`` when the block ends without an error.

    A lone surrogate, which UTF-8 cannot encode, is written as an escape that JSON can read.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(target) as file:
        text = TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
        try:
            yield text
        finally:
            text.detach()


def _entity_descriptions(store: Store, entity_ids: Collection[str]) -> dict[str, str]:
    """Return the summary of each entity, or else its distinct descriptions as lines."""
    readings = store.capabilities.readings
    if readings is None:
        return {}
    descriptions = readings.descriptions(entity_ids)
    lines = {
        key: "\n".join(dict.fromkeys(description.text for description in given))
        for key, given in descriptions.items()
    }
    summaries = readings.summaries(entity_ids)
    return lines | {key: summary.text for key, summary in summaries.items()}


_STATEMENT_ROWS = 200
_ESCAPED = re.compile(r"[\\'\"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

CypherLiteral = str | int | float | bool | Sequence[str]


def write_cypher_script(store: Store, output: Path) -> ExportReport:
    """Write a UTF-8 file of Cypher statements. Raises OSError if ``output`` is not writable.

    It can be run repeatedly: each statement merges one batch, nodes by id and edges by their ends
    and relation. Its constraints have the syntax of Neo4j 5 and make the merges fast; remove them
    for databases with another syntax.
    """
    reader = ExportReader(store)
    with replace_text_file(output) as file:
        for label in Label:
            file.write(
                f"CREATE CONSTRAINT knotwork_{label.lower()}_id IF NOT EXISTS "
                f"FOR (n:{label}) REQUIRE n.id IS UNIQUE;\n"
            )
        file.writelines(_node_statements(reader.nodes()))
        file.writelines(_edge_statements(reader))
    return reader.report(output)


def format_literal(value: CypherLiteral) -> str:
    """Return a value as a Cypher literal.

    Quotes, backslashes, control characters and line separators are escaped, so that a text cannot
    close its string literal or drive a terminal that shows the script.
    """
    if isinstance(value, str):
        return f"'{escape_unsafe(_ESCAPED.sub(_escape_character, value))}'"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return f"[{', '.join(format_literal(item) for item in value)}]"


def _escape_character(match: re.Match[str]) -> str:
    character = match[0]
    if character in "\\'\"":
        return f"\\{character}"
    if "\ud800" <= character <= "\udfff":
        return "\ufffd"
    return f"\\u{ord(character):04x}"


def _format_rows(rows: Sequence[ExportRow]) -> str:
    maps = (", ".join(f"{key}: {format_literal(v)}" for key, v in row.items()) for row in rows)
    return "UNWIND [\n  " + ",\n  ".join(f"{{{row}}}" for row in maps) + "\n] AS row\n"


def _node_statements(nodes: Iterator[ExportRow]) -> Iterator[str]:
    for label, batch in split_groups(nodes, lambda node: node["label"], _STATEMENT_ROWS):
        rows = [{name: node[name] for name in node if name != "label"} for node in batch]
        yield f"{_format_rows(rows)}MERGE (n:{label} {{id: row.id}}) SET n = row;\n"


def _edge_statements(reader: ExportReader) -> Iterator[str]:
    def key(edge: ExportRow) -> tuple[str, Label, Label]:
        return edge["type"], *reader.end_labels(edge)

    for (edge_type, source, target), batch in split_groups(reader.edges(), key, _STATEMENT_ROWS):
        rows: list[ExportRow] = [
            {
                "source": edge["source"],
                "target": edge["target"],
                "relation": edge["relation"] or "",
                "weight": float(edge["weight"]),
                "chunks": edge["chunks"],
            }
            for edge in batch
        ]
        match = f"MATCH (a:{source} {{id: row.source}}), (b:{target} {{id: row.target}})"
        merge = f"MERGE (a)-[r:{edge_type} {{relation: row.relation}}]->(b)"
        update = "SET r.weight = row.weight, r.chunks = row.chunks"
        yield f"{_format_rows(rows)}{match}\n{merge}\n{update};\n"


_JSON_FORMAT = "knotwork-graph"
_JSON_VERSION = 1

_GRAPHML_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
_GRAPHML_TYPES = {str: "string", int: "long", bool: "boolean", float: "double"}
_EDGE_PROPERTIES: dict[str, type] = {
    "type": str,
    "relation": str,
    "weight": float,
    "chunks": str,
}
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_graph_json(store: Store, output: Path) -> ExportReport:
    """Write one JSON object with `nodes` and `edges`, one item per line."""
    reader = ExportReader(store)
    with replace_text_file(output) as file:
        file.write(f'{{"format":{json.dumps(_JSON_FORMAT)},"version":{_JSON_VERSION},\n"nodes":[')
        _write_lines(file, reader.nodes())
        file.write('\n],\n"edges":[')
        _write_lines(file, reader.edges())
        file.write("\n]}\n")
    return reader.report(output)


def _write_lines(file: TextIO, rows: Iterable[ExportRow]) -> None:
    separator = "\n"
    for row in rows:
        item = {name: value for name, value in row.items() if value is not None}
        if "metadata" in item:
            item["metadata"] = json.loads(item["metadata"])
        line = json.dumps(item, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        file.write(separator + escape_unsafe(line))
        separator = ",\n"


def write_graphml(store: Store, output: Path) -> ExportReport:
    """Write GraphML. Characters that XML cannot represent become U+FFFD; `chunks` is joined by
    spaces. Raises OSError if ``output`` is not writable.
    """
    reader = ExportReader(store)
    output.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(output) as file, etree.xmlfile(file, encoding="utf-8") as xml:
        xml.write_declaration()
        with xml.element("graphml", nsmap={None: _GRAPHML_NAMESPACE}):
            for key in _graphml_keys():
                xml.write(key)
            with xml.element("graph", edgedefault="directed"):
                for node in reader.nodes():
                    xml.write(_graphml_element("node", {"id": node.pop("id")}, node))
                for number, edge in enumerate(reader.edges()):
                    ends = {name: edge.pop(name) for name in ("source", "target")}
                    xml.write(_graphml_element("edge", {"id": f"e{number}", **ends}, edge))
    return reader.report(output)


def _graphml_keys() -> Iterator[etree._Element]:
    """Yield a key element for each property, with the prefix `n_` for nodes and `e_` for edges."""
    nodes: dict[str, type] = {"label": str, **PROPERTIES}
    for prefix, domain, properties in (("n_", "node", nodes), ("e_", "edge", _EDGE_PROPERTIES)):
        for name, kind in properties.items():
            key = etree.Element("key", {"id": f"{prefix}{name}", "for": domain})
            key.set("attr.name", name)
            key.set("attr.type", _GRAPHML_TYPES[kind])
            key.tail = "\n"
            yield key


def _graphml_element(tag: str, attributes: dict[str, str], values: ExportRow) -> etree._Element:
    element = etree.Element(tag, attributes)
    for name, value in values.items():
        if value is not None and value != []:
            data = etree.SubElement(element, "data", {"key": f"{tag[0]}_{name}"})
            data.text = _NOT_IN_XML.sub("\ufffd", str(_cell(value)))
    element.tail = "\n"
    return element


def _cell(value: object) -> object:
    """Return a value as a number or text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return " ".join(value)
    return "" if value is None else value


_NODE_COLUMNS = ("id", "label", *PROPERTIES)
_EDGE_COLUMNS = ("source", "type", "target", "relation", "weight", "chunks")


def write_csv(store: Store, output: Path, *, raw: bool = False) -> ExportReport:
    """Write `nodes.csv` and `edges.csv` in UTF-8, with a header; `chunks` is joined by spaces.

    Every cell is quoted, and one that a spreadsheet would run as a formula begins with an
    apostrophe; see `neutralize_cell`. With ``raw``, cells are written unchanged.
    """
    reader = ExportReader(store)
    files = (output / "nodes.csv", output / "edges.csv")
    _write_rows(files[0], _NODE_COLUMNS, reader.nodes(), raw=raw)
    _write_rows(files[1], _EDGE_COLUMNS, reader.edges(), raw=raw)
    return reader.report(*files)


def write_parquet(store: Store, output: Path) -> ExportReport:
    """Write `nodes.parquet` and `edges.parquet`, `chunks` as lists.

    Raises MissingExtra without the extra `parquet`.
    """
    require_parquet("Export as Parquet")
    import pyarrow as pa

    reader = ExportReader(store)
    files = (output / "nodes.parquet", output / "edges.parquet")
    kinds = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}
    node_schema = pa.schema(
        [("id", pa.string()), ("label", pa.string())]
        + [(name, kinds[kind]) for name, kind in PROPERTIES.items()]
    )
    edge_schema = pa.schema(
        [(name, pa.string()) for name in _EDGE_COLUMNS[:4]]
        + [("weight", pa.float64()), ("chunks", pa.list_(pa.string()))]
    )
    write_parquet_table(files[0], node_schema, reader.nodes())
    write_parquet_table(files[1], edge_schema, reader.edges())
    return reader.report(*files)


def _write_rows(
    target: Path, columns: Sequence[str], rows: Iterator[ExportRow], *, raw: bool
) -> None:
    with replace_text_file(target) as file:
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        if raw:
            file.write(",".join(columns) + "\n")
        else:
            writer.writerow(columns)
        for row in rows:
            cells = [_cell(row.get(name)) for name in columns]
            if not raw:
                cells = [neutralize_cell(c) if isinstance(c, str) else c for c in cells]
            writer.writerow(cells)


def require_parquet(feature: str) -> None:
    """Raise MissingExtra without the extra `parquet`."""
    with required(feature, "parquet"):
        import pyarrow.parquet  # noqa: F401


def write_parquet_table(target: Path, schema: pa.Schema, rows: Iterable[dict[str, Any]]) -> int:
    """Write a Parquet file and return its number of rows; text that is not Unicode is escaped."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with replace_file(target) as file, pq.ParquetWriter(file, schema) as writer:
        for batch in split_batches(rows, BATCH_SIZE):
            storable = [_without_surrogates(row) for row in batch]
            writer.write_table(pa.Table.from_pylist(storable, schema=schema))
            written += len(batch)
    return written


def _without_surrogates(value: Any) -> Any:  # noqa: ANN401 - rows, their values, and items of these
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {key: _without_surrogates(item) for key, item in value.items()}
    return [_without_surrogates(item) for item in value] if isinstance(value, list) else value


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
