"""Answer the parts of a question separately, and join their answers.

What a question asks of documents that it names is asked in each of them alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from knotwork._config import AnswerSettings
from knotwork._questions.named_texts import TextQuestion, find_named_texts
from knotwork._questions.reading import DividedQuestion, SubQuestion, reading_of
from knotwork._retrieval.fusion import raise_scores
from knotwork._run import Progress, Stage
from knotwork._stores.fields import URI
from knotwork._synthesis import messages
from knotwork._synthesis.ask_request import (
    MOST_PROMPT_HITS,
    AskMode,
    Inquiry,
    OutlinePart,
    ScopedSearcher,
)
from knotwork._synthesis.extractive_answers import (
    NO_EVIDENCE,
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
from knotwork.records import (
    Answer,
    AnswerPiece,
    Citation,
    Comparison,
    Condition,
    Evidence,
)

if TYPE_CHECKING:
    from knotwork._synthesis.overviews import DocumentOutline

PART_SCORE = "part"
"""The key, in the scores of a hit, of what a part of the question contributed."""

_LAST_MARK = re.compile(rf"{CITATION_MARK.pattern}$")


class AnsweredPart(NamedTuple):
    """A part of a question, its evidence, and its answer."""

    part: SubQuestion
    evidence: Evidence
    answer: Answer
    title: str = ""
    name: str = ""
    """Title of the document in which it is answered, and the name that the question has for it."""


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


class NamedPart(NamedTuple):
    """What is asked of a document or section that a question names.

    ``part`` is None if there is no such one, ``uri`` that of its document.
    """

    asked: TextQuestion
    part: OutlinePart | None
    uri: str = ""


def find_named_parts(inquiry: Inquiry) -> list[NamedPart]:
    """Return what a question asks of each document or section that it names.

    Empty if it names none, or if what it names may be something else.
    """
    named = find_named_texts(reading_of(inquiry.question))
    if named is None or inquiry.store.capabilities.fields is None:
        return []
    from knotwork._synthesis.overviews import read_outline

    outline = read_outline(inquiry.store)
    found = [_find_named(outline, asked, exactly=named.is_free) for asked in named.questions]
    missing = sum(item.part is None for item in found)
    if missing == len(found):
        return found if named.is_sure and missing > 1 else []
    return [] if named.is_free and missing else found


def _find_named(outline: DocumentOutline, asked: TextQuestion, *, exactly: bool) -> NamedPart:
    from knotwork._synthesis.overviews import find_document, find_sections

    if asked.section:
        parts = find_sections(outline, asked.section, within=asked.text)
        part = parts[0] if len(parts) == 1 else None
    else:
        name = asked.name
        part = find_document(outline, name, asked.noun, exactly=exactly) if name else None
    return NamedPart(asked, part, outline.document(part.document_id).uri if part else "")


def answer_named(
    named: Sequence[NamedPart],
    inquiry: Inquiry,
    evidence: Evidence,
    answer_in: Callable[[Inquiry, Evidence], Iterator[Progress]],
    *,
    otherwise: Iterator[Progress],
) -> Iterator[Progress]:
    """Yield the evidence from parts that a question names, then the answer of each of them.

    ``answer_in`` yields the steps to the answer to an inquiry within one. A question for a fact
    that the only one that is named does not answer is answered from all, by ``otherwise``.
    """
    from knotwork._synthesis.overviews import show_title

    language = reading_of(inquiry.question).language
    answers: list[AnsweredPart] = []
    for asked, part, uri in named:
        own, found = _search_in(inquiry, asked, part, uri)
        if asked.name and part is None:
            text = messages.no_such_text(language, name=asked.section or asked.name)
            answer = Answer(inquiry.question, text, answered=False, reason=NO_EVIDENCE)
        else:
            *steps, last = answer_in(own, found)
            found = next((s.value for s in reversed(steps) if s.stage is Stage.FOUND), found)
            answer = last.value
        question = SubQuestion(asked.text, asked.text)
        title = show_title(part) if part is not None else ""
        answers.append(AnsweredPart(question, found, answer, title, asked.section or asked.name))
    if len(answers) > 1:
        found = join_evidence(evidence, [item.evidence for item in answers])
        answer = join_answers(inquiry.question, answers)
    elif not answer.answered and reading_of(asked.text).scope is None:
        yield from otherwise
        return
    else:
        note = f"Only “{title}” was searched, as the question names it."
        answer = replace(answer, notes=(note, *answer.notes))
    yield Progress(Stage.FOUND, value=found)
    yield Progress(Stage.FINISHED, value=answer)


def search_named(named: Sequence[NamedPart], inquiry: Inquiry, evidence: Evidence) -> Evidence:
    """Return evidence with what is found in each part that a question names."""
    found = [_search_in(inquiry, *item)[1] for item in named if item.part is not None]
    return join_evidence(evidence, found)


def _search_in(
    inquiry: Inquiry, asked: TextQuestion, part: OutlinePart | None, uri: str
) -> tuple[Inquiry, Evidence]:
    """Return an inquiry within a document, and what is found in the part."""
    searcher = inquiry.searcher
    if part is not None:
        searcher = searcher.within(Condition(URI, Comparison.EQUAL, (uri,)))
    if part is not None and part.level:
        searcher.further = MOST_PROMPT_HITS
    reports = replace(inquiry.reports, part=searcher.store if searcher.filter else None)
    own = replace(
        inquiry, question=asked.text, searcher=searcher, reports=reports, part=part, notes=[]
    )
    found = searcher.search(asked.bare)
    if part is not None and part.level:
        held = (*found.hits, *found.further)
        hits = [hit for hit in held if part.span.overlaps(hit.chunk.span)]
        found = replace(found, hits=tuple(hits[: found.query.k]), further=())
    return own, found


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
    that cite the same pieces count once. Those from documents that the question names stand under
    their titles.
    """
    language = reading_of(question).language
    titles = [item.title for item in parts if item.title]
    asked = f"Answered in parts: {' / '.join(item.part.text for item in parts)}"
    if titles:
        asked = f"Asked in each document that the question names: {' / '.join(titles)}"
    answered = [item.answer for item in parts if item.answer.answered]
    citations: list[Citation] = []
    pieces: list[AnswerPiece] = []
    texts: list[str] = []
    confidences: dict[object, float] = {}
    for number, (part, _, answer, title, name) in enumerate(parts):
        places = tuple((cited.document, cited.span) for cited in answer.citations)
        key = places if answer.answered and places else number
        if not titles or (answer.answered and answer.confidence is not None):
            confidences[key] = min(confidences.get(key, 1.0), answer.confidence or 0.0)
        if not answer.answered:
            missing = messages.part_not_found(language, question=part.asked)
            if title or name:
                missing = messages.not_in_document(language, title=title) if title else answer.text
            texts.append(missing)
            continue
        own, text = _renumber(answer, citations)
        if title:
            head = title if name.casefold() in title.casefold() else f"{title} ({name})"
            colon = messages.colon(language)
            own[:1] = [replace(p, markdown=_under(title, head, p.markdown, colon)) for p in own[:1]]
            text = _under(title, head, text, colon)
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
        confidence=math.prod(confidences.values()) if confidences else None if answered else 0.0,
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

    def mark_of(match: re.Match[str]) -> str:
        return match[0].replace(match[1], str(numbers.get(int(match[1]), match[1])))

    text = CITATION_MARK.sub(mark_of, answer.text)
    if answer.mode == AskMode.GLOBAL.value:
        shown = [(p, CITATION_MARK.sub(mark_of, p.markdown)) for p in answer.pieces]
        own = [replace(p, markdown=m, citation=numbers[p.citation]) for p, m in shown]
        return own, text
    pieces = [
        replace(
            piece,
            markdown=with_mark(_LAST_MARK.sub("", piece.markdown), numbers[piece.citation]),
            citation=numbers[piece.citation],
        )
        for piece in answer.pieces
    ]
    return pieces, "\n\n".join(piece.markdown for piece in pieces) or text


def _under(title: str, head: str, text: str, colon: str) -> str:
    """Return a text under the head for a document, which may begin it with the title."""
    if text.startswith((f"**{title}**", f"**{title} > ")):
        return f"**{head}{text[2 + len(title) :]}"
    return f"**{head}**{colon.rstrip()}\n\n{text}" if "\n" in text else f"**{head}**{colon}{text}"
