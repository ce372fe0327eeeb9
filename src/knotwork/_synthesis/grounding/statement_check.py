"""Check the statements of a reply against the passages that the model was given.

The numbers and names of a statement must be those of its passages and be used as they use them, it
may not deny what they affirm or affirm what they deny, and enough of its words must be theirs. No
language model is asked, so the check finds contradictions in words, not those that take knowledge
of the world. A statement in another language than the passages is only checked for numbers and for
names that are written the same in both.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from difflib import SequenceMatcher
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from knotwork._synthesis.citations import show_sentence
from knotwork._synthesis.grounding.places import (
    Compared,
    SourcePlaces,
    denials_of,
    judge_placement,
    judge_polarity,
)
from knotwork._synthesis.grounding.texts import (
    LARGEST_COUNT,
    NAME,
    ReadText,
    Word,
    covered_share,
    has_more_han,
    pieces_of,
    read_text,
    states_number,
    word_behind,
)
from knotwork._synthesis.prompt_context import PromptPassage, sentences_of
from knotwork._text.chinese import HAN_CHARACTER, simplify
from knotwork._text.dates import MONTHS
from knotwork._text.numbers import Number
from knotwork._text.plain_text import split_row
from knotwork._text.terms import STOP_WORDS, held_terms, terms
from knotwork.records import BlockKind, Chunk

LEAST_SHARE = 0.22
"""The least share of the pieces of a statement's words that its passages and their titles have."""
LEAST_SHARE_ZH = 0.35
"""The same for the characters of a Chinese statement, of which any two texts share more."""
LEAST_NEW_SHARE = 0.1
"""The same for the words that the question does not have."""
LEAST_ODDS = 1.2
"""The log-odds above which a name or number is taken for one that replaced another."""
LEAST_ODDS_OF_DENIAL = 0.5
"""The log-odds above which a statement is taken to deny what the sources say."""


class Fault(StrEnum):
    """What is wrong with a statement."""

    NUMBER = "number"
    NAME = "name"
    NEGATION = "negation"
    ROLES = "roles"
    WORDS = "words"
    SELF = "self"


class Finding(NamedTuple):
    """A fault of a statement, and the words that show it ("" without any)."""

    fault: Fault
    words: str = ""


