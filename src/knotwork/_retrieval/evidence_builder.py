"""Turn ranked chunks into evidence: features of their text, hits with reasons, and a confidence.

The first stage finds candidates by vector and by full text. Features are the cosine, the best
sentence, the covered terms and BM25. Sentences are ranked by coverage and similarity.

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

import heapq
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._inference.embedder import Embedder, to_similarity
from knotwork._retrieval.question import Question, read_question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork._stores.base import FloatMatrix, IntMatrix, Scored, Store
from knotwork._text.languages import detect_language
from knotwork._text.statements import is_question
from knotwork._text.terms import held_terms
from knotwork.records import Chunk, Evidence, Hit, Query, Span, Step

Mask = NDArray[np.bool_]
Numbers = NDArray[np.float64]

_NOTHING: Numbers = np.zeros(0)


@dataclass(frozen=True, slots=True)
class Features:
    """The features of one chunk for one question.

    ``sentences`` are the cosines of its sentences with the question, ``sentences_rest`` those with
    the question without the names in it; both are empty without vectors. ``covered`` marks the
    question's terms that the chunk contains.
    """

    cosine: float
    rest: float
    sentences: Numbers
    sentences_rest: Numbers
    covered: Mask
    coverage: float
    bm25: float
    base: float


class ChunkFeatures(dict[str, Features]):
    """The features of chunks for one question, by id, fetched from the store in batches.

    ``bm25`` are the text candidates with their scores.
    """

    def __init__(
        self,
        question: Question,
        store: Store,
        bm25: Iterable[Scored] = (),
        *,
        weights: Weights = DEFAULT_WEIGHTS,
    ) -> None:
        self.question = question
        self.store = store
        self.weights = weights
        self._bm25 = dict(bm25)
        self._best_bm25 = max(self._bm25.values(), default=0.0) or 1.0
        if question.vector is not None:
            rest = question.vector if question.rest is None else question.rest
            self._vectors = np.stack([question.vector, rest])
        self._trust = 1.0 if question.vector is None else None
        self._pages = [
            link
            for link in question.links
            if link.about and link.about[0].score >= weights.link.title
        ]

    def _occurrences(self, ids: Sequence[str]) -> IntMatrix:
        """Return the counts of the question's terms; the first call decides the trust in words.

        The trust is the reliability of BM25 for this question, from 0 to 1. It is low if the index
        contains few of the question's informative terms, or none of the best chunks by BM25 many of
        them: the question then uses other words than the documents, or another language.
        """
        index, text = self.store.texts("chunk"), self.weights.text
        if self._trust is not None:
            return index.occurrences(ids, self.question.terms)
        best = heapq.nlargest(text.trust_candidates, self._bm25, key=self._bm25.__getitem__)
        # One reading is for the chunks and for the best by BM25.
        counts = index.occurrences([*ids, *best], self.question.terms)
        self._trust = 0.0
        if best:
            coverage = float(((counts[len(ids) :] > 0) @ self.question.weights).max())
            share = self.question.known + coverage - text.foreign
            self._trust = min(max(share / (text.familiar - text.foreign), 0.0), 1.0)
        return counts[: len(ids)]

    def fetch(self, ids: Collection[str]) -> None:
        """Fetch the features of these chunks, unless they are there."""
        missing = [identifier for identifier in dict.fromkeys(ids) if identifier not in self]
        if not missing:
            return
        covered = self._occurrences(missing) > 0
        coverage = covered @ self.question.weights
        text = self.weights.text
        growth = max(1.0, len(self.question.terms) / text.long_question) ** text.bm25_growth
        bm25 = np.array([self._bm25.get(i, 0.0) for i in missing]) / self._best_bm25
        alone = min(text.bm25_alone * growth, 1.0)
        base = alone * bm25 + (1 - alone) * coverage
        cosines = np.zeros((2, len(missing)))
        sentences = [(_NOTHING, _NOTHING)] * len(missing)
        if self.question.vector is not None:
            known, best = self._read_cosines(missing, cosines, sentences)
            dense = (cosines[0] + text.best_sentence * best) / (1 + text.best_sentence)
            trust = 1.0 if self._trust is None else self._trust
            own = trust * min(text.bm25 * growth, text.bm25_most)
            with_vector = dense + trust * text.coverage * coverage + own * bm25
            base = np.where(known, with_vector, base)
        if total := sum(link.weight for link in self._pages):
            # A chunk that does not name the question's pages loses a share of its base.
            named = sum(link.weight * covered[:, link.terms].all(axis=1) for link in self._pages)
            strongest = max(link.weight for link in self._pages)
            base = base * (
                1 - np.asarray(self.weights.link.elsewhere * (1 - named / total) * strongest)
            )
        for row, identifier in enumerate(missing):
            self[identifier] = Features(
                float(cosines[0, row]),
                float(cosines[1, row]),
                *sentences[row],
                covered[row],
                float(coverage[row]),
                float(bm25[row]),
                float(base[row]),
            )

    def _read_cosines(
        self, ids: Sequence[str], chunks: Numbers, sentences: list[tuple[Numbers, Numbers]]
    ) -> tuple[Mask, Numbers]:
        """Fill in the cosines of chunks and their sentences with the question and with its rest.

        ``chunks`` has the shape (2, n). Return which chunks have a vector, and the cosines of the
        best sentences, at least 0.
        """
        known = np.zeros(len(ids), dtype=np.bool_)
        products = self.store.vectors("chunk").products(ids, self._vectors)
        rows = [row for row, identifier in enumerate(ids) if identifier in products]
        if rows:
            known[rows] = True
            chunks[:, rows] = self._cosines([products[ids[row]] for row in rows])
        best = np.maximum(chunks[0], 0.0)
        products = self.store.vectors("sentence").products(products, self._vectors)
        rows = [row for row in rows if len(products.get(ids[row], ()))]
        if rows:
            lengths = [len(products[ids[row]]) for row in rows]
            starts = [0, *accumulate(lengths)][:-1]
            both = self._cosines([products[ids[row]] for row in rows])
            best[rows] = np.maximum(np.maximum.reduceat(both[0], starts), 0.0)
            for row, start, length in zip(rows, starts, lengths, strict=True):
                sentences[row] = both[0, start : start + length], both[1, start : start + length]
        return known, best

    def _cosines(self, products: Sequence[FloatMatrix]) -> Numbers:
        """Return the similarities of all rows to the question and to its rest, of shape (2, n)."""
        cosines = np.concatenate(products).T.astype(np.float64)
        return to_similarity(cosines, self.question.embedder)


def first_stage(
    question: Question,
    store: Store,
    weights: Weights = DEFAULT_WEIGHTS,
    *,
    also: Iterable[str] = (),
) -> tuple[list[str], ChunkFeatures]:
    """Return the ids of the candidate pool, with those of ``also``, and the features of all."""
    text = store.texts("chunk").search(question.text, k=weights.text.text_candidates)
    found = text[: weights.text.text_pool]
    if question.vector is not None and (k := weights.text.dense_candidates) > 0:
        found = store.vectors("chunk").search(question.vector, k=k) + found
    pool = list(dict.fromkeys([*(item.id for item in found), *also]))
    features = ChunkFeatures(question, store, text, weights=weights)
    features.fetch(pool)
    return pool, features


SHOWN_SENTENCES = 3
"""Number of sentences that represent a chunk where few are shown."""
COVERED_SHARE = 0.4
"""Weight of the covered share of the question in a sentence's relevance; the rest is similarity.

