"""Parse specifications of composed retrievers, as ``rewrite > bm25 + 2*dense > prune(share=0.5)``.

A specification is an expression: stages joined by ``>``, which are steps on the question, one
retriever, and steps on its evidence. A stage is a sum of parts joined by ``+`` whose evidence is
fused; ``2*`` before a part is its weight. A part is a name with optional arguments in parentheses,
or an expression in parentheses. Arguments are ``name=value``, separated by commas, and an
expression may precede them. A value is a number, ``true``, ``false``, a word or a quoted text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from knotwork.errors import ConfigError

Value = int | float | bool | str

LONGEST = 2_000
"""Maximum length of a specification, in characters."""

DEEPEST = 20
"""Maximum nesting of parentheses."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?\d+(?:\.\d+)?)|(?P<name>[A-Za-z_][\w-]*)"
    r"|(?P<text>\"[^\"]*\"|'[^']*')|(?P<sign>[>+*(),=]))"
)
_FIX = "Write for example `decompose > bm25 + dense > diversify` or `sentence_window(size=2)`."


@dataclass(frozen=True, slots=True)
class RetrieverCall:
    """A retriever or step with its options; ``inner`` is an expression as first argument."""

    name: str
    options: Mapping[str, Value] = field(default_factory=dict)
    inner: RetrieverPipeline | None = None
    position: int = 0


@dataclass(frozen=True, slots=True)
class RetrieverSum:
    """Parts whose evidence is fused, each with its weight."""

    parts: tuple[tuple[float, RetrieverCall | RetrieverPipeline], ...]
    position: int = 0


@dataclass(frozen=True, slots=True)
class RetrieverPipeline:
    """Stages in order: steps on the question, a retriever, steps on its evidence."""

    stages: tuple[RetrieverCall | RetrieverSum | RetrieverPipeline, ...]
    position: int = 0


SpecificationNode = RetrieverCall | RetrieverSum | RetrieverPipeline


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


def is_expression(text: str) -> bool:
    """Return True unless the text is a plain name."""
    return re.fullmatch(r"\s*[A-Za-z_][\w-]*\s*", text) is None


def parse_specification(text: str) -> RetrieverPipeline:
    """Return the syntax tree of a specification.

    Raises ConfigError with the position of the mistake and what is expected there.
    """
    if len(text) > LONGEST:
        raise ConfigError(
            f"The specification has {len(text):,} characters, but at most {LONGEST:,} are allowed."
        )
    if not is_expression(text):
        return RetrieverPipeline((RetrieverCall(text.strip()),))
    parser = _Parser(text)
    tree = parser.expression(depth=0)
    parser.expect("end")
    return tree


def calls_of(node: SpecificationNode) -> Iterator[RetrieverCall]:
    """Yield all calls of a tree, each before the calls in its argument."""
    children: list[SpecificationNode] = []
    if isinstance(node, RetrieverCall):
        yield node
        children += [node.inner] if node.inner is not None else []
    elif isinstance(node, RetrieverSum):
        children += [part for _, part in node.parts]
    else:
        children += node.stages
    for child in children:
        yield from calls_of(child)


def show_specification(node: SpecificationNode) -> str:
    """Return the canonical text of a tree; parsing it gives the same tree."""
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


def specification_error(text: str, position: int, reason: str) -> ConfigError:
    """Return the error for a mistake at a position, counted from 0."""
    if position >= len(text):
        return ConfigError(f"{reason}, at the end of `{text}`.", fix=_FIX)
    rest = text[position : position + 20]
    return ConfigError(
        f"{reason}, at character {position + 1} of `{text}`, before `{rest}`.", fix=_FIX
    )


class _Parser:
    """A recursive-descent parser with one token of lookahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._read()
        self._next = 0

    def _read(self) -> list[_Token]:
        tokens, position = [], 0
        while position < len(self._text.rstrip()):
            match = _TOKEN.match(self._text, position)
            if match is None:
                rest = self._text[position:]
                start = position + len(rest) - len(rest.lstrip())
                raise specification_error(self._text, start, "Unexpected character")
            kind = match.lastgroup or ""
            tokens.append(_Token(kind, match[kind], match.start(kind)))
            position = match.end()
        return [*tokens, _Token("end", "", len(self._text))]

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _error(self, reason: str) -> ConfigError:
        return specification_error(self._text, self._token.position, reason)

    def _skips(self, sign: str) -> bool:
        """Consume the next token if it is this sign; return True if it was."""
        found = self._token.kind == "sign" and self._token.text == sign
        self._next += found
        return found

    def expect(self, wanted: str) -> _Token:
        """Consume and return the next token, which must be this sign or of this kind."""
        token = self._token
        if token.kind == wanted:
            self._next += 1
        elif not self._skips(wanted):
            name = {"end": "the end", "name": "a name"}.get(wanted, f"`{wanted}`")
            raise self._error(f"Expected {name}")
        return token

    def expression(self, *, depth: int) -> RetrieverPipeline:
        if depth > DEEPEST:
            raise self._error("Too many nested parentheses")
        position = self._token.position
        stages = [self._sum(depth)]
        while self._skips(">"):
            stages.append(self._sum(depth))
        return RetrieverPipeline(tuple(stages), position)

    def _sum(self, depth: int) -> SpecificationNode:
        position = self._token.position
        parts = [self._part(depth)]
        while self._skips("+"):
            parts.append(self._part(depth))
        if len(parts) == 1 and parts[0][0] == 1.0:
            return parts[0][1]
        return RetrieverSum(tuple(parts), position)

    def _part(self, depth: int) -> tuple[float, RetrieverCall | RetrieverPipeline]:
        weight = 1.0
        if self._token.kind == "number":
            weight = float(self._token.text)
            if weight <= 0:
                raise self._error("A weight must be above 0")
            self._next += 1
            self.expect("*")
        if self._skips("("):
            bracketed = self.expression(depth=depth + 1)
            self.expect(")")
            return weight, bracketed
        if self._token.kind != "name":
            raise self._error("Expected a retriever or a step")
        name = self.expect("name")
        options: dict[str, Value] = {}
        inner = None
        if self._skips("(") and not self._skips(")"):
            inner = self._arguments(options, depth)
            self.expect(")")
        return weight, RetrieverCall(name.text, options, inner, name.position)

    def _arguments(self, options: dict[str, Value], depth: int) -> RetrieverPipeline | None:
        """Parse arguments into ``options``; return the leading expression, if there is one."""
        inner = None
        following = self._tokens[min(self._next + 1, len(self._tokens) - 1)]
        is_option = (
            self._token.kind == "name" and following.text == "=" and following.kind == "sign"
        )
        if not is_option:
            inner = self.expression(depth=depth + 1)
            if not self._skips(","):
                return inner
        while True:
            key = self.expect("name")
            self.expect("=")
            if key.text in options:
                raise specification_error(self._text, key.position, f"`{key.text}` is given twice")
            options[key.text] = self._value()
            if not self._skips(","):
                return inner

    def _value(self) -> Value:
        kind, text, _ = self._token
        if kind not in ("number", "name", "text"):
            raise self._error("Expected a number, a word or a quoted text")
        self._next += 1
        if kind == "number":
            return float(text) if "." in text else int(text)
        return text[1:-1] if kind == "text" else {"true": True, "false": False}.get(text, text)
