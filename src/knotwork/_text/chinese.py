"""Chinese text: character classes, simplified characters, and segmentation into words.

Words and their parts of speech come from the jieba dictionary and its hidden Markov model.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Han characters, for use inside a character class of a regular expression."""
HAN_CHARACTER = re.compile(f"[{HAN}]")

HAN_AND_KANA = HAN + "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
"""Han characters and Japanese kana, for use inside a character class."""
HAN_OR_KANA = re.compile(f"[{HAN_AND_KANA}]")

UNSPACED = "\u3040-\u9fff\U00020000-\U0002ffff"
"""Characters that are written without spaces and are twice as wide as others, for a class too."""
_UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")


def is_wide(character: str) -> bool:
    """Return True for a Chinese or Japanese character."""
    return _UNSPACED_CHARACTER.match(character) is not None


def measure_width(text: str) -> int:
    """Return the length of a text; Chinese and Japanese characters count twice."""
    return len(text) + len(_UNSPACED_CHARACTER.findall(text))


_TRADITIONAL_FORMS = Path(__file__).with_name("data") / "traditional.txt"


def simplify(text: str) -> str:
    """Replace traditional Chinese characters with simplified ones, one for one.

    The length never changes, so offsets into the result are valid for ``text``.
    """
    return text if text.isascii() else text.translate(_simplified())


@cache
def _simplified() -> dict[int, str]:
    lines = _TRADITIONAL_FORMS.read_text("utf-8").splitlines()
    traditional, simplified = (line for line in lines if not line.startswith("#"))
    return str.maketrans(dict(zip(traditional, simplified, strict=True)))


class HanWord(NamedTuple):
    """A word of Chinese text with its ICTCLAS part of speech, offsets and simplified form.

    Important tags: nr, nrt, nrfg (persons), ns (places), nt (organizations), nz (other
    proper names), n, vn, an, j, l (nouns, verbal and adjectival nouns, short forms, set phrases),
    v (verbs), m (numbers), t (times), eng (words in Latin letters), x (signs and spaces).
    """

    text: str
    tag: str
    start: int
    end: int
    simplified: str


def segment(text: str) -> list[HanWord]:
    """Split ``text`` into words without losing a character.

    The dictionary is in simplified characters, so traditional text is simplified for the look-up;
    the words keep their original characters.
    """
    words: list[HanWord] = []
    start = 0
    for simplified, tag in _segmenter().tag(simplify(text), hmm=True):
        end = start + len(simplified)
        words.append(HanWord(text[start:end], tag, start, end, simplified))
        start = end
    return words


@cache
def _segmenter() -> Any:  # noqa: ANN401  # rjieba carries no types
    import rjieba

    return rjieba.Jieba()
