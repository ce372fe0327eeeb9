"""Read the Parquet tables of Microsoft GraphRAG.

Three generations of the layout are supported: `create_final_*.parquet` of 0.x, with the members of
communities in a table of nodes; the same file names of 1.x; and `documents.parquet` and so on since
2.0. Renamed columns are read under each of their names.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from knotwork._cancellation import checked
from knotwork._extensions.graphs.foreign_indexes.foreign_index import (
    ForeignClaim,
    ForeignCommunity,
    ForeignDocument,
    ForeignEntity,
    ForeignIndex,
    ForeignRelation,
    ForeignReport,
    ForeignRow,
    ForeignUnit,
    Losses,
    column_ids,
    column_number,
    column_text,
    raw_column_text,
    read_parquet_rows,
)
from knotwork.errors import IndexingError

FORMAT = "graphrag"

_OLDER = "create_final_"
_NO_ROW = frozenset({"", "-1", "none", "nan"})
_COLUMNS = """
    id human_readable_id title name type description text raw_content chunk text_unit_ids
    text_units text_unit_id document_ids document_id entity_ids relationship_ids source target
    weight subject_id object_id status community level parent summary findings rank
    full_content_json
"""
"""The columns that are read; others hold vectors."""
_NEEDED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "documents": (("id",), ("text", "raw_content")),
    "text_units": (("id",), ("text", "chunk")),
    "entities": (("title", "name"),),
    "relationships": (("source",), ("target",)),
}


def is_graphrag(folder: Path) -> bool:
    """Return True if a folder has the tables of Microsoft GraphRAG."""
    return _find(folder, "entities") is not None and _find(folder, "text_units") is not None


def read_graphrag(folder: Path, name: str) -> ForeignIndex:
    """Read all tables of a folder.

    Raises IndexingError if a table is missing, cannot be read or lacks a required column,
    MissingExtra without the extra `parquet`.
    """
    units = _read_table(folder, "text_units")
    index = ForeignIndex(FORMAT, name)
    losses = index.losses
    index.documents = [
        ForeignDocument(
            column_text(row, "id"),
            column_text(row, "title", "id"),
            raw_column_text(row, "text", "raw_content"),
            column_ids(row, "text_unit_ids", "text_units"),
        )
        for row in _read_table(folder, "documents")
    ]
    index.units = _units(units, losses)
    index.entities = _entities(_read_table(folder, "entities"), units, losses)
    index.relations = _relations(_read_table(folder, "relationships"), units, losses)
    index.claims = _claims(_read_table(folder, "covariates"), losses)
    nodes = _read_table(folder, "nodes")
    index.communities = _communities(_read_table(folder, "communities"), nodes, index.entities)
    index.reports = _reports(_read_table(folder, "community_reports"), losses)
    return index


def _find(folder: Path, table: str) -> Path | None:
    paths = (folder / f"{table}.parquet", folder / f"{_OLDER}{table}.parquet")
    return next((path for path in paths if path.is_file()), None)


def _read_table(folder: Path, table: str) -> list[dict[str, Any]]:
    path, needed = _find(folder, table), _NEEDED.get(table, ())
    if path is not None:
        return read_parquet_rows(path, _COLUMNS.split(), needed)
    if not needed:
        return []
    raise IndexingError(
        f"`{folder}` has no `{table}.parquet`, nor `{_OLDER}{table}.parquet`.",
        fix="Give the folder with all tables of Microsoft GraphRAG, such as `output`.",
    )


def _number(row: ForeignRow, place: int) -> int:
    return int(column_number(row, "human_readable_id", place))


def _units(rows: Sequence[ForeignRow], losses: Losses) -> list[ForeignUnit]:
    found: dict[str, ForeignUnit] = {}
    for place, row in checked(enumerate(rows)):
        key, text = column_text(row, "id"), raw_column_text(row, "text", "chunk")
        documents = column_ids(row, "document_ids", "document_id")
        if not text:
            losses["text units", "without text"] += 1
        elif key in found:  # equal text of two documents had one id
            losses["text units", "the same text unit listed again"] += 1
            both = dict.fromkeys((*found[key].document_ids, *documents))
            found[key] = found[key]._replace(text=text, document_ids=tuple(both))
        else:
            found[key] = ForeignUnit(key, _number(row, place), text, documents)
    return list(found.values())


def _entities(
    rows: Sequence[ForeignRow], units: Sequence[ForeignRow], losses: Losses
) -> list[ForeignEntity]:
    listed = _listed_in_units(units, "entity_ids")
    found: list[ForeignEntity] = []
    for place, row in checked(enumerate(rows)):
        name = _unquoted(column_text(row, "title", "name"))
        if not name:
            losses["entities", "without a name"] += 1
            continue
        key = column_text(row, "id") or name
        held = dict.fromkeys((*column_ids(row, "text_unit_ids"), *listed.get(key, ())))
        kind, text = _unquoted(column_text(row, "type")), column_text(row, "description")
        found.append(ForeignEntity(key, _number(row, place), name, kind, text, tuple(held)))
    return found


def _relations(
    rows: Sequence[ForeignRow], units: Sequence[ForeignRow], losses: Losses
) -> list[ForeignRelation]:
    listed = _listed_in_units(units, "relationship_ids")
    found: list[ForeignRelation] = []
    for place, row in checked(enumerate(rows)):
        source, target = (_unquoted(column_text(row, end)) for end in ("source", "target"))
        if not source or not target:
            losses["relations", "an end has no name"] += 1
            continue
        held = column_ids(row, "text_unit_ids") or tuple(listed.get(column_text(row, "id"), ()))
        text, weight = column_text(row, "description"), column_number(row, "weight", 1.0)
        found.append(ForeignRelation(_number(row, place), source, target, text, weight, held))
    return found


def _listed_in_units(units: Iterable[ForeignRow], column: str) -> dict[str, list[str]]:
    """Return the text units by the ids of entities or relations that they list."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for row in units:
        for key in column_ids(row, column):
            found[key].append(column_text(row, "id"))
    return found


