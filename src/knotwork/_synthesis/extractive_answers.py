"""Compose an answer from cited sentences of the sources, without a language model.

A reader model, if there is one, scores the sentences of the best passages. The selected sentences
are put in reading order, with a short answer and a confidence: the probability that they are right.
The rows of a query, or the names that a graph path leads to, answer instead if they likely do. Each
part of a compound question is answered separately.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

from knotwork._config import AnswerSettings
from knotwork._inference.cross_encoders import AnswerReader
from knotwork._inference.embedder import PassageText
from knotwork._questions.asked_facts import Fit, asked_fact, is_about_another, is_place
from knotwork._questions.kinds import QuestionKind
from knotwork._questions.parts import DividedQuestion, SubQuestion
from knotwork._questions.reading import QuestionReading, reading_of
from knotwork._retrieval.evidence_builder import is_in_han, logistic
from knotwork._retrieval.fusion import raise_scores
from knotwork._retrieval.graph_paths import LIKELY_PROBABILITY, find_imported_chunks
from knotwork._retrieval.optional_parts import attempt
from knotwork._retrieval.query_rows import ROWS_SCORE, show_row, show_value
from knotwork._run import Progress, Stage
from knotwork._stores.base import Store
from knotwork._synthesis.ask_request import Searcher
from knotwork._synthesis.citations import cite_sentences, gap_before_mark, show_sentence
from knotwork._synthesis.conflicts import find_disagreement
from knotwork._synthesis.messages import (
    also_reached,
    also_reached_more,
    more_rows,
    no_match,
    not_clear,
    part_not_found,
)
from knotwork._synthesis.pieces import (
    PREDICTION_GAIN,
    DocumentBlocks,
    Grain,
    Piece,
    choose_pieces,
    mark_also,
    name_subjects,
    rank_candidates,
    rank_pieces,
    unmark,
    with_mark,
    write_piece,
    write_row,
)
from knotwork._text.chinese import HAN_AND_KANA, simplify
from knotwork._text.plain_text import CITATION_MARK, split_row
from knotwork._text.prose import announces
from knotwork._text.statements import SelectedSentence
from knotwork._text.terms import content_terms
from knotwork.records import (
    Answer,
    AnswerPiece,
    BlockKind,
    Chunk,
    Citation,
    Document,
    Evidence,
    GraphPath,
    Hop,
    Prediction,
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
    evidence: Evidence, result: QueryResult, *, store: Store, settings: AnswerSettings
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
    probability = path.scores.get("probability", 0.0)
    return path if probability >= max(least, LIKELY_PROBABILITY) else None


def compose_path_answer(
    evidence: Evidence, path: GraphPath, *, store: Store, settings: AnswerSettings
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


LEAST_PROBABILITY = 0.6
"""Below this probability of being right no short answer is given."""
LEAST_OF_RIVALS = 4.0
"""The least log-odds, as a reader predicts, of a piece with another short answer."""
LONGEST_SHORT_ANSWER = 80
"""The maximum length of a short answer, in characters."""

_OF_WORDS = frozenset({QuestionKind.VALUE, QuestionKind.TABLE_ROWS, QuestionKind.COUNT})
"""Kinds of question that a few words may answer."""
_INTERCEPT, _CONFIDENCE, _WORDS, _EXPECTED = -0.39, 0.51, 0.86, 0.72
"""Coefficients of the logistic function: the intercept, the log-odds that the answer is right, the
logarithm of the words' probability, and how well the words match the expected kind of answer."""
_LEAST = 1e-3
_LONGEST_UNIT = 6
"""Characters behind words in which their unit may stand."""
_WIDE = re.compile(rf"[{HAN_AND_KANA}\u3000-\u303f\uff00-\uffef]")
_AROUND = ",.;:!?，。；：！？、|—–"
_LEADING = re.compile(rf"^(?:\s|[，。；：！？、]|[{_AROUND}](?![\w./-]))+")
_TRAILING = re.compile(rf"[\s{_AROUND}]+$")
_PAIRS = tuple(zip("([{<“‘（「《", ")]}>”’）」》", strict=True))
_OF_PROSE = (Grain.PARAGRAPH, Grain.ITEM, Grain.SECTION)
_OF_CELLS = (Grain.ROW, Grain.TABLE)
_LABEL = re.compile(r"[^:：|]{1,60}[:：]")
_LABELLED = re.compile(r"[^:：|.。]{1,60}[:：]")
_BOUND = re.compile(
    r"(?:\b(?:at least|at most|up to|(?:not? )?(?:more|less|fewer) than|over|under|above|below)\s+"
    r"|(?:不超过|不少于|不低于|至少|至多|最多|最少|超过|不足))$",
    re.IGNORECASE,
)
"""What bounds an amount; without it the amount would be another one."""
_NUMBER = re.compile(r"(?<![\w.,])(?:[$€£¥]\s?)?\d[\d.,]*\s$")
"""A number before the words of its unit alone."""
_PARTS = re.compile(r"(?:[;；、，]|,(?!\d))\s*|\s+(?:and|is|are|for)\s+")
_QUOTES = ("`", '"')
_ENCLOSING = tuple(zip('(（“‘`"', ')）”’`"', strict=True))


