"""Rank the sentences of the evidence that may answer: relevant, and of the expected kind."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from knotwork._questions.asked_facts import asked_fact
from knotwork._questions.reading import reading_of
from knotwork._retrieval.evidence_builder import logistic
from knotwork._text.plain_text import split_number, split_row
from knotwork._text.prose import CODE_WEIGHT, weigh_prose
from knotwork._text.statements import SelectedSentence
from knotwork.records import AnswerSpan, Block, BlockKind, Chunk, Evidence, Hit, Span

HIT_POWER = 0.1
"""Exponent of a hit's score, relative to the best hit's, in the worth of its sentences."""

ENTRY_SHARE = 0.6
"""The share of its entry's best sentence in the worth of a sentence of the expected kind."""

KIND_GAIN = 0.5
"""How much more, relatively, a sentence of the expected kind is worth."""

PREDICTION_GAIN = 1.5
"""How much more, relatively, a sentence is worth if a reader is certain that it answers."""

PREDICTION_SCALE = 2.5
"""The divisor of a reader's log-odds: readers are overconfident."""

UNREAD_ODDS = -4.5
"""The log-odds of a sentence that was not read, if others were."""
_LEADING = 3

BRIDGE, NEAREST = "bridge", "nearest"
"""The keys, in the scores of a hit, of what a bridge from another passage contributed, and of what
puts the passage first that is nearest to the question."""

_NAMING = (BlockKind.DEFINITION, BlockKind.SECTION, BlockKind.BOX, BlockKind.TABLE)
_ABOUT = (BlockKind.DEFINITION, BlockKind.ITEM, BlockKind.ROW)
_HEADING_MARKS = "#=*_` \t\n"
_HEADINGS = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_FIELD = re.compile(
    r"(?:[-*+•][ \t]+)?[^\W\d_][\w -]{0,30}(?::[ \t]+|：[ \t]*)"  # its name
    r"[^\s:：][^\n:：]{0,60}(?<![.!?,;。！？，；])"  # its value, which is no sentence
)


def rank_candidates(evidence: Evidence) -> list[SelectedSentence]:
    """Return every sentence of the hits that can be quoted, each once, highest worth first."""
    top = max((hit.score for hit in evidence.hits), default=0.0)
    best = max((value for hit in evidence.hits for _, value in hit.sentences), default=0.0)
    if top <= 0 or best <= 0:
        return []
    expected = reading_of(evidence.query.text).expected
    fact = asked_fact(evidence.query.text)
    gain = PREDICTION_GAIN * trust_in_reader(evidence)
    quotable = [
        _Quotable(rank, hit, span, relevance, headings)
        for rank, hit in enumerate(evidence.hits)
        for headings in (_find_headings(hit.chunk),)
        for span, relevance in hit.sentences
    ]
    entries: dict[object, float] = {}
    own_bests: dict[int, float] = {}
    for item in quotable:
        for entry in {item.entry, item.section}:
            entries[entry] = max(entries.get(entry, 0.0), item.relevance)
        own_bests[item.rank] = max(own_bests.get(item.rank, 0.0), item.relevance)
    found: dict[tuple[str, Span], SelectedSentence] = {}
    for item in quotable:
        if item.is_title:
            continue
        hit, met = item.hit, expected.met_by(item.read)
        value = item.relevance
        if met:
            value = (1 - ENTRY_SHARE) * value + ENTRY_SHARE * entries[item.entry]
        value = _lift(value, hit, own_bests[item.rank], best) * (1 + KIND_GAIN * met)
        value *= 1.0 if met and item.is_field else item.prose
        value *= fact.weigh(item.read)
        value *= (max(hit.score, 0.0) / top) ** HIT_POWER
        odds, answer = item.predicted
        value *= 1 + gain * logistic((UNREAD_ODDS if odds is None else odds) / PREDICTION_SCALE)
        key = (hit.chunk.document_id, item.span)
        if key not in found or value > found[key].worth:
            found[key] = SelectedSentence(
                hit.chunk,
                item.span,
                item.text,
                value,
                item.rank,
                odds,
                answer,
            )
    return sorted(found.values(), key=lambda item: -item.worth)


def trust_in_reader(evidence: Evidence) -> float:
    """Return how much the predictions of a reader count, from 0 to 1; 0 if nothing was read.

    A reader sees one passage at a time, so they count less if bridges lead to the best hits.
    """
    if all(hit.prediction is None for hit in evidence.hits):
        return 0.0
    return 1.0 - max(map(bridge_share, evidence.hits[:_LEADING]))


def _lift(value: float, hit: Hit, own_best: float, best: float) -> float:
    """Return a worth rescaled by the best sentence of its hit if a bridge led to the hit.

    Such a passage resembles the question less than the one that names its words. The share of the
    bridge in the hit's score determines how much is rescaled.
    """
    share = bridge_share(hit)
    return (1 - share) * value + share * value / own_best * best if own_best > 0 else value


