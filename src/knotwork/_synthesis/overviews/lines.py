"""Write the lines of an overview as Markdown, with citation marks and pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from knotwork._questions.reading import reading_of
from knotwork._stores.base import Store
from knotwork._synthesis.citations import (
    cite_sentences,
    gap_before_mark,
    gap_between,
    show_sentence,
)
from knotwork._synthesis.extractive_answers import LOW_CONFIDENCE, NO_EVIDENCE
from knotwork._synthesis.messages import no_match, not_clear
from knotwork._text.statements import SelectedSentence
from knotwork.records import Answer, AnswerPiece, Evidence, Span


class SummaryPiece(NamedTuple):
    """A part of a line, and the sentence that it cites; None for a title in a table of contents."""

    text: str
    source: SelectedSentence | None

    @classmethod
    def of(cls, sentence: SelectedSentence) -> SummaryPiece:
        """Return a piece that quotes a sentence as prose."""
        return cls(show_sentence(sentence.text), sentence)


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """A line of an answer: a label ("" for none) and the pieces after it.

    ``kind`` is that of the `AnswerPiece`. A line without pieces is the caption of those below it.
    """

    label: str
    pieces: tuple[SummaryPiece, ...] = ()
    kind: str = "sentence"
    note: str = ""
    """A remark after the label."""
    is_list: bool = False
    """Whether the pieces are items rather than sentences."""

    @classmethod
    def of(
        cls, label: str, sentences: Sequence[SelectedSentence], kind: str = "section"
    ) -> SummaryLine:
        """Return a line that quotes sentences."""
        return cls(label, tuple(map(SummaryPiece.of, sentences)), kind if label else "sentence")


@dataclass(frozen=True, slots=True)
class SummaryText:
    """An introduction and lines; ``rest`` are the headings of parts without a line."""

    intro: str
    lines: Sequence[SummaryLine] = ()
    rest: Sequence[SelectedSentence] = ()


class WrittenLines(NamedTuple):
    """The text of an answer, its pieces, and the sentences that its marks cite, in order."""

    text: str
    pieces: tuple[AnswerPiece, ...]
    sources: list[SelectedSentence]


def write_lines(summary: SummaryText, language: str, *, is_numbered: bool = False) -> WrittenLines:
    """Write a list of lines; a single line without an introduction is a paragraph."""
    numbers: dict[tuple[str, Span], int] = {}
    written: list[str] = []
    pieces: list[AnswerPiece] = []
    sources: list[SelectedSentence] = []
    colon, stop = ("：", "；") if language == "zh" else (": ", "; ")
    is_alone = len(summary.lines) == 1 and not summary.intro
    for place, line in enumerate(summary.lines, start=1):
        if not line.pieces:
            written.append(f"\n{line.label}{colon.strip()}\n")
            continue
        body = f"**{line.label}**{line.note}{colon}" if line.label else ""
        first = 0
        for number, piece in enumerate(line.pieces):
            if number:
                body += stop if line.is_list else gap_between(body, piece.text)
            body += piece.text
            if piece.source is None:
                continue
            key = piece.source.chunk.document_id, piece.source.span
            if key not in numbers:
                numbers[key] = len(sources) + 1
                sources.append(piece.source)
            first = first or numbers[key]
            body += f"{gap_before_mark(piece.text)}[{numbers[key]}]"
        mark = "" if is_alone else f"{place}. " if is_numbered else "- "
        written.append(f"{mark}{body}")
        if first:
            pieces.append(AnswerPiece(line.kind, body, first))
    text = "\n".join(written)
    if summary.intro:
        text = f"{summary.intro}\n\n{text.lstrip()}".rstrip()
    return WrittenLines(text, tuple(pieces), sources)


def answer_with(
    evidence: Evidence,
    written: WrittenLines,
    store: Store,
    *,
    answered: bool,
    confidence: float | None,
) -> Answer:
    """Return an answer with the lines of an overview, or that they are no answer."""
    language = reading_of(evidence.query.text).language
    is_found = bool(written.sources)
    refusal = not_clear(language) if is_found else no_match(language)
    return Answer(
        question=evidence.query.text,
        text=written.text if answered else refusal,
        answered=answered,
        citations=cite_sentences(written.sources, store),
        reason="" if answered else LOW_CONFIDENCE if is_found else NO_EVIDENCE,
        confidence=confidence,
        retriever=evidence.retriever,
        pieces=written.pieces if answered else (),
    )
