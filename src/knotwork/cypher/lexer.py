"""Tokenize statements, and read tokens with lookahead and backtracking."""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from knotwork.cypher.limits import Limits
from knotwork.errors import QueryRefused, QuerySyntaxError

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/)
  | (?P<number>
        0[xX][0-9a-zA-Z_]+ | 0[oO][0-9a-zA-Z_]+
      | [0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9]+)?[A-Za-z_0-9]*
      | \.[0-9][0-9_]*(?:[eE][+-]?[0-9]+)?[A-Za-z_0-9]*
    )
  | (?P<name>[^\W\d]\w*)
  | (?P<quoted>`(?:[^`]|``)*+`)
  | (?P<string>'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")
  | (?P<parameter>\$(?:\w+|`(?:[^`]|``)*+`))
  | (?P<mark><=|>=|<>|=~|\.\.|\+=|\|\||[-+*/%^=<>()\[\]{},.:;|&!])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = {
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "`": "`",
    "/": "/",
    "_": "\\_",
    "%": "\\%",
}
_LARGEST = (1 << 63) - 1


class Token(NamedTuple):
    """``kind`` is name, quoted, number, string, parameter, mark or end; ``upper`` is for words."""

    kind: str
    text: str
    start: int
    upper: str


def read_tokens(statement: str, most: int) -> list[Token]:
    """Cut a statement into tokens. Raises QuerySyntaxError, QueryRefused above ``most`` letters."""
    if len(statement) > most:
        raise QueryRefused(
            f"The statement has {len(statement):,} letters; at most {most:,} are read.",
            fix="Give long lists as parameters.",
        )
    tokens: list[Token] = []
    position = 0
    while position < len(statement):
        found = _TOKEN.match(statement, position)
        if found is None:
            raise syntax_error(statement, position, _complaint(statement[position]))
        kind = found.lastgroup or ""
        if kind != "space":
            text = found.group()
            if kind == "parameter":
                text = unquote_name(text[1:])
            upper = text.upper() if kind in ("name", "mark") else ""
            tokens.append(Token(kind, text, position, upper))
        position = found.end()
    tokens.append(Token("end", "", len(statement), ""))
    return tokens


def _complaint(letter: str) -> str:
    if letter in "'\"`":
        return f"The quotation that begins with {letter} does not end."
    return f"`{letter}` is no part of the language here."


def syntax_error(statement: str, position: int, words: str) -> QuerySyntaxError:
    """Return an error that says where in a statement it is."""
    line = statement.count("\n", 0, position) + 1
    column = position - (statement.rfind("\n", 0, position) + 1) + 1
    near = statement[position : position + 20].partition("\n")[0]
    place = f"line {line}, column {column}" + (f", at `{near}`" if near else ", at the end")
    return QuerySyntaxError(f"{words.rstrip('.')} ({place}).")


def unquote_name(text: str) -> str:
    """Return a name without its backticks."""
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def unquote_string(text: str) -> str | None:
    """Return what a quoted string says, or None where an escape is not one."""
    good = True

    def replace(found: re.Match[str]) -> str:
        nonlocal good
        code = found.group(1)
        if code in _ESCAPED:
            return _ESCAPED[code]
        if len(code) > 1 and int(code[1:], 16) <= 0x10FFFF:
            return chr(int(code[1:], 16))
        good = False
        return ""

    body = text[1:-1]
    said = _ESCAPE.sub(replace, body) if "\\" in body else body
    return said if good else None


def read_number(text: str, *, negative: bool = False) -> int | float | None:
    """Return the number of a literal, or None where it is none; OverflowError where too large."""
    plain = text.replace("_", "")
    try:
        number = int(plain, 0) if plain[:2].lower() in ("0x", "0o") else int(plain)
    except ValueError:
        return _read_float(plain)
    if number > _LARGEST:
        if negative and number <= _LARGEST + 1:
            return number
        raise OverflowError
    return number


def _read_float(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    if number == float("inf"):
        raise OverflowError
    return number


_ATTEMPTS = 30


class TokenCursor:
    """A place among the tokens of a statement."""

    def __init__(self, statement: str, limits: Limits) -> None:
        self.text = statement
        self.limits = limits
        self.tokens = read_tokens(statement, limits.statement_characters)
        self.position = 0
        self._depth = 0
        self._left = _ATTEMPTS * (len(self.tokens) + 100)

    @property
    def token(self) -> Token:
        """The token at hand."""
        return self.tokens[self.position]

    def ahead(self, count: int = 1) -> Token:
        """Return a later token, or the end."""
        return self.tokens[min(self.position + count, len(self.tokens) - 1)]

    def next(self) -> Token:
        """Return the token at hand and go on.

        Raises QueryRefused when a statement makes the parser go back too often.
        """
        token = self.tokens[self.position]
        if token.kind != "end":
            self.position += 1
        self._left -= 1
        if self._left < 0:
            raise QueryRefused("The statement is nested in too many ways.")
        return token

    def at(self, *words: str) -> bool:
        """Tell whether these words or marks follow, in this order."""
        last = len(self.tokens) - 1
        for offset, word in enumerate(words):
            token = self.tokens[min(self.position + offset, last)]
            if token.upper != word:
                return False
        return True

    def at_any(self, *words: str) -> bool:
        """Tell whether the token at hand is one of these words or marks."""
        return self.token.upper in words

    def accept(self, *words: str) -> bool:
        """Go past these words or marks, if they follow."""
        if not self.at(*words):
            return False
        for _ in words:
            self.next()
        return True

    def expect(self, *words: str) -> None:
        """Go past words or marks that must follow. Raises QuerySyntaxError."""
        for word in words:
            if self.token.upper != word:
                self.fail(f"`{word}` is expected")
            self.next()

    def name(self, what: str) -> str:
        """Return a name that must follow. Raises QuerySyntaxError."""
        if self.token.kind not in ("name", "quoted"):
            self.fail(f"The name of {what} is expected")
        return unquote_name(self.next().text)

    def deeper(self) -> None:
        """Count one level of nesting. Raises QueryRefused when they are too many."""
        self._depth += 1
        if self._depth > self.limits.depth:
            raise QueryRefused(f"The statement nests deeper than {self.limits.depth} levels.")

    def higher(self) -> None:
        """Leave a level of nesting."""
        self._depth -= 1

    def fail(self, words: str, token: Token | None = None) -> NoReturn:
        """Raise QuerySyntaxError at a token."""
        raise syntax_error(self.text, (token or self.token).start, words)
