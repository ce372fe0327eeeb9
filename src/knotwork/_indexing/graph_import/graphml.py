"""Stream GraphML: nodes, edges and their typed data, including those of nested graphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from xml.etree.ElementTree import Element as Tag
from xml.etree.ElementTree import ParseError

from knotwork._graph.editable_graph import DEFAULT_RELATION
from knotwork._indexing.graph_import.formats import (
    EntityRow,
    GraphElement,
    ImportOptions,
    ReadBytes,
    ReadFault,
    RelationRow,
    kind_named,
    parse_value,
)
from knotwork.errors import IndexingError
from knotwork.records import PropertyValue

_LABELS = ("labels", "type", "node_type", "entity_type", "category", "class")
_RELATIONS = ("label", "relation", "type", "relationship", "predicate", "edge_type", "name", "key")
_ALIASES = ("alias", "aliases", "altLabel")
_PROGRESS_ELEMENTS = 2_000
_SEPARATORS = re.compile(r"[:;|]")


@dataclass(frozen=True, slots=True)
class _Key:
    """A declared property; ``default`` is its value in elements without it."""

    name: str
    kind: str
    domain: str
    default: str | None


def read_graphml(path: Path, options: ImportOptions) -> Iterator[GraphElement]:
    """Yield the nodes and edges of a file; undirected edges are read from source to target.

    Raises IndexingError if the file declares a document type or entities, or is not XML. An error
    after the first element yields a fault and ends the reading.
    """
    del options
    with path.open("rb") as file:
        yield from _GraphmlReader(file, path).elements()


class _GraphmlReader:
    """Reads one file."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self._path = path
        self._keys: dict[str, _Key] = {}
        self._count = 0

    def elements(self) -> Iterator[GraphElement]:
        from defusedxml.common import DefusedXmlException
        from defusedxml.ElementTree import iterparse

        open_tags: list[Tag] = []
        try:
            for event, tag in iterparse(
                self._file, events=("start", "end"), forbid_dtd=True, forbid_entities=True
            ):
                if event == "start":
                    open_tags.append(tag)
                    continue
                open_tags.pop()
                yield from self._take(tag)
                if open_tags and _local(tag) not in {"data", "default", "desc"}:
                    open_tags[-1].remove(tag)  # frees the memory
        except DefusedXmlException as error:
            raise IndexingError(
                f"`{self._path}` declares a document type or entities, which can hide attacks.",
                fix="Remove the <!DOCTYPE …> declaration.",
            ) from error
        except ParseError as error:
            line = error.position[0]
            if not self._count:
                raise IndexingError(
                    f"`{self._path}` is not valid XML: {error}.",
                    fix="Export the graph again as GraphML.",
                ) from error
            yield ReadFault(line, f"invalid XML from here on: {error}")

    def _take(self, tag: Tag) -> Iterator[GraphElement]:
        name = _local(tag)
        if name == "key":
            self._declare(tag)
        elif name == "node":
            yield from self._progress()
            yield self._node(tag) if tag.get("id") else ReadFault(0, "a node without an id")
        elif name == "edge":
            yield from self._progress()
            ends = tag.get("source"), tag.get("target")
            yield self._edge(tag) if all(ends) else ReadFault(0, "an edge without source or target")
        elif name == "hyperedge":
            yield ReadFault(0, "hyperedges are not supported", tag.get("id", ""))

    def _progress(self) -> Iterator[ReadBytes]:
        """Count an element; yield the position in the file from time to time."""
        self._count += 1
        if self._count % _PROGRESS_ELEMENTS == 0:
            yield ReadBytes(self._file.tell())

    def _declare(self, tag: Tag) -> None:
        key = tag.get("id", "")
        default = next((child.text or "" for child in tag if _local(child) == "default"), None)
        kind = tag.get("attr.type") or "string"
        name = tag.get("attr.name") or tag.get("yfiles.type") or key
        self._keys[key] = _Key(name, kind_named(kind), tag.get("for", "all"), default)

    def _node(self, tag: Tag) -> EntityRow:
        values = self._values(tag, "node")
        labels = _labels(tag.get("labels") or _pop_text(values, _LABELS))
        aliases = _labels(_pop_text(values, _ALIASES))
        return EntityRow(tag.get("id", ""), (), aliases, labels, values)

    def _edge(self, tag: Tag) -> RelationRow:
        values = self._values(tag, "edge")
        relation = tag.get("label") or _pop_text(values, _RELATIONS) or DEFAULT_RELATION
        return RelationRow(tag.get("source", ""), relation, tag.get("target", ""), values)

    def _values(self, tag: Tag, domain: str) -> dict[str, PropertyValue]:
        """Return the data of an element by name, with the declared defaults."""
        values: dict[str, PropertyValue] = {
            key.name: parse_value(key.default, key.kind)
            for key in self._keys.values()
            if key.default is not None and key.domain in {domain, "all"}
        }
        for child in tag:
            if _local(child) != "data":
                continue
            identity = child.get("key", "")
            key = self._keys.get(identity) or _Key(identity, "str", domain, None)
            text = "".join(child.itertext()).strip()
            if text:
                values[key.name] = parse_value(text, key.kind)
        return values


def _pop_text(values: dict[str, PropertyValue], names: tuple[str, ...]) -> str:
    """Remove and return the first of these properties that is text, or ""."""
    for name in names:
        if isinstance(values.get(name), str):
            return str(values.pop(name))
    return ""


def _labels(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in _SEPARATORS.split(text) if part.strip())


def _local(tag: Tag) -> str:
    return str(tag.tag).rpartition("}")[2]
