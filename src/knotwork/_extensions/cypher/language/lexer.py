"""Tokenize Cypher statements, and read tokens with lookahead and backtracking."""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from knotwork._extensions.cypher.language.limits import Limits
from knotwork.errors import QueryRefused, QuerySyntaxError

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/)
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
_MAX_INTEGER = (1 << 63) - 1


class Token(NamedTuple):
    """A token and its offset in the statement.

    ``kind`` is name, quoted, number, string, parameter, mark or end. ``upper`` is the text of names
    and marks in upper case, "" for other kinds, for comparison with keywords.
    """

    kind: str
    text: str
    start: int
    upper: str


def token_end(statement: str, token: Token) -> int:
    """Return the offset behind a token, whose text may lack the quotes of the statement."""
    found = _TOKEN.match(statement, token.start)
    return len(statement) if found is None else found.end()


def read_tokens(statement: str, most: int) -> list[Token]:
    """Split a statement into tokens, of which the last has the kind "end".

    Raises QuerySyntaxError, and QueryRefused for a statement of more than ``most`` characters.
    """
    if len(statement) > most:
        raise QueryRefused(
            f"The statement has {len(statement):,} characters; the limit is {most:,}.",
            fix="Pass long lists as parameters.",
        )
    tokens: list[Token] = []
    position = 0
    while position < len(statement):
        found = _TOKEN.match(statement, position)
        if found is None:
            character = statement[position]
            problem = (
                f"The quotation that begins with {character} does not end."
                if character in "'\"`"
                else f"Unexpected character `{character}`."
            )
            raise syntax_error(statement, position, problem)
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


def syntax_error(statement: str, position: int, problem: str) -> QuerySyntaxError:
    """Return an error with the line and column of an offset in a statement."""
    line = statement.count("\n", 0, position) + 1
    column = position - (statement.rfind("\n", 0, position) + 1) + 1
    near = statement[position : position + 20].partition("\n")[0]
    place = f"line {line}, column {column}" + (f", at `{near}`" if near else ", at the end")
    return QuerySyntaxError(f"{problem.rstrip('.')} ({place}).")


def unquote_name(text: str) -> str:
    """Return a name without its backticks."""
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def unquote_string(text: str) -> str | None:
    """Return the text of a quoted string, None if it has an invalid escape."""
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
    unquoted = _ESCAPE.sub(replace, body) if "\\" in body else body
    return unquoted if good else None


def read_number(text: str, *, negative: bool = False) -> int | float | None:
    """Return the number of a literal, None if it is malformed.

    Raises OverflowError if it does not fit into 64 bits, or into a float. The magnitude of a
    ``negative`` number may be larger by 1.
    """
    plain = text.replace("_", "")
    try:
        number = int(plain, 0) if plain[:2].lower() in ("0x", "0o") else int(plain)
    except ValueError:
        return _read_float(plain)
    if number > _MAX_INTEGER:
        if negative and number <= _MAX_INTEGER + 1:
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


_READS_PER_TOKEN = 30
"""How often each token may be read on average, which limits backtracking."""


class TokenCursor:
    """A position in the tokens of a statement, with the nesting depth of the parser."""

    def __init__(self, statement: str, limits: Limits) -> None:
        self.text = statement
        self.limits = limits
        self.tokens = read_tokens(statement, limits.statement_characters)
        self.position = 0
        self._depth = 0
        self._left = _READS_PER_TOKEN * (len(self.tokens) + 100)

    @property
    def token(self) -> Token:
        """The current token."""
        return self.tokens[self.position]

    def ahead(self, count: int = 1) -> Token:
        """Return the token ``count`` positions ahead, or the end."""
        return self.tokens[min(self.position + count, len(self.tokens) - 1)]

    def next(self) -> Token:
        """Return the current token and advance.

        Raises QueryRefused if the statement makes the parser backtrack too often.
        """
        token = self.tokens[self.position]
        if token.kind != "end":
            self.position += 1
        self._left -= 1
        if self._left < 0:
            raise QueryRefused(
                "The statement is too ambiguous to parse.", fix="Simplify nested brackets."
            )
        return token

    def at(self, *words: str) -> bool:
        """Return True if these keywords or marks follow in this order."""
        last = len(self.tokens) - 1
        for offset, word in enumerate(words):
            token = self.tokens[min(self.position + offset, last)]
            if token.upper != word:
                return False
        return True

    def at_any(self, *words: str) -> bool:
        """Return True if the current token is one of these keywords or marks."""
        return self.token.upper in words

    def accept(self, *words: str) -> bool:
        """Skip these keywords or marks if they follow; return True if they did."""
        if not self.at(*words):
            return False
        for _ in words:
            self.next()
        return True

    def expect(self, *words: str) -> None:
        """Skip keywords or marks. Raises QuerySyntaxError if they do not follow."""
        for word in words:
            if self.token.upper != word:
                self.fail(f"Expected `{word}`")
            self.next()

    def name(self, what: str) -> str:
        """Return the next token, a name. Raises QuerySyntaxError if it is not one.

        ``what`` names the kind of name for the error, as in "a variable".
        """
        if self.token.kind not in ("name", "quoted"):
            self.fail(f"Expected the name of {what}")
        return unquote_name(self.next().text)

    def deeper(self) -> None:
        """Enter a level of nesting. Raises QueryRefused above the limit."""
        self._depth += 1
        if self._depth > self.limits.depth:
            raise QueryRefused(f"The statement nests deeper than {self.limits.depth} levels.")

    def higher(self) -> None:
        """Leave a level of nesting."""
        self._depth -= 1

    def fail(self, problem: str, token: Token | None = None) -> NoReturn:
        """Raise QuerySyntaxError at a token, by default the current one."""
        raise syntax_error(self.text, (token or self.token).start, problem)
