"""Read what words and numbers of a language state: its units, amounts, comparisons and filters.

The words of a language are in a file of its own. A list in place of a text has its lines.

Comparisons are read in English and Chinese, as "between 2000 and 2010", "over $1,000", "since March
2021", "in the 1990s", "2000年到2010年之间" and "100以上". Amounts are read first, then the words
around each of them. A stated filter has the times and versions of documents that a question names.
"""

from __future__ import annotations

import operator
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from functools import cache, cached_property
from importlib.resources import files
from itertools import chain
from typing import Any, NamedTuple

from knotwork._text.dates import (
    DAY,
    DECADE,
    MONTH_OF_YEAR,
    RELATIVE,
    read_day_range,
    resolve_relative,
)
from knotwork._text.numbers import SCALES
from knotwork.records import AllOf, Comparison, Condition, Filter, Span


class Words:
    """A pattern of words in any case, which is compiled when it is first looked for."""

    def __init__(self, form: str) -> None:
        self._form = form

    @cached_property
    def form(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(self._form, re.IGNORECASE)

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match in a text."""
        return self.form.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        """Return the match at the start of a text."""
        return self.form.match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the match of a whole text."""
        return self.form.fullmatch(text)

    def sub(self, text: str) -> str:
        """Return a text without its matches."""
        return self.form.sub("", text)


class Language(NamedTuple):
    """The words by which a language asks, states and points, in simplified characters and any case.

    They are by name, in tables that its file explains.
    """

    words: Mapping[str, Words]
    scopes: Mapping[str, Words]
    scope_forms: Mapping[str, Sequence[Words]]
    claims: Mapping[str, Words]
    division: Mapping[str, Words]
    lists: Sequence[Words]
    follow_ups: Mapping[str, Words]


_PART = re.compile("«([A-Z_]+)»")
"""The name of a part, which stands for its text in other parts and in words."""


def read_words(name: str) -> dict[str, Any]:
    """Return the tables of a file of words; its fractions are decimal numbers."""
    text = files("knotwork._questions").joinpath(f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text, parse_float=Decimal)


def fill_parts(given: Mapping[str, str | list[str]]) -> Callable[[str | list[str]], str]:
    """Return a function that fills parts, in which earlier ones may stand, into a form."""
    parts: dict[str, str] = {}

    def fill(form: str | list[str]) -> str:
        return _PART.sub(lambda part: parts[part[1]], "".join(form))

    for key, form in given.items():
        parts[key] = fill(form)
    return fill


def _read_language(name: str) -> Language:
    held = read_words(name)
    fill = fill_parts(held["parts"])
    words, scopes, claims, division, follow_ups = (
        {key: Words(fill(form)) for key, form in held[table].items()}
        for table in ("words", "scopes", "claims", "division", "follow_ups")
    )
    forms = {k: [Words(fill(form)) for form in v] for k, v in held["scope_forms"].items()}
    lists = [Words(fill(form)) for form in held["lists"]["of_texts"]]
    return Language(words, scopes, forms, claims, division, lists, follow_ups)


ENGLISH, CHINESE = _read_language("english"), _read_language("chinese")


class Dimension(NamedTuple):
    """A kind of quantity: the words that ask for it, and its units behind a number."""

    asks: Words
    units: Words


def _read_dimensions() -> dict[str, Dimension]:
    return {
        name: Dimension(
            **{k: Words("".join(v).replace("«CN»", HAN_NUMBER)) for k, v in form.items()}
        )
        for name, form in read_words("dimensions").items()
    }


class Unit(NamedTuple):
    """A unit behind a number: its quantity, and its factor in the base unit of that."""

    form: re.Pattern[str]
    quantity: str
    factor: Decimal


@cache
def known_units() -> tuple[Unit, ...]:
    """Return the units of claims."""
    return tuple(
        Unit(re.compile(rf"\s?-?(?:{form})", re.IGNORECASE), quantity, Decimal(factor))
        for quantity, forms in read_words("units").items()
        for form, factor in forms.items()
    )


def unit_at(text: str, place: int) -> tuple[Unit | None, int]:
    """Return the longest unit at a place of a text, and the place behind it."""
    found = [(m.end(), unit) for unit in known_units() if (m := unit.form.match(text, place))]
    end, unit = max(found, key=lambda pair: pair[0], default=(place, None))
    return unit, end


HAN_NUMBER = r"[\d零〇一二两三四五六七八九十百千万半几]\s?"
"""A number before a Chinese unit, as a pattern without groups."""
DIMENSIONS = _read_dimensions()
"""The kinds of quantities that questions ask for, by name."""


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
            r"\b(?:more(?: (?:expensive|recent|powerful|populous))?|greater|higher|larger|bigger"
            r"|later|longer|older|heavier|taller|deeper|wider|faster|newer|hotter|warmer) than"
            r"|\bover|\babove|\bafter|(?<!not )\bexceed(?:s|ing)?|\bbeyond|\bmehr als|\büber"
            r"|>|大于|超过|高于|多于|晚于|长于|重于|贵于|超出"
        ),
        Operator.LESS: (
            r"\b(?:less(?: expensive)?|fewer|lower|smaller|earlier|shorter|younger|cheaper"
            r"|lighter|shallower|narrower|slower|colder|cooler) than"
            r"|\bunder|\bbelow|\bbefore|\bprior to|\bunter"
            r"|<|小于|少于|低于|早于|短于|轻于|不到|不足|不满|未满"
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


DATE, VERSION = "date", "version"
"""The fields that are compared."""

_TIME = (
    rf"(?:the\s+)?(?:{RELATIVE}|{DAY}|{MONTH_OF_YEAR}|{DECADE}"
    r"|[12]\d{3}-\d{1,2}(?![\d-])"
    r"|[12]\d{3}(?!\d|-|\s*(?:%|percent|euros?|dollars?|people|items?|words?))"
    r")"
)
_NOUN = (
    r"(?:documents|docs|notes|reports|articles|(?:blog\s+)?posts|e-?mails|letters|memos"
    r"|papers|minutes|newsletters|announcements)"
)
_MADE = r"(?:written|published|dated|posted|sent|created|issued|updated|modified|released)"
_OF_DOCUMENTS = re.compile(
    rf"\b(?P<noun>{_NOUN})\s+(?:(?:that|which)\s+(?:was|were|is|are)\s+)?(?:"
    rf"(?:{_MADE}\s+)?(?:(?P<sign>since|after|before|until|up\s+to)\s+(?P<edge>{_TIME})"
    rf"|(?:between|from)\s+(?P<first>{_TIME})\s+(?:and|to|until)\s+(?P<last>{_TIME})"
    rf"|(?:from|dated)\s+(?P<from>{_TIME}))"
    rf"|{_MADE}\s+(?:in|on|during)\s+(?P<in>{_TIME})"
    rf"|dated\s+(?P<dated>{_TIME}))(?!\w)",
    re.IGNORECASE,
)
_SIGNS = {
    "since": Comparison.AT_LEAST,
    "以来": Comparison.AT_LEAST,
    "after": Comparison.MORE,
    "before": Comparison.LESS,
    "之前": Comparison.LESS,
    "以前": Comparison.LESS,
    "until": Comparison.AT_MOST,
    "up to": Comparison.AT_MOST,
}

_TIME_ZH = rf"(?:{DAY}|{MONTH_OF_YEAR}|{DECADE}|[12]\d{{3}}\s*年|{RELATIVE})"
_NOUN_ZH = "(?:文档|文件|报告|文章|邮件|笔记|会议纪要|纪要|会议记录|备忘录|通知|公告|论文)"
_MADE_ZH = "(?:发布|发表|撰写|写|发送|发出|创建|更新|修改|签发|印发)"
_OF_DOCUMENTS_ZH = re.compile(
    rf"(?P<time>{_TIME_ZH})(?P<sign>以来|之前|以前)?(?:所?{_MADE_ZH})?的(?:所有|全部|那些|这些)?(?P<noun>{_NOUN_ZH})"
)

_OF_VERSION = re.compile(
    r"\b(?P<sign>since|after|before|until|up\s+to)\s+version\s+(?P<number>\d+(?:\.\d+)?)(?![\w.]*\w)",
    re.IGNORECASE,
)
_OF_VERSION_ZH = re.compile(r"(?:自|从)?版本\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<sign>以来)")

_PLACE = re.compile(
    r",?\s*\b(?:in|from|within|by|per|according\s+to|based\s+on|using)\s+"
    r"(?:(?:the|all|any|our|my|these|those)\s+)*$",
    re.IGNORECASE,
)
"""Words before "reports from 2023" that make the documents the place to search, not the topic."""

_PLACE_ZH = re.compile(r"(?:里面?|中|之?内|上)?[，,]?")
_PLACE_BEFORE_ZH = re.compile(r"(?:在|根据|按照|依据|从)?$")

_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)")
_TIMES = ("first", "last", "edge", "from", "in", "dated", "time")


