"""Reading atoms: literals, names, calls, lists, maps, CASE, quantifiers, patterns, subqueries."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from knotwork.cypher.pattern_parser import PatternParser
from knotwork.cypher.syntax import (
    Call,
    Case,
    Comprehension,
    Constant,
    Expression,
    ListOf,
    MapOf,
    MapProjection,
    Parameter,
    PatternComprehension,
    PatternPredicate,
    Quantifier,
    Query,
    Reduction,
    Subquery,
    Variable,
)
from knotwork.cypher.tokens import read_number, unquote_string
from knotwork.errors import QuerySyntaxError

_WORDS = {"TRUE": True, "FALSE": False, "NULL": None}
_SUBQUERIES = {"EXISTS", "COUNT", "COLLECT"}
_QUANTIFIERS = {"ALL", "ANY", "NONE", "SINGLE"}
_SHORTEST = {"SHORTESTPATH", "ALLSHORTESTPATHS"}


class AtomParser(PatternParser):
    """The grammar of what expressions are made of."""

    label_may_follow = True

    @abstractmethod
    def subquery(self) -> Query:
        """Read the query, or bare pattern, in the braces of a subquery."""

    def atom(self) -> Expression:  # noqa: PLR0911 - one return a kind of token
        """Read an atom."""
        token = self.token
        if token.kind == "number":
            return self.number()
        if token.kind == "string":
            return self._string()
        if token.kind == "parameter":
            return Parameter(self.next().text)
        if token.upper == "(":
            return self._bracketed()
        if token.upper == "[":
            return self._list()
        if token.upper == "{":
            return self.map_or_parameter()
        if token.kind == "quoted":
            return self._named()
        if token.kind != "name":
            self.fail("An expression is expected")
        return self._word()

    def number(self, *, negative: bool = False) -> Expression:
        """Read a number. Raises QuerySyntaxError for one that is malformed or too large."""
        token = self.next()
        try:
            number = read_number(token.text, negative=negative)
        except OverflowError:
            self.fail("The number is too large: whole ones have 64 bits", token)
        if number is None:
            self.fail("This is not a number", token)
        return Constant(-number if negative and number else number)

    def _string(self) -> Expression:
        token = self.next()
        said = unquote_string(token.text)
        if said is None:
            self.fail("The string has an escape that means nothing", token)
        return Constant(said)

    def _word(self) -> Expression:  # noqa: PLR0911 - one return a kind of word
        word, follows = self.token.upper, self.ahead().text
        if word in _WORDS and follows not in ("(", ".", "{"):
            self.next()
            return Constant(_WORDS[word])
        if word == "CASE" and follows not in (".", ",", ")", "]", "}"):
            return self._case()
        if word in _SUBQUERIES and follows == "{":
            self.next()
            return Subquery(word, self._braced(self.subquery))
        if follows == "(":
            if word in _QUANTIFIERS:
                return self._attempt(self._quantifier) or self._named()
            if word == "REDUCE":
                return self._reduction()
            if word in _SHORTEST:
                return PatternPredicate(self.path_pattern())
        return self._named()

    def _named(self) -> Expression:
        """Read a call of a function, a map projection, or a variable."""
        offset = 0
        while self.ahead(offset + 1).text == "." and self.ahead(offset + 2).kind in (
            "name",
            "quoted",
        ):
            offset += 2
        if self.ahead(offset + 1).text == "(":
            words = [self.name("a function")]
            while self.accept("."):
                words.append(self.name("a function"))
            return self._call(".".join(words).lower())
        variable = Variable(self.name("a variable"))
        return self._map_projection(variable) if self.at_any("{") else variable

    def _call(self, name: str) -> Expression:
        self.expect("(")
        if self.accept("*"):
            self.expect(")")
            if name != "count":
                self.fail(f"`*` stands in count(*) only, not in {name}")
            return Call(name, (), star=True)
        distinct = self.accept("DISTINCT")
        arguments = self._until(")", self.expression)
        return Call(name, tuple(arguments), distinct)

    def _until(self, end: str, read: Callable[[], Expression]) -> list[Expression]:
        """Read what stands between commas, up to a closing mark, and that mark."""
        found: list[Expression] = []
        if not self.accept(end):
            found.append(read())
            while self.accept(","):
                found.append(read())
            self.expect(end)
        return found

    def _bracketed(self) -> Expression:
        pattern = self._attempt(self._pattern_predicate)
        if pattern is not None:
            return pattern
        self.expect("(")
        free, self.label_may_follow = self.label_may_follow, True
        found = self.expression()
        self.label_may_follow = free
        self.expect(")")
        return found

    def _pattern_predicate(self) -> Expression:
        pattern = self.pattern_chain(None)
        if not pattern.relationships:
            self.fail("A pattern has a relationship")
        return PatternPredicate(pattern)

    def _attempt(self, read: Callable[[], Expression]) -> Expression | None:
        """Read something, or go back to where it began if it is not there."""
        position, depth = self.position, self._depth
        try:
            return read()
        except QuerySyntaxError:
            self.position, self._depth = position, depth
            return None

    def _list(self) -> Expression:
        if self.ahead().kind in ("name", "quoted") and self.ahead(2).upper == "IN":
            found = self._attempt(self._comprehension)
            if found is not None:
                return found
        elif self.ahead().text == "(" or self.ahead(2).text == "=":
            found = self._attempt(self._pattern_comprehension)
            if found is not None:
                return found
        self.expect("[")
        return ListOf(tuple(self._until("]", self.expression)))

    def _comprehension(self) -> Expression:
        self.expect("[")
        variable = self.name("a variable")
        self.expect("IN")
        source = self.expression()
        condition = self.expression() if self.accept("WHERE") else None
        result = self.expression() if self.accept("|") else None
        self.expect("]")
        return Comprehension(variable, source, condition, result)

    def _pattern_comprehension(self) -> Expression:
        self.expect("[")
        pattern = self.path_pattern()
        if not pattern.relationships:
            self.fail("A pattern has a relationship")
        condition = self.expression() if self.accept("WHERE") else None
        self.expect("|")
        result = self.expression()
        self.expect("]")
        return PatternComprehension(pattern, condition, result)

    def map_or_parameter(self) -> Expression:
        """Read a map in braces, or a parameter in the place of one."""
        if self.token.kind == "parameter":
            return Parameter(self.next().text)
        self.expect("{")
        entries: list[tuple[str, Expression]] = []
        while not self.at_any("}"):
            key = self.name("a key")
            self.expect(":")
            entries.append((key, self.expression()))
            if not self.accept(","):
                break
        self.expect("}")
        return MapOf(tuple(entries))

    def _map_projection(self, subject: Variable) -> Expression:
        self.expect("{")
        entries: list[tuple[str, Expression | None]] = []
        while not self.at_any("}"):
            if self.accept("."):
                entries.append(("*", None) if self.accept("*") else (self.name("a key"), None))
            else:
                key = self.name("a key")
                entries.append((key, self.expression() if self.accept(":") else Variable(key)))
            if not self.accept(","):
                break
        self.expect("}")
        return MapProjection(subject, tuple(entries))

    def _case(self) -> Expression:
        self.expect("CASE")
        subject = None if self.at_any("WHEN") else self.expression()
        branches: list[tuple[Expression, Expression]] = []
        while self.accept("WHEN"):
            condition = self.expression()
            self.expect("THEN")
            branches.append((condition, self.expression()))
        otherwise = self.expression() if self.accept("ELSE") else None
        self.expect("END")
        if not branches:
            self.fail("CASE has at least one WHEN")
        return Case(subject, tuple(branches), otherwise)

    def _quantifier(self) -> Expression:
        kind = self.next().text.lower()
        self.expect("(")
        variable = self.name("a variable")
        self.expect("IN")
        source = self.expression()
        self.expect("WHERE")
        condition = self.expression()
        self.expect(")")
        return Quantifier(kind, variable, source, condition)

    def _reduction(self) -> Expression:
        self.next()
        self.expect("(")
        accumulator = self.name("a variable")
        self.expect("=")
        start = self.expression()
        self.expect(",")
        variable = self.name("a variable")
        self.expect("IN")
        source = self.expression()
        self.expect("|")
        step = self.expression()
        self.expect(")")
        return Reduction(accumulator, start, variable, source, step)

    def _braced(self, read: Callable[[], Query]) -> Query:
        self.expect("{")
        self.deeper()
        query = read()
        self.higher()
        self.expect("}")
        return query
