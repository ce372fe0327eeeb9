"""Text form of the tool results, for models that are shown no structured output."""

from __future__ import annotations

from collections.abc import Iterable

from knotwork.mcp_server import schemas
from knotwork.records import RETRIEVAL_QUERY

PASSAGE_CHARACTERS = 700
FEWEST_CHARACTERS = 160
ALL_PASSAGES_CHARACTERS = 12_000
"""Of many passages each is shown shorter: the whole text stands in the object."""

MOST_LINES = 60


def format_passages(found: schemas.SearchResult) -> str:
    """Return the passages, numbered, each with its place."""
    if not (found.passages or found.paths or found.results):
        return "\n".join(["Nothing was found.", *found.notes])
    share = ALL_PASSAGES_CHARACTERS // max(len(found.passages), 1)
    most = min(max(share, FEWEST_CHARACTERS), PASSAGE_CHARACTERS)
    parts = [
        f"[{number}] {_place(item.document, item.section)}, characters {item.start}-{item.end}\n"
        f"{_shorten(item.text, most)}"
        for number, item in enumerate(found.passages, start=1)
    ]
    parts += [f"Path: {path.text}" for path in found.paths]
    parts += [format_rows(rows) for rows in found.results]
    return "\n\n".join([*parts, *found.notes])


def format_answer(reply: schemas.AnswerResult) -> str:
    """Return the answer and its sources."""
    lines = [f"{reply.short} — {reply.text}" if reply.short else reply.text]
    if not reply.answered and reply.reason:
        lines.append(f"Why: {reply.reason}")
    if reply.answered and reply.confidence is not None:
        lines.append(f"Confidence: {reply.confidence:.2f} ({reply.strength})")
    for rows in reply.results:
        lines.append(f"Query{_query_scope(rows)}: {' '.join(rows.statement.split())}")
        if rows.source == RETRIEVAL_QUERY:  # those of other queries are the text of the answer
            lines.append(format_rows(rows))
    if reply.sources:
        lines.append("Sources:" if reply.answered else "The nearest passages:")
    lines += [
        f"[{source.number}] {_place(source.document, source.section)}, characters "
        f"{source.start}-{source.end}: “{_shorten(source.quote, 200)}”"
        for source in reply.sources
    ]
    return "\n".join([*lines, *reply.notes])


def format_subgraph(found: schemas.SubgraphResult) -> str:
    """Return one line for each relation, then one for each co-occurrence."""
    if not found.relations and not found.co_occurrences:
        names = ", ".join(thing.name for thing in found.things)
        return f"No relations. Names: {names}" if names else "The index has none of these names."
    return _join_lines(
        f"{item.source} -{item.relation}→ {item.target} ({item.weight:g})"
        for item in (*found.relations, *found.co_occurrences)
    )


def format_paths(found: schemas.PathsResult) -> str:
    """Return one line for each path."""
    if not found.paths:
        return "No path of at most five relations leads from one to the other."
    return _join_lines(path.text for path in found.paths)


def format_communities(found: schemas.CommunitiesResult) -> str:
    """Return the title and the findings of each report."""
    if not found.communities:
        return "No community fits."
    parts = [
        "\n".join([
            f"{item.title} (level {item.level}, {item.size} names, {item.resource})",
            *(f"• {finding.text}" for finding in item.findings),
        ])
        for item in found.communities
    ]  # fmt: skip
    return "\n\n".join(parts)


def format_names(names: schemas.NamesResult) -> str:
    """Return which names are one, which are held apart, and which mean several things."""
    lines = [" = ".join(thing.names) for thing in names.things]
    lines += [f"{pair.first} ≠ {pair.second}: {pair.reason}" for pair in names.apart]
    lines += [
        f"{item.name} means {len(item.documents)} things, in "
        + "; in ".join(", ".join(documents) for documents in item.documents)
        for item in names.homonyms
    ]
    nothing = "Every name is one thing." if names.compared else "Names were never compared."
    return _join_lines(lines) if lines else nothing


def format_rows(found: schemas.QueryRows) -> str:
    """Return a line for each row, its values set apart by bars."""
    lines = [" | ".join(found.columns)]
    lines += [" | ".join(_shorten(str(value), 200) for value in row) for row in found.rows]
    if found.truncated:
        lines.append("There are more rows.")
    return _join_lines(lines) if found.rows else "No rows."


def format_index_report(done: schemas.IndexResult) -> str:
    """Return what was done, and which files could not be read."""
    counts = (
        f"{done.added} added, {done.changed} changed, {done.unchanged} unchanged, "
        f"{len(done.removed)} removed. The index has {done.documents} documents."
    )
    unread = (f"Not read: {item.uri}: {item.message}" for item in done.unread)
    return _join_lines([counts, *unread, *done.notes])


def _place(document: str, section: str) -> str:
    return f"{document}, {section}" if section else document


def _query_scope(rows: schemas.QueryRows) -> str:
    bound = ", ".join(f"{name} = {value!r}" for name, value in rows.parameters.items())
    place = f" on {rows.place}" if rows.place else ""
    return f"{place} with {bound}" if bound else place


def _shorten(text: str, most: int) -> str:
    """Return a text in one line, cut at a number of characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _join_lines(lines: Iterable[str]) -> str:
    """Return lines as one text, and tell how many are left out."""
    given = list(lines)
    rest = len(given) - MOST_LINES
    return "\n".join([*given[:MOST_LINES], f"… and {rest} more."] if rest > 0 else given)
