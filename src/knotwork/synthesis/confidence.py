"""Estimate the probability that a quoted answer is right.

Whether passages hold an answer at all is the retrievers' own estimate (`Evidence.confidence`). That
the right sentence is printed is another matter: it is less likely where no sentence is much like
the question, and where many are equally good. Fitted by logistic regression on whether the printed
answer was right: questions of three manuals and six sets, the same without the passages that
answer them, and questions put to other documents; see docs/benchmarks.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from knotwork.records import Evidence
from knotwork.retrieval.confidence import is_in_han, logistic
from knotwork.synthesis.selection import Selected
from knotwork.text.terms import content_terms

FOUND = 0.5
"""The confidence of retrievers from which passages are thought to hold an answer."""
DOUBT_POWER = 3
"""How fast the probability falls where retrievers have less confidence than that. They know which
words of a question the index has never seen, which similarity does not show."""
LEAST_ODDS, MOST_ODDS = -9.0, 6.0
"""The log-odds of a reader count between these."""
_RIVAL = 5
"""The place of the sentence that the best one is compared with, counted from 0."""
_LARGEST_LOGIT = 4.0


@dataclass(frozen=True, slots=True)
class AnswerModel:
    """Coefficients of the logistic function.

    ``relevance`` is that of the most relevant sentence, ``margin`` how much less than the best one
    the sixth is worth, as a share; ``han`` counts for questions in Chinese, Japanese or Korean,
    ``odds`` for the log-odds that a reader gives the best sentence.
    """

    intercept: float
    relevance: float
    margin: float
    han: float
    log_terms: float
    odds: float = 0.0


MODELS = {"local:multilingual-e5-small": AnswerModel(-5.21, 7.78, 3.28, 0.63, 0.32)}
"""By the name of the embedder: what a relevance means depends on it."""
MODELS_WITH_READER = {
    "local:multilingual-e5-small": AnswerModel(-4.05, 4.7, 3.73, 0.15, 0.39, odds=0.15)
}
"""The same where a reader read the passage of the best sentence. Fitted on three manuals and four
more (`training/reader/questions/`), none of which the reader was trained on; the intercept is that
with which the printed answers of the four and of a fifth were right as often as they seemed."""
RIGHT_ACROSS_SCRIPTS = 0.4
"""The share of right answers among those in another script than the question's, where relevances
are smaller and say less: of 20 English questions about Chinese passages of `drcd_probes_zh`, eight
had theirs quoted."""
_ANY_INTERCEPT, _ANY_FOUND = -1.39, 0.35
"""Where there is no model for the embedder: by the logit of the retrievers' confidence alone; it is
0.2 at `FOUND`."""


def estimate_confidence(evidence: Evidence, candidates: Sequence[Selected]) -> float:
    """Return the probability that sentences chosen from ``candidates``, best first, are right."""
    if not candidates:
        return 0.0
    doubt = min(1.0, evidence.confidence / FOUND) ** DOUBT_POWER
    odds = candidates[0].odds
    model = (MODELS if odds is None else MODELS_WITH_READER).get(evidence.embedder)
    if model is None:
        found = min(max(evidence.confidence, 1e-6), 1 - 1e-6)
        logit = math.log(found / (1 - found))
        bounded = max(min(logit, _LARGEST_LOGIT), -_LARGEST_LOGIT)
        return logistic(_ANY_INTERCEPT + _ANY_FOUND * bounded) * doubt
    question = evidence.query.text
    asks_in_han = is_in_han(question)
    if is_in_han(candidates[0].text) != asks_in_han:
        return RIGHT_ACROSS_SCRIPTS * evidence.confidence
    best = candidates[0].worth
    rival = candidates[min(_RIVAL, len(candidates) - 1)].worth
    right = logistic(
        model.intercept
        + model.relevance * max((v for hit in evidence.hits for _, v in hit.sentences), default=0.0)
        + model.margin * ((best - rival) / best if best > 0 else 0.0)
        + model.han * asks_in_han
        + model.log_terms * math.log1p(len(set(content_terms(question))))
        + model.odds * min(max(odds or 0.0, LEAST_ODDS), MOST_ODDS)
    )
    return right * doubt
