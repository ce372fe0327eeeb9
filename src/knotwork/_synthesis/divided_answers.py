"""Answer the parts of a question separately, and join their answers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from knotwork._config import AnswerSettings
from knotwork._questions.reading import DividedQuestion, SubQuestion, reading_of
from knotwork._retrieval.fusion import raise_scores
from knotwork._run import Progress, Stage
from knotwork._synthesis import messages
from knotwork._synthesis.ask_request import ScopedSearcher
from knotwork._synthesis.extractive_answers import (
    compose_answer,
    find_leading_path,
    find_leading_result,
    mark_also,
    read_hits,
    unmark,
    with_mark,
)
from knotwork._text.plain_text import CITATION_MARK
from knotwork._text.terms import content_terms
from knotwork.records import Answer, AnswerPiece, Citation, Evidence

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
    searcher: ScopedSearcher,
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


def _answer_part(
    part: SubQuestion, searcher: ScopedSearcher, settings: AnswerSettings
) -> AnsweredPart:
    """Search with the context that parts share, and select sentences by the part's own words."""
    found = searcher.search(part.text)
    found = replace(found, query=replace(found.query, text=part.asked))
    return AnsweredPart(part, *_answer_whole(found, searcher, replace(settings, max_sentences=1)))


def _answer_whole(
    found: Evidence, searcher: ScopedSearcher, settings: AnswerSettings
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
            texts.append(messages.part_not_found(language, question=part.asked))
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
