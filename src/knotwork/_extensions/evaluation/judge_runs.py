"""Judge the answers of an index with its judge model, and try how robust they are.

`JudgeRun` opens the models of the settings, with the call cache of the index and one budget. In
JSON, values are from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any, Self

from knotwork._config import Settings
from knotwork._extensions.evaluation.answer_runs import JudgedAnswer, rounded
from knotwork._extensions.evaluation.judge import (
    CachedRepliesOnly,
    JudgeAgreement,
    JudgeCase,
    JudgedCase,
    JudgeReport,
    NotCached,
    judge,
)
from knotwork._extensions.evaluation.metrics import MeanEstimate, PoweredMean
from knotwork._extensions.evaluation.robustness import (
    Answerer,
    GivenPassage,
    QuestionPassages,
    RobustnessFigure,
    Trial,
    TrialResult,
    find_passages,
    make_trials,
    measure_robustness,
    run_trials,
)
from knotwork._extensions.model_indexing.run_estimates import RunEstimate, estimate_run, plan_calls
from knotwork._inference.call_limits import most_calls
from knotwork._inference.chat import ChatModel, TokenUsage
from knotwork._inference.model_registry import NO_CHAT_MODEL, chat_model_spec
from knotwork._inference.own_prompts import read_prompt_folder
from knotwork._inference.role_models import ModelRun
from knotwork._knowledge_base import KnowledgeBase
from knotwork._shapes.base import fields_of
from knotwork._stores.base import companions_of
from knotwork._stores.urls import open_store
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ConfigError, Unparsable
from knotwork.records import Answer, Document

Counter = Callable[[str, int, int], object]
"""Shows progress: what is done, the number done, and the number in all."""


@dataclass(frozen=True, slots=True)
class JudgingOptions:
    """What to do with answers: let a model judge them, and try conditions.

    ``labelled`` are cases that judge the judge.
    """

    with_judge: bool = False
    with_conditions: bool = False
    labelled: tuple[JudgeCase, ...] = ()
    budget: str = ""
    retry: bool = False
    filters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RobustnessReport:
    """The figures of all trials. ``skipped`` questions have no gold passage."""

    figures: tuple[RobustnessFigure, ...]
    results: tuple[TrialResult, ...]
    questions: int
    skipped: int


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """The report of the judge and that of the conditions, None for what was not asked for.

    ``usage`` is that of all models, ``money`` None if a price is unknown.
    """

    judged: JudgeReport | None
    robustness: RobustnessReport | None
    usage: TokenUsage
    money: Decimal | None


def case_of(item: JudgedAnswer) -> JudgeCase:
    """Return an answer as a case for a judge."""
    return JudgeCase(
        item.question.id or item.question.text,
        item.question.text,
        item.answer.text,
        item.passages,
        item.question.answers,
        item.answer.answered,
    )


def require_judge(settings: Settings) -> None:
    """Raise ConfigError if the settings name no judge model."""
    if chat_model_spec(settings.llm, "judge") == NO_CHAT_MODEL:
        raise ConfigError(
            "No judge model is set.",
            fix="Set llm.judge, or llm.model, such as --set llm.judge=openai:MODEL.",
        )


@contextmanager
def _passage_answerer(base: KnowledgeBase, model: ChatModel | None) -> Iterator[Answerer]:
    """Open what answers from given passages alone, as an index would that has no others.

    Settings and models are those of ``base``. ``model`` writes the answers. Without one, or if its
    reply cites no passage, sentences are quoted. Raises as `KnowledgeBase.ask` without `fallback`.
    """
    with KnowledgeBase(
        open_store("memory:", create=True),
        base.settings,
        embedder=base.models.embedder,
        reranker=base.models.reranker,
        chat_model=model,
    ) as own:

        def answer(question: str, passages: Sequence[GivenPassage]) -> Answer:
            documents = [
                Document(f"passage-{number}", passage.text, title=passage.title)
                for number, passage in enumerate(passages, start=1)
            ]
            own.index_documents(documents, remove_others=True, tier="none")
            k = max(base.settings.retrieval.k, len(passages))
            ask = partial(own.ask, question, mode="basic", k=k, fallback=False)
            try:
                return ask(use_llm=model is not None)
            except NotCached:
                return replace(ask(use_llm=False), answered=True)
            except Unparsable:
                return ask(use_llm=False)

        yield answer


class JudgeRun:
    """Judges the answers of one knowledge base; close it afterwards.

    ``answers`` are those of `ask_questions`. ``model`` replaces the models of the settings; it also
    writes the answers under conditions if it ``writes``. Raises ConfigError for an invalid budget,
    or if a judge is wanted and none is set.
    """

    def __init__(
        self,
        knowledge_base: KnowledgeBase,
        answers: Sequence[JudgedAnswer],
        options: JudgingOptions,
        *,
        model: ChatModel | None = None,
        writes: bool = True,
    ) -> None:
        if options.with_judge and model is None:
            require_judge(knowledge_base.settings)
        self._base = knowledge_base
        self._options = options
        self._embedder = knowledge_base.embedder if options.with_judge else None
        self._cases = tuple(map(case_of, answers))
        self._questions = tuple(item.question for item in answers)
        self._models = ModelRun(
            knowledge_base.settings.llm,
            companions=companions_of(knowledge_base.store),
            count_tokens=count_tokens,
            model=model,
            budget=options.budget,
            retry=options.retry,
            prompts=read_prompt_folder(knowledge_base.settings.prompts.dir),
        )
        self._judge = self._models.open("judge") if options.with_judge else None
        self._answerer = self._models.open("answer") if options.with_conditions and writes else None
        self._found: list[QuestionPassages] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._models.close()

    def estimate(self, count: Counter | None = None) -> RunEstimate:
        """Return what the rest of the run would cost; makes no call.

        It is an upper bound of the output. Replies that are cached cost nothing. ``count`` is that
        of `run`.
        """
        planning = [
            None if model is None else CachedRepliesOnly(model)
            for model in (self._judge, self._answerer)
        ]
        judging, answering = planning
        if judging is not None:
            labelled = self._options.labelled
            judge(judging, self._cases, embedder=self._embedder, labelled=labelled)
        if any(planning):
            count = count or (lambda *_: None)
            for _ in self._run_trials(answering, judging, count, "Estimating"):
                pass
        planned = [
            call
            for model in filter(None, planning)
            for call in plan_calls(model.name, model.requests, count_tokens=count_tokens)
        ]
        return estimate_run([], planned, prices=self._models.prices)

    def run(self, count: Counter) -> JudgedRun:
        """Judge, try all conditions, and return the reports.

        ``count`` is called with what is done, the number done and the number in all. Raises
        BudgetExceeded at the budget, and ModelError if a model fails; replies are cached, so that
        the same run continues where it ended.
        """
        judged = self._run_judge(count) if self._judge is not None else None
        robustness = self._run_conditions(count) if self._options.with_conditions else None
        meter = self._models.meter
        return JudgedRun(judged, robustness, meter.total(), meter.money(self._models.prices))

    def _run_judge(self, count: Counter) -> JudgeReport:
        assert self._judge is not None
        labelled = self._options.labelled
        total = len(self._cases) + len(labelled)
        return judge(
            self._judge,
            self._cases,
            embedder=self._embedder,
            labelled=labelled,
            concurrency=most_calls(self._base.settings.llm.concurrency),
            count=lambda done: count("Judging", done, total),
        )

    def _run_conditions(self, count: Counter) -> RobustnessReport:
        results = list(self._run_trials(self._answerer, self._judge, count, "Trying conditions"))
        answerable = sum(question.is_answerable for question in self._questions)
        figures = measure_robustness(results, judged=self._judge is not None)
        known = len(self._found or ())
        return RobustnessReport(tuple(figures), tuple(results), known, answerable - known)

    def _run_trials(
        self, model: ChatModel | None, judge: ChatModel | None, count: Counter, what: str
    ) -> Iterator[TrialResult]:
        trials = self._trials()
        with _passage_answerer(self._base, model) as answerer:
            results = run_trials(trials, answerer, judge=judge)
            for done, result in enumerate(results, start=1):
                count(what, done, len(trials))
                yield result

    def _trials(self) -> list[Trial]:
        if not self._options.with_conditions:
            return []
        if self._found is None:
            filters = self._options.filters
            self._found = list(find_passages(self._base, self._questions, filters=filters))
        return make_trials(self._found)


def describe_judged_run(run: JudgedRun) -> dict[str, Any]:
    """Return the reports of a run, with a row for each question and each trial."""
    described: dict[str, Any] = {}
    if run.judged is not None:
        described["judge"] = _describe_judge(run.judged)
    if run.robustness is not None:
        described["robustness"] = _describe_robustness(run.robustness)
    usage = fields_of(run.usage, "calls", "reused", "input_tokens", "output_tokens")
    described["usage"] = usage | {"money": None if run.money is None else f"{run.money:f}"}
    return described


def _describe_judge(report: JudgeReport) -> dict[str, Any]:
    return {
        "model": report.judge,
        "metrics": {
            name: _describe_mean(found.estimate)
            | fields_of(found, "scored", "unreadable", "inapplicable")
            for name, found in report.metrics.items()
        },
        "unreadable_replies": dict(report.unreadable_replies),
        "agreement": {name: _describe_agreement(found) for name, found in report.agreement.items()},
        "cases": [_describe_case(item) for item in report.cases],
        "labelled": [_describe_case(item) for item in report.labelled],
    }


def _describe_mean(estimate: MeanEstimate | None) -> dict[str, Any]:
    if estimate is None:
        return {"mean": None, "interval": None}
    shift = {"shift": rounded(estimate.shift)} if isinstance(estimate, PoweredMean) else {}
    interval = [rounded(estimate.low), rounded(estimate.high)]
    return {"mean": rounded(estimate.mean), "interval": interval, **shift}


def _describe_agreement(agreement: JudgeAgreement) -> dict[str, Any]:
    return fields_of(agreement) | {
        "accuracy": rounded(agreement.accuracy),
        "kappa": rounded(agreement.kappa),
        "corrected": agreement.corrected and _describe_mean(agreement.corrected),
    }


def _describe_case(item: JudgedCase) -> dict[str, Any]:
    return {
        **fields_of(item.case, "id", "question"),
        "answer": item.case.text,
        "labels": dict(item.case.labels),
        "passages": len(item.case.passages),
        "shown_passages": item.shown_passages,
        "values": {
            name: {
                "value": rounded(found.value),
                "reason": found.reason,
                "verdicts": [{"item": text, "verdict": given} for text, given in found.verdicts],
            }
            for name, found in item.values.items()
        },
        "unreadable": [{"stage": stage, "reason": reason} for stage, reason in item.unreadable],
    }


def _describe_robustness(report: RobustnessReport) -> dict[str, Any]:
    return {
        **fields_of(report, "questions", "skipped"),
        "figures": {
            figure.name: _describe_mean(figure.estimate)
            | fields_of(figure, "trials", "unreadable", "needs_judge")
            for figure in report.figures
        },
        "trials": [_describe_trial(result) for result in report.results],
    }


def _describe_trial(result: TrialResult) -> dict[str, Any]:
    trial, fact = result.trial, result.trial.fact
    return {
        **fields_of(trial.question, "id"),
        "question": trial.question.text,
        **fields_of(trial, "condition", "ratio", "gold", "noise"),
        "changed": fact and {"original": list(fact.original), "changed": list(fact.changed)},
        "answer": result.text,
        **fields_of(result, "answered", "right", "outcome", "judged", "unreadable"),
    }
