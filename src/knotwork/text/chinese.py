"""Chinese characters and words: character classes, simplified forms, and segmentation.

Words and their parts of speech come from the jieba dictionary and its hidden Markov model.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Han characters, as the inside of a regular expression's class."""

HAN_AND_KANA = HAN + "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
"""Han characters and Japanese kana, likewise."""

_TRADITIONAL_FORMS = Path(__file__).with_name("data") / "traditional.txt"


def simplify(text: str) -> str:
    """Replace traditional Chinese characters by simplified ones, one for one.

    The length never changes, so that offsets into the result are offsets into ``text``.
    """
    return text if text.isascii() else text.translate(_simplified())


@cache
def _simplified() -> dict[int, str]:
    lines = _TRADITIONAL_FORMS.read_text("utf-8").splitlines()
    traditional, simplified = (line for line in lines if not line.startswith("#"))
    return str.maketrans(dict(zip(traditional, simplified, strict=True)))


class HanWord(NamedTuple):
    """A word of Chinese text: its characters, ICTCLAS part of speech, offsets and simplified form.

    Tags that matter here: nr, nrt, nrfg (persons), ns (places), nt (organizations), nz (other
    proper names), n, vn, an, j, l (nouns, verbal and adjectival nouns, short forms, set phrases),
    v (verbs), m (numbers), t (times), eng (words in Latin letters), x (signs and spaces).
    """

    text: str
    tag: str
    start: int
    end: int
    simplified: str


def segment(text: str) -> list[HanWord]:
    """Cut ``text`` into words; joined, they are ``text``.

    The dictionary is simplified: traditional text is looked up in simplified characters, one for
    one, and comes back as it was.
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
