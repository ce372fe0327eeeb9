"""Metadata that the adapters attach to texts: the exact position, and the rows of queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypedDict, cast

from knotwork._knowledge_base import KnowledgeBase
from knotwork._retrieval.query_rows import show_row
from knotwork._shapes.base import Json, fields_of
from knotwork._shapes.results import describe_evidence, locate
from knotwork.records import (
    RETRIEVAL_QUERY,
    Citation,
    Evidence,
    Hit,
    QueryResult,
)


class PassageMetadata(TypedDict):
    """The position of a passage: characters ``start`` to ``end`` of the text of ``document``, a
    URI. ``score`` is that of the retriever; ``section`` and ``page`` may be empty. ``start_s`` and
    ``end_s`` say when it is spoken in a recording, in seconds, and ``box`` where it is on a scanned
    page, as its left, top, right and bottom edge in shares of the page; None for other documents.
    """

    document: str
    title: str
    section: str
    page: str
    start: int
    end: int
    score: float
    chunk_id: str
    start_s: float | None
    end_s: float | None
    box: list[float] | None


class RowsMetadata(TypedDict):
    """The rows of a query, each with a value for every column.

    ``source`` is the retriever that wrote the ``statement``, or "retrieval_query" for the user's
    own query. ``document`` describes the graph or the tables it read, and ``section`` is empty:
    prompts that show the origin of a passage work for rows, too. ``truncated`` is True if there are
    more rows.
    """

    document: str
    section: str
    source: str
    statement: str
    columns: list[str]
    rows: list[list[Any]]
    truncated: bool


QUOTE_CHARACTERS = 300
"""Characters of a quote in the text that a tool returns; the artifact has all of it."""


def to_rows_metadata(result: QueryResult) -> RowsMetadata:
    """Convert the rows of a query to plain data that a framework can store."""
    return RowsMetadata(
        document=result.place,
        section="",
        source=result.source,
        statement=result.statement,
        columns=list(result.columns),
        rows=[list(row) for row in result.rows],
        truncated=result.truncated,
    )


def rows_over_hits(results: Iterable[QueryResult]) -> Iterator[tuple[str, RowsMetadata]]:
    """Yield the rows of the retrieval query, if there are any, as text and as data.

    The text has one line per row: ``column: value; column: value``.
    """
    for result in results:
        if result.source == RETRIEVAL_QUERY and result.rows:
            lines = [show_row(result.columns, row) for row in result.rows]
            more = ["There are more rows."] if result.truncated else []
            yield "\n".join([*lines, *more]), to_rows_metadata(result)


def hits_with_metadata(
    evidence: Evidence, knowledge_base: KnowledgeBase
) -> Iterator[tuple[Hit, PassageMetadata]]:
    """Yield the hits with their metadata, best first. Hits of deleted documents are skipped."""
    hits = describe_evidence(evidence, knowledge_base.store)["hits"]
    for hit, described in zip(evidence.hits, hits, strict=True):
        if described["document"]:
            yield hit, passage_metadata(described)


def short_quote(citation: Citation) -> str:
    """Return the quote of a citation as one line, which is cut if it is a long piece."""
    line = " ".join(citation.quote.split())
    return line if len(line) <= QUOTE_CHARACTERS else f"{line[:QUOTE_CHARACTERS].rstrip()} …"


def passage_metadata(passage: Json | Citation) -> PassageMetadata:
    """Return the metadata of a passage or citation."""
    place = fields_of(passage) if isinstance(passage, Citation) else passage
    return cast("PassageMetadata", locate(place))
