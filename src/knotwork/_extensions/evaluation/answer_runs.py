"""Ask a knowledge base questions with known answers, judge its answers, and compute figures.

An answer is right if it contains the expected strings. No model judges, so equal answers always get
equal judgements.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from statistics import fmean, median
from typing import Any, Unpack

from knotwork._extensions.evaluation.metrics import (
    MeanEstimate,
    MetricDifference,
    calibration_error,
    compare_paired,
    estimate_mean,
    separation,
)
from knotwork._extensions.evaluation.questions import (
    AnswerQuestion,
    normalize_as_printed,
    states,
    states_all,
)
from knotwork._inference.call_budget import Ceiling, parse_ceiling
from knotwork._knowledge_base import KnowledgeBase
from knotwork._run import Stage
from knotwork._shapes.base import fields_of
from knotwork._synthesis.ask_request import AskOptions
from knotwork._text.languages import HAN_AND_KANA, HAN_OR_KANA
from knotwork._text.plain_text import CITATION_MARK
from knotwork._text.sentences import split_sentences
from knotwork.errors import BudgetExceeded
from knotwork.records import Answer

NOISE_OVERLAP = 0.6
"""A sentence matches a gold quote if they share this fraction of the words of the shorter one."""

_WORD = re.compile(rf"[{HAN_AND_KANA}]|(?:(?![{HAN_AND_KANA}])[\w.-])+")
_PRINTED_WORD = re.compile(rf"[^\s{HAN_AND_KANA}]+")


@dataclass(frozen=True, slots=True)
class AnswerJudgement:
    """The judgement of one answer. All fields but ``answered`` apply to answerable questions.

    ``right``: the answer contains all expected parts. ``right_first``: its first sentence does.
    ``found``: the retrieved passages do. ``cites_gold``: it cites a gold document; None if the
    question names none. ``noise`` is True for each sentence without a part of the answer that
    matches no gold quote. ``words`` is the length of the text, with half a word for a Chinese or
    Japanese character. ``short_right``: the short answer contains all parts; None without one.
    """

    answered: bool
    right: bool = False
    right_first: bool = False
    found: bool = False
    cites_gold: bool | None = None
    noise: tuple[bool, ...] = ()
    words: float = 0.0
    short_right: bool | None = None


def judge_answer(
    question: AnswerQuestion, answer: Answer, passages: Sequence[str] = ()
) -> AnswerJudgement:
    """Judge an answer. ``passages`` are the texts of the retrieved passages."""
    if not question.is_answerable:
        return AnswerJudgement(answer.answered, short_right=False if answer.short else None)
    found = states_all("\n".join(passages), question.answers)
    has_gold = bool(question.documents)
    if not answer.answered:
        return AnswerJudgement(answered=False, found=found, cites_gold=False if has_gold else None)
    sentences = printed_sentences(answer)
    cites_gold = any(
        is_named(citation.document, name)
        for citation in answer.citations
        for name in question.documents
    )
    return AnswerJudgement(
        answered=True,
        right=states_all(answer.text, question.answers),
        right_first=bool(sentences) and states_all(sentences[0], question.answers),
        found=found,
        cites_gold=cites_gold if has_gold else None,
        noise=tuple(_is_noise(sentence, question) for sentence in sentences),
        words=count_words(answer.text),
        short_right=states_all(answer.short, question.answers) if answer.short else None,
    )


def printed_sentences(answer: Answer) -> list[str]:
    """Return the sentences of an answer in printed order, without citation marks.

    Quoted sentences end at their citation mark; a model's answer is split like any other text.
    """
    if answer.model:
        plain = CITATION_MARK.sub("", answer.text)
        return [plain[span.start : span.end] for span in split_sentences(plain)]
    pieces, start = [], 0
    for mark in CITATION_MARK.finditer(answer.text):
        if 1 <= int(mark[1]) <= len(answer.citations):
            pieces.append(answer.text[start : mark.start()])
            start = mark.end()
    return [piece.strip() for piece in (*pieces, answer.text[start:]) if piece.strip()]


def count_words(text: str) -> float:
    """Count the words of a text. A Chinese or Japanese character counts as half a word."""
    return len(_PRINTED_WORD.findall(text)) + len(HAN_OR_KANA.findall(text)) / 2


def is_named(uri: str, name: str) -> bool:
    """Return True if ``name`` is the URI of a document or its end after a slash."""
    return uri == name or uri.endswith(f"/{name}")


def _is_noise(sentence: str, question: AnswerQuestion) -> bool:
    if any(states(sentence, alternatives) for alternatives in question.answers):
        return False
    words = _words(sentence)
    quotes = filter(None, map(_words, question.quotes))
    return not any(
        len(words & gold) >= NOISE_OVERLAP * min(len(words), len(gold)) for gold in quotes
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(normalize_as_printed(text)))


class SharedBudget:
    """A budget that several questions share, in the notation of `parse_ceiling`; "" is unlimited.

    Raises ConfigError for an invalid budget.
    """

    def __init__(self, budget: str) -> None:
        self._ceiling: Ceiling | None = parse_ceiling(budget) if budget else None
        self._spent = Decimal(0)

    def spend(self, tokens: int, money: Decimal | None) -> None:
        """Subtract the tokens or the money of a call from the budget."""
        if self._ceiling is not None:
            # Under a limit of money, models without a price are never called.
            part = Decimal(tokens) if self._ceiling.unit == "tokens" else money or Decimal(0)
            self._spent += part

    def remaining(self) -> str:
        """Return the rest of the budget in the notation of `parse_ceiling`; "" if unlimited."""
        if self._ceiling is None:
            return ""
        return f"{max(self._ceiling.amount - self._spent, Decimal(0)):f} {self._ceiling.unit}"

    def check(self) -> None:
        """Raise BudgetExceeded if the budget is used up."""
        if self._ceiling is not None and self._spent and self._spent >= self._ceiling.amount:
            raise BudgetExceeded(f"The budget of {self._ceiling} is reached.")


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """A question, its answer and the judgement. ``cpu_s`` is the CPU time of all threads.

    ``passages`` are the texts of the retrieved passages, best first.
    """

    question: AnswerQuestion
    answer: Answer
    judgement: AnswerJudgement
    seconds: float
    cpu_s: float
    passages: tuple[str, ...] = ()

    @property
    def is_correct(self) -> bool:
        """Whether the answer is right, or rightly refused for an unanswerable question."""
        if self.question.is_answerable:
            return self.judgement.right
        return not self.judgement.answered

    @property
    def tokens(self) -> int:
        """Input and output tokens of language models."""
        return self.answer.usage.input_tokens + self.answer.usage.output_tokens


def ask_questions(
    knowledge_base: KnowledgeBase,
    questions: Iterable[AnswerQuestion],
    **options: Unpack[AskOptions],
) -> Iterator[JudgedAnswer]:
    """Ask each question with these options, and yield the judged answer.

    ``budget`` is shared by all questions. With a budget, ``fallback`` is off by default: otherwise
    quotes would count as the model's answers once it is used up. Raises the errors of
    `KnowledgeBase.ask`.
    """
    budget = SharedBudget(options.pop("budget", ""))
    options.setdefault("fallback", not budget.remaining())
    for question in questions:
        budget.check()
        options["budget"] = budget.remaining()
        started, cpu_started = time.perf_counter(), time.process_time()
        passages: list[str] = []
        run = knowledge_base.ask.run(question.text, **options)
        for step in run:
            if step.stage == Stage.FOUND:
                hits = step.value.hits
                passages = [f"{hit.chunk.context}\n{hit.chunk.text}" for hit in hits]
        answer = run.result()
        seconds, cpu_s = time.perf_counter() - started, time.process_time() - cpu_started
        judged = JudgedAnswer(
            question,
            answer,
            judge_answer(question, answer, passages),
            seconds,
            cpu_s,
            tuple(passages),
        )
        budget.spend(judged.tokens, answer.usage.money)
        yield judged


def evaluate_answers(
    knowledge_base: KnowledgeBase,
    questions: Iterable[AnswerQuestion],
    **options: Unpack[AskOptions],
) -> list[JudgedAnswer]:
    """Ask all questions and return the judged answers. `measure_answers` computes the figures."""
    return list(ask_questions(knowledge_base, questions, **options))


def missing_documents(
    knowledge_base: KnowledgeBase, questions: Sequence[AnswerQuestion]
) -> dict[str, AnswerQuestion]:
    """Return the gold documents that are not in the index, each with a question that names it.

    Without this check, a misspelt name would count as a wrong citation.
    """
    uris = [entry.uri for entry in knowledge_base.documents()]
    missing: dict[str, AnswerQuestion] = {}
    for question in questions:
        for name in question.documents:
            if name not in missing and not any(is_named(uri, name) for uri in uris):
                missing[name] = question
    return missing


PERCENT = 100


def _is_answerable(item: JudgedAnswer) -> bool:
    return item.question.is_answerable


def _is_answered(item: JudgedAnswer) -> bool:
    return item.judgement.answered


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of answers.

    Most are a mean of what ``value`` returns for the answers ``over`` which the figure is taken: a
    value, several, or None if it does not apply. ``column`` is the short form of ``label``. Others
    are computed by ``measure`` from all answers, None if it does not apply to any. Values are
    printed times ``scale``, by default in percent, in the format ``form``, and have ``digits`` in
    JSON.
    """

    name: str
    label: str
    column: str = ""
    value: Callable[[AnswerJudgement], float | Sequence[bool] | None] = lambda _: None
    over: Callable[[JudgedAnswer], bool] = lambda _: True
    measure: Callable[[Sequence[JudgedAnswer]], float | None] | None = None
    scale: float = PERCENT
    form: str = ".1f"
    digits: int = 4

    def values(self, item: JudgedAnswer) -> list[float]:
        """Return the values of one answer, none if the figure does not apply to it."""
        found = self.value(item.judgement) if self.over(item) else None
        if found is None:
            return []
        return [float(value) for value in (found if isinstance(found, Sequence) else [found])]

    def of(self, answers: Sequence[JudgedAnswer]) -> float | None:
        """Return the figure of answers, None if it applies to none of them."""
        if self.measure is not None:
            return self.measure(answers)
        values = [value for item in answers for value in self.values(item)]
        return fmean(values) if values else None

    def show(self, value: float | None, sign: str = "") -> str:
        """Return a value as it is printed."""
        return "" if value is None else f"{self.scale * value:{sign}{self.form}}"