def choose_short_answer(piece: Piece, question: str, *, confidence: float) -> str:
    """Return the words of a piece that answer a question; "" if they are too uncertain.

    Of a row it is the cell below the column that the question names. ``confidence`` is the
    probability that the answer which begins with this piece is right.
    """
    asked = reading_of(question)
    if asked.asks_yes_or_no:
        return ""
    if piece.grain is Grain.ROW:
        return _choose_cell(piece, asked) if confidence >= LEAST_PROBABILITY else ""
    is_of_words = next(iter(asked.kinds)) in _OF_WORDS
    return choose_words(piece.best, asked, confidence=confidence) if is_of_words else ""


def find_rivals(first: Piece, others: Iterable[Piece], question: str, *, short: str) -> list[Piece]:
    """Return the pieces of other documents whose short answer is another one.

    They may be about another person, or thing, of the name that the question has.
    """
    document_id = first.source.document.id
    others = [
        piece
        for piece in others
        if (piece.odds or 0.0) >= LEAST_OF_RIVALS and piece.source.document.id != document_id
    ]
    if not others:
        return []
    said, own = _values(short), content_terms(first.text)
    shared = [term for term in reading_of(question).terms if len(term) > 1 and term in own]
    names = set(shared[:1]) if is_in_han(question) else asked_fact(question).about & set(own)
    return [
        piece
        for piece in others
        if names <= {*content_terms(piece.text), *content_terms(piece.names)}
        and (words := choose_short_answer(piece, question, confidence=1.0))
        and said.isdisjoint(_values(words))
        and not misses_fact(piece, question)
    ]


def _values(words: str) -> set[str]:
    """Return the terms of some words, or those with digits: "1975年" has the year of "1975"."""
    held = set(content_terms(words))
    return {term for term in held if any(map(str.isdigit, term))} or held


def misses_fact(piece: Piece, question: str) -> bool:
    """Return True if a piece is about something else than the fact that a question asks for.

    A label without a value ("Ship name:") is missing what it names, and a row of a table all that
    neither it nor the names of its columns have.
    """
    chunk, best = piece.best.chunk, piece.best.text
    around = " ".join((*chunk.headings[-2:], chunk.document_title))
    if piece.grain in _OF_CELLS:
        labels = (
            b.label for b in chunk.blocks_around(piece.best.span) if b.kind is BlockKind.TABLE
        )
        return misses_cell(question, f"{piece.text} {' '.join(labels)} {around}")
    text = f"{piece.text} {around}"
    if is_about_another(question, best, text):
        return True
    if piece.grain not in _OF_PROSE:
        return False
    asked = reading_of(question)
    if any(set(content_terms(label)) >= set(asked.terms) for label in _empty_labels(piece.text)):
        return True
    return asked_fact(question).is_missed_by(best, text)


