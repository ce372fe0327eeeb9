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
from knotwork._synthesis.grounding.source_places import BREAK, Grid, Item, SourcePlaces
from knotwork._synthesis.grounding.texts import ReadText, align, covered_share

FEATURES = (
    "is_chinese", "items", "denials", "not_only", "asked_denied", "asked_undenied",
    "has_question", "cover", "second_cover", "best_denials", "best_limits", "window_denials",
    "said_near_denial", "said_near_negative", "said_near_limit", "said_near_place", "said_gain",
    "said_gain_negative", "held_around", "held_cover", "held_cover_elsewhere", "held_away",
    "held_away_negative", "aligned", "is_one_sided", "is_alone", "denials_in_words",
)  # fmt: skip

_SHARP = 3.0
"""How fast words count less with their distance from a denial, in words."""
_FAR = 20.0
"""The distance to a denial that a statement lacks, in words."""
_LEAST_NEAR = 0.3
_NEAR_SHARE = 0.9
"""Sentences are near a statement with the first share of its words, and this part of the best."""
_NOT_ONLY = re.compile(
    r"\bnot (?:only|merely|just|simply|solely)\b|不[仅僅只光单單但]", re.IGNORECASE
)

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
    sentence = sources.sentences[best]
    aligned = align(said.words, sentence.words)
    shares = [covered_share(said, s) for s in sources.sentences]
    top = max(shares)
    near = [
        s
        for share, s in zip(shares, sources.sentences, strict=True)
        if share >= max(_NEAR_SHARE * top, _LEAST_NEAR)
    ]
    row = {
        "is_chinese": said.is_chinese,
        "items": len(items),
        "denials": len(denials),
        "denials_in_words": len(denials_of(said)) - len(denials),
        "not_only": len(_NOT_ONLY.findall(said.text)),
        "has_question": bool(question.text),
        "cover": covers[best],
        "second_cover": covers[order[1]] if len(order) > 1 else 0.0,
        "best_denials": counts["denial"][best],
        "best_limits": counts["limit"][best],
        "window_denials": counts["denial"][max(best - 1, 0) : best + 2].sum(),
        "aligned": len(aligned) / max(len(said.words), 1),
        "is_one_sided": bool(find_one_sided_denial(denials, said, sentence, aligned)),
        "is_alone": bool(denials and near and not any(map(is_negative, near))),
        **_compare_with_question(said, denials, question),
        **_place_denials(said, denials, items, held, sources),
        **_place_held_denials(said, denials, items, held["denial"], covers),
        "held_cover_elsewhere": covers[counts["denial"] == 0].max(initial=0.0),
    }
    return np.array([[float(row[name]) for name in FEATURES]], dtype=np.float64)


def _compare_with_question(
    said: ReadText, denials: Sequence[re.Match[str]], question: ReadText
) -> dict[str, float]:
    """Return the share of a statement's denials that the question has beside the same words, and
    how many of the question's denials the statement lacks beside words that it has.
    """
    asked = [_words_beside(mark, question) for mark in denials_of(question)]
    own = [_words_beside(mark, said) for mark in denials]
    shared = sum(any(words & others for others in asked) for words in own)
    lacking = sum(
        bool(words & said.terms) and not any(words & others for others in own) for words in asked
    )
    return {"asked_denied": shared / len(own) if own else -1.0, "asked_undenied": lacking}


def _words_beside(mark: re.Match[str], text: ReadText) -> set[str]:
    place = bisect_left([word.start for word in text.words], mark.start())
    return {word.term for word in text.words[max(place - 1, 0) : place + 2]}


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


def _place_denials(
    said: ReadText,
    denials: Sequence[re.Match[str]],
    items: Sequence[Item],
    held: dict[str, list[_Mark]],
    sources: SourcePlaces,
) -> dict[str, float]:
    """Return how near the words beside a denial are to marks of the sources, from 0 to 1.

    For the denial whose words are farthest from a denial. "place": how near they are to each other.
    """
    marks = {
        **held,
        "place": [
            _Mark(match, sources.sentence_of[match]) for item in items for match in item.matches
        ],
    }
    worst = dict.fromkeys((*marks, "gain", "gain_negative"), -1.0)
    for denial in denials:
        center = _position(said, denial.start())
        weights = np.array([np.exp(-abs(item.position - center) / _SHARP) for item in items])
        near = {kind: _nearest(found, items, weights, sources) for kind, found in marks.items()}
        gain = near["place"] - near["denial"]
        if gain > worst["gain"]:
            most = max(near[kind] for kind in held)
            worst = {**near, "gain": gain, "gain_negative": near["place"] - most}
    return {
        "said_near_denial": worst["denial"],
        "said_near_negative": worst["negative"],
        "said_near_limit": worst["limit"],
        "said_near_place": worst["place"],
        "said_gain": worst["gain"],
        "said_gain_negative": worst["gain_negative"],
    }


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
        away = np.abs(matches[None] - at) + BREAK * np.abs(other[None] - sentence)
        total += weight * item.strength * np.exp(-away.min(axis=1) / _SHARP)
    return float(total.max() / max(weights.sum(), 1e-9))


def _place_held_denials(
    said: ReadText,
    denials: Sequence[re.Match[str]],
    items: Sequence[Item],
    marks: Sequence[_Mark],
    covers: Grid,
) -> dict[str, float]:
    """Return how many words of the statement are beside a denial of the sources, and how far its
    own denials are from these words, for the denial with most of them.
    """
    own = [_position(said, denial.start()) for denial in denials]
    others = [_position(said, word.start()) for word in (*negatives_of(said), *limits_of(said))]
    known = [item for item in items if item.matches]
    positions = np.array([item.position for item in known], dtype=np.float64)
    best = {"held_around": -1.0, "held_cover": -1.0, "held_away": -1.0, "held_away_negative": -1.0}
    for mark in marks:
        steps = [min(abs(match - mark.position + 0.5) for match in i.matches) for i in known]
        strengths = np.array([item.strength for item in known])
        beside = strengths * np.exp(-np.array(steps) / _SHARP)
        squares = beside**2
        if not squares.sum():  # none, or all so far away that their weights underflow
            continue
        center = float(positions @ squares / squares.sum())
        away = min((abs(place - center) for place in own), default=_FAR)
        around = float(beside.sum()) * (1.0 if away > _SHARP else 0.5)
        if around > best["held_around"]:
            best = {
                "held_around": around,
                "held_cover": float(covers[mark.sentence]),
                "held_away": away,
                "held_away_negative": min((abs(p - center) for p in others), default=_FAR),
            }
    return best
