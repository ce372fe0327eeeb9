"""Evidence, answers and reports of indexing as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from knotwork.indexing.report import IndexReport
from knotwork.notebook.drawing import render_subgraph
from knotwork.notebook.markup import BORDERED, MARKED, MUTED, Markup, element, join, shorten, table
from knotwork.records import (
    RETRIEVAL_QUERY,
    Answer,
    Citation,
    Evidence,
    Hit,
    QueryResult,
    Subgraph,
)
from knotwork.retrieval.queries.showing import show_parameters, show_value

MOST_HITS = 20
MOST_ROWS = 20
MOST_FAILURES = 50
TEXT_CHARACTERS = 1_500
_WRAPPED = "white-space:pre-wrap"


def render(value: object) -> str:
    """Return one of the types that are shown as HTML. Raises TypeError for another."""
    if isinstance(value, Answer):
        return str(render_answer(value))
    if isinstance(value, Evidence):
        return str(render_evidence(value))
    if isinstance(value, Subgraph):
        return str(render_subgraph(value))
    if isinstance(value, IndexReport):
        return str(render_report(value))
    raise TypeError(f"There is no view of `{type(value).__name__}`.")


def render_answer(answer: Answer) -> Markup:
    """Return the answer with its sources, or why there is none with the nearest passages."""
    why = "" if answer.answered else answer.reason.replace("_", " ")
    made = answer.model or "quoted from the documents"
    sure = ""
    if answer.confidence is not None:
        sure = f"confidence {answer.confidence:.2f} ({answer.strength}), "
    heading = "Sources" if answer.answered else "The nearest passages"
    return element(
        "div",
        element("div", element("b", answer.question)),
        element("p", *_bold(answer.short), answer.text, style=_WRAPPED),
        *_muted([why] if why else []),
        *(
            _render_result(result) if result.source == RETRIEVAL_QUERY else _render_query(result)
            for result in answer.results
        ),
        *([element("div", heading, style=MUTED)] if answer.citations else []),
        *(_render_citation(citation) for citation in answer.citations),
        *_muted([f"{sure}{answer.mode}, {made}", *answer.notes]),
    )


def _bold(short: str) -> list[Markup | str]:
    return [element("b", short), " — "] if short else []


def _render_citation(citation: Citation) -> Markup:
    parts = [citation.document, citation.section, citation.page]
    place = ", ".join(part for part in parts if part)
    span = f"characters {citation.span.start}-{citation.span.end}"
    return element(
        "div",
        element("div", element("b", f"[{citation.number}] "), f"{place}, {span}"),
        element("div", element("q", shorten(citation.quote, TEXT_CHARACTERS))),
        style=BORDERED,
    )


def _render_query(result: QueryResult) -> Markup:
    facts = [f"with {bound}"] if (bound := show_parameters(result)) else []
    facts += [f"on {result.place}"] if result.place else []
    statement = element("code", result.statement, style=_WRAPPED)
    return element("div", statement, *_muted(facts))


def render_evidence(evidence: Evidence) -> Markup:
    """Return the passages with the best sentences marked, and why each is there."""
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
        *(element("div", path.text, style=BORDERED) for path in evidence.paths[:MOST_ROWS]),
        *(_render_result(result) for result in evidence.results),
        *_muted(evidence.notes),
        *_fold("Steps", evidence.trace),
    )


def _render_hit(rank: int, hit: Hit) -> Markup:
    chunk = hit.chunk
    place = " › ".join(dict.fromkeys(p for p in (chunk.document_title, *chunk.headings) if p))
    scores = " + ".join(f"{name} {value:.3f}" for name, value in hit.scores.items())
    because = [f"from the question: {', '.join(hit.seeds)}"] if hit.seeds else []
    because += [f"over “{step.entity_name}” in: {step.sentence_text}" for step in hit.path]
    return element(
        "div",
        element(
            "div",
            element("b", f"{rank}. {place or chunk.id}"),
            element("span", f" {hit.score:.3f}", style=MUTED, title=scores),
        ),
        element("div", _mark_sentences(hit), style=_WRAPPED),
        *_muted(because),
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
    return join([*parts, text[done:], rest])


def _render_result(result: QueryResult) -> Markup:
    rows = [[shorten(show_value(value), 200) for value in row] for row in result.rows[:MOST_ROWS]]
    more = [] if len(result.rows) <= MOST_ROWS else [f"{MOST_ROWS} of {len(result.rows)} rows"]
    return element(
        "div",
        _render_query(result),
        table(rows, header=result.columns),
        *_muted(more),
        style=BORDERED,
    )


def render_report(report: IndexReport) -> Markup:
    """Return the counts of a run, and which files could not be read."""
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
        *([("Stopped", "before all was done; the next run goes on")] if report.interrupted else []),
    ]
    failures = [(f.uri, f.reason, f.message) for f in report.failures[:MOST_FAILURES]]
    listed = [table(failures, header=("not read", "reason", "what it says"))] if failures else []
    return element("div", table(rows), *listed, *_muted(report.notes))


def _muted(lines: Sequence[str]) -> list[Markup]:
    return [element("div", line, style=MUTED) for line in lines]


def _fold(name: str, lines: Sequence[str]) -> list[Markup]:
    if not lines:
        return []
    return [element("details", element("summary", name), *(element("div", x) for x in lines))]