Late-pooled vectors contain their context, so the vectors of neighbouring sentences are close."""
TITLE_SHARE = 0.25
"""Weight of a term that only the titles above a sentence contain.

Titles are the same for all sentences of a section. Without vectors they count in full, because
nothing else resolves a pronoun."""

Masks = list[Mask]


def sentence_coverage(question: Question, chunks: Mapping[str, Chunk]) -> dict[str, Masks]:
    """Return, for each sentence of each chunk, a mask of the question's terms known at its end.

    These are the terms of the sentence, of what introduces it (see `Block`) and of its titles.
    """
    found: dict[str, Masks] = {}
    for chunk_id, chunk in chunks.items():
        titles, masks = _cover(question, chunk)
        found[chunk_id] = [titles | mask for mask in masks]
    return found


def rank_sentences(
    question: Question, chunk: Chunk, features: Features
) -> tuple[tuple[Span, float], ...]:
    """Return the sentences of a chunk with their relevance from 0 to 1, most relevant first.

    The relevance combines the similarity to the question, or to the question without names if that
    is larger, with the share of the question that the sentence covers in its context. Without
    vectors it is that share. The sentence behind a question has the relevance of the question,
    which answers nothing itself.
    """
    if not chunk.sentences:
        return ()
    titles, masks = _cover(question, chunk)
    has_vectors = len(features.sentences) == len(chunk.sentences)
    title_share = TITLE_SHARE if has_vectors else 1.0
    values = np.array(
        [
            (1 - title_share) * (mask @ question.weights)
            + title_share * ((mask | titles) @ question.weights)
            for mask in masks
        ]
    )
    if has_vectors:
        near = np.maximum(features.sentences, features.sentences_rest)
        values = (1 - COVERED_SHARE) * np.clip(near, 0.0, 1.0) + COVERED_SHARE * values
    values = np.clip(values, 0.0, 1.0)
    asks = [is_question(chunk.text_at(span)) for span in chunk.sentences]
    for number, (here, behind) in enumerate(pairwise(asks)):
        if here and not behind:
            values[number + 1] = max(values[number : number + 2])
            values[number] = 0.0
    order = np.argsort(-values, kind="stable")
    return tuple((chunk.sentences[i], float(values[i])) for i in order)


def _cover(question: Question, chunk: Chunk) -> tuple[Mask, Masks]:
    """Return a mask of the terms in the titles of a chunk, and one for each sentence of the terms
    in it or in what introduces it.
    """
    wanted = set(question.terms)
    labels = {name: held_terms(name, wanted) for block in chunk.blocks for name in block.names}
    masks: Masks = []
    for number, span in enumerate(chunk.sentences):
        held = set(held_terms(chunk.sentence_text(number), wanted))
        if labels:
            held.update(*(labels[n] for b in chunk.blocks_around(span) for n in b.names))
        masks.append(np.array([term in held for term in question.terms], dtype=np.bool_))
    titles = held_terms(chunk.context, wanted)
    return np.array([term in titles for term in question.terms], dtype=np.bool_), masks


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
