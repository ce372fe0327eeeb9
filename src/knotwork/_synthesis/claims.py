"""Read which value a sentence states of what, and since when, and compare two such claims.

Claims are compared only if all their words agree but for the value: a disagreement that does not
exist is worse than one that is not found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from knotwork._questions.amounts import Operator, read_amounts, read_comparisons
from knotwork._questions.languages import CHINESE, ENGLISH, Words, known_units, unit_at
from knotwork._text.chinese import HAN_OR_KANA, simplify
from knotwork._text.dates import (
    DAY,
    DAY_OF_YEAR,
    MONTH_OF_YEAR,
    NUMERIC_DAY,
    DayRange,
    read_day_range,
)
from knotwork._text.numbers import Number, find_numbers
from knotwork._text.terms import content_terms

LONGEST_CLAIM = 400
"""Longer sentences state more than one value."""
ROUGHLY = Decimal("0.1")
"""The relative difference of two values that agree if one is stated as rounded."""
ROUNDED = Decimal("0.02")
"""The same if one has the leading digits of the other, as 3,500 and 3,512."""
_MOST_DIGITS = 15
"""Digits of values that may be rounded."""
_LOCAL = 6
"""Last digits of phone numbers that are compared: the code of a country may be left out."""
DATE, ONCE, CLOCK, CONTACT, NAME = "date", "once", "clock", "contact", "name"

_MARK = re.compile(r"^[\s>#*+•|-]*(?:\d{1,3}[.)]\s+)?")
_YEAR = (
    r"(?<![A-Za-z0-9_.,/$€£¥-])(?:19|20)\d{2}(?:\s?[-/–]\s?\d{2}(?!\d))?(?![.,]?\d|-\d)\s*年?度?"
)
TIME = re.compile(
    rf"{DAY}|{NUMERIC_DAY}|{MONTH_OF_YEAR}|(?<!\d)20\d{{6}}(?!\d)|{DAY_OF_YEAR}|{_YEAR}",
    re.IGNORECASE,
)
"""A time in a claim or a title."""
_CLOCK = re.compile(
    r"\b(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2}))?\s?(?P<half>[ap])\.?m\b|\b(?P<h>\d{1,2}):(?P<m>\d{2})\b(?!:)"
    r"|(?P<part>上午|下午|晚上|早上|中午)?(?P<zh>[\d一二三四五六七八九十两]{1,3})[点时](?!间)(?P<late>半|\d{1,2}分?)?",
    re.IGNORECASE,
)
_CONTACT = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?<![\w.])\+?\(?\d[\d ()/-]{4,20}\d(?!\w)")
_SIGN = re.compile(r"[$€£¥￥]\s?$")
_FURTHER = re.compile(r"\s*(?:[-–—~～]|to|and|[\u4e00-\u9fff]{0,3}[到至])\s*[\d.,]*\d")
_RANGE = re.compile(r"\s*(?:[-–—~～到至]|to|and|until|till)\s*")
_TO = re.compile(r"\bto\b|[到至为]")
_LONGEST_CHANGE = 25
_NOUN = re.compile(r"[\s-]([A-Za-z]{2,}[a-z-]*)|\s?([\u4e00-\u9fff])")
_CAPITAL = re.compile(r"\S\s[A-Z]\w*\s$")


class Slot(NamedTuple):
    """A value in a claim: its quantity or noun, its value in the base unit, and its words."""

    kind: str
    value: Decimal | str
    start: int
    end: int
    bound: str = ""
    is_rough: bool = False
    is_former: bool = False
    factor: Decimal = Decimal(1)


@dataclass(frozen=True)
class Claim:
    """What a sentence states: its values, and the terms of all else.

    ``since`` and ``until`` are its own times, ``former`` the values that it calls past ones.
    """

    text: str
    slots: tuple[Slot, ...]
    terms: frozenset[str]
    since: DayRange | None = None
    until: DayRange | None = None
    is_period: bool = False
    former: frozenset[Decimal | str] = frozenset()
    is_retracted: bool = False

    @property
    def words(self) -> str:
        """The words of its values."""
        return "; ".join(self.text[slot.start : slot.end].strip() for slot in self.slots)


def read_time(words: str) -> DayRange | None:
    """Return the days of a time in a claim; of "2023/24" those of the first year."""
    bare = words.strip().removesuffix("度").strip()
    year = re.match(r"(?:19|20)\d{2}(?=\s*(?:[-/–]\s?\d{2})?\s*年?$)", bare)
    return read_day_range(year[0] if year else bare, day_first=True) or read_day_range(bare)


def own_words(text: str) -> tuple[Mapping[str, Words], ...]:
    """Return the words of the languages that a text may be in."""
    return (CHINESE.claims, ENGLISH.claims) if HAN_OR_KANA.search(text) else (ENGLISH.claims,)


def without_glue(text: str, *, generic: bool = False) -> frozenset[str]:
    """Return the terms of a text that say what it is about."""
    for words in own_words(text):
        text = words["glue"].form.sub(" ", text)
        text = words["generic"].form.sub(" ", text) if generic else text
    return frozenset(content_terms(text))


def retracts(text: str) -> bool:
    """Return True if a text says that something holds no longer."""
    return any(words["retracted"].search(text) for words in own_words(text))


def read_claim(sentence: str) -> Claim | None:
    """Return the claim of a sentence; None if it asks, supposes or is too long."""
    if len(sentence) > LONGEST_CLAIM:
        return None
    reader = _Reader(simplify(sentence))
    return None if reader.has("unsure") else reader.read(sentence)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.words = own_words(text)
        self.rest = list(_MARK.sub(lambda mark: " " * len(mark[0]), text))
        self.slots: list[Slot] = []
        self.since: DayRange | None = None
        self.until: DayRange | None = None
        self.is_period = False

    def has(self, key: str, text: str | None = None) -> bool:
        """Return True if a text, by default the sentence, has words of a kind."""
        text = self.text if text is None else text
        return any(words[key].search(text) for words in self.words)

    def starts(self, key: str, place: int) -> bool:
        return any(words[key].form.match(self.text, place) for words in self.words)

    def mask(self, start: int, end: int) -> None:
        self.rest[start:end] = " " * (end - start)

    def read(self, sentence: str) -> Claim:
        if self.has("phone") or "@" in self.text:
            self._read_contacts()
        self._read_clocks()
        self._read_times()
        self._read_numbers()
        if not self.slots and self.has("role"):
            self._read_name()
        self._join_slots()
        kept = tuple(slot for slot in self.slots if not slot.is_former)
        former = frozenset(slot.value for slot in self.slots if slot.is_former)
        return Claim(
            sentence,
            kept,
            without_glue("".join(self.rest)),
            self.since,
            self.until,
            self.is_period,
            former,
            retracts(self.text),
        )

    def _add(self, kind: str, value: Decimal | str, start: int, end: int) -> None:
        self.slots.append(Slot(kind, value, start, end))
        self.mask(start, end)

    def _read_contacts(self) -> None:
        for found in _CONTACT.finditer(self.text):
            digits = re.sub(r"\D", "", found[0])
            if "@" in found[0]:
                self._add("mail", found[0].casefold().rstrip("."), *found.span())
            elif len(digits) >= 6 and not read_time(found[0]):
                self._add(CONTACT, digits, *found.span())

    def _read_clocks(self) -> None:
        for found in _CLOCK.finditer("".join(self.rest)):
            hour, minute = found["hour"] or found["h"], found["minute"] or found["m"] or "0"
            if found["zh"]:
                number = next(find_numbers(found["zh"]), None)
                if number is None:
                    continue
                hour, late = str(int(min(number.values))), found["late"] or "0"
                minute = "30" if late == "半" else late.rstrip("分")
            is_late = found["half"] in ("p", "P") or found["part"] in ("下午", "晚上")
            hours = int(hour) % 12 + 12 * is_late if found["half"] or is_late else int(hour)
            self._add(CLOCK, Decimal(hours * 60 + int(minute)), *found.span())

    def _read_times(self) -> None:
        is_once, is_dated = self.has("once"), self.has("dated")
        for found in TIME.finditer("".join(self.rest)):
            days, bare = read_time(found[0]), found[0].strip()
            before, behind = self.text[: found.start()], found.end()
            unit, _ = unit_at(self.text, behind)
            if bare.isdigit() and unit and unit.quantity != "time":
                continue  # an amount such as 2000 euros
            is_start = self.has("since", before) or self.starts("from_then", behind)
            if is_once or (is_dated and not is_start):
                value = f"{days.first}/{days.last}" if days else _day_of_year(bare)
                self._add(ONCE if is_once else DATE, value, *found.span())
                continue
            if days is None:
                continue
            self.mask(found.start(), behind)
            for words in self.words:
                for key in ("from_then", "by_then"):
                    after = words[key].form.match(self.text, behind)
                    self.mask(behind, after.end() if after else behind)
                for key in ("since", "until", "during"):
                    ahead = words[key].search(before)
                    self.mask(ahead.start() if ahead else found.start(), found.start())
            if self.has("until", before) or self.starts("by_then", behind):
                self.until = days
            else:
                self.since, self.is_period = days, not is_start

    def _read_numbers(self) -> None:
        compared = read_comparisons(self.text, tuple(read_amounts(self.text)))
        bounds = [each for each in compared if each.operator is not Operator.EQUALS]
        for number in find_numbers("".join(self.rest)):
            before = self.text[: number.start]
            further = _FURTHER.match(self.text, number.end)
            unit, end = unit_at(self.text, number.end)
            sign, noun = _SIGN.search(before), _NOUN.match(self.text, number.end)
            start = sign.start() if sign else number.start
            if sign:
                (unit, _), end = unit_at(sign[0].strip(), 0), number.end
            elif not unit and further:
                unit, _ = unit_at(self.text, further.end())
            kind, factor = (unit.quantity, unit.factor) if unit else ("", Decimal(1))
            if not unit and not further and noun:
                kind = next(iter(without_glue(noun[0])), "")
            if self._is_name(number, before, kind):
                continue
            around = (b for b in bounds if b.span.start <= number.start < b.span.end)
            bound = next((str(each.operator) for each in around), "")
            self.mask(start, end)
            if not self.has("delta", before):
                rough, former = (self.has(key, self.text[:start]) for key in ("about", "former"))
                value = max(number.values) * factor
                self.slots.append(Slot(kind, value, start, end, bound, rough, former, factor))

    def _is_name(self, number: Number, before: str, kind: str) -> bool:
        """Return True if a number names a thing, as in "room 12", or is a word such as "one"."""
        is_bare = kind not in {unit.quantity for unit in known_units()}
        is_han = bool(HAN_OR_KANA.match(self.text, number.start))
        if number.is_written and (max(number.values) == 1 or (is_bare if is_han else not kind)):
            return True
        behind = self.text[number.end : number.end + 2].lower()
        named = self.has("label", before) or _CAPITAL.search(before) is not None
        return behind in ("st", "nd", "rd", "th") or (is_bare and named)

    def _read_name(self) -> None:
        for words in self.words:
            for found in words["named"].form.finditer(self.text):
                group = found.lastgroup or ""
                if without_glue(found[group]) and not words["role"].search(found[group]):
                    self._add(NAME, found[group].casefold(), *found.span(group))
                    return

    def _join_slots(self) -> None:
        """Join the ends of ranges, and mark the first value of "rose from 30 to 35" as former."""
        joined: list[Slot] = []
        changes = self.has("change")
        for slot in sorted(self.slots, key=lambda slot: slot.start):
            last = joined[-1] if joined else slot
            between = self.text[last.end : slot.start]
            if last.kind != slot.kind or last is slot or last.is_former:
                joined.append(slot)
            elif changes and len(between) < _LONGEST_CHANGE and _TO.search(between):
                joined[-1:] = [last._replace(is_former=True), slot._replace(bound="")]
            elif _RANGE.fullmatch(between):
                ends = f"{last.value}/{slot.value}"
                joined[-1] = Slot(slot.kind, ends, last.start, slot.end, "range")
            else:
                joined.append(slot)
        self.slots = joined


def _day_of_year(words: str) -> str:
    """Return "31 March" as "-03-31"."""
    days = read_day_range(f"2000年{words}" if HAN_OR_KANA.search(words) else f"{words} 2000")
    return days.first[4:] if days else words


def values_differ(one: Slot, other: Slot) -> bool | None:
    """Return whether two values of one kind disagree; None if they cannot be compared."""
    a, b = one.value, other.value
    if one.kind != other.kind or one.bound != other.bound:
        return None
    if a == b:
        return False
    if isinstance(a, Decimal) and isinstance(b, Decimal):
        share = abs(a - b) / max(abs(a), abs(b))
        # "10 km" is "6.2 miles", but "1 kg" is 1,000 g.
        is_converted = len((one.factor / other.factor).normalize().as_tuple().digits) > 1
        if one.is_rough or other.is_rough or is_converted:
            return share > ROUGHLY
        return share > ROUNDED or not (_rounds(a, b) or _rounds(b, a))
    return _words_differ(one.kind, str(a), str(b))


def _words_differ(kind: str, a: str, b: str) -> bool | None:
    if kind == NAME:
        mine, others = set(a.split()), set(b.split())
        return not (mine <= others or others <= mine)
    if kind == CONTACT:
        return a[-_LOCAL:] != b[-_LOCAL:]
    if kind not in (DATE, ONCE):
        return a != b
    (a1, _, a2), (b1, _, b2) = a.partition("/"), b.partition("/")
    if not a2 or not b2:
        return a1[-5:] != b1[-5:]
    is_of_two_years = kind == DATE and a1[:4] != b1[:4]
    return None if is_of_two_years else a2 < b1 or b2 < a1


def _rounds(one: Decimal, other: Decimal) -> bool:
    """Return True if a value is another one with two or more leading digits, then zeros."""
    bare = one.normalize()
    digits, exponent = len(bare.as_tuple().digits), int(bare.as_tuple().exponent)
    is_short = other.adjusted() - exponent < _MOST_DIGITS
    return digits > 1 and exponent != 0 and is_short and round(other, -exponent) == one


class Comparison(StrEnum):
    """How two claims about one thing relate, as far as their sentences say."""

    NONE = "none"
    DIFFERS = "differs"
    REPLACES = "replaces"
    """One states the value of the other as a past one."""


def compare_claims(one: Claim, other: Claim) -> Comparison:
    """Compare the values of two claims."""
    if len(one.slots) != len(other.slots):
        return Comparison.NONE
    compared = [values_differ(*pair) for pair in zip(one.slots, other.slots, strict=True)]
    differ = compared.count(True)
    if one.is_retracted != other.is_retracted and None not in compared and not differ:
        return Comparison.DIFFERS
    if None in compared or differ != 1 or one.is_retracted or other.is_retracted:
        return Comparison.NONE
    mine, others = ({slot.value for slot in each.slots} for each in (one, other))
    is_told = mine & other.former or others & one.former
    return Comparison.REPLACES if is_told else Comparison.DIFFERS


def first_time(texts: Sequence[str]) -> DayRange | None:
    """Return the first time in titles and names of files that says a year."""
    for text in texts:
        for found in TIME.finditer(re.sub("_", " ", text)):
            if days := read_time(found[0]):
                return days
    return None