def _claims(rows: Sequence[ForeignRow], losses: Losses) -> list[ForeignClaim]:
    found: list[ForeignClaim] = []
    for place, row in checked(enumerate(rows)):
        subject, about = (_unquoted(column_text(row, end)) for end in ("subject_id", "object_id"))
        if subject.casefold() in _NO_ROW:
            losses["claims", "without a subject"] += 1
            continue
        about = "" if about.casefold() in _NO_ROW else about
        kind, text = column_text(row, "type"), column_text(row, "description")
        status, unit = column_text(row, "status").upper(), column_text(row, "text_unit_id")
        found.append(ForeignClaim(_number(row, place), subject, about, kind, text, status, unit))
    return found


def _communities(
    rows: Sequence[ForeignRow], nodes: Sequence[ForeignRow], entities: Sequence[ForeignEntity]
) -> list[ForeignCommunity]:
    """Return the communities; before 1.0 only a table of nodes has their members."""
    ids = {entity.name: entity.id for entity in entities}
    members: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    for node in nodes:
        name, key = _unquoted(column_text(node, "title")), column_text(node, "community")
        if key.casefold() not in _NO_ROW and name in ids:
            members[int(column_number(node, "level")), key].append(ids[name])
    found = []
    for row in rows:
        key, level = column_text(row, "community", "id"), int(column_number(row, "level"))
        parent = column_text(row, "parent")
        held = column_ids(row, "entity_ids") or tuple(dict.fromkeys(members[level, key]))
        above = None if parent.casefold() in _NO_ROW else parent
        found.append(ForeignCommunity(key, level, above, held))
    return _with_parents(sorted(found, key=lambda community: community.level))


def _with_parents(communities: Sequence[ForeignCommunity]) -> list[ForeignCommunity]:
    """Add parents if no table has them: the community above with most of the members."""
    if any(community.parent_id is not None for community in communities):
        return list(communities)
    place: dict[tuple[int, str], str] = {}
    found = []
    for community in communities:
        above = Counter(
            place[community.level - 1, entity]
            for entity in community.entity_ids
            if (community.level - 1, entity) in place
        )
        parent = max(above, key=lambda key: (above[key], key)) if above else None
        found.append(community._replace(parent_id=parent))
        place.update(((community.level, entity), community.id) for entity in community.entity_ids)
    return found


def _reports(rows: Sequence[ForeignRow], losses: Losses) -> list[ForeignReport]:
    found: dict[str, ForeignReport] = {}
    for row in rows:
        key = column_text(row, "community")
        title, summary = column_text(row, "title"), column_text(row, "summary")
        if key in found:
            losses["reports", "a second report of one community"] += 1
        elif not title and not summary:
            losses["reports", "without title and summary"] += 1
        else:
            rank = min(max(column_number(row, "rank"), 0.0), 10.0)
            found[key] = ForeignReport(key, title, summary, _findings(row), rank)
    return list(found.values())


def _findings(row: ForeignRow) -> tuple[tuple[str, str], ...]:
    """Return the findings of the column or, if it is empty, of the report's JSON."""
    value = row.get("findings")
    if isinstance(value, str):
        value = _parsed(value)
    if not value:
        whole = _parsed(column_text(row, "full_content_json"))
        value = whole.get("findings") if isinstance(whole, dict) else None
    if not isinstance(value, Sequence) or isinstance(value, str):
        return ()
    found = (
        (column_text(item, "summary"), column_text(item, "explanation"))
        if isinstance(item, Mapping)
        else (item.strip() if isinstance(item, str) else "", "")
        for item in value
    )
    return tuple(finding for finding in found if any(finding))


def _parsed(text: str) -> Any:  # noqa: ANN401 - whatever the JSON holds
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


def _unquoted(name: str) -> str:
    """Return a name without the quotation marks of some model replies."""
    inner = name[1:-1].strip() if len(name) > 2 and name[0] == name[-1] == '"' else name
    return " ".join(inner.split())
