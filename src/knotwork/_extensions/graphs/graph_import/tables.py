"""Read graphs from TSV and CSV tables: triples, nodes or edges, with or without a header.

Encoding and delimiter are detected, and rows are streamed. A quotation mark that is never closed
would consume the rest of a file. If it yields no row with the usual number of columns, parsing
continues at the line after its first.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from knotwork._extensions.graphs.graph_import.formats import (
    EntityRow,
    GraphElement,
    ImportOptions,
    KindFinder,
    ReadBytes,
    ReadFault,
    RelationRow,
    kind_named,
    parse_list,
    parse_value,
    spaced_key,
)
from knotwork._indexing.loaders.decoding import decode
from knotwork._indexing.loaders.loader import Source
from knotwork._text.visible import is_neutralized_export, restore_cell
from knotwork.errors import IndexingError, LoadError
from knotwork.records import PropertyValue

LONGEST_LINE_BYTES = 4_000_000
_SAMPLE_BYTES = 200_000
_BLOCK_BYTES = 1 << 20
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class TextLine(NamedTuple):
    """A line without its line break. ``offset`` is the byte offset of the next line."""

    number: int
    text: str
    offset: int
    is_damaged: bool = False


def find_encoding(path: Path) -> str:
    """Return the encoding of a text file, detected from its lines that are not plain ASCII.

    Raises IndexingError for a binary file.
    """
    with path.open("rb") as file:
        head = file.read(_SAMPLE_BYTES)
        if head.startswith(_WIDE_MARKS):
            return "utf-16"
        if b"\0" in head:
            encoding = _encoding(path, head[: len(head) & ~1])
            return encoding if encoding.startswith("utf-16-") else "utf-8-sig"
        file.seek(0)
        sample = _sample_lines(file)
    if not sample:
        return "utf-8-sig"
    encoding = _encoding(path, sample)
    return "utf-8-sig" if encoding == "utf-8" else encoding


def read_lines(path: Path, encoding: str) -> Iterator[TextLine]:
    """Yield the lines of a file; a line with bytes invalid in the encoding is marked as damaged.

    A line longer than ``LONGEST_LINE_BYTES`` is split there.
    """
    if encoding.startswith("utf-16"):
        yield from _read_utf16_lines(path, encoding)
        return
    plain = "utf-8" if encoding == "utf-8-sig" else encoding
    with path.open("rb") as file:
        offset = number = 0
        while raw := file.readline(LONGEST_LINE_BYTES):
            number += 1
            offset += len(raw)
            if number == 1:
                raw = raw.removeprefix(codecs.BOM_UTF8)
            raw = raw.rstrip(b"\r\n")
            pieces = raw.split(b"\r") if b"\r" in raw else [raw]  # line breaks of classic Mac OS
            for step, piece in enumerate(pieces):
                yield _line(number + step, piece, offset, plain)
            number += len(pieces) - 1


def _line(number: int, raw: bytes, offset: int, encoding: str) -> TextLine:
    try:
        return TextLine(number, raw.decode(encoding), offset)
    except UnicodeDecodeError:
        return TextLine(number, raw.decode(encoding, "replace"), offset, is_damaged=True)


def _read_utf16_lines(path: Path, encoding: str) -> Iterator[TextLine]:
    with path.open(encoding=encoding, errors="replace", newline="\n") as file:
        offset = 0
        for number, text in enumerate(iter(lambda: file.readline(LONGEST_LINE_BYTES), ""), start=1):
            offset += 2 * len(text)
            bare = text.rstrip("\r\n").removeprefix("\ufeff")
            yield TextLine(number, bare, offset, is_damaged="\ufffd" in bare)


def _sample_lines(file: BinaryIO) -> bytes:
    """Return lines that are not plain ASCII, up to the size of a sample."""
    found: list[bytes] = []
    size = 0
    rest = b""
    while size < _SAMPLE_BYTES and (block := file.read(_BLOCK_BYTES)):
        block = rest + block
        if block.isascii():
            rest = b""
            continue
        lines = block.split(b"\n")
        rest = lines.pop() if len(lines[-1]) < _BLOCK_BYTES else b""
        for line in lines:
            if not line.isascii() and size < _SAMPLE_BYTES:
                found.append(line)
                size += len(line)
    if not rest.isascii() and size < _SAMPLE_BYTES:
        found.append(rest)
    return b"\n".join(found)


def _encoding(path: Path, data: bytes) -> str:
    """Return the encoding of a text. Raises IndexingError for a binary file."""
    try:
        return decode(Source(path.name, data))[1]
    except LoadError as error:
        raise IndexingError(
            f"`{path}` is a binary file, not text.",
            fix="Unpack or convert it, or set its --format.",
        ) from error


SAMPLE_LINES = 400
DELIMITERS = ("\t", ",", ";", "|")
_MOST_ROW_LINES = 200
_FIELD_CHARACTERS = 10_000_000
_COMMENT = "#"
_DECLARED_DELIMITER = re.compile(r'"?sep=(.)"?')
"""The optional first line by which Excel declares the delimiter."""


class TextRow(NamedTuple):
    """The trimmed fields of a row; ``fault`` is the reason if it could not be parsed."""

    line: int
    fields: list[str]
    offset: int
    text: str
    fault: str = ""
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class TextDialect:
    """The syntax of a file. Without ``quotes`` quotation marks are ordinary characters.

    With ``neutralized``, it is an export whose cells `restore_cell` restores.
    """

    encoding: str
    delimiter: str
    quotes: bool
    width: int
    has_comments: bool = False
    neutralized: bool = False


def find_dialect(path: Path, *, delimiter: str = "") -> TextDialect:
    """Return the dialect of a file, detected from its first lines.

    Raises IndexingError for a binary file.
    """
    encoding = find_encoding(path)
    lines = [line.text for line in islice(read_lines(path, encoding), SAMPLE_LINES)]
    declared = _DECLARED_DELIMITER.fullmatch(lines[0]) if lines else None
    if declared:
        delimiter, lines = delimiter or declared[1], lines[1:]
    has_comments = bool(lines) and lines[0].startswith((f"{_COMMENT} ", f"{_COMMENT}\t", "##"))
    texts = [text for text in lines if text.strip() and not (has_comments and text[0] == _COMMENT)]
    chosen = delimiter or _find_delimiter(texts, path)
    quotes = chosen != " " and _has_quotes(texts, chosen)
    widths = Counter(len(_split(text, chosen, quotes=quotes)) for text in texts)
    width = max(widths, key=lambda size: (widths[size], size)) if widths else 0
    neutralized = bool(lines) and is_neutralized_export(lines[0])
    return TextDialect(encoding, chosen, quotes, width, has_comments, neutralized)


def read_rows(path: Path, dialect: TextDialect) -> Iterator[TextRow]:
    """Yield the rows of a file; skip blank lines and comments."""
    csv.field_size_limit(_FIELD_CHARACTERS)
    waiting: deque[TextLine] = deque()
    source = read_lines(path, dialect.encoding)
    while True:
        line = waiting.popleft() if waiting else next(source, None)
        if line is None:
            return
        if line.number == 1 and _DECLARED_DELIMITER.fullmatch(line.text):
            continue
        if not line.text.strip() or (dialect.has_comments and line.text.startswith(_COMMENT)):
            continue
        if dialect.quotes and line.text.count('"') % 2:
            yield _long_row(line, waiting, source, dialect)
        else:
            yield _row(line, [line.text], dialect)


def _long_row(
    first: TextLine, waiting: deque[TextLine], source: Iterable[TextLine], dialect: TextDialect
) -> TextRow:
    """Return a row that spans several lines, or a fault for its first line if it never ends."""
    taken: list[TextLine] = []
    following = iter(source)
    for _ in range(_MOST_ROW_LINES):
        line = waiting.popleft() if waiting else next(following, None)
        if line is None:
            break
        taken.append(line)
        if line.text.count('"') % 2:
            row = _row(first, [first.text, *(line.text for line in taken)], dialect)
            if len(row.fields) == dialect.width:
                return row
            break  # this mark opens another quotation
    waiting.extendleft(reversed(taken))
    return TextRow(first.number, [], first.offset, first.text, "a quotation mark is never closed")


def _row(line: TextLine, texts: Sequence[str], dialect: TextDialect) -> TextRow:
    text = "\n".join(texts)
    try:
        fields = _split(
            text, dialect.delimiter, quotes=dialect.quotes, neutralized=dialect.neutralized
        )
    except csv.Error as error:
        return TextRow(line.number, [], line.offset, text, str(error))
    return TextRow(line.number, fields, line.offset, text, is_damaged=line.is_damaged)


def _split(text: str, delimiter: str, *, quotes: bool, neutralized: bool = False) -> list[str]:
    if not quotes:
        parts = text.split() if delimiter == " " else text.split(delimiter)
        return [part.strip() for part in parts]
    pieces = text.splitlines(keepends=True) if "\n" in text else [text]
    rows = list(csv.reader(pieces, delimiter=delimiter, skipinitialspace=True))
    fields = [field for row in rows for field in row]
    return [(restore_cell(field) if neutralized else field).strip() for field in fields]


def _find_delimiter(texts: Sequence[str], path: Path) -> str:
    """Return the delimiter that occurs equally often in most lines.

    Lines of two or three words may be delimited by white space. Without any delimiter, return ",".
    """
    shares = {sign: _evenness(texts, sign) for sign in DELIMITERS}
    if path.suffix.lower() in {".tsv", ".tab"} and shares["\t"] > 0:
        return "\t"
    best = max(DELIMITERS, key=lambda sign: shares[sign])
    if shares[best] > 0.5:
        return best
    if texts and all(len(text.split()) in {2, 3} for text in texts):
        return " "
    return best if shares[best] > 0 else ","


def _evenness(texts: Sequence[str], sign: str) -> float:
    """Return the share of lines with the usual number of columns, or 0 if that is one."""
    counts = Counter(_count_outside(text, sign) for text in texts)
    usual = max(counts, key=lambda count: (counts[count], count), default=0)
    return counts[usual] / len(texts) if usual else 0.0


def _count_outside(text: str, sign: str) -> int:
    """Count a delimiter outside quotation marks."""
    if sign == "\t" or '"' not in text:
        return text.count(sign)
    return sum(part.count(sign) for part in text.split('"')[::2])


def _has_quotes(texts: Sequence[str], delimiter: str) -> bool:
    """Return True if quotation marks enclose fields rather than being part of them."""
    if delimiter != "\t":
        return True
    fields = (field.strip() for text in texts for field in text.split(delimiter))
    opened = [field for field in fields if field.startswith('"')]
    return bool(opened) and all(
        len(field) > 1 and field[-1] == '"' and field.count('"') % 2 == 0 for field in opened
    )


class TableKind(StrEnum):
    """What the rows of a table describe."""

    TRIPLES = "triples"
    NODES = "nodes"
    EDGES = "edges"


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column with a property; ``kind`` is "" if no type is declared."""

    place: int
    name: str
    kind: str = ""
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The meaning of the columns of a table.

    ``places`` are the positions of columns by role: "source", "relation" and "target" of triples
    and edges, "id" and "label" of nodes. Ids are unique within a namespace, such as the type of the
    nodes: ``spaces`` are those of the roles with ids. ``relation`` and ``label`` are the defaults
    of rows. The first ``skipped`` rows are not data.
    """

    kind: TableKind
    places: Mapping[str, int]
    properties: tuple[TableColumn, ...] = ()
    aliases: tuple[int, ...] = ()
    spaces: Mapping[str, str] = field(default_factory=dict)
    relation: str = ""
    label: str = ""
    skipped: int = 0

    def field(self, fields: Sequence[str], role: str) -> str:
        """Return the field of a row with a role, or ""."""
        return _field(fields, self.places.get(role, -1))

    def key(self, fields: Sequence[str], role: str) -> str:
        """Return the key that a field of a row has in the graph."""
        return spaced_key(self.spaces.get(role, ""), fields[self.places[role]])


_ROLE_WORDS = {
    "source": """subject subj head source src from start s h source_id src_id from_id start_id
        head_id subject_id source_node start_node head_entity entity1 e1 node1
        主语 主体 头实体 源 起点 头 实体1""",
    "target": """object obj tail target tgt dst dest destination to end o t target_id dst_id to_id
        end_id tail_id object_id target_node end_node tail_entity entity2 e2 node2
        宾语 客体 尾实体 目标 终点 尾 实体2""",
    "relation": """relation relationship predicate rel pred p r type edge edge_type relation_type
        rel_type label verb relationship_type 关系 谓语 谓词 关系类型 属性""",
    "id": "id node_id nodeid _id key uid uuid identifier entity_id 编号 标识",
    "label": "label labels type types category class node_type entity_type 类型 类别",
    "alias": """alias aliases also_known_as aka alt_name alt_names alternative_names synonyms
        altlabel alt_label 别名 又名 同义词""",
    "name": "name 名称 姓名",
    "any node": "node nodes vertex vertices entity entities thing things 节点 实体",
    "type": """int integer long short byte float double number boolean bool string char date time
        datetime localtime localdatetime point duration int8 int16 int32 int64""",
}
_WORDS = {role: frozenset(words.split()) for role, words in _ROLE_WORDS.items()}
_ALSO_PROPERTIES = frozenset(["start", "end", "from", "to"])
"""Words for the ends of an edge that are properties, such as dates, of a node with id and name."""
_EXPORTED_EDGES = ["source", "type", "target", "relation"]
"""How the table of edges of an exported graph begins; its ends are ids."""
_NEO4J = re.compile(
    r"(?P<name>[^:]*):(?P<role>ID|START_ID|END_ID|TYPE|LABEL|IGNORE)(?:\((?P<space>[^)]*)\))?"
    r"(?:\{.*\})?",
    re.IGNORECASE,
)
_NEO4J_ROLES = {
    "ID": "id",
    "START_ID": "source",
    "END_ID": "target",
    "TYPE": "relation",
    "LABEL": "label",
}
_DECLARED = re.compile(r"(?P<name>[^:]+):(?P<kind>[A-Za-z0-9]+)(?P<list>\[\])?(?:\{.*\})?(?::.*)?")
_OWNED_ID = re.compile(r"(?P<space>[^.]+)\.id", re.IGNORECASE)


def fold_header(name: str) -> str:
    """Return the name of a column folded for comparison."""
    return re.sub(r"[\s\-]+", "_", name.strip().lower())


def layout_of_header(header: Sequence[str], *, stem: str, kind: str = "") -> TableLayout | None:
    """Return the layout of a header, or None if it is not recognized.

    ``stem`` is the name of the file, ``kind`` the `TableKind` if it is known.
    """
    if any(_NEO4J.fullmatch(cell) for cell in header):
        return _neo4j_layout(header, stem)
    owned = [match["space"] for match in map(_OWNED_ID.fullmatch, header[:2]) if match]
    if len(owned) == 2:
        return TableLayout(
            TableKind.EDGES,
            {"source": 0, "target": 1},
            _properties(header, {0, 1}),
            spaces={"source": owned[0].lower(), "target": owned[1].lower()},
            relation=_between(stem, *owned),
        )
    folded = [fold_header(cell) for cell in header]
    source, target = _first(folded, "source"), _first(folded, "target")
    is_node = folded[:1] and folded[0] in _WORDS["id"] and _first(folded, "name") >= 0
    if is_node and {folded[source], folded[target]} & _ALSO_PROPERTIES:
        kind = TableKind.NODES
    if source >= 0 and target >= 0 and source != target and kind != TableKind.NODES:
        return _edge_layout(header, folded, source, target, stem)
    if _first(folded, "id") >= 0 or kind == TableKind.NODES or _first(folded, "name") >= 0:
        return _node_layout(header, folded, stem)
    return None


def layout_of_values(width: int, *, stem: str, kind: str = "", skipped: int = 0) -> TableLayout:
    """Return the layout of a table without a header: triples of three columns, edges of two."""
    if width >= 3 and kind in {"", TableKind.TRIPLES}:
        found, roles = TableKind.TRIPLES, ["source", "relation", "target"]
    elif width >= 2 and kind != TableKind.NODES:
        found, roles = TableKind.EDGES, ["source", "target"]
    else:
        found, roles = TableKind.NODES, ["id"]
    extra = tuple(TableColumn(place, f"column {place + 1}") for place in range(len(roles), width))
    places = {role: place for place, role in enumerate(roles)}
    relation = stem if found is TableKind.EDGES else ""
    return TableLayout(found, places, extra, relation=relation, skipped=skipped)


def _edge_layout(
    header: Sequence[str], folded: Sequence[str], source: int, target: int, stem: str
) -> TableLayout:
    places = {"source": source, "target": target}
    is_exported = list(folded[:4]) == _EXPORTED_EDGES
    relation = 3 if is_exported else _first(folded, "relation", besides=(source, target))
    if relation >= 0:
        places["relation"] = relation
    if is_exported:
        places["type"] = 1
    # A relation between two names makes triples; ids refer to rows of a table of nodes.
    by_id = is_exported or folded[source].endswith("id") or folded[target].endswith("id")
    kind = TableKind.TRIPLES if relation >= 0 and not by_id else TableKind.EDGES
    return TableLayout(kind, places, _properties(header, set(places.values())), relation=stem)


def _node_layout(header: Sequence[str], folded: Sequence[str], stem: str) -> TableLayout:
    place = _first(folded, "id")
    if place < 0:
        place = max(_first(folded, "name"), 0)
    label = _first(folded, "label", besides=(place,))
    aliases = tuple(p for p, name in enumerate(folded) if name in _WORDS["alias"])
    space = _stem_space(stem)
    return TableLayout(
        TableKind.NODES,
        {"id": place, "label": label},
        _properties(header, {label, *aliases}),
        aliases,
        spaces={"id": space.lower()},
        label=space[:1].upper() + space[1:],
    )


def _neo4j_layout(header: Sequence[str], stem: str) -> TableLayout:
    """Return the layout of a header of Neo4j's importer: `:ID`, `:START_ID`, `:TYPE`."""
    places: dict[str, int] = {}
    spaces: dict[str, str] = {}
    properties: list[TableColumn] = []
    for place, cell in enumerate(header):
        match = _NEO4J.fullmatch(cell)
        if match is None:
            properties.append(_column(place, cell, fallback="str"))
            continue
        role = _NEO4J_ROLES.get(match["role"].upper(), "")
        places.setdefault(role, place)
        spaces[role] = (match["space"] or "").lower()
        if match["name"] and role in {"id", "relation"}:
            properties.append(TableColumn(place, match["name"], "str"))
    if "source" in places and "target" in places:
        kind, label = TableKind.EDGES, ""
    else:
        kind, label = TableKind.NODES, "" if "label" in places else stem
        places.setdefault("id", 0)
    return TableLayout(kind, places, tuple(properties), spaces=spaces, relation=stem, label=label)


