"""Going through tokens: looking ahead, going on, going back, and complaining."""

from __future__ import annotations

from typing import NoReturn

from knotwork.cypher.limits import Limits
from knotwork.cypher.tokens import Token, read_tokens, syntax_error, unquote_name
from knotwork.errors import QueryRefused

_ATTEMPTS = 30


class Cursor:
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
