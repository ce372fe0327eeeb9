"""Detect the language of a text, split Chinese into words, and read lists of words.

Knotwork has rules for English and Chinese, so it needs to separate these two from the rest. A few
more languages are named because the words that distinguish them from English identify them too.

Chinese words and their parts of speech come from the jieba dictionary and its hidden Markov model.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_DATA = Path(__file__).with_name("data")

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


def simplify(text: str) -> str:
    """Replace traditional Chinese characters with simplified ones, one for one.

    The length never changes, so offsets into the result are valid for ``text``.
    """
    return text if text.isascii() else text.translate(_simplified())


@cache
def _simplified() -> dict[int, str]:
    lines = (_DATA / "traditional.txt").read_text("utf-8").splitlines()
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


_SAMPLE_CHARACTERS = 20_000
_FEWEST_WORDS = 20

_IDEOGRAPH = re.compile("[\u3400-\u9fff\U00020000-\U0002ffff]")
_KANA = re.compile("[\u3040-\u30ff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_LATIN_WORD = re.compile("[a-zß-öø-ÿœ]+")
_OTHER_WORD = re.compile(r"[^\W\d_]+")

_COMMON_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the of and to in is that it was for on with as by at from are be this which or not",
        "de": "der die und das ist nicht mit den von ein eine auch auf dem sich für des zu wird im",
        "fr": "le les des et est une dans du pour que qui sur pas au par avec sont la ce plus",
        "es": "el los las y del una por con para que es se su como fue al lo más la en",
        "it": "il di che è un una per con del della non sono si nel gli le alla dei anche da",
        "pt": "o os as que do da em um uma para com não por dos se na no mais ao foi",
        "nl": "de het een van en in is dat op te voor met niet zijn aan ook door werd bij naar",
    }.items()
}


def detect_language(text: str) -> str:
    """Return the ISO 639-1 code of the text's main language, or "" if it is unclear.

    A Chinese character counts as half a word. A short plain Latin text without a common word of
    another language, such as a heading or a list, counts as English.
    """
    sample = text[:_SAMPLE_CHARACTERS].casefold()
    han, kana, hangul = (len(p.findall(sample)) for p in (_IDEOGRAPH, _KANA, _HANGUL))
    latin = _LATIN_WORD.findall(sample)
    words = len(_OTHER_WORD.findall(_IDEOGRAPH.sub(" ", sample)))
    if han + kana + hangul > max(words, 1):
        if hangul > han + kana:
            return "ko"
        return "ja" if 5 * kana > han else "zh"
    if 2 * len(latin) <= words:
        return ""
    counts = Counter(latin)
    shares = {
        language: sum(counts[word] for word in common) / len(latin)
        for language, common in _COMMON_WORDS.items()
    }
    # Ties go to English, which comes first.
    best = max(shares, key=lambda language: shares[language])
    if shares[best] >= 0.05:
        return best
    is_plain = len(latin) < _FEWEST_WORDS and all(word.isascii() for word in latin)
    return "en" if is_plain and best == "en" else ""


def is_read(text: str, languages: Collection[str]) -> bool:
    """Return True if a model for these languages can read the text; () means all languages.

    The result is True for a text in an unknown language, which is mostly numbers, code or names.
    """
    if not languages:
        return True
    language = detect_language(text)
    return not language or language in languages


def prompt_language(text: str) -> str:
    """Return the language of the prompts for a text: "zh" or "en"."""
    return "zh" if not text.isascii() and detect_language(text) == "zh" else "en"


def word_list(language: str, name: str) -> tuple[str, ...]:
    """Return a list in the order of the file; bars part its entries if some have a blank."""
    listed = _read(language)[name]
    if "|" not in listed:
        return tuple(listed.split())
    return tuple(filter(None, (entry.strip() for entry in listed.replace("\n", "|").split("|"))))


def word_set(language: str, name: str) -> frozenset[str]:
    """Return a list as a set."""
    return frozenset(word_list(language, name))


@cache
def _read(language: str) -> dict[str, str]:
    return tomllib.loads((_DATA / f"words.{language}.toml").read_text("utf-8"))
