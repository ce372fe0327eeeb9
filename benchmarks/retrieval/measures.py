"""From what was retrieved for a question to its values, from 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from budgets import (
    first_characters,
    first_tokens,
    share_found,
    share_of_sentences_found,
    share_of_words_found,
)
from sets import BenchmarkSet

from knotwork._config import AnswerSettings
from knotwork._extensions.evaluation.metrics import (
    contains_answer,
    hits,
    is_verdict,
)
from knotwork._extensions.evaluation.questions import EvaluationCase
from knotwork._stores.base import Store
from knotwork._synthesis.extractive_answers import (
    compose_answer,
    estimate_confidence,
    rank_candidates,
    rank_pieces,
)
from knotwork._text.plain_text import show_sentence
from knotwork.records import Evidence

ANSWER_HITS = 10
"""The passages that an answer is taken from: the default of `retrieval.k`."""

READ_PASSAGES = 5
CHARACTER_BUDGET = 1_200
TOKEN_BUDGET = 1_000

ALWAYS = AnswerSettings(abstain_below=0.0)
"""Answers even where it would abstain: what abstaining does is measured apart."""


def measure_ranking(
    measured: BenchmarkSet,
    case: EvaluationCase,
    ranked: Sequence[str],
    metrics: Mapping[str, float],
) -> dict[str, float]:
    """Return the metrics over passages, as far as the set has gold passages."""
    if not case.gold:
        return {}
    values = dict(metrics)
    if measured.folder == "multihoprag_lite":
        values |= {f"hits@{k}": hits(ranked, case.gold, k=k) for k in (4, 10)}
    return values


def measure_budget(
    measured: BenchmarkSet, case: EvaluationCase, evidence: Evidence
) -> dict[str, float]:
    """Return what of the gold stands in the first part of what was retrieved."""
    texts = [hit.chunk.text for hit in evidence.hits]
    record: dict[str, Any] = case.record or {}
    if measured.kind == "characters":
        gold = record["gold_sentences"]
        text = first_characters(texts, CHARACTER_BUDGET)
        return {
            "gold_found": share_found(gold, text),
            "gold_sentences_found": share_of_sentences_found(gold, text),
        }
    if measured.kind == "tokens":
        text = first_tokens(texts, TOKEN_BUDGET)
        return {"word_recall": share_of_words_found(record["evidence"], text)}
    return {}


def answer_confidence(evidence: Evidence, store: Store) -> float:
    """Return how likely the answer of `knotwork ask` is right."""
    first = replace(evidence, hits=evidence.hits[:ANSWER_HITS])
    return estimate_confidence(first, rank_pieces(first, rank_candidates(first), store))


def measure_answer(
    measured: BenchmarkSet, case: EvaluationCase, evidence: Evidence, store: Store
) -> dict[str, float]:
    """Return whether the answer, and whether the first passages, hold a known answer."""
    if not measured.answers or not case.answers or is_verdict(case.answers):
        return {}
    first = replace(evidence, hits=evidence.hits[:ANSWER_HITS])
    answer = compose_answer(first, store=store, settings=ALWAYS)
    text = " ".join(show_sentence(citation.quote) for citation in answer.citations)
    passages = "\n".join(
        f"{hit.chunk.context}\n{hit.chunk.text}" for hit in evidence.hits[:READ_PASSAGES]
    )
    return {
        "answer_contained": float(contains_answer(text, case.answers)),
        "answer_in_passages": float(contains_answer(passages, case.answers)),
        "answer_characters": float(len(text)),
    }
