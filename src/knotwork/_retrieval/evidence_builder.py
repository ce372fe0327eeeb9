"""Turn ranked chunks into evidence: hits with their reasons, and a confidence.

The confidence is the probability that the first hits contain an answer. It is a logistic function
of four features that separate answerable questions from others: the best cosine, the largest
share of the question that one passage covers, the share of the question whose words the index does
not contain, and the length of the question (long ones are covered less). It was fitted on
answerable questions of six development sets, MultiHop-RAG's questions without an answer, and
questions asked of another set's corpus (benchmarks/results/abstention.md).

Cosines differ between embedders, so they count only for the embedder they were fitted with. Chinese
has its own models, because bigrams that span two words are rare. A small index contains few words,
so its unknown words count less. If question and passages are in different scripts, words do not
match and cosines are smaller: there only the best sentence counts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from knotwork._inference.embedder import Embedder
from knotwork._retrieval.chunk_features import (
    ChunkFeatures,
    Features,
    rank_sentences,
)
from knotwork._retrieval.question import Question, read_question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork._stores.base import Scored, Store
from knotwork._text.languages import detect_language
from knotwork.records import Evidence, Hit, Query, Step

CORRECTED = "No document has “{written}”: searched for “{meant}”."


def parts_of_base(features: Features) -> dict[str, float]:
    """Return the readable parts of a base score."""
    best = float(features.sentences.max()) if features.sentences.size else 0.0
    return {
        "cosine": features.cosine,
        "best_sentence": best,
        "coverage": features.coverage,
        "bm25": features.bm25,
    }


def rank_evidence(
    query: Query,
    scores: Mapping[str, float],
    *,
    retriever: str,
    store: Store,
    embedder: Embedder | None = None,
) -> Evidence:
    """Return the ``query.k`` chunks with the best scores, by chunk id, as the evidence of a
    retriever.

    Each hit has the relevance of its sentences to the question, from which answers are made; with
    an embedder, vectors decide it too. The confidence is that of a search by words.
    """
    question = read_question(
        query.text, store=store, embedder=embedder, weights=DEFAULT_WEIGHTS, link=False
    )
    ranked = rank(scores, query.k)
    features = ChunkFeatures(question, store, ranked)
    parts = {item.id: {retriever: item.score} for item in ranked}
    return make_evidence(query, retriever, ranked, parts, features)


def make_evidence(
    query: Query,
    retriever: str,
    ranked: Sequence[Scored],
    parts: Mapping[str, dict[str, float]],
    features: ChunkFeatures,
    *,
    seeds: Mapping[str, tuple[str, ...]] | None = None,
    paths: Mapping[str, tuple[Step, ...]] | None = None,
) -> Evidence:
    """Read the chunks of ``ranked`` and return them as hits with scores, seeds, paths and
    sentences.

    ``parts``, ``seeds`` and ``paths`` are by chunk id. Chunks that no longer exist are left out.
    """
    question = features.question
    ids = [item.id for item in ranked]
    features.fetch(ids)
    chunks = features.store.documents.chunks(ids)
    hits = tuple(
        Hit(
            chunk=chunks[item.id],
            score=float(item.score),
            scores=parts.get(item.id, {}),
            seeds=(seeds or {}).get(item.id, ()),
            path=(paths or {}).get(item.id, ()),
            sentences=rank_sentences(question, chunks[item.id], features[item.id]),
        )
        for item in ranked
        if item.id in chunks
    )
    confidence = estimate_confidence(ids, features)
    notes = tuple(
        CORRECTED.format(written=written, meant=meant)
        for written, meant in question.corrections.items()
    )
    return Evidence(query, retriever, hits, confidence, notes, embedder=question.embedder)


READ_HITS = 5
FULL_VOCABULARY = 300
"""Number of chunks from which an unknown word counts in full."""


class ConfidenceModel(NamedTuple):
    """Coefficients of the logistic function; below 0.5 no answer is expected."""

    intercept: float
    cosine: float
    coverage: float
    log_terms: float
    unknown: float


class CrossScriptModel(NamedTuple):
    """The similarity that a sentence in another script needs for a confidence of 0.5.

    ``from_alphabet`` applies to questions in an alphabet, ``from_han`` to those in Chinese,
    Japanese or Korean. ``steepness`` is the slope of the logistic function.
    """

    from_alphabet: float
    from_han: float
    steepness: float


WITH_VECTORS = {
    "local:all-MiniLM-L6-v2": ConfidenceModel(-11.32, 21.25, 7.74, -0.23, -12.16),
    "local:multilingual-e5-small": ConfidenceModel(-12.09, 20.83, 7.9, 1.03, -8.21),
}
"""Models by the name of the embedder."""
BIGRAMS_WITH_VECTORS = {
    "local:multilingual-e5-small": ConfidenceModel(-8.39, 12.36, 7.67, 0.6, -1.46),
}
"""Models by the name of the embedder, for questions in `BIGRAM_LANGUAGES`."""
ACROSS_SCRIPTS = {
    "local:multilingual-e5-small": CrossScriptModel(
        from_alphabet=0.1, from_han=0.22, steepness=40.0
    ),
}
"""Models by the name of the embedder, for embedders that support both scripts."""
TEXT_ALONE = ConfidenceModel(-6.78, 0.0, 13.2, 1.42, -13.63)
BIGRAMS_ALONE = ConfidenceModel(-4.69, 0.0, 19.16, -0.2, -3.22)
BIGRAM_LANGUAGES = frozenset({"zh", "ja", "ko"})
"""Languages indexed by pairs of characters; see knotwork._text.terms."""


def estimate_confidence(ids: Collection[str], features: ChunkFeatures) -> float:
    """Return the probability, from 0 to 1, that the first of these chunks contain an answer."""
    question, store = features.question, features.store
    read = list(ids)[:READ_HITS]
    if not read or not question.terms:
        return 0.0
    across = ACROSS_SCRIPTS.get(question.embedder)
    if across is None:
        return _within_script(question, [features[i] for i in read], store)
    chunks = store.documents.chunks(read)
    asks_in_han = is_in_han(question.text)
    same = [i for i in read if i not in chunks or is_in_han(chunks[i].text) == asks_in_han]
    other = [features[i] for i in read if i not in same]
    needed = across.from_han if asks_in_han else across.from_alphabet
    return max(
        _within_script(question, [features[i] for i in same], store) if same else 0.0,
        max(
            (logistic(across.steepness * (_best_sentence(item) - needed)) for item in other),
            default=0.0,
        ),
    )


def _within_script(question: Question, found: Sequence[Features], store: Store) -> float:
    in_han = is_in_han(question.text)
    model = BIGRAMS_ALONE if in_han else TEXT_ALONE
    fitted = WITH_VECTORS.get(question.embedder)
    if fitted is not None and any(item.cosine for item in found):
        model = BIGRAMS_WITH_VECTORS.get(question.embedder, fitted) if in_han else fitted
    # A small index has only a share of a language's common words.
    size = math.log(max(store.documents.chunk_count(), 1)) / math.log(FULL_VOCABULARY)
    unknown = (1.0 - question.known) * min(1.0, size) ** 2
    return logistic(
        model.intercept
        + model.cosine * max(item.cosine for item in found)
        + model.coverage * max(item.coverage for item in found)
        + model.log_terms * math.log(len(question.terms))
        + model.unknown * unknown
    )


def _best_sentence(features: Features) -> float:
    return float(features.sentences.max()) if features.sentences.size else features.cosine


def is_in_han(text: str) -> bool:
    """Return True for text in Chinese, Japanese or Korean."""
    return detect_language(text) in BIGRAM_LANGUAGES


def logistic(value: float) -> float:
    """Return 1 / (1 + exp(-value)) without overflow."""
    return 1.0 / (1.0 + math.exp(-max(min(value, 60.0), -60.0)))


def rank(scores: Mapping[str, float], k: int) -> Sequence[Scored]:
    """Return the ``k`` best, score descending, then id ascending."""
    ids = sorted(scores, key=lambda identifier: (-scores[identifier], identifier))[: max(k, 0)]
    return [Scored(identifier, scores[identifier]) for identifier in ids]
