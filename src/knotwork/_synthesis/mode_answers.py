"""Answer in a mode that reads more than passages: what each reads, and how a model is asked.

Modes local, hybrid and global have one call, whose context has passages, facts of the graph around
the question's entities and findings of reports, in shares that the mode states. Mode map-reduce
rates reports level by level, and reads each part of the relevant ones separately. Mode drift
derives questions from reports, and answers each locally. Both reduce the points that they collect.
Without a model, sentences of the passages answer, or themes of the reports.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from knotwork._inference.chat import ChatReply
from knotwork._retrieval.community_search import holds_written_reports
from knotwork._retrieval.local_context import GraphFact, read_local_context
from knotwork._retrieval.steps.step_prompts import bare_lines, parse_ratings
from knotwork._run import Progress, Stage
from knotwork._stores.capabilities import CommunityStore
from knotwork._synthesis.answer_writer import ANSWER_OUTPUT_TOKENS, ANSWER_STAGE, NOT_ASKED
from knotwork._synthesis.ask_request import (
    FIRST_REPORTS_TOKENS,
    FURTHER_REPORTS_TOKENS,
    GLOBAL_TOKENS,
    LOCAL_TOKENS,
    AskMode,
)
from knotwork._synthesis.extractive_answers import compose_answer
from knotwork._synthesis.inquiry import Inquiry
from knotwork._synthesis.prompt_context import (
    GLOBAL_SHARES,
    HYBRID_SHARES,
    LOCAL_SHARES,
    ContextShares,
    PassageNumbering,
    clip,
    describe_report,
    make_sections,
    pack_context,
    pack_reports,
)
from knotwork._synthesis.reply_reader import bare_text
from knotwork._synthesis.report_points import (
    CollectedPoints,
    MaterialPart,
    ask_model,
    collect_points,
    pack_points,
    reduce_points,
    says_nothing,
    work_through,
)
from knotwork._synthesis.report_themes import (
    MOST_THEMES,
    NO_REPORTS_NOTE,
    Theme,
    answer_from_themes,
    find_themes,
)
from knotwork._text.terms import content_terms
from knotwork.errors import KnotworkError
from knotwork.records import Answer, CommunityReport, Entity, Evidence


class _Material(NamedTuple):
    """What a mode starts from: the evidence, the nearest themes, and the answer without a model.

    ``spent`` are the tokens that the question has cost and that its context makes room for.
    """

    evidence: Evidence
    themes: Sequence[Theme]
    quoted: Answer
    spent: int


@dataclass(frozen=True, slots=True)
class ModePolicy:
    """How a mode answers: by ``write``, and if this is one call, from which context.

    ``reports`` is how many of the reports nearest to the question are read. ``leads_with_themes``:
    without a model, themes of reports answer rather than sentences of passages. ``writes_reports``:
    the model may write missing reports for a part of the tokens. ``share`` are the tokens of the
    context, as a multiple of ``answer.context_tokens``: passages still get about as many as in mode
    basic.
    """

    write: Callable[[Inquiry, _Material], Iterator[Progress]]
    reports: int = 0
    leads_with_themes: bool = False
    writes_reports: bool = False
    task: str = "local"
    shares: ContextShares = LOCAL_SHARES
    share: float = 1.0
    ceiling: int = LOCAL_TOKENS
    output_tokens: int = ANSWER_OUTPUT_TOKENS


def answer_in_mode(inquiry: Inquiry, evidence: Evidence) -> Iterator[Progress]:
    """Yield the steps to an answer in the mode of an inquiry.

    Kinds of context that the index lacks are left out. Without a model, or if it fails, the answer
    is composed of sentences of the passages, or of themes of the nearest reports.
    """
    policy = POLICIES[inquiry.mode]
    spent = inquiry.spent_tokens()
    may_write = policy.writes_reports and inquiry.model is not None
    is_first = may_write and not holds_written_reports(inquiry.store)
    allowed = FIRST_REPORTS_TOKENS if is_first else FURTHER_REPORTS_TOKENS if may_write else 0
    themes = find_themes(inquiry, evidence, most=policy.reports, spend_tokens=allowed)
    if not is_first:  # the first question also pays for the reports that it has written
        spent = inquiry.spent_tokens()
    quoted, reported = _quote(inquiry, evidence, themes, policy)
    if policy.leads_with_themes and themes:
        yield Progress(Stage.FOUND, value=reported)
    if inquiry.writer is None:
        yield Progress(Stage.FINISHED, value=quoted)
        return
    yield from policy.write(inquiry, _Material(evidence, themes, quoted, spent))


def _quote(
    inquiry: Inquiry, evidence: Evidence, themes: Sequence[Theme], policy: ModePolicy
) -> tuple[Answer, Evidence]:
    """Return an answer composed without a model, and its evidence."""
    retriever = AskMode.HYBRID if inquiry.mode is AskMode.HYBRID else AskMode.GLOBAL
    if policy.leads_with_themes and themes:
        return answer_from_themes(inquiry, evidence, themes, retriever=retriever.value)
    quoted = compose_answer(evidence, store=inquiry.store, settings=inquiry.settings)
    if themes and not quoted.answered:
        return answer_from_themes(inquiry, evidence, themes, retriever=retriever.value)
    notes = (NO_REPORTS_NOTE,) if policy.leads_with_themes else ()
    return inquiry.label(quoted, notes), evidence


def _write_from_context(inquiry: Inquiry, material: _Material) -> Iterator[Progress]:
    """Yield the steps to an answer from one context."""
    policy, writer, quoted = POLICIES[inquiry.mode], inquiry.writer, material.quoted
    assert writer is not None
    if policy.leads_with_themes and not material.themes:
        for event in writer.write(material.evidence):
            is_last = event.stage == Stage.FINISHED
            value = inquiry.label(event.value, quoted.notes) if is_last else event.value
            yield replace(event, value=value)
        return
    task, output_tokens = policy.task, policy.output_tokens
    reports = [theme.report for theme in material.themes]
    facts: Sequence[GraphFact] = ()
    if policy.shares.facts:
        around = read_local_context(inquiry.question, material.evidence, store=inquiry.store)
        facts = around.facts
        reports = reports if policy.reports else _reports_around(inquiry, around.entities)
    context = pack_context(
        material.evidence,
        facts=facts,
        reports=reports,
        store=inquiry.store,
        budget_tokens=inquiry.material_tokens(
            task,
            output_tokens=output_tokens,
            ceiling=policy.ceiling,
            share=policy.share,
            spent=material.spent,
        ),
        shares=policy.shares,
    )
    if not context.passages:
        yield writer.finish(quoted, NOT_ASKED)
        return
    request = inquiry.make_request(
        task, stage=ANSWER_STAGE, output_tokens=output_tokens, material=context.material
    )
    yield from writer.write_from(request, context.passages, quoted)


_AROUND_REPORTS = 2
_LEADING_ENTITIES = 4


def _reports_around(inquiry: Inquiry, entities: Sequence[Entity]) -> list[CommunityReport]:
    """Return the reports of the lowest communities that hold most of the leading entities."""
    held, leading = inquiry.store.capabilities.communities, entities[:_LEADING_ENTITIES]
    if held is None or not leading:
        return []
    worths: defaultdict[str, float] = defaultdict(float)
    around = held.of_entities([entity.id for entity in leading])
    for rank, entity in enumerate(leading):
        for community in around.get(entity.id, ())[-1:]:
            worths[community] += 1.0 / (1 + rank)
    ids = sorted(worths, key=lambda i: (-worths[i], i))[:_AROUND_REPORTS]
    reports = inquiry.reports.reports(ids) if ids else {}
    return [reports[i] for i in ids if i in reports]


MOST_DEPTH = 3
MOST_RATED = 60
"""The maximum number of communities of one level that are rated, the largest first."""
RATED_AT_ONCE = 30
MOST_PARTS = 8
RELEVANT = 3
"""The rating, from 0 to 5, from which a community is relevant."""

_RATE_OUTPUT_TOKENS = 5 * RATED_AT_ONCE
_LINE_TOKENS = 40
_REPORTS_PART_TOKENS = 1_200
_REPORTS_IN_PART = 4
_REDUCE_REPORTS_TOKENS = 1_600


def _write_from_parts(inquiry: Inquiry, material: _Material) -> Iterator[Progress]:
    """Yield the steps to an answer from all relevant reports, read in parts.

    If a call fails, its part is missing and a note says so.
    """
    if not material.themes:
        assert inquiry.writer is not None
        yield inquiry.writer.finish(material.quoted)
        return
    reports, notes = yield from _select_reports(inquiry)
    reports = reports or [theme.report for theme in material.themes]
    read = MOST_PARTS * _REPORTS_IN_PART
    if len(reports) > read:
        notes.append(f"The {read} best rated of {len(reports)} relevant reports were read.")
    parts = []
    for start in range(0, min(len(reports), read), _REPORTS_IN_PART):
        own = PassageNumbering(inquiry.store)
        lines = pack_reports(
            reports[start : start + _REPORTS_IN_PART],
            own,
            inquiry.question,
            budget_tokens=_REPORTS_PART_TOKENS,
        )
        if lines:
            text = make_sections([("reports", lines)])
            parts.append(MaterialPart(inquiry.question, text, own.passages()))
    numbering = PassageNumbering(inquiry.store)
    collected = CollectedPoints("map", "parts of the reports")
    yield from collect_points(inquiry, parts, numbering, collected)
    yield from reduce_points(
        inquiry,
        collected,
        numbering,
        material.quoted,
        budget_tokens=_REDUCE_REPORTS_TOKENS,
        notes=notes,
    )


def _select_reports(
    inquiry: Inquiry,
) -> Generator[Progress, None, tuple[list[CommunityReport], list[str]]]:
    """Rate reports level by level; return those to read, best rated first, and notes."""
    held = inquiry.store.capabilities.communities
    assert held is not None, "there are reports"
    levels = held.levels()
    notes: list[str] = []
    rated: dict[str, float] = {}
    parents: dict[str, str] = {}
    frontier = _largest_communities(held, levels[0] if levels else ())
    for depth in range(min(len(levels), MOST_DEPTH)):
        if not frontier:
            break
        ratings, failed = yield from _rate(inquiry, frontier, depth=depth)
        notes += failed
        relevant = [i for i in frontier if ratings.get(i, 0) >= RELEVANT]
        rated.update({i: ratings[i] for i in relevant})
        below = held.communities(levels[depth + 1]).values() if depth + 1 < len(levels) else ()
        inside = {c.id: c.parent_id for c in below if c.parent_id in relevant}
        parents.update({child: parent for child, parent in inside.items() if parent})
        frontier = _largest_communities(held, inside)
    # A community with relevant children is covered by them.
    whole = {parents[i] for i in rated if i in parents}
    chosen = sorted(rated.keys() - whole, key=lambda i: (-rated[i], i))
    reports = inquiry.reports.reports(chosen, spend_tokens=FIRST_REPORTS_TOKENS) if chosen else {}
    return [reports[i] for i in chosen if i in reports], notes


def _largest_communities(held: CommunityStore, ids: Collection[str]) -> list[str]:
    known = held.communities(list(ids)).values()
    ranked = sorted(known, key=lambda c: (-(c.size + len(c.chunk_ids)), c.id))
    return [community.id for community in ranked[:MOST_RATED]]


def _rate(
    inquiry: Inquiry, ids: Sequence[str], *, depth: int
) -> Generator[Progress, None, tuple[dict[str, float], list[str]]]:
    """Return the ratings of communities, and notes on calls that failed."""
    reports = inquiry.reports.reports(ids)
    known = [i for i in ids if i in reports]
    batches = [known[i : i + RATED_AT_ONCE] for i in range(0, len(known), RATED_AT_ONCE)]

    def rate(batch: Sequence[str]) -> dict[int, float] | KnotworkError:
        numbered = enumerate(batch, start=1)
        lines = (f"{n} | {describe_report(reports[i], tokens=_LINE_TOKENS)}" for n, i in numbered)
        return ask_model(
            inquiry,
            "rate",
            lambda reply: parse_ratings(reply, range(1, len(batch) + 1)),
            output_tokens=_RATE_OUTPUT_TOKENS,
            material="\n".join(lines),
        )

    ratings: dict[str, float] = {}
    notes: list[str] = []
    outcomes = yield from work_through(inquiry, f"rate level {depth}", rate, batches)
    for batch, found in zip(batches, outcomes, strict=True):
        if isinstance(found, KnotworkError):
            notes.append(f"Some reports could not be rated and were not read: {found}")
        else:
            ratings |= {batch[number - 1]: rating for number, rating in found.items()}
    return ratings, notes


MOST_FURTHER = (3, 2)
"""The maximum number of further questions in the first round, and in the second."""

_PRIMER_TOKENS = 900
_QUESTION_PART_TOKENS = 900
_KNOWN_TOKENS = 800
_REDUCE_QUESTIONS_TOKENS = 1_200
_FURTHER_OUTPUT_TOKENS = 120
_QUESTION_TOKENS = 60


def _write_from_questions(inquiry: Inquiry, material: _Material) -> Iterator[Progress]:
    """Yield the steps to an answer from the question and the questions that it leads to.

    Without reports, only the passages found for the question are read.
    """
    numbering = PassageNumbering(inquiry.store)
    lines = pack_reports(
        [theme.report for theme in material.themes],
        PassageNumbering(inquiry.store),
        inquiry.question,
        budget_tokens=_PRIMER_TOKENS,
    )
    questions, failed = _ask_further(inquiry, "reports", lines, MOST_FURTHER[0])
    parts = [_search_locally(inquiry, inquiry.question, material.evidence)]
    parts += [_search_locally(inquiry, question) for question in questions]
    collected = CollectedPoints("follow up", "questions on the way")
    yield from collect_points(inquiry, parts, numbering, collected)
    more: list[str] = []
    if collected.points and not failed:
        known = pack_points(collected.points, budget_tokens=_KNOWN_TOKENS)
        lines = [point.line for point in known]
        more, failed = _ask_further(inquiry, "points", lines, MOST_FURTHER[1], questions)
    if more:
        parts = [_search_locally(inquiry, question) for question in more]
        yield from collect_points(inquiry, parts, numbering, collected)
    yield from reduce_points(
        inquiry,
        collected,
        numbering,
        material.quoted,
        budget_tokens=_REDUCE_QUESTIONS_TOKENS,
        notes=[f"No further questions were asked: {failed}"] if failed else [],
    )


def _ask_further(
    inquiry: Inquiry, tag: str, lines: Sequence[str], most: int, before: Sequence[str] = ()
) -> tuple[list[str], str]:
    """Return further questions, and an error message if the model gave no usable ones."""
    if not lines:
        return [], ""
    known = (inquiry.question, *before)
    found = ask_model(
        inquiry,
        "further",
        lambda reply: parse_questions(reply, known=known, most=most),
        output_tokens=_FURTHER_OUTPUT_TOKENS,
        material=make_sections([(tag, lines)]),
        most=str(most),
    )
    return ([], str(found)) if isinstance(found, KnotworkError) else (found, "")


def parse_questions(reply: ChatReply, *, known: Sequence[str], most: int) -> list[str]:
    """Return at most ``most`` questions of a reply, one a line, without those ``known``.

    Raises Unparsable for an empty reply.
    """
    seen = {bare_text(question) for question in known}
    found: list[str] = []
    for line in bare_lines(reply):
        text = line.strip("\"“”' ")
        if says_nothing(text) or not content_terms(text) or bare_text(text) in seen:
            continue
        seen.add(bare_text(text))
        found.append(clip(text, _QUESTION_TOKENS))
    return found[:most]


def _search_locally(
    inquiry: Inquiry, question: str, evidence: Evidence | None = None
) -> MaterialPart:
    """Return what is found for a question; ``evidence`` is used instead of a search."""
    found = evidence or inquiry.sources.searcher.search(question)
    around = read_local_context(question, found, store=inquiry.store)
    context = pack_context(
        found,
        facts=around.facts,
        store=inquiry.store,
        budget_tokens=_QUESTION_PART_TOKENS,
        shares=LOCAL_SHARES,
    )
    return MaterialPart(question, context.material, context.passages)


_PRIMER_REPORTS = 4
_HYBRID_REPORTS = 5
_GLOBAL_REPORTS = 12
"""As many as fit the usual budget: the answer is as broad as the reports that it reads."""

POLICIES = {
    AskMode.LOCAL: ModePolicy(_write_from_context, share=1.75),
    AskMode.HYBRID: ModePolicy(
        _write_from_context, reports=_HYBRID_REPORTS, shares=HYBRID_SHARES, share=1.9
    ),
    AskMode.GLOBAL: ModePolicy(
        _write_from_context,
        reports=_GLOBAL_REPORTS,
        leads_with_themes=True,
        writes_reports=True,
        task="global",
        shares=GLOBAL_SHARES,
        share=1.5,
        ceiling=GLOBAL_TOKENS,
        output_tokens=700,
    ),
    AskMode.MAP_REDUCE: ModePolicy(_write_from_parts, reports=MOST_THEMES, leads_with_themes=True),
    AskMode.DRIFT: ModePolicy(_write_from_questions, reports=_PRIMER_REPORTS),
}