class CitedSources:
    """The sentences of the cited passages in reading order.

    Names may also come from the ``titles`` around them and from the ``question``.
    """

    def __init__(self, sentences: Sequence[str], titles: str = "", question: str = "") -> None:
        self._sentences = list(map(read_text, sentences))
        self.titles = read_text(titles)
        self.question = read_text(question)
        self._terms = self.titles.terms.union(*(sentence.terms for sentence in self._sentences))
        self._plain = simplify(" ".join((*sentences, titles))).casefold()
        self._asked = simplify(question).casefold()
        self.is_chinese = has_more_han(self._plain)

    @cached_property
    def places(self) -> SourcePlaces:
        """The places of the words and mentions of the sentences."""
        return SourcePlaces(self._sentences)

    def find_fault(self, statement: str) -> Finding | None:
        """Return the first fault of a statement, or None if the sources say it."""
        said = read_text(statement)
        if not (said.words or said.numbers) or _ABOUT_SOURCES.search(statement):
            return None
        if has_more_han(said.text) != self.is_chinese:
            return self.find_number(said) or self.find_name(said)
        return (
            self.find_number(said)
            or self.find_name(said)
            or self.find_denial(said)
            or self.find_misplacement(said)
            or self.find_strange_words(said)
        )

    def find_number(self, said: ReadText) -> Finding | None:
        for number in said.numbers:
            if self._has_number(number, said):
                continue
            return Finding(Fault.NUMBER, said.text[number.start : number.end].strip())
        return None

    def _has_number(self, number: Number, said: ReadText) -> bool:
        before, after = said.text[: number.start], said.text[number.end :]
        if _ENUMERATION.search(before) and _AFTER_ENUMERATION.match(after):
            return True
        if number.is_written and max(number.values) <= LARGEST_COUNT:
            # It may count, unless the passage counts the same things, and never to this number.
            thing = word_behind(number.end, said)
            counted = (
                n for s in self._sentences for n in s.numbers if word_behind(n.end, s) == thing
            )
            counts = [n.values for n in counted] if thing else []
            is_one = number.values == _ONE
            return is_one or not counts or any(values & number.values for values in counts)
        holders = [s for s in self._sentences if states_number(s, number.values)]
        if holders:
            thing = word_behind(number.end, said)
            return not thing or not all(_counts_other(thing, number, s) for s in holders)
        if states_number(self.question, number.values):
            return not _ASKS_YES_NO.search(self.question.text) or bool(_NOT_THIS.search(before))
        near = (b for s in self._sentences for other in s.numbers for b in other.values)
        return states_number(self.titles, number.values) or (
            bool(_ABOUT.search(before))
            and any(abs(a - b) <= _ROUNDING * abs(b) for b in near for a in number.values)
        )

    def find_name(self, said: ReadText) -> Finding | None:
        for word in said.words:
            if word.is_name and not self._has_name(word, said):
                return Finding(Fault.NAME, said.text[word.start : word.end])
        return None

    def _has_name(self, word: Word, said: ReadText) -> bool:
        shown = simplify(said.text[word.start : word.end]).casefold()
        if (
            word.term in self._terms
            or word.term in self.question.terms
            or shown in self._plain
            or shown in self._asked
            or shown in _TITLES_OF_PEOPLE
        ):
            return True
        is_chinese = has_more_han(said.text)
        if self.is_chinese != is_chinese and shown.isalpha() and not shown.isupper():
            # Names are translated; what has digits or signs is not.
            return not is_chinese or bool(HAN_CHARACTER.match(shown))
        if HAN_CHARACTER.match(shown):
            name = shown.lstrip(_BEFORE_NAMES_ZH)
            pairs = [a + b for a, b in pairwise(name)]
            held = sum(pair in self._plain or pair in self._asked for pair in pairs)
            return held * 2 >= len(pairs)
        if shown in MONTHS:
            month = frozenset([Decimal(MONTHS.index(shown) + 1)])
            return any(states_number(s, month) for s in self._sentences)
        return self._is_spelled_otherwise(shown) or self._is_shortened(said, word)

    def _is_spelled_otherwise(self, name: str) -> bool:
        return any(
            abs(len(term) - len(name)) <= 3
            and term[:3] == name[:3]
            and len(name) > 4
            and SequenceMatcher(None, term, name).ratio() >= _SAME_SPELLING
            for term in self._terms
        )

    def _is_shortened(self, said: ReadText, word: Word) -> bool:
        """Return True for "LTS" where the passage has "long term support", or the other way."""
        shown = said.text[word.start : word.end]
        if shown.isupper() and len(shown) > 1:
            letters = "".join(w[0] for w in re.findall(r"[^\W\d_]+", self._plain))
            return shown.casefold() in letters
        names = "".join(m[0][0] for m in re.finditer(r"\b[A-Z][a-z]+", said.text)).casefold()
        return any(
            len(term) > 1 and term in names and shown[0].casefold() in term
            for s in self._sentences
            for term in re.findall(r"\b[A-Z]{2,}\b", s.text)
            for term in (term.casefold(),)
        )

    def find_denial(self, said: ReadText) -> Finding | None:
        """Find a denial that the sources do not have, or the lack of one that they have."""
        if not self._sentences:
            return None
        denials = self.denials_in(said)
        if not denials and not any(map(denials_of, self._sentences)):
            return None
        if judge_polarity(said, self.places, self.question, denials) <= LEAST_ODDS_OF_DENIAL:
            return None
        if not denials:  # that of the sentence with most of its words
            denied = [s for s in self._sentences if denials_of(s)]
            denials = denials_of(max(denied, key=lambda s: covered_share(said, s)))
        return Finding(Fault.NEGATION, denials[0][0])

    def denials_in(self, said: ReadText) -> list[re.Match[str]]:
        """Return the denials of a statement, without those in words that the sources have too."""
        found = [(d, simplify(said.text[d.start() : d.start() + 2])) for d in denials_of(said)]
        # A mark before a verb such as 是 and 能 denies, whatever the passage has elsewhere.
        return [
            denial
            for denial, word in found
            if not HAN_CHARACTER.match(word) or word[1:] in _DENIED_ZH or word not in self._plain
        ]

    def find_misplacement(self, said: ReadText) -> Finding | None:
        """Find a name or number that stands where the sources have another one."""
        compared = Compared(said, self.places, self.titles, self.question)
        for first, second in compared.roles.turned:
            return Finding(Fault.ROLES, said.text[first.start : second.end])
        found = judge_placement(compared)
        if found is None or found[1] <= LEAST_ODDS:
            return None
        kind = Fault.NAME if found[0].kind == NAME else Fault.NUMBER
        return Finding(kind, said.text[found[0].start : found[0].end])

    def find_strange_words(self, said: ReadText) -> Finding | None:
        """Find a statement that has too little in common with its passages to be theirs."""
        words = {word.start: word for word in said.words}.values()
        least = LEAST_SHARE_ZH if has_more_han(said.text) else LEAST_SHARE
        if self._held_share(words, said) < least:
            return Finding(Fault.WORDS)
        new = [
            word
            for word in words
            if word.term not in self._asked and word.term not in self.question.terms
        ]
        if new and self._held_share(new, said) < LEAST_NEW_SHARE:
            return Finding(Fault.WORDS, said.text[new[0].start : new[0].end])
        return None

    def _held_share(self, words: Collection[Word], said: ReadText) -> float:
        """Return the share of words, and of a statement's numbers, that the sources have.

        A number or a word of letters counts as much as two Chinese characters.
        """
        total = 2.0 * len(said.numbers)
        held = 2.0 * sum(
            any(states_number(s, number.values) for s in self._sentences) for number in said.numbers
        )
        for word in words:
            pieces = list(pieces_of(said.text[word.start : word.end]))
            weight = len(pieces) if HAN_CHARACTER.match(word.term) else 2.0
            total += weight
            held += weight * sum(p in self._pieces for p in pieces) / max(len(pieces), 1)
        return held / total if total else 1.0

    @cached_property
    def _pieces(self) -> frozenset[str]:
        return frozenset(pieces_of(self._plain))


