"""Composing an answer from sentences of the sources, each with its citation."""

from __future__ import annotations

from knotwork.config import AnswerSettings
from knotwork.records import Answer, Evidence, Usage
from knotwork.stores.base import Store
from knotwork.synthesis.citing import cite_sentences, join_sentences
from knotwork.synthesis.confidence import estimate_confidence
from knotwork.synthesis.messages import no_match, not_clear
from knotwork.synthesis.ordering import order_sentences
from knotwork.synthesis.path_answers import compose_path_answer, find_leading_path
from knotwork.synthesis.query_answers import compose_query_answer, find_leading_result
from knotwork.synthesis.selection import rank_candidates, select_sentences, trust_in_reader
from knotwork.synthesis.short_answers import choose_short_answer
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
    """Answer with the sentences of the evidence that answer best, or say that nothing answers.

    Where a query was made of the question, its rows are the answer; where a path of the graph very
    likely leads to the answer, what it leads to is.
    With less confidence than ``settings.abstain_below`` no answer is given: the citations are then
    the nearest passages. No model is called.
    """
    settings = settings or AnswerSettings()
    result = find_leading_result(evidence, least=settings.abstain_below)
    if result is not None:
        return compose_query_answer(evidence, result, store=store, settings=settings, usage=usage)
    path = find_leading_path(evidence, least=settings.abstain_below)
    if path is not None:
        led = compose_path_answer(evidence, path, store=store, settings=settings, usage=usage)
        if led is not None:
            return led
    question = evidence.query.text
    language = detect_language(question)
    candidates = rank_candidates(evidence)
    confidence = estimate_confidence(evidence, candidates)
    chosen = select_sentences(
        candidates, most=settings.max_sentences, trust=trust_in_reader(evidence)
    )
    chosen = order_sentences(chosen, evidence)
    citations = cite_sentences(chosen, store)
    answered = bool(chosen) and confidence >= settings.abstain_below
    short = choose_short_answer(chosen[0], question, confidence=confidence) if answered else ""
    if answered:
        text, reason = join_sentences(chosen), ""
    elif chosen:
        text, reason = not_clear(language), LOW_CONFIDENCE
    else:
        text, reason = no_match(language), NO_EVIDENCE
    return Answer(
        question=question,
        text=text,
        answered=answered,
        citations=citations,
        reason=reason,
        confidence=confidence,
        retriever=evidence.retriever,
        usage=usage or Usage(),
        notes=evidence.notes,
        short=short,
    )