def _rated(answers: Sequence[JudgedAnswer]) -> list[tuple[float, bool]]:
    """Return each confidence, and whether its answer is right."""
    rated = ((item.answer.confidence, item.judgement.right) for item in answers)
    return [(confidence, right) for confidence, right in rated if confidence is not None]


def _auroc(answers: Sequence[JudgedAnswer]) -> float | None:
    good, others = ([c for c, right in _rated(answers) if right is of] for of in (True, False))
    return separation(good, others) if good and others else None


def _ece(answers: Sequence[JudgedAnswer]) -> float | None:
    rated = _rated(answers)
    return calibration_error([c for c, _ in rated], [r for _, r in rated]) if rated else None


FIGURES = (
    Figure("right", "Right", "right", lambda found: found.right, _is_answerable),
    Figure("right_first", "Right in the first sentence", "first",
           lambda found: found.right_first, _is_answerable),
    Figure("found", "Answer in the passages found", "found",
           lambda found: found.found, _is_answerable),
    Figure("cited", "Cites a gold document", "cited", lambda found: found.cites_gold),
    Figure("noise", "Sentences that are noise", "noise", lambda found: found.noise),
    Figure("words", "Words in an answer", "words", lambda found: found.words,
           lambda item: _is_answerable(item) and _is_answered(item), scale=1),
    Figure("short", "Gives a short answer", "short",
           lambda found: found.short_right is not None, _is_answered),
    Figure("short_right", "Right short answers", "short ok", lambda found: found.short_right),
    Figure("refused_rightly", "Refused rightly", "refused",
           lambda found: not found.answered, lambda item: not _is_answerable(item)),
    Figure("refused_wrongly", "Refused wrongly", "wrongly",
           lambda found: not found.answered, _is_answerable),
    Figure("auroc", "AUROC of the confidence", measure=_auroc, scale=1, form=".3f"),
    Figure("ece", "ECE of the confidence", measure=_ece, scale=1, form=".3f"),
    Figure("median_ms", "ms a question", scale=1, form=",.0f", digits=3,
           measure=lambda answers: 1000 * median(item.seconds for item in answers)),
    Figure("median_cpu_ms", "CPU ms a question", scale=1, form=",.0f", digits=3,
           measure=lambda answers: 1000 * median(item.cpu_s for item in answers)),
    Figure("tokens", "Model tokens a question", scale=1, form=",.0f", digits=1,
           measure=lambda answers: fmean(item.tokens for item in answers)),
)  # fmt: skip
"""All figures of answers. `docs/evaluation.md` defines them."""