def _counts_other(thing: str, number: Number, sentence: ReadText) -> bool:
    """Return True if a sentence has a number of something else, and another one of a thing."""
    counted = [(word_behind(n.end, sentence), n.values & number.values) for n in sentence.numbers]
    own = {word for word, shared in counted if shared}
    return bool(own) and not own & {thing, ""} and any(word == thing for word, _ in counted)


_BEFORE_NAMES_ZH = "由被在于为对把跟与和"
"""Words of one character that the segmentation joins with a name after them."""
_DENIED_ZH = frozenset("是能会可要需应该得必用有在再曾位属由被将")
"""Characters before which a negation is a word of its own."""
_ONE = frozenset([Decimal(1)])
_ROUNDING = Decimal("0.06")
_SAME_SPELLING = 0.78
_ENUMERATION = re.compile(r"(?:^|\n)[\s(（]*$")
_AFTER_ENUMERATION = re.compile(r"\s*[.)）、:]\s")
_ABOUT = re.compile(
    r"(?:about|around|approximately|roughly|nearly|almost|over|than|some|约|近|超过|大约|左右|多达)\s*[$€£¥]?$",
    re.IGNORECASE,
)
_NOT_THIS = re.compile(
    r"(?:\bnot|\bthan|instead of|不是|而非|并非|不止)\W*(?:\w+\W+){0,2}$", re.IGNORECASE
)
_ASKS_YES_NO = re.compile(
    r"^\W*(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|must|may)\b|[吗嗎]|是否|是不是",
    re.IGNORECASE,
)
_TITLES_OF_PEOPLE = frozenset(
    "mr mrs ms dr sir lord lady king queen prince princess president professor general captain"  # noqa: SIM905
    " colonel saint pope emperor chapter section figure table".split()
)
_ABOUT_SOURCES = re.compile(
    r"\b(?:passages?|documents?|sources?|texts?|context|manual|excerpts?)\b[^.]{0,30}\b(?:not|no)\b"
    r"[^.]{0,12}\b(?:say|state|mention|contain|includ|specif|give|provid|describ|explain|tell|answer)"
    r"|(?:段落|文档|文檔|文中|资料|資料|原文|上下文).{0,6}(?:没有|沒有|未|不)"
    r".{0,4}(?:提|说|說|写|寫|给|給|包含|涉及|回答)",
    re.IGNORECASE,
)
"""A statement that the passages do not say something: they need not say that themselves."""


