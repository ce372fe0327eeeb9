"""Collect points from parts of the material, each read by a call of its own, and reduce them.

A point is a line of a reply: a score, a bar and a text with the numbers that it cites. Modes
map-reduce and drift answer from points; they differ in the parts that are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from knotwork._inference.call_limits import work_ordered
from knotwork._inference.chat import ChatReply, complete_checked, usable_lines
from knotwork._run import Progress, Stage
from knotwork._synthesis.inquiry import Inquiry
from knotwork._synthesis.prompt_context import MOST_MARKS, PassageNumbering, PromptPassage
from knotwork._text.token_counts import count_tokens
from knotwork.errors import KnotworkError, ModelError, StoreError, Unparsable
from knotwork.records import Answer

MAP_OUTPUT_TOKENS = 300
REDUCE_OUTPUT_TOKENS = 700

P = TypeVar("P")
T = TypeVar("T")


def ask_model(
    inquiry: Inquiry,
    task: str,
    parse: Callable[[ChatReply], T],
    *,
    output_tokens: int,
    material: str,
    **blanks: str,
) -> T | KnotworkError:
    """Return what ``parse`` makes of the reply to a task, or the error if there is none."""
    assert inquiry.model is not None, "a task is for a model"
    request = inquiry.make_request(task, output_tokens=output_tokens, material=material, **blanks)
    try:
        return complete_checked(inquiry.model, request, parse)
    except (ModelError, StoreError) as error:
        return error


def work_through(
    inquiry: Inquiry, label: str, work: Callable[[P], T], parts: Sequence[P]
) -> Generator[Progress, None, list[T]]:
    """Do a work for all parts concurrently; yield how many are finished, and return the results."""
    found: list[T] = []
    yield Progress(Stage.STEP, note=label, total=len(parts))
    workers = max(min(inquiry.concurrency, len(parts)), 1)
    for result in work_ordered(work, parts, concurrency=workers):
        found.append(result)
        yield Progress(Stage.STEP, note=label, done=len(found), total=len(parts))
    return found


@dataclass(frozen=True, slots=True)
class MaterialPart:
    """A part of the material: the question for it, its text, and the passages that it numbers."""

    question: str
    material: str
    passages: Sequence[PromptPassage]


@dataclass(slots=True)
class CollectedPoints:
    """What became of all ``parts``: their points, unusable lines, and the errors of those lost.

    ``label`` is what steps call the reading of parts, ``noun`` what notes call the parts.
    """

    label: str
    noun: str
    points: list[ReportPoint] = field(default_factory=list)
    dropped: int = 0
    errors: list[KnotworkError] = field(default_factory=list)
    parts: int = 0

    @property
    def is_lost(self) -> bool:
        """Whether all parts failed."""
        return 0 < len(self.errors) == self.parts


def most_telling(errors: Sequence[KnotworkError]) -> KnotworkError:
    """Return the error of a failed call rather than of an unusable reply."""
    return min(errors, key=lambda error: isinstance(error, Unparsable))


def collect_points(
    inquiry: Inquiry,
    parts: Sequence[MaterialPart],
    numbering: PassageNumbering,
    collected: CollectedPoints,
) -> Generator[Progress]:
    """Ask for the points of all parts concurrently, and add them to those ``collected``.

    Yields how many are finished. The points cite numbers of ``numbering``. A part that fails has no
    points. If all parts fail and the inquiry has no fallback, raises ModelError as
    `complete_checked`, or StoreError.
    """

    def ask(part: MaterialPart) -> ParsedPoints | KnotworkError:
        return ask_model(
            replace(inquiry, question=part.question),
            "map",
            lambda reply: parse_points(reply, {passage.number for passage in part.passages}),
            output_tokens=MAP_OUTPUT_TOKENS,
            material=part.material,
        )

    outcomes = yield from work_through(inquiry, collected.label, ask, parts)
    errors = [outcome for outcome in outcomes if isinstance(outcome, KnotworkError)]
    collected.parts += len(parts)
    collected.errors += errors
    if 0 < len(errors) == len(parts) and not inquiry.fallback:
        raise most_telling(errors)
    for part, outcome in zip(parts, outcomes, strict=True):
        if isinstance(outcome, KnotworkError):
            continue
        held = {passage.number: passage for passage in part.passages}
        for point in outcome.points:
            numbers = tuple(numbering.adopt(held[number]) for number in point.numbers)
            collected.points.append(replace(point, numbers=numbers))
        collected.dropped += outcome.dropped


def reduce_points(
    inquiry: Inquiry,
    collected: CollectedPoints,
    numbering: PassageNumbering,
    quoted: Answer,
    *,
    budget_tokens: int,
    notes: Sequence[str] = (),
) -> Iterator[Progress]:
    """Yield the steps to an answer from points, which cite numbers of ``numbering``.

    ``quoted`` is the answer if all parts have failed or the reduce fails. If the model found no
    point in what it read, the documents do not answer.
    """
    writer, model = inquiry.writer, inquiry.model
    assert writer is not None
    assert model is not None
    notes = [*notes, *_describe_failures(collected)]
    points = collected.points
    if not points:
        quoted = replace(quoted, notes=(*quoted.notes, *notes))
        if collected.is_lost:
            lost = f"Sentences are quoted, because {model.name} gave no answer: "
            yield writer.finish(quoted, f"{lost}{most_telling(collected.errors)}")
        else:  # without parts the model was not asked
            yield writer.finish(writer.decline(quoted) if collected.parts else quoted)
        return
    kept = pack_points(points, budget_tokens=budget_tokens)
    passages = numbering.passages({number for point in kept for number in point.numbers})
    yield Progress(Stage.STEP, note="reduce", done=0, total=1)
    request = inquiry.make_request(
        "reduce",
        output_tokens=REDUCE_OUTPUT_TOKENS,
        points="\n".join(point.line for point in kept),
    )
    yield from writer.write_from(request, passages, quoted, notes=notes)


def _describe_failures(collected: CollectedPoints) -> Iterator[str]:
    """Yield notes on parts and lines that are missing from an answer."""
    if collected.errors and not collected.is_lost:
        yield (
            f"{len(collected.errors)} of {collected.parts} {collected.noun} could not be read and "
            f"are missing from the answer: {most_telling(collected.errors)}"
        )
    if collected.dropped:
        lines = "line" if collected.dropped == 1 else "lines"
        yield f"Left out {collected.dropped} {lines} of the model without a valid citation."


MOST_POINTS = 12
"""The maximum number of points read from one reply: twice as many as are asked for."""

_LEAD = re.compile(r"^[\s\-–*•>|｜`#(]*(?:\d{1,2}[.)]\s+(?=\d))?")
_POINT = re.compile(r"^\W{0,3}(\d{1,3})(?:\s*/\s*100)?\W{0,3}\s*[|｜\t:：]\s*(\S.*)$")
_MARK = re.compile(r"[ \t]*[\[【［]\s*(\d[\d\s,，、;；]*)[\]】］]")
_NOTHING = re.compile(r"\W*(?:none|nothing|no points?|无|没有|沒有)\W*", re.IGNORECASE)
_LONGEST_POINT = 600


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


class ParsedPoints(NamedTuple):
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
    silent = sum(map(says_nothing, lines))
    if not points and not silent:
        raise Unparsable("The reply has no point that cites a source.")
    kept = tuple(points[:MOST_POINTS])
    return ParsedPoints(kept, len(lines) - len(kept) - silent)


def says_nothing(line: str) -> bool:
    """Return True for a line by which a model says that it has nothing to name."""
    return _NOTHING.fullmatch(line) is not None


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
