"""What the columns of a table mean: triples, nodes or edges, told from the header or the values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class TableKind(StrEnum):
    """What a row of a table is."""

    TRIPLES = "triples"
    NODES = "nodes"
    EDGES = "edges"


@dataclass(frozen=True, slots=True)
class Column:
    """A column that holds a property; ``kind`` is "" where no type is declared."""

    place: int
    name: str
    kind: str = ""
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """Where in a row what stands; places are -1 for what is not there.

    ``source``, ``relation`` and ``target`` are those of triples and edges, ``id`` and ``labels`` of
    nodes. Ids count within a space, such as the type of the nodes. ``relation_name`` and ``label``
    hold for all rows without one of their own. ``skipped`` rows are at the top.
    """

    kind: TableKind
    source: int = -1
    relation: int = -1
    target: int = -1
    id: int = -1
    labels: int = -1
    names: tuple[int, ...] = ()
    aliases: tuple[int, ...] = ()
    properties: tuple[Column, ...] = ()
    source_space: str = ""
    target_space: str = ""
    relation_name: str = ""
    label: str = ""
    skipped: int = 0
    is_typed: bool = False


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
_NEO4J = re.compile(
    r"(?P<name>[^:]*):(?P<role>ID|START_ID|END_ID|TYPE|LABEL|IGNORE)(?:\((?P<space>[^)]*)\))?"
    r"(?:\{.*\})?",
    re.IGNORECASE,
)
_DECLARED = re.compile(r"(?P<name>[^:]+):(?P<kind>[A-Za-z0-9]+)(?P<list>\[\])?(?:\{.*\})?(?::.*)?")
_OWNED_ID = re.compile(r"(?P<space>[^.]+)\.id", re.IGNORECASE)


def fold(name: str) -> str:
    """Return the name of a column as it is compared."""
    return re.sub(r"[\s\-]+", "_", name.strip().lower())


def layout_of_header(header: Sequence[str], *, stem: str, kind: str = "") -> Layout | None:
    """Return the layout that a header states; None where it is none that is known.

    ``stem`` is the name of the file, ``kind`` what the table is known to be.
    """
    if any(_NEO4J.fullmatch(cell) for cell in header):
        return _neo4j_layout(header, stem)
    owned = [match["space"] for match in map(_OWNED_ID.fullmatch, header[:2]) if match]
    if len(owned) == 2:
        return Layout(
            TableKind.EDGES,
            source=0,
            target=1,
            source_space=owned[0].lower(),
            target_space=owned[1].lower(),
            relation_name=_between(stem, owned[0], owned[1]),
            properties=_properties(header, {0, 1}),
        )
    folded = [fold(cell) for cell in header]
    source, target = _first(folded, "source"), _first(folded, "target")
    if source >= 0 and target >= 0 and source != target and kind != TableKind.NODES:
        return _edge_layout(header, folded, source, target, stem)
    if _first(folded, "id") >= 0 or kind == TableKind.NODES or _first(folded, "name") >= 0:
        return _node_layout(header, folded, stem)
    return None


def layout_of_values(width: int, *, stem: str, kind: str = "", skipped: int = 0) -> Layout:
    """Return the layout of a table without a header: three columns are triples, two edges."""
    if width >= 3 and kind in {"", TableKind.TRIPLES}:
        extra = tuple(Column(place, f"column {place + 1}") for place in range(3, width))
        return Layout(
            TableKind.TRIPLES, source=0, relation=1, target=2, properties=extra, skipped=skipped
        )
    if width >= 2 and kind != TableKind.NODES:
        extra = tuple(Column(place, f"column {place + 1}") for place in range(2, width))
        return Layout(
            TableKind.EDGES,
            source=0,
            target=1,
            relation_name=stem,
            properties=extra,
            skipped=skipped,
        )
    extra = tuple(Column(place, f"column {place + 1}") for place in range(1, width))
    return Layout(TableKind.NODES, id=0, properties=extra, skipped=skipped)


def _edge_layout(
    header: Sequence[str], folded: Sequence[str], source: int, target: int, stem: str
) -> Layout:
    used = {source, target}
    relation = next(
        (p for p, name in enumerate(folded) if name in _WORDS["relation"] and p not in used), -1
    )
    if relation >= 0:
        used.add(relation)
    # Three columns with a relation between two names are triples; else they name rows of nodes.
    by_id = folded[source].endswith("id") or folded[target].endswith("id")
    kind = TableKind.TRIPLES if relation >= 0 and not by_id else TableKind.EDGES
    return Layout(
        kind,
        source=source,
        relation=relation,
        target=target,
        relation_name=stem,
        properties=_properties(header, used),
    )


def _node_layout(header: Sequence[str], folded: Sequence[str], stem: str) -> Layout:
    place = _first(folded, "id")
    if place < 0:
        place = max(_first(folded, "name"), 0)
    labels = next(
        (p for p, name in enumerate(folded) if name in _WORDS["label"] and p != place), -1
    )
    aliases = tuple(p for p, name in enumerate(folded) if name in _WORDS["alias"])
    space = _stem_space(stem)
    return Layout(
        TableKind.NODES,
        id=place,
        labels=labels,
        aliases=aliases,
        properties=_properties(header, {labels, *aliases}),
        source_space=space.lower(),
        label=space[:1].upper() + space[1:],
    )


def _neo4j_layout(header: Sequence[str], stem: str) -> Layout:
    """Return the layout of a header as Neo4j's importer reads it: `:ID`, `:START_ID`, `:TYPE`."""
    roles: dict[str, int] = {}
    spaces: dict[str, str] = {}
    properties: list[Column] = []
    for place, cell in enumerate(header):
        match = _NEO4J.fullmatch(cell)
        if match is None:
            properties.append(_column(place, cell, fallback="str"))
            continue
        role = match["role"].upper()
        roles.setdefault(role, place)
        spaces[role] = (match["space"] or "").lower()
        if match["name"] and role in {"ID", "TYPE"}:
            properties.append(Column(place, match["name"], "str"))
    if "START_ID" in roles and "END_ID" in roles:
        return Layout(
            TableKind.EDGES,
            source=roles["START_ID"],
            relation=roles.get("TYPE", -1),
            target=roles["END_ID"],
            properties=tuple(properties),
            source_space=spaces["START_ID"],
            target_space=spaces["END_ID"],
            relation_name=stem,
            is_typed=True,
        )
    return Layout(
        TableKind.NODES,
        id=roles.get("ID", 0),
        labels=roles.get("LABEL", -1),
        properties=tuple(properties),
        source_space=spaces.get("ID", ""),
        label="" if "LABEL" in roles else stem,
        is_typed=True,
    )