FENCE = "```"
_ROW = re.compile(r"\|.+\|")
_CODE = re.compile(r"\s*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?```")
LEAST_CODE = 0.8
"""Code is said by passages that have this share of its distinct words."""

LEAST_REPAIRED = 0.8
"""A passage with a sentence that has this share of a statement's words may be cited for it."""
_MOST_NEAREST = 3
_OF_ITSELF = re.compile(
    r"\b(?:as an? (?:AI|artificial intelligence|(?:large )?language model)\b[^,.]*"
    r"|I(?:'m| am) (?:just |only )?an? (?:AI|assistant|(?:large )?language model)|my training data"
    r"|I (?:cannot|can't|am unable to) (?:assist|help|answer|provide|browse|access)"
    r"|I(?:'m| am) (?:sorry|happy to help|here to help)|I don't have (?:access|enough information))"
    r"|作为(?:一个|一名)?(?:AI|人工智能|大?语言模型|大模型|智能助手)[^，。]*|我是一个?(?:AI|人工智能|语言模型|大模型)"
    r"|我(?:无法|不能)(?:回答|提供|访问|协助)|很抱歉|我的训练数据",
    re.IGNORECASE,
)


Row = list[tuple[str, str]]
"""The cells of a row, each behind the name of its column."""


def is_code(statement: str) -> bool:
    """Return True for code in a fence."""
    return _CODE.match(statement) is not None


class StatementCheck:
    """Checks the statements of one reply against the passages that were given to the model.

    What was compared once is known: a streamed reply is read twice, as it comes and as a whole.
    """

    def __init__(self, passages: Mapping[int, PromptPassage], *, question: str = "") -> None:
        self._passages = passages
        self._question = question
        self._sources: dict[int, tuple[list[str], str]] = {}
        self._cited: dict[tuple[int, ...], CitedSources] = {}
        self._rows: dict[str, Row] = {}
        self._compared: dict[tuple[str, tuple[int, ...]], Finding | None] = {}

    def find_fault(self, statement: str, cited: Sequence[int]) -> Finding | None:
        """Return the fault of a statement that cites passages by number, or None.

        Without citations, any passage may say it, or the nearest ones together.
        """
        if match := _OF_ITSELF.search(statement):
            said = match[0].casefold()
            if not any(said in p.chunk.text.casefold() for p in self._passages.values()):
                return Finding(Fault.SELF, match[0])
        if cited:
            return self._compare(statement, cited)
        nearest = self._nearest(statement)
        first: Finding | None = None
        for group in ([number] for number in nearest):
            finding = self._compare(statement, group)
            if finding is None:
                return None
            first = first or finding
        return self._compare(statement, nearest) and first

    def read_row(self, row: str, columns: Sequence[str]) -> str:
        """Return a row as a statement, with the names of its columns if the passages have them.

        Its cells are then compared with those of tables, too.
        """
        cells, names = split_row(row), set(terms(" ".join(columns)))
        texts = (p.chunk.context + p.chunk.text + p.rows for p in self._passages.values())
        is_named = names <= {term for text in texts for term in held_terms(text, names)}
        statement = name_cells(columns, cells) if is_named else row
        self._rows[statement] = pair_cells(columns, cells)
        return statement

    def find_passage(self, statement: str) -> int | None:
        """Return the number of a passage that says nearly every word of a statement, or None."""
        words = read_text(statement)
        for number in self._nearest(statement):
            if is_code(statement):
                if self._compare(statement, [number]) is None:
                    return number
                continue
            best = max(
                (covered_share(words, read_text(s)) for s in self._read(number)[0]), default=0.0
            )
            if best >= LEAST_REPAIRED and self._compare(statement, [number]) is None:
                return number
        return None

    def _compare(self, statement: str, numbers: Sequence[int]) -> Finding | None:
        key = (statement, tuple(numbers))
        if key not in self._compared:
            check = self._find_code_fault if is_code(statement) else self._find_text_fault
            self._compared[key] = check(statement, key[1])
        return self._compared[key]

    def _find_text_fault(self, statement: str, numbers: tuple[int, ...]) -> Finding | None:
        if row := self._rows.get(statement):
            chunks = [self._passages[number].chunk for number in numbers]
            known = [pair_cells(*read) for chunk in chunks for read in read_rows(chunk)]
            if fault := find_cell_fault(row, known):
                return fault
        return self._cite(numbers).find_fault(statement)

    def _find_code_fault(self, code: str, numbers: tuple[int, ...]) -> Finding | None:
        words = set(terms("\n".join(code.strip().split("\n")[1:])))
        text = "\n".join(self._passages[number].chunk.text for number in numbers)
        is_said = len(held_terms(text, words)) >= LEAST_CODE * len(words)
        return None if is_said else Finding(Fault.WORDS, "")

    def _cite(self, numbers: tuple[int, ...]) -> CitedSources:
        if numbers not in self._cited:
            read = [self._read(number) for number in numbers]
            self._cited[numbers] = CitedSources(
                [sentence for sentences, _ in read for sentence in sentences],
                " / ".join(titles for _, titles in read),
                self._question,
            )
        return self._cited[numbers]

    def _read(self, number: int) -> tuple[list[str], str]:
        """Return the sentences of a passage and the titles around it."""
        if number not in self._sources:
            passage = self._passages[number]
            chunk = passage.chunk
            sentences = [show_sentence(chunk.text_at(span)) for span in sentences_of(chunk)]
            sentences += (name_cells(columns, cells) for columns, cells in read_rows(chunk))
            sentences += passage.rows.split(" / ")
            titles = " / ".join((chunk.document_title, *chunk.headings))
            self._sources[number] = [s for s in sentences if s], titles
        return self._sources[number]

    def _nearest(self, statement: str) -> list[int]:
        asked = set(terms(statement)) - STOP_WORDS
        shared = {
            number: len(held_terms(passage.chunk.text, asked))
            for number, passage in self._passages.items()
        }
        return sorted(shared, key=lambda number: (-shared[number], number))[:_MOST_NEAREST]


