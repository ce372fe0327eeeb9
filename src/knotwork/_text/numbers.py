"""Find the numbers that a text states, in digits and in words, in English and Chinese."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from knotwork._text.languages import simplify

SMALL_NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
)
_TENS = ("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {word: value for value, word in enumerate(SMALL_NUMBERS)} | {
    word: 10 * value for value, word in enumerate(_TENS, start=3)
}
SCALES = {
    "hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "bn": 10**9, "k": 10**3, "百": 10**2, "千": 10**3, "万": 10**4, "亿": 10**8,
    "百万": 10**6, "千万": 10**7, "万亿": 10**12,
}  # fmt: skip
"""The factors of the words after a number, in lower case and simplified."""
_SMALL_WORD = "|".join(sorted(_SMALL, key=len, reverse=True))
_SCALE_WORD = "hundred|thousand|million|billion|trillion"
_DIGITS_ZH = {c: v for v, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_PLACES_ZH = {"十": 10, "百": 100, "千": 1000}
_WRITTEN_ZH = "零〇一二两三四五六七八九十百千万亿"

_MOST_DIGITS = 28
"""Digits that decimal arithmetic keeps."""

_NUMBER = re.compile(
    rf"""(?P<digits>(?<![A-Za-z0-9_.])(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?(?!\.?\d))
         (?:\s?(?P<scale>(?:{_SCALE_WORD}|bn|k)\b|万亿|百万|千万|[百千万亿]))?
    |\b(?P<words>(?:a|{_SMALL_WORD})(?:(?:[\s-]|\sand\s)(?:{_SMALL_WORD}|{_SCALE_WORD}))*)\b
    |(?P<chinese>(?!百分之)[{_WRITTEN_ZH}]+(?:点[零〇一二三四五六七八九]+)?)""",
    re.VERBOSE | re.IGNORECASE,
)
_SUFFIX = re.compile(r"(?:st|nd|rd|th|s)\b", re.IGNORECASE)


class Number(NamedTuple):
    """A number in a text: its values, and the offsets of what was read.

    ``values`` are all readings: "5 million" may be compared as 5,000,000 or, beside a table in
    millions, as 5. ``is_written``: in words, such as "two" or "三".
    """

    values: frozenset[Decimal]
    start: int
    end: int
    is_written: bool


def find_numbers(text: str) -> Iterator[Number]:
    """Yield the numbers in a text. Digits inside a name, as in "X200" or "v1.2.3", are skipped."""
    plain = _same_length(text)
    for match in _NUMBER.finditer(plain):
        start, end = match.span()
        if match["digits"]:
            suffix = _SUFFIX.match(plain, end)
            after = plain[suffix.end() if suffix else end :][:1]
            if after == "_" or (
                after.isascii() and after.isalpha() and not suffix and not is_unit(plain, end)
            ):
                continue
            value = Decimal(match["digits"].replace(",", ""))
            values = {value}
            if match["scale"]:
                values.add(value * SCALES[match["scale"].casefold()])
            yield Number(frozenset(map(_plain, values)), start, end, is_written=False)
        elif match["words"]:
            if (written := _read_words(match["words"])) is not None:
                yield Number(frozenset([written]), start, end, is_written=True)
        elif (written := read_chinese(match["chinese"])) is not None:
            yield Number(frozenset([written]), start, end, is_written=True)


_UNIT = re.compile(
    r"(?:[kmgt]i?b|[kmcµn]?m|[km]?g|[km]?w|hz|[km]hz|ghz|m?s|min|h|v|ml|l|kwh|px|pt|a|x|d)(?:\b|\d)",
    re.IGNORECASE,
)


def is_unit(text: str, place: int) -> bool:
    """Return True if a unit such as "kB" or "ms" begins at a place of a text."""
    return bool(_UNIT.match(text, place))


def _same_length(text: str) -> str:
    if text.isascii():
        return text
    wide = "".join(n if len(n := unicodedata.normalize("NFKC", c)) == 1 else c for c in text)
    return simplify(wide)


def _plain(value: Decimal) -> Decimal:
    """Return an equal number in one form: 5.0 and 5 are the same."""
    is_short = value.adjusted() < _MOST_DIGITS and value == value.to_integral()
    return value.quantize(Decimal(1)) if is_short else value.normalize()


def _read_words(words: str) -> Decimal | None:
    total = part = 0
    has_number = False
    for word in re.split(r"[\s-]+", words.casefold()):
        if word == "and":
            continue
        if word == "a":
            part = 1
        elif word in _SMALL:
            part += _SMALL[word]
            has_number = True
        elif word == "hundred":
            part = max(part, 1) * 100
            has_number = True
        else:
            total += max(part, 1) * SCALES[word]
            part = 0
            has_number = True
    return Decimal(total + part) if has_number else None


def read_chinese(text: str) -> Decimal | None:
    """Return the value of Chinese numerals, such as 二十一 and 一点五; None for other text."""
    whole, _, decimals = text.partition("点")
    if len(whole) > 1 and all(c in _DIGITS_ZH for c in whole):
        value = Decimal("".join(str(_DIGITS_ZH[c]) for c in whole))
    else:
        value = Decimal(0)
        section = digit = 0
        for c in whole:
            if c in _DIGITS_ZH:
                digit = _DIGITS_ZH[c]
            elif c in _PLACES_ZH:
                section += (digit or 1) * _PLACES_ZH[c]
                digit = 0
            else:
                if not section + digit and not value:
                    return None
                value = (value + section + digit) * SCALES[c]
                section = digit = 0
        value += section + digit
    if decimals:
        value += Decimal("0." + "".join(str(_DIGITS_ZH[c]) for c in decimals))
    return _plain(value)