MEANS = tuple(figure for figure in FIGURES if figure.measure is None)
"""The figures that each answer has a value of."""


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """The figures of a group of questions by name, without those that apply to none of them."""

    questions: int
    figures: dict[str, float]


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """All figures of a run, and the means of each type of question.

    ``right`` is the share of right answers with its 95 % interval, None if no question is
    answerable.
    """

    overall: GroupFigures
    by_type: dict[str, GroupFigures]
    right: MeanEstimate | None


def measure_answers(answers: Sequence[JudgedAnswer]) -> AnswerFigures:
    """Compute the figures of all answers, and by type if the questions have types.

    Raises ValueError if there are no answers.
    """
    if not answers:
        raise ValueError("Expected at least one answer.")
    types = dict.fromkeys(item.question.type for item in answers)
    of_type = {
        name: [item for item in answers if item.question.type == name]
        for name in types
        if types.keys() != {""}
    }
    return AnswerFigures(
        overall=_measure_group(answers, FIGURES),
        by_type={name: _measure_group(items, MEANS) for name, items in of_type.items()},
        right=estimate_mean([v for item in answers for v in FIGURES[0].values(item)]),
    )


def compare_answers(
    first: Sequence[JudgedAnswer], second: Sequence[JudgedAnswer], *, names: tuple[str, str]
) -> list[MetricDifference]:
    """Compare two runs over the same questions, figure by figure.

    Each figure is compared on the questions that it applies to in both runs, so words and noise on
    those that both answered. Raises ValueError if the questions or their order differ.
    """
    if [item.question for item in first] != [item.question for item in second]:
        raise ValueError("Expected the same questions in the same order.")
    compared = []
    for figure in MEANS:
        both = [
            (fmean(one), fmean(other))
            for one, other in zip(
                map(figure.values, first), map(figure.values, second), strict=True
            )
            if one and other
        ]
        if both:
            found = compare_paired([a for a, _ in both], [b for _, b in both])
            run = MetricDifference(
                **asdict(found), first=names[0], second=names[1], metric=figure.name
            )
            compared.append(run)
    return compared


