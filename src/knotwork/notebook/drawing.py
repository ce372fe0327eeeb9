"""A subgraph as a picture, with what it cannot show as a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from knotwork.notebook.layout import place_nodes
from knotwork.notebook.markup import MUTED, Markup, element, join, shorten, table
from knotwork.records import Edge, EdgeType, Node, Subgraph

MOST_NODES = 60
MOST_EDGES = 150
MOST_LABELLED_EDGES = 25
MOST_ROWS = 200
NAME_CHARACTERS = 28

_WIDTH, _HEIGHT, _MARGIN = 720.0, 480.0, 60.0
_COLOURS = ("#4c78a8", "#e4572e", "#54a24b", "#b279a2", "#d8a12a", "#3aa6a6", "#9d755d", "#888888")

Place = tuple[float, float]


def render_subgraph(subgraph: Subgraph) -> Markup:
    """Return the picture of the first nodes, and a table of the relations that can be opened."""
    if not subgraph.nodes:
        return element("div", "No nodes.", style=MUTED)
    nodes = subgraph.nodes[:MOST_NODES]
    shown = {node.id for node in nodes}
    edges = [e for e in subgraph.edges if e.source in shown and e.target in shown][:MOST_EDGES]
    counts = (
        f"{_part(len(nodes), len(subgraph.nodes))} nodes, "
        f"{_part(len(edges), len(subgraph.edges))} relations"
    )
    return element(
        "div",
        _draw(nodes, edges),
        element("div", counts, style=MUTED),
        _list(subgraph),
    )


def _part(shown: int, total: int) -> str:
    return str(total) if shown == total else f"{shown} of {total}"


def _draw(nodes: Sequence[Node], edges: Sequence[Edge]) -> Markup:
    index = {node.id: number for number, node in enumerate(nodes)}
    where = place_nodes(len(nodes), [(index[e.source], index[e.target]) for e in edges])
    places = {
        node.id: (
            round(_MARGIN + float(x) * (_WIDTH - 2 * _MARGIN), 1),
            round(_MARGIN + float(y) * (_HEIGHT - 2 * _MARGIN), 1),
        )
        for node, (x, y) in zip(nodes, where, strict=True)
    }
    degrees = Counter(end for e in edges for end in (e.source, e.target))
    types = Counter(_type(node) for node in nodes)
    ranked = [name for name, _ in sorted(types.items(), key=lambda item: (-item[1], item[0]))]
    colours = {name: _COLOURS[min(rank, len(_COLOURS) - 1)] for rank, name in enumerate(ranked)}
    return element(
        "svg",
        element("title", f"Graph of {len(nodes)} nodes and {len(edges)} relations"),
        *(_draw_edge(edge, places, labelled=len(edges) <= MOST_LABELLED_EDGES) for edge in edges),
        *(_draw_node(node, places[node.id], degrees[node.id], colours) for node in nodes),
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        role="img",
        style=f"width:100%;max-width:{_WIDTH:g}px;font:11px sans-serif;color:inherit",
    )


def _draw_edge(edge: Edge, places: Mapping[str, Place], *, labelled: bool) -> Markup:
    (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
    name = edge.relation or edge.type
    line = element(
        "line",
        element("title", f"{name} ({edge.weight:g})"),
        x1=x1, y1=y1, x2=x2, y2=y2,
        stroke="currentColor",
        stroke_opacity=0.3,
        stroke_width=round(min(1 + math.log1p(max(edge.weight, 0.0)) / 2, 4.0), 2),
        stroke_dasharray="4 3" if edge.type == EdgeType.CO_OCCURS else "none",
    )  # fmt: skip
    if not labelled or edge.source == edge.target or edge.type == EdgeType.CO_OCCURS:
        return line
    label = element(
        "text",
        shorten(name, NAME_CHARACTERS),
        x=round((x1 + x2) / 2, 1),
        y=round((y1 + y2) / 2 - 3, 1),
        text_anchor="middle",
        fill="currentColor",
        fill_opacity=0.6,
        font_size=9,
    )
    return Markup(line + label)


def _draw_node(node: Node, place: Place, degree: int, colours: Mapping[str, str]) -> Markup:
    x, y = place
    kind = _type(node)
    radius = round(min(5 + math.sqrt(degree), 12.0), 1)
    circle = element(
        "circle",
        element("title", f"{node.name} ({kind})" if kind else node.name),
        cx=x, cy=y, r=radius,
        fill=colours[kind],
    )  # fmt: skip
    label = element(
        "text",
        shorten(node.name, NAME_CHARACTERS),
        x=x,
        y=round(y - radius - 3, 1),
        text_anchor=_anchor(x),
        fill="currentColor",
    )
    return Markup(circle + label)


def _anchor(x: float) -> str:
    """Return where a name is held, so that it stays in the picture."""
    if x < 2 * _MARGIN:
        return "start"
    return "end" if x > _WIDTH - 2 * _MARGIN else "middle"


def _type(node: Node) -> str:
    return str(node.properties.get("type", "") or node.label)


def _list(subgraph: Subgraph) -> Markup:
    """Return the relations as a table, and apart from them what only stands in one sentence."""
    names = {node.id: node.name for node in subgraph.nodes}
    together = [edge for edge in subgraph.edges if edge.type == EdgeType.CO_OCCURS]
    stated = [edge for edge in subgraph.edges if edge.type != EdgeType.CO_OCCURS]
    lists = (
        ("Relations", "relation", stated),
        ("Named in one sentence", "", together),
    )
    return join(
        element(
            "details",
            element("summary", title),
            table(
                [
                    (names.get(e.source, e.source), e.relation or e.type,
                     names.get(e.target, e.target), f"{e.weight:g}")
                    for e in edges[:MOST_ROWS]
                ],
                header=("from", relation, "to", "weight"),
            ),
        )
        for title, relation, edges in lists
        if edges
    )  # fmt: skip
