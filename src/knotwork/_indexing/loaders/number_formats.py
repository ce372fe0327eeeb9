"""Show the values of cells as their formats do: percent, currencies, codes, durations."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import takewhile
from typing import Any, NamedTuple

from knotwork._indexing.loaders.column_types import ShownCell
from knotwork._text.dates import MONTHS

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|[\\!](?P<escaped>.)|\[\$(?P<currency>[^\]-]*)(?:-[^\]]*)?\]|\[[^\]]*\]'
    r"|_.|\*.|(?P<exponent>[Ee][+-]0+)|(?P<digits>[0#?]+)|(?P<other>.)"
)
_SECTION = re.compile(r'(?:"[^"]*"|\\.|\[[^\]]*\]|[^;])*')
_MARKS = {",": "comma", ".": "point", "/": "stroke", "%": "percent"}
_QUOTED = re.compile(r'"[^"]*"|\\.|\[(?![hms]+\])[^\]]*\]|_.|\*.', re.IGNORECASE)
_MAX_FORMAT = 255
"""Excel allows no longer format."""
_MOST_DIGITS = 15
_EXACT = Context(prec=1_000)


class _Section(NamedTuple):
    """A section of a number format: literals and placeholders of digits."""

    parts: tuple[tuple[str, str], ...]
    whole: int
    decimals: int
    fewest_decimals: int
    grouped: bool
    power: int
    exponent: int
    denominator: str
    is_general: bool

    def show(self, value: float) -> str:
        """Return a number without its sign."""
        if self.is_general:
            number = plain_number(value)
        elif self.denominator:
            return self._around(_as_fraction(value, self.denominator, has_whole=self.whole > 0))
        elif self.exponent:
            base, _, power = f"{value:.{self.decimals}E}".partition("E")
            number = f"{base}E{power[0]}{power[1:].lstrip('0').zfill(self.exponent)}"
        else:
            scaled = Decimal(repr(value)).scaleb(self.power, _EXACT)
            unit = Decimal(1).scaleb(-self.decimals)
            whole, _, rest = f"{scaled.quantize(unit, ROUND_HALF_UP, _EXACT):f}".partition(".")
            rest = rest[: self.fewest_decimals] + rest[self.fewest_decimals :].rstrip("0")
            whole = whole.zfill(self.whole)
            if self.whole == 0 and rest and whole == "0":
                whole = ""
            if sum(kind == "whole" for kind, _ in self.parts) > 1:
                return self._spread(whole)
            number = (f"{int(whole or 0):,}" if self.grouped else whole) + (
                f".{rest}" if rest else ""
            )
        return self._around(number)

    def _around(self, number: str) -> str:
        """Put a number at the first placeholder."""
        texts, is_placed = [], False
        for kind, text in self.parts:
            if kind == "literal":
                texts.append(text)
            elif not is_placed:
                texts.append(number)
                is_placed = True
        return "".join(texts)

    def _spread(self, digits: str) -> str:
        """Fill placeholders with literals between them from the right, as in 000-0000."""
        texts: list[str] = []
        first = next(place for place, (kind, _) in enumerate(self.parts) if kind == "whole")
        for place in range(len(self.parts) - 1, -1, -1):
            kind, text = self.parts[place]
            if kind != "whole":
                texts.append(text if kind == "literal" else "")
            elif place == first:
                texts.append(digits)
            else:
                texts.append(digits[-len(text) :])
                digits = digits[: -len(text)]
        return "".join(reversed(texts))


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
    if re.fullmatch(r"0\d+", text) or not any(kind != "literal" for kind, _ in section.parts):
        return text if text.isdigit() else ShownCell(text, value)
    if sum(kind == "whole" for kind, _ in section.parts) > 1 and section.power >= 0:
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
    tokens = list(_tokens(text))
    kinds = [kind for kind, _ in tokens]
    places = [place for place, kind in enumerate(kinds) if kind == "digits"]
    last = places[-1] if places else len(tokens)
    point = kinds.index("point") if "point" in kinds else len(tokens)
    whole = "".join(digits for kind, digits in tokens[:point] if kind == "digits").count("0")
    decimals = "".join(digits for kind, digits in tokens[point:] if kind == "digits")
    denominator = ""
    stroke = kinds.index("stroke") if "stroke" in kinds else 0
    if places and places[0] < stroke:  # "# ?/?" or "?/8"
        below = [
            *takewhile(lambda token: token[1].strip("?#0123456789") == "", tokens[stroke + 1 :])
        ]
        denominator = "".join(digits for _, digits in below)
        whole = sum(place < stroke for place in places) > 1
        tokens = [*tokens[: places[0] + 1], *tokens[stroke + 1 + len(below) :]]
    return _Section(
        tuple(_parts(tokens)),
        whole,
        len(decimals),
        decimals.count("0"),
        "comma" in kinds[:last],
        2 * kinds.count("percent") - 3 * kinds[last:].count("comma"),
        next((len(digits) - 2 for kind, digits in tokens if kind == "exponent"), 0),
        denominator,
        "general" in text.lower(),
    )


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    for match in _TOKEN.finditer(re.sub("general", "0", text, flags=re.IGNORECASE)):
        kind = match.lastgroup
        if kind == "other":
            yield _MARKS.get(match[kind], "literal"), match[kind].replace("@", "")
        elif kind:
            yield kind if kind in {"digits", "exponent"} else "literal", match[kind]


def _parts(tokens: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the literals, and the placeholders of digits before the point."""
    parts: list[tuple[str, str]] = []
    is_behind = False
    for kind, text in tokens:
        if kind in {"literal", "percent"}:
            parts.append(("literal", text))
        elif kind == "point" and not any(kind == "whole" for kind, _ in parts):
            parts.append(("whole", ""))
        elif kind == "digits" and not is_behind and parts and parts[-1][0] == "whole":
            parts[-1] = ("whole", parts[-1][1] + text)
        elif kind == "digits" and not is_behind:
            parts.append(("whole", text))
        is_behind = is_behind or kind == "point"
    return parts


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
