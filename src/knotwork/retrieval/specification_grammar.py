"""The language in which retrievers compose, parsed from text to a tree.

An expression is stages joined by ``>``: steps on the question, one retriever, steps on its
evidence. A stage is a sum: parts joined by ``+`` whose evidence is fused, each with an optional
weight and ``*`` before it. A part is a name, which may have arguments in parentheses, or an
expression in parentheses. Arguments are ``name=value``, separated by commas; an expression may come
before them. A value is a number, ``true``, ``false``, a word, or a text in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from knotwork.errors import ConfigError

Value = int | float | bool | str

LONGEST = 2_000
"""Characters in a specification, at most."""

DEEPEST = 20
"""Brackets inside each other, at most."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_][\w-]*)"
    r"|(?P<text>\"[^\"]*\"|'[^']*')|(?P<sign>[>+*(),=]))"
)
_FIX = "Write for example `decompose > bm25 + dense > diversify` or `sentence_window(size=2)`."


@dataclass(frozen=True, slots=True)
class RetrieverCall:
    """A name with its options; ``inner`` is an expression given as first argument."""

    name: str
    options: Mapping[str, Value] = field(default_factory=dict)
    inner: RetrieverPipeline | None = None
    place: int = 0


@dataclass(frozen=True, slots=True)
class RetrieverSum:
    """Expressions whose evidence is fused, each with its weight."""

    parts: tuple[tuple[float, RetrieverCall | RetrieverPipeline], ...]
    place: int = 0


@dataclass(frozen=True, slots=True)
class RetrieverPipeline:
    """Stages through which a question, and then its evidence, go in order."""

    stages: tuple[RetrieverCall | RetrieverSum | RetrieverPipeline, ...]
    place: int = 0


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


def is_expression(text: str) -> bool:
    """Return whether a text is more than a plain name."""
    return re.fullmatch(r"\s*[A-Za-z_][\w-]*\s*", text) is None


def parse_specification(text: str) -> RetrieverPipeline:
    """Return the tree of a specification.

    Raises ConfigError that says what is wrong, at which character, and what is valid there.
    """
    if len(text) > LONGEST:
        raise ConfigError(f"A retriever has at most {LONGEST:,} characters, not {len(text):,}.")
    parser = _Parser(text)
    tree = parser.expression(depth=0)
    parser.expect("end")
    return tree


def show_specification(node: RetrieverCall | RetrieverSum | RetrieverPipeline) -> str:
    """Return the text of a tree, in the form in which it would be read again."""
    if isinstance(node, RetrieverCall):
        inner = [show_specification(node.inner)] if node.inner is not None else []
        options = [f"{name}={_show_value(value)}" for name, value in node.options.items()]
        arguments = ", ".join([*inner, *options])
        return f"{node.name}({arguments})" if arguments else node.name
    if isinstance(node, RetrieverSum):
        return " + ".join(
            (f"{weight:g}*" if weight != 1.0 else "") + _bracketed(part)
            for weight, part in node.parts
        )
    return " > ".join(
        _bracketed(stage) if isinstance(stage, RetrieverPipeline) else show_specification(stage)
        for stage in node.stages
    )


def _bracketed(node: RetrieverCall | RetrieverPipeline) -> str:
    shown = show_specification(node)
    whole = isinstance(node, RetrieverCall) or (
        len(node.stages) == 1 and isinstance(node.stages[0], RetrieverCall)
    )
    return shown if whole else f"({shown})"


def _show_value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and not re.fullmatch(r"[A-Za-z_][\w-]*", value):
        return f"'{value}'" if '"' in value else f'"{value}"'
    return str(value)


def specification_error(text: str, place: int, reason: str) -> ConfigError:
    """Return the error for a mistake at a place, counted from 0, of a specification."""
    where = f"at the end of `{text}`" if place >= len(text) else f"at character {place + 1}"
    shown = "" if place >= len(text) else f" of `{text}`, before `{text[place : place + 20]}`"
    return ConfigError(f"{reason}, {where}{shown}.", fix=_FIX)