def _properties(header: Sequence[str], used: set[int]) -> tuple[TableColumn, ...]:
    return tuple(
        _column(place, cell) for place, cell in enumerate(header) if place not in used and cell
    )


def _column(place: int, cell: str, *, fallback: str = "") -> TableColumn:
    match = _DECLARED.fullmatch(cell)
    if match is None or match["kind"].lower() not in _WORDS["type"]:
        return TableColumn(place, cell.strip(), fallback)
    return TableColumn(place, match["name"].strip(), match["kind"].lower(), bool(match["list"]))


def _first(folded: Sequence[str], role: str, *, besides: Sequence[int] = ()) -> int:
    words = _WORDS[role]
    return next((p for p, name in enumerate(folded) if name in words and p not in besides), -1)


def _stem_space(stem: str) -> str:
    """Return the node type in the name of a file: "person" from "person_0_0"."""
    bare = re.sub(r"^(?:.*[_.\-])?(?:vertex|nodes?)[_.\-]|(?:[_.\-](?:\d+|nodes?))+$", "", stem)
    return "" if bare.lower() in _WORDS["any node"] else bare


def _between(stem: str, source: str, target: str) -> str:
    """Return the relation in the name of a file: "knows" from "person_knows_person_0_0"."""
    pattern = rf"{re.escape(source)}_(.+)_{re.escape(target)}(?:_\d+)*"
    match = re.fullmatch(pattern, stem, re.IGNORECASE)
    return match[1] if match else stem


