"""Answers from every report that a model finds relevant: level by level, then map, then reduce.

Dynamic selection as in Microsoft's GraphRAG, from the topmost communities down: only what lies
inside a relevant community is looked at. All of one level are rated in a few cheap calls, by their
titles and first statements, and a community is read itself only where none of its parts is
relevant.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from functools import partial

from knotwork.errors import KnotworkError, ModelError, StoreError
from knotwork.inference.checked import complete_checked
from knotwork.inference.ordered import work_ordered
from knotwork.records import CommunityReport, Evidence
from knotwork.retrieval.reports import communities_of
from knotwork.stores.communities import CommunityStore
from knotwork.synthesis.contexts import describe_report, make_sections, pack_reports
from knotwork.synthesis.events import AskEvent, AskEventKind
from knotwork.synthesis.global_answers import find_themes, overview_of
from knotwork.synthesis.inquiry import Inquiry
from knotwork.synthesis.mapping import Part, collect_points, reduce_points, tell_failures
from knotwork.synthesis.modes import FIRST_REPORTS_TOKENS
from knotwork.synthesis.numbering import Numbering
from knotwork.synthesis.overview import MOST_THEMES
from knotwork.synthesis.points import parse_ratings

RATE_STAGE = "rate"
MOST_DEPTH = 3
MOST_RATED = 60
"""Communities of one level that are rated, the largest first."""
RATED_AT_ONCE = 30
MOST_PARTS = 8
RELEVANT = 3
"""The rating, of 5, from which a community is looked into."""

_RATE_OUTPUT_TOKENS = 5 * RATED_AT_ONCE
_LINE_TOKENS = 40
_PART_TOKENS = 1_200
_REPORTS_IN_PART = 4
_REDUCE_TOKENS = 1_600


def answer_by_map_reduce(inquiry: Inquiry, evidence: Evidence) -> Iterator[AskEvent]:
    """Yield the steps to an answer from all relevant reports.

    A call that fails costs its own part, and a note; without a model, or when all fail, the themes
    of the reports nearest to the question are the answer.
    """
    nearest = find_themes(inquiry, evidence, most=MOST_THEMES)
    quoted, reported = overview_of(inquiry, evidence, nearest)
    if nearest:
        yield AskEvent(AskEventKind.FOUND, evidence=reported)
    if inquiry.writer is None or inquiry.model is None or not nearest:
        finished = AskEvent(AskEventKind.FINISHED, answer=quoted)
        yield inquiry.writer.finish(quoted) if inquiry.writer else finished
        return
    reports, notes = yield from _select(inquiry)
    reports = reports or [theme.report for theme in nearest]
    numbering = Numbering(inquiry.store)
    parts = _cut(inquiry, reports, numbering)
    if len(reports) > MOST_PARTS * _REPORTS_IN_PART:
        read = MOST_PARTS * _REPORTS_IN_PART
        notes.append(f"The {read} best rated of {len(reports)} relevant reports were read.")
    collected = yield from collect_points(inquiry, parts, label="map")
    notes += tell_failures(collected, what="parts of the reports")
    points = [point for found in collected.points for point in found]
    yield from reduce_points(
        inquiry, collected, points, numbering, quoted, budget_tokens=_REDUCE_TOKENS, notes=notes
    )


def _select(
    inquiry: Inquiry,
) -> Generator[AskEvent, None, tuple[list[CommunityReport], list[str]]]:
    """Return the reports to read, the best rated first, and notes; ask level by level."""
    held = communities_of(inquiry.store)
    assert held is not None, "there are reports"
    levels = held.levels()
    notes: list[str] = []
    rated: dict[str, int] = {}
    parents: dict[str, str] = {}
    frontier = _largest(held, levels[0] if levels else ())
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
        frontier = _largest(held, inside)
    # What has a relevant part is told by its parts.
    whole = {parents[i] for i in rated if i in parents}
    chosen = sorted(rated.keys() - whole, key=lambda i: (-rated[i], i))
    reports = inquiry.reports.reports(chosen, spend_tokens=FIRST_REPORTS_TOKENS) if chosen else {}
    return [reports[i] for i in chosen if i in reports], notes


def _largest(held: CommunityStore, ids: Collection[str]) -> list[str]:
    known = held.communities(list(ids)).values()
    ranked = sorted(known, key=lambda c: (-(c.size + len(c.chunk_ids)), c.id))
    return [community.id for community in ranked[:MOST_RATED]]


def _rate(
    inquiry: Inquiry, ids: Sequence[str], *, depth: int
) -> Generator[AskEvent, None, tuple[dict[str, int], list[str]]]:
    """Return the ratings of communities, and notes on calls that failed."""
    reports = inquiry.reports.reports(ids)
    known = [i for i in ids if i in reports]
    batches = [known[i : i + RATED_AT_ONCE] for i in range(0, len(known), RATED_AT_ONCE)]
    ratings: dict[str, int] = {}
    notes: list[str] = []
    label = f"rate level {depth}"
    yield AskEvent(AskEventKind.STEP, label, total=len(batches))
    work = partial(_rate_batch, inquiry, reports)
    workers = max(min(inquiry.concurrency, len(batches)), 1)
    for done, outcome in enumerate(work_ordered(work, batches, concurrency=workers), start=1):
        if isinstance(outcome, KnotworkError):
            notes.append(f"Some reports could not be rated, and were not read: {outcome}")
        else:
            ratings |= outcome
        yield AskEvent(AskEventKind.STEP, label, done=done, total=len(batches))
    return ratings, notes


def _rate_batch(
    inquiry: Inquiry, reports: dict[str, CommunityReport], ids: Sequence[str]
) -> dict[str, int] | KnotworkError:
    assert inquiry.model is not None
    lines = [
        f"{number} | {describe_report(reports[i], tokens=_LINE_TOKENS)}"
        for number, i in enumerate(ids, start=1)
    ]
    request = inquiry.make_request(
        "rate", stage=RATE_STAGE, output_tokens=_RATE_OUTPUT_TOKENS, material="\n".join(lines)
    )
    numbers = range(1, len(ids) + 1)
    try:
        found = complete_checked(
            inquiry.model, request, lambda reply: parse_ratings(reply, numbers)
        )
    except (ModelError, StoreError) as error:
        return error
    return {ids[number - 1]: rating for number, rating in found.items()}


def _cut(inquiry: Inquiry, reports: Sequence[CommunityReport], numbering: Numbering) -> list[Part]:
    """Return reports in parts of a size that one call reads."""
    parts = []
    for start in range(0, min(len(reports), MOST_PARTS * _REPORTS_IN_PART), _REPORTS_IN_PART):
        lines = pack_reports(
            reports[start : start + _REPORTS_IN_PART],
            numbering,
            inquiry.question,
            budget_tokens=_PART_TOKENS,
        )
        if lines:
            material = make_sections([("reports", lines)])
            parts.append(Part(inquiry.question, material, numbering.numbers_in(lines)))
    return parts
