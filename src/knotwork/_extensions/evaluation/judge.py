"""Judge answers with a language model: faithfulness, relevance, context and correctness.

The figures are those of RAGAS (Es et al., arXiv 2309.15217; context precision, context recall and
answer correctness are of its library). Agreement with labels and the corrected means follow ARES
(Saad-Falcon et al., arXiv 2311.09476). The prompts are our own. A reply that cannot be read is
counted, and its case has no value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any

import numpy as np

from knotwork._extensions.evaluation.answer_questions import AnswerParts
from knotwork._extensions.evaluation.judge_requests import (
    CachedRepliesOnly,
    NotCached,
    ask_judge,
    cut_passages,
    show_parts,
)
from knotwork._extensions.evaluation.judge_statistics import (
    POSITIVE_FROM,
    PoweredMean,
    accuracy,
    bootstrap_mean,
    cohen_kappa,
    prediction_powered_mean,
)
from knotwork._extensions.evaluation.metrics import MeanEstimate
from knotwork._inference.call_limits import work_ordered
from knotwork._inference.chat import ChatModel, ChatRequest
from knotwork._inference.embedder import Embedder
from knotwork._inference.own_prompts import prompts_of
from knotwork._text.sentences import split_sentences
from knotwork.errors import ConfigError, Unparsable

FAITHFULNESS = "faithfulness"
ANSWER_RELEVANCE = "answer_relevance"
CONTEXT_PRECISION = "context_precision"
CONTEXT_RECALL = "context_recall"
ANSWER_CORRECTNESS = "answer_correctness"
_TASKS = {
    FAITHFULNESS: "support",
    ANSWER_RELEVANCE: "questions",
    CONTEXT_PRECISION: "passages",
    CONTEXT_RECALL: "recall",
    ANSWER_CORRECTNESS: "correctness",
}
"""The task of each metric; docs/evaluation.md defines their values."""
JUDGED_METRICS = tuple(_TASKS)

CONTEXT_TOKENS = 4_000
"""Tokens of passages that one prompt has at most."""

UNREADABLE = "unreadable reply"
NO_ANSWER = "no answer was given"
NO_STATEMENT = "the answer states nothing"
NO_PASSAGES = "no passages"
NO_REFERENCE = "no expected answer"
NO_EMBEDDER = "no embedder"


@dataclass(frozen=True, slots=True)
class JudgeCase:
    """An answer to judge, with what it was made of.

    ``passages`` are the texts that were retrieved, best first. ``expected`` has the alternative
    strings of each part of the expected answer; it is empty if none is known. ``answered`` is False
    for a refusal, ``text`` is then not judged. ``labels`` are a person's values from 0 to 1, by
    metric.
    """

    id: str
    question: str
    text: str
    passages: tuple[str, ...] = ()
    expected: AnswerParts = ()
    answered: bool = True
    labels: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JudgedValue:
    """The value of a metric for one case, or None and the reason.

    ``verdicts`` are the items that were judged, with the verdict on each.
    """

    value: float | None
    reason: str = ""
    verdicts: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedCase:
    """A case with its values by metric.

    ``unreadable`` has the stage and the reason of each reply that could not be read;
    ``shown_passages`` is the number of passages that fitted into the prompts.
    """

    case: JudgeCase
    values: Mapping[str, JudgedValue]
    unreadable: tuple[tuple[str, str], ...] = ()
    shown_passages: int = 0


@dataclass(frozen=True, slots=True)
class JudgedMetric:
    """The mean of a metric over ``scored`` cases; None without any.

    ``unreadable`` cases have no value because a reply could not be read, ``inapplicable`` ones
    because the metric does not apply to them.
    """

    estimate: MeanEstimate | None
    scored: int
    unreadable: int
    inapplicable: int


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """The agreement of the judge with the labels of one metric.

    Values from 0.5 count as positive for ``accuracy`` and ``kappa`` (None if undefined).
    ``corrected`` is the prediction-powered mean of the cases without labels, None if there are too
    few. ``compared`` cases have a label and a value, ``unreadable`` and ``inapplicable`` ones have
    a label alone.
    """

    compared: int
    unreadable: int
    inapplicable: int
    accuracy: float | None
    kappa: float | None
    corrected: PoweredMean | None


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """The judged cases, their means by metric, and the agreement with labelled cases.

    ``unreadable_replies`` counts replies by stage, over all cases.
    """

    judge: str
    cases: tuple[JudgedCase, ...]
    labelled: tuple[JudgedCase, ...]
    metrics: Mapping[str, JudgedMetric]
    agreement: Mapping[str, JudgeAgreement]
    unreadable_replies: Mapping[str, int]


def judge(
    model: ChatModel,
    cases: Iterable[JudgeCase],
    *,
    embedder: Embedder | None = None,
    labelled: Iterable[JudgeCase] = (),
    metrics: Collection[str] = JUDGED_METRICS,
    context_tokens: int = CONTEXT_TOKENS,
    concurrency: int = 1,
    seed: int = 0,
) -> JudgeReport:
    """Judge answers with any chat model, and return all values and their means.

    ``embedder`` compares questions for answer relevance, which has no values without one.
    ``labelled`` are cases with labels, by which the judge itself is judged. A prompt has at most
    ``context_tokens`` of passages. ``seed`` is that of the bootstrap. Raises ConfigError for an
    unknown metric, and as `ChatModel.complete`, but not for replies that cannot be read.
    """
    cases, labelled = tuple(cases), tuple(labelled)
    judged = list(
        judge_each(
            model,
            (*cases, *labelled),
            embedder=embedder,
            metrics=metrics,
            context_tokens=context_tokens,
            concurrency=concurrency,
        )
    )
    own, known = judged[: len(cases)], judged[len(cases) :]
    return report_on(own, known, judge=model.name, metrics=metrics, seed=seed)


def judge_each(
    model: ChatModel,
    cases: Iterable[JudgeCase],
    *,
    embedder: Embedder | None = None,
    metrics: Collection[str] = JUDGED_METRICS,
    context_tokens: int = CONTEXT_TOKENS,
    concurrency: int = 1,
) -> Iterator[JudgedCase]:
    """Yield each case with its values, in order. Takes and raises what `judge` does."""
    unknown = [name for name in metrics if name not in JUDGED_METRICS]
    if unknown:
        raise ConfigError(
            f"`{unknown[0]}` is not a judged metric.", fix=f"Known: {', '.join(JUDGED_METRICS)}."
        )

    def judge_one(case: JudgeCase) -> JudgedCase:
        return _CaseJudge(model, case, embedder, context_tokens).judge(metrics)

    yield from work_ordered(judge_one, cases, concurrency=concurrency)


def report_on(
    cases: Sequence[JudgedCase],
    labelled: Sequence[JudgedCase] = (),
    *,
    judge: str,
    metrics: Collection[str] = JUDGED_METRICS,
    seed: int = 0,
) -> JudgeReport:
    """Return the report on judged cases; ``judge`` is the name of the model."""
    names = [name for name in JUDGED_METRICS if name in metrics]
    replies = Counter(stage for item in (*cases, *labelled) for stage, _ in item.unreadable)
    with_labels = {name for item in labelled for name in item.case.labels}
    return JudgeReport(
        judge=judge,
        cases=tuple(cases),
        labelled=tuple(labelled),
        metrics={name: _measure(cases, name, seed) for name in names},
        agreement={n: _measure_agreement(cases, labelled, n) for n in names if n in with_labels},
        unreadable_replies=dict(sorted(replies.items())),
    )


def plan_judging(
    model: ChatModel,
    cases: Iterable[JudgeCase],
    *,
    embedder: Embedder | None = None,
    metrics: Collection[str] = JUDGED_METRICS,
    context_tokens: int = CONTEXT_TOKENS,
) -> list[ChatRequest]:
    """Return the requests that judging would send, without a call; not those with a cached reply.

    The sentences of an answer stand for its statements until these are known.
    """
    planning = CachedRepliesOnly(model)
    for case in cases:
        _CaseJudge(planning, case, embedder, context_tokens).judge(metrics)
    return planning.requests


class _CaseJudge:
    """Judges one case, and remembers which replies could not be read."""

    def __init__(
        self, model: ChatModel, case: JudgeCase, embedder: Embedder | None, context_tokens: int
    ) -> None:
        self._model = model
        self._is_plan = isinstance(model, CachedRepliesOnly)
        self._case = case
        self._embedder = embedder
        self._passages = cut_passages(case.passages, budget_tokens=context_tokens)
        self._unreadable: list[tuple[str, str]] = []

    def judge(self, metrics: Collection[str]) -> JudgedCase:
        values = {
            name: self._missing(name) or self._judge(name)
            for name in JUDGED_METRICS
            if name in metrics
        }
        return JudgedCase(self._case, values, tuple(self._unreadable), len(self._passages))

    def _missing(self, metric: str) -> JudgedValue | None:
        """Return the value that a metric has without a call, if any."""
        case = self._case
        if metric not in (FAITHFULNESS, ANSWER_RELEVANCE) and not case.expected:
            return JudgedValue(None, NO_REFERENCE)
        if metric in (FAITHFULNESS, CONTEXT_PRECISION, CONTEXT_RECALL) and not self._passages:
            return JudgedValue(None, NO_PASSAGES)
        if metric in (CONTEXT_PRECISION, CONTEXT_RECALL):
            return None
        if metric == ANSWER_RELEVANCE and self._embedder is None:
            return JudgedValue(None, NO_EMBEDDER)
        if not case.answered or not case.text.strip():
            # To refuse what has an answer is neither relevant nor correct, and not unfaithful.
            is_wrong = metric != FAITHFULNESS and bool(case.expected)
            return JudgedValue(0.0 if is_wrong else None, NO_ANSWER)
        return None

    def _judge(self, metric: str) -> JudgedValue:
        case = self._case
        reads_statements = metric in (FAITHFULNESS, ANSWER_CORRECTNESS)
        statements = self._statements if reads_statements else ()
        if statements is None:
            return JudgedValue(None, UNREADABLE)
        if reads_statements and not statements:
            return JudgedValue(None if metric == FAITHFULNESS else 0.0, NO_STATEMENT)
        found = self._send(_TASKS[metric], statements)
        if found is None or self._is_plan:
            return JudgedValue(None, UNREADABLE)
        if metric == ANSWER_RELEVANCE:
            return self._relevance(found)
        items: Sequence[str]
        if metric == CONTEXT_PRECISION:
            items, value = self._passages, average_precision(found)
        elif metric == ANSWER_CORRECTNESS:
            items = (*statements, *show_parts(case.expected))
            value = _correctness(found[: len(statements)], found[len(statements) :])
        else:
            items = statements or show_parts(case.expected)
            value = fmean(found)
        return JudgedValue(value, verdicts=tuple(zip(items, found, strict=True)))

    def _relevance(self, generated: Sequence[str]) -> JudgedValue:
        """Return the mean cosine of the question and those generated from the answer."""
        if not generated:
            return JudgedValue(0.0, "the answer is evasive")
        assert self._embedder is not None  # `_missing` has handled this
        rows = np.asarray(self._embedder.embed([self._case.question, *generated]), np.float64)
        mean = float((rows[1:] @ rows[0]).mean())
        return JudgedValue(min(max(mean, 0.0), 1.0), verdicts=tuple((q, True) for q in generated))

    @cached_property
    def _statements(self) -> Sequence[str] | None:
        """The statements of the answer, None if the reply cannot be read."""
        return self._send("statements")

    def _send(self, task: str, statements: Sequence[str] = ()) -> tuple[Any, ...] | None:
        case = self._case
        call = ask_judge(
            task,
            case.question,
            answer=case.text,
            statements=statements,
            passages=self._passages,
            expected=case.expected,
            prompts=prompts_of(self._model),
        )
        try:
            return call.send(self._model)
        except NotCached:
            spans = split_sentences(case.text)
            return tuple(case.text[span.start : span.end] for span in spans)
        except Unparsable as error:
            self._unreadable.append((call.request.stage, error.reason))
            return None


def _correctness(statements: Sequence[bool], parts: Sequence[bool]) -> float:
    """Return F1: statements that are right are TP, others FP, and parts not given FN."""
    right = sum(statements)
    wrong, missed = len(statements) - right, len(parts) - sum(parts)
    return right / (right + (wrong + missed) / 2) if right else 0.0


def average_precision(useful: Sequence[bool]) -> float:
    """Return the mean of the precision at the ranks of the useful passages; 0 without any."""
    ranks = [rank for rank, is_useful in enumerate(useful, start=1) if is_useful]
    if not ranks:
        return 0.0
    return sum(number / rank for number, rank in enumerate(ranks, start=1)) / len(ranks)


def _measure(cases: Sequence[JudgedCase], name: str, seed: int) -> JudgedMetric:
    values = [item.values[name] for item in cases]
    known = [item.value for item in values if item.value is not None]
    unreadable = sum(item.reason == UNREADABLE for item in values)
    return JudgedMetric(
        bootstrap_mean(known, seed=seed),
        scored=len(known),
        unreadable=unreadable,
        inapplicable=len(values) - len(known) - unreadable,
    )


def _measure_agreement(
    cases: Sequence[JudgedCase], labelled: Sequence[JudgedCase], name: str
) -> JudgeAgreement:
    rated = [
        (item.case.labels[name], item.values[name]) for item in labelled if name in item.case.labels
    ]
    pairs = [(label, judged.value) for label, judged in rated if judged.value is not None]
    unreadable = sum(judged.reason == UNREADABLE for _, judged in rated)
    labels = [label >= POSITIVE_FROM for label, _ in pairs]
    verdicts = [value >= POSITIVE_FROM for _, value in pairs]
    unlabelled = [item.values[name].value for item in cases]
    return JudgeAgreement(
        compared=len(pairs),
        unreadable=unreadable,
        inapplicable=len(rated) - len(pairs) - unreadable,
        accuracy=accuracy(labels, verdicts) if pairs else None,
        kappa=cohen_kappa(labels, verdicts) if pairs else None,
        corrected=prediction_powered_mean(
            [value for value in unlabelled if value is not None],
            [value for _, value in pairs],
            [label for label, _ in pairs],
        ),
    )
