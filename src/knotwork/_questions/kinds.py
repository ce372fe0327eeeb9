"""Predict the kind of answer that a question expects, in English and Chinese.

A multinomial logistic regression on hashed features of the question. They are its words or Chinese
characters, runs of two and three of them, the first and last ones, its form (the same with one sign
for each run of words of its topic), and cues: words that people use to ask for one kind of answer.
The weights ship with this package; see training/question_kinds/README.md.
"""

from __future__ import annotations

import unicodedata
import zlib
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._questions.languages import read_words
from knotwork._text.chinese import simplify
from knotwork.errors import ConfigError


class QuestionKind(StrEnum):
    """A kind of answer that a question expects."""

    VALUE = "value"
    """A fact: a name, a number, a date, a place, a default."""
    YES_NO = "yes_no"
    DEFINITION = "definition"
    """What something is, or what a term, option or sign means."""
    LIST = "list"
    STEPS = "steps"
    """What to do, or the stages in which something happens."""
    TABLE_ROWS = "table_rows"
    """Entries of a table."""
    CODE = "code"
    """Code, a command, a query, an example of a configuration."""
    REASON = "reason"
    COMPARISON = "comparison"
    SUMMARY_ONE = "summary_one"
    """What one document, chapter or thing is about."""
    SUMMARY_ALL = "summary_all"
    """What all documents are about."""
    COUNT = "count"
    """How many documents, or things in all documents, there are."""


KINDS = tuple(QuestionKind)
"""The kinds in the order of the columns of the weights."""


class _Weights(NamedTuple):
    """The weights of the features with a column for each kind, and those of the kinds alone.

    ``hashes`` has those of the names of the features, in order.
    """

    hashes: NDArray[np.uint32]
    features: NDArray[np.float32]
    biases: NDArray[np.float32]


def read_kinds(question: str) -> dict[QuestionKind, float]:
    """Return the probability of each kind, the most probable first.

    A question without letters and digits is one for a value.
    """
    names = name_features(question)
    hashes = np.array(sorted({zlib.crc32(name.encode()) for name in names}), dtype=np.uint32)
    if not len(hashes):
        return {kind: float(kind is QuestionKind.VALUE) for kind in KINDS}
    weights = _read_weights()
    places = np.minimum(np.searchsorted(weights.hashes, hashes), len(weights.hashes) - 1)
    places = places[weights.hashes[places] == hashes]
    odds = weights.features[places].sum(axis=0) / max(len(places), 1) ** 0.5 + weights.biases
    powers = np.exp((odds - odds.max()).astype(np.float64))
    shares = (powers / powers.sum()).tolist()
    ranked = sorted(zip(KINDS, shares, strict=True), key=lambda pair: -pair[1])
    return dict(ranked)


@cache
def _read_weights() -> _Weights:
    """Return the weights that ship with this package.

    Raises ConfigError if they are of other kinds.
    """
    place = files("knotwork._questions").joinpath("kinds.npz")
    with place.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
        hashes, steps, scales, biases = (
            file[name] for name in ("hashes", "steps", "scales", "biases")
        )
        names = tuple(file["kinds"].tolist())
    if steps.shape != (len(hashes), len(KINDS)) or names != KINDS:
        raise ConfigError(
            "The weights `kinds.npz` were trained on other kinds of questions.",
            fix="Train them again: see training/question_kinds/README.md.",
        )
    features = steps.astype(np.float32) * scales.astype(np.float32)
    return _Weights(hashes, np.ascontiguousarray(features), biases.astype(np.float32))


LONGEST = 200
"""How many characters are read of the start of a question, and as many of its end."""

_WORDS = read_words("kinds")
_START, _END, _TOPIC = "^", "$", "_"
_FRAME = {*_WORDS["frame_words"].split(), *_WORDS["frame_characters"], _START, _END}
"""What makes the form of a question; all else is its topic there."""
_SIGNS = {word: name for name, words in _WORDS["topics"].items() for word in words.split()}
"""The sign that stands for a word of the topic in the form of a question."""
_OPENERS = [opener.split() for opener in _WORDS["openers"]]
_REQUESTS = frozenset(_WORDS["requests"].split())
_ASKING_VERBS = frozenset(_WORDS["asking_verbs"].split())

_ENDINGS = ("ing", "est", "er", "ly", "s")

_CLAUSE_ENDS = frozenset(".,;:!?。，；：！？、—–-\n")
_CUE_COPIES = 3
"""How many features each cue is, so that it weighs more than one word."""


def _drop_opener(clause: list[str]) -> list[str]:
    """Return a clause without the words that only make a request polite."""
    for opener in _OPENERS:
        rest = clause[len(opener) :]
        if clause[: len(opener)] != opener or not rest:
            continue
        is_free = " ".join(opener) in _WORDS["free_openers"]
        if is_free or rest[0] in _REQUESTS:
            return rest[:-1] if rest[-1] == "吗" and not is_free and len(rest) > 1 else rest
    return clause


