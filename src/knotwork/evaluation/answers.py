"""Whether a text gives an answer that is known."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Sequence

from knotwork.text.characters import HAN_AND_KANA

_ARTICLES = frozenset({"a", "an", "the"})
_WIDE = re.compile(f"([{HAN_AND_KANA}])")
_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_VERDICTS = frozenset({"yes", "no"})


def normalize_as_squad(text: str) -> tuple[str, ...]:
    """Return the words of an answer in the form that is compared.

    As the evaluation script of SQuAD does it (Rajpurkar et al., EMNLP 2016): lower case, without
    punctuation and articles. Each Chinese character is a word of its own, as in the script of CMRC
    2018, and widths are made equal. Punctuation beyond ASCII parts words: Chinese needs no spaces.
    """
    folded = unicodedata.normalize("NFKC", text).lower().translate(_ASCII_PUNCTUATION)
    kept = "".join(" " if unicodedata.category(c).startswith("P") else c for c in folded)
    return tuple(word for word in _WIDE.sub(r" \1 ", kept).split() if word not in _ARTICLES)


def contains_answer(text: str, answers: Sequence[str]) -> bool:
    """Tell whether the words of some answer stand in ``text``, together and in order."""
    words = f" {' '.join(normalize_as_squad(text))} "
    wanted = [normalize_as_squad(answer) for answer in answers]
    return any(f" {' '.join(answer)} " in words for answer in wanted if answer)


def is_verdict(answers: Sequence[str]) -> bool:
    """Tell whether the answer is yes or no, which no sentence of a source says."""
    return any(" ".join(normalize_as_squad(answer)) in _VERDICTS for answer in answers)
