"""Read the working directory of LightRAG with its default storages.

Documents and chunks are JSON objects by id; the graph is GraphML with one key per property. Lists
of chunks in the graph are truncated; newer versions store complete lists in separate files, which
are read if present. Vectors belong to another embedder and are not imported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lxml import etree

from knotwork._cancellation import checked
from knotwork._extensions.graphs.foreign_indexes.foreign_index import (
    ForeignDocument,
    ForeignEntity,
    ForeignIndex,
    ForeignRelation,
    ForeignUnit,
    Losses,
    column_number,
    column_text,
    raw_column_text,
    read_json,
)
from knotwork.errors import IndexingError

FORMAT = "lightrag"

GRAPH = "graph_chunk_entity_relation.graphml"
_DOCUMENTS = "kv_store_full_docs.json"
_CHUNKS = "kv_store_text_chunks.json"
_ENTITY_CHUNKS = "kv_store_entity_chunks.json"
_RELATION_CHUNKS = "kv_store_relation_chunks.json"
_STATUS = "kv_store_doc_status.json"
_SEPARATOR = "<SEP>"
_NO_PATH = frozenset({"", "unknown_source", "no-file-path"})


def is_lightrag(folder: Path) -> bool:
    """Return True if a folder is a working directory of LightRAG."""
    return (folder / GRAPH).is_file() or (folder / _CHUNKS).is_file()


def read_lightrag(folder: Path, name: str) -> ForeignIndex:
    """Read documents, chunks and graph. Raises IndexingError if a file is missing or invalid."""
    for needed in (_DOCUMENTS, _CHUNKS, GRAPH):
        if not (folder / needed).is_file():
            raise IndexingError(
                f"`{folder}` has no `{needed}`.",
                fix="Give a working directory of LightRAG with its default storages.",
            )
    losses = Losses()
    units = _units(_objects(folder / _CHUNKS), losses)
    paths = _objects(folder / _STATUS) if (folder / _STATUS).is_file() else {}
    documents = _documents(_objects(folder / _DOCUMENTS), paths, units)
    nodes, edges = _read_graph(folder / GRAPH)
    entities = _entities(nodes, _chunk_lists(folder / _ENTITY_CHUNKS), losses)
    relations = _relations(edges, _chunk_lists(folder / _RELATION_CHUNKS))
    return ForeignIndex(FORMAT, name, documents, units, entities, relations, losses=losses)


def _objects(path: Path) -> dict[str, Mapping[str, Any]]:
    return {key: row for key, row in read_json(path).items() if isinstance(row, Mapping)}


def _chunk_lists(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the complete chunk lists of entities or relations, if the version stores them."""
    if not path.is_file():
        return {}
    return {
        key: tuple(str(chunk) for chunk in row.get("chunk_ids") or ())
        for key, row in _objects(path).items()
    }


def _units(rows: Mapping[str, Mapping[str, Any]], losses: Losses) -> list[ForeignUnit]:
    found: list[ForeignUnit] = []
    for key, row in rows.items():
        text, document = raw_column_text(row, "content"), column_text(row, "full_doc_id")
        if text:
            number = int(column_number(row, "chunk_order_index", len(found)))
            found.append(ForeignUnit(key, number, text, (document,) if document else ()))
        else:
            losses["text units", "without text"] += 1
    return found


def _documents(
    rows: Mapping[str, Mapping[str, Any]],
    paths: Mapping[str, Mapping[str, Any]],
    units: Sequence[ForeignUnit],
) -> list[ForeignDocument]:
    held: defaultdict[str, list[ForeignUnit]] = defaultdict(list)
    for unit in units:
        for document in unit.document_ids:
            held[document].append(unit)
    found = []
    for key, row in rows.items():
        path = column_text(row, "file_path") or column_text(paths.get(key, {}), "file_path")
        title = key if path in _NO_PATH else path.rsplit("/", 1)[-1]
        ordered = sorted(held[key], key=lambda unit: unit.number)
        ids = tuple(unit.id for unit in ordered)
        found.append(ForeignDocument(key, title, raw_column_text(row, "content"), ids))
    return found


def _read_graph(
    path: Path,
) -> tuple[dict[str, dict[str, str]], list[tuple[str, str, dict[str, str]]]]:
    """Return the properties of the nodes by id, and of the edges with their ends."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    try:
        root = etree.parse(str(path), parser).getroot()
    except (OSError, etree.XMLSyntaxError) as error:
        raise IndexingError(
            f"`{path}` cannot be read as GraphML: {error}.",
            fix="Copy the file again.",
        ) from error
    names = {key.get("id", ""): key.get("attr.name", "") for key in root.iter("{*}key")}
    nodes = {
        str(node.get("id")): _properties(node, names)
        for node in root.iter("{*}node")
        if node.get("id")
    }
    edges = [
        (str(edge.get("source", "")), str(edge.get("target", "")), _properties(edge, names))
        for edge in root.iter("{*}edge")
    ]
    return nodes, edges


def _properties(element: etree._Element, names: Mapping[str, str]) -> dict[str, str]:
    return {names.get(data.get("key", ""), ""): data.text or "" for data in element.iter("{*}data")}


def _entities(
    nodes: Mapping[str, Mapping[str, str]],
    chunks: Mapping[str, tuple[str, ...]],
    losses: Losses,
) -> list[ForeignEntity]:
    found: list[ForeignEntity] = []
    for place, (key, row) in checked(enumerate(nodes.items())):
        name = plain_name(key)
        if not name:
            losses["entities", "without a name"] += 1
            continue
        units = tuple(dict.fromkeys((*_parts(row.get("source_id", "")), *chunks.get(key, ()))))
        kind, text = plain_name(row.get("entity_type", "")), _description_text(row)
        found.append(ForeignEntity(key, place, name, kind, text, units))
    return found


def _relations(
    edges: Iterable[tuple[str, str, Mapping[str, str]]], chunks: Mapping[str, tuple[str, ...]]
) -> list[ForeignRelation]:
    found = []
    for place, (source, target, row) in checked(enumerate(edges)):
        whole = chunks.get(_SEPARATOR.join(sorted((source, target))), ())
        units = tuple(dict.fromkeys((*_parts(row.get("source_id", "")), *whole)))
        keywords = _parts(row.get("keywords", ""))
        label = keywords[0].split(",")[0].strip(' "') if keywords else ""
        one, other = plain_name(source), plain_name(target)
        text, weight = _description_text(row), column_number(row, "weight", 1.0)
        found.append(ForeignRelation(place, one, other, text, weight, units, label, directed=False))
    return found


def _description_text(row: Mapping[str, str]) -> str:
    parts = [part.strip().strip('"') for part in _parts(row.get("description", ""))]
    return "\n".join(dict.fromkeys(part for part in parts if part))


def _parts(joined: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in joined.split(_SEPARATOR) if part.strip())


def plain_name(name: str) -> str:
    """Return a name without the quotation marks of early versions."""
    return " ".join(name.strip().strip('"').split())
