"""Reading patterns: nodes, relationships, paths, labels."""

from __future__ import annotations

from abc import ABC, abstractmethod

from knotwork.cypher.cursor import Cursor
from knotwork.cypher.syntax import (
    Expression,
    LabelExpression,
    LabelIs,
    LabelJunction,
    LabelNot,
    NodePattern,
    PathPattern,
    RelationshipPattern,
    Towards,
)
from knotwork.cypher.tokens import read_number
from knotwork.errors import QueryRefused

_SHORTEST = {"SHORTESTPATH": "one", "ALLSHORTESTPATHS": "all"}


class PatternParser(Cursor, ABC):
    """The grammar of patterns; expressions inside them are read by a subclass."""

    @abstractmethod
    def expression(self) -> Expression:
        """Read an expression."""

    @abstractmethod
    def map_or_parameter(self) -> Expression:
        """Read a map in braces, or a parameter in the place of one."""

    def patterns(self) -> tuple[PathPattern, ...]:
        """Read the patterns of a MATCH."""
        found = [self.path_pattern()]
        while self.accept(","):
            found.append(self.path_pattern())
        return tuple(found)

    def path_pattern(self) -> PathPattern:
        """Read one pattern, with its name and ``shortestPath`` where it has them."""
        variable = None
        if self.token.kind in ("name", "quoted") and self.ahead().text == "=":
            variable = self.name("a path")
            self.expect("=")
        if self.token.upper in _SHORTEST and self.ahead().text == "(":
            kind = _SHORTEST[self.next().upper]
            self.expect("(")
            inner = self.pattern_chain(None)
            self.expect(")")
            if len(inner.relationships) != 1:
                self.fail("A shortest path leads over exactly one relationship pattern")
            return PathPattern(variable, inner.nodes, inner.relationships, kind)
        if self.at_any("SHORTEST", "ANY", "ALL") and self.ahead().text != "(":
            raise QueryRefused(
                f"`{self.token.text}` before a pattern is not supported.",
                fix="Use shortestPath((a)-[*]-(b)) or allShortestPaths(...).",
            )
        if self.at("(", "("):
            raise QueryRefused(
                "Patterns in brackets are not supported.",
                fix="Write the pattern without the brackets, with a bound such as -[*1..3]->.",
            )
        return self.pattern_chain(variable)

    def pattern_chain(self, variable: str | None) -> PathPattern:
        """Read nodes joined by relationships."""
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
        towards: Towards = "both"
        if leftward != rightward:
            towards = "in" if leftward else "out"
        return RelationshipPattern(variable, types, properties, towards, lengths, condition)

    def _types(self) -> tuple[str, ...]:
        if self.at_any("!", "%", "("):
            raise QueryRefused(
                "Only names joined by `|` are supported as types of relationships.",
                fix="List the types that are wanted, as in [:A|B].",
            )
        types = [self.name("a type")]
        while self.accept("|"):
            self.accept(":")
            types.append(self.name("a type"))
        if self.at_any("&"):
            raise QueryRefused("A relationship has one type; `&` between types is not supported.")
        return tuple(dict.fromkeys(types))

    def _lengths(self) -> tuple[int, int | None]:
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
            self.fail("A length is a whole number")
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
