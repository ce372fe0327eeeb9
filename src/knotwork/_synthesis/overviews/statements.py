"""Choose sentences that summarise a text, and write the lines of an answer with citations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from knotwork._indexing.communities.report_sentences import (
    ReportSentence,
    choose_sentences,
    flat_text,
    is_prose,
)
from knotwork._retrieval.evidence_builder import is_in_han
from knotwork._synthesis.citations import gap_before_mark, gap_between, show_sentence
from knotwork._synthesis.sentence_selection import SelectedSentence, weigh_prose
from knotwork._text.terms import content_terms
from knotwork.records import BlockKind, Chunk, Span, Support

LEAST_PROSE = 0.6
"""The least share of prose in a sentence that can represent a text."""

OPENING_GAIN = 1.3
"""The factor for the first sentence of a paragraph."""

_MOST_SENTENCES = 150
_LEANING_WEIGHT = 0.4
"""The factor for a sentence that cannot be understood without the one before it."""
_POINTING_WEIGHT = 0.5
"""The factor for a sentence that refers to another section or figure, and for a question."""
_LEGAL_WEIGHT = 0.1
_LONG_WEIGHT = 0.5
_LONG, _LONG_WIDE = 260, 110
"""The number of characters from which a sentence is long for a summary."""
_HALF_WAY = 8
"""The position in its section, from 0, at which a sentence is worth half of the first."""
_HALF_WAY_DOWN = 24
"""The position in a text, from 0, at which an opening sentence is worth half of the first."""
_FULL_TERMS = 6
"""A sentence of fewer distinct terms is worth proportionally less."""
_TITLE_GAIN = 0.5
"""The additional share for a sentence with all terms of the heading above it."""

_LEANING = re.compile(
    r"^\(|^[\"'“‘\[]*(?:(?:see|this(?! (?:book|manual|handbook|guide"
    r"|document|documentation|tutorial|report|paper|chapter|section|page|article|story|novel)\b)|that|these|those|it|its|they|their|he|she|his|her|him|such|however|but|notice|remember|recall"
    r"|and|or|also|then|thus|therefore|hence|moreover|furthermore|instead|otherwise|now|here|so"
    r"|similarly|likewise|finally|besides|nevertheless|still|yet|both|once again"
    r"|in (?:addition|particular|fact|contrast|this|that|these|those|such|other words)"
    r"|for (?:example|instance|this|that|these)|as (?:a result|such|mentioned|noted|before|above)"
    r"|on the other hand|of course|at this|the (?:latter|former|above|following|same|other))\b"
    r"|i\.e|e\.g)"
    r"|^[“‘（《]*(?:这|這|那|该|該|此|它|他|她|其|但|而|因此|所以|因而|于是|於是|另外|例如|比如|然而|同时|同時|并且|並且"
    r"|不过|不過|也|还|還|则|則|然后|然後|最后|最後|接着|接著|上述|以上|另一|如此|如果是这样|如果是這樣|总之|總之|首先|其次|再次|现在|現在|即)",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\b(?:see|cf\.?|refer to) (?:also |the |section|chapter|figure|table|appendix|sidebar)"
    r"|\b(?:above|below|following|previous|next) (?:section|chapter|example|table|figure|command)"
    r"|[?？]\s*$|如下|上述|下面|见第|請參閱|请参阅|参见|參見",
    re.IGNORECASE,
)
_LEGAL = re.compile(
    r"\bcopyright\b|©|\ball rights reserved\b|\blicen[cs]ed under\b|\bpermission (?:is|notice)\b"
    r"|\bpublic license\b|\bwarrant(?:y|ies)\b|\bISBN\b|\bproject gutenberg\b|\be-?books?\b"
    r"|\bcookies?\b|\bunsubscribe\b|\btrademarks?\b|\btable of contents\b"
    r"|许可证[^，。]{0,4}(?:发布|發佈|授权)|以[^，。]{0,8}许可证|版权所有|版權所有|著作权|著作權|未经许可|免责声明|(?:任何|品质)(?:形式的)?(?:担保|擔保)|保留所有权利|目录",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SummaryPiece:
    """A part of a line, and the sentence that it cites; None for a title in a table of contents."""

    text: str
    source: SelectedSentence | None

    @classmethod
    def of(cls, sentence: SelectedSentence) -> SummaryPiece:
        """Return a piece that quotes a sentence as prose."""
        return cls(show_sentence(sentence.text), sentence)


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """A line of an answer: a label ("" for none) and the pieces after it."""

    label: str
    pieces: tuple[SummaryPiece, ...]
    is_list: bool = False
    """Whether the pieces are items rather than sentences."""


@dataclass(frozen=True, slots=True)
class SummaryText:
    """An introduction and lines; ``rest`` are the headings of parts without a line."""

    intro: str
    lines: Sequence[SummaryLine]
    rest: Sequence[SelectedSentence] = ()


def weigh_alone(text: str) -> float:
    """Return how well a sentence can be understood without its context, from 0 to 1."""
    weight = 1.0
    if _LEANING.search(text):
        weight *= _LEANING_WEIGHT
    if _POINTING.search(text):
        weight *= _POINTING_WEIGHT
    if _LEGAL.search(text):
        weight *= _LEGAL_WEIGHT
    if len(text) > (_LONG_WIDE if is_in_han(text) else _LONG):
        weight *= _LONG_WEIGHT
    return weight


def weigh_place(chunk: Chunk, span: Span) -> float:
    """Return `OPENING_GAIN` for the first sentence of a paragraph, else 1."""
    before = chunk.text[: span.start - chunk.span.start].rstrip(" \t")
    return OPENING_GAIN if not before or before.endswith("\n") else 1.0


def stating_sentences(chunks: Iterable[Chunk]) -> list[tuple[SelectedSentence, float]]:
    """Return the prose sentences of chunks, each with its worth in a summary.

    Code, headings, table rows and fragments are left out. A sentence is worth more near the
    beginning of its section, with terms of the heading, and if it can be understood alone.
    """
    found: list[tuple[SelectedSentence, float]] = []
    places: Counter[str] = Counter()
    titles: dict[str, frozenset[str]] = {}
    for chunk in chunks:
        section = chunk.section_id
        if section not in titles:
            title = chunk.headings[-1] if chunk.headings else chunk.document_title
            titles[section] = frozenset(content_terms(title))
        for index, span in enumerate(chunk.sentences):
            text = chunk.sentence_text(index)
            if not is_statement(chunk, span, text):
                continue
            terms = set(content_terms(text))
            shared = titles[section] & terms
            weight = weigh_alone(text) * weigh_prose(text) * min(1.0, len(terms) / _FULL_TERMS)
            weight *= weigh_place(chunk, span) / (1 + places[section] / _HALF_WAY)
            weight *= 1 + _TITLE_GAIN * len(shared) / max(len(titles[section]), 1)
            places[section] += 1
            found.append((SelectedSentence(chunk, span, text, weight, len(found)), weight))
    return found


def choose_central(
    weighed: Sequence[tuple[SelectedSentence, float]], *, count: int
) -> list[SelectedSentence]:
    """Return the ``count`` most central sentences, in reading order.

    They repeat each other as little, and come from as many chunks, as possible.
    """
    best = sorted(weighed, key=lambda item: -item[1])[:_MOST_SENTENCES]
    sources = {Support(item.chunk.id, item.span): item for item, _ in best}
    sentences = [
        ReportSentence(
            Support(item.chunk.id, item.span),
            flat_text(item.text),
            weight,
            item.chunk.id,
        )
        for item, weight in best
    ]
    chosen = [sources[s.support] for s in choose_sentences(sentences, count=count)]
    return sorted(chosen, key=lambda item: item.rank)


def choose_leading(weighed: Sequence[tuple[SelectedSentence, float]]) -> SelectedSentence | None:
    """Return the sentence that best introduces a text, by worth and position; None without any."""
    ranked = [
        (weight / (1 + place / _HALF_WAY_DOWN), -place, item)
        for place, (item, weight) in enumerate(weighed)
    ]
    return max(ranked, key=lambda row: row[:2])[2] if ranked else None


def write_lines(
    intro: str, lines: Sequence[SummaryLine], language: str
) -> tuple[str, list[SelectedSentence]]:
    """Return the text of an answer, and the sentences that its marks cite, in order."""
    numbers: dict[tuple[str, Span], int] = {}
    sources: list[SelectedSentence] = []
    written: list[str] = []
    colon = "：" if language == "zh" else ": "
    for line in lines:
        body = ""
        for piece in line.pieces:
            if body:
                body += ("；" if language == "zh" else "; ") * line.is_list or gap_between(
                    body, piece.text
                )
            body += piece.text
            if piece.source is None:
                continue
            key = piece.source.chunk.document_id, piece.source.span
            if key not in numbers:
                numbers[key] = len(sources) + 1
                sources.append(piece.source)
            body += f"{gap_before_mark(piece.text)}[{numbers[key]}]"
        written.append(f"{line.label}{colon}{body}" if line.label else body)
    if len(written) == 1 and not intro:
        return written[0], sources
    listed = [f"- {line}" for line in written]
    return "\n".join([intro, "", *listed] if intro and listed else listed or [intro]), sources


def is_statement(chunk: Chunk, span: Span, text: str) -> bool:
    """Return True if a span of a chunk is a whole sentence of prose: no code, heading or cell."""
    if any(block.kind is BlockKind.CODE for block in chunk.blocks_around(span)):
        return False
    flat = flat_text(text)
    if flat.casefold() in {title.casefold() for title in (*chunk.headings, chunk.document_title)}:
        return False
    return is_prose(flat) and weigh_prose(text) >= LEAST_PROSE and _is_finished(flat)


def _is_finished(text: str) -> bool:
    """Return True if a text ends with a sentence mark, which headings and cells do not."""
    return text.rstrip("\"'”’)）」』]").endswith((".", "!", "?", "。", "！", "？", "…", "；", ";"))