_SAMPLE_ROWS = 400
_DIRECTIONS = frozenset({"Directed", "Undirected"})
_FEWEST_ROWS = 8
_PROGRESS_ROWS = 2_000
_TUGRAPH = "LABEL="
_TUGRAPH_ROLES = {"SRC_ID": "source", "DST_ID": "target", "ID": "id"}
_NEEDED = {
    TableKind.TRIPLES: {"source": "subject", "target": "object", "relation": "relation"},
    TableKind.EDGES: {"source": "source", "target": "target"},
    TableKind.NODES: {"id": "id"},
}
"""The roles whose fields must not be empty, and their names in errors."""
_FILE_WORDS = re.compile(r"^(?:edges?|e|rels?|relationships?)[_.\-](?=\w)", re.IGNORECASE)


def read_table(path: Path, options: ImportOptions) -> Iterator[GraphElement]:
    """Yield each row of a table as an entity or a relation.

    Raises IndexingError for a binary file, and if the meaning of the columns is unclear.
    """
    dialect = find_dialect(path, delimiter=options.delimiter)
    layout = find_layout(path, dialect, options)
    if layout.kind is not TableKind.TRIPLES:
        layout = _with_kinds(layout, path, dialect)
    needed = {layout.places[role]: name for role, name in _NEEDED[layout.kind].items()}
    for number, row in enumerate(read_rows(path, dialect)):
        if number < layout.skipped:
            continue
        if number % _PROGRESS_ROWS == 0:
            yield ReadBytes(row.offset)
        fault = row.fault or _fault(row.fields, layout, needed, dialect.width)
        if fault:
            yield ReadFault(row.line, fault, row.text)
            continue
        if row.is_damaged:
            reason = f"bytes that are not valid {dialect.encoding.removesuffix('-sig')}"
            yield ReadFault(row.line, reason, row.text, kept=True)
        yield _element(row.fields, layout)


