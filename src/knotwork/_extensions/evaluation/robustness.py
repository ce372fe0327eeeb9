"""Answer questions from chosen passages: with noise, without the gold ones, with a changed fact.

The conditions are those of RGB (Chen et al., "Benchmarking Large Language Models in
Retrieval-Augmented Generation", arXiv 2309.01431), made from the user's own questions and index.
The fact that answers a question is a number, a date or a name. How it changes depends on the
question and the passages only, so that runs can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from knotwork._extensions.evaluation.answer_runs import is_named
from knotwork._extensions.evaluation.judge import ask_judge
from knotwork._extensions.evaluation.metrics import MeanEstimate, bootstrap_mean, is_verdict
from knotwork._extensions.evaluation.questions import (
    AnswerQuestion,
    normalize_as_printed,
    states,
    states_all,
)
from knotwork._inference.chat import ChatModel
from knotwork._inference.own_prompts import prompts_of
from knotwork._knowledge_base import KnowledgeBase
from knotwork._text.dates import MONTHS
from knotwork._text.languages import HAN_OR_KANA
from knotwork.errors import Unparsable
from knotwork.records import Answer, Chunk, content_id

_NUMBER = re.compile(r"(?<![\d.,])\d+(?:[.,]\d+)*")
_MONTHS = tuple(map(str.title, MONTHS))
_MONTH = re.compile(rf"\b(?:{'|'.join(_MONTHS)})\b", re.IGNORECASE)
_MADE_UP = ("Alder Voss", "Marit Quill", "Teodor Hask", "Ines Corvall")
_MADE_UP_HAN = ("林若舟", "沈知远", "陆怀瑾", "秦望舒")
_FIRST_YEAR, _LAST_YEAR = 1010, 2100
_TRIES = 9


@dataclass(frozen=True, slots=True)
class ChangedFact:
    """Passages in which a fact was changed.

    ``original`` are the alternatives of the part of the expected answer that they stated,
    ``changed`` the strings that replace these.
    """

    passages: tuple[str, ...]
    original: tuple[str, ...]
    changed: tuple[str, ...]


def change_fact(
    question: AnswerQuestion, passages: Sequence[str], others: Sequence[AnswerQuestion] = ()
) -> ChangedFact | None:
    """Return the passages with one part of the expected answer changed, None if no part can be.

    A number becomes another of the same length, a year one at most nine years off, a month the
    name of another month, and any other string the most alike answer to one of the ``others`` of
    the same type and script, or a made-up name. All places that state the part are changed. "yes"
    and "no", and what the passages do not state, cannot be changed.
    """
    for alternatives in question.answers:
        is_stated = any(states(passage, alternatives) for passage in passages)
        if not is_stated or is_verdict(alternatives):
            continue
        for change in _changes(question, alternatives, passages, others):
            changed = tuple(dict.fromkeys(map(change, alternatives)))
            texts = tuple(map(change, passages))
            keeps_fact = any(states(text, alternatives) for text in texts)
            if not keeps_fact and any(states(text, changed) for text in texts):
                return ChangedFact(texts, alternatives, changed)
    return None


def _changes(
    question: AnswerQuestion,
    alternatives: Sequence[str],
    passages: Sequence[str],
    others: Sequence[AnswerQuestion],
) -> Iterator[Callable[[str], str]]:
    """Yield functions that change a text, the most fitting first."""
    seed = int(content_id(question.text, *alternatives), 16)
    everything = "\n".join((*passages, *alternatives))
    numbers = [number for text in alternatives for number in _NUMBER.findall(text)]
    if numbers:
        longest = max(numbers, key=len)
        other = _other_number(longest, seed, everything)
        yield lambda text: _NUMBER.sub(lambda m: other if m[0] == longest else m[0], text)
    months = [month for text in alternatives for month in _MONTH.findall(text)]
    if months:
        place = [name.casefold() for name in _MONTHS].index(months[0].casefold())
        month = _MONTHS[(place + 1 + seed % (len(_MONTHS) - 1)) % len(_MONTHS)]
        yield lambda text: re.sub(rf"\b{months[0]}\b", month, text, flags=re.IGNORECASE)
    name = _other_name(question, alternatives, everything, others, seed)
    pattern = _pattern_of(alternatives)
    yield lambda text: pattern.sub(lambda _match: name, text)


def _other_number(number: str, seed: int, taken: str) -> str:
    """Return a number with as many digits that does not occur in a text, if there is one."""
    known = set(_NUMBER.findall(taken))
    other = number
    for turn in range(_TRIES):
        step = 1 + (seed + turn) % _TRIES
        if number.isdecimal() and len(number) == 4 and _FIRST_YEAR <= int(number) < _LAST_YEAR:
            other = str(int(number) - step)
        else:
            # The first digit decides the size, so it is the last one that changes.
            other = f"{number[:-1]}{(int(number[-1]) + step) % 10}"
        if other not in known:
            break
    return other


def _other_name(
    question: AnswerQuestion,
    alternatives: Sequence[str],
    taken: str,
    others: Sequence[AnswerQuestion],
    seed: int,
) -> str:
    is_wide = bool(HAN_OR_KANA.search(alternatives[0]))
    answers = [
        part[0]
        for other in others
        if other.type == question.type
        for part in other.answers[:1]
        if not is_verdict(part) and not _NUMBER.search(part[0])
    ]
    made_up = _MADE_UP_HAN if is_wide else _MADE_UP
    fitting = [
        name
        for name in dict.fromkeys(answers)
        if bool(HAN_OR_KANA.search(name)) == is_wide and not states(taken, [name])
    ]
    if fitting:
        return min(fitting, key=lambda name: (*_unlikeness(name, alternatives[0]), name))
    return made_up[seed % len(made_up)]


def _unlikeness(name: str, other: str) -> tuple[bool, int, int]:
    """Return how much a name differs from another in capitals, number of words and length."""
    is_cased_alike = name[0].isupper() == other[0].isupper()
    words = abs(len(name.split()) - len(other.split()))
    return not is_cased_alike, words, abs(len(name) - len(other))


def _pattern_of(alternatives: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern of all alternatives as whole words, the longest first."""
    options = []
    for text in sorted(filter(str.strip, alternatives), key=len, reverse=True):
        words = r"\s+".join(map(re.escape, text.split()))
        is_wide = bool(HAN_OR_KANA.search(text))
        left = r"(?<!\w)" if text.strip()[0].isalnum() and not is_wide else ""
        right = r"(?!\w)" if text.strip()[-1].isalnum() and not is_wide else ""
        options.append(f"{left}{words}{right}")
    return re.compile("|".join(options), re.IGNORECASE)


