"""Judge the answers of an index with its judge model, and try how robust they are.

`JudgeRun` opens the models of the settings, with the call cache of the index and one budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Self

from knotwork._config import Settings
from knotwork._extensions.evaluation.answer_runs import JudgedAnswer
from knotwork._extensions.evaluation.judge import (
    JudgeCase,
    JudgedCase,
    JudgeReport,
    judge_each,
    plan_judging,
    report_on,
)
from knotwork._extensions.evaluation.judge_requests import CachedRepliesOnly, NotCached
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
from knotwork._inference.call_costs import RunEstimate, estimate_run, plan_calls
from knotwork._inference.call_limits import most_calls
from knotwork._inference.chat import ChatModel, TokenUsage
from knotwork._inference.model_registry import NO_CHAT_MODEL, chat_model_spec
from knotwork._inference.prompt_files import read_prompt_folder
from knotwork._inference.role_models import ModelRun
from knotwork._knowledge_base import KnowledgeBase
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
        judge = None if self._judge is None else CachedRepliesOnly(self._judge)
        answerer = None if self._answerer is None else CachedRepliesOnly(self._answerer)
        planned = []
        if self._judge is not None and judge is not None:
            cases = (*self._cases, *self._options.labelled)
            judge.requests += plan_judging(self._judge, cases, embedder=self._embedder)
        if judge is not None or answerer is not None:
            for _ in self._run_trials(answerer, judge, count or (lambda *_: None), "Estimating"):
                pass
        for model in (judge, answerer):
            if model is not None:
                planned += plan_calls(model.name, model.requests, count_tokens=count_tokens)
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
