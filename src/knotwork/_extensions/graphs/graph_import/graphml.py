"""Stream GraphML: nodes, edges and their typed data, including those of nested graphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple
from xml.etree.ElementTree import Element as Tag
from xml.etree.ElementTree import ParseError

from knotwork._extensions.graphs.editable_graph import DEFAULT_RELATION
from knotwork._extensions.graphs.graph_import.formats import (
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


class _Key(NamedTuple):
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
    from defusedxml.common import DefusedXmlException

    del options
    keys: dict[str, _Key] = {}
    count = 0
    with path.open("rb") as file:
        try:
            for tag in _closed_tags(file):
                name = _local(tag)
                if name == "key":
                    keys[tag.get("id", "")] = _declared_key(tag)
                elif name == "hyperedge":
                    yield ReadFault(0, "hyperedges are not supported", tag.get("id", ""))
                elif name in {"node", "edge"}:
                    count += 1
                    if count % _PROGRESS_ELEMENTS == 0:
                        yield ReadBytes(file.tell())
                    yield _node(tag, keys) if name == "node" else _edge(tag, keys)
        except DefusedXmlException as error:
            raise IndexingError(
                f"`{path}` declares a document type or entities, which can hide attacks.",
                fix="Remove the <!DOCTYPE …> declaration.",
            ) from error
        except ParseError as error:
            if not count:
                raise IndexingError(
                    f"`{path}` is not valid XML: {error}.",
                    fix="Export the graph again as GraphML.",
                ) from error
            yield ReadFault(error.position[0], f"invalid XML from here on: {error}")


def _closed_tags(file: BinaryIO) -> Iterator[Tag]:
    """Yield each element with its content when it ends, and free its memory after that."""
    from defusedxml.ElementTree import iterparse

    open_tags: list[Tag] = []
    for event, tag in iterparse(
        file, events=("start", "end"), forbid_dtd=True, forbid_entities=True
    ):
        if event == "start":
            open_tags.append(tag)
            continue
        open_tags.pop()
        yield tag
        if open_tags and _local(tag) not in {"data", "default", "desc"}:
            open_tags[-1].remove(tag)


def _declared_key(tag: Tag) -> _Key:
    default = next((child.text or "" for child in tag if _local(child) == "default"), None)
    name = tag.get("attr.name") or tag.get("yfiles.type") or tag.get("id") or ""
    kind = kind_named(tag.get("attr.type") or "string")
    return _Key(name, kind, tag.get("for", "all"), default)


def _node(tag: Tag, keys: Mapping[str, _Key]) -> EntityRow | ReadFault:
    values = _values(tag, "node", keys)
    labels = _labels(tag.get("labels") or _pop_text(values, _LABELS))
    aliases = _labels(_pop_text(values, _ALIASES))
    key = tag.get("id")
    if not key:
        return ReadFault(0, "a node without an id")
    return EntityRow(key, (), aliases, labels, values)


def _edge(tag: Tag, keys: Mapping[str, _Key]) -> RelationRow | ReadFault:
    values = _values(tag, "edge", keys)
    relation = tag.get("label") or _pop_text(values, _RELATIONS) or DEFAULT_RELATION
    source, target = tag.get("source"), tag.get("target")
    if not source or not target:
        return ReadFault(0, "an edge without source or target")
    return RelationRow(source, relation, target, values)


def _values(tag: Tag, domain: str, keys: Mapping[str, _Key]) -> dict[str, PropertyValue]:
    """Return the data of an element by name, with the declared defaults."""
    values: dict[str, PropertyValue] = {
        key.name: parse_value(key.default, key.kind)
        for key in keys.values()
        if key.default is not None and key.domain in {domain, "all"}
    }
    for child in tag:
        if _local(child) != "data":
            continue
        identity = child.get("key", "")
        key = keys.get(identity) or _Key(identity, "str", domain, None)
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