class StatedFilter(NamedTuple):
    """A filter, the words of the question that state it, and the question without them."""

    filter: Filter
    words: str
    rest: str

    @property
    def field(self) -> str:
        """The field that the filter compares."""
        part = self.filter.parts[0] if isinstance(self.filter, AllOf) else self.filter
        assert isinstance(part, Condition)
        return part.field


def find_stated_filter(question: str, *, today: date) -> StatedFilter | None:
    """Return the only filter that a question states, or None.

    A question with a second time may compare documents of two times, so it states no filter.
    """
    found: list[StatedFilter] = []
    of_documents, of_versions = (_OF_DOCUMENTS, _OF_DOCUMENTS_ZH), (_OF_VERSION, _OF_VERSION_ZH)
    for match in chain.from_iterable(form.finditer(question) for form in of_documents):
        stated = match.groupdict()
        dates = [resolve_relative(stated[name], today) for name in _TIMES if stated.get(name)]
        if all(map(read_day_range, dates)):
            is_range = len(dates) > 1
            signs = (Comparison.AT_LEAST, Comparison.AT_MOST) if is_range else (_sign(match),)
            parts = [Condition(DATE, *pair) for pair in zip(signs, zip(dates), strict=True)]
            whole = AllOf(tuple(parts)) if is_range else parts[0]
            found.append(StatedFilter(whole, match[0], _without(match)))
    for match in chain.from_iterable(form.finditer(question) for form in of_versions):
        condition = Condition(VERSION, _sign(match), (match["number"],))
        found.append(StatedFilter(condition, match[0], question))
    if len(found) != 1 or _YEAR.search(question.replace(found[0].words, " ", 1)):
        return None
    return found[0]


def _sign(match: re.Match[str]) -> Comparison:
    return _SIGNS.get(" ".join((match["sign"] or "").lower().split()), Comparison.EQUAL)


def _without(match: re.Match[str]) -> str:
    """Return the question without the time, and without the documents if they are only a place."""
    before, after = match.string[: match.start()], match.string[match.end() :]
    if match["noun"].isascii():
        if place := _PLACE.search(before):
            return f"{before[: place.start()]}{after}".lstrip(" ,")
    elif (place := _PLACE_ZH.match(after)) and place[0]:
        return _PLACE_BEFORE_ZH.sub("", before) + after[place.end() :]
    return f"{before}{match['noun']}{after}"
