"""A statement cut into tokens, with their places."""

from __future__ import annotations

import re
from typing import NamedTuple

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
