"""Split text into terms, the same way for every full-text index and every query.

English words are stemmed. Chinese, Japanese and Korean runs become character bigrams plus the
longer words of a segmentation: bigrams find the text, longer words rank it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from itertools import chain, product
from threading import Lock
from typing import Any

from knotwork._text.languages import simplify, word_list
from knotwork._text.visible import LATIN_LETTERS, visible_text

_CJK = (
    "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # kana
    "\uac00-\ud7a3"  # hangul
)
_TOKEN = re.compile(
    rf"[{_CJK}]+"
    r"|\b(?:[a-z]\.){2,}(?:[a-z]\b)?"  # initials
    r"|\b\d{1,3}(?:,\d{3})+(?:\.\d+)?\b|(?<!\d\.)\b\d+\.\d+\b(?!\.\d)"  # numbers
    rf"|[^\W_{_CJK}]+"
)
_CJK_CHARACTER = re.compile(f"[{_CJK}]")
_HAN_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]{3,}")
_POSSESSIVE = re.compile(r"(?<=\w)['\u2018\u2019\u02bc]s\b")
_NEGATION = re.compile(r"(?<=n)['\u2018\u2019\u02bc]t\b")
_LOOSE_ACCENTS = re.compile(r"(?<=[a-z])[\u0300-\u036f]+")
_VOCABULARY_SIZE = 1 << 17
_LONGEST_WORD = 64
_STEMMING = Lock()  # the stemmer is not thread-safe

_CHINESE_FUNCTION_CHARACTERS = (
    "的了是在和与及或而也都就不被把对从向于之其此该这那他她它我你们吗呢吧啊谁"
)

_CHINESE_QUESTION = re.compile(
    r"[是指叫]?(?:什么|什麼|甚么|甚麼)(?:意思|东西|東西)?\W*$|^\W*(?:什么|什麼|甚么|甚麼)[是叫]"
)

STOP_WORDS: frozenset[str] = frozenset(
    [
        *word_list("en", "stop_words"),
        *word_list("zh", "stop_words"),
        *_CHINESE_FUNCTION_CHARACTERS,
        *map("".join, product(_CHINESE_FUNCTION_CHARACTERS, repeat=2)),
    ]
)
"""Function and question words of English and Chinese, in the form `terms` returns them."""


def terms(text: str) -> list[str]:
    """Return the terms of ``text`` in order, with repetitions.

    Case, width, Latin accents and the difference of traditional and simplified Chinese are ignored.
    English words are stemmed (Snowball), a possessive 's and thousands separators are dropped, and
    initials count singly and joined. A term consists of letters, digits and, in a decimal number, a
    full stop; it never contains a space.
    """
    folded = _fold(text)
    tokens = _TOKEN.findall(folded)
    if max(map(len, tokens), default=0) <= _LONGEST_WORD and (
        folded.isascii() or not _CJK_CHARACTER.search(folded)
    ):
        return list(chain.from_iterable(map(_terms_of_token, tokens)))
    found: list[str] = []
    for token in tokens:
        if _CJK_CHARACTER.match(token):
            found.extend(_terms_of_run(token))
        elif len(token) <= _LONGEST_WORD:
            found.extend(_terms_of_token(token))
        else:
            found.append(_strip_accents(token))
    return found


def held_terms(text: str, wanted: AbstractSet[str]) -> set[str]:
    """Return the ``wanted`` terms that `terms` finds in ``text``.

    For speed, Chinese text is segmented only if it contains the characters of a wanted word.
    """
    folded = _fold(text)
    found: set[str] = set()
    for token in _TOKEN.findall(folded):
        if _CJK_CHARACTER.match(token):
            near = {term for term in wanted if term in token and len(term) > 1}
            pairs = {term for term in near if len(term) == 2}
            found |= pairs if len(token) > 1 else wanted & {token}
            if near > pairs:
                found |= near.intersection(_terms_of_run(token))
        elif len(token) <= _LONGEST_WORD:
            found.update(term for term in _terms_of_token(token) if term in wanted)
        elif (whole := _strip_accents(token)) in wanted:
            found.add(whole)
    return found


def content_terms(text: str) -> list[str]:
    """Return the terms of ``text`` without stop words, in order, with repetitions.

    The question in "索引是什么意思？" is no part of a term: of it, only 索引 is.
    """
    if not text.isascii():
        text = _CHINESE_QUESTION.sub(" ", text)
    return [term for term in terms(text) if term not in STOP_WORDS]


def query_terms(query: str) -> list[str]:
    """Return the distinct terms to search for; stop words only if there are no others."""
    return list(dict.fromkeys(content_terms(query) or terms(query)))


def _fold(text: str) -> str:
    if not text.isascii():
        text = simplify(unicodedata.normalize("NFKC", visible_text(text)))
    text = text.casefold()
    if not text.isascii():
        text = _LOOSE_ACCENTS.sub("", text)
    return _NEGATION.sub("t", _POSSESSIVE.sub("", text))


@lru_cache(maxsize=_VOCABULARY_SIZE)
def _terms_of_token(token: str) -> tuple[str, ...]:
    """Return the terms of a word, a number or initials; cached, since stemming is slow."""
    if "." in token or "," in token:
        if token[0].isdigit():
            return (token.replace(",", ""),)
        letters = token.replace(".", "")
        return (*letters, letters)
    word = token if token.isascii() else _strip_accents(token)
    if word in STOP_WORDS or not word.isalpha():
        return (word,)
    with _STEMMING:
        return (str(_stemmer().stemWord(word)),)


def _strip_accents(word: str) -> str:
    """Remove accents from Latin letters only: in other scripts they form different letters."""
    kept: list[str] = []
    base_is_latin = False
    for character in unicodedata.normalize("NFD", word.translate(LATIN_LETTERS)):
        if unicodedata.combining(character) and "\u0300" <= character <= "\u036f":
            if base_is_latin:
                continue
        else:
            base_is_latin = "a" <= character <= "z"
        kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))


def _terms_of_run(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    found = [run[start : start + 2] for start in range(len(run) - 1)]
    for part in _HAN_RUN.findall(run):
        found.extend(word for word in _searcher().cut_for_search(part) if len(word) > 2)
    return found


@cache
def _stemmer() -> Any:  # noqa: ANN401  the library has no types
    import Stemmer

    return Stemmer.Stemmer("english", 0)  # no cache: `_terms_of_token` has one


@cache
def _searcher() -> Any:  # noqa: ANN401  the library has no types
    import rjieba

    return rjieba
