"""The two formats that hold the graph in one document: JSON and GraphML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from lxml import etree

from knotwork.records import Edge
from knotwork.stores.base import Store
from knotwork.stores.export.outline import (
    PROPERTIES,
    ExportedNode,
    ExportReport,
    Outline,
    replace_file,
    replace_text_file,
)

JSON_FORMAT = "knotwork-graph"
JSON_VERSION = 1

GRAPHML_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
_GRAPHML_TYPES = {str: "string", int: "long", bool: "boolean", float: "double"}
_EDGE_PROPERTIES: dict[str, type] = {
    "type": str,
    "relation": str,
    "weight": float,
    "chunks": str,
}
_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_json(store: Store, output: Path) -> ExportReport:
    """Write one JSON object with `nodes` and `edges`, one of them a line."""
    outline = Outline(store)
    with replace_text_file(output) as file:
        file.write(f'{{"format":{json.dumps(JSON_FORMAT)},"version":{JSON_VERSION},\n"nodes":[')
        _write_lines(file, map(_describe_node, outline.nodes()))
        file.write('\n],\n"edges":[')
        _write_lines(file, map(_describe_edge, outline.edges()))
        file.write("\n]}\n")
    return outline.report(output)


def write_graphml(store: Store, output: Path) -> ExportReport:
    """Write GraphML. Characters that XML cannot hold become U+FFFD; `chunks` is joined by spaces.

    Raises OSError where the place cannot be written.
    """
    outline = Outline(store)
    with replace_file(output) as file, etree.xmlfile(file, encoding="utf-8") as xml:
        xml.write_declaration()
        with xml.element("graphml", nsmap={None: GRAPHML_NAMESPACE}):
            for key in _declare_keys():
                xml.write(key)
            with xml.element("graph", edgedefault="directed"):
                for node in outline.nodes():
                    values = {"label": node.label, **node.properties}
                    xml.write(_element("node", {"id": node.id}, "n_", values))
                for number, edge in enumerate(outline.edges()):
                    ends = {"id": f"e{number}", "source": edge.source, "target": edge.target}
                    xml.write(_element("edge", ends, "e_", _edge_values(edge)))
    return outline.report(output)


def _write_lines(file: TextIO, items: Iterable[dict[str, Any]]) -> None:
    separator = "\n"
    for item in items:
        file.write(separator + _dump(item))
        separator = ",\n"


def _describe_node(node: ExportedNode) -> dict[str, Any]:
    properties: dict[str, Any] = dict(node.properties)
    if "metadata" in properties:
        properties["metadata"] = json.loads(properties["metadata"])
    return {"id": node.id, "label": node.label, **properties}


def _describe_edge(edge: Edge) -> dict[str, Any]:
    described: dict[str, Any] = {"source": edge.source, "type": edge.type, "target": edge.target}
    if edge.relation:
        described["relation"] = edge.relation
    return {**described, "weight": edge.weight, "chunks": sorted(edge.chunks)}


def _dump(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _edge_values(edge: Edge) -> dict[str, Any]:
    values: dict[str, Any] = {"type": edge.type, "weight": edge.weight}
    if edge.relation:
        values["relation"] = edge.relation
    if edge.chunks:
        values["chunks"] = " ".join(sorted(edge.chunks))
    return values


def _declare_keys() -> Iterator[etree._Element]:
    """Yield the key of every property; those of nodes begin with `n_`, those of edges with `e_`."""
    nodes: dict[str, type] = {"label": str, **PROPERTIES}
    for prefix, domain, properties in (("n_", "node", nodes), ("e_", "edge", _EDGE_PROPERTIES)):
        for name, kind in properties.items():
            key = etree.Element("key", {"id": f"{prefix}{name}", "for": domain})
            key.set("attr.name", name)
            key.set("attr.type", _GRAPHML_TYPES[kind])
            key.tail = "\n"
            yield key


def _element(
    tag: str, attributes: dict[str, str], prefix: str, values: dict[str, Any]
) -> etree._Element:
    element = etree.Element(tag, attributes)
    for name, value in values.items():
        data = etree.SubElement(element, "data", {"key": f"{prefix}{name}"})
        text = str(value).lower() if isinstance(value, bool) else str(value)
        data.text = _NOT_IN_XML.sub("\ufffd", text)
    element.tail = "\n"
    return element
