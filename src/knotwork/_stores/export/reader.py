"""Read the graph of a store in export order, and replace the output files atomically.

The order is fixed: documents, then sections, then chunks by document id, then entities by id; the
edges by type, source, target and relation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO, TypeVar

from knotwork._durable_files import replace_file
from knotwork._stores.base import Store
from knotwork._stores.graph_view import chunk_node, document_node, entity_node, section_node
from knotwork._stores.resolutions import read_groups
from knotwork.errors import StoreBusy
from knotwork.records import EdgeType, Label, Node, id_to_int, int_to_id

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
        self._keywords = frozenset(self._find_keywords())
        self._node_count = 0
        self._edge_count = 0

    def nodes(self) -> Iterator[ExportRow]:
        """Yield all nodes, with their names and all other properties that have a value."""
        for node, more in self._read_nodes():
            self._node_count += 1
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
        """Return the labels of an edge's source and target."""
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

    def _find_keywords(self) -> Iterator[str]:
        for keys in split_batches(self._entity_keys, BATCH_SIZE):
            for entity in self._store.graph.entities([int_to_id(key) for key in keys]).values():
                if entity.is_keyword:
                    yield entity.id


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
