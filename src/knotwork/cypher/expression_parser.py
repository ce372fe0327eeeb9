"""Reading expressions by precedence: OR, XOR, AND, NOT, comparison, predicate, +, *, ^, sign."""

from __future__ import annotations

from collections.abc import Callable

from knotwork.cypher.atom_parser import AtomParser
from knotwork.cypher.syntax import (
    Binary,
    Comparison,
    Expression,
    HasLabel,
    Item,
    Junction,
    Property,
    Slice,
    Unary,
)
from knotwork.errors import QueryRefused

_COMPARISONS = ("=", "<>", "<", ">", "<=", ">=")
_WORD_PREDICATES = {
    ("STARTS", "WITH"): "STARTS WITH",
    ("ENDS", "WITH"): "ENDS WITH",
    ("CONTAINS",): "CONTAINS",
    ("IN",): "IN",
    ("=~",): "=~",
}
_NULL_PREDICATES = (("IS", "NULL"), ("IS", "NOT", "NULL"))


class ExpressionParser(AtomParser):
    """The grammar of expressions above atoms."""

    def expression(self) -> Expression:
        """Read an expression."""
        self.deeper()
        found = self._junction("OR", self._exclusive)
        self.higher()
        return found

    def _exclusive(self) -> Expression:
        return self._junction("XOR", self._conjunction)

    def _conjunction(self) -> Expression:
        return self._junction("AND", self._negation)

    def _junction(self, word: str, operand: Callable[[], Expression]) -> Expression:
        operands = [operand()]
        while self.accept(word):
            operands.append(operand())
        return operands[0] if len(operands) == 1 else Junction(word, tuple(operands))

    def _negation(self) -> Expression:
        if not self.accept("NOT"):
            return self._comparison()
        self.deeper()
        found = Unary("NOT", self._negation())
        self.higher()
        return found

    def _comparison(self) -> Expression:
        first = self._predicate()
        steps: list[tuple[str, Expression]] = []
        while self.at_any(*_COMPARISONS):
            operator = self.next().text
            steps.append((operator, self._predicate()))
        return Comparison(first, tuple(steps)) if steps else first

    def _predicate(self) -> Expression:
        left = self._sum()
        while True:
            operator = self._accept_predicate()
            if operator is None:
                return left
            if operator.startswith("IS"):
                left = Unary(operator, left)
            else:
                left = Binary(operator, left, self._sum())

    def _accept_predicate(self) -> str | None:
        for words, operator in _WORD_PREDICATES.items():
            if self.accept(*words):
                return operator
        for words in _NULL_PREDICATES:
            if self.accept(*words):
                return " ".join(words)
        if self.at_any("IS") or self.at("IS", "NOT"):
            raise QueryRefused("After IS, only NULL and NOT NULL are supported.")
        return None

    def _sum(self) -> Expression:
        left = self._product()
        while self.at_any("+", "-", "||"):
            operator = self.next().text
            left = Binary("+" if operator == "||" else operator, left, self._product())
        return left

    def _product(self) -> Expression:
        left = self._power()
        while self.at_any("*", "/", "%"):
            left = Binary(self.next().text, left, self._power())
        return left

    def _power(self) -> Expression:
        left = self._signed()
        while self.accept("^"):
            left = Binary("^", left, self._signed())
        return left

    def _signed(self) -> Expression:
        if self.at_any("-") and self.ahead().kind == "number":
            self.next()
            return self._postfix(self.number(negative=True))
        if self.at_any("+", "-"):
            operator = self.next().text
            self.deeper()
            found = Unary(operator, self._signed())
            self.higher()
            return found
        return self._postfix(self.atom())

    def _postfix(self, subject: Expression) -> Expression:
        while True:
            if self.at_any(".") and self.ahead().kind in ("name", "quoted"):
                self.next()
                subject = Property(subject, self.name("a property"))
            elif self.accept("["):
                subject = self._indexed(subject)
                self.expect("]")
            elif self.at_any(":") and self.label_may_follow:
                self.next()
                subject = HasLabel(subject, self.label_expression())
            else:
                return subject

    def _indexed(self, subject: Expression) -> Expression:
        if self.accept(".."):
            return Slice(subject, None, None if self.at_any("]") else self.expression())
        start = self.expression()
        if self.accept(".."):
            return Slice(subject, start, None if self.at_any("]") else self.expression())
        return Item(subject, start)
