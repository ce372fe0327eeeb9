"""Stream GraphML: nodes, edges and their typed data; nested graphs are read with the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from xml.etree.ElementTree import Element as Tag
from xml.etree.ElementTree import ParseError

from knotwork.errors import IndexingError
from knotwork.indexing.graph_import.formats import (
    EntityRow,
    GraphElement,
    ImportOptions,
    ReadBytes,
    ReadFault,
    RelationRow,
    kind_named,
    parse_value,
)
from knotwork.records import PropertyValue

_LABELS = ("labels", "type", "node_type", "entity_type", "category", "class")
_RELATIONS = ("label", "relation", "type", "relationship", "predicate", "edge_type", "name", "key")
_ALIASES = ("alias", "aliases", "altLabel")
_DEFAULT_RELATION = "is connected to"
_TOLD_EVERY = 2_000
_SEPARATORS = re.compile(r"[:;|]")


@dataclass(frozen=True, slots=True)
class _Key:
    """A declared property; ``default`` is its value where an element has none."""

    name: str
    kind: str
    domain: str
    default: str | None


def read_graphml(path: Path, options: ImportOptions) -> Iterator[GraphElement]:
    """Yield the nodes and edges of a file; undirected edges go from their source to their target.

    Declarations of entities and document types are refused. Raises IndexingError where the file is
    no XML from its beginning; what is read before a later error stays, with a complaint.
    """
    del options
    with path.open("rb") as file:
        yield from _Reading(file, path).elements()


class _Reading:
    """One file on its way."""

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
                    open_tags[-1].remove(tag)  # what was taken over is not kept in memory
        except DefusedXmlException as error:
            raise IndexingError(
                f"`{self._path}` declares a document type or entities, which can hide attacks.",
                fix="Take the <!DOCTYPE …> out of it.",
            ) from error
        except ParseError as error:
            line = error.position[0]
            if not self._count:
                raise IndexingError(
                    f"`{self._path}` is no XML: {error}.", fix="Write it anew as GraphML."
                ) from error
            yield ReadFault(line, f"no XML from here on: {error}")

    def _take(self, tag: Tag) -> Iterator[GraphElement]:
        name = _local(tag)
        if name == "key":
            self._declare(tag)
        elif name == "node":
            yield from self._told()
            yield self._node(tag) if tag.get("id") else ReadFault(0, "a node without an id")
        elif name == "edge":
            yield from self._told()
            ends = tag.get("source"), tag.get("target")
            yield self._edge(tag) if all(ends) else ReadFault(0, "an edge without both its ends")
        elif name == "hyperedge":
            yield ReadFault(0, "a hyperedge: an edge has two ends", tag.get("id", ""))

    def _told(self) -> Iterator[ReadBytes]:
        self._count += 1
        if self._count % _TOLD_EVERY == 0:
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
        relation = tag.get("label") or _pop_text(values, _RELATIONS) or _DEFAULT_RELATION
        return RelationRow(tag.get("source", ""), relation, tag.get("target", ""), values)

    def _values(self, tag: Tag, domain: str) -> dict[str, PropertyValue]:
        """Return the data of an element by name, with the defaults that its kind declares."""
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
    """Take the first of these properties out that holds text."""
    for name in names:
        if isinstance(values.get(name), str):
            return str(values.pop(name))
    return ""


def _labels(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in _SEPARATORS.split(text) if part.strip())


def _local(tag: Tag) -> str:
    return str(tag.tag).rpartition("}")[2]