def find_layout(path: Path, dialect: TextDialect, options: ImportOptions) -> TableLayout:
    """Return the layout of a table.

    Raises IndexingError if the meaning of the columns is unclear.
    """
    stem = path.name.partition(".")[0]
    named = [part for part in path.stem.split(".") if part]
    known = TableKind.NODES if "nodes" in {part.lower() for part in named[1:]} else ""
    stem = named[-1] if named else stem
    rows = [row.fields for row in islice(read_rows(path, dialect), _SAMPLE_ROWS) if not row.fault]
    if rows and rows[0][0].startswith(_TUGRAPH):
        return _tugraph_layout(rows)
    found = layout_of_header(rows[0], stem=stem, kind=known) if rows else None
    if found is not None and not (found.kind is TableKind.NODES and _repeats(rows)):
        return replace(_check_types(found, rows), skipped=1)
    if options.columns:
        layout = layout_of_header(options.columns, stem=stem)
        if layout is None:
            listed = ", ".join(f"`{name}`" for name in options.columns)
            raise IndexingError(
                f"The meaning of the columns {listed} is unclear.",
                fix="Name them source, relation, target (triples), source, target (edges) or id"
                " (nodes).",
            )
        return replace(layout, skipped=int(_has_strange_header(rows)))
    if not rows:
        return layout_of_values(dialect.width or 3, stem=stem)
    if dialect.width > 2 and not known and not _relates(rows):
        raise IndexingError(
            f"The meaning of the columns of `{path}` is unclear: the file has no header, and the"
            f" second of {dialect.width} columns has no names of relations.",
            fix="Name the columns with --columns: id,name,age or source,target,since.",
        )
    return layout_of_values(
        dialect.width,
        stem=_FILE_WORDS.sub("", stem),
        kind=known,
        skipped=int(_has_strange_header(rows)),
    )


