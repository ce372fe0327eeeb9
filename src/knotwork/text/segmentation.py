"""Chinese words with their parts of speech, by the jieba dictionary and its hidden Markov model."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from knotwork.text.characters import simplify


class Word(NamedTuple):
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


def segment(text: str) -> list[Word]:
    """Cut ``text`` into words; joined, they are ``text``.

    The dictionary is simplified: traditional text is looked up in simplified characters, one for
    one, and comes back as it was.
    """
    words: list[Word] = []
    start = 0
    for simplified, tag in _segmenter().tag(simplify(text), hmm=True):
        end = start + len(simplified)
        words.append(Word(text[start:end], tag, start, end, simplified))
        start = end
    return words


@cache
def _segmenter() -> Any:  # noqa: ANN401  # rjieba carries no types
    import rjieba

    return rjieba.Jieba()
