"""Judge answers with a language model: faithfulness, relevance, context and correctness.

The figures are those of RAGAS (Es et al., arXiv 2309.15217; context precision, context recall and
answer correctness are of its library). Agreement with labels and the corrected means follow ARES
(Saad-Falcon et al., arXiv 2311.09476). The prompts are our own. Questions, answers and passages are
data: they are escaped, and put on single lines between tags that they cannot close. A reply counts
only if it has exactly one verdict on every item; another one is counted, and its case has no value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

import numpy as np

from knotwork._extensions.evaluation.metrics import (
    POSITIVE_FROM,
    MeanEstimate,
    PoweredMean,
    accuracy,
    bootstrap_mean,
    cohen_kappa,
    prediction_powered_mean,
)
from knotwork._extensions.evaluation.questions import (
    AnswerParts,
    parts_of,
    place_of,
    read_objects,
    read_text,
    refuse_repeated_ids,
    texts_of,
)
from knotwork._inference.call_cache import needs_call
from knotwork._inference.call_limits import work_ordered
from knotwork._inference.chat import (
    ChatModel,
    ChatReply,
    ChatRequest,
    complete_checked,
    require_whole,
)
from knotwork._inference.embedder import Embedder
from knotwork._inference.own_prompts import BUILT_IN, OwnPrompts, prompts_of
from knotwork._inference.prompt_files import fill_prompt
from knotwork._inference.prompt_material import escape_passage
from knotwork._questions.reading import reading_of
from knotwork._text.plain_text import CITATION_MARK
from knotwork._text.sentences import split_sentences
from knotwork._text.token_counts import count_tokens, token_starts
from knotwork.errors import ConfigError, UnknownName, Unparsable

T = TypeVar("T")

ROOM = "knotwork._extensions.evaluation"
GENERATED_QUESTIONS = 3
"""Questions to generate from an answer; RAGAS uses three as well."""
MOST_STATEMENTS = 60
"""An answer with more statements cannot be judged in one call."""
STATEMENTS_TOKENS = 1_200
QUESTIONS_TOKENS = 300
VERDICT_TOKENS = 16
"""Output tokens for a verdict, with a few to spare."""

_WORDS = r"(yes|no|不是|是|否)(?=\W|_|$)"
_VERDICT = re.compile(rf"[^\w\n]{{0,8}}([AE]?)\s?(\d{{1,3}})[^\w\n]{{1,9}}{_WORDS}", re.IGNORECASE)
_BARE_VERDICT = re.compile(rf"[^\w\n]{{0,8}}{_WORDS}", re.IGNORECASE)
_ITEM = re.compile(r"\W*?\d{1,3}\s*[.)、．:：|]\s*(\S.*)")
_NOTHING = frozenset({"none", "无", "没有"})
_EVASIVE = frozenset({"evasive", "回避"})
_YES = frozenset({"yes", "是"})
_NOT_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class JudgeCall:
    """A request to a judge, and the parser of the reply: statements, questions or verdicts."""

    request: ChatRequest
    parse: Callable[[ChatReply], tuple[Any, ...]]

    def send(self, model: ChatModel) -> tuple[Any, ...]:
        """Return the parsed reply. Raises Unparsable, and as `ChatModel.complete`."""
        return complete_checked(model, self.request, self.parse)


_JUDGED_ITEMS: Mapping[str, Sequence[str]] = {
    "support": ("points",),
    "passages": ("context",),
    "recall": ("expected",),
    "correctness": ("points", "expected"),
}
"""What each task asks a verdict on; others ask a single one on the answer."""


def ask_judge(
    task: str,
    question: str,
    *,
    answer: str = "",
    statements: Sequence[str] = (),
    passages: Sequence[str] = (),
    expected: AnswerParts = (),
    prompts: OwnPrompts = BUILT_IN,
) -> JudgeCall:
    """Return the call of a task.

    "statements" splits an answer into statements, "questions" generates its questions. The others
    return verdicts: "support" of the passages for the statements, "passages" that were useful,
    "recall" of the expected parts, "correctness" of the statements and then of the parts, and
    "refusal" or "notice" of the answer as a whole.
    """
    shown = {"points": statements, "context": passages, "expected": show_parts(expected)}
    marks = {"points": "A", "expected": "E"} if task == "correctness" else {}
    labels = {
        name: [f"{marks.get(name, '')}{number}" for number in range(1, len(items) + 1)]
        for name, items in shown.items()
    }
    blanks = {
        "question": on_one_line(question),
        "answer": on_one_line(CITATION_MARK.sub("", answer)),
        "count": str(GENERATED_QUESTIONS),
        **{
            name: "\n".join(
                f"{label}. {on_one_line(text)}"
                for label, text in zip(labels[name], items, strict=True)
            )
            for name, items in shown.items()
        },
    }
    parse: Callable[[ChatReply], tuple[Any, ...]]
    if task == "statements":
        parse, tokens = read_statements, STATEMENTS_TOKENS
    elif task == "questions":
        parse, tokens = read_questions, QUESTIONS_TOKENS
    else:
        asked = [label for name in _JUDGED_ITEMS.get(task, ()) for label in labels[name]] or ["1"]
        parse, tokens = partial(read_verdicts, labels=asked), VERDICT_TOKENS * (len(asked) + 2)
    name = f"judge-{task}"
    messages = fill_prompt(ROOM, name, reading_of(question).language, blanks, prompts)
    return JudgeCall(ChatRequest(messages, max_output_tokens=tokens, stage=name), parse)


class NotCached(Unparsable):
    """A request has no cached reply, and no call is made for an estimate."""


class CachedRepliesOnly:
    """A chat model that has only the replies of a cache, and keeps the other ``requests``.

    Judging with it plans the calls: sentences of an answer stand for its unknown statements.
    """

    def __init__(self, model: ChatModel) -> None:
        self.name = model.name
        self.prompts = prompts_of(model)
        self.requests: list[ChatRequest] = []
        self._model = model

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the cached reply. Raises NotCached without one."""
        return self._cached(request).complete(request)

    def complete_checked(self, request: ChatRequest, parse: Callable[[ChatReply], T]) -> T:
        """Return what ``parse`` makes of the cached reply; raises as `complete` does."""
        return complete_checked(self._cached(request), request, parse)

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Yield the cached reply; raises as `complete` does."""
        yield from self._cached(request).stream(request)

    def _cached(self, request: ChatRequest) -> ChatModel:
        if needs_call(self._model, request):
            self.requests.append(request)
            raise NotCached("No call is made for an estimate.")
        return self._model


def show_parts(expected: AnswerParts) -> list[str]:
    """Return each part of an expected answer as one line, its alternatives between slashes."""
    return [" / ".join(alternatives) for alternatives in expected]


def cut_passages(passages: Sequence[str], *, budget_tokens: int) -> tuple[str, ...]:
    """Return the first passages that fit into a budget; the first is cut if it does not fit."""
    kept: list[str] = []
    left = budget_tokens
    for passage in passages:
        tokens = count_tokens(passage)
        if tokens > left:
            if not kept:
                kept.append(passage[: token_starts(passage)[budget_tokens]])
            break
        kept.append(passage)
        left -= tokens
    return tuple(kept)


def on_one_line(text: str) -> str:
    """Return a text as one line of a prompt, with tags and citation marks made harmless."""
    return escape_passage(" ".join(text.split()))


def read_statements(reply: ChatReply) -> tuple[str, ...]:
    """Return the statements of a reply, () if it says that the answer has none.

    Raises Unparsable for a reply that is cut off, has no numbered line, or has too many.
    """
    found = tuple(dict.fromkeys(_read_items(reply, _NOTHING)))
    if len(found) > MOST_STATEMENTS:
        raise Unparsable(f"The reply has {len(found)} statements, more than {MOST_STATEMENTS}.")
    return found


def read_questions(reply: ChatReply) -> tuple[str, ...]:
    """Return the generated questions of a reply, () if it calls the answer evasive.

    Raises Unparsable for a reply that is cut off or has fewer than `GENERATED_QUESTIONS`.
    """
    found = _read_items(reply, _EVASIVE)
    if found and len(found) < GENERATED_QUESTIONS:
        raise Unparsable(f"The reply has {len(found)} of {GENERATED_QUESTIONS} questions.")
    return found[:GENERATED_QUESTIONS]


def read_verdicts(reply: ChatReply, labels: Sequence[str]) -> tuple[bool, ...]:
    """Return the verdict on each label, in order. A single one needs no label.

    Raises Unparsable for a reply that is cut off, lacks a verdict, contradicts itself, or has a
    verdict on something that was not asked: its numbering cannot be trusted then.
    """
    found: dict[str, bool] = {}
    for line in require_whole(reply).text.splitlines():
        match = _VERDICT.match(line)
        bare = _BARE_VERDICT.match(line) if len(labels) == 1 else None
        if match is not None:
            label = f"{match[1].upper()}{int(match[2])}"
            verdict = match[3].lower() in _YES
        elif bare is not None:
            label, verdict = labels[0], bare[1].lower() in _YES
        else:
            continue
        if label not in labels:
            raise Unparsable(f"The reply has a verdict on {label}, which was not asked.")
        if found.setdefault(label, verdict) is not verdict:
            raise Unparsable(f"The reply has two verdicts on {label}.")
    missing = [label for label in labels if label not in found]
    if missing:
        raise Unparsable(f"The reply has no verdict on {missing[0]}.")
    return tuple(found[label] for label in labels)


def _read_items(reply: ChatReply, nothing: frozenset[str]) -> tuple[str, ...]:
    text = require_whole(reply).text
    if _NOT_WORDS.sub("", text).casefold() in nothing:
        return ()
    found = [" ".join(match[1].split()) for match in map(_ITEM.match, text.splitlines()) if match]
    if not found:
        raise Unparsable("The reply has no numbered line.")
    return tuple(found)


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


def judge(  # noqa: PLR0913  one for each option
    model: ChatModel,
    cases: Iterable[JudgeCase],
    *,
    embedder: Embedder | None = None,
    labelled: Iterable[JudgeCase] = (),
    metrics: Collection[str] = JUDGED_METRICS,
    context_tokens: int = CONTEXT_TOKENS,
    concurrency: int = 1,
    seed: int = 0,
    count: Callable[[int], object] | None = None,
) -> JudgeReport:
    """Judge answers with any chat model, and return all values and their means.

    ``embedder`` compares questions for answer relevance, which has no values without one.
    ``labelled`` are cases with labels, by which the judge itself is judged. A prompt has at most
    ``context_tokens`` of passages. ``seed`` is that of the bootstrap. ``count`` is called with the
    number of cases that are judged. Raises ConfigError for an unknown metric, and as
    `ChatModel.complete`, but not for replies that cannot be read.
    """
    for name in metrics:
        if name not in JUDGED_METRICS:
            raise ConfigError(
                f"`{name}` is not a judged metric.", fix=f"Known: {', '.join(JUDGED_METRICS)}."
            )
    names = [name for name in JUDGED_METRICS if name in metrics]
    cases, labelled = tuple(cases), tuple(labelled)

    def judge_one(case: JudgeCase) -> JudgedCase:
        return _CaseJudge(model, case, embedder, context_tokens).judge(names)

    judged: list[JudgedCase] = []
    for item in work_ordered(judge_one, (*cases, *labelled), concurrency=concurrency):
        judged.append(item)
        if count is not None:
            count(len(judged))
    own, known = judged[: len(cases)], judged[len(cases) :]
    replies = Counter(stage for item in judged for stage, _ in item.unreadable)
    with_labels = {name for case in labelled for name in case.labels}
    return JudgeReport(
        judge=model.name,
        cases=tuple(own),
        labelled=tuple(known),
        metrics={name: _measure(own, name, seed) for name in names},
        agreement={n: _measure_agreement(own, known, n) for n in names if n in with_labels},
        unreadable_replies=dict(sorted(replies.items())),
    )


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

    def judge(self, metrics: Iterable[str]) -> JudgedCase:
        values = {name: self._missing(name) or self._judge(name) for name in metrics}
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


_EXAMPLE = (
    'Write one object per line, such as {"question": "How high is it?", "answer": "30 m.", '
    '"passages": ["It is 30 m high."], "answers": ["30 m"], "labels": {"faithfulness": 1}}.'
)


def read_labelled_cases(path: str | Path) -> tuple[JudgeCase, ...]:
    """Read a file of labelled answers.

    Raises ConfigError, with the line, for an invalid record or a repeated id, and for a file that
    is missing, empty or not UTF-8; UnknownName for an unknown metric.
    """
    name = str(path)
    cases = [
        (_case(record, place_of(name, line), line), line)
        for line, record in read_objects(read_text(path).split("\n"), name=name, fix=_EXAMPLE)
    ]
    if not cases:
        raise ConfigError(f"`{path}` contains no labelled answer.", fix=_EXAMPLE)
    refuse_repeated_ids(((case.id, line) for case, line in cases), name, kind="answer")
    return tuple(case for case, _ in cases)


def case_as_record(case: JudgeCase) -> dict[str, Any]:
    """Return a case as a record of such a file, with a null for each label to fill in."""
    return {
        "id": case.id,
        "question": case.question,
        "answer": case.text,
        "answered": case.answered,
        "passages": list(case.passages),
        "answers": [list(alternatives) for alternatives in case.expected],
        "labels": {name: case.labels.get(name) for name in JUDGED_METRICS},
    }


def _case(record: dict[str, Any], where: str, line: int) -> JudgeCase:
    for name in ("question", "answer"):
        if not isinstance(record.get(name), str) or not record[name].strip():
            raise ConfigError(f"{where} has no text under `{name}`.", fix=_EXAMPLE)
    answered = record.get("answered", True)
    if not isinstance(answered, bool):
        raise ConfigError(
            f"{where} has `{answered!r:.80}` under `answered`.", fix="Write true or false."
        )
    return JudgeCase(
        id=str(record.get("id") or f"line {line}"),
        question=record["question"].strip(),
        text=record["answer"],
        passages=tuple(texts_of(record.get("passages") or [], "passages", where)),
        expected=parts_of(record, where) if "answers" in record else (),
        answered=answered,
        labels=_labels(record.get("labels"), where),
    )


def _labels(given: object, where: str) -> dict[str, float]:
    if not isinstance(given, dict):
        raise ConfigError(f"{where} has no object under `labels`.", fix=_EXAMPLE)
    labels = {}
    for name, value in given.items():
        if name not in JUDGED_METRICS:
            raise UnknownName("metric", name, JUDGED_METRICS, place=f" in {where}")
        if value is None:
            continue
        if not isinstance(value, int | float) or not 0 <= value <= 1:  # true and false are 1 and 0
            raise ConfigError(
                f"{where} has the label `{value!r:.80}` for `{name}`.",
                fix="Write true or false, a number from 0 to 1, or null for no label.",
            )
        labels[name] = float(value)
    if not labels:
        raise ConfigError(
            f"{where} has no label.",
            fix=f"Label at least one of {', '.join(JUDGED_METRICS)}, or remove the line.",
        )
    return labels