def _empty_labels(text: str) -> Iterator[str]:
    """Yield the lines that are a label without a value, before another label or the end."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if _LABEL.fullmatch(line) and (not following or _LABELLED.match(following)):
            yield line


_SURE = frozenset({"weight", "temperature", "energy"})
"""Dimensions whose columns are named after them, or have their units."""
_BRACKET = re.compile(r"[(（\[]")
_CELL_OF = re.compile(
    r"^\W*(?:what|who) (?:is|was|are|were) (?:the )?(?P<what>[^?]{2,40}) (?:of|for|in|at)"
    r" (?:the )?(?P<of>[^?]{1,40}?)\W*$"
    r"|^(?P<han_of>[^的？?]{2,12})的(?P<han_what>[^的？?]{2,8})(?:[是有为]|在)(?:什么|多少|谁|几|哪)",
    re.IGNORECASE,
)


def misses_cell(question: str, text: str) -> bool:
    """Return True if a row and the names of its columns lack what is asked for.

    It is X or Y in "the X of Y", or a weight and the like without one.
    """
    found, expected = _CELL_OF.match(question), reading_of(question).expected
    is_sure = expected.dimensions and expected.dimensions <= _SURE
    if is_sure and not expected.is_asked_by(_BRACKET.sub(" 1 ", text)):  # "(kg)" names a unit
        return True
    if found is None:
        return False
    if found["han_of"]:
        owner, name, row = (simplify(t) for t in (found["han_of"], found["han_what"], text))
        shared = set(content_terms(owner)) & set(content_terms(row))
        has_owner = owner in row or any(len(term) > 1 for term in shared)
        return not has_owner or not (name in row or expected.is_asked_by(row))
    held = set(content_terms(text))
    what, of = content_terms(found["what"])[-1:], set(content_terms(found["of"]))
    has_what = set(what) <= held or expected.is_asked_by(text)
    return bool(of and not of & held) or not has_what


def choose_words(first: SelectedSentence, asked: QuestionReading, *, confidence: float) -> str:
    """Return the words of a sentence that answer a question; "" if they are too uncertain."""
    if first.answer is None or announces(first.text):
        return ""
    chunk, span = first.chunk, first.answer.span
    start = first.span.start - chunk.span.start
    within = Span(start, start + len(first.text))
    if span.start >= span.end or not within.contains(span):
        return ""
    before = chunk.text[start : span.start]
    words = show_sentence(complete_words(chunk.text, span, within))
    words, fact = _of_kind(words, asked), asked_fact(asked.text)
    place = first.text.find(words, max(0, len(before) - len(words)))
    if place >= 0:
        before = first.text[:place]
        number = _NUMBER.search(before) if asked.expected.has_unit(f"1 {words}") else None
        place = number.start() if number and not words[0].isdigit() else place
        held = Span(place, len(before) + len(words))
        if fact.disagrees_with(first.text, held):
            return ""
        before = first.text[:place]
        words = fact.with_rate(first.text, held, " ".join(chunk.headings))
    if bound := _BOUND.search(before):
        words = f"{bound[0].strip()} {words}" if words.isascii() else f"{bound[0].strip()}{words}"
    behind = chunk.text[span.start : min(within.end, span.end + _LONGEST_UNIT)]
    if (
        (asked.asks_name and not any(map(str.isalpha, words)))
        or (fact.asks_place and not is_place(words, before))
        or len(words) > LONGEST_SHORT_ANSWER
        or set(content_terms(words)) <= set(asked.terms)
        or (is_in_han(fact.counted) and fact.counted[-1] not in f"{words}{behind}")
        or not asked.expected.allows(f"{words} {behind}")
    ):
        return ""
    sure = min(max(confidence, _LEAST), 1 - _LEAST)
    probability = logistic(
        _INTERCEPT
        + _CONFIDENCE * math.log(sure / (1 - sure))
        + _WORDS * math.log(first.answer.probability + _LEAST)
        + _EXPECTED * asked.expected.met_by(words)
    )
    return words if probability >= LEAST_PROBABILITY else ""


def _of_kind(words: str, asked: QuestionReading) -> str:
    """Return the only part of some words that has a unit, or states the event, asked for.

    Without one, the words end before a part that states another event.
    """
    parts, fact = _PARTS.split(words), asked_fact(asked.text)
    fitting = [
        part
        for part in parts
        if asked.expected.has_unit(part) or (fact.event and fact.fit_of(part) is Fit.STATES)
    ]
    if len(parts) > 1 and len(fitting) == 1:
        return _trim(fitting[0])
    other = next((part for part in parts[1:] if fact.fit_of(part) is Fit.OTHER), "")
    return _trim(words[: words.index(other)].removesuffix("and ")) if other else words


def _choose_cell(row: Piece, asked: QuestionReading) -> str:
    """Return the cell below the only column that names most of what a question asks for.

    "" if no column does, or several do, or if the question does not name the row by its first cell.
    """
    table = row.source.table_around(row.span)
    cells, names = split_row(row.source.text(row.span)), table.label.split(" | ") if table else []
    key, terms = set(content_terms(cells[0])), set(asked.terms)
    if len(cells) != len(names) or not key or not key <= terms:
        return ""
    wanted = terms - key
    counts = [
        (len(wanted & set(content_terms(name))), asked.expected.is_asked_by(f"{name} {cell}"))
        for name, cell in zip(names[1:], cells[1:], strict=True)
    ]
    best = max(counts, default=(0, False))
    if best == (0, False) or counts.count(best) > 1:
        return ""
    cell = show_sentence(cells[1 + counts.index(best)])
    lacks_digits = asked_fact(asked.text).counted and not any(map(str.isdecimal, cell))
    lacks_letters = asked.asks_who and not any(map(str.isalpha, cell))
    return "" if lacks_digits or lacks_letters or len(cell) > LONGEST_SHORT_ANSWER else cell


def complete_words(text: str, words: Span, within: Span) -> str:
    """Return some words of a text, extended to whole words inside the sentence ``within``.

    A run of characters without white space is not cut, except in wide scripts. If a bracket or
    quote lacks its counterpart, the longest part without it is kept.
    """
    start, end = words
    while start > within.start and _joins(text[start - 1], text[start]):
        start -= 1
    while end < within.end and _joins(text[end - 1], text[end]):
        end += 1
    return _trim(text[start:end])


def _joins(before: str, after: str) -> bool:
    """Return whether two characters are parts of one word, option, path or address."""
    return not any(letter.isspace() or _WIDE.match(letter) for letter in (before, after))


def _trim(words: str) -> str:
    """Return words without surrounding punctuation, unpaired brackets and an enclosing pair."""
    before = ""
    while words != before:  # removing one bracket may leave another one unpaired
        before = words
        for opening, closing in _PAIRS:
            words = _balance(words, opening, closing)
        for quote in _QUOTES:
            if words.count(quote) % 2:
                words = max(words.split(quote), key=len)
        words = _TRAILING.sub("", _LEADING.sub("", words))
    for opening, closing in _ENCLOSING:
        inner = words[1:-1]
        if words[:1] == opening and words[-1:] == closing and not {opening, closing} & set(inner):
            return inner.strip()
    return words


def _balance(words: str, opening: str, closing: str) -> str:
    """Return the longest part of a text without an unpaired bracket."""
    cuts, opened = [], []
    for place, letter in enumerate(words):
        if letter == opening:
            opened.append(place)
        elif letter == closing:
            cuts += [] if opened else [place]
            opened = opened[:-1]
    places = sorted((-1, *cuts, *opened, len(words)))
    parts = (words[before + 1 : after] for before, after in pairwise(places))
    return max(parts, key=len)


NO_EVIDENCE = "no_evidence"
LOW_CONFIDENCE = "low_confidence"


def compose_answer(
    evidence: Evidence, *, store: Store, settings: AnswerSettings | None = None
) -> Answer:
    """Answer with the best pieces of the documents, or say that there is no answer.

    If the question was translated to a query, its rows are the answer; if a graph path very likely
    leads to the answer, the names at its end are. Below the confidence ``settings.abstain_below``
    no answer is given, and the citations are the nearest passages. No model is called.
    """
    settings = settings or AnswerSettings()
    failed: list[str] = []

    def lead() -> Answer | None:
        least = settings.abstain_below
        if result := find_leading_result(evidence, least=least):
            return compose_query_answer(evidence, result, store=store, settings=settings)
        path = find_leading_path(evidence, least=least)
        return compose_path_answer(evidence, path, store=store, settings=settings) if path else None

    led = attempt("The answer from rows or paths", lead, None, failed)
    if led is not None:
        return led
    question = evidence.query.text
    reading = reading_of(question)
    language = reading.language
    candidates = rank_candidates(evidence)
    ranked = rank_pieces(evidence, candidates, store)
    confidence = estimate_confidence(evidence, ranked)
    pieces = choose_pieces(ranked, evidence, most=settings.max_sentences)
    answered = bool(pieces) and confidence >= settings.abstain_below
    dispute, short = None, ""
    if answered:
        comparing = partial(find_disagreement, reading, pieces, candidates, store)
        dispute = attempt("The comparison of documents", comparing, None, failed)
        choosing = partial(choose_short_answer, pieces[0], question, confidence=confidence)
        short = attempt("The short answer", choosing, "", failed)
        if short and dispute is None:
            finding = partial(find_rivals, pieces[0], ranked, question, short=short)
            rivals = attempt("The comparison of short answers", finding, list[Piece](), failed)
            if rivals:
                short, pieces = "", [pieces[0], *rivals][: settings.max_sentences]
    dates = [""] * len(pieces)
    if dispute is not None:
        pieces, dates = dispute.pieces, dispute.dates(language)
        short = dispute.claims[0].claim.words if short and dispute.has_winner else ""
    attempt("Naming subjects", lambda: name_subjects(pieces, evidence, store), None, failed)
    best = [piece.best for piece in pieces]
    citations = cite_sentences(best, store, [(piece.whole, piece.place) for piece in pieces])
    shown = tuple(
        AnswerPiece(piece.grain, with_mark(f"{day}{write_piece(piece, language)}", number), number)
        for number, (piece, day) in enumerate(zip(pieces, dates, strict=True), 1)
    )
    if answered:
        text, reason = "\n\n".join(piece.markdown for piece in shown), ""
    elif pieces:
        text, reason = not_clear(language), LOW_CONFIDENCE
    else:
        text, reason = no_match(language), NO_EVIDENCE
    return Answer(
        question=question,
        text=text,
        answered=answered,
        citations=citations,
        reason=reason,
        confidence=confidence,
        retriever=evidence.retriever,
        notes=(*evidence.notes, *([dispute.note(language)] if dispute else ()), *failed),
        short=short,
        pieces=shown if answered else (),
    )


MOST_READ = 6
"""Passages that the reader reads at most; one of 250 tokens takes about 0.08 s of CPU time."""


def read_hits(evidence: Evidence, reader: AnswerReader | None, *, most: int) -> Evidence:
    """Return the evidence with predictions of the reader for its best hits.

    A hit is skipped if no prediction could bring one of its sentences among the ``most`` that will
    be quoted. Nothing is read without a reader, or if the index was embedded with another model
    than the one that the reader is built on, as this model may not be installed.
    """
    if reader is None or evidence.embedder != reader.embedder:
        return evidence
    ranked = rank_candidates(evidence)
    if not ranked:
        return evidence
    least = ranked[min(most, len(ranked)) - 1].worth / (1 + PREDICTION_GAIN)
    ranks = sorted({item.rank for item in ranked if item.rank < MOST_READ and item.worth >= least})
    passages = [PassageText.of(evidence.hits[rank].chunk) for rank in ranks]
    hits, failed = list(evidence.hits), list[str]()
    reading = partial(reader.read, evidence.query.text, passages)
    read = attempt("The reader", lambda: list(reading()), list[Prediction](), failed)
    for rank, found in zip(ranks, read, strict=False):
        hits[rank] = replace(hits[rank], prediction=found)
    return replace(evidence, hits=tuple(hits), notes=(*evidence.notes, *failed))


FOUND_CONFIDENCE = 0.5
"""The confidence of a retriever from which its passages are likely to contain an answer."""
DOUBT_POWER = 0.3
"""Exponent by which the probability falls below that confidence. Retrievers know which words of a
question the index does not contain; similarity alone does not show it."""
LEAST_ODDS, MOST_ODDS = -9.0, 6.0
"""Bounds to which the log-odds of a reader are clipped."""
MISSED = 0.15
"""Factor of the confidence if the first piece does not state the fact that is asked for. No passage
that answers a question of three Chinese sets with one passage each missed it."""
_LARGEST_LOGIT = 4.0


class AnswerModel(NamedTuple):
    """Coefficients of the logistic function that estimates the confidence of an answer.

    ``relevance`` multiplies that of the best sentence of the first piece, ``lead`` the share of
    that piece, ``log_terms`` the logarithm of 1 plus the number of question terms, ``odds`` the
    reader's log-odds that the first piece answers.
    """

    intercept: float
    relevance: float
    lead: float
    log_terms: float
    odds: float = 0.0


MODELS = {"local:multilingual-e5-small": AnswerModel(-4.08, 4.33, 3.18, 0.52)}
"""Models by the name of the embedder, on which the scale of relevance depends."""
MODELS_WITH_READER = {
    "local:multilingual-e5-small": AnswerModel(-3.07, 3.44, 2.07, 0.44, odds=0.13)
}
"""The models if a reader has read the passage of the first piece. Fitted on questions about six
domains and five development sets that the reader was not trained on, each ranked by weights that
have not seen it; see training/pieces/README.md."""
RIGHT_ACROSS_SCRIPTS = 0.4
"""The share of right answers among those in another script than the question's, where relevances
are lower and less informative: of 20 English questions about Chinese passages of `drcd_probes_zh`,
eight were answered correctly."""
_ANY_INTERCEPT, _ANY_FOUND = -1.39, 0.35
"""Without a model for the embedder, only the logit of the retriever's confidence counts; at
`FOUND_CONFIDENCE` the result is 0.2."""


def estimate_confidence(evidence: Evidence, ranked: Sequence[Piece]) -> float:
    """Return the probability that an answer is right which begins with the first of the pieces."""
    if not ranked:
        return 0.0
    first = ranked[0]
    doubt = math.pow(min(1.0, evidence.confidence / FOUND_CONFIDENCE), DOUBT_POWER)
    odds = first.odds
    model = (MODELS if odds is None else MODELS_WITH_READER).get(evidence.embedder)
    if model is None:
        found = min(max(evidence.confidence, 1e-6), 1 - 1e-6)
        logit = math.log(found / (1 - found))
        bounded = max(min(logit, _LARGEST_LOGIT), -_LARGEST_LOGIT)
        return logistic(_ANY_INTERCEPT + _ANY_FOUND * bounded) * doubt
    question = evidence.query.text
    if is_in_han(first.text) != is_in_han(question):
        return RIGHT_ACROSS_SCRIPTS * evidence.confidence
    parts = {(part.chunk.document_id, part.span) for part in first.parts}
    relevances = (
        value
        for hit in evidence.hits
        for span, value in hit.sentences
        if (hit.chunk.document_id, span) in parts
    )
    right = logistic(
        model.intercept
        + model.relevance * max(relevances, default=0.0)
        + model.lead * first.share
        + model.log_terms * math.log1p(len(reading_of(question).terms))
        + model.odds * min(max(odds or 0.0, LEAST_ODDS), MOST_ODDS)
    )
    return right * doubt * (MISSED if misses_fact(first, question) else 1.0)


PART_SCORE = "part"
"""The key, in the scores of a hit, of what a part of the question contributed."""

_LAST_MARK = re.compile(rf"{CITATION_MARK.pattern}$")


class AnsweredPart(NamedTuple):
    """A part of a question, its evidence, and its answer."""

    part: SubQuestion
    evidence: Evidence
    answer: Answer


def answer_divided(
    division: DividedQuestion,
    evidence: Evidence,
    *,
    searcher: Searcher,
    settings: AnswerSettings,
) -> Iterator[Progress]:
    """Yield the evidence for a divided question, then its answer.

    The question is answered as a whole if query rows or a graph path answer it, if one sentence
    names both compared things, if only one of the compared things is found, or if no part is
    answered. No language model is called. Raises as ``searcher.search``.
    """
    least = settings.abstain_below
    is_led = find_leading_result(evidence, least=least) or find_leading_path(evidence, least=least)
    parts: list[AnsweredPart] = []
    found, answer, names_both = evidence, None, False
    if is_led or division.compared:
        found, answer = _answer_whole(evidence, searcher, settings)
        wanted = {term for name in division.compared for term in content_terms(name)}
        names_both = answer.answered and any(
            wanted <= set(content_terms(citation.quote)) for citation in answer.citations
        )
    if not is_led and not names_both:
        parts = [_answer_part(part, searcher, settings) for part in division.parts]
    answered = sum(item.answer.answered for item in parts)
    if answered and (answer is None or answered == len(parts)):
        found = join_evidence(evidence, [item.evidence for item in parts])
        answer = join_answers(evidence.query.text, parts)
    elif answer is None:
        found, answer = _answer_whole(evidence, searcher, settings)
    yield Progress(Stage.FOUND, value=found)
    yield Progress(Stage.FINISHED, value=answer)


def _answer_part(part: SubQuestion, searcher: Searcher, settings: AnswerSettings) -> AnsweredPart:
    """Search with the context that parts share, and select sentences by the part's own words."""
    found = searcher.search(part.text)
    found = replace(found, query=replace(found.query, text=part.asked))
    return AnsweredPart(part, *_answer_whole(found, searcher, replace(settings, max_sentences=1)))


