"""Compose answers of query rows, or of the names that a graph path leads to, with citations."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from knotwork._config import AnswerSettings
from knotwork._questions.reading import reading_of
from knotwork._retrieval.queries.query_rows import ROWS_SCORE, show_row, show_value
from knotwork._stores.base import Store
from knotwork._synthesis.citations import cite_sentences, gap_before_mark
from knotwork._synthesis.messages import also_reached, also_reached_more, more_rows
from knotwork._synthesis.piece_texts import with_mark, write_row
from knotwork._synthesis.pieces import DocumentBlocks
from knotwork._text.statements import SelectedSentence
from knotwork.records import (
    Answer,
    Chunk,
    Document,
    Evidence,
    GraphPath,
    Hop,
    QueryResult,
    Span,
)

LIKELY_RESULT = 0.5
"""The confidence from which the rows of a query are the answer, rather than extra evidence."""
MOST_ROWS = 10
"""The maximum number of table rows in the text; the answer's ``results`` have all."""
MOST_VALUES = 20
"""The maximum number of values in the text if rows have a single column."""
ALL_ROWS = -1
"""The row number of a source that supports all rows."""
_SEPARATORS = {"en": ", ", "zh": "、"}
_LONGEST_CELL = 80
_BARS = re.compile(r"[|\n]")


def find_leading_result(evidence: Evidence, *, least: float) -> QueryResult | None:
    """Return the rows that answer, if the confidence in their query is at least ``least``."""
    for result in evidence.results:
        # A count of 0 is an answer if it is known which rows were counted.
        is_known = result.row_count is not None and bool(result.rows)
        if (is_known or not result.is_empty) and result.confidence >= max(least, LIKELY_RESULT):
            return result
    return None


def compose_query_answer(
    evidence: Evidence,
    result: QueryResult,
    *,
    store: Store,
    settings: AnswerSettings,
) -> Answer:
    """Answer with the rows of a query: a value, a list of values or a table.

    A single row of a document is shown below the header of its table, as it is there. At most
    twice ``settings.max_sentences`` rows or sentences are cited, as rows are short.
    """
    language = reading_of(evidence.query.text).language
    numbers: dict[SelectedSentence, int] = {}
    marks: defaultdict[int, str] = defaultdict(str)
    for row, sentence in cite_rows(evidence, result, most=2 * settings.max_sentences):
        marks[row] += f"[{numbers.setdefault(sentence, len(numbers) + 1)}]"
    text, short = format_rows(result, marks, language), ""
    if result.is_listing and len(result.rows) == len(numbers) == 1:
        (shown,) = numbers
        (document,) = store.documents.documents([shown.chunk.document_id]).values()
        text = with_mark(write_row(DocumentBlocks(document), shown.span, language), 1)
        short = show_value(result.rows[0][0]) if len(result.columns) == 1 else ""
    return Answer(
        question=evidence.query.text,
        text=text,
        answered=True,
        citations=cite_sentences(list(numbers), store),
        confidence=result.confidence,
        retriever=evidence.retriever,
        notes=evidence.notes,
        results=(result,),
        short=short,
    )


def cite_rows(
    evidence: Evidence, result: QueryResult, *, most: int
) -> list[tuple[int, SelectedSentence]]:
    """Return the sentences that support rows, each with the number of its row or `ALL_ROWS`.

    Rows of files are cited directly. For any other row, the sentence is cited that contains most of
    its values, among the passages found for the rows.
    """
    if result.row_sources:
        return list(_cite_sources(evidence, result))[:most]
    hits = [hit for hit in evidence.hits if hit.scores.get(ROWS_SCORE, 0.0) > 0]
    relevance = {(hit.chunk.id, span): worth for hit in hits for span, worth in hit.sentences}
    cited = []
    for number, row in enumerate(result.rows[:most]):
        values = [text.casefold() for value in row if len(text := show_value(value)) > 1]
        best = max(
            (
                (
                    sum(value in text.casefold() for value in values),
                    hit.scores[ROWS_SCORE],
                    relevance.get((hit.chunk.id, span), 0.0),
                    -rank,
                    SelectedSentence(hit.chunk, span, text, result.confidence, rank),
                )
                for rank, hit in enumerate(hits)
                for span in hit.chunk.sentences or (hit.chunk.span,)
                for text in (hit.chunk.text_at(span),)
            ),
            key=lambda found: found[:4],
            default=None,
        )
        if best is not None and best[0] > 0:
            cited.append((number, best[4]))
    return cited


def format_rows(result: QueryResult, marks: Mapping[int, str], language: str) -> str:
    """Return rows as text: a value, values in a line, or a table in Markdown.

    ``marks`` are citation marks by row number, or `ALL_ROWS`.
    """
    separator = _SEPARATORS.get(language, _SEPARATORS["en"])
    if len(result.columns) == 1:
        shown = [
            _with_mark(show_value(row[0]), marks.get(number, ""))
            for number, row in enumerate(result.rows[:MOST_VALUES])
        ]
        text = separator.join(shown)
    elif len(result.rows) == 1:
        text = _with_mark(show_row(result.columns, result.rows[0]), marks.get(0, ""))
    else:
        text = "\n".join(_table_lines(result, marks))
    if mark := marks.get(ALL_ROWS, ""):
        is_table = len(result.columns) > 1 and len(result.rows) > 1
        text = f"{text}\n\n{mark}" if is_table else _with_mark(text, mark)
    most = MOST_VALUES if len(result.columns) == 1 else MOST_ROWS
    left = len(result.rows) - most
    if left > 0 or result.truncated:
        text += "\n\n" + more_rows(language, left=0 if result.truncated else left)
    return text


