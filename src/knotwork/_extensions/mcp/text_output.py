"""Format tool results as text, for clients that ignore structured output."""

from __future__ import annotations

from collections.abc import Iterable

from knotwork._extensions.mcp import schemas
from knotwork.records import RETRIEVAL_QUERY
from knotwork.records._evidence import lead_gap

PASSAGE_CHARACTERS = 700
FEWEST_CHARACTERS = 160
ALL_PASSAGES_CHARACTERS = 12_000
"""Limit for all passages of one result; with many, each is cut. The object has the full text."""

SUBGRAPH_CHARACTERS = 6_000
"""Limit for the text of a subgraph. The object has all of it."""

MOST_LINES = 60


def format_passages(found: schemas.SearchResult) -> str:
    """Return the numbered passages with their positions, then paths, rows and notes."""
    if not (found.passages or found.paths or found.results):
        return "\n".join(["Nothing was found.", *found.notes])
    share = ALL_PASSAGES_CHARACTERS // max(len(found.passages), 1)
    most = min(max(share, FEWEST_CHARACTERS), PASSAGE_CHARACTERS)
    parts = [
        f"[{number}] {_location(item.document, item.section)}, characters {item.start}-{item.end}\n"
        f"{_shorten(item.text, most)}"
        for number, item in enumerate(found.passages, start=1)
    ]
    parts += [f"Path: {path.text}" for path in found.paths]
    parts += [format_rows(rows) for rows in found.results]
    return "\n\n".join([*parts, *found.notes])


def format_answer(reply: schemas.AnswerResult) -> str:
    """Return the answer with its confidence, queries and sources."""
    lead = f"{reply.short}{lead_gap(reply.text)}" if reply.short else ""
    lines = [lead + reply.text, ""]
    if not reply.answered and reply.reason:
        lines.append(f"Reason: {reply.reason}")
    if reply.answered and reply.confidence is not None:
        lines.append(f"Confidence: {reply.confidence:.2f} ({reply.strength})")
    for rows in reply.results:
        lines.append(f"Query{_query_scope(rows)}: {' '.join(rows.statement.split())}")
        if rows.source == RETRIEVAL_QUERY:  # the rows of other queries are in the answer's text
            lines.append(format_rows(rows))
    if reply.sources:
        lines.append("Sources:" if reply.answered else "Nearest passages:")
    lines += [
        f"[{source.number}] {_location(source.document, source.section)}, characters "
        f"{source.start}-{source.end}: “{_shorten(source.quote, 200)}”"
        for source in reply.sources
    ]
    return "\n".join([*lines, *reply.notes]).rstrip()


def format_paths(found: schemas.PathsResult) -> str:
    """Return one line per path."""
    if not found.paths:
        return "No path of at most five relations found."
    return _join_lines(path.text for path in found.paths)


def format_communities(found: schemas.CommunitiesResult) -> str:
    """Return the title and the findings of each community report."""
    if not found.communities:
        return (
            "No matching community. An index has its communities after `knotwork communities`, or "
            "once its server has built them."
        )
    parts = [
        "\n".join([
            f"{item.title} (level {item.level}, {item.size} entities, {item.resource})",
            *(f"• {finding.text}" for finding in item.findings),
        ])
        for item in found.communities
    ]  # fmt: skip
    return "\n\n".join(parts)


def format_names(names: schemas.NamesResult) -> str:
    """Return one line per merged entity, per pair kept apart, and per ambiguous name."""
    lines = [" = ".join(thing.names) for thing in names.things]
    lines += [f"{pair.first} ≠ {pair.second}: {pair.reason}" for pair in names.apart]
    lines += [
        f"{item.name} is the name of {len(item.documents)} entities, in "
        + "; in ".join(", ".join(documents) for documents in item.documents)
        for item in names.homonyms
    ]
    nothing = "No merged names." if names.compared else "Entity resolution has not run."
    return _join_lines(lines) if lines else nothing


def format_rows(found: schemas.QueryRows) -> str:
    """Return a header and one line per row, with values separated by bars."""
    lines = [" | ".join(found.columns)]
    lines += [" | ".join(_shorten(str(value), 200) for value in row) for row in found.rows]
    if found.truncated:
        lines.append("There are more rows.")
    return _join_lines(lines) if found.rows else "No rows."


def format_index_report(done: schemas.IndexResult) -> str:
    """Return the counts of an indexing run and the files that could not be read."""
    counts = (
        f"{done.added} added, {done.changed} changed, {done.unchanged} unchanged, "
        f"{len(done.removed)} removed. The index has {done.documents} documents."
    )
    unread = (f"Not read: {item.uri}: {item.message}" for item in done.unread)
    return _join_lines([counts, *unread, *done.notes])


def _location(document: str, section: str) -> str:
    return f"{document}, {section}" if section else document


def _query_scope(rows: schemas.QueryRows) -> str:
    bound = ", ".join(f"{name} = {value!r}" for name, value in rows.parameters.items())
    place = f" on {rows.place}" if rows.place else ""
    return f"{place} with {bound}" if bound else place


def _shorten(text: str, most: int) -> str:
    """Return a text on one line, cut to at most ``most`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _join_lines(lines: Iterable[str]) -> str:
    """Join at most `MOST_LINES` lines, and say how many are left out."""
    listed = list(lines)
    rest = len(listed) - MOST_LINES
    return "\n".join([*listed[:MOST_LINES], f"… and {rest} more."] if rest > 0 else listed)
