"""HTML views of answers, evidence, subgraphs and indexing reports.

Text is escaped unless it is `Markup`. The layout of a subgraph is deterministic: the same graph
always looks the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from knotwork._indexing.report import IndexReport
from knotwork._retrieval.query_rows import show_parameters, show_value
from knotwork._text.markdown_parts import to_html
from knotwork._text.visible import make_printable
from knotwork.records import (
    RETRIEVAL_QUERY,
    Answer,
    Citation,
    Edge,
    EdgeType,
    Evidence,
    Hit,
    Node,
    QueryResult,
    Subgraph,
    lead_gap,
)

MOST_HITS = 20
MOST_RESULT_ROWS = 20
MOST_FAILURES = 50
TEXT_CHARACTERS = 1_500
QUOTE_CHARACTERS = 300
_WRAPPED = "white-space:pre-wrap"
_PARAGRAPH = "<p>"


def render(value: object) -> str:
    """Return a value of one of the viewed types as HTML. Raises TypeError for another type."""
    if isinstance(value, Answer):
        return str(render_answer(value))
    if isinstance(value, Evidence):
        return str(render_evidence(value))
    if isinstance(value, Subgraph):
        return str(render_subgraph(value))
    if isinstance(value, IndexReport):
        return str(render_report(value))
    raise TypeError(f"`{type(value).__name__}` has no HTML view.")


def render_answer(answer: Answer) -> Markup:
    """Return an answer with its sources. Without an answer: the reason and the nearest passages."""
    reason = "" if answer.answered else answer.reason.replace("_", " ")
    author = answer.model or "quoted from the documents"
    confidence = ""
    if answer.confidence is not None:
        confidence = f"confidence {answer.confidence:.2f} ({answer.strength}), "
    heading = "Sources" if answer.answered else "Nearest passages"
    return element(
        "div",
        element("div", element("b", answer.question)),
        _render_text(answer),
        *_muted([reason] if reason else []),
        *(
            _render_result(result) if result.source == RETRIEVAL_QUERY else _render_query(result)
            for result in answer.results
        ),
        *([element("div", heading, style=MUTED)] if answer.citations else []),
        *(_render_citation(citation) for citation in answer.citations),
        *_muted([f"{confidence}{answer.mode}, {author}", *answer.notes]),
    )


def _render_text(answer: Answer) -> Markup:
    """Return the text of an answer, after its short answer."""
    html = to_html(make_printable(answer.text))
    if not answer.short:
        return Markup(html)
    gap = lead_gap(answer.text)
    lead = join_markup([element("b", answer.short), gap])
    if gap.isspace() or not html.startswith(_PARAGRAPH):
        return Markup(element("p", lead) + html)
    return Markup(_PARAGRAPH + lead + html.removeprefix(_PARAGRAPH))


def _render_citation(citation: Citation) -> Markup:
    spoken = citation.time.text if citation.time else ""
    box = citation.box.text if citation.box else ""
    parts = [citation.document, citation.section, citation.page, box, spoken]
    place = ", ".join(part for part in parts if part)
    span = f"characters {citation.span.start}-{citation.span.end}"
    return element(
        "div",
        element("div", element("b", f"[{citation.number}] "), f"{place}, {span}"),
        element("div", element("q", shorten(citation.quote, QUOTE_CHARACTERS))),
        style=BORDERED,
    )


def _render_query(result: QueryResult) -> Markup:
    facts = [f"with {bound}"] if (bound := show_parameters(result)) else []
    facts += [f"on {result.place}"] if result.place else []
    statement = element("code", result.statement, style=_WRAPPED)
    return element("div", statement, *_muted(facts))


def render_evidence(evidence: Evidence) -> Markup:
    """Return the passages, each with its best sentences marked and why it was found."""
    facts = f"{evidence.retriever}, confidence {evidence.confidence:.2f}"
    hits = evidence.hits
    total = f"{len(hits)} passages"
    if len(hits) > MOST_HITS:
        total = f"{MOST_HITS} of {total}"
    return element(
        "div",
        element("div", element("b", evidence.query.text)),
        *_muted([f"{total}, {facts}"]),
        *(_render_hit(rank, hit) for rank, hit in enumerate(hits[:MOST_HITS], start=1)),
        *(element("div", path.text, style=BORDERED) for path in evidence.paths[:MOST_RESULT_ROWS]),
        *(_render_result(result) for result in evidence.results),
        *_muted(evidence.notes),
        *_render_trace(evidence.trace),
    )


def _render_trace(lines: Sequence[str]) -> list[Markup]:
    if not lines:
        return []
    steps = (element("div", line) for line in lines)
    return [element("details", element("summary", "Steps"), *steps)]


def _render_hit(rank: int, hit: Hit) -> Markup:
    chunk = hit.chunk
    place = " › ".join(dict.fromkeys(p for p in (chunk.document_title, *chunk.headings) if p))
    scores = " + ".join(f"{name} {value:.3f}" for name, value in hit.scores.items())
    reasons = [f"from the question: {', '.join(hit.seeds)}"] if hit.seeds else []
    reasons += [f"via “{step.entity_name}” in: {step.sentence_text}" for step in hit.path]
    return element(
        "div",
        element(
            "div",
            element("b", f"{rank}. {place or chunk.id}"),
            element("span", f" {hit.score:.3f}", style=MUTED, title=scores),
        ),
        element("div", _mark_sentences(hit), style=_WRAPPED),
        *_muted(reasons),
        style=BORDERED,
    )


def _mark_sentences(hit: Hit) -> Markup:
    """Return the text of a hit with its best sentences marked."""
    start, text = hit.chunk.span.start, hit.chunk.text[:TEXT_CHARACTERS]
    parts: list[str] = []
    done = 0
    for span, _ in sorted(hit.sentences):
        first, last = max(span.start - start, done), min(span.end - start, len(text))
        if first < last:
            parts += [text[done:first], element("mark", text[first:last], style=MARKED)]
            done = last
    rest = "…" if len(hit.chunk.text) > len(text) else ""
    return join_markup([*parts, text[done:], rest])


def _render_result(result: QueryResult) -> Markup:
    rows = [
        [shorten(show_value(value), 200) for value in row] for row in result.rows[:MOST_RESULT_ROWS]
    ]
    is_cut = len(result.rows) > MOST_RESULT_ROWS
    more = [f"{MOST_RESULT_ROWS} of {len(result.rows)} rows"] if is_cut else []
    return element(
        "div",
        _render_query(result),
        table(rows, header=result.columns),
        *_muted(more),
        style=BORDERED,
    )


def render_report(report: IndexReport) -> Markup:
    """Return the counts of an indexing run and the files that could not be read."""
    total = report.seconds.get("total", 0.0)
    counts = [
        ("added", report.added),
        ("changed", report.changed),
        ("unchanged", report.unchanged),
        ("removed", len(report.removed)),
        ("not read", report.failed),
    ]
    index = (
        f"{report.total_documents} documents, {report.total_chunks} chunks, "
        f"{report.total_entities} entities"
    )
    rows = [
        ("Documents", ", ".join(f"{count} {name}" for name, count in counts if count) or "none"),
        ("Index", index),
        ("Embedder", report.embedder or "none"),
        *([("Time", f"{total:.1f} s")] if total else []),
        *([("Stopped", "early; the next run continues")] if report.interrupted else []),
    ]
    failures = [(f.uri, f.reason, f.message) for f in report.failures[:MOST_FAILURES]]
    listed = [table(failures, header=("file", "reason", "message"))] if failures else []
    return element("div", table(rows), *listed, *_muted(report.notes))


def _muted(lines: Sequence[str]) -> list[Markup]:
    return [element("div", line, style=MUTED) for line in lines]


MOST_NODES = 60
MOST_EDGES = 150
MOST_LABELLED_EDGES = 25
MOST_RELATIONS = 200
NAME_CHARACTERS = 28

_WIDTH, _HEIGHT, _MARGIN = 720.0, 480.0, 60.0
_NODE_COLOURS = (
    "#4c78a8",
    "#e4572e",
    "#54a24b",
    "#b279a2",
    "#d8a12a",
    "#3aa6a6",
    "#9d755d",
    "#888888",
)

Point = tuple[float, float]


def render_subgraph(subgraph: Subgraph) -> Markup:
    """Return a drawing of the first `MOST_NODES` nodes, and folded tables of the relations."""
    if not subgraph.nodes:
        return element("div", "No nodes.", style=MUTED)
    nodes = subgraph.nodes[:MOST_NODES]
    shown = {node.id for node in nodes}
    edges = [e for e in subgraph.edges if e.source in shown and e.target in shown][:MOST_EDGES]
    counts = (
        f"{_shown_of_total(len(nodes), len(subgraph.nodes))} nodes, "
        f"{_shown_of_total(len(edges), len(subgraph.edges))} relations"
    )
    return element(
        "div",
        _draw_graph(nodes, edges),
        element("div", counts, style=MUTED),
        _list_relations(subgraph),
    )


def _shown_of_total(shown: int, total: int) -> str:
    return str(total) if shown == total else f"{shown} of {total}"


def _draw_graph(nodes: Sequence[Node], edges: Sequence[Edge]) -> Markup:
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
    types = Counter(node.type for node in nodes)
    ranked = [name for name, _ in sorted(types.items(), key=lambda item: (-item[1], item[0]))]
    colours = {
        name: _NODE_COLOURS[min(rank, len(_NODE_COLOURS) - 1)] for rank, name in enumerate(ranked)
    }
    return element(
        "svg",
        element("title", f"Graph of {len(nodes)} nodes and {len(edges)} relations"),
        *(_draw_edge(edge, places, labelled=len(edges) <= MOST_LABELLED_EDGES) for edge in edges),
        *(_draw_node(node, places[node.id], degrees[node.id], colours) for node in nodes),
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        role="img",
        style=f"width:100%;max-width:{_WIDTH:g}px;font:11px sans-serif;color:inherit",
    )


def _draw_edge(edge: Edge, places: Mapping[str, Point], *, labelled: bool) -> Markup:
    (x1, y1), (x2, y2) = places[edge.source], places[edge.target]
    name = edge.name
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


def _draw_node(node: Node, place: Point, degree: int, colours: Mapping[str, str]) -> Markup:
    x, y = place
    kind = node.type
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
        text_anchor=_text_anchor(x),
        fill="currentColor",
    )
    return Markup(circle + label)


def _text_anchor(x: float) -> str:
    """Return the SVG text anchor that keeps a name at ``x`` inside the drawing."""
    if x < 2 * _MARGIN:
        return "start"
    return "end" if x > _WIDTH - 2 * _MARGIN else "middle"


def _list_relations(subgraph: Subgraph) -> Markup:
    """Return a table of the stated relations, and one of the co-occurrences."""
    names = {node.id: node.name for node in subgraph.nodes}
    co_occurring = [edge for edge in subgraph.edges if edge.type == EdgeType.CO_OCCURS]
    stated = [edge for edge in subgraph.edges if edge.type != EdgeType.CO_OCCURS]
    lists = (
        ("Relations", "relation", stated),
        ("Co-occurrences", "", co_occurring),
    )
    return join_markup(
        element(
            "details",
            element("summary", title),
            table(
                [
                    (names.get(e.source, e.source), e.name,
                     names.get(e.target, e.target), f"{e.weight:g}")
                    for e in edges[:MOST_RELATIONS]
                ],
                header=("from", relation, "to", "weight"),
            ),
        )
        for title, relation, edges in lists
        if edges
    )  # fmt: skip


LAYOUT_STEPS = 200
_FIRST_MOVE = 0.12
_GRAVITY = 0.06
_NEAREST = 1e-3


def place_nodes(count: int, edges: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Return (count, 2) positions in [0, 1] that place neighbours near each other.

    A force-directed layout (Fruchterman and Reingold, 1991): springs between neighbours, repulsion
    between all nodes, and a pull to the centre that keeps disconnected parts together. It is
    deterministic and starts from a spiral in the order of the nodes. Time is quadratic in
    ``count``: use it for up to a few hundred nodes.
    """
    if count == 0:
        return np.zeros((0, 2))
    turns = np.arange(count) * math.pi * (3 - math.sqrt(5))
    radii = 0.5 * np.sqrt((np.arange(count) + 0.5) / count)
    places = np.stack([radii * np.cos(turns), radii * np.sin(turns)], axis=1)
    pairs = np.array([pair for pair in edges if pair[0] != pair[1]], dtype=np.int64).reshape(-1, 2)
    ideal = math.sqrt(1 / count)
    for step in range(LAYOUT_STEPS):
        apart = places[:, None, :] - places[None, :, :]
        squares = np.maximum((apart**2).sum(axis=2), _NEAREST**2)
        moves = (apart * (ideal**2 / squares)[:, :, None]).sum(axis=1) - _GRAVITY * places / ideal
        spans = places[pairs[:, 0]] - places[pairs[:, 1]]
        pull = spans * (np.hypot(*spans.T) / ideal)[:, None]
        np.subtract.at(moves, pairs[:, 0], pull)
        np.add.at(moves, pairs[:, 1], pull)
        lengths = np.maximum(np.hypot(*moves.T), _NEAREST)[:, None]
        most = _FIRST_MOVE * (1 - step / LAYOUT_STEPS)
        places += moves / lengths * np.minimum(lengths, most)
    low, high = places.min(axis=0), places.max(axis=0)
    wide = np.where(high - low > _NEAREST, high - low, np.inf)
    # Stretched to the unit square; a single position is in its centre.
    fitted = np.where(np.isinf(wide), 0.5, (places - low) / wide)
    return np.asarray(fitted, dtype=np.float64)