class _Parser:
    """Reads a specification from left to right, one token ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._read()
        self._next = 0

    def _read(self) -> list[_Token]:
        tokens, place = [], 0
        while place < len(self._text.rstrip()):
            match = _TOKEN.match(self._text, place)
            if match is None:
                start = place + len(self._text[place:]) - len(self._text[place:].lstrip())
                raise specification_error(
                    self._text, start, "There is a sign that means nothing here"
                )
            kind = match.lastgroup or ""
            tokens.append(_Token(kind, match[kind], match.start(kind)))
            place = match.end()
        return [*tokens, _Token("end", "", len(self._text))]

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._token
        self._next += 1
        return token

    def _is(self, sign: str) -> bool:
        return self._token.kind == "sign" and self._token.text == sign

    def expect(self, wanted: str) -> _Token:
        """Take the next token, which must be this sign, or of this kind."""
        if self._token.kind == wanted or self._is(wanted):
            return self._take()
        names = {"end": "the end", "name": "a name"}
        wanted = names.get(wanted, f"`{wanted}`")
        raise specification_error(self._text, self._token.place, f"Expected {wanted}")

    def expression(self, *, depth: int) -> RetrieverPipeline:
        if depth > DEEPEST:
            raise specification_error(self._text, self._token.place, "There are too many brackets")
        place = self._token.place
        stages = [self._sum(depth)]
        while self._is(">"):
            self._take()
            stages.append(self._sum(depth))
        return RetrieverPipeline(tuple(stages), place)

    def _sum(self, depth: int) -> RetrieverCall | RetrieverSum | RetrieverPipeline:
        place = self._token.place
        parts = [self._part(depth)]
        while self._is("+"):
            self._take()
            parts.append(self._part(depth))
        if len(parts) == 1 and parts[0][0] == 1.0:
            return parts[0][1]
        return RetrieverSum(tuple(parts), place)

    def _part(self, depth: int) -> tuple[float, RetrieverCall | RetrieverPipeline]:
        weight = 1.0
        if self._token.kind == "number":
            token = self._take()
            weight = float(token.text)
            if weight <= 0:
                raise specification_error(self._text, token.place, "A weight must be above 0")
            self.expect("*")
        if self._is("("):
            self._take()
            inner = self.expression(depth=depth + 1)
            self.expect(")")
            return weight, inner
        if self._token.kind != "name":
            raise specification_error(
                self._text, self._token.place, "Expected a retriever or a step"
            )
        return weight, self._call(depth)

    def _call(self, depth: int) -> RetrieverCall:
        name = self._take()
        options: dict[str, Value] = {}
        inner = None
        if self._is("("):
            self._take()
            if not self._is(")"):
                inner = self._arguments(options, depth)
            self.expect(")")
        return RetrieverCall(name.text, options, inner, name.place)

    def _arguments(self, options: dict[str, Value], depth: int) -> RetrieverPipeline | None:
        """Read arguments into ``options``; return the expression among them, if there is one."""
        inner = None
        if not self._is_option():
            inner = self.expression(depth=depth + 1)
            if not self._is(","):
                return inner
            self._take()
        while True:
            key = self.expect("name")
            self.expect("=")
            if key.text in options:
                raise specification_error(self._text, key.place, f"`{key.text}` is given twice")
            options[key.text] = self._value()
            if not self._is(","):
                return inner
            self._take()

    def _is_option(self) -> bool:
        following = self._tokens[min(self._next + 1, len(self._tokens) - 1)]
        return self._token.kind == "name" and following.text == "=" and following.kind == "sign"

    def _value(self) -> Value:
        token = self._take()
        if token.kind == "number":
            return float(token.text) if "." in token.text else int(token.text)
        if token.kind == "name":
            return {"true": True, "false": False}.get(token.text, token.text)
        if token.kind == "text":
            return token.text[1:-1]
        raise specification_error(
            self._text, token.place, "Expected a number, a word or a text in quotes"
        )