def _answer_whole(
    found: Evidence, searcher: Searcher, settings: AnswerSettings
) -> tuple[Evidence, Answer]:
    evidence = read_hits(found, searcher.models.reader, most=settings.max_sentences)
    return evidence, compose_answer(evidence, store=searcher.store, settings=settings)


def join_answers(question: str, parts: Sequence[AnsweredPart]) -> Answer:
    """Join the answers of the parts; a part without an answer gets a message.

    The joined answer is right if all parts are, so its confidence is the product of theirs; parts
    that cite the same pieces count once.
    """
    language = reading_of(question).language
    asked = f"Answered in parts: {' / '.join(item.part.text for item in parts)}"
    answered = [item.answer for item in parts if item.answer.answered]
    citations: list[Citation] = []
    pieces: list[AnswerPiece] = []
    texts: list[str] = []
    confidences: dict[object, float] = {}
    for number, (part, _, answer) in enumerate(parts):
        places = tuple((cited.document, cited.span) for cited in answer.citations)
        key = places if answer.answered and places else number
        confidences[key] = min(confidences.get(key, 1.0), answer.confidence or 0.0)
        if not answer.answered:
            texts.append(part_not_found(language, question=part.asked))
            continue
        own, text = _renumber(answer, citations)
        same = next((i for i, item in enumerate(texts) if unmark(item) == unmark(text)), None)
        if same is None:
            texts.append(text)
            pieces += own
        else:  # one paragraph answers two parts
            texts[same] = mark_also(texts[same], text)
            pieces = [
                replace(piece, markdown=mark_also(piece.markdown, text))
                if unmark(piece.markdown) == unmark(text)
                else piece
                for piece in pieces
            ]
    return replace(
        parts[0].answer,
        question=question,
        text="\n\n".join(texts),
        short="",
        answered=bool(answered),
        citations=tuple(citations),
        reason="" if answered else parts[0].answer.reason,
        confidence=math.prod(confidences.values()),
        notes=tuple(dict.fromkeys([asked, *(note for p in parts for note in p.answer.notes)])),
        results=tuple(result for answer in answered for result in answer.results),
        pieces=tuple(pieces),
    )


