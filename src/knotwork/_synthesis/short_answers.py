"""Choose the words of a piece that answer a question by themselves."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from knotwork._questions.asked_facts import Fit, asked_fact, is_place
from knotwork._questions.kinds import QuestionKind
from knotwork._questions.other_names import is_about_another
from knotwork._questions.reading import QuestionReading, reading_of
from knotwork._retrieval.evidence_builder import is_in_han, logistic
from knotwork._synthesis.citations import show_sentence
from knotwork._synthesis.pieces import Grain, Piece
from knotwork._text.chinese import HAN_AND_KANA, simplify
from knotwork._text.plain_text import split_row
from knotwork._text.prose import announces
from knotwork._text.statements import SelectedSentence
from knotwork._text.terms import content_terms
from knotwork.records import BlockKind, Span

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
    said, own = _values(short), content_terms(first.text)
    shared = [term for term in reading_of(question).terms if len(term) > 1 and term in own]
    names = set(shared[:1]) if is_in_han(question) else asked_fact(question).about & set(own)
    return [
        piece
        for piece in others
        if (piece.odds or 0.0) >= LEAST_OF_RIVALS
        and piece.source.document.id != first.source.document.id
        and names <= {*content_terms(piece.text), *content_terms(piece.names)}
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