def _with_mark(text: str, mark: str) -> str:
    return text + gap_before_mark(text) + mark if mark else text


def _table_lines(result: QueryResult, marks: Mapping[int, str]) -> Iterator[str]:
    """Yield the lines of a Markdown table with aligned columns."""
    body = [
        [*map(_show_cell, row), marks.get(number, "")]
        for number, row in enumerate(result.rows[:MOST_ROWS])
    ]
    header = [*map(_show_cell, result.columns), ""]
    if not any(row[-1] for row in body):
        header.pop()
        body = [row[:-1] for row in body]
    widths = [max(3, *map(_width, column)) for column in zip(header, *body, strict=True)]
    for row in (header, ["-" * width for width in widths], *body):
        cells = (
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)
        )
        yield f"| {' | '.join(cells)} |"


def _show_cell(value: object) -> str:
    text = _BARS.sub(" ", show_value(value))
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 1].rstrip()}…"


def _width(text: str) -> int:
    """Return the width of a text on a terminal, in cells: a wide character takes two."""
    return sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in text)


def _cite_sources(
    evidence: Evidence, result: QueryResult
) -> Iterator[tuple[int, SelectedSentence]]:
    chunks: dict[str, list[tuple[int, Chunk]]] = {}
    for rank, hit in enumerate(evidence.hits):
        chunks.setdefault(hit.chunk.document_id, []).append((rank, hit.chunk))
    for number, source in enumerate(result.row_sources):
        for rank, chunk in chunks.get(Document(source.document, "").id, ()):
            if chunk.span.start <= source.span.start < min(source.span.end, chunk.span.end):
                span = Span(source.span.start, min(source.span.end, chunk.span.end))
                text = chunk.text_at(span)
                row = number if result.is_listing else ALL_ROWS
                yield row, SelectedSentence(chunk, span, text, result.confidence, rank)
                break


MOST_NAMES = 20
"""The maximum number of names in an answer; further ones are counted."""


def find_leading_path(evidence: Evidence, *, least: float) -> GraphPath | None:
    """Return the path that most likely answers, if its probability is at least ``least``."""
    path = next(iter(evidence.paths), None)
    if path is None or not path.answers:
        return None
    from knotwork._retrieval.paths.path_retriever import LIKELY_PROBABILITY

    probability = path.scores.get("probability", 0.0)
    return path if probability >= max(least, LIKELY_PROBABILITY) else None


def compose_path_answer(
    evidence: Evidence,
    path: GraphPath,
    *,
    store: Store,
    settings: AnswerSettings,
) -> Answer | None:
    """Answer with the names that a path leads to; return None if no name can be cited.

    Only hops that an imported graph states count. Relations from texts hold only in their context:
    of eleven paths with a probability near 0.5, on questions of five sets, none was right. Names
    with citations come first, each with the marks of its hops, then other names over the same
    relations. At most twice ``settings.max_sentences`` sentences are cited, as hops are short.
    """
    walks, most = (path.hops, *path.walks), 2 * settings.max_sentences
    stating = _find_stating(chain(*walks), store)
    numbers: dict[SelectedSentence, int] = {}
    named: dict[str, str] = {}
    for name, hops in zip(path.answers, walks, strict=False):
        stated = dict.fromkeys(stating[hop] for hop in hops if hop in stating)
        is_whole = bool(stated) and all(hop in stating for hop in hops)
        if is_whole and name not in named and len(numbers.keys() | stated) <= most:
            marks = (f"[{numbers.setdefault(item, len(numbers) + 1)}]" for item in stated)
            named[name] = "".join(marks)
    if not named:
        return None
    language = reading_of(evidence.query.text).language
    probability = path.scores["probability"]
    return Answer(
        question=evidence.query.text,
        text=_format_names(named, path.answers, language),
        answered=True,
        citations=tuple(
            replace(citation, score=probability)
            for citation in cite_sentences(list(numbers), store)
        ),
        confidence=probability,
        retriever=evidence.retriever,
        notes=evidence.notes,
    )


def _format_names(named: Mapping[str, str], answers: Iterable[str], language: str) -> str:
    separator = _SEPARATORS.get(language, _SEPARATORS["en"])
    others = [name for name in dict.fromkeys(answers) if name not in named]
    text = separator.join(_with_mark(name, marks) for name, marks in named.items())
    if others:
        room = max(MOST_NAMES - len(named), 0)
        left = len(others[room:])
        head = also_reached_more if left else also_reached
        text += head(language, names=separator.join(others[:room]), left=left)
    return text


def _find_stating(hops: Iterable[Hop], store: Store) -> dict[Hop, SelectedSentence]:
    """Return the sentence in which the span of each hop begins, if an imported graph states it."""
    from knotwork._retrieval.paths.path_retriever import find_imported_chunks

    hops = list(hops)
    chunks = store.documents.chunks({hop.chunk_id for hop in hops})
    imported = find_imported_chunks(chunks.values(), store)
    return {
        hop: SelectedSentence(chunk, span, chunk.text_at(span), 1.0, 0)
        for hop in hops
        if hop.chunk_id in imported and hop.span is not None
        for chunk in (chunks[hop.chunk_id],)
        for span in chunk.sentences
        if span.start <= hop.span.start < span.end
    }
