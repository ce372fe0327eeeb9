"""Values of properties: from text to numbers, truth values and lists, and back to words."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

from knotwork.records import PropertyValue

_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?")
_EXACT_DIGITS = 15
"""A number with more digits would not come out of a float as it went in: it stays text."""
_TRUTHS = {"true": True, "false": False}
_KINDS = {
    "int": "int",
    "integer": "int",
    "long": "int",
    "short": "int",
    "byte": "int",
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "int",
    "float": "float",
    "double": "float",
    "number": "float",
    "boolean": "bool",
    "bool": "bool",
}


def kind_named(declared: str) -> str:
    """Return the kind of a declared type, as "int32": int, float, bool or str."""
    return _KINDS.get(declared.strip().lower(), "str")


class KindFinder:
    """Finds the narrowest kind that all values of a column have."""

    def __init__(self) -> None:
        self._open = ["int", "float", "bool"]
        self._seen = False

    def add(self, text: str) -> None:
        """Take a value into account; an empty one says nothing."""
        if text and self._open:
            self._seen = True
            self._open = [kind for kind in self._open if _fits(text, kind)]
            if sum(map(str.isdigit, text)) > _EXACT_DIGITS and "float" in self._open:
                self._open.remove("float")

    @property
    def kind(self) -> str:
        """The kind found: str where no other fits, or there was no value."""
        return self._open[0] if self._seen and self._open else "str"


def parse_value(text: str, kind: str) -> PropertyValue:
    """Return a value of a kind; the text itself where it is none of that kind."""
    if kind == "str" or not _fits(text, kind):
        return text
    if kind == "bool":
        return _TRUTHS[text.lower()]
    return int(text) if kind == "int" else float(text)


def parse_list(text: str, kind: str, *, separator: str = ";") -> list[PropertyValue]:
    """Return the values of a list that is written in one field."""
    return [parse_value(part.strip(), kind) for part in text.split(separator) if part.strip()]


def say_value(value: PropertyValue) -> str:
    """Return a value as people read it, on one line; "" for one that says nothing."""
    if value is None or isinstance(value, str):
        return " ".join((value or "").split())
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if math.isfinite(value) and value.is_integer() else repr(value)
    if isinstance(value, Sequence):
        return ", ".join(filter(None, map(say_value, value)))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {say_value(item)}" for key, item in value.items())
    return str(value)


def pack(value: object) -> str:
    """Return a value as JSON; floats that are no numbers stay."""
    return json.dumps(value, ensure_ascii=False)


def _fits(text: str, kind: str) -> bool:
    if kind == "bool":
        return text.lower() in _TRUTHS
    if kind == "int":
        return _INTEGER.fullmatch(text) is not None
    return _DECIMAL.fullmatch(text) is not None