def _check_types(layout: TableLayout, rows: Sequence[Sequence[str]]) -> TableLayout:
    """Return a layout without the columns of Gephi that only look like types.

    A label that differs from node to node is a name; "Undirected" under "Type" is no relation.
    """
    is_nodes = layout.kind is TableKind.NODES
    place = layout.places.get("label" if is_nodes else "relation", -1)
    values = [_field(row, place) for row in rows[1:]]
    distinct = set(values) - {""}
    named = _field(rows[0], place).lower()
    places = {role: place for role, place in layout.places.items() if role != "label"}
    if is_nodes and named == "label" and len(distinct) > max(2, len(values) // 2):
        column = TableColumn(place, named)
        return replace(layout, places=places, properties=(*layout.properties, column))
    if not is_nodes and named == "type" and distinct and distinct <= _DIRECTIONS:
        places.pop("relation")
        return replace(layout, kind=TableKind.EDGES, places=places)
    return layout


def _relates(rows: Sequence[Sequence[str]]) -> bool:
    """Return True if the second column may name relations: its values are mostly words."""
    middles = [row[1] for row in rows if len(row) > 2]
    words = sum(any(c.isalpha() for c in cell) and cell[:1] not in "[{(" for cell in middles)
    return 2 * words > len(middles)


def _repeats(rows: Sequence[Sequence[str]]) -> bool:
    """Return True if the middle value of the first row recurs, so that it is not a header."""
    if len(rows[0]) != 3:
        return False
    return sum(len(row) > 1 and row[1] == rows[0][1] for row in rows) > 1


def _has_strange_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return True if the first row of triples is a header in unknown words.

    Relations recur in the middle column, but its header does not.
    """
    middles = [row[1] for row in rows if len(row) >= 3]
    if len(middles) < _FEWEST_ROWS or len(rows[0]) != 3:
        return False
    counts = Counter(middles[1:])
    return rows[0][1] not in counts and 4 * len(counts) < len(middles)


def _tugraph_layout(rows: Sequence[Sequence[str]]) -> TableLayout:
    """Return the layout of a table of TuGraph, with the types in the first row."""
    facts = dict(cell.split("=", 1) for cell in rows[0] if "=" in cell)
    is_edges = "SRC_LABEL" in facts
    places = {"source": 0, "target": 1} if is_edges else {"id": 0}
    properties = []
    for place, cell in enumerate(rows[1] if len(rows) > 1 else ()):
        name, kind, *marks = (*cell.split(":"), "")
        roles = [_TUGRAPH_ROLES[mark] for mark in marks if mark in _TUGRAPH_ROLES]
        if roles:
            places[roles[0]] = place
        elif ":" in cell:
            properties.append(TableColumn(place, name, kind.lower()))
    if is_edges:
        spaces = {
            "source": facts["SRC_LABEL"].lower(),
            "target": facts.get("DST_LABEL", "").lower(),
        }
    else:
        spaces = {"id": facts["LABEL"].lower()}
    return TableLayout(
        TableKind.EDGES if is_edges else TableKind.NODES,
        places,
        tuple(properties),
        spaces=spaces,
        relation=facts["LABEL"],
        label=facts["LABEL"],
        skipped=2,
    )


def _with_kinds(layout: TableLayout, path: Path, dialect: TextDialect) -> TableLayout:
    """Return a layout with the type of each property, detected from all its values."""
    finders = {column.place: KindFinder() for column in layout.properties if not column.kind}
    if not finders:
        return layout
    for row in islice(read_rows(path, dialect), layout.skipped, None):
        for place, finder in finders.items():
            if place < len(row.fields):
                finder.add(row.fields[place])
    columns = tuple(
        replace(column, kind=finders[column.place].kind) if column.place in finders else column
        for column in layout.properties
    )
    return replace(layout, properties=columns)


def _fault(
    fields: Sequence[str], layout: TableLayout, needed: Mapping[int, str], width: int
) -> str:
    """Return why a row is invalid, or ""."""
    is_short = len(fields) <= max(needed)
    is_triple = layout.kind is TableKind.TRIPLES
    if is_short or len(fields) > width or (is_triple and len(fields) != width):
        return f"expected {width} columns, found {len(fields)}"
    return next((f"the {name} is empty" for place, name in needed.items() if not fields[place]), "")


def _element(fields: Sequence[str], layout: TableLayout) -> EntityRow | RelationRow:
    values = _values(fields, layout.properties)
    if layout.kind is TableKind.NODES:
        labels = _parts(layout.field(fields, "label"), ";|:") or tuple(filter(None, [layout.label]))
        aliases = [_parts(_field(fields, place), ";|、\n") for place in layout.aliases]
        return EntityRow(layout.key(fields, "id"), (), sum(aliases, ()), labels, values)
    return RelationRow(
        layout.key(fields, "source"),
        layout.field(fields, "relation") or layout.field(fields, "type") or layout.relation,
        layout.key(fields, "target"),
        values,
        are_names=layout.kind is TableKind.TRIPLES,
    )


def _values(fields: Sequence[str], columns: Sequence[TableColumn]) -> dict[str, PropertyValue]:
    found: dict[str, PropertyValue] = {}
    for column in columns:
        text = _field(fields, column.place)
        if text:
            kind = kind_named(column.kind)
            found[column.name] = (
                parse_list(text, kind) if column.is_list else parse_value(text, kind)
            )
    return found


def _field(fields: Sequence[str], place: int) -> str:
    return fields[place] if 0 <= place < len(fields) else ""


def _parts(text: str, separators: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in re.split(f"[{separators}]", text) if part.strip())
