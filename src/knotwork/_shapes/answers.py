"""Shapes of answers, their citations and cost, and the rows of queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from knotwork._shapes.base import Rounded, Shape
from knotwork.records import (
    Answer,
    AnswerPiece,
    Citation,
    Document,
    MemoryCitation,
    QueryResult,
    RowSource,
    StageUsage,
    Strength,
    Usage,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationShape(Shape, Citation):
    """A source of an answer: the characters ``span`` of the document are ``quote``."""

    document_id: str
    score: Rounded

    @classmethod
    def derived(cls, record: Citation) -> dict[str, object]:
        return {"document_id": Document(record.document, "").id}


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageShape(Shape):
    """The cost of an operation. Money is text, because a float is not exact."""

    model_calls: int
    input_tokens: int
    output_tokens: int
    reused_calls: int
    """Calls that were answered from the cache, at no cost."""
    cached_tokens: int = 0
    """Input tokens that the server of the model had cached, at a lower price."""
    embedded_texts: int = 0
    seconds: Rounded
    money: str | None
    """Null if the price of a model is unknown."""
    stages: dict[str, StageUsage] = field(default_factory=dict)
    """The usage of language models by stage."""

    @classmethod
    def derived(cls, record: Usage) -> dict[str, object]:
        money = None if record.money is None else str(record.money)
        return {"money": money, "stages": {stage.stage: stage for stage in record.stages}}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSourceShape(Shape, RowSource):
    """A row of an indexed file that a result was computed from.

    ``row`` is its number in the file or sheet, from 1, including the header.
    """

    document_id: str

    @classmethod
    def derived(cls, record: RowSource) -> dict[str, object]:
        return {"document_id": Document(record.document, "").id}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultShape(Shape):
    """The rows that a query returned."""

    language: str
    statement: str
    parameters: dict[str, Any]
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool
    seconds: Rounded
    place: str
    """The graph or the tables that the statement read."""
    source: str = ""
    """The retriever that wrote the statement, or retrieval_query."""
    confidence: Rounded
    row_sources: tuple[RowSourceShape, ...]
    """The first rows of files that the result was computed from."""
    row_count: int | None
    """The number of all such rows, if known."""

    @classmethod
    def derived(cls, record: QueryResult) -> dict[str, object]:
        return {"parameters": dict(record.parameters)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerShape(Shape):
    """An answer; if ``answered`` is false, its citations are the nearest passages."""

    question: str
    answer: str
    """Markdown; [1], [2], … are the numbers of the citations."""
    short: str = ""
    """The answer in a few words, if it is certain."""
    answered: bool
    reason: str
    confidence: Rounded | None
    """0 to 1: the estimated probability that the answer is right. Null for outlines and counts."""
    strength: Strength | None
    """strong: more likely right than not; weak; none: no answer. Null if confidence is null."""
    retriever: str
    mode: str
    model: str
    notes: tuple[str, ...]
    citations: tuple[CitationShape, ...]
    pieces: tuple[AnswerPiece, ...] = ()
    """The parts of documents that the answer consists of; empty if a model wrote it."""
    memory: tuple[MemoryCitation, ...] = ()
    """The remembered facts that the answer marks as [M1], [M2], …"""
    results: tuple[ResultShape, ...]
    """The rows of the query that answers the question, and of `retrieval_query`."""
    usage: UsageShape

    @classmethod
    def derived(cls, record: Answer) -> dict[str, object]:
        return {"answer": record.text}


def split_pieces(answer: Answer) -> Iterator[str]:
    """Yield the text of an answer in parts that each end with a piece, as they are streamed."""
    start = 0
    for piece in answer.pieces:
        found = answer.text.find(piece.markdown, start)
        if found < 0:
            continue
        end = found + len(piece.markdown)
        end += len(answer.text[end:]) - len(answer.text[end:].lstrip())
        yield answer.text[start:end]
        start = end
    if start < len(answer.text):
        yield answer.text[start:]