def bridge_share(hit: Hit) -> float:
    """Return the share of a bridge in the score of a hit, from 0 to 1."""
    return min(max(hit.scores.get(BRIDGE, 0.0) / hit.score, 0.0), 1.0) if hit.score > 0 else 0.0


def _find_headings(chunk: Chunk) -> list[tuple[int, str]]:
    """Return the headings above and in a chunk, each with its end offset in the document."""
    start = chunk.span.start
    found = [(-1, (chunk.headings or ("",))[-1])]
    found += ((start + match.end(), match[1]) for match in _HEADINGS.finditer(chunk.text))
    return [(end, text.strip(_HEADING_MARKS)) for end, text in found]


@dataclass(frozen=True)
class _Quotable:
    """A sentence of a hit; ``headings`` are those of its chunk, each with its end offset."""

    rank: int
    hit: Hit
    span: Span
    relevance: float
    headings: Sequence[tuple[int, str]]

    @cached_property
    def text(self) -> str:
        return self.hit.chunk.text_at(self.span)

    @cached_property
    def read(self) -> str:
        """The text, with the names of columns if it is a table row."""
        return name_cells(self.text, self.columns)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return self.hit.chunk.blocks_around(self.span)

    @cached_property
    def predicted(self) -> tuple[float | None, AnswerSpan | None]:
        """The reader's log-odds that the sentence answers, and the words that do.

        Both are None if it was not read, the words also if the reader found none.
        """
        prediction, sentences = self.hit.prediction, self.hit.chunk.sentences
        if prediction is None or self.span not in sentences:
            return None, None
        number = sentences.index(self.span)
        answer = prediction.answers[number] if prediction.answers else None
        return prediction.sentences[number], answer

    @property
    def is_title(self) -> bool:
        """True if the sentence only repeats a title or label above it."""
        text = " ".join(self.text.strip("| \t\n").split())
        labels = (b.label for b in self.hit.chunk.blocks if b.kind in _NAMING)
        return any(text in label for label in labels) or is_title(text, self.hit.chunk)

    @cached_property
    def term(self) -> str:
        """The terms and row keys around the sentence, outermost first.

        For a field ("Default: 2") without any, the heading above it.
        """
        around = " > ".join(b.label for b in self.blocks if b.kind in _ABOUT and b.label)
        return around or (split_number(self._heading)[1] if self.is_field else "")

    @cached_property
    def is_field(self) -> bool:
        """True for a line with a property and its value, as "Default: 2".

        A line of code may look like one, but is not about the heading above it.
        """
        return not self.is_code and _FIELD.fullmatch(self.text.strip()) is not None

    @cached_property
    def is_code(self) -> bool:
        return any(block.kind is BlockKind.CODE for block in self.blocks)

    @property
    def _heading(self) -> str:
        """The heading right above the sentence."""
        passed = bisect_right(self.headings, self.span.start, key=itemgetter(0))
        return self.headings[passed - 1][1]

    @property
    def columns(self) -> str:
        """The column names of a table row; else ""."""
        labels = (b.label for b in self.blocks if b.kind is BlockKind.TABLE)
        return next(labels, "")

    @property
    def entry(self) -> object:
        """A key shared by the sentences about one term, of one row or in one paragraph."""
        for block in reversed(self.blocks):
            if block.kind in _ABOUT and block.label:
                return self.hit.chunk.document_id, block.span
        if self.term:
            return self.section
        start = self.hit.chunk.span.start
        gap = self.hit.chunk.text.rfind("\n\n", 0, self.span.start - start)
        return self.hit.chunk.document_id, start + gap

    @property
    def section(self) -> object:
        """A key shared by the sentences below one heading."""
        return self.hit.chunk.section_id, self._heading

    @property
    def prose(self) -> float:
        return weigh_prose(self.read) * (CODE_WEIGHT if self.is_code else 1.0)


def name_cells(row: str, columns: str) -> str:
    """Return a table row, with bars between its cells, as "Column: cell; Column: cell".

    ``columns`` are the column names, separated by " | ". Text that is not a row of at most as many
    cells is returned unchanged.
    """
    cells = split_row(row)
    names = columns.split(" | ")
    if not 1 < len(cells) <= len(names):
        return row
    pairs = ((name.strip(" :："), cell) for name, cell in zip(names, cells, strict=False) if cell)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs)


def is_title(text: str, chunk: Chunk) -> bool:
    """Return True if a text only repeats a title above it."""
    bare = text.strip(_HEADING_MARKS)
    return bare in {
        title.strip(_HEADING_MARKS) for title in (*chunk.headings, chunk.document_title)
    }
