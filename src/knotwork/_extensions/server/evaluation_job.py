"""Run an evaluation as a job, store its results, and summarize them.

``NAME.files/evaluations/ID/`` contains ``plan.json``, ``questions.jsonl``, ``results.jsonl`` and,
once finished, ``summary.json``. An incomplete last line of results is ignored, so that an
interrupted run can be continued.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BaseModel

from knotwork._durable_files import move_folder
from knotwork._extensions.evaluation.answer_runs import SharedBudget
from knotwork._extensions.evaluation.metrics import contains_answer, estimate_mean, is_verdict
from knotwork._extensions.evaluation.questions import (
    QUESTIONS_FILE,
    UNANSWERABLE_FILE,
    Dataset,
    EvaluationCase,
    QuestionSet,
    case_as_record,
    read_cases,
)
from knotwork._extensions.evaluation.retriever_runs import (
    AskedCase,
    EvaluationRun,
    evaluate_retrievers,
)
from knotwork._extensions.server.job_store import utc_now
from knotwork._extensions.server.private_files import PrivateJson, make_private_folder, open_private
from knotwork._extensions.server.workspaces import EVALUATIONS, INCOMPLETE_PREFIX, Workspace
from knotwork._indexing.embedding import EMBEDDER_META
from knotwork._inference.model_registry import price_table
from knotwork._inference.role_models import RoleModels, open_budget
from knotwork._retrieval.retriever_registry import may_ask_model, may_rerank
from knotwork._shapes.results import ANSWER
from knotwork._stores.base import companions_of
from knotwork._text.token_counts import count_tokens
from knotwork.errors import BudgetExceeded, NotFound
from knotwork.records import Answer

if TYPE_CHECKING:
    from knotwork._extensions.server.job_store import JobProgress


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
    answer: Annotated[Any, ANSWER] | None = None


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
        read = []
        for name in (QUESTIONS_FILE, UNANSWERABLE_FILE):
            with (self.path / name).open(encoding="utf-8") as lines:
                read.append(tuple(read_cases(lines, name=name)))
        return QuestionSet(*read)

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
        PrivateJson(self.path / _SUMMARY).write(summary.model_dump(mode="json"))

    def summary(self) -> EvaluationSummary | None:
        """Return the summary, or None if the evaluation is not finished."""
        found = PrivateJson(self.path / _SUMMARY).read()
        return EvaluationSummary.model_validate(found) if found else None

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


MOST_HITS = 10
"""Number of passages stored for each question."""

_JUDGED_PASSAGES = 5
_RAISE_BUDGET = (
    "Start another evaluation with a higher budget. Cached model replies are not charged again."
)
_MARKS = re.compile(r"\s*\[\d+\]")


def run_evaluation_job(
    workspace: Workspace, arguments: Mapping[str, Any], progress: JobProgress
) -> dict[str, Any]:
    """Run all questions without a result, and return the mean metrics of each retriever.

    Raises BudgetExceeded; the results so far are kept.
    """
    evaluation = EvaluationStore(workspace).find(str(arguments["evaluation"]))
    evaluation.drop_partial_result()
    run = _Run(workspace, evaluation)
    total = len(evaluation.plan.retrievers) * len(run.cases)
    done = len(run.asked)
    try:
        for retriever in evaluation.plan.retrievers:
            progress.count("ask", done, total, retriever=retriever)
            for result in run.ask(retriever):
                evaluation.add(result)
                done += 1
                progress.count("ask", done, total, retriever=retriever)
    except BudgetExceeded as error:
        raise BudgetExceeded(error.message, fix=_RAISE_BUDGET) from error
    outcomes = summarize_results(evaluation.plan.retrievers, evaluation.results(), run.skipped)
    evaluation.finish(outcomes)
    means = {o.retriever: {m: e.mean for m, e in o.metrics.items()} for o in outcomes}
    return {"evaluation": evaluation.plan.id, "retrievers": means, "skipped": run.skipped}


class _Run:
    """One run of an evaluation: the questions, the documents, and a budget for all retrievers."""

    def __init__(self, workspace: Workspace, evaluation: Evaluation) -> None:
        questions = evaluation.questions()
        self.cases = questions.all
        self.skipped: dict[str, str] = {}
        self.asked: set[tuple[str, int]] = set()
        self._answerable = len(questions.cases)
        self._base = workspace.base
        self._plan = evaluation.plan
        self._uris = {entry.document_id: entry.uri for entry in self._base.documents()}
        self._budget = SharedBudget(evaluation.plan.budget)
        for result in evaluation.results():
            self.asked.add((result.retriever, result.position))
            money = None if result.money is None else Decimal(result.money)
            self._budget.spend(result.tokens, money)

    def ask(self, retriever: str) -> Iterator[MeasuredQuestion]:
        """Yield the results of one retriever for the questions it has not been asked yet."""
        left = [n for n in range(len(self.cases)) if (retriever, n) not in self.asked]
        if not left:
            return
        self._budget.check()
        settings, store = self._base.settings.llm, self._base.store
        cases = tuple(self.cases[n] for n in left)
        run = EvaluationRun(self._plan.name, len(cases))
        with closing(RoleModels.of(self._base.settings, companions_of(store))) as models:
            questions = evaluate_retrievers(
                Dataset(self._plan.name, (), cases),
                [retriever],
                store=self._base.filtered_store(self._plan.filters),
                embedder=self._base.embedder if store.meta().get(EMBEDDER_META) else None,
                run=run,
                models=models if self._plan.use_llm else None,
                reranker=self._base.reranker if may_rerank(retriever) else None,
                budget=open_budget(self._budget.remaining(), settings, count_tokens=count_tokens),
                prices=price_table(settings),
                depth=self._plan.k,
                skipping=True,
            )
            for position, asked in zip(left, questions, strict=False):
                yield self._measure(position, asked)
                if position != left[-1]:
                    self._budget.check()
        for reason in run.skipped.values():
            needs_model = not self._plan.use_llm and may_ask_model(retriever)
            self.skipped[retriever] = (
                "It needs a language model, but the evaluation was started without `use_llm`."
                if needs_model
                else reason
            )

    def _measure(self, position: int, asked: AskedCase) -> MeasuredQuestion:
        case = asked.case
        values = dict(asked.values) if case.gold else {}
        if case.answers and not is_verdict(case.answers):
            passages = "\n".join(
                f"{hit.chunk.context}\n{hit.chunk.text}"
                for hit in asked.evidence.hits[:_JUDGED_PASSAGES]
            )
            values[f"answer@{_JUDGED_PASSAGES}"] = float(contains_answer(passages, case.answers))
        tokens, money, answer = asked.tokens, asked.money, None
        self._budget.spend(tokens, money)
        if self._plan.answers:
            answer = self._base.ask(
                case.question,
                retriever=asked.retriever,
                filters=self._plan.filters,
                use_llm=self._plan.use_llm,
                fallback=False,
                budget=self._budget.remaining(),
            )
            values |= _judge_answer(answer, case, is_answerable=position < self._answerable)
            answer_tokens = answer.usage.input_tokens + answer.usage.output_tokens
            price = answer.usage.money if answer_tokens else Decimal(0)
            self._budget.spend(answer_tokens, price)
            tokens += answer_tokens
            money = None if money is None or price is None else money + price
        return MeasuredQuestion(
            retriever=asked.retriever,
            position=position,
            values=values,
            seconds=round(asked.seconds, 6),
            tokens=tokens,
            money=None if money is None else str(money),
            confidence=round(asked.evidence.confidence, 4),
            gold_rank=next(
                (n for n, uri in enumerate(asked.ranked, 1) if uri in case.gold_uris), None
            ),
            hits=[
                RankedShape(
                    rank=rank,
                    document=(uri := self._uris.get(hit.chunk.document_id, "")),
                    document_id=hit.chunk.document_id,
                    chunk_id=hit.chunk.id,
                    score=hit.score,
                    is_gold=uri in case.gold_uris,
                )
                for rank, hit in enumerate(asked.evidence.hits[:MOST_HITS], start=1)
            ],
            answer=None if answer is None else ANSWER(answer),
        )


def _judge_answer(answer: Answer, case: EvaluationCase, *, is_answerable: bool) -> dict[str, float]:
    """Return the metrics of an answer, each 0 or 1.

    They are ``abstained`` for an unanswerable question; else ``answered``, and ``answer_found`` if
    the known answer is a text to find.
    """
    if not is_answerable:
        return {"abstained": float(not answer.answered)}
    judged = {"answered": float(answer.answered)}
    if case.answers and not is_verdict(case.answers):
        text = _MARKS.sub("", answer.text)
        judged["answer_found"] = float(answer.answered and contains_answer(text, case.answers))
    return judged


def summarize_results(
    retrievers: Sequence[str], results: Iterable[MeasuredQuestion], skipped: Mapping[str, str]
) -> list[OutcomeShape]:
    """Return the summary of each retriever, in the given order."""
    values: dict[str, dict[str, list[float]]] = {name: {} for name in retrievers}
    searching: dict[str, list[float]] = {name: [] for name in retrievers}
    answering: dict[str, list[float]] = {name: [] for name in retrievers}
    tokens: Counter[str] = Counter()
    money: dict[str, Decimal | None] = dict.fromkeys(retrievers, Decimal(0))
    for result in results:
        name, paid = result.retriever, money[result.retriever]
        for metric, value in result.values.items():
            values[name].setdefault(metric, []).append(value)
        searching[name].append(result.seconds)
        if result.answer is not None:
            answering[name].append(result.answer["usage"]["seconds"])
        tokens[name] += result.tokens
        money[name] = None if paid is None or result.money is None else paid + Decimal(result.money)
    return [
        OutcomeShape(
            retriever=name,
            asked=len(searching[name]),
            metrics={
                metric: EstimateShape(questions=len(measured), **asdict(estimate))
                for metric, measured in values[name].items()
                if (estimate := estimate_mean(measured)) is not None
            },
            tokens=tokens[name],
            money=None if money[name] is None else str(money[name]),
            p50_ms=_percentile(searching[name], 50),
            p95_ms=_percentile(searching[name], 95),
            answer_p50_ms=_percentile(answering[name], 50),
            answer_p95_ms=_percentile(answering[name], 95),
            skipped=skipped.get(name, ""),
        )
        for name in retrievers
    ]


def _percentile(seconds: Sequence[float], percent: float) -> float | None:
    return round(1_000 * float(np.percentile(seconds, percent)), 3) if seconds else None
