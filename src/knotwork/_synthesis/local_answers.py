"""Modes local and hybrid: answer from passages and the graph around a question's entities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from knotwork._retrieval.local_context import read_local_context
from knotwork._stores.base import Store
from knotwork._synthesis.answer_writer import ANSWER_OUTPUT_TOKENS, ANSWER_STAGE, NOT_ASKED
from knotwork._synthesis.ask_request import LOCAL_TOKENS, AskEvent, AskEventKind
from knotwork._synthesis.extractive_answers import compose_answer
from knotwork._synthesis.global_answers import compose_themes, find_themes, report_evidence
from knotwork._synthesis.inquiry import Inquiry
from knotwork._synthesis.prompt_context import HYBRID_SHARES, LOCAL_SHARES, pack_context
from knotwork.records import CommunityReport, Entity, Evidence

LOCAL_SHARE = 1.75
HYBRID_SHARE = 1.9
"""Tokens of the whole context, as a multiple of ``answer.context_tokens``: passages still get
about as many as in mode basic."""

_REPORTS = 2
_HYBRID_REPORTS = 5
_LEADING_ENTITIES = 4


def answer_locally(inquiry: Inquiry, evidence: Evidence) -> Iterator[AskEvent]:
    """Yield the steps to an answer from passages, entities, relations and reports around them.

    Kinds of context that the index lacks are left out; without any, this is a basic answer.
    """
    quoted = inquiry.label(compose_answer(evidence, store=inquiry.store, settings=inquiry.settings))
    if inquiry.writer is None:
        yield AskEvent(AskEventKind.FINISHED, answer=quoted)
        return
    around = read_local_context(inquiry.question, evidence, store=inquiry.store)
    if not evidence.hits and not around.facts:
        yield inquiry.writer.finish(quoted, NOT_ASKED)
        return
    context = pack_context(
        evidence,
        facts=around.facts,
        reports=_reports_around(inquiry, around.entities),
        store=inquiry.store,
        budget_tokens=inquiry.material_tokens(
            "local",
            output_tokens=ANSWER_OUTPUT_TOKENS,
            ceiling=LOCAL_TOKENS,
            share=LOCAL_SHARE,
            spent=inquiry.spent_tokens(),
        ),
        shares=LOCAL_SHARES,
    )
    request = inquiry.make_request(
        "local", stage=ANSWER_STAGE, output_tokens=ANSWER_OUTPUT_TOKENS, material=context.material
    )
    yield from inquiry.writer.write_from(request, context.passages, quoted)


def answer_by_both(inquiry: Inquiry, evidence: Evidence) -> Iterator[AskEvent]:
    """Yield the steps to an answer from the contexts of modes local and global together.

    Without a model, the answer consists of sentences of passages if they answer, else of the themes
    of reports.
    """
    spent = inquiry.spent_tokens()
    quoted = compose_answer(evidence, store=inquiry.store, settings=inquiry.settings)
    themes = find_themes(inquiry, evidence, most=_HYBRID_REPORTS)
    if not quoted.answered and themes:
        reported = report_evidence(
            inquiry.question, themes, store=inquiry.store, found=evidence, retriever="hybrid"
        )
        quoted = compose_themes(reported, themes, store=inquiry.store, settings=inquiry.settings)
    quoted = inquiry.label(quoted)
    if inquiry.writer is None:
        yield AskEvent(AskEventKind.FINISHED, answer=quoted)
        return
    if not evidence.hits and not themes:
        yield inquiry.writer.finish(quoted, NOT_ASKED)
        return
    around = read_local_context(inquiry.question, evidence, store=inquiry.store)
    context = pack_context(
        evidence,
        facts=around.facts,
        reports=[theme.report for theme in themes],
        store=inquiry.store,
        budget_tokens=inquiry.material_tokens(
            "local",
            output_tokens=ANSWER_OUTPUT_TOKENS,
            ceiling=LOCAL_TOKENS,
            share=HYBRID_SHARE,
            spent=spent,
        ),
        shares=HYBRID_SHARES,
    )
    request = inquiry.make_request(
        "local", stage=ANSWER_STAGE, output_tokens=ANSWER_OUTPUT_TOKENS, material=context.material
    )
    yield from inquiry.writer.write_from(request, context.passages, quoted)


def _reports_around(inquiry: Inquiry, entities: Sequence[Entity]) -> list[CommunityReport]:
    """Return the reports of the lowest communities that hold most of the leading entities."""
    ids = _communities_around(inquiry.store, entities[:_LEADING_ENTITIES])
    reports = inquiry.reports.reports(ids) if ids else {}
    return [reports[i] for i in ids if i in reports]


def _communities_around(store: Store, entities: Sequence[Entity]) -> list[str]:
    held = store.capabilities.communities
    if held is None or not entities:
        return []
    worths: defaultdict[str, float] = defaultdict(float)
    around = held.of_entities([entity.id for entity in entities])
    for rank, entity in enumerate(entities):
        for community in around.get(entity.id, ())[-1:]:
            worths[community] += 1.0 / (1 + rank)
    return sorted(worths, key=lambda i: (-worths[i], i))[:_REPORTS]
