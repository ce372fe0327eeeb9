"""Compose an answer from cited pieces of the sources, without a language model.

Sentences of the evidence are ranked by relevance and by the expected kind of answer. A reader
model, if there is one, scores those of the best passages. A piece is a paragraph, a part of a long
one, an item, a whole list, rows of a table, a definition or code. The best sentences propose the
pieces that they are in or introduce. A linear model ranks pieces by their relevance, by the
prediction of the reader, by what introduces them, and by how well their kind fits the kind of
answer that the question expects.

The best pieces are the answer, with a short answer and a confidence: the probability that it is
right. The rows of a query, or the names that a graph path leads to, answer instead if they likely
do. Each part of a compound question is answered separately.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import cache, cached_property, partial
from importlib.resources import files
from itertools import chain, pairwise, zip_longest
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from knotwork._config import AnswerSettings
from knotwork._inference.cross_encoders import AnswerReader
from knotwork._inference.embedder import PassageText
from knotwork._questions.asked_facts import Fit, asked_fact
from knotwork._questions.asked_things import Missing, Passage, is_about_another, missing_things
from knotwork._questions.headlines import asked_kind, fit_kind
from knotwork._questions.reading import (
    KINDS,
    QuestionKind,
    QuestionReading,
    open_pronoun,
    reading_of,
)
from knotwork._retrieval.base import attempt
from knotwork._retrieval.evidence_builder import is_in_han, logistic
from knotwork._retrieval.graph_paths import LIKELY_PROBABILITY, find_imported_chunks
from knotwork._retrieval.query_rows import COUNT, HOLDS, ROWS_SCORE, show_row, show_value
from knotwork._stores.base import Store
from knotwork._synthesis import messages
from knotwork._synthesis.conflicts import (
    Comparison,
    PlacedClaim,
    asked_day,
    compare,
    compare_claims,
    date_documents,
    is_of_periods,
    may_be_of_section,
    own_words,
    read_claims,
    retracts,
    sort_claims,
    without_glue,
)
from knotwork._text.block_index import BlockIndex
from knotwork._text.languages import HAN_AND_KANA, is_wide, measure_width, simplify
from knotwork._text.names import normal_form
from knotwork._text.plain_text import (
    gap_before_mark,
    gap_between,
    name_cells,
    show_sentence,
    split_number,
    split_row,
)
from knotwork._text.sentences import split_sentences
from knotwork._text.statements import CODE_WEIGHT, SelectedSentence, announces, weigh_prose
from knotwork._text.terms import content_terms, terms
from knotwork.errors import ConfigError
from knotwork.records import (
    Answer,
    AnswerPiece,
    Block,
    BlockKind,
    Chunk,
    Citation,
    ConflictingClaim,
    Document,
    Evidence,
    GraphPath,
    Hit,
    Hop,
    Mention,
    Prediction,
    QueryResult,
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
    for each in quotable:
        relevance, rank = each.item.worth, each.item.rank
        for entry in {each.entry, each.section}:
            entries[entry] = max(entries.get(entry, 0.0), relevance)
        own_bests[rank] = max(own_bests.get(rank, 0.0), relevance)
    found: dict[tuple[str, Span], SelectedSentence] = {}
    for each in quotable:
        if each.is_title:
            continue
        item, hit, met = each.item, each.hit, expected.met_by(each.read)
        value = item.worth
        if met:
            value = (1 - ENTRY_SHARE) * value + ENTRY_SHARE * entries[each.entry]
        if (own_best := own_bests[item.rank]) > 0:
            # A passage that a bridge led to resembles the question less than the one that names its
            # words: the share of the bridge is rescaled by the best sentence of the hit.
            share = bridge_share(hit)
            value = (1 - share) * value + share * value / own_best * best
        value *= 1 + KIND_GAIN * met
        if not (met and each.is_field):
            value *= weigh_prose(each.read) * (CODE_WEIGHT if each.is_code else 1.0)
        value *= fact.weigh(each.read)
        value *= (max(hit.score, 0.0) / top) ** HIT_POWER
        odds = UNREAD_ODDS if item.odds is None else item.odds
        value *= 1 + gain * logistic(odds / PREDICTION_SCALE)
        key = (hit.chunk.document_id, item.span)
        if key not in found or value > found[key].worth:
            found[key] = replace(item, worth=value)
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


class _Quotable(NamedTuple):
    """A sentence of a hit, and as it is read: with the names of columns if it is a row.

    Its worth is its relevance. ``entry`` is shared by the sentences about one term, of one row or
    in one paragraph, ``section`` by those below one heading. A field is a line with a property and
    its value, as "Default: 2"; a line of code may look like one, but is not about the heading above
    it.
    """

    item: SelectedSentence
    hit: Hit
    read: str
    entry: object
    section: object
    is_title: bool
    is_field: bool
    is_code: bool


def _read_quotable(evidence: Evidence) -> Iterator[_Quotable]:
    """Yield every sentence of the hits, those that only repeat a title or label included."""
    for rank, hit in enumerate(evidence.hits):
        chunk, prediction, start = hit.chunk, hit.prediction, hit.chunk.span.start
        headings = [(-1, (chunk.headings or ("",))[-1])]
        headings += ((start + match.end(), match[1]) for match in _HEADINGS.finditer(chunk.text))
        labels = [block.label for block in chunk.blocks if block.kind in _NAMING]
        for span, relevance in hit.sentences:
            text, blocks = chunk.text_at(span), chunk.blocks_around(span)
            bare = " ".join(text.strip("| \t\n").split())
            columns = next((b.label for b in blocks if b.kind is BlockKind.TABLE), "")
            is_code = any(block.kind is BlockKind.CODE for block in blocks)
            is_field = not is_code and _FIELD.fullmatch(text.strip()) is not None
            above = bisect_right(headings, span.start, key=itemgetter(0)) - 1
            heading = headings[above][1].strip(_HEADING_MARKS)
            section: object = (chunk.section_id, heading)
            entry = section
            about = [block.span for block in blocks if block.kind in _ABOUT and block.label]
            if about:
                entry = chunk.document_id, about[-1]
            elif not (is_field and split_number(heading)[1]):
                entry = chunk.document_id, start + chunk.text.rfind("\n\n", 0, span.start - start)
            odds = answer = None
            if prediction is not None and span in chunk.sentences:
                number = chunk.sentences.index(span)
                odds = prediction.sentences[number]
                answer = prediction.answers[number] if prediction.answers else None
            yield _Quotable(
                SelectedSentence(chunk, span, text, relevance, rank, odds, answer),
                hit,
                name_cells(text, columns) if columns else text,
                entry,
                section,
                any(bare in label for label in labels) or is_title(bare, chunk),
                is_field,
                is_code,
            )


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
        blocks = self.document.blocks
        definitions = [block for block in blocks if block.kind is BlockKind.DEFINITION]
        lists = self._lists_of(definitions) if definitions else ()
        return BlockIndex((*(blocks or paragraphs), *lists))

    def _lists_of(self, definitions: Sequence[Block]) -> Iterator[Block]:
        """Yield a list for each run of definitions that a sentence before it announces."""
        runs: list[list[Block]] = []
        for block in definitions:
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
        around = source.index.around(item.span)
        led = (block for block in source.right_behind(item.span) if block.kind in _LED)
        found = [
            Piece(GRAIN_OF[block.kind], block.span, source, block, source.lead_of(block))
            for block in (*around, *led)
            if _is_fitting(block)
        ]
        if not {block.kind for block in around} & _NO_PROSE:
            found.insert(0, Piece(Grain.PARAGRAPH, source.prose(item), source))
        for piece in found:
            key = item.chunk.document_id, piece.grain, piece.span
            pieces.setdefault(key, piece).parts.append(item)
    return list(pieces.values())


def _is_fitting(block: Block) -> bool:
    """Return True if a block can be a piece, and is not too long for one."""
    grain = GRAIN_OF.get(block.kind)
    length = block.span.end - block.span.start
    return grain is not None and length <= _LONGEST.get(grain, LONGEST_PIECE)


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


def read_features(
    pieces: Sequence[Piece], evidence: Evidence, candidates: Sequence[SelectedSentence]
) -> list[dict[str, float]]:
    """Return the features of the pieces for one question, by name."""
    question, hits = reading_of(evidence.query.text), evidence.hits
    asked, expected, compared = set(question.terms), question.expected, _compared_terms(evidence)
    share = 1 / max(len(asked), 1)
    top_worth = max((item.worth for item in candidates), default=0.0) or 1.0
    # The nearest passage comes first, whatever bridges say: here they count.
    scores = [hit.score - hit.scores.get(NEAREST, 0.0) for hit in hits]
    top_score = max(scores, default=0.0) or 1.0
    titles = {hit.chunk.id: hit.chunk.context for hit in hits}
    owed = [bridge_share(hit) >= MOST_OWED for hit in hits]
    read = (c.odds for c in candidates if c.odds is not None and not owed[c.rank])
    most_before = max(read, default=-math.inf)
    relevance = {(h.chunk.document_id, span): value for h in hits for span, value in h.sentences}
    top_relevance = max(relevance.values(), default=0.0)
    found = []
    for piece in pieces:
        parts, block = piece.parts, piece.block
        relevances = sorted(
            (relevance.get((p.chunk.document_id, p.span), 0.0) for p in parts), reverse=True
        )
        odds = max((p.odds if p.odds is not None else UNREAD_ODDS) for p in parts)
        rank = max((p.rank for p in parts), key=scores.__getitem__)
        is_led = owed[rank] and most_before - odds < ANSWERED_BEFORE
        path = hits[rank].path if is_led else ()
        led = (f"{titles.get(step.chunk_id, '')} {step.sentence_text}" for step in path)
        names = set(content_terms(piece.names)).union(*map(content_terms, led))
        own = set(content_terms(piece.text))
        label, lead = (
            set(content_terms(t)) for t in ((block.label, block.lead) if block else ("", ""))
        )
        found.append(
            {
                "worth": piece.best.worth / top_worth,
                "relevance": relevances[0],
                "mean": sum(relevances[:3]) / 3,
                "reader": logistic(odds / PREDICTION_SCALE),
                "score": max(scores[rank], 0.0) / top_score,
                "first": float(scores[rank] == top_score),
                "names": len(asked & names) * share,
                "words": len(asked & (own | names)) * share,
                "lead": len(asked & lead) * share,
                "label": len(asked & label) / max(len(label), 1),
                "prose": weigh_prose(piece.text) if piece.grain is Grain.PARAGRAPH else 0.5,
                "expected": expected.met_by(piece.text) if len(piece.text) < 400 else 0.0,
                "compared": min((len(t & own) / len(t) for t in compared), default=0.0),
                "length": float(np.log1p(len(piece.text) / 100)),
                "parts": float(np.log1p(len(parts))),
                "bridge": float(is_led and relevances[0] >= LEAST_AT_END * top_relevance),
            }
        )
    return found


PieceWeights = tuple[Mapping[str, float], Mapping[str, Mapping[str, float]]]
"""The weights of features, and of each grain for each kind of question."""


@cache
def shipped_weights() -> PieceWeights:
    """Return the weights that ship with the package; see training/pieces/README.md.

    Raises ConfigError if their file is missing or damaged.
    """
    place = files("knotwork._synthesis") / "pieces.json"
    try:
        read = json.loads(place.read_text(encoding="utf-8"))
        return read["features"], {g: {k: read["fits"][g][k] for k in KINDS} for g in GRAINS}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"The model that ranks answers is missing or damaged: {error}.",
            fix="Install Knotwork again.",
        ) from error


def rank_pieces(
    evidence: Evidence,
    candidates: Sequence[SelectedSentence],
    store: Store,
) -> list[Piece]:
    """Return the pieces that may answer a question, highest worth first.

    Of those with the same words, as an item and its definition or the paragraphs of two copies, the
    first one stands for all.
    """
    pieces = propose_pieces(candidates, store)
    kinds = reading_of(evidence.query.text).kinds
    if sum(kinds[kind] for kind in _OF_SECTIONS) < LEAST_OF_SECTIONS:
        pieces = [piece for piece in pieces if piece.grain is not Grain.SECTION]
    weights, fits = shipped_weights()
    for piece, features in zip(pieces, read_features(pieces, evidence, candidates), strict=True):
        piece.worth = sum(weights[name] * value for name, value in features.items())
        piece.worth += sum(fits[piece.grain][kind] * kinds[kind] for kind in KINDS)
    pieces.sort(key=lambda piece: -piece.worth)
    odds = [math.exp(piece.worth - pieces[0].worth) for piece in pieces]
    total = sum(odds)
    alike: dict[str, Piece] = {}
    for piece, weight in zip(pieces, odds, strict=True):
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
    hit, needed = evidence.hits[first.best.rank], list[Piece]()
    if bridge_share(hit) >= LEAST_BRIDGE:
        needed += _links_to(first, ranked, hit.path)
    if compared := _compared_terms(evidence):
        needed += _for_each_side(first, allowed, compared)
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


def _for_each_side(
    first: Piece, others: Sequence[Piece], compared: Iterable[set[str]]
) -> Iterator[Piece]:
    """Yield the best piece about each compared thing, apart from the first piece."""
    likely = [piece for piece in others if piece.share >= LEAST_OF_SIDES * first.share]
    for wanted in compared:
        about = (
            piece
            for piece in (first, *likely)
            if wanted <= {*content_terms(piece.text), *content_terms(piece.names)}
        )
        if (best := next(about, first)) is not first:
            yield best


def _compared_terms(evidence: Evidence) -> list[set[str]]:
    division = reading_of(evidence.query.text).division
    names = division.compared if division else ()
    return [terms for name in names if (terms := set(content_terms(name)))]


def _links_to(first: Piece, ranked: Sequence[Piece], path: Sequence[Step]) -> list[Piece]:
    """Return the best piece of each passage on the evidence path to a piece, from its end."""
    links: list[Piece] = []
    for step in reversed(path):
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
        if (
            mention.type in ("", "PERSON")
            if is_person
            else mention.type not in ("PERSON", *_NO_SUBJECT)
        )
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


def _is_right_before(end: int, piece: Piece) -> bool:
    """Return whether an offset is in the sentence before a piece, in the same paragraph."""
    starts = (span for span in piece.best.chunk.sentences if span.end <= piece.span.start)
    before = max(starts, default=None)
    if before is None:
        return False
    between = piece.source.document.text[before.end : piece.span.start]
    return before.start < end <= before.end and "\n\n" not in between


def _opening(sentence: str) -> re.Match[str] | None:
    found = open_pronoun(sentence)
    return found if found is not None and found.lastgroup in _KINDS else None


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
        written = text
        opening = _opening(text) if piece.subject and not before else None
        if opening is not None:  # the first word, a pronoun, is replaced by the name in brackets
            end = "'s" if opening.lastgroup in _POSSESSIVE else ""
            written = f"[{piece.subject}]{end}{text[opening.end() :]}"
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
        if fit_kind(reading_of(evidence.query.text), short, "", result.columns[0]) is Fit.OTHER:
            short = ""
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
        chunks: dict[str, list[tuple[int, Chunk]]] = {}
        for rank, hit in enumerate(evidence.hits):
            chunks.setdefault(hit.chunk.document_id, []).append((rank, hit.chunk))
        cited: list[tuple[int, SelectedSentence]] = []
        for number, source in enumerate(result.row_sources):
            for rank, chunk in chunks.get(Document(source.document, "").id, ()):
                if chunk.span.start <= source.span.start < min(source.span.end, chunk.span.end):
                    span = Span(source.span.start, min(source.span.end, chunk.span.end))
                    text = chunk.text_at(span)
                    place = number if result.is_listing else ALL_ROWS
                    if not source.table:  # a line of a graph
                        place = source.row - 1
                    found = SelectedSentence(chunk, span, text, result.confidence, rank)
                    cited.append((place, found))
                    break
        return cited[:most]
    hits = [hit for hit in evidence.hits if hit.scores.get(ROWS_SCORE, 0.0) > 0]
    relevance = {(hit.chunk.id, span): worth for hit in hits for span, worth in hit.sentences}
    cited = []
    for number, row in enumerate(result.rows[:most]):
        held = (value for cell in row for value in (cell if isinstance(cell, list) else [cell]))
        values = [text.casefold() for value in held if len(text := show_value(value)) > 1]
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
    if result.columns[0] in (COUNT, HOLDS) and isinstance(result.rows[0][-1], list):
        said, names = result.rows[0]
        head = (
            messages.yes_or_no(language, holds=bool(said)) if result.columns[0] == HOLDS else said
        )
        text = f"{head}{messages.colon(language)}{separator.join(map(show_value, names))}"
        if isinstance(said, int) and not isinstance(said, bool) and said > len(names):
            text += "…" if names else ""
        text = text if names else f"{head}"
        text = _with_mark(text, marks.get(0, ""))
    elif len(result.columns) == 1:
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
        text += "\n\n" + messages.more_rows(language, left=0 if result.truncated else left)
    return text


def _with_mark(text: str, mark: str) -> str:
    return text + gap_before_mark(text) + mark if mark else text


def _table_lines(result: QueryResult, marks: Mapping[int, str]) -> Iterator[str]:
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
    separator = _SEPARATORS.get(language, _SEPARATORS["en"])
    others = [name for name in dict.fromkeys(path.answers) if name not in named]
    text = separator.join(_with_mark(name, marks) for name, marks in named.items())
    if others:
        room = max(MOST_NAMES - len(named), 0)
        left = len(others[room:])
        head = messages.also_reached_more if left else messages.also_reached
        text += head(language, names=separator.join(others[:room]), left=left)
    probability = path.scores["probability"]
    return Answer(
        question=evidence.query.text,
        text=text,
        answered=True,
        citations=tuple(
            replace(citation, score=probability)
            for citation in cite_sentences(list(numbers), store)
        ),
        confidence=probability,
        retriever=evidence.retriever,
        notes=evidence.notes,
    )


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


_INLINE = (Grain.PARAGRAPH, Grain.ITEM)
"""Pieces that begin behind their date, not below it."""
_ALWAYS, _IF_ASKED = 1, 4
"""Pieces in which a claim is looked for, by whether the question asks about times or changes."""
_MOST_TOLD = 4
"""Different values that an answer gives."""


class Disagreement(NamedTuple):
    """Claims about one thing that differ, those that hold at the asked time first.

    ``pieces`` are those of the claims, then the others of the answer. ``is_said`` if a claim itself
    says that its value replaces the other one, or each of which period it is.
    """

    claims: tuple[PlacedClaim, ...]
    pieces: list[Piece]
    has_winner: bool
    is_said: bool

    def dates(self, language: str) -> list[str]:
        """Return what precedes each piece: the date of its claim, if it is of one."""
        colon = "：" if language == "zh" else ":"
        gaps = ("\n\n" if p.grain not in _INLINE else " " for p in self.pieces)
        words = (f"{_date_words(each.shown(), language)}{colon}" for each in self.claims)
        return [f"{w}{gap}" if w else "" for w, gap in zip_longest(words, gaps, fillvalue="")]

    def note(self, language: str) -> str:
        """Return the note on the values and their dates."""
        shown = [claim.shown() for claim in self.claims]
        values = (
            f"{each.value or each.quote} ({_date_words(each, language)}, {each.title})"
            for each in shown
        )
        message = messages.values_by_date if self.is_said else messages.disagreement
        return message(language, values="; ".join(values))


def find_disagreement(
    question: QuestionReading,
    pieces: Sequence[Piece],
    candidates: Sequence[SelectedSentence],
    store: Store,
) -> Disagreement | None:
    """Return what other documents of the evidence say otherwise than the first piece, if any."""
    near = {(item.chunk.document_id, item.span): item for item in candidates[:MOST_PROPOSING]}
    if len({key for key, _ in near}) == 1 and not any(map(may_be_of_section, near.values())):
        return None  # a document contradicts itself only in sections of two days
    words, today = own_words(question.text), datetime.now().astimezone().date()
    day = asked_day(question, today)
    asks_more = day != today.toordinal() or any(
        each[key].search(question.simple) for each in words for key in ("now", "changed")
    )
    leading = pieces[: _IF_ASKED if asks_more else _ALWAYS]
    first = {(part.chunk.document_id, part.span) for piece in leading for part in piece.parts}
    known = store.documents.documents({key for key, _ in near})
    dates = date_documents(store, known.values())

    def place(
        items: Mapping[tuple[str, Span], SelectedSentence],
    ) -> dict[tuple[str, Span], PlacedClaim]:
        return {
            key: claim
            for key, item in items.items()
            for claim in read_claims([(item.chunk, item.span)], known, dates)
        }

    leads = place({key: near[key] for key in first & near.keys()})
    asked = set(without_glue(question.text)) - {str(year) for year in range(1900, 2101)}
    covers = {key: len(asked & lead.about) for key, lead in leads.items()}
    most = max(covers.values(), default=0)
    leads = {
        key: leads[key]
        for key in sorted(covers, key=lambda key: -near[key].worth)
        if 0 < covers[key] == most and question.expected.allows(leads[key].claim.text)
    }
    terms = {term for lead in leads.values() for term in lead.claim.terms}
    is_plain = not any(each.claim.slots or each.claim.is_retracted for each in leads.values())
    alike = {
        key: item
        for key, item in near.items()
        if not terms.isdisjoint(content_terms(text := simplify(item.text)))
        # A statement without a value is only compared with one that takes it back.
        and (not is_plain or key in leads or retracts(text))
    }
    placed = place(alike)
    for key, lead in leads.items():
        compared = {k: compare(lead, claim) for k, claim in placed.items()}
        others = {k: placed[k] for k, found in compared.items() if found is not Comparison.NONE}
        if others:
            is_said = all(
                compared[k] is Comparison.REPLACES or is_of_periods(lead, claim)
                for k, claim in others.items()
            )
            told: list[PlacedClaim] = []  # those whose values no claim before them has
            for claim in sort_claims([lead, *others.values()], day):
                known_values = (compare_claims(claim.claim, other.claim) for other in told)
                if Comparison.NONE not in known_values:
                    told.append(claim)
            told = told[:_MOST_TOLD]
            own = {claim: near[k] for k, claim in {key: lead, **others}.items()}
            shown = [_piece_of(own[claim], pieces, known) for claim in told]
            rest = [p for p in pieces if not any(overlap(p, other) for other in shown)]
            has_winner = told[0].days != told[1].days
            return Disagreement(tuple(told), [*shown, *rest], has_winner, is_said)
    return None


def _piece_of(
    item: SelectedSentence, pieces: Sequence[Piece], known: Mapping[str, Document]
) -> Piece:
    """Return the piece that a sentence is in, or a new one around it."""
    key = item.chunk.document_id, item.span
    for piece in pieces:
        if any((part.chunk.document_id, part.span) == key for part in piece.parts):
            return piece
    source = DocumentBlocks(known[item.chunk.document_id])
    around = (b for b in source.index.around(item.span) if b.kind is BlockKind.ROW)
    if block := next(around, None):
        return Piece(Grain.ROW, block.span, source, block, parts=[item])
    return Piece(Grain.PARAGRAPH, source.prose(item, LONGEST_FURTHER), source, parts=[item])


def _date_words(claim: ConflictingClaim, language: str) -> str:
    if not claim.date:
        return messages.undated(language)
    return messages.date_of_file(language, date=claim.date) if claim.is_of_file else claim.date


LEAST_PROBABILITY = 0.6
"""Below this probability of being right no short answer is given."""
LEAST_IF_OPEN = 0.8
"""The same if the words do not show that they are of the kind that is asked for."""
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
_RUN = re.compile(rf"[^\s{HAN_AND_KANA}\u3000-\u303f\uff00-\uffef]+")
"""A word, option, path or address."""
_AROUND = ",.;:!?，。；：！？、|—–"
_BEFORE_WORDS = re.compile(rf"^(?:\s|[，。；：！？、]|[{_AROUND}](?![\w./-]))+")
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
_CONTINUED = re.compile(r"\s+and (?:\d+|[a-z]+) [a-z]+\b")
"""The smaller part of an amount: "two hours and ten minutes"."""
_YEAR_ZH, _MONTH_ZH = re.compile(r"\d{4}\s?年\s?$"), re.compile(r"\d{1,2}\s?月")
_CLAUSE = re.compile(r"(?:must|is|are|was|were|can|will|should|may)\b", re.IGNORECASE)
_QUOTES = ("`", '"')
_ENCLOSING = tuple(zip('(（“‘`"', ')）”’`"', strict=True))


def choose_short_answer(
    piece: Piece, question: str, *, confidence: float, mentions: Sequence[Mention] = ()
) -> str:
    """Return the words of a piece that answer a question; "" if they are too uncertain.

    Of a row it is the cell below the column that the question names. ``confidence`` is the
    probability that the answer which begins with this piece is right. ``mentions`` are those of
    its passage, whose types show what words name.
    """
    asked = reading_of(question)
    if asked.asks_yes_or_no:
        return ""
    if piece.grain is Grain.ROW:
        is_sure = confidence >= LEAST_PROBABILITY
        return _choose_cell(piece, asked, mentions) if is_sure else ""
    is_of_words = next(iter(asked.kinds)) in _OF_WORDS
    if not is_of_words:
        return ""
    return choose_words(piece.best, asked, confidence=confidence, mentions=mentions)


def _choose_headline(piece: Piece, question: str, store: Store, *, confidence: float) -> str:
    key = piece.best.chunk.id
    mentions = store.graph.mentions({key}).get(key, ())
    return choose_short_answer(piece, question, confidence=confidence, mentions=mentions)


def _types_of(words: str, mentions: Sequence[Mention]) -> frozenset[str]:
    """Return the types of the entities that words name; none if they are unknown."""
    form = normal_form(words)
    typed = [mention for mention in mentions if mention.type]
    same = {mention.type for mention in typed if mention.normal_form == form}
    main = {m.type for m in typed if m.name in words and 2 * len(m.name) > len(words)}
    return frozenset(same or main)


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
        and not any(is_about_another(question, passage) for passage in _passages_of(piece))
    ]


def _values(words: str) -> set[str]:
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
    if piece.grain not in _OF_PROSE:
        return False
    asked = reading_of(question)
    lines = [line.strip() for line in piece.text.splitlines() if line.strip()]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        # A label without a value is before another label or the end.
        is_empty = _LABEL.fullmatch(line) and (not following or _LABELLED.match(following))
        if is_empty and set(content_terms(line)) >= set(asked.terms):
            return True
    return asked_fact(question).is_missed_by(best, text)


LIKELY_AT_MOST = 0.49
"""The confidence of an answer that lacks a thing of its question: one to check."""
COMMON_SHARE = 0.05
"""The share of passages with a name from which on it is what all the documents are about."""


def find_missing(piece: Piece, evidence: Evidence, store: Store) -> list[Missing]:
    """Return the things that a question names and the passage of a piece lacks."""
    hit = evidence.hits[piece.best.rank]
    if bridge_share(hit) >= LEAST_BRIDGE and hit.path:
        return []  # the question names what leads to the passage
    for passage in _passages_of(piece):
        missing = missing_things(evidence.query.text, passage)
        if missing := [each for each in missing if each.sibling or not _is_common(each, store)]:
            return [] if _prefers_another(piece, missing) else missing
    return []


def _prefers_another(piece: Piece, missing: Sequence[Missing]) -> bool:
    """Let the part be the best that the reader likes most, if it has all that is missing."""
    liked = max(piece.parts, key=lambda part: part.odds or -math.inf)
    text = simplify(liked.text)
    if not liked.is_likely or any(each.is_sure or each.words not in text for each in missing):
        return False
    piece.parts = [liked]
    return True


def _passages_of(piece: Piece) -> list[Passage]:
    """Return the best sentence of a piece, if it surely answers, and all of the piece."""
    best, document = piece.best, piece.source.document
    titles = (document.title, *best.chunk.headings, piece.names, *document.metadata.values())
    around, heads = f"{piece.text}\n{best.chunk.text}", "\n".join(map(str, titles))
    whole = f"{piece.names}\n{piece.text}" if piece.grain in _OF_CELLS else piece.text
    said = [best.text] if best.is_likely and piece.grain not in _OF_CELLS else []
    return [Passage(text, heads, around, document.text) for text in (*said, whole)]


def _is_common(thing: Missing, store: Store) -> bool:
    """Return True if so many passages name a thing that the others need not."""
    wanted = set(content_terms(thing.words))
    known = store.texts("chunk").document_frequencies(wanted)
    least = COMMON_SHARE * store.documents.chunk_count()
    return all(known.get(term, 0) > max(least, 1) for term in wanted)


def doubt_missing(confidence: float, missing: Sequence[Missing]) -> float:
    """Return the confidence of an answer that lacks things of its question."""
    if any(each.is_sure for each in missing):
        return MISSED * confidence
    return min(confidence, LIKELY_AT_MOST) if missing else confidence


def _note_missing(missing: Missing, language: str) -> str:
    message = messages.about_another if missing.sibling else messages.not_mentioned
    return message(language, words=missing.words, other=missing.sibling)


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


def choose_words(
    first: SelectedSentence,
    asked: QuestionReading,
    *,
    confidence: float,
    mentions: Sequence[Mention] = (),
) -> str:
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
    if more := _CONTINUED.match(chunk.text, span.end, within.end):
        is_same = asked.expected.has_unit(words) and asked.expected.has_unit(more[0])
        words += more[0] if is_same else ""
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
    if _MONTH_ZH.match(words) and (year := _YEAR_ZH.search(before)):
        words = f"{year[0]}{words}"
    elif bound := _BOUND.search(before):
        words = f"{bound[0].strip()} {words}" if words.isascii() else f"{bound[0].strip()}{words}"
    behind = chunk.text[span.start : min(within.end, span.end + _LONGEST_UNIT)]
    if (
        (asked.asks_name and not any(map(str.isalpha, words)))
        or len(words) > LONGEST_SHORT_ANSWER
        or set(content_terms(words)) <= set(asked.terms)
        or not asked.expected.allows(f"{words} {behind}")
    ):
        return ""
    end = span.end - start
    fit = fit_kind(asked, words, before, first.text[end:], _types_of(words, mentions))
    sure = min(max(confidence, _LEAST), 1 - _LEAST)
    probability = logistic(
        _INTERCEPT
        + _CONFIDENCE * math.log(sure / (1 - sure))
        + _WORDS * math.log(first.answer.probability + _LEAST)
        + _EXPECTED * asked.expected.met_by(words)
    )
    least = LEAST_PROBABILITY if fit is Fit.STATES else LEAST_IF_OPEN
    return words if fit is not Fit.OTHER and probability >= least else ""


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
    if not fitting and asked_kind(asked):
        fitting = [part for part in parts if fit_kind(asked, part, "", "") is Fit.STATES]
    is_led = len(parts) > 1 and fitting[:1] == parts[:1] and _CLAUSE.match(parts[1])
    if len(parts) > 1 and (len(fitting) == 1 or is_led):
        return _trim(fitting[0])
    other = next((part for part in parts[1:] if fact.fit_of(part) is Fit.OTHER), "")
    return _trim(words[: words.index(other)].removesuffix("and ")) if other else words


def _choose_cell(row: Piece, asked: QuestionReading, mentions: Sequence[Mention]) -> str:
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
    place = 1 + counts.index(best)
    cell = show_sentence(cells[place])
    fit = fit_kind(asked, cell, cells[0], names[place], _types_of(cell, mentions))
    return "" if fit is Fit.OTHER or len(cell) > LONGEST_SHORT_ANSWER else cell


def complete_words(text: str, words: Span, within: Span) -> str:
    """Return some words of a text, extended to whole words inside the sentence ``within``.

    A run of characters without white space is not cut, except in wide scripts. If a bracket or
    quote lacks its counterpart, the longest part without it is kept.
    """
    for run in _RUN.finditer(text, *within):
        if run.start() < words.end and run.end() > words.start:
            words = Span(min(run.start(), words.start), max(run.end(), words.end))
    return _trim(text[words.start : words.end])


def _trim(words: str) -> str:
    """Return words without surrounding punctuation, unpaired brackets and an enclosing pair."""
    before = ""
    while words != before:  # removing one bracket may leave another one unpaired
        before = words
        for opening, closing in _PAIRS:
            if opening in words or closing in words:
                words = _balance(words, opening, closing)
        for quote in _QUOTES:
            if words.count(quote) % 2:
                words = max(words.split(quote), key=len)
        words = _TRAILING.sub("", _BEFORE_WORDS.sub("", words))
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


def cite_sentences(
    sentences: Sequence[SelectedSentence], store: Store, pieces: Sequence[tuple[Span, Span]] = ()
) -> tuple[Citation, ...]:
    """Return a citation for each sentence, numbered from 1 in the given order.

    ``pieces`` has, for each sentence, the span that is cited instead of it, and the one whose page
    and time are given.
    """
    with store.reading():
        documents = store.documents.documents({item.chunk.document_id for item in sentences})
        sections = store.documents.sections_of(documents)
    citations = []
    for number, item in enumerate(sentences, start=1):
        document = documents[item.chunk.document_id]
        start = item.span.start
        around = [s for s in sections.get(document.id, ()) if s.span.start <= start < s.span.end]
        levels = sorted((s for s in around if s.level > 0), key=lambda s: s.level)
        span, place = pieces[number - 1] if pieces else (item.span, item.span)
        citations.append(
            Citation(
                number=number,
                document=document.uri,
                title=document.title,
                section=" > ".join(s.title for s in levels if s.title),
                page=document.page_at(place.start),
                span=span,
                quote=document.text[span.start : span.end],
                chunk_id=item.chunk.id,
                score=item.worth,
                time=document.time_of(place),
                box=document.box_of(span),
            )
        )
    return tuple(citations)


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
    if evidence.results or evidence.paths:
        leading = partial(_compose_leading, evidence, store, settings)
        led = attempt("The answer from rows or paths", leading, None, failed)
        if led is not None:
            return led
    question = evidence.query.text
    reading = reading_of(question)
    language = reading.language
    candidates = rank_candidates(evidence)
    ranked = rank_pieces(evidence, candidates, store)
    confidence = estimate_confidence(evidence, ranked)
    pieces = choose_pieces(ranked, evidence, most=settings.max_sentences)
    missing: list[Missing] = []
    if pieces and confidence >= settings.abstain_below:
        finding_missing = partial(find_missing, pieces[0], evidence, store)
        missing = attempt("The comparison of what is asked", finding_missing, [], failed)
        confidence = doubt_missing(confidence, missing)
    answered = bool(pieces) and confidence >= settings.abstain_below
    dispute, short = None, ""
    if answered:
        comparing = partial(find_disagreement, reading, pieces, candidates, store)
        dispute = attempt("The comparison of documents", comparing, None, failed)
        choosing = partial(_choose_headline, pieces[0], question, store, confidence=confidence)
        short = "" if missing else attempt("The short answer", choosing, "", failed)
        if short and dispute is None:
            finding = partial(find_rivals, pieces[0], ranked, question, short=short)
            rivals = attempt("The comparison of short answers", finding, list[Piece](), failed)
            if rivals:
                short, pieces = "", [pieces[0], *rivals][: settings.max_sentences]
    dates = [""] * len(pieces)
    if dispute is not None:
        pieces, dates = dispute.pieces, dispute.dates(language)
        claim = dispute.claims[0].claim
        fits = fit_kind(reading, claim.words, claim.text, "") is not Fit.OTHER
        short = claim.words if short and dispute.has_winner and fits else ""
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
        text, reason = messages.not_clear(language), LOW_CONFIDENCE
    else:
        text, reason = messages.no_match(language), NO_EVIDENCE
    return Answer(
        question=question,
        text=text,
        answered=answered,
        citations=citations,
        reason=reason,
        confidence=confidence,
        retriever=evidence.retriever,
        notes=(
            *evidence.notes,
            *([dispute.note(language)] if dispute else ()),
            *(_note_missing(each, language) for each in missing),
            *failed,
        ),
        short=short,
        pieces=shown if answered else (),
    )


def _compose_leading(evidence: Evidence, store: Store, settings: AnswerSettings) -> Answer | None:
    """Return the answer from rows or a path; None if none of them is likely enough."""
    least = settings.abstain_below
    if result := find_leading_result(evidence, least=least):
        return compose_query_answer(evidence, result, store=store, settings=settings)
    path = find_leading_path(evidence, least=least)
    return compose_path_answer(evidence, path, store=store, settings=settings) if path else None


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