def _measure_group(answers: Sequence[JudgedAnswer], figures: Iterable[Figure]) -> GroupFigures:
    found = {figure.name: figure.of(answers) for figure in figures}
    return GroupFigures(len(answers), {k: v for k, v in found.items() if v is not None})


@dataclass(frozen=True, slots=True)
class AnswerRun:
    """The answers under one choice of settings, and their figures; ``missing`` are gold documents
    that are not in the index.
    """

    name: str
    store: str
    answers: tuple[JudgedAnswer, ...]
    measured: AnswerFigures
    missing: tuple[str, ...]


def describe_answer_runs(
    questions: Sequence[AnswerQuestion], runs: Sequence[AnswerRun], *, file: str = ""
) -> dict[str, Any]:
    """Return runs over the same questions as one JSON object; shares are from 0 to 1."""
    first, *others = runs
    return {
        "file": file,
        "questions": len(questions),
        "unanswerable": sum(not question.is_answerable for question in questions),
        "settings": {run.name: _describe_run(run) for run in runs},
        "comparisons": [
            asdict(item)
            for other in others
            for item in compare_answers(
                first.answers, other.answers, names=(first.name, other.name)
            )
        ],
        "cases": [
            {
                "id": question.id,
                "line": question.line,
                "question": question.text,
                "type": question.type,
                "expected": [list(alternatives) for alternatives in question.answers],
                "results": {run.name: _describe_answer(run.answers[number]) for run in runs},
            }
            for number, question in enumerate(questions)
        ],
    }


def _describe_run(run: AnswerRun) -> dict[str, Any]:
    measured, right = run.measured, run.measured.right
    return {
        "store": run.store,
        **_describe_group(measured.overall, FIGURES),
        "right_interval": [rounded(right.low), rounded(right.high)] if right else None,
        "missing_documents": list(run.missing),
        "by_type": {
            name: _describe_group(found, MEANS) for name, found in measured.by_type.items()
        },
    }


def _describe_group(group: GroupFigures, figures: Iterable[Figure]) -> dict[str, Any]:
    found = {f.name: rounded(group.figures.get(f.name), f.digits) for f in figures}
    return {"questions": group.questions, **found}


def _describe_answer(item: JudgedAnswer) -> dict[str, Any]:
    judgement, answer = item.judgement, item.answer
    return {
        "correct": item.is_correct,
        **fields_of(judgement, "right", "right_first", "found", "answered", "short_right", "words"),
        "cited": judgement.cites_gold,
        "noise": list(judgement.noise),
        "answer": answer.text,
        "short": answer.short,
        "documents": [citation.document for citation in answer.citations],
        "confidence": rounded(answer.confidence),
        "ms": round(1000 * item.seconds, 3),
        "cpu_ms": round(1000 * item.cpu_s, 3),
        "tokens": item.tokens,
        "notes": list(answer.notes),
    }


def rounded(value: float | None, digits: int = 4) -> float | None:
    """Return a figure as it is printed in JSON."""
    return None if value is None else round(value, digits)
