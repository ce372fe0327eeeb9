"""Asking known questions of a knowledge base, as `knotwork ask` does, and judging the answers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Unpack

from knotwork.evaluation.answer_questions import AnswerQuestion
from knotwork.evaluation.judging import Judgement, is_named, judge
from knotwork.evaluation.purse import Purse
from knotwork.knowledge_base import KnowledgeBase
from knotwork.records import Answer
from knotwork.retrieval.filters import FilterSpec
from knotwork.synthesis.asking import AskOptions


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """A question, its answer and what is true of it; ``cpu_s`` is the time of all threads."""

    question: AnswerQuestion
    answer: Answer
    judgement: Judgement
    seconds: float
    cpu_s: float

    @property
    def is_correct(self) -> bool:
        """Whether it is right, or refused where the documents hold no answer."""
        if self.question.is_answerable:
            return self.judgement.right
        return not self.judgement.answered

    @property
    def tokens(self) -> int:
        """Tokens that a language model read and wrote for it."""
        return self.answer.usage.input_tokens + self.answer.usage.output_tokens


def ask_questions(
    knowledge_base: KnowledgeBase,
    questions: Iterable[AnswerQuestion],
    *,
    filters: FilterSpec | None = None,
    **options: Unpack[AskOptions],
) -> Iterator[JudgedAnswer]:
    """Ask each question with these filters and options, and yield its answer judged.

    ``budget`` is for all questions together. With one, ``fallback`` is off by default: answers
    that are quoted once it is reached would pass for those of the model. Raises as
    `KnowledgeBase.ask`.
    """
    purse = Purse(options.pop("budget", ""))
    options.setdefault("fallback", not purse.left())
    for question in questions:
        purse.check()
        options["budget"] = purse.left()
        started, cpu_started = time.perf_counter(), time.process_time()
        answer: Answer | None = None
        passages: list[str] = []
        for event in knowledge_base.ask_events(question.text, filters=filters, **options):
            answer = event.answer or answer
            if event.evidence is not None:
                hits = event.evidence.hits
                passages = [f"{hit.chunk.context}\n{hit.chunk.text}" for hit in hits]
        seconds, cpu_s = time.perf_counter() - started, time.process_time() - cpu_started
        assert answer is not None, "the last event has the answer"
        judged = JudgedAnswer(question, answer, judge(question, answer, passages), seconds, cpu_s)
        purse.take(judged.tokens, answer.usage.money)
        yield judged


def evaluate_answers(
    knowledge_base: KnowledgeBase,
    questions: Iterable[AnswerQuestion],
    *,
    filters: FilterSpec | None = None,
    **options: Unpack[AskOptions],
) -> list[JudgedAnswer]:
    """Ask all questions and return the judged answers; see `measure_answers` for the figures."""
    return list(ask_questions(knowledge_base, questions, filters=filters, **options))


def missing_documents(
    knowledge_base: KnowledgeBase, questions: Sequence[AnswerQuestion]
) -> dict[str, AnswerQuestion]:
    """Return the gold documents that the index does not hold, each with a question that names it.

    A misspelt name would otherwise count as a wrong citation.
    """
    uris = [entry.uri for entry in knowledge_base.documents()]
    missing: dict[str, AnswerQuestion] = {}
    for question in questions:
        for name in question.documents:
            if name not in missing and not any(is_named(uri, name) for uri in uris):
                missing[name] = question
    return missing
