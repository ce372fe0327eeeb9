"""Run an evaluation as a job, and summarize its results. An interrupted run can be continued."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from knotwork._extensions.evaluation.answer_runs import SharedBudget
from knotwork._extensions.evaluation.datasets import Dataset, EvaluationCase
from knotwork._extensions.evaluation.metrics import contains_answer, estimate_mean, is_verdict
from knotwork._extensions.evaluation.retriever_runs import (
    AskedCase,
    EvaluationRun,
    evaluate_retrievers,
)
from knotwork._extensions.server.evaluation_store import (
    EstimateShape,
    Evaluation,
    EvaluationStore,
    MeasuredQuestion,
    OutcomeShape,
    RankedShape,
)
from knotwork._extensions.server.workspaces import Workspace
from knotwork._indexing.embedding import EMBEDDER_META
from knotwork._inference.model_registry import price_table
from knotwork._inference.role_models import RoleModels, open_budget
from knotwork._retrieval.retriever_registry import may_ask_model, may_rerank
from knotwork._shapes.answers import AnswerShape
from knotwork._stores.base import companions_of
from knotwork._text.token_counts import count_tokens
from knotwork.errors import BudgetExceeded
from knotwork.records import Answer

if TYPE_CHECKING:
    from knotwork._extensions.server.job_store import JobProgress


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
            hits=self._describe_hits(asked),
            answer=None if answer is None else AnswerShape.of(answer),
        )

    def _describe_hits(self, asked: AskedCase) -> list[RankedShape]:
        return [
            RankedShape(
                rank=rank,
                document=(uri := self._uris.get(hit.chunk.document_id, "")),
                document_id=hit.chunk.document_id,
                chunk_id=hit.chunk.id,
                score=hit.score,
                is_gold=uri in asked.case.gold_uris,
            )
            for rank, hit in enumerate(asked.evidence.hits[:MOST_HITS], start=1)
        ]


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
    tallies = {name: _Tally() for name in retrievers}
    for result in results:
        tallies[result.retriever].add(result)
    return [tally.outcome(name, skipped.get(name, "")) for name, tally in tallies.items()]


class _Tally:
    """The running totals of one retriever."""

    def __init__(self) -> None:
        self._values: dict[str, list[float]] = {}
        self._times: tuple[list[float], list[float]] = ([], [])
        self._tokens = 0
        self._money: Decimal | None = Decimal(0)

    def add(self, result: MeasuredQuestion) -> None:
        for metric, value in result.values.items():
            self._values.setdefault(metric, []).append(value)
        self._times[0].append(result.seconds)
        if result.answer is not None:
            self._times[1].append(result.answer.usage.seconds)
        self._tokens += result.tokens
        if self._money is not None:
            self._money = None if result.money is None else self._money + Decimal(result.money)

    def outcome(self, retriever: str, skipped: str) -> OutcomeShape:
        metrics = {}
        for metric, values in self._values.items():
            found = estimate_mean(values)
            if found is not None:
                metrics[metric] = EstimateShape(
                    mean=found.mean, low=found.low, high=found.high, questions=len(values)
                )
        searching, answering = self._times
        return OutcomeShape(
            retriever=retriever,
            asked=len(searching),
            metrics=metrics,
            tokens=self._tokens,
            money=None if self._money is None else str(self._money),
            p50_ms=_percentile(searching, 50),
            p95_ms=_percentile(searching, 95),
            answer_p50_ms=_percentile(answering, 50),
            answer_p95_ms=_percentile(answering, 95),
            skipped=skipped,
        )


def _percentile(seconds: Sequence[float], percent: float) -> float | None:
    return round(1_000 * float(np.percentile(seconds, percent)), 3) if seconds else None
