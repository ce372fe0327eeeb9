"""Detect the language of a text, and read the word lists of a language, which rules share.

Its script and its most common words show a language.

Knotwork has rules for English and Chinese, so it needs to separate these two from the rest. A few
more languages are named because the words that distinguish them from English identify them too.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Collection
from functools import cache
from pathlib import Path

_SAMPLE_CHARACTERS = 20_000
_FEWEST_WORDS = 20

_HAN = re.compile("[\u3400-\u9fff\U00020000-\U0002ffff]")
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
    han, kana, hangul = (len(p.findall(sample)) for p in (_HAN, _KANA, _HANGUL))
    latin = _LATIN_WORD.findall(sample)
    words = len(_OTHER_WORD.findall(_HAN.sub(" ", sample)))
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


_DATA = Path(__file__).with_name("data")


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