def _properties(header: Sequence[str], used: set[int]) -> tuple[Column, ...]:
    return tuple(
        _column(place, cell) for place, cell in enumerate(header) if place not in used and cell
    )


def _column(place: int, cell: str, *, fallback: str = "") -> Column:
    match = _DECLARED.fullmatch(cell)
    if match is None or match["kind"].lower() not in _WORDS["type"]:
        return Column(place, cell.strip(), fallback)
    return Column(place, match["name"].strip(), match["kind"].lower(), bool(match["list"]))


def _first(folded: Sequence[str], role: str) -> int:
    return next((place for place, name in enumerate(folded) if name in _WORDS[role]), -1)


def _stem_space(stem: str) -> str:
    """Return the type of nodes that a file is named after: "person" of "person_0_0"."""
    bare = re.sub(r"^(?:.*[_.\-])?(?:vertex|nodes?)[_.\-]|(?:[_.\-](?:\d+|nodes?))+$", "", stem)
    return "" if bare.lower() in _WORDS["any node"] else bare


def _between(stem: str, source: str, target: str) -> str:
    """Return the relation that a file is named after: knows of "person_knows_person_0_0"."""
    pattern = rf"{re.escape(source)}_(.+)_{re.escape(target)}(?:_\d+)*"
    match = re.fullmatch(pattern, stem, re.IGNORECASE)
    return match[1] if match else stem
