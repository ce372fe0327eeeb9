"""The map and the reduce: points from parts of the material, many at a time, and one answer."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, replace

from knotwork.errors import KnotworkError, ModelError, StoreError, Unparsable
from knotwork.inference.checked import complete_checked
from knotwork.inference.ordered import work_ordered
from knotwork.records import Answer
from knotwork.synthesis.events import AskEvent, AskEventKind
from knotwork.synthesis.inquiry import Inquiry
from knotwork.synthesis.numbering import Numbering
from knotwork.synthesis.points import Point, Points, pack_points, parse_points

MAP_STAGE = "map"
REDUCE_STAGE = "reduce"
MAP_OUTPUT_TOKENS = 300
REDUCE_OUTPUT_TOKENS = 700


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the material: what is asked of it, its sections, the numbers that it holds."""

    question: str
    material: str
    numbers: Collection[int]


@dataclass(frozen=True, slots=True)
class Collected:
    """The points of each part, none where it failed, and the error that says most."""

    points: tuple[tuple[Point, ...], ...]
    failed: int
    dropped: int
    error: KnotworkError | None

    @property
    def is_lost(self) -> bool:
        """Whether no part could be read at all."""
        return self.failed == len(self.points) and self.error is not None


def collect_points(
    inquiry: Inquiry, parts: Sequence[Part], *, label: str
) -> Generator[AskEvent, None, Collected]:
    """Ask for the points of all parts at a time; yield how many are finished.

    A part that fails is left out. Where all fail and there is to be no fallback, an error is
    raised: ModelError as `complete_checked`, StoreError.
    """
    yield AskEvent(AskEventKind.STEP, label, total=len(parts))
    found: list[tuple[Point, ...]] = []
    errors: list[KnotworkError] = []
    dropped = 0
    workers = max(min(inquiry.concurrency, len(parts)), 1)
    for outcome in work_ordered(lambda p: _ask(inquiry, p), parts, concurrency=workers):
        if isinstance(outcome, Points):
            found.append(outcome.points)
            dropped += outcome.dropped
        else:
            found.append(())
            errors.append(outcome)
        yield AskEvent(AskEventKind.STEP, label, done=len(found), total=len(parts))
    # Why no call could be made says more than what was wrong with one reply.
    errors.sort(key=lambda error: isinstance(error, Unparsable))
    collected = Collected(tuple(found), len(errors), dropped, errors[0] if errors else None)
    if collected.is_lost and not inquiry.fallback:
        raise errors[0]
    return collected


def _ask(inquiry: Inquiry, part: Part) -> Points | KnotworkError:
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
    collected: Collected,
    points: Sequence[Point],
    numbering: Numbering,
    quoted: Answer,
    *,
    budget_tokens: int,
    notes: Sequence[str] = (),
) -> Iterator[AskEvent]:
    """Yield the steps to an answer from points, which cite numbers of ``numbering``.

    ``quoted`` is the answer when all parts failed, or the reduce does. When the model found no
    point in what it read, the documents do not answer.
    """
    writer, model = inquiry.writer, inquiry.model
    assert writer is not None
    assert model is not None
    if not points:
        quoted = replace(quoted, notes=(*quoted.notes, *notes))
        if collected.is_lost:
            lost = f"Sentences are quoted, as {model.name} gave no answer: {collected.error}"
            yield writer.finish(quoted, lost)
        else:  # without a part there was nothing to ask about
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


def tell_failures(collected: Collected, *, what: str) -> list[str]:
    """Return notes on parts that are missing from an answer."""
    notes = []
    if collected.failed and not collected.is_lost:
        notes.append(
            f"{collected.failed} of {len(collected.points)} {what} could not be read, and the "
            f"answer goes without them: {collected.error}"
        )
    if collected.dropped:
        lines = "line" if collected.dropped == 1 else "lines"
        notes.append(
            f"{collected.dropped} {lines} of the model led to no source, and were left out."
        )
    return notes
