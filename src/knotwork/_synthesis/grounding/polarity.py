"""Judge whether a statement denies what the sources affirm, or affirms what they deny.

A denial of the statement is compared with those of the sources beside the same words, and the other
way round. Boosted trees, trained in `training/grounding/`, turn this into log-odds.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence

import numpy as np

from knotwork._synthesis.grounding.aligned_mentions import NEAREST
from knotwork._synthesis.grounding.placement import held_items
from knotwork._synthesis.grounding.source_places import (
    Grid,
    Item,
    Mark,
    Nearness,
    SourcePlaces,
    read_model,
)
from knotwork._synthesis.grounding.texts import ReadText, align

FEATURES = (
    "is_chinese", "items", "denials", "asked_denied", "asked_undenied", "has_question", "cover",
    "second_cover", "said_near_denial", "said_near_place", "said_gain", "aligned", "is_one_sided",
    "denials_in_words",
)  # fmt: skip

_SHARP = 3.0
"""How fast words count less with their distance from a denial, in words."""


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
    held = [
        Mark(sources.position(number, mark.start()), number)
        for number, sentence in enumerate(sources.sentences)
        for mark in denials_of(sentence)
    ]
    best = int(covers.argmax())
    sentence = sources.sentences[best]
    aligned = align(said.words, sentence.words)
    row = {
        "is_chinese": said.is_chinese,
        "items": len(items),
        "denials": len(denials),
        "denials_in_words": len(denials_of(said)) - len(denials),
        "has_question": bool(question.text),
        "cover": covers[best],
        "second_cover": np.delete(covers, best).max(initial=0.0),
        "aligned": len(aligned) / max(len(said.words), 1),
        "is_one_sided": bool(find_one_sided_denial(denials, said, sentence, aligned)),
        **_compare_with_question(said, denials, question),
        **_place_denials(said, denials, items, held, sources),
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


def _position(said: ReadText, start: int) -> float:
    """Return a place between words, such as 1.5 behind two of them."""
    return bisect_left([word.start for word in said.words], start) - 0.5


def _place_denials(
    said: ReadText,
    denials: Sequence[re.Match[str]],
    items: Sequence[Item],
    held: Sequence[Mark],
    sources: SourcePlaces,
) -> dict[str, float]:
    """Return how near the words beside a denial are to denials of the sources, from 0 to 1, and to
    each other; for the denial whose words are farthest from a denial.
    """
    places = [Mark(match, sources.sentence_of[match]) for item in items for match in item.matches]
    grids = [Nearness(sources, items, marks).kernel(_SHARP) for marks in (held, places)]
    worst = -1.0, -1.0, -1.0
    for denial in denials:
        center = _position(said, denial.start())
        weights = np.array([np.exp(-abs(item.position - center) / _SHARP) for item in items])
        total = max(weights.sum(), 1e-9)
        near, beside = (float((grid @ weights).max(initial=0.0) / total) for grid in grids)
        worst = max(worst, (beside - near, near, beside), key=lambda found: found[0])
    return dict(zip(("said_gain", "said_near_denial", "said_near_place"), worst, strict=True))


_DENIAL = re.compile(
    r"\b(?:not|never|cannot|no|nor|neither|none|nobody|nothing)\b|n['’]t\b"
    r"|(?<![是能会有可要好])[不没沒无無未非](?![过過止仅僅但断斷同管论論如少限久足錯错妨])",
    re.IGNORECASE,
)
_NO_DENIAL = re.compile(
    r"\bnot (?:only|merely|just|simply|solely)\b|\bnot\b(?=[^.;]{0,60}\buntil\b)|\bno\.?\s?\d"
    r"|\bno (?:more|less|fewer|later|longer) than\b"
    r"|^\W*no\b(?=\W)|[,;—]\s*not\b|^[不没沒](?:有|是)?[，。]|而非|而不是|不是(?=.{1,20}而是)"
    r"|无线|無線|非洲|非常|未来|未來|不[仅只光单]|差不多|\byes\b\W{0,3}(?:or|或|和)?\W{0,3}no\b"
    r"|不[得能可会會应應]?(?:[少低短小晚早多高大长長][于於]|超[过過])",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"\b(?:without|unless|except|hardly|rarely|seldom|fail\w*|lack\w*|instead|prevent\w*|refus\w*"
    r"|reject\w*|den(?:y|ies|ied)|absent|missing|disabl\w*|forb\w*|prohibit\w*|exclud\w*|longer"
    r"|un(?!i|der|til|less)\w{4,}|in(?:valid|correct|capable|ability)\w*|impossible"
    r"|dis(?:allow|able)\w*|rather than|opposed|few|little|only|avoid\w*|ignor\w*|stop\w*"
    r"|independent\w*|improper\w*|dis\w{4,}|rather|rid|free|before|until|too)\b"
    r"|缺|失败|失敗|拒绝|拒絕|禁止|避免|停止|取消|除|只|仅|僅|难|難|否|别|莫|免|防",
    re.IGNORECASE,
)
"""Words that are negative in meaning, or that limit what is said."""


def denials_of(text: ReadText) -> list[re.Match[str]]:
    """Return the words of a text that deny, such as "not" and "never"."""
    plain = _NO_DENIAL.sub(lambda match: " " * len(match[0]), text.text)
    return list(_DENIAL.finditer(plain))


def is_negative(text: str) -> bool:
    """Return True if a text denies, or has a word that is negative or limits, such as "fails"."""
    return bool(_DENIAL.search(text) or _NEGATIVE.search(text))


def find_one_sided_denial(
    denials: Sequence[re.Match[str]],
    said: ReadText,
    sentence: ReadText,
    aligned: Mapping[int, int],
) -> str | None:
    """Return a denial of one of two aligned texts that the other lacks at the same place.

    ``denials`` are those of ``said``; ``aligned`` leads from its words to those of the sentence.
    """
    back = {there: here for here, there in aligned.items()}
    sides = [(denial, said, sentence, aligned) for denial in denials]
    sides += [(denial, sentence, said, back) for denial in denials_of(sentence)]
    for denial, text, other, places in sides:
        there = _same_place(denial, text, other, places)
        if there and not is_negative(there):
            return denial[0]
    return None


def _same_place(
    denial: re.Match[str], text: ReadText, other: ReadText, aligned: Mapping[int, int]
) -> str:
    """Return what another text has between the words around a denial, or "" if it lacks these."""
    place = sum(word.end <= denial.start() for word in text.words)
    following = range(place, min(place + NEAREST, len(text.words)))
    preceding = range(place - 1, max(place - 1 - NEAREST, -1), -1)
    after = next((i for i in following if i in aligned), None)
    before = next((i for i in preceding if i in aligned), None)
    if after is None or (before is None and place):
        return ""
    start = other.words[aligned[before]].start if before is not None else 0
    return other.text[start : other.words[aligned[after]].end]
