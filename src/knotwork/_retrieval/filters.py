"""Read the filters that users write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, NamedTuple

from knotwork._stores.fields import DATE, FILE_DATE, field_name
from knotwork._text.dates import read_day_range, resolve_relative
from knotwork.errors import FilterError
from knotwork.records import AllOf, AnyOf, Comparison, Condition, Filter, Not

FilterSpec = str | Mapping[str, Any] | Filter | Sequence[str | Mapping[str, Any] | Filter]
"""A text of the filter language, a mapping, a `Filter`, or a list of these that must all match."""


def read_filter(given: FilterSpec | None) -> Filter | None:
    """Return the filter that is described, or None for an empty text, mapping or list.

    Days such as "yesterday" in it become dates. Raises FilterError.
    """
    found = _read_filter(given)
    return None if found is None else _with_dates(found, date.today())  # noqa: DTZ011 - the user's day


def _with_dates(found: Filter, today: date) -> Filter:
    if isinstance(found, Not):
        return Not(_with_dates(found.part, today))
    if isinstance(found, AllOf | AnyOf):
        return type(found)(tuple(_with_dates(part, today) for part in found.parts))
    is_ordered = found.comparison not in {Comparison.CONTAINS, Comparison.PRESENT, Comparison.EQUAL}
    if not is_ordered and field_name(found.field) not in {DATE, FILE_DATE}:
        return found
    days = [(value, resolve_relative(value, today)) for value in found.values]
    values = (day if read_day_range(day) else value for value, day in days)
    return replace(found, values=tuple(values))


def _read_filter(given: FilterSpec | None) -> Filter | None:
    if isinstance(given, Condition | AllOf | AnyOf | Not):
        return given
    if not given:
        return None
    if isinstance(given, str):
        return parse_filter(given) if given.strip() else None
    if isinstance(given, Mapping):
        return map_filter(given)
    if isinstance(given, Sequence):
        found = [part for part in map(_read_filter, given) if part is not None]
        if not found:
            return None
        return found[0] if len(found) == 1 else AllOf(tuple(found))
    raise FilterError(
        f"A filter cannot be of the type `{type(given).__name__}`.",
        fix="Give a string, a mapping, a Filter or a list of these.",
    )


FILTER_EXAMPLE = "author = 'Ann' and date >= 2023"

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*")
    |(?P<sign>==|!=|<>|<=|>=|[=<>:]|≤|≥|≠|＝|：)
    |(?P<mark>[(),])
    |(?P<word>[^\s=<>!(),'":≤≥≠＝：](?:[^\s=<>!(),"≤≥≠＝：]|!(?!=))*)
    )""",
    re.VERBOSE,
)
_SIGNS = {
    "=": Comparison.EQUAL,
    "==": Comparison.EQUAL,
    ":": Comparison.EQUAL,
    "＝": Comparison.EQUAL,
    "：": Comparison.EQUAL,
    "<": Comparison.LESS,
    "<=": Comparison.AT_MOST,
    "≤": Comparison.AT_MOST,
    ">": Comparison.MORE,
    ">=": Comparison.AT_LEAST,
    "≥": Comparison.AT_LEAST,
}
_UNEQUAL = frozenset({"!=", "<>", "≠"})
_JOINING = frozenset({"and", "or"})
_MOST_CHARACTERS = 10_000
_DEEPEST_TEXT = 50


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


def parse_filter(text: str) -> Filter:
    """Return the filter that a text describes. Raises FilterError with the position of a
    mistake.
    """
    if len(text) > _MOST_CHARACTERS:
        raise FilterError(
            f"The filter has {len(text):,} characters.", fix="Write at most 10,000 characters."
        )
    parser = _Parser(text)
    found = parser.filter(0)
    if parser.rest is not None:
        raise parser.expected("`and`, `or` or the end")
    return found


