"""Normalise names, so that an entity has one key for all spellings of its name.

``The Beatles' (album)`` and ``beatles`` have the same normal form, as do ``J.R.R. Tolkien`` and
``J. R. R. TOLKIEN``, or ``《红楼梦》`` and ``紅樓夢``. Each Han character counts as a word, and Han
characters are joined without spaces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator
from functools import lru_cache
from html import unescape
from itertools import pairwise
from typing import NamedTuple

from knotwork._text.languages import HAN_AND_KANA, HAN_OR_KANA, simplify, word_set
from knotwork._text.visible import LATIN_LETTERS, visible_text
from knotwork.records import Span

MAX_WORDS = 8
"""The longest name to look for in a question, in words of an alphabetic script."""

MAX_HAN = 12
"""The longest name to look for in a question, in Han characters."""

_NEVER_FIRST = frozenset({"the", "a", "an"})

STOP_NAMES = word_set("en", "never_a_name")
"""Words that are not names on their own in lower case."""

# Vowel signs and other marks inside words that \w does not match.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963"
    "\u0981-\u0dff\u0e31-\u0e3a\u0e47-\u0e4e"
)
_WORD = rf"[^\W{HAN_AND_KANA}]+(?:[{_MARKS}]+[^\W{HAN_AND_KANA}]*)*"
_DOTS = "·•‧・･"
_TOKEN = re.compile(
    rf"[{HAN_AND_KANA}](?:\s?[{_DOTS}]\s?(?=[{HAN_AND_KANA}]))?"  # with the middle dot behind it
    rf"|\d+(?:[.,]\d+)+(?![^\W{HAN_AND_KANA}])"  # 3.5 and 1,000
    rf"|{_WORD}(?:['’ʼ＇`]{_WORD})*(?:[+#＋＃]+(?![^\W{HAN_AND_KANA}]))?"  # o'neill, c++, c#
    r"|[&＆]"
)
_ASCII_TOKEN = re.compile(r"\d+(?:[.,]\d+)+(?!\w)|\w+(?:['`]\w+)*(?:[+#]+(?!\w))?|&", re.ASCII)
_SUFFIX = re.compile(r"\s*[(（][^()（）]*[)）]\s*$")
_OUTSIDE_WORD = re.compile(rf"[^\w{_MARKS}.+#]")
_PLAIN = re.compile(r"[a-z0-9]{2,}(?: [a-z0-9]{2,})*")
_UNIFIED_HAN = re.compile("[\u4e00-\u9fff]+")


class _Token(NamedTuple):
    """A folded word of a text: its form inside a name, its form at the end, and its offsets."""

    inner: str
    final: str
    han: bool
    start: int
    end: int


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    for match in (_ASCII_TOKEN if text.isascii() else _TOKEN).finditer(text):
        raw = match[0]
        start, end = match.span()
        if HAN_OR_KANA.match(raw):
            character = simplify(unicodedata.normalize("NFKC", raw[0]))
            inner = character + "·" if len(raw) > 1 else character
            tokens.append(_Token(inner, character, han=True, start=start, end=start + 1))
            continue
        inner = final = _fold_word(raw)
        if len(raw) > 2 and raw[-1] in "sS" and raw[-2] in "'’ʼ＇`":
            final = _fold_word(raw[:-2])
        if inner and final:
            tokens.append(_Token(inner, final, han=False, start=start, end=end))
    return tokens


@lru_cache(maxsize=65_536)
def _fold_word(raw: str) -> str:
    """Fold width, case, accents and apostrophes of one word; ``1,000`` becomes ``1000``."""
    if raw in "&＆":
        return "and"
    if raw.isascii():
        word = raw.lower()
    else:
        word = unicodedata.normalize("NFKC", raw).casefold().translate(LATIN_LETTERS)
        decomposed = unicodedata.normalize("NFD", word)
        word = "".join(c for c in decomposed if not "\u0300" <= c <= "\u036f")
        word = unicodedata.normalize("NFC", word)
    if word.isalnum():
        return word
    word = _OUTSIDE_WORD.sub("", word).rstrip("_.")
    first = next((i for i, c in enumerate(word) if c.isalnum()), len(word))
    return word[first:]


def _separator(before: str, after: str, *, han: bool) -> str:
    """Return the separator of two words: none beside Han characters and between initials."""
    if han or (len(before) == 1 == len(after) and before.isalpha() and after.isalpha()):
        return ""
    return " "


def _without_article(form: str) -> str:
    while form.startswith(("the ", "a ", "an ")):
        rest = form[form.index(" ") + 1 :]
        if rest in STOP_NAMES:  # The Who
            break
        form = rest
    return form


def without_suffix(name: str) -> str:
    """Return a name without the brackets at its end: "Alien (film)" becomes "Alien"."""
    bare = _SUFFIX.sub("", name)
    while bare and bare != name:
        name, bare = bare, _SUFFIX.sub("", bare)
    return name


@lru_cache(maxsize=65_536)
def normal_form(name: str) -> str:
    """Return the key under which a name is stored and looked up.

    The key ignores width, case, accents, punctuation, spaces, a possessive ending, a leading
    article, a suffix in brackets, and the difference of traditional and simplified Chinese. A name
    without letters and digits keeps its punctuation; white space alone has the key "".
    """
    if _PLAIN.fullmatch(name):
        return _without_article(name)
    if _UNIFIED_HAN.fullmatch(name):
        return simplify(name)
    if "&" in name and ";" in name:
        name = unescape(name)  # titles from HTML: "Simon &amp; Simon"
    name = without_suffix(visible_text(name))
    tokens = _tokens(name)
    if not tokens:
        return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
    form = ""
    for token, following in pairwise(tokens):
        form += token.inner + _separator(
            token.inner, following.inner, han=token.han or following.han
        )
    return _without_article(form + tokens[-1].final)


def name_candidates(
    text: str,
    *,
    max_words: int = MAX_WORDS,
    max_han: int = MAX_HAN,
    borders: Container[int] | None = None,
) -> Iterator[tuple[str, Span]]:
    """Yield every possible normal form of a name inside ``text``, with its span.

    The candidates are sequences of up to ``max_words`` words and of two to ``max_han`` Han
    characters, each form once. With ``borders``, a name in Han characters starts and ends only at
    these offsets. A single stop word is not a name, unless it is in capitals and the text is not.
    """
    tokens = _tokens(text)
    separators = [
        _separator(token.inner, following.inner, han=token.han or following.han)
        for token, following in pairwise(tokens)
    ]
    all_capitals = text.isupper()
    seen: set[str] = set()
    for first, opening in enumerate(tokens):
        if opening.han and not _is_border(opening.start, borders):
            continue
        if opening.inner in _NEVER_FIRST and first + 1 < len(tokens) and separators[first]:
            # The same names start one word later, except for a stop word ("The Who").
            following = tokens[first + 1].final
            form = f"{opening.inner} {following}"
            if following in STOP_NAMES and form not in seen:
                seen.add(form)
                yield form, Span(opening.start, tokens[first + 1].end)
            continue
        prefix, words, han = "", 0, 0
        for last in range(first, min(first + max_words + max_han, len(tokens))):
            token = tokens[last]
            if token.han:
                han += 1
            else:
                words += 1
            if words > max_words or han > max_han:
                break
            form = prefix + token.final
            prefix += token.inner + (separators[last] if last < len(separators) else "")
            if form in seen or (token.han and not _is_border(token.end, borders)):
                continue
            surface = text[token.start : token.end]
            if last == first and not _is_name_alone(form, surface, all_capitals=all_capitals):
                continue
            seen.add(form)
            yield form, Span(opening.start, token.end)


def _is_border(offset: int, borders: Container[int] | None) -> bool:
    return borders is None or offset in borders


def _is_name_alone(form: str, surface: str, *, all_capitals: bool) -> bool:
    if form in STOP_NAMES:
        return len(surface) > 1 and surface.isupper() and not all_capitals
    return len(form) > 1 or not HAN_OR_KANA.match(form)
