"""Judge the answers of an index with its judge model, and try how robust they are.

`JudgeRun` opens the models of the settings, with the call cache of the index and one budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import TracebackType
from typing import Self

from knotwork._config import Settings
from knotwork._inference.call_cache import needs_call
from knotwork._inference.call_concurrency import most_calls
from knotwork._inference.call_costs import RunEstimate, estimate_run, plan_calls
from knotwork._inference.chat import ChatModel, TokenUsage
from knotwork._inference.model_registry import NO_CHAT_MODEL, chat_model_spec
from knotwork._inference.prompt_folder import read_prompt_folder
from knotwork._inference.role_models import ModelRun
from knotwork._knowledge_base import KnowledgeBase
from knotwork._stores.base import companions_of
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ConfigError
from knotwork.evaluation._answer_runs import JudgedAnswer
from knotwork.evaluation._judge import (
    JudgeCase,
    JudgedCase,
    JudgeReport,
    judge_each,
    plan_judging,
    report_on,
)
from knotwork.evaluation._passage_answers import Counter, PassageAnswerer, foresee_trials
from knotwork.evaluation._robustness import (
    QuestionPassages,
    RobustnessFigure,
    Trial,
    TrialResult,
    find_passages,
    judge_call,
    make_trials,
    measure_robustness,
    run_trials,
)


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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._models.close()

    def estimate(self, count: Counter | None = None) -> RunEstimate:
        """Return what the rest of the run would cost; makes no call.

        It is an upper bound of the output. Replies that are cached cost nothing. ``count`` is that
        of `run`.
        """
        if self._judge is None and self._answerer is None:
            return estimate_run([], [], prices=self._models.prices)
        trials = self._trials()
        foreseen = foresee_trials(self._base, trials, self._answerer, count=count)
        planned = []
        if self._judge is not None:
            cases = (*self._cases, *self._options.labelled)
            requests = plan_judging(self._judge, cases, embedder=self._embedder)
            for trial, result in zip(trials, foreseen.results, strict=True):
                call = judge_call(result or self._stand_in(trial), self._judge)
                if call is not None and needs_call(self._judge, call.request):
                    requests.append(call.request)
            planned += plan_calls(self._judge.name, requests, count_tokens=count_tokens)
        if self._answerer is not None:
            name = self._answerer.name
            planned += plan_calls(name, foreseen.requests, count_tokens=count_tokens)
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
        cases = (*self._cases, *self._options.labelled)
        concurrency = most_calls(self._base.settings.llm.concurrency)
        judged: list[JudgedCase] = []
        for item in judge_each(
            self._judge, cases, embedder=self._embedder, concurrency=concurrency
        ):
            judged.append(item)
            count("Judging", len(judged), len(cases))
        own, labelled = judged[: len(self._cases)], judged[len(self._cases) :]
        return report_on(own, labelled, judge=self._judge.name)

    def _run_conditions(self, count: Counter) -> RobustnessReport:
        trials = self._trials()
        results: list[TrialResult] = []
        with PassageAnswerer(self._base, self._answerer) as answerer:
            for result in run_trials(trials, answerer, judge=self._judge):
                results.append(result)
                count("Trying conditions", len(results), len(trials))
        answerable = sum(question.is_answerable for question in self._questions)
        figures = measure_robustness(results, judged=self._judge is not None)
        known = len(self._found or ())
        return RobustnessReport(tuple(figures), tuple(results), known, answerable - known)

    def _stand_in(self, trial: Trial) -> TrialResult:
        """Return the result of a trial as if the answer were the one from the whole index."""
        text = next(c.text for c in self._cases if c.question == trial.question.text)
        return TrialResult(trial, text, answered=True, right=False)

    def _trials(self) -> list[Trial]:
        if not self._options.with_conditions:
            return []
        if self._found is None:
            filters = self._options.filters
            self._found = list(find_passages(self._base, self._questions, filters=filters))
        return make_trials(self._found)