NOISE_RATIOS = (0.0, 0.5, 0.8)
"""Shares of noise among the passages of the noise conditions."""
MOST_NOISE = 8
"""Noise passages that one question gets at most."""
REJECTION_PASSAGES = 5
"""Passages of the condition without gold passages, as in RGB."""
_SEARCHED = 40


class Condition(StrEnum):
    """What the passages of a trial are."""

    NOISE = "noise"
    """The gold passages, with a share of noise."""
    WITHOUT_GOLD = "without_gold"
    """Noise alone: the right answer is a refusal."""
    COUNTERFACTUAL = "counterfactual"
    """The gold passages with a changed fact."""
    CONFLICT = "conflict"
    """The gold passages, and beside them those with the changed fact."""


class Outcome(StrEnum):
    """What an answer says where a fact was changed."""

    ORIGINAL = "original"
    CHANGED = "changed"
    BOTH = "both"
    REFUSED = "refused"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class GivenPassage:
    """A passage that an answer is made of."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class QuestionPassages:
    """The gold passages of a question, one for each gold document, and noise, the nearest first."""

    question: AnswerQuestion
    gold: tuple[GivenPassage, ...]
    noise: tuple[GivenPassage, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """A question under one condition. ``fact`` is the changed fact, ``ratio`` the noise wanted."""

    question: AnswerQuestion
    condition: Condition
    passages: tuple[GivenPassage, ...]
    ratio: float = 0.0
    gold: int = 0
    noise: int = 0
    fact: ChangedFact | None = None


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The answer of a trial.

    ``right`` is whether it has all parts of the expected answer, ``outcome`` is set where a fact
    was changed. ``judged`` is the verdict of a judge: that the words of an answer without gold
    passages refuse, or that one from changed passages notices a fault. It is None without a judge,
    and if ``unreadable``.
    """

    trial: Trial
    text: str
    answered: bool
    right: bool
    outcome: Outcome | None = None
    judged: bool | None = None
    unreadable: bool = False


