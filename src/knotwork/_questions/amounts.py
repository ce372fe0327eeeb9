"""Read amounts, and comparisons with them, from a question in English or Chinese.

"between 2000 and 2010", "over $1,000", "since March 2021", "in the 1990s", "2000年到2010年之间",
"100以上". Amounts are read first, then the words around each of them.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from knotwork._text.dates import DAY, DECADE, MONTH_OF_YEAR, read_day_range
from knotwork._text.numbers import SCALES
from knotwork.records import Span


class Operator(StrEnum):
    """A comparison of a property with a value."""

    EQUALS = "="
    DIFFERS = "<>"
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    CONTAINS = "contains"


_TESTS = {
    Operator.EQUALS: operator.eq,
    Operator.DIFFERS: operator.ne,
    Operator.LESS: operator.lt,
    Operator.AT_MOST: operator.le,
    Operator.MORE: operator.gt,
    Operator.AT_LEAST: operator.ge,
}
YEARS = range(1000, 2101)
_SCALES: dict[str, float] = {**SCALES, "m": 1e6, "萬": 1e4, "億": 1e8}
_SCALED = r"\s?(?:thousand|million|billion|bn|百万|千万|[百千万萬亿億])|k(?![A-Za-z])"
_UNIT = "(?:[mck]?m|[mk]?g|ml|[lth]|kwh?|min|bar)"
"""Units that may be written without a space behind a number."""
_AMOUNT = re.compile(
    rf"""(?P<day>{DAY})
    |(?P<month>{MONTH_OF_YEAR})
    |(?P<decade>{DECADE})
    |(?P<year>(?<![\d.,])\d{{4}}\s*年)
    |(?P<number>(?<![A-Za-z0-9_.,$€£¥])(?<![A-Za-z]-)
        (?:[$€£¥]\s?-?\d[\d,]*(?:\.\d+)?(?:{_SCALED}|\s?[km](?![A-Za-z]))?
        |-?\d[\d,]*(?:\.\d+)?(?:{_SCALED})?)
        (?!(?!{_UNIT}(?![A-Za-z0-9_]))[A-Za-z0-9_]|\.\d))""",
    re.VERBOSE | re.IGNORECASE,
)
_PLAIN_NUMBER = re.compile(r"[$€£¥]?\s?(-?\d[\d,]*(?:\.\d+)?)\s?(.*)", re.DOTALL)
_FILLING = r"\s*(?:the age of\s*|(?:the )?years?\s*|(?:the )?(?:end|start) of\s*|about\s*)?$"
_BEFORE = {
    comparing: re.compile(rf"(?:{words}){_FILLING}", re.IGNORECASE)
    for comparing, words in {
        Operator.AT_LEAST: (
            r"\b(?:no|not) less than|\bat least|\bsince|\bstarting (?:in|from)"
            r"|\bminimum of|\bmindestens|\bab|>=|≥|至少|不少于|不低于|不小于|大于等于|自从?"
        ),
        Operator.AT_MOST: (
            r"\bno (?:more|later|higher|greater) than|\bnot more than|\bat most|\bup to|\buntil"
            r"|\btill|\bthrough|\bmaximum of|\bnot exceeding|\bhöchstens|\bbis zu|<=|≤|至多|最多"
            r"|不超过|不高于|不多于|不大于|小于等于|不晚于|截至|截止到?"
        ),
        Operator.MORE: (
            r"\b(?:more|greater|higher|larger|bigger|later|longer|older|heavier|taller) than"
            r"|\bover|\babove|\bafter|(?<!not )\bexceed(?:s|ing)?|\bbeyond|\bmehr als|\büber"
            r"|>|大于|超过|高于|多于|晚于|超出"
        ),
        Operator.LESS: (
            r"\b(?:less|fewer|lower|smaller|earlier|shorter|younger|cheaper|lighter) than"
            r"|\bunder|\bbelow|\bbefore|\bprior to|\bunter"
            r"|<|小于|少于|低于|早于|不到|不足|不满|未满"
        ),
    }.items()
}
_COUNTED = (
    "[a-z]{1,12} (?=or |and )|cm|kg|mm|km"
    "|分钟|[元岁人个年米克吨级度次层周分]|小时|公里|[厘毫]米|公斤|千克"
)
_AFTER = {
    comparing: re.compile(rf"\s*(?:{_COUNTED})?(?:{words})", re.IGNORECASE)
    for comparing, words in {
        Operator.AT_LEAST: (
            r"(?:or|and) (?:more|above|over|higher|later|older|longer|up(?:wards)?)\b"
            r"|onwards?\b|\+|及?以上|以来|起"
        ),
        Operator.AT_MOST: (
            r"(?:or|and) (?:less|fewer|below|under|lower|earlier|younger|shorter)\b"
            r"|及?以下|以内|为止"
        ),
        Operator.MORE: r"(?:以|之)后|后(?!来)",
        Operator.LESS: r"(?:以|之)前|前(?!\d)",
    }.items()
}
_AT = re.compile(r"\b(?:in|during|of|for|from|year)\s+$", re.IGNORECASE)
_NOT = re.compile(
    r"(?:\b(?:not|except|excluding|without|besides|other than)\b|除了?|不是|非|不在)"
    r"\s*(?:in|from|during|of|for)?\s*(?:the year\s+)?$",
    re.IGNORECASE,
)
_DENIED = re.compile(r"(?:\bnot|不是|不在|没有?)\s*$", re.IGNORECASE)
_BETWEEN = re.compile(r"(?:\bbetween|介于|[在从自])\s*(?:the\s+)?(?:years?\s+)?$", re.IGNORECASE)
_AND = re.compile(r"\s*(?:and|和|与|與|及)\s*(?:the\s+)?", re.IGNORECASE)
_TO = re.compile(r"\s*(?:to|through|until|till|and up to|[-–—~～]|到|至)\s*", re.IGNORECASE)
_INSIDE = re.compile(r"\s*(?:年|元|岁)?\s*之?间")


@dataclass(frozen=True, slots=True)
class AmountComparison:
    """A condition that a question states: equal to, more or less than an amount.

    ``number`` is the amount, or None for a month or a day. ``first`` and ``last`` are the first and
    last day of a time as YYYY-MM-DD, or empty; a bare 2010 is both a number and a year. ``surface``
    and ``span`` are the amount as written, with the words that compare.
    """

    operator: Operator
    number: float | None
    surface: str
    span: Span
    first: str = ""
    last: str = ""

    def is_met_by(self, number: float) -> bool:
        """Return True if a number meets the condition."""
        return self.number is not None and _TESTS[self.operator](number, self.number)

    @property
    def is_time(self) -> bool:
        """True if the amount can be a time."""
        return bool(self.first)

    @property
    def is_whole_years(self) -> bool:
        """True if the amount is one or several whole years."""
        return self.first.endswith("-01-01") and self.last.endswith("-12-31")


@dataclass(frozen=True, slots=True)
class Amount:
    """A number or a time of a question; ``first`` and ``last`` are the days of a time."""

    span: Span
    number: float | None
    first: str = ""
    last: str = ""
    scale: float = 1.0
    is_marked_time: bool = False
    """True if it is written as a time, not as a number that may be a year."""


def read_comparisons(text: str, amounts: Sequence[Amount]) -> list[AmountComparison]:
    """Return the comparisons of a question in order; a range has two with the same span.

    A time without comparing words, as in "orders in 2023", must be equal. A day that does not
    exist, such as 30 February, has neither number nor days.
    """
    found: list[AmountComparison] = []
    waiting = list(reversed(amounts))
    while waiting:
        amount = waiting.pop()
        if waiting and (span := _range_span(text, amount, waiting[-1])):
            following = waiting.pop()
            low, high = _in_order(_scaled(amount, following), following)
            found.append(_compare(text, Operator.AT_LEAST, low, span))
            found.append(_compare(text, Operator.AT_MOST, high, span))
        elif single := _read_single(text, amount):
            found.append(single)
    return found


def read_amounts(text: str) -> Iterator[Amount]:
    """Yield the amounts of a question in order."""
    for match in _AMOUNT.finditer(text):
        span = Span(*match.span())
        kind, written = str(match.lastgroup), match[0]
        amount = _number(span, written) if kind == "number" else _time(span, kind, written)
        if amount is not None:
            yield amount


def _number(span: Span, written: str) -> Amount | None:
    parts = _PLAIN_NUMBER.match(written)
    if parts is None:
        return None
    digits, scale = parts[1].rstrip(","), parts[2].strip().lower()
    times = _SCALES.get(scale, 1.0)
    end = span.start + len(written.rstrip(", "))
    value = float(digits.replace(",", "")) * times
    amount = Amount(Span(span.start, end), value, scale=times)
    if written.isdigit() and len(written) == 4 and int(value) in YEARS:
        return replace(amount, first=f"{int(value)}-01-01", last=f"{int(value)}-12-31")
    return amount


def _time(span: Span, kind: str, written: str) -> Amount | None:
    days = read_day_range(written)
    if days is None:  # keep a day that does not exist, to refuse it later
        return Amount(span, None, is_marked_time=True) if kind == "day" else None
    year = float(days.first[:4]) if kind in {"year", "decade"} else None
    if year is not None and year not in YEARS:
        return None
    return Amount(span, year, days.first, days.last, is_marked_time=True)


def _range_span(text: str, low: Amount, high: Amount) -> Span | None:
    """Return the span of a range of two amounts, or None."""
    between = text[low.span.end : high.span.start]
    begun = _BETWEEN.search(text[: low.span.start])
    inside = _INSIDE.match(text, high.span.end)
    joined = _TO.fullmatch(between) or ((begun or inside) and _AND.fullmatch(between))
    if not joined:
        return None
    start = begun.start() if begun else low.span.start
    return Span(start, inside.end() if inside else high.span.end)


def _scaled(low: Amount, high: Amount) -> Amount:
    """Return the first amount of a range in the scale of the second, as in "3 to 5 million"."""
    if low.number is None or high.scale == 1.0 or low.scale != 1.0:
        return low
    return replace(low, number=low.number * high.scale, first="", last="")


def _in_order(one: Amount, other: Amount) -> tuple[Amount, Amount]:
    """Return two amounts, the smaller first."""
    if one.number is not None and other.number is not None and not one.is_marked_time:
        return (one, other) if one.number <= other.number else (other, one)
    return (one, other) if one.first <= other.first else (other, one)


def _read_single(text: str, amount: Amount) -> AmountComparison | None:
    before, after = text[: amount.span.start], amount.span.end
    for comparing, words in _BEFORE.items():
        if match := words.search(before):
            is_denied = _DENIED.search(before[: match.start()])  # which no plan can honour
            shown = Operator.DIFFERS if is_denied else comparing
            return _compare(text, shown, amount, Span(match.start(), after))
    for comparing, words in _AFTER.items():
        if match := words.match(text, after):
            return _compare(text, comparing, amount, Span(amount.span.start, match.end()))
    if match := _NOT.search(before):
        return _compare(text, Operator.DIFFERS, amount, Span(match.start(), after))
    if amount.is_marked_time or (amount.first and _AT.search(before)):
        return _compare(text, Operator.EQUALS, amount, amount.span)
    return None


def _compare(text: str, comparing: Operator, amount: Amount, span: Span) -> AmountComparison:
    surface = text[span.start : span.end]
    return AmountComparison(comparing, amount.number, surface, span, amount.first, amount.last)