MUTED = "opacity:.65"
BORDERED = "border-left:3px solid #8886;padding-left:.7em;margin:.5em 0"
MARKED = "background:#fd06;color:inherit"


class Markup(str):
    """Text that is already HTML and is not escaped again."""

    __slots__ = ()


Content = str | Markup


def element(name: str, *content: Content, **attributes: str | float) -> Markup:
    """Return an HTML element; ``_`` in the name of an attribute becomes ``-``."""
    given = "".join(
        f' {key.strip("_").replace("_", "-")}="{_escape(str(value))}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{given}>{join_markup(content)}</{name}>")


def join_markup(parts: Iterable[Content]) -> Markup:
    """Join pieces to one markup; plain text is escaped."""
    return Markup("".join(part if isinstance(part, Markup) else _escape(part) for part in parts))


def table(rows: Iterable[Iterable[Content]], header: Iterable[str] = ()) -> Markup:
    """Return an HTML table, with a header row if ``header`` has names."""
    cell = "text-align:left;padding:.1em .8em .1em 0;vertical-align:top"
    lines = [[element("th", name, style=cell) for name in header]] if header else []
    lines += [[element("td", value, style=cell) for value in row] for row in rows]
    body = [element("tr", *line) for line in lines]
    return element("table", *body, style="border-collapse:collapse")


def shorten(text: str, most: int) -> str:
    """Return a text cut to at most ``most`` characters, with an ellipsis if it was longer."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _escape(text: str) -> str:
    """Escape markup, and replace characters that change how the surrounding text is shown."""
    return escape(make_printable(text), quote=True)