@dataclass(frozen=True, slots=True)
class RobustnessFigure:
    """A share of trials with its 95 % interval; ``estimate`` is None without trials.

    ``unreadable`` trials are not counted, since the judge's reply could not be read.
    """

    name: str
    label: str
    needs_judge: bool
    trials: int
    estimate: MeanEstimate | None
    unreadable: int = 0


Answerer = Callable[[str, Sequence[GivenPassage]], Answer]
"""Answers a question from the given passages alone."""


def find_passages(
    knowledge_base: KnowledgeBase,
    questions: Iterable[AnswerQuestion],
    *,
    filters: Sequence[str] = (),
) -> Iterator[QuestionPassages]:
    """Yield the gold passages of each question and noise; skip one without an answer or documents.

    The gold passage of a document has a quote of the question, else states most parts of the
    answer, else is the best that is found. Noise is what a search finds in other documents that
    states no part of the answer. Raises as `KnowledgeBase.search`.
    """
    documents = knowledge_base.store.documents
    entries = [entry for entry in knowledge_base.documents() if entry.document_id]
    for question in questions:
        if not question.is_answerable or not question.documents:
            continue
        gold_ids = [
            entry.document_id
            for entry in entries
            if any(is_named(entry.uri, name) for name in question.documents)
        ]
        if not gold_ids:
            continue
        hits = knowledge_base.search(question.text, k=_SEARCHED, filters=filters).hits
        found = [hit.chunk for hit in hits]
        ranks = {chunk.id: -rank for rank, chunk in enumerate(found)}
        gold: list[GivenPassage] = []
        for chunk_ids in documents.chunk_ids_of(gold_ids).values():
            chunks = [c for c in documents.chunks(chunk_ids).values() if not c.is_parent]
            if chunks:
                worth = {c.id: (*_worth(question, c), ranks.get(c.id, -_SEARCHED)) for c in chunks}
                gold.append(_given(max(chunks, key=lambda c: worth[c.id])))
        noise = [
            _given(chunk)
            for chunk in found
            if chunk.document_id not in gold_ids
            and not any(states(chunk.searched_text, part) for part in question.answers)
        ]
        yield QuestionPassages(question, tuple(gold), tuple(dict.fromkeys(noise))[:MOST_NOISE])


def make_trials(
    found: Sequence[QuestionPassages], *, ratios: Sequence[float] = NOISE_RATIOS
) -> list[Trial]:
    """Return the trials of questions under all conditions that can be made for them.

    With ``g`` gold passages, a ratio ``r`` from 0 to below 1 adds ``g r / (1 - r)`` noise passages,
    rounded; a trial that would have none is left out, as is one whose fact cannot be changed.
    """
    trials = []
    questions = [item.question for item in found]
    for item in found:
        for ratio in ratios:
            wanted = round(len(item.gold) * ratio / (1 - ratio))
            noise = item.noise[:wanted]
            if bool(noise) == bool(ratio):
                trials.append(_trial(item, Condition.NOISE, item.gold, noise, ratio=ratio))
        if item.noise:
            alone = item.noise[:REJECTION_PASSAGES]
            trials.append(_trial(item, Condition.WITHOUT_GOLD, (), alone))
        others = [question for question in questions if question is not item.question]
        texts = [text for passage in item.gold for text in (passage.title, passage.text)]
        fact = change_fact(item.question, texts, others)
        if fact is not None:
            pairs = zip(fact.passages[::2], fact.passages[1::2], strict=True)
            changed = tuple(GivenPassage(title, text) for title, text in pairs)
            trials.append(_trial(item, Condition.COUNTERFACTUAL, changed, (), fact=fact))
            both = tuple(dict.fromkeys((*item.gold, *changed)))
            trials.append(_trial(item, Condition.CONFLICT, both, (), fact=fact))
    return trials


def run_trials(
    trials: Iterable[Trial], answerer: Answerer, *, judge: ChatModel | None = None
) -> Iterator[TrialResult]:
    """Yield the result of each trial, in order.

    A ``judge`` is asked only about answers without gold passages and answers from changed ones.
    Raises as the answerer and as `ChatModel.complete`.
    """
    for trial in trials:
        result = read_result(trial, answerer(trial.question.text, trial.passages))
        if judge is not None and result.answered and trial.condition is not Condition.NOISE:
            task = "refusal" if trial.condition is Condition.WITHOUT_GOLD else "notice"
            asked, prompts = trial.question.text, prompts_of(judge)
            call = ask_judge(task, asked, answer=result.text, prompts=prompts)
            try:
                result = replace(result, judged=call.send(judge)[0])
            except Unparsable:
                result = replace(result, unreadable=True)
        yield result


