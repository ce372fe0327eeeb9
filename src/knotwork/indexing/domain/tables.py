"""Tables of text: triples, nodes and edges as TSV or CSV, with a header or without one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from knotwork.errors import IndexingError
from knotwork.indexing.domain.columns import (
    Column,
    Layout,
    TableKind,
    layout_of_header,
    layout_of_values,
)
from knotwork.indexing.domain.elements import (
    Complaint,
    Element,
    FactRow,
    ImportOptions,
    ReadBytes,
    ThingRow,
    spaced_key,
)
from knotwork.indexing.domain.rows import Dialect, Row, find_dialect, read_rows
from knotwork.indexing.domain.values import KindFinder, kind_named, parse_list, parse_value
from knotwork.records import PropertyValue

_SAMPLE_ROWS = 400
_DIRECTIONS = frozenset({"Directed", "Undirected", "directed", "undirected"})
_FEWEST_ROWS = 8
_TOLD_EVERY_ROWS = 2_000
_TUGRAPH = "LABEL="
_FILE_WORDS = re.compile(r"^(?:edges?|e|rels?|relationships?)[_.\-](?=\w)", re.IGNORECASE)


def read_table(path: Path, options: ImportOptions) -> Iterator[Element]:
    """Yield what a table holds, each row as a fact or a thing.

    Raises IndexingError for what is no text, or no table.
    """
    dialect = find_dialect(path, delimiter=options.delimiter)
    layout = find_layout(path, dialect, options)
    if not layout.is_typed and layout.kind is not TableKind.TRIPLES:
        layout = _with_kinds(layout, path, dialect)
    needed = _needed(layout)
    for number, row in enumerate(read_rows(path, dialect)):
        if number < layout.skipped:
            continue
        if number % _TOLD_EVERY_ROWS == 0:
            yield ReadBytes(row.offset)
        fault = row.fault or _fault(row.fields, layout, needed, dialect.width)
        if fault:
            yield Complaint(row.line, fault, row.text)
            continue
        if row.is_damaged:
            reason = f"bytes that are no {dialect.encoding.removesuffix('-sig')}"
            yield Complaint(row.line, reason, row.text, kept=True)
        yield _thing(row, layout) if layout.kind is TableKind.NODES else _fact(row, layout)


def find_layout(path: Path, dialect: Dialect, options: ImportOptions) -> Layout:
    """Return what the columns of a table mean.

    Raises IndexingError where that cannot be told.
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
            raise _unknown_columns(options.columns)
        return replace(layout, skipped=int(_has_strange_header(rows)))
    if not rows:
        return layout_of_values(dialect.width or 3, stem=stem)
    if dialect.width > 2 and not known and not _relates(rows):
        raise IndexingError(
            f"What the columns of `{path}` mean cannot be told: it has no header, and the second of"
            f" {dialect.width} columns names no relations.",
            fix="Name them with --columns, as id,name,age or source,target,since.",
        )
    return layout_of_values(
        dialect.width,
        stem=_FILE_WORDS.sub("", stem),
        kind=known,
        skipped=int(_has_strange_header(rows)),
    )


