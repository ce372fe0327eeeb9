"""Read graphs from TSV and CSV tables: triples, nodes or edges, with or without a header."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path

from knotwork._extensions.graphs.graph_import.delimited_text import (
    TextDialect,
    find_dialect,
    read_rows,
)
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
from knotwork.errors import IndexingError
from knotwork.records import PropertyValue


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
_DIRECTIONS = frozenset({"Directed", "Undirected", "directed", "undirected"})
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

    A label that differs from node to node is a name, and "Undirected" is not a relation.
    """
    is_nodes = layout.kind is TableKind.NODES
    place = layout.places.get("label" if is_nodes else "relation", -1)
    values = [_field(row, place) for row in rows[1:]]
    distinct = set(values) - {""}
    places = {role: place for role, place in layout.places.items() if role != "label"}
    if is_nodes and place >= 0:
        named = rows[0][place].lower()
        if named == "label" and len(distinct) > max(2, len(values) // 2):
            column = TableColumn(place, named)
            return replace(layout, places=places, properties=(*layout.properties, column))
    if not is_nodes and distinct and distinct <= _DIRECTIONS:
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
