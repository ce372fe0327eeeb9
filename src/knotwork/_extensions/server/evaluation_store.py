"""Store the evaluations of a workspace as files, and define their JSON schemas.

``NAME.files/evaluations/ID/`` contains ``plan.json``, ``questions.jsonl``, ``results.jsonl`` and,
once finished, ``summary.json``. An incomplete last line of results is ignored.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, Field

from knotwork._durable_files import move_folder, replace_file
from knotwork._extensions.evaluation.datasets import (
    QUESTIONS_FILE,
    UNANSWERABLE_FILE,
    EvaluationCase,
    QuestionSet,
    case_as_record,
    read_cases,
)
from knotwork._extensions.server.job_store import utc_now
from knotwork._extensions.server.private_files import FILE_MODE, make_private_folder, open_private
from knotwork._extensions.server.workspaces import EVALUATIONS, INCOMPLETE_PREFIX, Workspace
from knotwork._shapes.answers import AnswerShape
from knotwork.errors import NotFound


class EstimateShape(BaseModel):
    """The mean of a metric over ``questions`` questions, with its 95 % confidence interval."""

    mean: float
    low: float
    high: float
    questions: int


class OutcomeShape(BaseModel):
    """The summary of one retriever; ``skipped`` is the reason why it could not run, or empty.

    Times of answers are null if no answers were requested. Tokens and money are totals; money is
    null if a price is unknown.
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
    """The configuration of an evaluation, with the number of its questions.

    ``unanswerable`` counts questions without an answer, ``documents`` the documents of the index
    when it started. ``filters`` is the filter that documents had to match, "" for none.
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
    """An evaluation with its results so far; ``state`` is that of its newest job."""

    state: str
    job: str
    finished: str
    outcomes: list[OutcomeShape]


class EvaluationList(BaseModel):
    """Evaluations, newest first."""

    evaluations: list[EvaluationShape]
    total: int


class RankedShape(BaseModel):
    """A retrieved passage, and whether it is from a gold document."""

    rank: int
    document: str
    document_id: str
    chunk_id: str
    score: float
    is_gold: bool


class MeasuredQuestion(BaseModel):
    """The result of one question with one retriever; ``gold_rank`` is the rank of the first gold
    document, null if none was found.
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
    """A question with the result of each retriever; each group of ``gold`` documents states one
    fact.
    """

    id: str
    question: str
    type: str
    gold: list[list[str]]
    answers: list[str]
    is_answerable: bool
    results: list[MeasuredQuestion]


class EvaluationDetails(EvaluationShape):
    """An evaluation with a page of its questions; ``next`` is the start of the next page."""

    cases: list[CaseShape]
    next: int | None


class SideShape(BaseModel):
    """One side of a comparison."""

    evaluation: str
    name: str
    retriever: str


class MetricDifference(BaseModel):
    """A metric of two sides on the same questions; ``wins`` counts questions where the first is
    better, ``p_value`` is that of a two-sided sign-flip permutation test.
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
    """A question with the metrics of both sides."""

    id: str
    question: str
    first: dict[str, float]
    second: dict[str, float]


class DifferenceShape(BaseModel):
    """The paired difference of two sides; ``cases`` are sorted by their difference in
    ``sorted_by``.
    """

    first: SideShape
    second: SideShape
    questions: int
    metrics: dict[str, MetricDifference]
    sorted_by: str
    cases: list[PairedQuestion] = Field(
        description="Largest differences first, in either direction."
    )


_ID = re.compile(r"[0-9a-f]{16}")
_PLAN = "plan.json"
_RESULTS = "results.jsonl"
_SUMMARY = "summary.json"


class EvaluationSummary(BaseModel):
    """The results of a finished evaluation."""

    finished: str
    outcomes: list[OutcomeShape]


class Evaluation:
    """One evaluation, stored in its own folder."""

    def __init__(self, path: Path, plan: PlanShape) -> None:
        self.path = path
        self.plan = plan

    def questions(self) -> QuestionSet:
        """Read the questions."""
        return QuestionSet(
            *(tuple(self._cases(name)) for name in (QUESTIONS_FILE, UNANSWERABLE_FILE))
        )

    def results(self) -> Iterator[MeasuredQuestion]:
        """Yield the results so far, in the order in which they were added."""
        for line in self._lines():
            yield MeasuredQuestion.model_validate_json(line)

    def drop_partial_result(self) -> None:
        """Truncate a last line that was not written completely; call it before `add`."""
        path = self.path / _RESULTS
        if path.exists():
            complete = sum(map(len, self._lines()))
            if complete < path.stat().st_size:
                os.truncate(path, complete)

    def add(self, result: MeasuredQuestion) -> None:
        """Append a result."""
        with open_private(self.path / _RESULTS, append=True) as results:
            results.write(result.model_dump_json().encode() + b"\n")

    def finish(self, outcomes: Sequence[OutcomeShape]) -> None:
        """Store the summary."""
        summary = EvaluationSummary(finished=utc_now(), outcomes=list(outcomes))
        with replace_file(self.path / _SUMMARY, mode=FILE_MODE) as file:
            file.write(summary.model_dump_json(indent=1).encode())

    def summary(self) -> EvaluationSummary | None:
        """Return the summary, or None if the evaluation is not finished."""
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
        """Store a plan with its questions."""
        incomplete = self._folder / f"{INCOMPLETE_PREFIX}{plan.id}"
        make_private_folder(incomplete)
        for name, cases in (
            (QUESTIONS_FILE, questions.cases),
            (UNANSWERABLE_FILE, questions.unanswerable),
        ):
            lines = (json.dumps(case_as_record(case), ensure_ascii=False) + "\n" for case in cases)
            _write(incomplete / name, "".join(lines))
        _write(incomplete / _PLAN, plan.model_dump_json(indent=1))
        move_folder(incomplete, self._folder / plan.id)
        return Evaluation(self._folder / plan.id, plan)

    def find(self, identifier: str) -> Evaluation:
        """Return an evaluation. Raises NotFound."""
        path = self._folder / identifier
        if _ID.fullmatch(identifier) and (path / _PLAN).is_file():
            return _open_evaluation(path)
        raise NotFound(
            f"Unknown evaluation `{identifier}`.", fix="List evaluations: GET …/evaluations"
        )

    def listed(self) -> list[Evaluation]:
        """Return all evaluations, newest first."""
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
        """Delete an evaluation with its results, and return it. Raises NotFound."""
        found = self.find(identifier)
        # Rename first, so that a half-deleted evaluation is never listed.
        doomed = found.path.rename(found.path.with_name(f"{INCOMPLETE_PREFIX}{identifier}"))
        shutil.rmtree(doomed)
        return found


def _open_evaluation(path: Path) -> Evaluation:
    text = (path / _PLAN).read_text(encoding="utf-8")
    return Evaluation(path, PlanShape.model_validate_json(text))


def _write(path: Path, text: str) -> None:
    with open_private(path) as file:
        file.write(text.encode())
