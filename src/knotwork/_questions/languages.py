"""The words of a language that questions are read by.

The words of a language are in a file of its own. A list in place of a text has its lines.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple


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


_PART = re.compile("«([A-Z_]+)»")
"""The name of a part, which stands for its text in other parts and in words."""


def read_words(name: str) -> dict[str, Any]:
    """Return the tables of a file of words; its fractions are decimal numbers."""
    text = files("knotwork._questions").joinpath(f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text, parse_float=Decimal)


def _read_language(name: str) -> Language:
    """Return the words of a language from its file."""
    held = read_words(name)
    parts: dict[str, str] = {}

    def fill(form: str | list[str]) -> str:
        return _PART.sub(lambda part: parts[part[1]], "".join(form))

    for key, form in held["parts"].items():
        parts[key] = fill(form)
    words, scopes, claims, division = (
        {key: Words(fill(form)) for key, form in held[table].items()}
        for table in ("words", "scopes", "claims", "division")
    )
    forms = {k: [Words(fill(form)) for form in v] for k, v in held["scope_forms"].items()}
    return Language(words, scopes, forms, claims, division)


ENGLISH, CHINESE = _read_language("english"), _read_language("chinese")


class Dimension(NamedTuple):
    """A kind of quantity: the words that ask for it, and its units behind a number."""

    asks: Words
    units: Words


def _read_dimensions() -> dict[str, Dimension]:
    return {
        name: Dimension(
            **{k: Words("".join(v).replace("«CN»", _HAN_NUMBER)) for k, v in form.items()}
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


_HAN_NUMBER = r"[\d零〇一二两三四五六七八九十百千万半几]\s?"
DIMENSIONS = _read_dimensions()
"""The kinds of quantities that questions ask for, by name."""
