"""Mode map-reduce: collect points from every relevant report, and reduce them to one answer.

A model rates reports level by level, reads each part of the relevant ones separately (map) and
writes the answer from the best points (reduce). A point is a line: a score, a bar and a text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from knotwork._inference.call_limits import work_ordered
from knotwork._inference.chat import ChatReply, complete_checked
from knotwork._stores.capabilities import CommunityStore
from knotwork._synthesis.ask_request import FIRST_REPORTS_TOKENS, AskEvent, AskEventKind
from knotwork._synthesis.global_answers import MOST_THEMES, answer_from_themes, find_themes
from knotwork._synthesis.inquiry import Inquiry
from knotwork._synthesis.prompt_context import (
    MOST_MARKS,
    PassageNumbering,
    describe_report,
    make_sections,
    pack_reports,
)
from knotwork._text.token_counts import count_tokens
from knotwork.errors import KnotworkError, ModelError, StoreError, Unparsable
from knotwork.records import Answer, CommunityReport, Evidence

RATE_STAGE = "rate"
MOST_DEPTH = 3
MOST_RATED = 60
"""The maximum number of communities of one level that are rated, the largest first."""
RATED_AT_ONCE = 30
MOST_PARTS = 8
RELEVANT = 3
"""The rating, from 0 to 5, from which a community is relevant."""

_RATE_OUTPUT_TOKENS = 5 * RATED_AT_ONCE
_LINE_TOKENS = 40
_PART_TOKENS = 1_200
_REPORTS_IN_PART = 4
_REDUCE_TOKENS = 1_600


def answer_by_map_reduce(inquiry: Inquiry, evidence: Evidence) -> Iterator[AskEvent]:
    """Yield the steps to an answer from all relevant reports.

    If a call fails, its part is missing and a note says so. Without a model, or if all calls fail,
    the answer lists the themes of the reports nearest to the question.
    """
    nearest = find_themes(inquiry, evidence, most=MOST_THEMES)
    quoted, reported = answer_from_themes(inquiry, evidence, nearest)
    if nearest:
        yield AskEvent(AskEventKind.FOUND, evidence=reported)
    if inquiry.writer is None or inquiry.model is None or not nearest:
        finished = AskEvent(AskEventKind.FINISHED, answer=quoted)
        yield inquiry.writer.finish(quoted) if inquiry.writer else finished
        return
    reports, notes = yield from _select_reports(inquiry)
    reports = reports or [theme.report for theme in nearest]
    numbering = PassageNumbering(inquiry.store)
    parts = _cut_parts(inquiry, reports, numbering)
    if len(reports) > MOST_PARTS * _REPORTS_IN_PART:
        read = MOST_PARTS * _REPORTS_IN_PART
        notes.append(f"The {read} best rated of {len(reports)} relevant reports were read.")
    collected = yield from collect_points(inquiry, parts, label="map")
    notes += describe_failures(collected, what="parts of the reports")
    points = [point for found in collected.points for point in found]
    yield from reduce_points(
        inquiry, collected, points, numbering, quoted, budget_tokens=_REDUCE_TOKENS, notes=notes
    )


def _select_reports(
    inquiry: Inquiry,
) -> Generator[AskEvent, None, tuple[list[CommunityReport], list[str]]]:
    """Rate reports level by level; return those to read, best rated first, and notes."""
    held = inquiry.store.capabilities.communities
    assert held is not None, "there are reports"
    levels = held.levels()
    notes: list[str] = []
    rated: dict[str, int] = {}
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
            notes.append(f"Some reports could not be rated and were not read: {outcome}")
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


def _cut_parts(
    inquiry: Inquiry, reports: Sequence[CommunityReport], numbering: PassageNumbering
) -> list[MaterialPart]:
    """Divide reports into parts that one call can read."""
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
            parts.append(MaterialPart(inquiry.question, material, numbering.numbers_in(lines)))
    return parts


MAP_STAGE = "map"
REDUCE_STAGE = "reduce"
MAP_OUTPUT_TOKENS = 300
REDUCE_OUTPUT_TOKENS = 700


@dataclass(frozen=True, slots=True)
class MaterialPart:
    """A part of the material: the question for it, its text, and its passage numbers."""

    question: str
    material: str
    numbers: Collection[int]


@dataclass(frozen=True, slots=True)
class CollectedPoints:
    """The points of each part (none if it failed), and the most informative error."""

    points: tuple[tuple[ReportPoint, ...], ...]
    failed: int
    dropped: int
    error: KnotworkError | None

    @property
    def is_lost(self) -> bool:
        """Whether all parts failed."""
        return self.failed == len(self.points) and self.error is not None


def collect_points(
    inquiry: Inquiry, parts: Sequence[MaterialPart], *, label: str
) -> Generator[AskEvent, None, CollectedPoints]:
    """Ask for the points of all parts concurrently; yield how many are finished.

    A part that fails has no points. If all parts fail and the inquiry has no fallback, raises
    ModelError as `complete_checked`, or StoreError.
    """
    yield AskEvent(AskEventKind.STEP, label, total=len(parts))
    found: list[tuple[ReportPoint, ...]] = []
    errors: list[KnotworkError] = []
    dropped = 0
    workers = max(min(inquiry.concurrency, len(parts)), 1)
    for outcome in work_ordered(lambda p: _ask_for_points(inquiry, p), parts, concurrency=workers):
        if isinstance(outcome, ParsedPoints):
            found.append(outcome.points)
            dropped += outcome.dropped
        else:
            found.append(())
            errors.append(outcome)
        yield AskEvent(AskEventKind.STEP, label, done=len(found), total=len(parts))
    # A failed call is more informative than an unusable reply.
    errors.sort(key=lambda error: isinstance(error, Unparsable))
    collected = CollectedPoints(tuple(found), len(errors), dropped, errors[0] if errors else None)
    if collected.is_lost and not inquiry.fallback:
        raise errors[0]
    return collected


def _ask_for_points(inquiry: Inquiry, part: MaterialPart) -> ParsedPoints | KnotworkError:
    assert inquiry.model is not None, "points are collected by a model"
    asked = replace(inquiry, question=part.question)
    request = asked.make_request(
        "map", stage=MAP_STAGE, output_tokens=MAP_OUTPUT_TOKENS, material=part.material
    )
    try:
        return complete_checked(
            inquiry.model, request, lambda reply: parse_points(reply, part.numbers)
        )
    except (ModelError, StoreError) as error:
        return error


def reduce_points(
    inquiry: Inquiry,
    collected: CollectedPoints,
    points: Sequence[ReportPoint],
    numbering: PassageNumbering,
    quoted: Answer,
    *,
    budget_tokens: int,
    notes: Sequence[str] = (),
) -> Iterator[AskEvent]:
    """Yield the steps to an answer from points, which cite numbers of ``numbering``.

    ``quoted`` is the answer if all parts have failed or the reduce fails. If the model found no
    point in what it read, the documents do not answer.
    """
    writer, model = inquiry.writer, inquiry.model
    assert writer is not None
    assert model is not None
    if not points:
        quoted = replace(quoted, notes=(*quoted.notes, *notes))
        if collected.is_lost:
            lost = f"Sentences are quoted, because {model.name} gave no answer: {collected.error}"
            yield writer.finish(quoted, lost)
        else:  # without parts the model was not asked
            yield writer.finish(writer.decline(quoted) if collected.points else quoted)
        return
    kept = pack_points(points, budget_tokens=budget_tokens)
    passages = numbering.passages({number for point in kept for number in point.numbers})
    yield AskEvent(AskEventKind.STEP, REDUCE_STAGE, done=0, total=1)
    request = inquiry.make_request(
        "reduce",
        stage=REDUCE_STAGE,
        output_tokens=REDUCE_OUTPUT_TOKENS,
        points="\n".join(point.line for point in kept),
    )
    yield from writer.write_from(request, passages, quoted, notes=notes)


def describe_failures(collected: CollectedPoints, *, what: str) -> list[str]:
    """Return notes on parts and lines that are missing from an answer."""
    notes = []
    if collected.failed and not collected.is_lost:
        notes.append(
            f"{collected.failed} of {len(collected.points)} {what} could not be read and are "
            f"missing from the answer: {collected.error}"
        )
    if collected.dropped:
        lines = "line" if collected.dropped == 1 else "lines"
        notes.append(f"Left out {collected.dropped} {lines} of the model without a valid citation.")
    return notes


MOST_POINTS = 12
"""The maximum number of points read from one reply: twice as many as are asked for."""

_LEAD = re.compile(r"^[\s\-–*•>|｜`#(]*(?:\d{1,2}[.)]\s+(?=\d))?")
_POINT = re.compile(r"^\W{0,3}(\d{1,3})(?:\s*/\s*100)?\W{0,3}\s*[|｜\t:：]\s*(\S.*)$")
_RATING = re.compile(r"^\W{0,3}(\d{1,4})\W{0,3}\s*[|｜\t:：]\s*\W{0,3}(\d)(?:\D.*)?$")
_MARK = re.compile(r"[ \t]*[\[【［]\s*(\d[\d\s,，、;；]*)[\]】］]")
_NOTHING = re.compile(r"\W*(?:none|nothing|no points?|无|没有|沒有)\W*", re.IGNORECASE)
_LONGEST_POINT = 600
_BEST_RATING = 5


@dataclass(frozen=True, slots=True)
class ReportPoint:
    """The text of one line without its marks; ``numbers`` are the passages that it cites."""

    score: int
    text: str
    numbers: tuple[int, ...]

    @property
    def line(self) -> str:
        """The line that a model reads in the reduce step."""
        marks = "".join(f"[{number}]" for number in self.numbers[:MOST_MARKS])
        return f"{self.score} | {self.text} {marks}"


@dataclass(frozen=True, slots=True)
class ParsedPoints:
    """The points of a reply; ``dropped`` counts unusable lines."""

    points: tuple[ReportPoint, ...]
    dropped: int = 0


def parse_points(reply: ChatReply, numbers: Collection[int]) -> ParsedPoints:
    """Parse the points of a reply that may cite ``numbers``.

    Lines without a score or a valid number are dropped and counted. The last line of a reply that
    was cut off is ignored. Raises Unparsable for an empty reply, and for one without a usable line
    that does not say "none".
    """
    lines = usable_lines(reply)
    points: list[ReportPoint] = []
    for line in lines:
        match = _POINT.match(_LEAD.sub("", line).strip("|｜ "))
        if match is None:
            continue
        marks = " ".join(_MARK.findall(match[2]))
        found = [n for n in map(int, re.findall(r"\d+", marks)) if n in numbers]
        text = " ".join(_MARK.sub("", match[2]).split()).strip("|｜ ")
        score = min(int(match[1]), 100)
        if found and text and score and len(text) <= _LONGEST_POINT:
            points.append(ReportPoint(score, text, tuple(dict.fromkeys(found))))
    if not points and not any(_NOTHING.fullmatch(line) for line in lines):
        raise Unparsable("The reply has no point that cites a source.")
    kept = tuple(points[:MOST_POINTS])
    silent = sum(1 for line in lines if _NOTHING.fullmatch(line))
    return ParsedPoints(kept, len(lines) - len(kept) - silent)


def parse_ratings(reply: ChatReply, numbers: Collection[int]) -> dict[int, int]:
    """Parse the rating of each number, from 0 to 5; numbers without a rating are absent.

    Raises Unparsable for a reply without a rating.
    """
    ratings: dict[int, int] = {}
    for line in usable_lines(reply):
        match = _RATING.match(line.strip("|｜ `*-"))
        if match and int(match[1]) in numbers:
            ratings.setdefault(int(match[1]), min(int(match[2]), _BEST_RATING))
    if not ratings:
        raise Unparsable("The reply rates none of the reports.")
    return ratings


def usable_lines(reply: ChatReply) -> list[str]:
    """Return the complete lines of a reply. Raises Unparsable if it is empty or was withheld."""
    if reply.finish_reason == "filter":
        raise Unparsable("The reply was withheld by the server.")
    lines = [line.strip() for line in reply.text.splitlines() if line.strip(" \t`|-")]
    if reply.finish_reason == "length" and len(lines) > 1:
        lines.pop()
    if not lines:
        raise Unparsable("The reply is empty.")
    return lines


def pack_points(points: Sequence[ReportPoint], *, budget_tokens: int) -> list[ReportPoint]:
    """Return the best points that fit the budget, best first, without repeated texts."""
    kept: list[ReportPoint] = []
    seen: set[str] = set()
    left = budget_tokens
    for point in sorted(points, key=lambda p: (-p.score, p.numbers, p.text)):
        key, cost = point.text.casefold(), count_tokens(point.line)
        if key not in seen and cost <= left:
            kept.append(point)
            seen.add(key)
            left -= cost
    return kept
