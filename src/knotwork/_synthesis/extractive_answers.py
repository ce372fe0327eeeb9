"""Compose an answer from cited sentences of the sources, without a language model.

A reader model, if there is one, scores the sentences of the best passages. The selected sentences
are put in reading order, with a short answer and a confidence: the probability that they are right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from knotwork._config import AnswerSettings
from knotwork._inference.cross_encoders import AnswerReader
from knotwork._inference.embedder import PassageText
from knotwork._questions.reading import reading_of
from knotwork._retrieval.evidence_builder import is_in_han, logistic
from knotwork._retrieval.optional_parts import attempt
from knotwork._stores.base import Store
from knotwork._synthesis.citations import cite_sentences
from knotwork._synthesis.conflicts import find_disagreement
from knotwork._synthesis.messages import no_match, not_clear
from knotwork._synthesis.piece_texts import with_mark, write_piece
from knotwork._synthesis.pieces import Piece, choose_pieces, rank_pieces
from knotwork._synthesis.sentence_selection import PREDICTION_GAIN, rank_candidates
from knotwork._synthesis.short_answers import choose_short_answer, find_rivals, misses_fact
from knotwork._synthesis.structured_answers import (
    compose_path_answer,
    compose_query_answer,
    find_leading_path,
    find_leading_result,
)
from knotwork._synthesis.subjects import name_subjects
from knotwork.records import Answer, AnswerPiece, Evidence, Prediction

NO_EVIDENCE = "no_evidence"
LOW_CONFIDENCE = "low_confidence"


def compose_answer(
    evidence: Evidence,
    *,
    store: Store,
    settings: AnswerSettings | None = None,
) -> Answer:
    """Answer with the best pieces of the documents, or say that there is no answer.

    If the question was translated to a query, its rows are the answer; if a graph path very likely
    leads to the answer, the names at its end are. Below the confidence ``settings.abstain_below``
    no answer is given, and the citations are the nearest passages. No model is called.
    """
    settings = settings or AnswerSettings()
    failed: list[str] = []

    def lead() -> Answer | None:
        least = settings.abstain_below
        if result := find_leading_result(evidence, least=least):
            return compose_query_answer(evidence, result, store=store, settings=settings)
        path = find_leading_path(evidence, least=least)
        return compose_path_answer(evidence, path, store=store, settings=settings) if path else None

    led = attempt("The answer from rows or paths", lead, None, failed)
    if led is not None:
        return led
    question = evidence.query.text
    reading = reading_of(question)
    language = reading.language
    candidates = rank_candidates(evidence)
    ranked = rank_pieces(evidence, candidates, store)
    confidence = estimate_confidence(evidence, ranked)
    pieces = choose_pieces(ranked, evidence, most=settings.max_sentences)
    answered = bool(pieces) and confidence >= settings.abstain_below
    dispute, short = None, ""
    if answered:
        dispute = attempt(
            "The comparison of documents",
            lambda: find_disagreement(reading, pieces, candidates, store),
            None,
            failed,
        )
        short = attempt(
            "The short answer",
            lambda: choose_short_answer(pieces[0], question, confidence=confidence),
            "",
            failed,
        )
        if short and dispute is None:
            nothing: list[Piece] = []
            rivals = attempt(
                "The comparison of short answers",
                lambda: find_rivals(pieces[0], ranked, question, short=short),
                nothing,
                failed,
            )
            if rivals:
                short, pieces = "", [pieces[0], *rivals][: settings.max_sentences]
    dates = [""] * len(pieces)
    if dispute is not None:
        pieces, dates = dispute.pieces, dispute.dates(language)
        short = dispute.claims[0].claim.words if short and dispute.has_winner else ""
    attempt("Naming subjects", lambda: name_subjects(pieces, evidence, store), None, failed)
    best = [piece.best for piece in pieces]
    citations = cite_sentences(best, store, [(piece.whole, piece.place) for piece in pieces])
    shown = tuple(
        AnswerPiece(piece.grain, with_mark(f"{day}{write_piece(piece, language)}", number), number)
        for number, (piece, day) in enumerate(zip(pieces, dates, strict=True), 1)
    )
    if answered:
        text, reason = "\n\n".join(piece.markdown for piece in shown), ""
    elif pieces:
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
        notes=(*evidence.notes, *([dispute.note(language)] if dispute else ()), *failed),
        short=short,
        pieces=shown if answered else (),
    )


MOST_READ = 6
"""Passages that the reader reads at most; one of 250 tokens takes about 0.08 s of CPU time."""


def read_hits(evidence: Evidence, reader: AnswerReader | None, *, most: int) -> Evidence:
    """Return the evidence with predictions of the reader for its best hits.

    A hit is skipped if no prediction could bring one of its sentences among the ``most`` that will
    be quoted. Nothing is read without a reader, or if the index was embedded with another model
    than the one that the reader is built on, as this model may not be installed.
    """
    if reader is None or evidence.embedder != reader.embedder:
        return evidence
    ranked = rank_candidates(evidence)
    if not ranked:
        return evidence
    least = ranked[min(most, len(ranked)) - 1].worth / (1 + PREDICTION_GAIN)
    ranks = sorted({item.rank for item in ranked if item.rank < MOST_READ and item.worth >= least})
    passages = [PassageText.of(evidence.hits[rank].chunk) for rank in ranks]
    hits, failed = list(evidence.hits), list[str]()
    nothing: list[Prediction] = []
    read = attempt(
        "The reader",
        lambda: list(reader.read(evidence.query.text, passages)),
        nothing,
        failed,
    )
    for rank, found in zip(ranks, read, strict=False):
        hits[rank] = replace(hits[rank], prediction=found)
    return replace(evidence, hits=tuple(hits), notes=(*evidence.notes, *failed))


FOUND_CONFIDENCE = 0.5
"""The confidence of a retriever from which its passages are likely to contain an answer."""
DOUBT_POWER = 0.3
"""Exponent by which the probability falls below that confidence. Retrievers know which words of a
question the index does not contain; similarity alone does not show it."""
LEAST_ODDS, MOST_ODDS = -9.0, 6.0
"""Bounds to which the log-odds of a reader are clipped."""
MISSED = 0.15
"""Factor of the confidence if the first piece does not state the fact that is asked for. No passage
that answers a question of three Chinese sets with one passage each missed it."""
_LARGEST_LOGIT = 4.0


@dataclass(frozen=True, slots=True)
class AnswerModel:
    """Coefficients of the logistic function that estimates the confidence of an answer.

    ``relevance`` multiplies that of the best sentence of the first piece, ``lead`` the share of
    that piece, ``log_terms`` the logarithm of 1 plus the number of question terms, ``odds`` the
    reader's log-odds that the first piece answers.
    """

    intercept: float
    relevance: float
    lead: float
    log_terms: float
    odds: float = 0.0


MODELS = {"local:multilingual-e5-small": AnswerModel(-4.08, 4.33, 3.18, 0.52)}
"""Models by the name of the embedder, on which the scale of relevance depends."""
MODELS_WITH_READER = {
    "local:multilingual-e5-small": AnswerModel(-3.07, 3.44, 2.07, 0.44, odds=0.13)
}
"""The models if a reader has read the passage of the first piece. Fitted on questions about six
domains and five development sets that the reader was not trained on, each ranked by weights that
have not seen it; see training/pieces/README.md."""
RIGHT_ACROSS_SCRIPTS = 0.4
"""The share of right answers among those in another script than the question's, where relevances
are lower and less informative: of 20 English questions about Chinese passages of `drcd_probes_zh`,
eight were answered correctly."""
_ANY_INTERCEPT, _ANY_FOUND = -1.39, 0.35
"""Without a model for the embedder, only the logit of the retriever's confidence counts; at
`FOUND_CONFIDENCE` the result is 0.2."""


def estimate_confidence(evidence: Evidence, ranked: Sequence[Piece]) -> float:
    """Return the probability that an answer is right which begins with the first of the pieces."""
    if not ranked:
        return 0.0
    first = ranked[0]
    doubt = math.pow(min(1.0, evidence.confidence / FOUND_CONFIDENCE), DOUBT_POWER)
    odds = first.odds
    model = (MODELS if odds is None else MODELS_WITH_READER).get(evidence.embedder)
    if model is None:
        found = min(max(evidence.confidence, 1e-6), 1 - 1e-6)
        logit = math.log(found / (1 - found))
        bounded = max(min(logit, _LARGEST_LOGIT), -_LARGEST_LOGIT)
        return logistic(_ANY_INTERCEPT + _ANY_FOUND * bounded) * doubt
    question = evidence.query.text
    if is_in_han(first.text) != is_in_han(question):
        return RIGHT_ACROSS_SCRIPTS * evidence.confidence
    parts = {(part.chunk.document_id, part.span) for part in first.parts}
    relevances = (
        value
        for hit in evidence.hits
        for span, value in hit.sentences
        if (hit.chunk.document_id, span) in parts
    )
    right = logistic(
        model.intercept
        + model.relevance * max(relevances, default=0.0)
        + model.lead * first.share
        + model.log_terms * math.log1p(len(reading_of(question).terms))
        + model.odds * min(max(odds or 0.0, LEAST_ODDS), MOST_ODDS)
    )
    return right * doubt * (MISSED if misses_fact(first, question) else 1.0)