def is_row(statement: str) -> bool:
    """Return True for a row of a table."""
    return _ROW.fullmatch(statement.strip()) is not None


def name_cells(columns: Sequence[str], cells: Sequence[str]) -> str:
    """Return the cells of a row with the names of their columns, as "Part: fuse; Price: 2"."""
    named = pair_cells(columns, cells)
    return "; ".join(f"{column}: {cell}" if column else cell for column, cell in named)


def read_rows(chunk: Chunk) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the rows in a chunk: the names of their columns, and their cells."""
    columns: tuple[str, ...] = ()
    for block in chunk.blocks:
        if block.kind is BlockKind.TABLE:
            columns = split_row(block.label)
        elif block.kind is BlockKind.ROW and columns and chunk.span.contains(block.span):
            yield columns, split_row(chunk.text_at(block.span))


def find_cell_fault(row: Row, known: Sequence[Row]) -> Finding | None:
    """Return the fault of a row with a cell that tables have in other rows or columns alone.

    The first cell names the subject of the row; a cell that no table has is not judged. ``known``
    are the rows of the tables.
    """

    def fold(row: Row) -> Row:
        return [(column.casefold(), cell.casefold()) for column, cell in row]

    def gives(row: Row, column: str, cell: str) -> bool:
        named = [value for name, value in row if name == column]
        return cell in (named or [value for _, value in row])

    tables = [fold(other) for other in known]
    (_, subject), *others = fold(row)
    about = [other for other in tables if any(cell == subject for _, cell in other)]
    for place, (column, cell) in enumerate(others, start=1):
        is_known = about and any(cell == value for other in tables for _, value in other)
        if is_known and not any(gives(other, column, cell) for other in about):
            return Finding(Fault.NUMBER, row[place][1])
    return None


def pair_cells(columns: Sequence[str], cells: Sequence[str]) -> Row:
    """Return the cells of a row with the names of their columns, without empty cells."""
    named = zip(columns, cells, strict=False)
    return [(column, " ".join(cell.split())) for column, cell in named if cell]