def read_result(trial: Trial, answer: Answer) -> TrialResult:
    """Return the result of a trial, by the strings in its answer."""
    right = answer.answered and states_all(answer.text, trial.question.answers)
    outcome = None
    if trial.fact is not None:
        original = states(answer.text, trial.fact.original)
        changed = states(answer.text, trial.fact.changed)
        if not answer.answered:
            outcome = Outcome.REFUSED
        elif original and changed:
            outcome = Outcome.BOTH
        elif original or changed:
            outcome = Outcome.ORIGINAL if original else Outcome.CHANGED
        else:
            outcome = Outcome.OTHER
    return TrialResult(trial, answer.text, answer.answered, right, outcome)


def measure_robustness(
    results: Sequence[TrialResult], *, judged: bool, seed: int = 0
) -> list[RobustnessFigure]:
    """Return all figures; those that need a judge only if the results were ``judged``."""
    return [
        RobustnessFigure(
            name,
            label,
            needs_judge,
            len(known := [float(value) for value in values if value is not None]),
            bootstrap_mean(known, seed=seed),
            len(values) - len(known),
        )
        for name, label, needs_judge, values in _figures(results)
        if judged or not needs_judge
    ]


def _figures(results: Sequence[TrialResult]) -> Iterator[tuple[str, str, bool, list[bool | None]]]:
    """Yield the name and label of each figure, whether a judge is needed, and the values."""
    of = {c: [r for r in results if r.trial.condition is c] for c in Condition}
    noise, alone = of[Condition.NOISE], of[Condition.WITHOUT_GOLD]
    ratios = sorted({result.trial.ratio for result in noise})
    for name, label, least in (
        ("noise", "Right with", 0),
        ("integration", "Right from several documents,", 2),
    ):
        for ratio in ratios:
            right = [r.right for r in noise if r.trial.ratio == ratio and r.trial.gold >= least]
            yield f"{name}_{ratio:g}", f"{label} {ratio:.0%} noise", False, [*right]
    refused = [not r.answered for r in alone]
    yield "rejection", "Refused without gold passages", False, [*refused]
    in_words = [True if not r.answered else _verdict(r) for r in alone]
    yield "rejection_judged", "Refused, or refuses in words", True, in_words
    for condition, place in (
        (Condition.COUNTERFACTUAL, "With a changed fact:"),
        (Condition.CONFLICT, "With both versions:"),
    ):
        own = of[condition]
        for outcome, label in _OUTCOMES.items():
            found = [r.outcome is outcome for r in own]
            yield f"{condition}_{outcome}", f"{place} {label}", False, [*found]
        yield f"{condition}_noticed", f"{place} notices", True, [_verdict(r) for r in own]
        right = [r.outcome is Outcome.ORIGINAL for r in own if r.judged]
        label = f"{place} original fact, of those that notice"
        yield f"{condition}_corrected", label, True, [*right]


_OUTCOMES = {
    Outcome.ORIGINAL: "gives the original fact",
    Outcome.CHANGED: "follows the changed fact",
    Outcome.BOTH: "gives both",
    Outcome.REFUSED: "refuses",
    Outcome.OTHER: "gives neither",
}


def _verdict(result: TrialResult) -> bool | None:
    return None if result.unreadable else bool(result.judged)


def _worth(question: AnswerQuestion, chunk: Chunk) -> tuple[bool, int]:
    """Return whether a chunk has a quote, and how many parts of the answer it states."""
    text = normalize_as_printed(chunk.text)
    quoted = any(normalize_as_printed(quote) in text for quote in question.quotes)
    return quoted, sum(states(chunk.text, part) for part in question.answers)


def _given(chunk: Chunk) -> GivenPassage:
    return GivenPassage(chunk.context, chunk.text)


def _trial(
    item: QuestionPassages,
    condition: Condition,
    gold: Sequence[GivenPassage],
    noise: Sequence[GivenPassage],
    *,
    ratio: float = 0.0,
    fact: ChangedFact | None = None,
) -> Trial:
    # Gold passages are at any place, as in RGB, and at the same one in every run.
    mixed = sorted((*gold, *noise), key=lambda p: content_id(item.question.text, p.title, p.text))
    number = len(item.gold) if condition is not Condition.WITHOUT_GOLD else 0
    return Trial(item.question, condition, tuple(mixed), ratio, number, len(noise), fact)
