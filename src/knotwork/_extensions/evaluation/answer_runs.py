"""Ask a knowledge base questions with known answers, and judge its answers.

An answer is right if it contains the expected strings. No model judges, so equal answers always get
equal judgements.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Unpack

from knotwork._extensions.evaluation.answer_questions import (
    AnswerQuestion,
    normalize_as_printed,
    states,
    states_all,
)
from knotwork._inference.call_budget import Ceiling, parse_ceiling
from knotwork._knowledge_base import KnowledgeBase
from knotwork._run import Stage
from knotwork._synthesis.ask_request import AskOptions
from knotwork._text.chinese import HAN_AND_KANA, HAN_OR_KANA
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
    return not any(_overlap(words, _words(quote)) for quote in question.quotes)


def _overlap(words: frozenset[str], gold: frozenset[str]) -> bool:
    shorter = min(len(words), len(gold))
    return bool(gold) and len(words & gold) >= NOISE_OVERLAP * shorter


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
