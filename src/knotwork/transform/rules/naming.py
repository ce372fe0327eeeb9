"""Which of the names found in a text are entities, and which only help to find its chunks.

A capital marks a name in the middle of a sentence, and little else: not at the start of a sentence,
not in a heading, a cell or the output of a program. What is found there is a keyword, unless the
document writes it as a name elsewhere too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from enum import Enum, auto

from knotwork.records import Chunk, Document, FrameKind, Span
from knotwork.text.names import STOP_NAMES
from knotwork.transform.rules.chinese import is_chinese
from knotwork.transform.rules.chinese_vocabulary import COMMON_NOUNS
from knotwork.transform.rules.english import Evidence, opens
from knotwork.transform.rules.occurrences import Occurrence
from knotwork.transform.rules.parts import YEAR
from knotwork.transform.rules.relation_patterns import is_predicate
from knotwork.transform.rules.technical import ADDRESS, is_command, looks_technical
from knotwork.transform.rules.tokens import SIGN, WORD, Sentence
from knotwork.transform.rules.types import name_type
from knotwork.transform.rules.vocabulary import (
    CALENDAR,
    GENERIC_HEADS,
    JOINERS,
    PRONOUNS,
    STARTERS,
    common_words,
    word_set,
)

_WORDS = re.compile(r"[^\W_][\w.'’-]*")
_NUMBERED_NAME = re.compile(
    r"(?:table|figure|fig\.?|example|section|chapter|appendix|part|step|listing|note|page|line|item)\b"
    r"\W*(?:\d|[ivxlc]+$|[a-z]$)",
    re.IGNORECASE,
)
_OWNED_ACRONYM = re.compile(r"['’]s [A-Z]+$")
_YEAR_AND_NAME = re.compile(r"\d{4} [A-Z][a-z]+ [A-Z][a-z]+")
_QUANTITY = re.compile(
    r"\d[\d.,]*[\s-]?(?:[KMGTP]i?[Bb]|[A-Za-z]{1,2}|Hz|[kMG]Hz|bit|bytes?|st|nd|rd|th)\b.*"
)
_KEPT_QUANTITY = re.compile(r"\d[GDK]")
_YEAR_AND_NAME = re.compile(r"\d{4} [A-Z][a-z]+ [A-Z][a-z]+")
_COMPOUND = re.compile(r"\w+(?:-[a-z]+)+")
_BEFORE_YEAR = word_set(
    """in since from until by of after before during early late mid circa c. between and to
    through around about the ( , – - / spring summer autumn fall winter"""
)
_NUMBERED = re.compile(
    r"\W*(?:table|figure|fig\.|chapter|section|example|listing|表|图)\s*\d", re.IGNORECASE
)
_FEWEST_PROSE_WORDS = 2
_LONGEST_RUN = 6
_SURE_RUN = 3
"""So many capitals are a name even where a sentence begins."""
_UNSHOWN = frozenset({"NUMBER", ADDRESS})
_NAMELESS = STOP_NAMES | STARTERS | PRONOUNS | CALENDAR
_HAN_CLAUSE = re.compile("积极|响应|携手|发布|推出|加快|持续|全面|深入|推动|开展|举办|召开|部门$")
"""What stands in no name, but in clauses and kinds that the segmentation takes for one."""
_HAN_LATIN = re.compile(r"[A-Za-z][\w.+#&/ -]*", re.ASCII)


class Place(Enum):
    """Where a sentence stands, as far as it says what a capital means there."""

    PROSE = auto()
    FRAGMENT = auto()
    """A caption, a cell, a line of a list: capitals at its start mean nothing."""
    HEADING = auto()
    CODE = auto()


class Places:
    """The places of a document's sentences."""

    def __init__(self, document: Document, chunks: Iterable[Chunk]) -> None:
        code = [frame.span for frame in document.frames if frame.kind is FrameKind.CODE]
        self._code = sorted(code)
        self._code_starts = [span.start for span in self._code]
        self._headings = {
            title.strip()
            for chunk in chunks
            for title in (chunk.document_title, *chunk.headings, *_labels(chunk))
        }

    def of(self, sentence: str, span: Span) -> Place:
        """Return the place of a sentence, ``span`` of the document."""
        number = bisect_right(self._code_starts, span.start) - 1
        if number >= 0 and span.start < self._code[number].end:
            return Place.CODE
        text = sentence.strip()
        if text.lstrip("#* ").rstrip("* ") in self._headings:
            return Place.HEADING
        words = _WORDS.findall(text)
        ends = text[-1:] in set('.!?。！？”"…')
        if _NUMBERED.match(text) or text.startswith("|") or not ends:
            return Place.FRAGMENT
        if is_chinese(text):
            return Place.PROSE
        lower = sum(word.islower() for word in words)
        return Place.PROSE if lower >= _FEWEST_PROSE_WORDS else Place.FRAGMENT


def _labels(chunk: Chunk) -> Iterable[str]:
    return (frame.label for frame in chunk.frames if frame.kind is FrameKind.TITLE)


def english_entities(
    sentence: Sentence, names: Sequence[Occurrence], place: Place, evidence: Evidence
) -> Iterable[str]:
    """Yield the normal forms of the names that a sentence shows to be entities."""
    if place is Place.CODE:
        return
    starts = {token.start: position for position, token in enumerate(sentence.tokens)}
    for name in names:
        if name.part or name.doubtful or name.type in _UNSHOWN:
            continue
        position = starts.get(name.start)
        if name.type == "DATE" and position is not None and YEAR.fullmatch(name.form):
            if _is_year(sentence, position):
                yield name.form
        elif name.type:
            yield name.form
        elif place is not Place.HEADING and not sentence.headline:
            if position is None or not _is_name(sentence, name, position, place, evidence):
                continue
            sides = _sides(sentence, name, names)
            yield from [side.form for side in sides] or [name.form]


def _sides(
    sentence: Sentence, name: Occurrence, names: Sequence[Occurrence]
) -> Sequence[Occurrence]:
    """Return the names on both sides of an "and" that hardly makes them one, outside quotation."""
    surface = sentence.text[name.start : name.end]
    left, joined, _ = surface.partition(" and ")
    quoted = sentence.text[max(0, name.start - 1) : name.start] in set("\"“«‘`'")
    if not joined or quoted or name_type(surface, name.form):
        return ()
    ends = (name.start + len(left), name.end)
    starts = (name.start, name.start + len(left) + len(joined))
    return [
        n
        for n in names
        if (n.start, n.end) in zip(starts, ends, strict=True) and n.form not in _NAMELESS
    ]


def _is_year(sentence: Sentence, position: int) -> bool:
    """Return whether four digits are a year: "in 1999", not "1024 bytes"."""
    before = sentence.tokens[position - 1].lower if position else ""
    following = sentence.tokens[position + 1] if position + 1 < len(sentence.tokens) else None
    counts = following is not None and following.kind == WORD and following.lower not in JOINERS
    return before in _BEFORE_YEAR and (not counts or before in {"in", "since", "until"})


def _is_name(  # noqa: PLR0911  one for each kind of evidence
    sentence: Sentence, name: Occurrence, position: int, place: Place, evidence: Evidence
) -> bool:
    tokens = sentence.tokens
    surface = sentence.text[name.start : name.end]
    words = _WORDS.findall(surface)
    if not words or len(words) > _LONGEST_RUN or tokens[position].kind in {WORD, SIGN}:
        return False
    before, behind = sentence.text[: name.start], sentence.text[name.end : name.end + 2]
    cut = len(behind) > 1 and behind[0] == "." and behind[1].isalnum()  # Identi.ca
    if cut or before.endswith("\\"):
        return False
    if looks_technical(words[0]) and len(words) == 1:
        return True
    listed = _YEAR_AND_NAME.fullmatch(surface) and before.rstrip().endswith(",")
    if listed or _is_no_name(surface, words):
        return False
    capitals = [word for word in words if word.lower() not in JOINERS]
    if not any(word[0].isupper() or word[0].isdigit() for word in capitals):
        return False
    quoted = position > 0 and tokens[position - 1].text in set('"“«‘`')
    opening = opens(tokens, position) and not quoted
    named = _is_spoken_of(sentence, name, capitals)
    if len(words) == 1:
        return _is_single_name(words[0], place, evidence, opening=opening and not named)
    if opening:
        return _is_opening_name(words[0].lower(), len(capitals), place, evidence, named=named)
    return place is Place.PROSE or not all(word.lower() in common_words() for word in words)


def _is_no_name(surface: str, words: Sequence[str]) -> bool:
    """Return whether capitals and digits are no name by their form alone."""
    quantity = _QUANTITY.fullmatch(surface) and not _KEPT_QUANTITY.fullmatch(surface)
    large = [word.isupper() and len(word) > 1 for word in words]
    label = large[0] and len(words) > 1 and words[0].lower() in common_words() | STARTERS
    return bool(
        quantity
        or _NUMBERED_NAME.match(surface)  # Table 8.16
        or _COMPOUND.fullmatch(words[-1])  # SCRAM-based
        or _OWNED_ACRONYM.search(surface)  # PostgreSQL's EXPLAIN
        or (" and " in surface and any(large))  # OLD and DELETE
        or (label and not surface.isupper())  # NOTE Secure Boot
    )


def _is_opening_name(
    first: str, capitals: int, place: Place, evidence: Evidence, *, named: bool
) -> bool:
    """Return whether several words that open a sentence are a name; ``first`` is the first."""
    if first in _NAMELESS:
        return False
    verb = first.endswith(("ing", "ed"))
    if place is Place.PROSE and (named or (capitals >= _SURE_RUN and not verb)):
        return True
    common = first in common_words() or first in evidence.lower or verb
    return not common or (first in evidence.capitalised and place is Place.PROSE)


def _is_spoken_of(sentence: Sentence, name: Occurrence, capitals: Sequence[str]) -> bool:
    """Return whether capitals alone make a name, of which the sentence then says something."""
    following = next((t for t in sentence.tokens if t.start >= name.end), None)
    return (
        following is not None
        and (following.text in {"(", "（"} or is_predicate(following.lower))
        and all(word[0].isupper() or word[0].isdigit() for word in capitals)
    )


def _is_single_name(word: str, place: Place, evidence: Evidence, *, opening: bool) -> bool:
    lower = word.lower()
    if len(word) < 2 or lower in _NAMELESS or lower in GENERIC_HEADS or not word[0].isalpha():
        return bool(YEAR.fullmatch(word))
    if is_command(word):
        return place is Place.PROSE
    if lower in common_words() or lower in evidence.lower:
        return not opening and place is Place.PROSE and word.isupper() and len(word) > 2
    if not opening:
        return place is Place.PROSE or not word.isupper()
    return lower in evidence.capitalised


def han_entities(names: Sequence[Occurrence], text: str, place: Place) -> Iterable[str]:
    """Yield the normal forms of the names of a Chinese sentence that are entities."""
    if place is Place.CODE:
        return
    for name in names:
        if name.part or name.doubtful or name.type in _UNSHOWN:
            continue
        surface = text[name.start : name.end]
        if name.type:
            if surface not in COMMON_NOUNS and not _HAN_CLAUSE.search(surface):
                yield name.form
        elif place is Place.HEADING or text[max(0, name.start - 1)] == "\\":
            continue
        elif _HAN_LATIN.fullmatch(surface):
            words = surface.split()
            common = all(word.lower() in common_words() for word in words)
            quantity = _QUANTITY.fullmatch(surface) and not _KEPT_QUANTITY.fullmatch(surface)
            capital = any(c.isupper() for c in words[0]) and not quantity
            if capital and not common and words[0].lower() not in _NAMELESS and len(surface) > 1:
                yield name.form
        else:
            yield name.form
