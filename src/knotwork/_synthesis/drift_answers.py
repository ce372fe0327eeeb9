"""Mode drift: derive questions from community reports, answer each locally, then reduce."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from knotwork._inference.chat import ChatReply, complete_checked
from knotwork._retrieval.local_context import read_local_context
from knotwork._synthesis.ask_request import AskEvent, AskEventKind
from knotwork._synthesis.extractive_answers import compose_answer
from knotwork._synthesis.global_answers import answer_from_themes, find_themes
from knotwork._synthesis.inquiry import Inquiry
from knotwork._synthesis.map_reduce_answers import (
    CollectedPoints,
    MaterialPart,
    ReportPoint,
    collect_points,
    describe_failures,
    pack_points,
    reduce_points,
    usable_lines,
)
from knotwork._synthesis.prompt_context import (
    LOCAL_SHARES,
    PassageNumbering,
    PromptPassage,
    clip,
    make_sections,
    pack_context,
    pack_reports,
)
from knotwork._text.terms import content_terms
from knotwork.errors import ModelError, StoreError
from knotwork.records import CommunityReport, Evidence

FURTHER_STAGE = "further"
MOST_FURTHER = (3, 2)
"""The maximum number of further questions in the first round, and in the second."""

_PRIMER_REPORTS = 4
_PRIMER_TOKENS = 900
_PART_TOKENS = 900
_KNOWN_TOKENS = 800
_REDUCE_TOKENS = 1_200
_FURTHER_OUTPUT_TOKENS = 120
_QUESTION_TOKENS = 60
_BULLET = re.compile(r"^(?:[\-–*•>#\s]+|\(?\d{1,2}[.)、]\s*|ask\s*[|｜:]\s*)+", re.IGNORECASE)
_NOTHING = re.compile(r"\W*(?:none|nothing|无|没有|沒有)\W*", re.IGNORECASE)


def answer_by_drift(inquiry: Inquiry, evidence: Evidence) -> Iterator[AskEvent]:
    """Yield the steps to an answer from the question and the questions that it leads to.

    Without reports, only the passages found for the question are read. Without a model, or if all
    calls fail, the answer consists of sentences of the passages, or else of themes of reports.
    """
    themes = find_themes(inquiry, evidence, most=_PRIMER_REPORTS)
    quoted = inquiry.label(compose_answer(evidence, store=inquiry.store, settings=inquiry.settings))
    if not quoted.answered and themes:
        quoted, _ = answer_from_themes(inquiry, evidence, themes)
    if inquiry.writer is None:
        yield AskEvent(AskEventKind.FINISHED, answer=quoted)
        return
    reports = [theme.report for theme in themes]
    numbering = PassageNumbering(inquiry.store)
    notes: list[str] = []
    questions, failed = _ask_further(inquiry, _primer(inquiry, reports), MOST_FURTHER[0])
    first, points = yield from _search_locally(
        inquiry, [inquiry.question, *questions], numbering, evidence
    )
    more: list[str] = []
    if points and not failed:
        known = [point.line for point in pack_points(points, budget_tokens=_KNOWN_TOKENS)]
        more, failed = _ask_further(
            inquiry, make_sections([("points", known)]), MOST_FURTHER[1], (*questions,)
        )
    if failed:
        notes.append(f"No further questions were asked: {failed}")
    if more:
        second, found = yield from _search_locally(inquiry, more, numbering, None)
        points += found
        first = _merge_points(first, second)
    notes += describe_failures(first, what="questions on the way")
    yield from reduce_points(
        inquiry, first, points, numbering, quoted, budget_tokens=_REDUCE_TOKENS, notes=notes
    )


def _merge_points(first: CollectedPoints, second: CollectedPoints) -> CollectedPoints:
    return CollectedPoints(
        (*first.points, *second.points),
        first.failed + second.failed,
        first.dropped + second.dropped,
        first.error or second.error,
    )


def _primer(inquiry: Inquiry, reports: Sequence[CommunityReport]) -> str:
    lines = pack_reports(
        reports, PassageNumbering(inquiry.store), inquiry.question, budget_tokens=_PRIMER_TOKENS
    )
    return make_sections([("reports", lines)])


def _ask_further(
    inquiry: Inquiry, material: str, most: int, before: Sequence[str] = ()
) -> tuple[list[str], str]:
    """Return further questions, and an error message if the model gave no usable ones."""
    if not material or inquiry.model is None:
        return [], ""
    known = (inquiry.question, *before)
    request = inquiry.make_request(
        "further",
        stage=FURTHER_STAGE,
        output_tokens=_FURTHER_OUTPUT_TOKENS,
        material=material,
        most=str(most),
    )
    try:
        return complete_checked(
            inquiry.model, request, lambda reply: parse_questions(reply, known=known, most=most)
        ), ""
    except (ModelError, StoreError) as error:
        return [], str(error)


def parse_questions(reply: ChatReply, *, known: Sequence[str], most: int) -> list[str]:
    """Return at most ``most`` questions of a reply, one a line, without those ``known``.

    Raises Unparsable for an empty reply.
    """
    seen = {_bare_text(question) for question in known}
    found: list[str] = []
    for line in usable_lines(reply):
        text = _BULLET.sub("", line).strip(" \t*\"“”'`")
        if _NOTHING.fullmatch(text) or not content_terms(text) or _bare_text(text) in seen:
            continue
        seen.add(_bare_text(text))
        found.append(clip(text, _QUESTION_TOKENS))
    return found[:most]


def _bare_text(text: str) -> str:
    return re.sub(r"\W+", "", text).casefold()


def _search_locally(
    inquiry: Inquiry,
    questions: Sequence[str],
    numbering: PassageNumbering,
    evidence: Evidence | None,
) -> Generator[AskEvent, None, tuple[CollectedPoints, list[ReportPoint]]]:
    """Yield steps; return the points on each question.

    ``evidence``, if given, is that of the first question; the others are searched for.
    """
    parts: list[MaterialPart] = []
    numbers: list[dict[int, PromptPassage]] = []
    for question in questions:
        is_first = evidence is not None and not parts
        found = evidence if is_first and evidence else inquiry.sources.searcher.search(question)
        around = read_local_context(question, found, store=inquiry.store)
        context = pack_context(
            found,
            facts=around.facts,
            store=inquiry.store,
            budget_tokens=_PART_TOKENS,
            shares=LOCAL_SHARES,
        )
        held = {passage.number: passage for passage in context.passages}
        parts.append(MaterialPart(question, context.material, held.keys()))
        numbers.append(held)
    collected = yield from collect_points(inquiry, parts, label="follow up")
    points = [
        replace(point, numbers=tuple(numbering.adopt(held[n]) for n in point.numbers))
        for held, own in zip(numbers, collected.points, strict=True)
        for point in own
    ]
    return collected, points
