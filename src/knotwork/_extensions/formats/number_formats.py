"""Show the values of cells as their formats do: percent, currencies, codes, durations."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from knotwork._extensions.formats.column_types import ShownCell
from knotwork._text.dates import MONTHS

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|[\\!](?P<escaped>.)|\[\$(?P<currency>[^\]-]*)(?:-[^\]]*)?\]|\[[^\]]*\]'
    r"|_.|\*.|@|(?P<mark>[0-9#?.,/%]|[Ee][+-]0+)|(?P<other>.)"
)
_SECTION = re.compile(r'(?:"[^"]*"|\\.|\[[^\]]*\]|[^;])*')
_EXPONENT = re.compile(r"[Ee][+-](0+)")
_FRACTION = re.compile(r"(?P<whole>[0#?]+[^0#?/]+)?[0#?]+[^0#?/]*/[^0-9#?/]*(?P<below>[0-9#?]+)")
_NUMBER = re.compile(
    r"(?P<whole>[0#?](?:[^.]*[0#?])?)?(?:\.(?P<decimals>(?:[^.%]*[0#?])?))?(?P<thousands>,*)"
)
_LITERALS = 0xF0000
"""Literals are moved here, so that they are no marks of a format."""
_QUOTED = re.compile(r'"[^"]*"|\\.|\[(?![hms]+\])[^\]]*\]|_.|\*.', re.IGNORECASE)
_MAX_FORMAT = 255
"""Excel allows no longer format."""
_MOST_DIGITS = 15
_EXACT = Context(prec=1_000)


class _Section(NamedTuple):
    """A section of a number format: what stands around a number, and how that is written.

    ``whole`` has the placeholders of digits before the point, and literals between them.
    """

    before: str
    after: str = ""
    whole: str = ""
    decimals: str = ""
    power: int = 0
    exponent: int = 0
    denominator: str = ""
    has_number: bool = True
    is_general: bool = False

    @property
    def is_code(self) -> bool:
        """True if literals are between the digits, as in 000-0000."""
        return any(ord(sign) >= _LITERALS for sign in self.whole)

    def show(self, value: float) -> str:
        """Return a number without its sign."""
        number = self._number(value) if self.has_number else ""
        shown = f"{self.before}{number}{self.after}"
        return "".join(chr(ord(c) - _LITERALS) if ord(c) >= _LITERALS else c for c in shown)

    def _number(self, value: float) -> str:
        if self.is_general:
            return plain_number(value)
        if self.denominator:
            return _as_fraction(value, self.denominator, has_whole=bool(self.whole))
        if self.exponent:
            base, _, power = f"{value:.{len(self.decimals)}E}".partition("E")
            return f"{base}E{power[0]}{power[1:].lstrip('0').zfill(self.exponent)}"
        scaled = Decimal(repr(value)).scaleb(self.power, _EXACT)
        unit = Decimal(1).scaleb(-len(self.decimals))
        digits, _, rest = f"{scaled.quantize(unit, ROUND_HALF_UP, _EXACT):f}".partition(".")
        fewest, fewest_decimals = self.whole.count("0"), self.decimals.count("0")
        rest = rest[:fewest_decimals] + rest[fewest_decimals:].rstrip("0")
        digits = "" if not fewest and rest and digits == "0" else digits.zfill(fewest)
        if self.is_code:
            return self._spread(digits)
        if "," in self.whole:
            digits = f"{int(digits or 0):,}"
        return f"{digits}.{rest}" if rest else digits

    def _spread(self, digits: str) -> str:
        """Fill placeholders with literals between them from the right."""
        texts: list[str] = []
        for sign in reversed(self.whole[1:]):
            is_place = sign in "0#?"
            texts.append(digits[-1:] if is_place else sign.strip(","))
            digits = digits[:-1] if is_place else digits
        return digits + "".join(reversed(texts))


def show_value(value: Any, number_format: str) -> str:  # noqa: ANN401 - whatever a cell holds
    """Return the text of a value as its format shows it, "" for None.

    A `ShownCell` keeps a number that its text gives rounded, or with a unit. Days are always
    written as YYYY-MM-DD, whatever their order in the format.
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    for kind, show in _SHOWN:
        if isinstance(value, kind):
            return show(value, number_format)
    return "" if value is None else str(value)


def plain_number(value: float) -> str:
    """Return a number with at most 15 digits, which is as precise as a spreadsheet."""
    number = float(f"{value:.{_MOST_DIGITS}g}") if isinstance(value, float) else value
    return str(int(number)) if abs(number) < 1e15 and number == int(number) else str(number)