def name_features(question: str) -> set[str]:
    """Return the names of the features that a question has."""
    clauses = [_drop_opener(clause) for clause in _split_clauses(question)]
    if not clauses:
        return set()
    units = [unit for clause in clauses for unit in clause]
    shares_of_han = sum(map(_is_han, units)) / len(units)
    language = "zh" if shares_of_han >= 0.3 else "en"
    features = {f"language {language}", f"length {language} {len(units).bit_length()}"}
    for number, clause in enumerate(clauses):
        is_last = number == len(clauses) - 1
        marked = [_START, *clause, _END]
        features.update(f"1 {unit}" for unit in clause)
        features.update(f"2 {one} {other}" for one, other in pairwise(marked))
        features.update(" ".join(("3", *marked[at : at + 3])) for at in range(len(marked) - 2))
        form = _form_of(marked)
        for size in (2, 3, 4, 5):
            features.update(
                " ".join(("form", *form[at : at + size])) for at in range(len(form) - size + 1)
            )
        if number == 0:
            features.update(f"first {' '.join(clause[:size])}" for size in (1, 2, 3))
        # Whether English "what" and "which" ask for one thing or several.
        asked = {n for w, n in pairwise(form) if w in ("what", "which") and n[0] == _TOPIC}
        several = {noun in (f"{_TOPIC}s", f"{_TOPIC}texts") for noun in asked}
        names = {"several" if is_plural else "one" for is_plural in several}
        features.update(f"cue {copy} {name}" for name in names for copy in range(_CUE_COPIES))
        if is_last:
            features.update(f"last {' '.join(clause[-size:])}" for size in (1, 2, 3, 4))
            features.add(f"whole {' '.join(form)}")
    features.update(_name_cues(clauses))
    return features


def _name_cues(clauses: list[list[str]]) -> set[str]:
    text = "|".join(
        "".join(unit if _is_han(unit) else f" {unit} " for unit in clause).replace("  ", " ")
        for clause in clauses
    )
    found = {name for name, cues in _WORDS["cues"].items() if any(cue in text for cue in cues)}
    if any(clause[0] in _ASKING_VERBS for clause in clauses):
        found.add("verb first")
    if clauses[0][0] in _ASKING_VERBS and len(clauses) == 1:
        found.add("verb first of all")
    if any(text[at] in "不没" and text[at - 1] == text[at + 1] for at in range(1, len(text) - 1)):
        found.add("verb and its denial")
    return {f"cue {number} {name}" for name in found for number in range(_CUE_COPIES)}


def _form_of(marked: list[str]) -> list[str]:
    """Return the words that make the form of a clause, with one sign for each run of others.

    The sign is that of the last word of the run, which is the head of a noun phrase in English.
    """
    form: list[str] = []
    is_topic = False
    for unit in marked:
        sign = _sign_of(unit)
        if sign and is_topic:
            form.pop()
        is_topic = bool(sign)
        form.append(sign or unit)
    return form


@lru_cache(maxsize=4096)
def _sign_of(unit: str) -> str:
    """Return the sign for a word of the topic, or an empty text for a word of the form."""
    if unit in _FRAME:
        return ""
    if _is_han(unit):
        return _TOPIC
    if unit == "0":
        return f"{_TOPIC}0"
    if unit in _SIGNS:
        return f"{_TOPIC}{_SIGNS[unit]}"
    ending = next((one for one in _ENDINGS if unit.endswith(one) and len(unit) > 3), "")
    if ending == "s" and unit.endswith(("ss", "us", "is")):
        ending = ""
    return f"{_TOPIC}{ending}" if unit.isascii() else _TOPIC


def _split_clauses(question: str) -> list[list[str]]:
    """Return the words and Chinese characters of each clause; any number is "0"."""
    text = question
    if len(text) > 2 * LONGEST:
        text = f"{text[:LONGEST]}\n{text[-LONGEST:]}"
    text = simplify(unicodedata.normalize("NFKC", text).casefold())
    clauses: list[list[str]] = [[]]
    word = ""
    for character in f"{text}\n":
        if character in "'’" and word:
            continue
        if character.isalnum() and not _is_han(character):
            word += character
            continue
        if word and character != "_":
            clauses[-1].append("0" if word.isdecimal() else word)
            word = ""
        if _is_han(character):
            clauses[-1].append(character)
        elif character in _CLAUSE_ENDS and clauses[-1]:
            clauses.append([])
    return [clause for clause in clauses if clause]


def _is_han(unit: str) -> bool:
    return len(unit) == 1 and ("\u3400" <= unit <= "\u9fff" or unit == "\u3007")
