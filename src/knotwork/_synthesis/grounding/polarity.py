"""Judge whether a statement denies what the sources affirm, or affirms what they deny.

A denial of the statement is compared with those of the sources beside the same words, and the other
way round. Boosted trees, trained in `training/grounding/`, turn this into log-odds.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from knotwork._synthesis.grounding.denials import (
    denials_of,
    find_one_sided_denial,
    is_negative,
    limits_of,
    negatives_of,
)
from knotwork._synthesis.grounding.placement import held_items
from knotwork._synthesis.grounding.shipped_models import read_model
from knotwork._synthesis.grounding.source_places import Grid, Item, SourcePlaces
from knotwork._synthesis.grounding.texts import ReadText, align, covered_share

FEATURES = (
    "is_chinese", "items", "denials", "not_only", "asked_denials", "has_question", "cover",
    "second_cover", "best_denials", "best_limits", "window_denials", "said_near_denial",
    "said_near_negative", "said_near_limit", "said_near_place", "said_gain", "said_gain_negative",
    "held_around", "held_cover", "held_cover_elsewhere", "held_away", "held_away_negative",
    "aligned", "is_one_sided", "is_alone", "denials_in_words",
)  # fmt: skip

_SHARP = 3.0
_FAR = 20.0
_LEAST_NEAR = 0.3
_NEAR_SHARE = 0.9
_NOT_ONLY = re.compile(r"\bnot (?:only|just|merely)\b|不[仅僅只但]", re.IGNORECASE)

Marks = Iterable[re.Match[str]]


class _Mark(NamedTuple):
    position: int
    sentence: int


def judge_polarity(
    said: ReadText, sources: SourcePlaces, question: ReadText, denials: Sequence[re.Match[str]]
) -> float:
    """Return the log-odds that a statement denies what the sources say, or the other way round.

    ``denials`` are those of the statement. There must be a source.
    """
    row = polarity_row(said, sources, question, denials)
    return float(read_model("polarity", FEATURES).predict(row)[0])


def polarity_row(
    said: ReadText, sources: SourcePlaces, question: ReadText, denials: Sequence[re.Match[str]]
) -> Grid:
    """Return the `FEATURES` of a statement, of shape (1, features)."""
    items = sources.items_of(said)
    grid = held_items(items, sources)
    covers: Grid = grid.mean(axis=1) if items else np.zeros(len(grid))
    order = np.argsort(-covers, kind="stable")
    best = int(order[0])
    held = {
        kind: _marks_in(sources, find)
        for kind, find in (
            ("denial", denials_of), ("negative", negatives_of), ("limit", limits_of)
        )
    }  # fmt: skip
    counts = {kind: _per_sentence(marks, len(covers)) for kind, marks in held.items()}
    said_near = _said_side(said, denials, items, held, sources)
    held_near = _held_side(said, denials, items, held["denial"], covers, counts["denial"])
    sentence = sources.sentences[best]
    aligned = align(said.words, sentence.words)
    shares = [covered_share(said, s) for s in sources.sentences]
    top = max(shares)
    near = [
        s
        for share, s in zip(shares, sources.sentences, strict=True)
        if share >= max(_NEAR_SHARE * top, _LEAST_NEAR)
    ]
    row = [
        said.is_chinese,
        len(items),
        len(denials),
        len(_NOT_ONLY.findall(said.text)),
        len(denials_of(question)),
        bool(question.text),
        covers[best],
        covers[order[1]] if len(order) > 1 else 0.0,
        counts["denial"][best],
        counts["limit"][best],
        counts["denial"][max(best - 1, 0) : best + 2].sum(),
        *said_near,
        *held_near,
        len(aligned) / max(len(said.words), 1),
        bool(find_one_sided_denial(denials, said, sentence, aligned)),
        bool(denials and near and not any(map(is_negative, near))),
        len(denials_of(said)) - len(denials),
    ]
    return np.array([row], dtype=np.float64)


def _marks_in(sources: SourcePlaces, find: Callable[[ReadText], Marks]) -> list[_Mark]:
    return [
        _Mark(sources.position(number, mark.start()), number)
        for number, sentence in enumerate(sources.sentences)
        for mark in find(sentence)
    ]


def _per_sentence(marks: Sequence[_Mark], count: int) -> Grid:
    return np.bincount([m.sentence for m in marks], minlength=count).astype(np.float64)


def _position(said: ReadText, start: int) -> float:
    """Return a place between words, such as 1.5 behind two of them."""
    return bisect_left([word.start for word in said.words], start) - 0.5


def _said_side(
    said: ReadText,
    denials: Sequence[re.Match[str]],
    items: Sequence[Item],
    held: dict[str, list[_Mark]],
    sources: SourcePlaces,
) -> tuple[float, ...]:
    """Return how near the words beside a denial are to those of the sources, for the farthest."""
    worst = (-1.0,) * 6
    everywhere = [
        _Mark(match, sources.sentence_of[match]) for item in items for match in item.matches
    ]
    for denial in denials:
        center = _position(said, denial.start())
        weights = np.array([np.exp(-abs(item.position - center) / _SHARP) for item in items])
        denied, negative, limit, place = (
            _nearest(marks, items, weights, sources)
            for marks in (held["denial"], held["negative"], held["limit"], everywhere)
        )
        found = (
            denied, negative, limit, place, place - denied, place - max(denied, negative, limit)
        )  # fmt: skip
        if found[4] > worst[4]:
            worst = found
    return worst


def _nearest(
    marks: Sequence[_Mark], items: Sequence[Item], weights: Grid, sources: SourcePlaces
) -> float:
    """Return how near the weighted words are to the nearest of the marks, from 0 to 1."""
    if not marks or not len(weights):
        return 0.0
    at = np.array([m.position for m in marks])[:, None]
    sentence = np.array([m.sentence for m in marks])[:, None]
    total = np.zeros(len(marks))
    for item, weight in zip(items, weights, strict=True):
        if not item.matches:
            continue
        matches = np.array(item.matches)
        other = np.array([sources.sentence_of[m] for m in item.matches])
        away = np.abs(matches[None] - at) + 6 * np.abs(other[None] - sentence)
        total += weight * item.strength * np.exp(-away.min(axis=1) / _SHARP)
    return float(total.max() / weights.sum())


def _held_side(
    said: ReadText,
    denials: Sequence[re.Match[str]],
    items: Sequence[Item],
    marks: Sequence[_Mark],
    covers: Grid,
    counts: Grid,
) -> tuple[float, ...]:
    """Return whether the statement has the words beside a denial of the sources, and denies them,
    for the denial with most of its words.
    """
    worst = (-1.0, -1.0, float(covers[counts == 0].max(initial=0.0)), -1.0, -1.0)
    own = [_position(said, d.start()) for d in denials]
    others = [_position(said, m.start()) for m in (*negatives_of(said), *limits_of(said))]
    for mark in marks:
        beside = [
            (item.position, item.strength * float(np.exp(-min(
                abs(match - mark.position + 0.5) for match in item.matches
            ) / _SHARP)))
            for item in items
            if item.matches
        ]  # fmt: skip
        weight = sum(w for _, w in beside)
        if weight <= 0:
            continue
        center = sum(p * w * w for p, w in beside) / sum(w * w for _, w in beside)
        away = min((abs(p - center) for p in own), default=_FAR)
        away_other = min((abs(p - center) for p in others), default=_FAR)
        score = weight if away > _SHARP else weight / 2
        if score > worst[0]:
            worst = (score, float(covers[mark.sentence]), worst[2], away, away_other)
    return worst