def _show_number(value: float, number_format: str) -> str:
    if number_format in {"General", "@", ""} or not math.isfinite(value):
        return plain_number(value)
    sections = _sections(number_format)
    section = sections[0]
    sign = "-" if value < 0 else ""
    if value < 0 and len(sections) > 1:
        section, sign = sections[1], ""
    elif value == 0 and len(sections) > 2:
        section = sections[2]
    text = " ".join((sign + section.show(abs(value))).split())
    plain = plain_number(value)
    if not text or (text in {plain, "-"} and text == plain):
        return plain
    if re.fullmatch(r"0\d+", text) or not section.has_number:
        return text if text.isdigit() else ShownCell(text, value)
    if section.is_code and section.power >= 0:
        return text  # a code, such as a phone number
    typed = value * 100 if section.power == 2 else value
    return ShownCell(text, _tidy(typed))


def _tidy(value: float) -> int | float:
    tidy = float(f"{value:.{_MOST_DIGITS}g}")
    return int(tidy) if tidy == int(tidy) and abs(tidy) < 1e15 else tidy


@lru_cache(maxsize=1_000)
def _sections(number_format: str) -> tuple[_Section, ...]:
    texts = [match[0] for match in _SECTION.finditer(number_format[:_MAX_FORMAT])]
    kept = [text for place, text in enumerate(texts) if text or (place and not texts[place - 1])]
    return tuple(map(_read_section, kept or ["General"]))


def _read_section(text: str) -> _Section:
    is_general = "general" in text.lower()
    marks = _TOKEN.sub(_marked, re.sub("general", "0", text, flags=re.IGNORECASE))
    exponent = _EXPONENT.search(marks)
    marks = _EXPONENT.sub("", marks)
    if fraction := _FRACTION.search(marks):  # "# ?/?" or "?/8"
        before, after = marks[: fraction.start()], marks[fraction.end() :]
        return _Section(
            before, after, whole="#" if fraction["whole"] else "", denominator=fraction["below"]
        )
    first = re.search("[0#?.]", marks)
    number = _NUMBER.match(marks, first.start()) if first else None
    if number is None:
        return _Section(marks, has_number=False)
    return _Section(
        marks[: number.start()],
        re.sub("[0#?.,]", "", marks[number.end() :]),
        number["whole"] or "",
        re.sub("[^0#?]", "", number["decimals"] or ""),
        2 * marks.count("%") - 3 * len(number["thousands"]),
        len(exponent[1]) if exponent else 0,
        is_general=is_general,
    )


def _marked(token: re.Match[str]) -> str:
    """Return a mark of a format as it is, and a literal moved to `_LITERALS`."""
    kind = token.lastgroup
    text = token[kind] if kind else ""
    literals = (chr(ord(c) + _LITERALS) if ord(c) <= 0xFFFF else c for c in text)
    return text if kind == "mark" else "".join(literals)


def _as_fraction(value: float, denominator: str, *, has_whole: bool) -> str:
    if denominator.isdigit() and int(denominator):
        fixed = int(denominator)
        numerator = round(value * fixed)
        whole, rest = divmod(numerator, fixed) if has_whole else (0, numerator)
        return f"{whole or ''} {f'{rest}/{fixed}' if rest else ''}".strip() or "0"
    fraction = Fraction(value).limit_denominator(10 ** min(len(denominator), 4) - 1)
    whole, rest = (
        divmod(fraction.numerator, fraction.denominator) if has_whole else (0, fraction.numerator)
    )
    shown = f"{rest}/{fraction.denominator}" if rest else ""
    return f"{whole or ''} {shown}".strip() or "0"


def _show_date(value: dt.date, number_format: str) -> str:
    shown = _QUOTED.sub("", number_format.split(";", maxsplit=1)[0]).lower()
    is_time = isinstance(value, dt.datetime)
    has_time = isinstance(value, dt.datetime) and (value.hour or value.minute or value.second)
    day = value.date().isoformat() if isinstance(value, dt.datetime) else value.isoformat()
    if "y" in shown and "d" not in shown and not has_time:
        if "m" not in shown:
            return str(value.year)
        name = MONTHS[value.month - 1].title()
        name = name if "mmmm" in shown else name[:3]
        return ShownCell(f"{name} {value.year}" if "mmm" in shown else day[:7], day)
    if isinstance(value, dt.datetime) and has_time and is_time:
        text = value.isoformat(sep=" ", timespec="minutes")
        return text if "h" in shown or not ("y" in shown or "d" in shown) else day
    return day


def _show_duration(value: dt.timedelta, number_format: str) -> str:
    seconds = round(value.total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    shown = number_format.lower()
    minutes, rest = divmod(seconds, 60)
    if "h" not in shown:
        return f"{sign}{minutes}:{rest:02}" if "m" in shown else f"{sign}{seconds}"
    hours, minutes = divmod(minutes, 60)
    behind = f":{rest:02}" if "s" in shown else ""
    return f"{sign}{hours}:{minutes:02}{behind}"


_SHOWN: tuple[tuple[Any, Callable[[Any, str], str]], ...] = (
    ((int, float), _show_number),
    (dt.date, _show_date),
    (dt.timedelta, _show_duration),
    (dt.time, lambda time, _: time.isoformat("seconds" if time.second else "minutes")),
)
