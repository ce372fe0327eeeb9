"""Functions of strings."""

from __future__ import annotations

from knotwork.cypher.functions.signature import (
    Function,
    items,
    plain,
    string,
    whole_number,
    wrong,
)
from knotwork.cypher.graph import Value
from knotwork.cypher.runtime import Runtime
from knotwork.cypher.values import value_error


def _substring(text: Value, start: Value, length: Value = None) -> str:
    written, begin = string("substring", text), whole_number("substring", start)
    count = len(written) if length is None else whole_number("substring", length)
    if begin < 0 or count < 0:
        raise value_error("substring() takes no negative numbers.")
    return written[begin : begin + count]


def _left(text: Value, length: Value) -> str:
    count = whole_number("left", length)
    if count < 0:
        raise value_error("left() takes no negative numbers.")
    return string("left", text)[:count]


def _right(text: Value, length: Value) -> str:
    count = whole_number("right", length)
    if count < 0:
        raise value_error("right() takes no negative numbers.")
    return string("right", text)[-count:] if count else ""


def _replace(runtime: Runtime, text: Value, old: Value, new: Value) -> str:
    written, search = string("replace", text), string("replace", old)
    other = string("replace", new)
    times = written.count(search)
    runtime.budget.characters(len(written) + times * max(len(other) - len(search), 0))
    return written.replace(search, other)


def _split(runtime: Runtime, text: Value, marks: Value) -> list[Value]:
    written = string("split", text)
    if isinstance(marks, list):
        for mark in marks[1:]:
            written = written.replace(string("split", mark), string("split", marks[0]))
        marks = marks[0] if marks else ""
    mark = string("split", marks)
    if not mark:
        runtime.budget.items(len(written))
        return list(written)
    runtime.budget.items(written.count(mark) + 1)
    return list(written.split(mark))


def _reverse(value: Value) -> Value:
    if isinstance(value, str | list):
        return value[::-1]
    raise wrong("reverse", value, "a string or a list")


def _trim(side: str, name: str) -> Function:
    def call(_: Runtime, text: Value, letters: Value = " \t\n\r\f\v\u3000\xa0") -> str:
        written, chosen = string(name, text), string(name, letters)
        if side == "left":
            return written.lstrip(chosen)
        return written.rstrip(chosen) if side == "right" else written.strip(chosen)

    return Function(call, 1, 2)


def _join(runtime: Runtime, texts: Value, mark: Value) -> str:
    words = [string("join", text) for text in items("join", texts)]
    runtime.budget.characters(sum(map(len, words)) + len(words) * len(string("join", mark)))
    return string("join", mark).join(words)


def _upper(text: Value) -> str:
    return string("toUpper", text).upper()


def _lower(text: Value) -> str:
    return string("toLower", text).lower()


STRINGS: dict[str, Function] = {
    "btrim": _trim("both", "btrim"),
    "join": Function(_join, 2, 2),
    "left": plain(_left, 2),
    "lower": plain(_lower),
    "ltrim": _trim("left", "ltrim"),
    "replace": Function(_replace, 3, 3),
    "reverse": plain(_reverse),
    "right": plain(_right, 2),
    "rtrim": _trim("right", "rtrim"),
    "split": Function(_split, 2, 2),
    "substring": plain(_substring, 2, 3),
    "tolower": plain(_lower),
    "toupper": plain(_upper),
    "trim": _trim("both", "trim"),
    "upper": plain(_upper),
}
