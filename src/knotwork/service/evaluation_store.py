"""Evaluations of a workspace: their JSON schemas, and the files that hold them.

``NAME.files/evaluations/ID/`` holds ``plan.json``, ``questions.jsonl``, ``results.jsonl`` and, when
finished, ``summary.json``. An incomplete last line is ignored.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, Field

from knotwork.errors import NotFound
from knotwork.evaluation.datasets import (
    QUESTIONS_FILE,
    UNANSWERABLE_FILE,
    EvaluationCase,
    QuestionSet,
    case_as_record,
    read_cases,
)
from knotwork.service.schemas.answers import AnswerShape
from knotwork.service.workspaces import EVALUATIONS, INCOMPLETE_PREFIX, Workspace


class EstimateShape(BaseModel):
    """The mean of a metric over ``questions`` of them, with its 95 % confidence interval."""

    mean: float
    low: float
    high: float
    questions: int


class OutcomeShape(BaseModel):
    """What one retriever came to; ``skipped`` says why it could not run, and is empty if it did.

    Times are those of the search; those of answers are null where none were asked for. Tokens and
    money are sums; money is null where a price is not known.
    """

    retriever: str
    asked: int
    metrics: dict[str, EstimateShape]
    tokens: int
    money: str | None
    p50_ms: float | None
    p95_ms: float | None
    answer_p50_ms: float | None
    answer_p95_ms: float | None
    skipped: str = ""


class PlanShape(BaseModel):
    """What an evaluation asks: so many questions, and of them so many that have no answer.

    ``documents`` is how many the index had, ``filters`` what they had to fulfil, "" for nothing.
    """

    id: str
    name: str
    created: str
    retrievers: list[str]
    k: int
    answers: bool
    use_llm: bool
    budget: str
    filters: str = ""
    questions: int
    unanswerable: int
    documents: int


class EvaluationShape(PlanShape):
    """An evaluation and what came of it so far; ``state`` is that of its newest job."""

    state: str
    job: str
    finished: str
    outcomes: list[OutcomeShape]


class EvaluationList(BaseModel):
    """Evaluations, the newest first."""

    evaluations: list[EvaluationShape]
    total: int


class RankedShape(BaseModel):
    """A passage that was found, and whether its document is a gold one."""

    rank: int
    document: str
    document_id: str
    chunk_id: str
    score: float
    is_gold: bool


class MeasuredQuestion(BaseModel):
    """One question asked of one retriever; ``gold_rank`` is that of the first gold document among
    those found, null where there is none.
    """

    retriever: str
    position: int
    values: dict[str, float]
    seconds: float
    tokens: int
    money: str | None
    confidence: float
    gold_rank: int | None
    hits: list[RankedShape]
    answer: AnswerShape | None = None


class CaseShape(BaseModel):
    """A question, and what each retriever came to; each group of gold documents gives one fact."""

    id: str
    question: str
    type: str
    gold: list[list[str]]
    answers: list[str]
    is_answerable: bool
    results: list[MeasuredQuestion]


class EvaluationDetails(EvaluationShape):
    """An evaluation with a page of its questions; ``next`` is where the next page begins."""

    cases: list[CaseShape]
    next: int | None


class SideShape(BaseModel):
    """One side of a comparison."""

    evaluation: str
    name: str
    retriever: str


class MetricDifference(BaseModel):
    """Two sides over the same questions: how often the first is better (``wins``), and the chance
    of such a difference between equals (``p_value``, of a two-sided sign-flip permutation test).
    """

    first: float
    second: float
    difference: float
    wins: int
    ties: int
    losses: int
    p_value: float
    questions: int


class PairedQuestion(BaseModel):
    """A question on which both were measured."""

    id: str
    question: str
    first: dict[str, float]
    second: dict[str, float]


class DifferenceShape(BaseModel):
    """The paired difference of two; ``cases`` are those that differ most in ``sorted_by``."""

    first: SideShape
    second: SideShape
    questions: int
    metrics: dict[str, MetricDifference]
    sorted_by: str
    cases: list[PairedQuestion] = Field(description="The largest differences first, either way.")


_ID = re.compile(r"[0-9a-f]{16}")
_PLAN = "plan.json"
_RESULTS = "results.jsonl"
_SUMMARY = "summary.json"


class EvaluationSummary(BaseModel):
    """What a finished evaluation came to."""

    finished: str
    outcomes: list[OutcomeShape]


class Evaluation:
    """One evaluation in its folder."""

    def __init__(self, path: Path, plan: PlanShape) -> None:
        self.path = path
        self.plan = plan

    def questions(self) -> QuestionSet:
        """Return what is asked."""
        return QuestionSet(
            *(tuple(self._cases(name)) for name in (QUESTIONS_FILE, UNANSWERABLE_FILE))
        )

    def results(self) -> Iterator[MeasuredQuestion]:
        """Yield what came back so far, in the order in which it was asked."""
        for line in self._lines():
            yield MeasuredQuestion.model_validate_json(line)

    def mend(self) -> None:
        """Remove a line that is not whole, before others are added."""
        path = self.path / _RESULTS
        if path.exists():
            whole = sum(map(len, self._lines()))
            if whole < path.stat().st_size:
                os.truncate(path, whole)

    def add(self, result: MeasuredQuestion) -> None:
        """Keep a result."""
        with (self.path / _RESULTS).open("ab") as results:
            results.write(result.model_dump_json().encode() + b"\n")

    def finish(self, outcomes: Sequence[OutcomeShape]) -> None:
        """Keep what all came to."""
        summary = EvaluationSummary(finished=utc_now(), outcomes=list(outcomes))
        _write_atomically(self.path / _SUMMARY, summary.model_dump_json(indent=1))

    def summary(self) -> EvaluationSummary | None:
        """Return what all came to, if it is finished."""
        try:
            text = (self.path / _SUMMARY).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        return EvaluationSummary.model_validate_json(text)

    def _cases(self, name: str) -> list[EvaluationCase]:
        with (self.path / name).open(encoding="utf-8") as lines:
            return read_cases(lines, name=name)

    def _lines(self) -> Iterator[bytes]:
        try:
            with (self.path / _RESULTS).open("rb") as lines:
                yield from (line for line in lines if line.endswith(b"\n"))
        except FileNotFoundError:
            return


class EvaluationStore:
    """The evaluations of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._folder = workspace.files / EVALUATIONS

    def create(self, plan: PlanShape, questions: QuestionSet) -> Evaluation:
        """Keep a plan with its questions."""
        beside = self._folder / f"{INCOMPLETE_PREFIX}{plan.id}"
        beside.mkdir(parents=True)
        for name, cases in (
            (QUESTIONS_FILE, questions.cases),
            (UNANSWERABLE_FILE, questions.unanswerable),
        ):
            lines = (json.dumps(case_as_record(case), ensure_ascii=False) + "\n" for case in cases)
            (beside / name).write_text("".join(lines), encoding="utf-8")
        (beside / _PLAN).write_text(plan.model_dump_json(indent=1), encoding="utf-8")
        return Evaluation(beside.rename(self._folder / plan.id), plan)

    def find(self, identifier: str) -> Evaluation:
        """Return an evaluation. Raises NotFound."""
        path = self._folder / identifier
        if _ID.fullmatch(identifier) and (path / _PLAN).is_file():
            return _open_evaluation(path)
        raise NotFound(
            f"There is no evaluation `{identifier}`.", fix="List those there are: GET …/evaluations"
        )

    def listed(self) -> list[Evaluation]:
        """Return all evaluations, the newest first."""
        try:
            names = [path for path in self._folder.iterdir() if _ID.fullmatch(path.name)]
        except FileNotFoundError:
            return []
        return sorted(
            map(_open_evaluation, names),
            key=lambda found: (found.plan.created, found.plan.id),
            reverse=True,
        )

    def remove(self, identifier: str) -> Evaluation:
        """Remove an evaluation with its results, and return it as it was. Raises NotFound."""
        found = self.find(identifier)
        # Renamed first: half of it is never seen.
        leaving = found.path.rename(found.path.with_name(f"{INCOMPLETE_PREFIX}{identifier}"))
        shutil.rmtree(leaving)
        return found


def utc_now() -> str:
    """Return the time as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _open_evaluation(path: Path) -> Evaluation:
    text = (path / _PLAN).read_text(encoding="utf-8")
    return Evaluation(path, PlanShape.model_validate_json(text))


def _write_atomically(path: Path, text: str) -> None:
    beside = path.with_name(f"{INCOMPLETE_PREFIX}{path.name}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
