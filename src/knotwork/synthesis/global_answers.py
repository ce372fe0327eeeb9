"""Answers about the whole from the reports nearest to a question, in one call or in none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from knotwork.records import Answer, Evidence
from knotwork.retrieval.reports import (
    communities_of,
    find_communities,
    holds_written_reports,
)
from knotwork.synthesis.answering import compose_answer
from knotwork.synthesis.contexts import make_sections, pack_reports
from knotwork.synthesis.events import AskEvent, AskEventKind
from knotwork.synthesis.inquiry import Inquiry
from knotwork.synthesis.modes import (
    FIRST_REPORTS_TOKENS,
    FURTHER_REPORTS_TOKENS,
    GLOBAL_TOKENS,
    AskMode,
)
from knotwork.synthesis.numbering import Numbering
from knotwork.synthesis.overview import Theme, compose_overview, report_evidence
from knotwork.synthesis.writing import NOT_ASKED, STAGE

MOST_REPORTS = 12
"""As many as a usual budget holds whole: an answer about the whole is as broad as what it reads."""
OUTPUT_TOKENS = 700
GLOBAL_SHARE = 1.5
NO_REPORTS_NOTE = (
    "There are no reports on communities, so this is from passages alone: `knotwork communities` "
    "makes reports."
)


def answer_globally(inquiry: Inquiry, evidence: Evidence) -> Iterator[AskEvent]:
    """Yield the steps to an answer from the reports nearest to the question.

    Without reports the passages of ``evidence`` answer, and a note says so; without a model the
    reports' findings do.
    """
    spent = inquiry.spent_tokens()
    is_first = not holds_written_reports(inquiry.store) if inquiry.model else False
    allowed = FIRST_REPORTS_TOKENS if is_first else FURTHER_REPORTS_TOKENS
    themes = find_themes(inquiry, evidence, most=MOST_REPORTS, spend_tokens=allowed)
    if not is_first:  # the first question may pay for the reports it has written
        spent = inquiry.spent_tokens()
    quoted, reported = overview_of(inquiry, evidence, themes)
    if themes:
        yield AskEvent(AskEventKind.FOUND, evidence=reported)
    if inquiry.writer is None:
        yield AskEvent(AskEventKind.FINISHED, answer=quoted)
        return
    if not themes:
        for event in inquiry.writer.write(evidence):
            answer = event.answer
            yield replace(event, answer=inquiry.label(answer, quoted.notes)) if answer else event
        return
    budget = inquiry.material_tokens(
        "global",
        output_tokens=OUTPUT_TOKENS,
        ceiling=GLOBAL_TOKENS,
        share=GLOBAL_SHARE,
        spent=spent,
    )
    numbering = Numbering(inquiry.store)
    reports = [theme.report for theme in themes]
    lines = pack_reports(reports, numbering, inquiry.question, budget_tokens=budget - 12)
    passages = numbering.passages()
    if not passages:
        yield inquiry.writer.finish(quoted, NOT_ASKED)
        return
    material = make_sections([("reports", lines)])
    request = inquiry.make_request(
        "global", stage=STAGE, output_tokens=OUTPUT_TOKENS, material=material
    )
    yield from inquiry.writer.write_from(request, passages, quoted)


def find_themes(
    inquiry: Inquiry, evidence: Evidence, *, most: int, spend_tokens: int = 0
) -> list[Theme]:
    """Return the communities relevant to a question, with their reports, best first.

    Reports that are missing are written for at most ``spend_tokens``, where a model may.
    """
    held = communities_of(inquiry.store)
    if held is None:
        return []
    ranked = find_communities(
        inquiry.question,
        store=inquiry.store,
        evidence=evidence,
        embedder=inquiry.sources.embedder(),
        most=most,
    )
    ids = [item.id for item in ranked]
    reports = inquiry.reports.reports(ids, spend_tokens=spend_tokens) if ids else {}
    known = held.communities(reports)
    return [
        Theme(reports[i], len(known[i].chunk_ids) if i in known else 0)
        for i in ids
        if i in reports and reports[i].findings
    ]


def overview_of(
    inquiry: Inquiry, evidence: Evidence, themes: Sequence[Theme]
) -> tuple[Answer, Evidence]:
    """Return the answer that takes no tokens, and what it rests on."""
    if not themes:
        quoted = compose_answer(evidence, store=inquiry.store, settings=inquiry.settings)
        return inquiry.label(quoted, (*inquiry.notes, NO_REPORTS_NOTE)), evidence
    reported = report_evidence(
        inquiry.question,
        themes,
        store=inquiry.store,
        found=evidence,
        retriever=AskMode.GLOBAL.value,
    )
    quoted = compose_overview(reported, themes, store=inquiry.store, settings=inquiry.settings)
    return inquiry.label(quoted, inquiry.notes), reported