def _check_types(layout: Layout, rows: Sequence[Sequence[str]]) -> Layout:
    """Return a layout without columns that only look like types, as Gephi writes them: labels that
    differ from node to node are names, and "Undirected" is no relation.
    """
    values = [_field(row, max(layout.labels, layout.relation)) for row in rows[1:]]
    distinct = set(values) - {""}
    if layout.kind is TableKind.NODES and layout.labels >= 0:
        named = rows[0][layout.labels]
        if named.lower() == "label" and len(distinct) > max(2, len(values) // 2):
            column = Column(layout.labels, named.lower())
            return replace(layout, labels=-1, properties=(*layout.properties, column))
    if layout.kind is not TableKind.NODES and distinct and distinct <= _DIRECTIONS:
        return replace(layout, kind=TableKind.EDGES, relation=-1)
    return layout


def _relates(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether the second column may name relations: it mostly holds words."""
    middles = [row[1] for row in rows if len(row) > 2]
    words = sum(any(c.isalpha() for c in cell) and cell[:1] not in "[{(" for cell in middles)
    return 2 * words > len(middles)


def _repeats(rows: Sequence[Sequence[str]]) -> bool:
    """Tell that the first row is no header: what stands in its middle stands there again."""
    if len(rows[0]) != 3:
        return False
    return sum(len(row) > 1 and row[1] == rows[0][1] for row in rows) > 1


def _has_strange_header(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether the first of rows of triples is a header in words that are not known.

    Relations come again and again in the middle column; the word above them does not.
    """
    middles = [row[1] for row in rows if len(row) >= 3]
    if len(middles) < _FEWEST_ROWS or len(rows[0]) != 3:
        return False
    counts = Counter(middles[1:])
    return rows[0][1] not in counts and 4 * len(counts) < len(middles)


def _tugraph_layout(rows: Sequence[Sequence[str]]) -> Layout:
    """Return the layout of a table that begins as TuGraph's do, with the types in the first row."""
    facts = dict(cell.split("=", 1) for cell in rows[0] if "=" in cell)
    cells = [cell.split(":") for cell in rows[1]] if len(rows) > 1 else []
    places = {parts[2]: place for place, parts in enumerate(cells) if len(parts) > 2}
    properties = tuple(
        Column(place, parts[0], parts[1].lower())
        for place, parts in enumerate(cells)
        if len(parts) > 1 and not {"SRC_ID", "DST_ID", "ID"} & set(parts[2:])
    )
    if "SRC_LABEL" in facts:
        return Layout(
            TableKind.EDGES,
            source=places.get("SRC_ID", 0),
            target=places.get("DST_ID", 1),
            properties=properties,
            source_space=facts["SRC_LABEL"].lower(),
            target_space=facts.get("DST_LABEL", "").lower(),
            relation_name=facts["LABEL"],
            skipped=2,
            is_typed=True,
        )
    return Layout(
        TableKind.NODES,
        id=places.get("ID", 0),
        properties=properties,
        source_space=facts["LABEL"].lower(),
        label=facts["LABEL"],
        skipped=2,
        is_typed=True,
    )


def _with_kinds(layout: Layout, path: Path, dialect: Dialect) -> Layout:
    """Return a layout with the type of each property, told from all its values."""
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


def _needed(layout: Layout) -> tuple[tuple[int, str], ...]:
    """Return the columns that may not be empty, with their names."""
    if layout.kind is TableKind.NODES:
        return ((layout.id, "id"),)
    ends = ((layout.source, "source"), (layout.target, "target"))
    if layout.kind is TableKind.TRIPLES:
        ends = ((layout.source, "subject"), (layout.target, "object"))
        return (*ends, (layout.relation, "relation"))
    return ends


def _fault(
    fields: Sequence[str], layout: Layout, needed: Sequence[tuple[int, str]], width: int
) -> str:
    """Return what is wrong with a row, or ""."""
    short = len(fields) <= max(place for place, _ in needed)
    if short or (len(fields) != width and layout.kind is TableKind.TRIPLES):
        return f"{len(fields)} columns, where {width} are expected"
    if len(fields) > width:
        return f"{len(fields)} columns, where {width} are expected"
    return next((f"the {name} is empty" for place, name in needed if not fields[place]), "")


def _thing(row: Row, layout: Layout) -> ThingRow:
    fields = row.fields
    stated = _field(fields, layout.labels)
    labels = tuple(part.strip() for part in _split_labels(stated) if part.strip())
    names = tuple(fields[place] for place in layout.names if _field(fields, place))
    aliases = (part for place in layout.aliases for part in _several(_field(fields, place)))
    return ThingRow(
        spaced_key(layout.source_space, fields[layout.id]),
        names,
        tuple(aliases),
        labels or ((layout.label,) if layout.label else ()),
        _values(fields, layout.properties),
    )


def _fact(row: Row, layout: Layout) -> FactRow:
    fields = row.fields
    relation = _field(fields, layout.relation) or layout.relation_name
    properties = _values(fields, layout.properties)
    if layout.kind is TableKind.TRIPLES:
        source, target = fields[layout.source], fields[layout.target]
        return FactRow(source, relation, target, properties, are_names=True)
    source = spaced_key(layout.source_space, fields[layout.source])
    target = spaced_key(layout.target_space, fields[layout.target])
    return FactRow(source, relation, target, properties)


def _values(fields: Sequence[str], columns: Sequence[Column]) -> dict[str, PropertyValue]:
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


def _split_labels(text: str) -> list[str]:
    return text.replace("|", ";").replace(":", ";").split(";")


def _several(text: str) -> list[str]:
    for separator in (";", "|", "、"):
        text = text.replace(separator, "\n")
    return [part.strip() for part in text.split("\n") if part.strip()]


def _unknown_columns(columns: Sequence[str]) -> IndexingError:
    listed = ", ".join(f"`{name}`" for name in columns)
    return IndexingError(
        f"What the columns {listed} mean cannot be told.",
        fix="Name them source, relation, target (triples), source, target (edges) or id (nodes).",
    )