class _Parser:
    """A recursive-descent parser of one filter."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(self._split())
        self._next = 0

    @property
    def rest(self) -> _Token | None:
        """The next token; None at the end."""
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def expected(self, what: str) -> FilterError:
        """Return the error for an unexpected token."""
        token = self.rest
        found = f"`{token.text}` at character {token.start + 1}" if token else "the end"
        return self._error(f"expected {what}, found {found}")

    def filter(self, depth: int) -> Filter:
        parts = [self._all(depth)]
        while self._take("or"):
            parts.append(self._all(depth))
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _all(self, depth: int) -> Filter:
        parts = [self._one(depth)]
        while self._take("and"):
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _one(self, depth: int) -> Filter:
        if depth > _DEEPEST_TEXT:
            raise self._error(f"it is nested more than {_DEEPEST_TEXT} levels deep")
        if self._take("not"):
            return Not(self._one(depth + 1))
        if self._take("("):
            found = self.filter(depth + 1)
            if not self._take(")"):
                raise self.expected("`)`")
            return found
        return self._condition()

    def _condition(self) -> Filter:
        name = self.rest
        if name is None or name.kind not in {"word", "quoted"}:
            raise self.expected("the name of a field")
        self._next += 1
        if name.kind == "word" and ":" in name.text and not self._begins_comparison():
            # ``field:value``, where the field has no colon in its name
            label, _, value = name.text.partition(":")
            if value:
                self._next -= 1
                self._tokens[self._next] = _Token("word", value, name.start + len(label) + 1)
            return Condition(label, Comparison.EQUAL, (self._value(),))
        field = _unquote(name)
        if self._take("is"):
            return self._presence(field)
        is_negated = self._take("not")
        if self._take("in"):
            found: Filter = Condition(field, Comparison.EQUAL, self._list())
        elif self._take("contains"):
            found = Condition(field, Comparison.CONTAINS, (self._value(),))
        else:
            sign = self.rest
            if is_negated or sign is None or sign.kind != "sign":
                raise self.expected("`=`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `contains` or `is`")
            self._next += 1
            is_negated = sign.text in _UNEQUAL
            comparison = _SIGNS.get(sign.text, Comparison.EQUAL)
            found = Condition(field, comparison, (self._value(),))
        return Not(found) if is_negated else found

    def _begins_comparison(self) -> bool:
        token = self.rest
        return token is not None and (
            token.kind == "sign" or token.text.casefold() in {"is", "in", "not", "contains"}
        )

    def _presence(self, field: str) -> Filter:
        is_negated = self._take("not")
        if self._take("null"):
            is_negated = not is_negated
        elif not self._take("set"):
            raise self.expected("`set`, `not set`, `null` or `not null`")
        found = Condition(field, Comparison.PRESENT)
        return Not(found) if is_negated else found

    def _list(self) -> tuple[str, ...]:
        if not self._take("("):
            raise self.expected("`(` and a list of values")
        values = [self._value()]
        while self._take(","):
            values.append(self._value())
        if not self._take(")"):
            raise self.expected("`,` or `)`")
        return tuple(values)

    def _value(self) -> str:
        token = self.rest
        if token is None or token.kind not in {"word", "quoted"}:
            raise self.expected("a value")
        self._next += 1
        if token.kind == "quoted":
            return _unquote(token)
        end = token.start + len(token.text)
        while (word := self.rest) and word.kind == "word" and word.text.casefold() not in _JOINING:
            self._next += 1
            end = word.start + len(word.text)
        return self._text[token.start : end]

    def _take(self, word: str) -> bool:
        token = self.rest
        if token is None or token.kind == "quoted" or token.text.casefold() != word:
            return False
        self._next += 1
        return True

    def _split(self) -> Iterator[_Token]:
        end = len(self._text.rstrip())
        position = 0
        while position < end:
            match = _TOKEN.match(self._text, position)
            if match is None:
                position += len(self._text[position:]) - len(self._text[position:].lstrip())
                raise self._error(
                    f"unexpected `{self._text[position]}` at character {position + 1}"
                )
            kind = match.lastgroup or ""
            yield _Token(kind, match[kind], match.start(kind))
            position = match.end()

    def _error(self, reason: str) -> FilterError:
        shown = self._text if len(self._text) <= 200 else self._text[:200] + "…"
        return FilterError(
            f"The filter `{shown}` cannot be read: {reason}.",
            fix=f"Write it as in: {FILTER_EXAMPLE}",
        )


def _unquote(token: _Token) -> str:
    if token.kind != "quoted":
        return token.text
    quote = token.text[0]
    return token.text[1:-1].replace(quote * 2, quote)


_COMPARISONS = {
    "eq": Comparison.EQUAL,
    "gt": Comparison.MORE,
    "gte": Comparison.AT_LEAST,
    "lt": Comparison.LESS,
    "lte": Comparison.AT_MOST,
    "in": Comparison.EQUAL,
    "contains": Comparison.CONTAINS,
}
_NEGATED = {"ne": Comparison.EQUAL, "nin": Comparison.EQUAL}
_OPERATORS = (*_COMPARISONS, *_NEGATED, "exists", "not")
_DEEPEST_MAPPING = 50


def map_filter(given: Mapping[str, object], depth: int = 0) -> Filter:
    """Return the filter that a mapping describes. Raises FilterError."""
    if depth > _DEEPEST_MAPPING:
        raise FilterError(f"The filter is nested more than {_DEEPEST_MAPPING} levels deep.")
    if not given:
        raise FilterError("The filter has no condition.", fix='Write {"FIELD": VALUE}.')
    parts = [_map_entry(str(name), value, depth) for name, value in given.items()]
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _map_entry(name: str, value: object, depth: int) -> Filter:
    joining = name.removeprefix("$").lower()
    if joining in {"and", "or"} and (name.startswith("$") or _is_list(value)):
        parts = tuple(_map_part(part, depth) for part in _listed(value, name))
        if len(parts) == 1:
            return parts[0]
        return AllOf(parts) if joining == "and" else AnyOf(parts)
    if joining == "not" and (name.startswith("$") or isinstance(value, Mapping)):
        return Not(_map_part(value, depth))
    if isinstance(value, Mapping):
        if not value:
            raise FilterError(
                f"The field `{name}` has no operator.", fix=f"Operators are {_names()}."
            )
        found = [_compare(name, str(sign), operand, depth) for sign, operand in value.items()]
        return found[0] if len(found) == 1 else AllOf(tuple(found))
    return Condition(name, Comparison.EQUAL, _values(name, value))


def _compare(field: str, sign: str, operand: object, depth: int) -> Filter:
    operator = sign.removeprefix("$").lower()
    if operator == "exists":
        if not isinstance(operand, bool):
            raise FilterError(f"`exists` of the field `{field}` takes true or false.")
        present = Condition(field, Comparison.PRESENT)
        return present if operand else Not(present)
    if operator == "not":
        return Not(_map_entry(field, operand, depth + 1))
    if operator in _NEGATED:
        return Not(Condition(field, _NEGATED[operator], _values(field, operand)))
    if operator not in _COMPARISONS:
        raise FilterError(
            f"Unknown operator `{sign}` of the field `{field}`.", fix=f"Operators are {_names()}."
        )
    return Condition(field, _COMPARISONS[operator], _values(field, operand))


def _map_part(part: object, depth: int) -> Filter:
    if not isinstance(part, Mapping):
        raise FilterError(
            f"Expected a mapping of fields in a filter, got {part!r}.",
            fix='Write {"FIELD": VALUE}.',
        )
    return map_filter(part, depth + 1)


def _values(field: str, value: object) -> tuple[str, ...]:
    items = _listed(value, field) if _is_list(value) else [value]
    return tuple(_as_text(field, item) for item in items)


def _as_text(field: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return f"{value:g}" if isinstance(value, float) and value.is_integer() else str(value)
    if isinstance(value, date):
        return value.isoformat()
    raise FilterError(
        f"The field `{field}` cannot be compared with {value!r}.",
        fix="Give a string, a number, a boolean, a date or a list of these.",
    )


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence | set | frozenset) and not isinstance(value, str | bytes)


def _listed(value: object, name: str) -> list[object]:
    if not _is_list(value) or not value:
        raise FilterError(f"`{name}` takes a list with at least one item, got {value!r}.")
    assert isinstance(value, Sequence | set | frozenset)
    return list(value) if isinstance(value, Sequence) else sorted(value, key=str)


def _names() -> str:
    return ", ".join(f"`{name}`" for name in _OPERATORS)
