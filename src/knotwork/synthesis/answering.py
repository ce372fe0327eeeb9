"""Composing an answer from sentences of the sources, each with its citation."""

from __future__ import annotations

from collections.abc import Sequence

from knotwork.config import AnswerSettings
from knotwork.records import Answer, Evidence, Usage
from knotwork.stores.base import Store
from knotwork.synthesis.citing import (
    cite_sentences,
    gap_before_mark,
    gap_between,
    show_sentence,
)
from knotwork.synthesis.messages import no_answer, no_match
from knotwork.synthesis.ordering import order_sentences
from knotwork.synthesis.path_answers import compose_path_answer, find_leading_path
from knotwork.synthesis.selection import Selected, select_sentences
from knotwork.text.languages import detect_language

NO_EVIDENCE = "no_evidence"
LOW_CONFIDENCE = "low_confidence"


def compose_answer(
    evidence: Evidence,
    *,
    store: Store,
    settings: AnswerSettings | None = None,
    usage: Usage | None = None,
) -> Answer:
    """Answer with the sentences of the evidence that answer best, or say that there is none.

    Where a path of the graph very likely leads to the answer, what it leads to is the answer.
    With less confidence than ``settings.abstain_below`` no answer is given: the citations are then
    the nearest passages. No model is called.
    """
    settings = settings or AnswerSettings()
    path = find_leading_path(evidence, least=settings.abstain_below)
    if path is not None:
        led = compose_path_answer(evidence, path, store=store, settings=settings, usage=usage)
        if led is not None:
            return led
    question = evidence.query.text
    language = detect_language(question)
    chosen = order_sentences(select_sentences(evidence, most=settings.max_sentences), evidence)
    citations = cite_sentences(chosen, store)
    answered = bool(chosen) and evidence.confidence >= settings.abstain_below
    if answered:
        text, reason = _join(chosen), ""
    elif chosen:
        text, reason = no_answer(language), LOW_CONFIDENCE
    else:
        text, reason = no_match(language), NO_EVIDENCE
    return Answer(
        question=question,
        text=text,
        answered=answered,
        citations=citations,
        reason=reason,
        confidence=evidence.confidence,
        retriever=evidence.retriever,
        usage=usage or Usage(),
    )


def _join(sentences: Sequence[Selected]) -> str:
    """Return the sentences with their marks, spaced as the scripts on both sides of a gap ask.

    Chinese and Japanese are written without spaces: a sentence of theirs has its mark right behind
    it, and the next one right behind that.
    """
    text, before = "", ""
    for number, item in enumerate(sentences, start=1):
        shown = show_sentence(item.text)
        text += (gap_between(before, shown) if text else "") + shown
        text += f"{gap_before_mark(shown)}[{number}]"
        before = shown
    return text
