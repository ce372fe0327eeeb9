"""Rank the sentences and the pieces of documents that may answer, and write pieces as Markdown.

Sentences of the evidence are ranked by relevance and by the expected kind of answer. A piece is a
paragraph, a part of a long one, an item, a whole list, rows of a table, a definition or code. The
best sentences propose the pieces that they are in or introduce. A linear model ranks pieces by
their relevance, by the prediction of the reader, by what introduces them, and by how well their
kind fits the kind of answer that the question expects.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, cached_property
from importlib.resources import files
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._questions.asked_facts import asked_fact
from knotwork._questions.kinds import KINDS, QuestionKind
from knotwork._questions.reading import open_pronoun, reading_of
from knotwork._retrieval.evidence_builder import logistic
from knotwork._stores.base import Store
from knotwork._synthesis import messages
from knotwork._synthesis.citations import gap_before_mark, gap_between, show_sentence
from knotwork._text.block_index import BlockIndex
from knotwork._text.plain_text import split_number, split_row
from knotwork._text.prose import CODE_WEIGHT, announces, weigh_prose
from knotwork._text.sentences import is_wide, measure_width, split_sentences
from knotwork._text.statements import SelectedSentence
from knotwork._text.terms import content_terms, terms
from knotwork.errors import ConfigError
from knotwork.records import (
    AnswerSpan,
    Block,
    BlockKind,
    Chunk,
    Document,
    Evidence,
    Hit,
    Mention,
    Span,
    Step,
)

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
    quotable = list(_read_quotable(evidence))
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
        if (own_best := own_bests[item.rank]) > 0:
            # A passage that a bridge led to resembles the question less than the one that names its
            # words: the share of the bridge is rescaled by the best sentence of the hit.
            share = bridge_share(hit)
            value = (1 - share) * value + share * value / own_best * best
        value *= 1 + KIND_GAIN * met
        if not (met and item.is_field):
            value *= weigh_prose(item.read) * (CODE_WEIGHT if item.is_code else 1.0)
        value *= fact.weigh(item.read)
        value *= (max(hit.score, 0.0) / top) ** HIT_POWER
        odds = UNREAD_ODDS if item.odds is None else item.odds
        value *= 1 + gain * logistic(odds / PREDICTION_SCALE)
        key = (hit.chunk.document_id, item.span)
        if key not in found or value > found[key].worth:
            found[key] = SelectedSentence(
                hit.chunk, item.span, item.text, value, item.rank, item.odds, item.answer
            )
    return sorted(found.values(), key=lambda item: -item.worth)


def trust_in_reader(evidence: Evidence) -> float:
    """Return how much the predictions of a reader count, from 0 to 1; 0 if nothing was read.

    A reader sees one passage at a time, so they count less if bridges lead to the best hits.
    """
    if all(hit.prediction is None for hit in evidence.hits):
        return 0.0
    return 1.0 - max(map(bridge_share, evidence.hits[:_LEADING]))


def bridge_share(hit: Hit) -> float:
    """Return the share of a bridge in the score of a hit, from 0 to 1."""
    return min(max(hit.scores.get(BRIDGE, 0.0) / hit.score, 0.0), 1.0) if hit.score > 0 else 0.0


def _find_headings(chunk: Chunk) -> list[tuple[int, str]]:
    """Return the headings above and in a chunk, each with its end offset in the document."""
    start = chunk.span.start
    found = [(-1, (chunk.headings or ("",))[-1])]
    found += ((start + match.end(), match[1]) for match in _HEADINGS.finditer(chunk.text))
    return [(end, text.strip(_HEADING_MARKS)) for end, text in found]


class _Quotable(NamedTuple):
    """A sentence of a hit, as it is and as it is read: with the names of columns if it is a row.

    ``entry`` is shared by the sentences about one term, of one row or in one paragraph, ``section``
    by those below one heading. A field is a line with a property and its value, as "Default: 2"; a
    line of code may look like one, but is not about the heading above it. ``odds`` are the
    reader's log-odds that the sentence answers, and ``answer`` are the words that do.
    """

    rank: int
    hit: Hit
    span: Span
    relevance: float
    text: str
    read: str
    entry: object
    section: object
    is_title: bool
    is_field: bool
    is_code: bool
    odds: float | None
    answer: AnswerSpan | None


def _read_quotable(evidence: Evidence) -> Iterator[_Quotable]:
    """Yield every sentence of the hits, those that only repeat a title or label included."""
    for rank, hit in enumerate(evidence.hits):
        chunk, prediction = hit.chunk, hit.prediction
        headings = _find_headings(chunk)
        labels = [block.label for block in chunk.blocks if block.kind in _NAMING]
        for span, relevance in hit.sentences:
            text, blocks = chunk.text_at(span), chunk.blocks_around(span)
            bare = " ".join(text.strip("| \t\n").split())
            is_title_alone = any(bare in label for label in labels) or is_title(bare, chunk)
            columns = (block.label for block in blocks if block.kind is BlockKind.TABLE)
            is_code = any(block.kind is BlockKind.CODE for block in blocks)
            is_field = not is_code and _FIELD.fullmatch(text.strip()) is not None
            above = bisect_right(headings, span.start, key=itemgetter(0)) - 1
            heading = headings[above][1]
            section: object = (chunk.section_id, heading)
            entry = section
            about = [block.span for block in blocks if block.kind in _ABOUT and block.label]
            if about:
                entry = chunk.document_id, about[-1]
            elif not (is_field and split_number(heading)[1]):
                start = chunk.span.start
                gap = chunk.text.rfind("\n\n", 0, span.start - start)
                entry = chunk.document_id, start + gap
            odds = answer = None
            if prediction is not None and span in chunk.sentences:
                number = chunk.sentences.index(span)
                odds = prediction.sentences[number]
                answer = prediction.answers[number] if prediction.answers else None
            yield _Quotable(
                rank,
                hit,
                span,
                relevance,
                text,
                name_cells(text, next(columns, "")),
                entry,
                section,
                is_title_alone,
                is_field,
                is_code,
                odds,
                answer,
            )


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


MOST_PROPOSING = 40
"""Best sentences that propose pieces."""
LONGEST_PIECE = 6_000
"""Longer lists, tables and definitions are proposed by their parts alone."""
LONGEST_PROSE = 600
"""Longer paragraphs are pieces in parts of at most this length; wide characters count twice."""
LONGEST_FURTHER = 300
"""The same for pieces behind the first one."""
_LONGEST_GAP = 4
"""Most characters of white space between a lead-in and what it introduces."""


class Grain(StrEnum):
    """The kind of a piece."""

    PARAGRAPH = "paragraph"
    ITEM = "item"
    LIST = "list"
    ROW = "row"
    TABLE = "table"
    DEFINITION = "definition"
    CODE = "code"
    SECTION = "section"


GRAINS = tuple(Grain)
GRAIN_OF = {
    BlockKind.LIST: Grain.LIST,
    BlockKind.TABLE: Grain.TABLE,
    BlockKind.CODE: Grain.CODE,
    BlockKind.ITEM: Grain.ITEM,
    BlockKind.ROW: Grain.ROW,
    BlockKind.DEFINITION: Grain.DEFINITION,
    BlockKind.SECTION: Grain.SECTION,
}
_LONGEST = {Grain.ITEM: 1_200, Grain.SECTION: 1_500}
_NO_WORDS = re.compile(r"[\W_]+")
_LED = (BlockKind.LIST, BlockKind.TABLE, BlockKind.CODE)
_PARAGRAPHS = re.compile(r"[^\n]*\S[^\n]*(?:\n[^\n]*\S[^\n]*)*")
_PROSE = (BlockKind.PARAGRAPH, BlockKind.TURN)
_NO_PROSE = {BlockKind.CODE, BlockKind.ROW, BlockKind.TABLE}


@dataclass(eq=False)
class DocumentBlocks:
    """A document whose blocks can be looked up by position."""

    document: Document

    @cached_property
    def index(self) -> BlockIndex:
        """The blocks, with lists around definitions in a row; without any, the paragraphs."""
        paragraphs = (
            Block(BlockKind.PARAGRAPH, Span(*found.span()))
            for found in _PARAGRAPHS.finditer(self.document.text)
        )
        return BlockIndex((*(self.document.blocks or paragraphs), *self._lists_of_definitions()))

    def _lists_of_definitions(self) -> Iterator[Block]:
        """Yield a list for each run of definitions that a sentence before it announces."""
        runs: list[list[Block]] = []
        for block in self.document.blocks:
            if block.kind is not BlockKind.DEFINITION:
                continue
            end = runs[-1][-1].span.end if runs else 0
            if block.span.start < end:
                continue  # in the one before it
            if runs and not self.document.text[end : block.span.start].strip():
                runs[-1].append(block)
            else:
                runs.append([block])
        for first, *others in runs:
            lead = self._sentence_before(first.span.start) if others else ""
            if announces(lead):
                yield Block(BlockKind.LIST, Span(first.span.start, others[-1].span.end), lead=lead)

    def _sentence_before(self, end: int) -> str:
        """Return the last sentence of the line before an offset, blank ones left out."""
        text = self.document.text
        while end and text[end - 1].isspace():
            end -= 1
        line = text[text.rfind("\n", 0, end) + 1 : end]
        return next((line[span.start :] for span in reversed(split_sentences(line))), "")

    def text(self, span: Span) -> str:
        return self.document.text[span.start : span.end]

    def prose(self, item: SelectedSentence, longest: int = LONGEST_PROSE) -> Span:
        """Return the span of the paragraph that a sentence is in, or of the part of a longer one.

        Of other blocks, only the sentence.
        """
        (*_, block) = (None, *self.index.around(item.span))
        if block is None or block.kind not in _PROSE:
            return item.span
        if measure_width(self.text(block.span)) <= longest:
            return block.span
        inside = [span for span in item.chunk.sentences if block.span.contains(span)]
        if item.span not in inside:
            return item.span
        part, *others = inside
        for span in others:
            longer = Span(part.start, span.end)
            if measure_width(self.text(longer)) <= longest:
                part = longer
            elif part.contains(item.span):
                break
            else:
                part = span
        return part

    def table_around(self, span: Span) -> Block | None:
        """Return the innermost table that contains a span."""
        around = reversed(self.index.around(span))
        return next((block for block in around if block.kind is BlockKind.TABLE), None)

    def right_behind(self, span: Span) -> list[Block]:
        """Return the blocks that begin behind a text and white space, outermost first."""
        text = self.document.text
        start = span.end
        while start < len(text) and start - span.end < _LONGEST_GAP and text[start].isspace():
            start += 1
        return self.index.starting_at(start)

    def lead_of(self, block: Block) -> Span | None:
        """Return the span of the sentence right before a block that introduces it."""
        start = self.document.text.rfind(
            block.lead, max(0, block.span.start - len(block.lead) - _LONGEST_GAP), block.span.start
        )
        if not block.lead or start < 0:
            return None
        between = self.document.text[start + len(block.lead) : block.span.start]
        return Span(start, start + len(block.lead)) if not between.strip() else None


@dataclass(eq=False)
class Piece:
    """A part of a document that may answer; ``parts`` are its sentences in the evidence.

    ``block`` is the block that it is, None for a paragraph or a part of one. ``lead`` is the
    span of the sentence that introduces it. ``share`` is the probability that it, or one with the
    same words, is the best: a softmax of the worth of all. ``subject`` is what the pronoun stands
    for that it begins with, if known.
    """

    grain: Grain
    span: Span
    source: DocumentBlocks
    block: Block | None = None
    lead: Span | None = None
    parts: list[SelectedSentence] = field(default_factory=list)
    worth: float = 0.0
    share: float = 0.0
    subject: str = ""

    @property
    def whole(self) -> Span:
        """The span of what is shown: with the lead-in, and with what the piece announces."""
        start = self.lead.start if self.lead is not None else self.span.start
        end = self.announced.span.end if self.announced is not None else self.span.end
        return Span(start, end)

    @property
    def place(self) -> Span:
        """The span whose page and time are cited: the sentence that likely answers, if one does.

        Of a list, a table, code or a section it is the whole.
        """
        is_whole = self.grain in (Grain.LIST, Grain.TABLE, Grain.CODE, Grain.SECTION)
        return self.best.span if self.best.is_likely and not is_whole else self.whole

    @cached_property
    def announced(self) -> Block | None:
        """The block that a paragraph announces, as in "For example:"; a list before others."""
        if self.grain is not Grain.PARAGRAPH or not announces(self.source.text(self.span)):
            return None
        behind = self.source.right_behind(self.span)
        led = (block for block in behind if block.kind in _LED and _is_fitting(block))
        told = (block for block in behind if block.kind in _PROSE)
        return next(led, None) or next(told, None)

    @property
    def best(self) -> SelectedSentence:
        """The part that is worth most."""
        return max(self.parts, key=lambda part: part.worth)

    @property
    def odds(self) -> float | None:
        """The highest log-odds that a reader gives a part; None if it read none."""
        return max((part.odds for part in self.parts if part.odds is not None), default=None)

    @cached_property
    def text(self) -> str:
        return self.source.text(Span(self.whole.start, self.span.end))

    @cached_property
    def names(self) -> str:
        """What introduces the piece: the titles above it, its lead-in and its label."""
        around = self.source.index.around(self.span)
        labels = [name for block in around for name in block.names]
        if all(block.kind is not BlockKind.SECTION for block in around):
            labels.append(self.source.document.title)
        return " / ".join(labels)


def propose_pieces(candidates: Sequence[SelectedSentence], store: Store) -> list[Piece]:
    """Return the pieces that the best candidates are in or introduce, each once."""
    best = candidates[:MOST_PROPOSING]
    known = store.documents.documents({item.chunk.document_id for item in best})
    sources = {identifier: DocumentBlocks(document) for identifier, document in known.items()}
    pieces: dict[tuple[str, Grain, Span], Piece] = {}
    for item in best:
        source = sources[item.chunk.document_id]
        for piece in _pieces_around(item, source):
            key = item.chunk.document_id, piece.grain, piece.span
            pieces.setdefault(key, piece).parts.append(item)
    return list(pieces.values())


def _pieces_around(item: SelectedSentence, source: DocumentBlocks) -> Iterator[Piece]:
    around = source.index.around(item.span)
    if not {block.kind for block in around} & _NO_PROSE:
        yield Piece(Grain.PARAGRAPH, source.prose(item), source)
    led = (block for block in source.right_behind(item.span) if block.kind in _LED)
    for block in (*around, *led):
        if _is_fitting(block):
            yield Piece(GRAIN_OF[block.kind], block.span, source, block, source.lead_of(block))


def _is_fitting(block: Block) -> bool:
    """Return True if a block can be a piece, and is not too long for one."""
    grain = GRAIN_OF.get(block.kind)
    length = block.span.end - block.span.start
    return grain is not None and length <= _LONGEST.get(grain, LONGEST_PIECE)


@dataclass(frozen=True, slots=True)
class PieceModel:
    """The weights of features, and of each grain for each kind of question."""

    features: Mapping[str, float]
    fits: NDArray[np.float64]

    def worth(self, piece: PieceFeatures) -> float:
        """Return the worth of a piece: its logit among the pieces of a question."""
        total = sum(self.features[name] * value for name, value in piece.values.items())
        return total + float(self.fits[GRAINS.index(piece.grain)] @ piece.kinds)


@dataclass(frozen=True, slots=True)
class PieceFeatures:
    """The features of a piece by name; ``kinds`` are the probabilities of kinds of question."""

    grain: Grain
    values: Mapping[str, float]
    kinds: NDArray[np.float64]


LEAST_BRIDGE = 0.15
"""The least share of a bridge in the score of a hit whose evidence path counts."""
MOST_OWED = 0.8
"""The share of a bridge from which on a passage owes its place to the evidence path alone."""
LEAST_AT_END = 0.25
"""The least relevance of a piece for which the evidence path that leads to it speaks, relative to
the highest in the evidence."""
ANSWERED_BEFORE = 12.0
"""An evidence path leads no further than a passage that likely answers by itself: one sentence has
log-odds of a reader that are higher by this much than those of the piece at the end."""
_OF_SECTIONS = (QuestionKind.STEPS, QuestionKind.LIST, QuestionKind.SUMMARY_ONE)
LEAST_OF_SECTIONS = 0.4
"""The least probability of these kinds for which a whole section may be a piece."""


class FeatureReader:
    """Reads the features of the pieces for one question."""

    def __init__(self, evidence: Evidence, candidates: Sequence[SelectedSentence]) -> None:
        question = reading_of(evidence.query.text)
        self._terms = set(question.terms)
        self._expected = question.expected
        self._compared = _compared_terms(evidence)
        self._top_worth = max((item.worth for item in candidates), default=0.0) or 1.0
        # The nearest passage comes first, whatever bridges say: here they count.
        self._scores = [hit.score - hit.scores.get(NEAREST, 0.0) for hit in evidence.hits]
        self._top_score = max(self._scores, default=0.0) or 1.0
        self._hits = evidence.hits
        own = (c.odds for c in candidates if c.odds is not None and not self._is_owed(c.rank))
        self._most_before = max(own, default=-math.inf)
        self.kinds = np.array([question.kinds[kind] for kind in KINDS])
        self._relevance: dict[tuple[str, Span], float] = {
            (hit.chunk.document_id, span): value
            for hit in evidence.hits
            for span, value in hit.sentences
        }

        self._top_relevance = max(self._relevance.values(), default=0.0)

    def _is_owed(self, rank: int) -> bool:
        """Return True if a passage owes its place to an evidence path alone."""
        return bridge_share(self._hits[rank]) >= MOST_OWED

    def _terms_before(self, hit: Hit) -> set[str]:
        """Return the terms of the sentences and titles on the evidence path to a hit."""
        titles = {other.chunk.id: other.chunk.context for other in self._hits}
        texts = (f"{titles.get(s.chunk_id, '')} {s.sentence_text}" for s in hit.path)
        return {term for text in texts for term in content_terms(text)}

    def read(self, piece: Piece) -> PieceFeatures:
        """Return the features of a piece."""
        parts = piece.parts
        relevances = sorted(
            (self._relevance.get((p.chunk.document_id, p.span), 0.0) for p in parts), reverse=True
        )
        odds = max((p.odds if p.odds is not None else UNREAD_ODDS) for p in parts)
        rank = max((p.rank for p in parts), key=self._scores.__getitem__)
        is_led = self._is_owed(rank) and self._most_before - odds < ANSWERED_BEFORE
        led = self._terms_before(self._hits[rank]) if is_led else set()
        names = led | set(content_terms(piece.names))
        own = set(content_terms(piece.text))
        label = set(content_terms(piece.block.label)) if piece.block is not None else set()
        lead = set(content_terms(piece.block.lead)) if piece.block is not None else set()
        asked = self._terms
        share = 1 / max(len(asked), 1)
        values = {
            "worth": piece.best.worth / self._top_worth,
            "relevance": relevances[0],
            "mean": sum(relevances[:3]) / 3,
            "reader": logistic(odds / PREDICTION_SCALE),
            "score": max(self._scores[rank], 0.0) / self._top_score,
            "first": float(self._scores[rank] == self._top_score),
            "names": len(asked & names) * share,
            "words": len(asked & (own | names)) * share,
            "lead": len(asked & lead) * share,
            "label": len(asked & label) / max(len(label), 1) if label else 0.0,
            "prose": weigh_prose(piece.text) if piece.grain is Grain.PARAGRAPH else 0.5,
            "expected": self._expected.met_by(piece.text) if len(piece.text) < 400 else 0.0,
            "compared": min((len(t & own) / len(t) for t in self._compared), default=0.0),
            "length": float(np.log1p(len(piece.text) / 100)),
            "parts": float(np.log1p(len(parts))),
            "bridge": float(is_led and relevances[0] >= LEAST_AT_END * self._top_relevance),
        }
        return PieceFeatures(piece.grain, values, self.kinds)


@cache
def shipped_model() -> PieceModel:
    """Return the model that ships with the package; see training/pieces/README.md.

    Raises ConfigError if its file is missing or damaged.
    """
    place = files("knotwork._synthesis") / "pieces.json"
    try:
        read = json.loads(place.read_text(encoding="utf-8"))
        fits = [[read["fits"][grain][kind] for kind in KINDS] for grain in GRAINS]
        return PieceModel(read["features"], np.array(fits))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"The model that ranks answers is missing or damaged: {error}.",
            fix="Install Knotwork again.",
        ) from error


def rank_pieces(
    evidence: Evidence,
    candidates: Sequence[SelectedSentence],
    store: Store,
    model: PieceModel | None = None,
) -> list[Piece]:
    """Return the pieces that may answer a question, highest worth first.

    Of those with the same words, as an item and its definition or the paragraphs of two copies, the
    first one stands for all.
    """
    model = model or shipped_model()
    reader = FeatureReader(evidence, candidates)
    pieces = propose_pieces(candidates, store)
    kinds = reading_of(evidence.query.text).kinds
    if sum(kinds[kind] for kind in _OF_SECTIONS) < LEAST_OF_SECTIONS:
        pieces = [piece for piece in pieces if piece.grain is not Grain.SECTION]
    for piece in pieces:
        piece.worth = model.worth(reader.read(piece))
    pieces.sort(key=lambda piece: -piece.worth)
    weights = [math.exp(piece.worth - pieces[0].worth) for piece in pieces]
    total = sum(weights)
    alike: dict[str, Piece] = {}
    for piece, weight in zip(pieces, weights, strict=True):
        text = piece.source.text(piece.span)
        words = _NO_WORDS.sub(" ", text).strip() or text
        alike.setdefault(words, piece).share += weight / total
    return list(alike.values())


LEAST_SHARE = 0.3
"""The least probability of a further piece, relative to that of the first."""
DENIED = -7.0
"""Log-odds of a reader below which a further piece is left out: it is about something else."""
LEAST_OF_SIDES = 0.03
"""The least probability of a piece about a compared thing, relative to that of the first piece."""
LEAST_NOVELTY, LEAST_OF_NEEDED = 0.34, 0.1
"""The least share of the terms of a further piece that no piece before it has, and of one that
leads to the first or is about a compared thing."""


def choose_pieces(ranked: Sequence[Piece], evidence: Evidence, *, most: int) -> list[Piece]:
    """Return the best piece, the pieces that lead to it, and others that may be the best.

    ``ranked`` are the pieces, best first. A piece leads to the best one if the evidence path of its
    hit goes through it; the others must add terms, and a reader may not deny them. Of compared
    things, each has a piece if one is about it.
    """
    if not ranked:
        return []
    first, *others = ranked
    allowed = [piece for piece in others if piece.odds is None or piece.odds >= DENIED]
    needed = [*_links_to(first, ranked, evidence), *_for_each_side(first, allowed, evidence)]
    further = [(piece, LEAST_OF_NEEDED) for piece in needed]
    further += [
        (piece, LEAST_NOVELTY) for piece in allowed if piece.share >= LEAST_SHARE * first.share
    ]
    chosen = [first]
    known = set(content_terms(first.text))
    for piece, novelty in further:
        terms = set(content_terms(piece.text))
        is_new = len(terms - known) >= novelty * len(terms)
        if len(chosen) < most and is_new and not any(overlap(piece, item) for item in chosen):
            chosen.append(_shorten(piece))
            known |= terms
    return chosen


def _shorten(piece: Piece) -> Piece:
    """Return a piece of prose with the part around its best sentence alone."""
    if piece.grain is not Grain.PARAGRAPH or piece.announced is not None:
        return piece
    return replace(piece, span=piece.source.prose(piece.best, LONGEST_FURTHER))


def _for_each_side(first: Piece, others: Sequence[Piece], evidence: Evidence) -> Iterator[Piece]:
    """Yield the best piece about each compared thing, apart from the first piece."""
    likely = [piece for piece in others if piece.share >= LEAST_OF_SIDES * first.share]
    for wanted in _compared_terms(evidence):
        about = (
            piece
            for piece in (first, *likely)
            if wanted <= {*content_terms(piece.text), *content_terms(piece.names)}
        )
        if (best := next(about, first)) is not first:
            yield best


def _compared_terms(evidence: Evidence) -> list[set[str]]:
    """Return the terms of each thing that a question compares."""
    division = reading_of(evidence.query.text).division
    names = division.compared if division else ()
    return [terms for name in names if (terms := set(content_terms(name)))]


def _links_to(first: Piece, ranked: Sequence[Piece], evidence: Evidence) -> list[Piece]:
    """Return the best piece of each passage on the evidence path to a piece, from its end."""
    hit = evidence.hits[first.best.rank]
    if bridge_share(hit) < LEAST_BRIDGE:
        return []
    links: list[Piece] = []
    for step in reversed(hit.path):
        on_path = (
            piece
            for piece in ranked
            if any(part.chunk.id == step.chunk_id for part in piece.parts)
            and not any(overlap(piece, other) for other in (first, *links))
        )
        if (link := next(on_path, None)) is not None:
            links.append(link)
    return links


def overlap(piece: Piece, other: Piece) -> bool:
    """Return True if two pieces share a part of one document."""
    same = piece.source.document.id == other.source.document.id
    return same and piece.whole.overlaps(other.whole)


LEAST_ABOUT = 0.8
"""How much a passage must be about an entity that any pronoun in it may stand for."""
_KINDS = ("one", "ones", "it", "its")
_OF_PEOPLE = ("one", "ones")
_POSSESSIVE = ("ones", "its")
_NO_SUBJECT = ("DATE", "KEYWORD", "NUMBER")


def name_subjects(pieces: Iterable[Piece], evidence: Evidence, store: Store) -> None:
    """Set the subject of each piece of prose that begins with a pronoun, if it is known.

    It is the entity over which the evidence path leads to the passage, or the one that the passage
    is about; for a person also the only name in the sentence before.
    """
    opening = [
        (piece, match)
        for piece in pieces
        if piece.grain is Grain.PARAGRAPH and (match := _opening(piece.text))
    ]
    if not opening:
        return
    mentions = store.graph.mentions({piece.best.chunk.id for piece, _ in opening})
    for piece, match in opening:
        steps = evidence.hits[piece.best.rank].path
        held = mentions.get(piece.best.chunk.id, [])
        is_person = match.lastgroup in _OF_PEOPLE
        piece.subject = _find_subject(piece, steps, held, is_person=is_person)


def _find_subject(
    piece: Piece, steps: Sequence[Step], mentions: Sequence[Mention], *, is_person: bool
) -> str:
    fitting = [
        mention
        for mention in mentions
        if _may_be(mention, is_person=is_person)
        and not any(piece.span.contains(span) for span in mention.spans)
    ]
    for mention in fitting:
        if steps and mention.entity_id == steps[-1].entity_id:
            return mention.name
    about = max(fitting, key=lambda mention: mention.about, default=None)
    if about is not None and about.about >= LEAST_ABOUT:
        return about.name
    before = [m.name for m in fitting if any(_is_right_before(s.end, piece) for s in m.spans)]
    return before[0] if is_person and len(before) == 1 else ""


def _may_be(mention: Mention, *, is_person: bool) -> bool:
    if is_person:
        return mention.type in ("", "PERSON")
    return mention.type not in ("PERSON", *_NO_SUBJECT)


def _is_right_before(end: int, piece: Piece) -> bool:
    """Return whether an offset is in the sentence before a piece, in the same paragraph."""
    starts = (span for span in piece.best.chunk.sentences if span.end <= piece.span.start)
    before = max(starts, default=None)
    if before is None:
        return False
    between = piece.source.document.text[before.end : piece.span.start]
    return before.start < end <= before.end and "\n\n" not in between


def _opening(sentence: str) -> re.Match[str] | None:
    """Return the pronoun that a sentence begins with, if it stands for one thing or person."""
    found = open_pronoun(sentence)
    return found if found is not None and found.lastgroup in _KINDS else None


def with_subject(sentence: str, subject: str) -> str:
    """Return a sentence with its first word, a pronoun, replaced by a name in brackets."""
    match = _opening(sentence)
    if match is None:
        return sentence
    shown = f"[{subject}]'s" if match.lastgroup in _POSSESSIVE else f"[{subject}]"
    return shown + sentence[match.end() :]


MOST_ITEMS, FEWEST_LEFT = 12, 4
"""Items of a list and rows of a table that are printed; the others are counted, if not few."""
MOST_DEFINITION = 420
"""Characters of a definition that are printed, in whole paragraphs but for the first."""
_ENTRIES = (BlockKind.DEFINITION, BlockKind.ITEM)
_ITEM_MARK = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s+")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_TOLD = re.compile(r"```.*?```|(?:(?!\n\n).)+", re.DOTALL)
_BOLD = re.compile(r".*[^\s.!?。！？…]", re.DOTALL)
"""A sentence without its stop: behind one, in Chinese, Markdown sees no end of bold text."""
_QUOTE_MARK = re.compile(r"^> ?", re.MULTILINE)


def write_piece(piece: Piece, language: str) -> str:
    """Return a piece as Markdown, without its citation mark."""
    source = piece.source
    if piece.grain is Grain.PARAGRAPH:
        block = piece.announced
        texts = [_write_paragraph(piece)]
        if block is not None and block.kind in GRAIN_OF:
            texts.append(_write_block(source, GRAIN_OF[block.kind], block.span, language))
        elif block is not None:
            told = source.text(block.span)  # without known blocks, its lines may be a list
            texts.append(show_sentence(told) if source.document.blocks else told)
        return "\n\n".join(texts)
    lead = show_sentence(source.text(piece.lead)) if piece.lead is not None else ""
    if piece.grain is Grain.DEFINITION:
        body = _write_definition(piece)
    else:
        body = _write_block(source, piece.grain, piece.span, language)
    return f"{lead}\n\n{body}" if lead else body


def _write_block(source: DocumentBlocks, grain: Grain, span: Span, language: str) -> str:
    if grain is Grain.LIST:
        return _write_list(source, span, language)
    if grain is Grain.TABLE:
        return _write_rows(source, span, [], language)
    if grain is Grain.ROW:
        return write_row(source, span, language)
    if grain is Grain.CODE:
        return _dedent(source, span)
    if grain is Grain.SECTION:
        return _HEADING.sub(r"**\1**", source.text(span))
    return _write_item(source, span, language)


def _write_paragraph(piece: Piece) -> str:
    """Return prose, after the term that it is about unless it names that.

    Of several sentences, the one that likely answers is bold.
    """
    source, whole, best = piece.source, piece.span, piece.best
    spans = [whole]
    if best.span != whole and best.is_likely:
        spans = [Span(whole.start, best.span.start), best.span, Span(best.span.end, whole.end)]
    shown = before = ""
    for span in spans:
        text = show_sentence(source.text(span))
        if not text:
            continue
        written = with_subject(text, piece.subject) if piece.subject and not before else text
        if span != whole and span == best.span:
            written = _BOLD.sub(r"**\g<0>**", written, count=1)
        shown += (gap_between(before, text) if before else "") + written
        before = text
    about = (b.label for b in source.index.around(whole) if b.kind in _ENTRIES and b.label)
    term = show_sentence(" > ".join(about)).rstrip(":： ")
    if not term or set(terms(term)) <= set(terms(shown)):
        return shown
    return f"{term}：{shown}" if is_wide(shown[0]) else f"{term}: {shown}"


def with_mark(text: str, number: int) -> str:
    """Return the text of a piece with its citation mark."""
    last = text.rpartition("\n")[2]
    if last.startswith(("```", "|")):
        return f"{text}\n\n[{number}]"
    return f"{text}{gap_before_mark(text)}[{number}]"


def unmark(text: str) -> str:
    """Return a text with nothing in bold."""
    return text.replace("**", "")


def mark_also(text: str, other: str) -> str:
    """Return a text in which the words that are bold in ``other``, the same text, are bold too."""
    for marked in re.findall(r"\*\*(.+?)\*\*", other):
        if f"**{marked}**" not in text:
            text = text.replace(marked, f"**{marked}**", 1)
    return text


def _dedent(source: DocumentBlocks, span: Span) -> str:
    """Return a text without the indent of its block and the marks of quotes around it."""
    start = source.document.text.rfind("\n", 0, span.start) + 1
    before = source.document.text[start : span.start]
    text = source.text(span)
    if before.startswith(">"):
        text = _QUOTE_MARK.sub("", text)
    return text.replace(f"\n{' ' * len(before)}", "\n")


def _write_list(source: DocumentBlocks, span: Span, language: str) -> str:
    items: list[Block] = []
    for block in source.index.inside(span):
        if block.kind in _ENTRIES and (not items or block.span.start >= items[-1].span.end):
            items.append(block)
    if len(items) == 1:
        return _write_item(source, items[0].span, language)
    if len(items) < MOST_ITEMS + FEWEST_LEFT:
        return _dedent(source, span)
    shown = Span(span.start, items[MOST_ITEMS - 1].span.end)
    left = len(items) - MOST_ITEMS
    return f"{_dedent(source, shown)}\n{messages.more_items(language, left=left)}"


def _write_item(source: DocumentBlocks, span: Span, language: str) -> str:
    """Return an item without its mark, and the list in it, if any."""
    nested = next(
        (
            block
            for block in source.index.inside(span)
            if block.kind is BlockKind.LIST and block.span.start > span.start
        ),
        None,
    )
    if nested is None:
        return _ITEM_MARK.sub("", _dedent(source, span))
    own = _ITEM_MARK.sub("", source.text(Span(span.start, nested.span.start)).strip())
    return f"{show_sentence(own)}\n\n{_write_list(source, nested.span, language)}"


def write_row(source: DocumentBlocks, span: Span, language: str) -> str:
    """Return a row below the header of its table."""
    table = source.table_around(span)
    return _write_rows(source, table.span, [span], language) if table else source.text(span)


def _write_rows(source: DocumentBlocks, span: Span, chosen: Sequence[Span], language: str) -> str:
    """Return a table with the header and some rows, by default the first ones."""
    rows = [block.span for block in source.index.inside(span) if block.kind is BlockKind.ROW]
    header = source.text(Span(span.start, rows[0].start if rows else span.end)).strip()
    is_long = len(rows) >= MOST_ITEMS + FEWEST_LEFT
    shown = list(chosen) or (rows[:MOST_ITEMS] if is_long else rows)
    lines = [line.strip() for line in header.split("\n")] + [source.text(row) for row in shown]
    left = len(rows) - len(shown)
    table = "\n".join(lines)
    if chosen or not left:
        return table
    return f"{table}\n\n{messages.more_rows(language, left=left)}"


def _write_definition(piece: Piece) -> str:
    """Return a term and what defines it: the first paragraphs, and the best sentence."""
    source, (start, end) = piece.source, piece.span
    head, _, rest = _dedent(source, piece.span).partition("\n")
    if not head.startswith("**"):
        head, rest = "", _dedent(source, Span(start, end))
    paragraphs = _TOLD.findall(rest.strip())
    kept: list[str] = []
    for paragraph in paragraphs:
        if kept and sum(map(len, kept)) + len(paragraph) > MOST_DEFINITION:
            break
        kept.append(paragraph)
    best = show_sentence(piece.best.text)
    if best not in " ".join(" ".join([head, *kept]).split()):
        kept.append(best)
    if not head:
        return "\n\n".join(kept)
    is_short = len(kept) == 1 and "\n" not in kept[0]
    return f"{head}: {kept[0]}" if is_short else "\n\n".join([head, *kept])
