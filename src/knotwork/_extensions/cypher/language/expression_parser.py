"""Parse patterns and expressions: nodes, relationships, operators by precedence, and atoms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from knotwork._extensions.cypher.language.lexer import TokenCursor, read_number, unquote_string
from knotwork._extensions.cypher.language.syntax_tree import (
    Binary,
    Call,
    Case,
    Comparison,
    Comprehension,
    Constant,
    Direction,
    Expression,
    HasLabel,
    IndexAccess,
    Junction,
    LabelExpression,
    LabelIs,
    LabelJunction,
    LabelNot,
    ListOf,
    MapOf,
    MapProjection,
    NodePattern,
    Parameter,
    PathPattern,
    PatternComprehension,
    PatternPredicate,
    PropertyAccess,
    Quantifier,
    Reduction,
    RelationshipPattern,
    Slice,
    Subquery,
    Unary,
    UnionQuery,
    Variable,
)
from knotwork.errors import QueryRefused, QuerySyntaxError

_SHORTEST_KINDS = {"SHORTESTPATH": "one", "ALLSHORTESTPATHS": "all"}


class PatternParser(TokenCursor, ABC):
    """The grammar of patterns; a subclass reads the expressions in them."""

    @abstractmethod
    def expression(self) -> Expression:
        """Read an expression."""

    @abstractmethod
    def map_or_parameter(self) -> Expression:
        """Read a map in braces, or a parameter instead."""

    def patterns(self) -> tuple[PathPattern, ...]:
        """Read the patterns of a MATCH."""
        found = [self.path_pattern()]
        while self.accept(","):
            found.append(self.path_pattern())
        return tuple(found)

    def path_pattern(self) -> PathPattern:
        """Read one pattern, with an optional name and ``shortestPath``."""
        variable = None
        if self.token.kind in ("name", "quoted") and self.ahead().text == "=":
            variable = self.name("a path")
            self.expect("=")
        if self.token.upper in _SHORTEST_KINDS and self.ahead().text == "(":
            kind = _SHORTEST_KINDS[self.next().upper]
            self.expect("(")
            inner = self.pattern_chain(None)
            self.expect(")")
            if len(inner.relationships) != 1:
                self.fail("A shortest path takes exactly one relationship pattern")
            return PathPattern(variable, inner.nodes, inner.relationships, kind)
        if self.at_any("SHORTEST", "ANY", "ALL") and self.ahead().text != "(":
            raise QueryRefused(
                f"`{self.token.text}` before a pattern is not supported.",
                fix="Use shortestPath((a)-[*]-(b)) or allShortestPaths(...).",
            )
        if self.at("(", "("):
            raise QueryRefused(
                "Patterns in brackets are not supported.",
                fix="Write the pattern without brackets, with a length such as -[*1..3]->.",
            )
        return self.pattern_chain(variable)

    def pattern_chain(self, variable: str | None) -> PathPattern:
        """Read nodes connected by relationships."""
        nodes = [self.node_pattern()]
        relationships: list[RelationshipPattern] = []
        while self.at_any("-") or self.at("<", "-"):
            relationships.append(self.relationship_pattern())
            if self.at_any("{", "+", "*"):
                raise QueryRefused(
                    "Quantified relationships are not supported.",
                    fix="Use a variable length, such as -[:KNOWS*1..3]->.",
                )
            nodes.append(self.node_pattern())
        return PathPattern(variable, tuple(nodes), tuple(relationships))

    def node_pattern(self) -> NodePattern:
        """Read a node in brackets."""
        self.expect("(")
        variable = None
        if self.token.kind in ("name", "quoted") and not self.at_any("WHERE"):
            variable = self.name("a node")
        labels = self.label_expression() if self._accept_colon() else None
        properties = self.map_or_parameter() if self._at_properties() else None
        condition = self.expression() if self.accept("WHERE") else None
        self.expect(")")
        return NodePattern(variable, labels, properties, condition)

    def _accept_colon(self) -> bool:
        return self.accept(":") or self.accept("IS")

    def _at_properties(self) -> bool:
        return self.at_any("{") or self.token.kind == "parameter"

    def relationship_pattern(self) -> RelationshipPattern:
        """Read a relationship with its arrows."""
        leftward = self.accept("<")
        self.expect("-")
        variable: str | None = None
        types: tuple[str, ...] = ()
        lengths: tuple[int, int | None] | None = None
        properties = condition = None
        if self.accept("["):
            if self.token.kind in ("name", "quoted") and not self.at_any("WHERE"):
                variable = self.name("a relationship")
            types = self._types() if self._accept_colon() else ()
            lengths = self._lengths() if self.accept("*") else None
            properties = self.map_or_parameter() if self._at_properties() else None
            condition = self.expression() if self.accept("WHERE") else None
            self.expect("]")
        self.expect("-")
        rightward = self.accept(">")
        direction: Direction = "both"
        if leftward != rightward:
            direction = "in" if leftward else "out"
        return RelationshipPattern(variable, types, properties, direction, lengths, condition)

    def _types(self) -> tuple[str, ...]:
        if self.at_any("!", "%", "("):
            raise QueryRefused(
                "Relationship types can only be combined with `|`.",
                fix="List the types, as in [:A|B].",
            )
        types = [self.name("a type")]
        while self.accept("|"):
            self.accept(":")
            types.append(self.name("a type"))
        if self.at_any("&"):
            raise QueryRefused("A relationship has one type, so that `&` between types is invalid.")
        return tuple(dict.fromkeys(types))

    def _lengths(self) -> tuple[int, int | None]:
        """Read the shortest and longest length after ``*``; None means unlimited."""
        least = self._length()
        if not self.accept(".."):
            return (1, None) if least is None else (least, least)
        most = self._length()
        return 1 if least is None else least, most

    def _length(self) -> int | None:
        if self.token.kind != "number":
            return None
        number = read_number(self.token.text)
        if not isinstance(number, int):
            self.fail("Expected a whole number as length")
        self.next()
        return number

    def label_expression(self) -> LabelExpression:
        """Read labels: ``A``, ``A:B``, ``A&B``, ``A|B``, ``!A``, ``%``, ``(A)``."""
        self.deeper()
        operands = [self._label_term()]
        while self.at_any("|"):
            self.next()
            self.accept(":")
            operands.append(self._label_term())
        self.higher()
        return operands[0] if len(operands) == 1 else LabelJunction("|", tuple(operands))

    def _label_term(self) -> LabelExpression:
        operands = [self._label_factor()]
        while self.at_any("&", ":"):
            self.next()
            operands.append(self._label_factor())
        return operands[0] if len(operands) == 1 else LabelJunction("&", tuple(operands))

    def _label_factor(self) -> LabelExpression:
        if self.accept("!"):
            self.deeper()
            negated = LabelNot(self._label_factor())
            self.higher()
            return negated
        if self.accept("("):
            inner = self.label_expression()
            self.expect(")")
            return inner
        return LabelIs("%" if self.accept("%") else self.name("a label"))


_WORDS = {"TRUE": True, "FALSE": False, "NULL": None}
_SUBQUERIES = {"EXISTS", "COUNT", "COLLECT"}
_QUANTIFIERS = {"ALL", "ANY", "NONE", "SINGLE"}
_COMPARISONS = ("=", "<>", "<", ">", "<=", ">=")
_WORD_PREDICATES = {
    ("STARTS", "WITH"): "STARTS WITH",
    ("ENDS", "WITH"): "ENDS WITH",
    ("CONTAINS",): "CONTAINS",
    ("IN",): "IN",
    ("=~",): "=~",
}
_NULL_PREDICATES = (("IS", "NULL"), ("IS", "NOT", "NULL"))


class ExpressionParser(PatternParser):
    """The grammar of expressions: operators by precedence, then atoms."""

    label_may_follow = True

    @abstractmethod
    def subquery(self) -> UnionQuery:
        """Read the query, or bare pattern, in the braces of a subquery."""

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
            raise QueryRefused("After IS, only NULL and NOT NULL are supported, not types.")
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
                subject = PropertyAccess(subject, self.name("a property"))
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
        return IndexAccess(subject, start)

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
            self.fail("Expected an expression")
        return self._word()

    def number(self, *, negative: bool = False) -> Expression:
        """Read a number. Raises QuerySyntaxError for one that is malformed or too large."""
        token = self.next()
        try:
            number = read_number(token.text, negative=negative)
        except OverflowError:
            self.fail("The number is too large: integers have 64 bits", token)
        if number is None:
            self.fail("Invalid number", token)
        return Constant(-number if negative and number else number)

    def _string(self) -> Expression:
        token = self.next()
        text = unquote_string(token.text)
        if text is None:
            self.fail("The string has an unknown escape sequence", token)
        return Constant(text)

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
            if word in _SHORTEST_KINDS:
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
                self.fail(f"`*` is allowed in count(*) only, not in {name}()")
            return Call(name, (), star=True)
        distinct = self.accept("DISTINCT")
        arguments = self._until(")", self.expression)
        return Call(name, tuple(arguments), distinct)

    def _until(self, end: str, read: Callable[[], Expression]) -> list[Expression]:
        """Read expressions separated by commas, and the closing mark."""
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
        """Return the result of ``read``, or None and backtrack if it fails."""
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
        """Read a map in braces, or a parameter instead."""
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

    def _braced(self, read: Callable[[], UnionQuery]) -> UnionQuery:
        self.expect("{")
        self.deeper()
        query = read()
        self.higher()
        self.expect("}")
        return query