def join_evidence(whole: Evidence, parts: Sequence[Evidence]) -> Evidence:
    """Merge the evidence of a question with that of its parts, best hits first.

    The scores of each part are scaled to the best score of the question. A hit keeps the highest of
    its scores.
    """
    top = max((hit.score for hit in whole.hits), default=0.0) or 1.0
    found = {hit.chunk.id: hit for hit in whole.hits}
    for evidence in parts:
        best = max((hit.score for hit in evidence.hits), default=0.0)
        if best > 0:
            scored = ((hit, top * hit.score / best) for hit in evidence.hits)
            raise_scores(found, scored, part=PART_SCORE)
    return replace(
        whole.with_found(found.values()),
        confidence=max([whole.confidence, *(evidence.confidence for evidence in parts)]),
    )


def _renumber(answer: Answer, joined: list[Citation]) -> tuple[list[AnswerPiece], str]:
    """Return the pieces and the text of an answer with its citation numbers in a joined list.

    Citations that the list lacks are added to it.
    """
    numbers: dict[int, int] = {}
    for cited in answer.citations:
        place = (cited.document, cited.span)
        known = next((c.number for c in joined if (c.document, c.span) == place), None)
        if known is None:
            known = len(joined) + 1
            joined.append(replace(cited, number=known))
        numbers[cited.number] = known
    pieces = [
        replace(
            piece,
            markdown=with_mark(_LAST_MARK.sub("", piece.markdown), numbers[piece.citation]),
            citation=numbers[piece.citation],
        )
        for piece in answer.pieces
    ]
    if pieces:
        return pieces, "\n\n".join(piece.markdown for piece in pieces)

    def mark_of(match: re.Match[str]) -> str:
        return match[0].replace(match[1], str(numbers.get(int(match[1]), match[1])))

    return [], CITATION_MARK.sub(mark_of, answer.text)
