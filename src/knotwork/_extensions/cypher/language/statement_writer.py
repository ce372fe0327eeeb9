"""Write a syntax tree as a statement for a graph database.

What a server receives is written from the tree that our parser made and never copied from a text,
so that no text is read by two parsers that may differ: comments are gone, string literals are
parameters, and every name is quoted if it has to be. A name that a server might decode again is
refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import NamedTuple

from knotwork._extensions.cypher.language import syntax_tree as tree
from knotwork._extensions.cypher.language.functions import FUNCTIONS
from knotwork._extensions.cypher.language.property_graph import Value
from knotwork.errors import QueryRefused

_OWN = "knotwork_"
"""The beginning of all names that the writer adds."""

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_RESERVED = frozenset(
    [
        "ALL", "AND", "ANY", "AS", "ASC", "ASCENDING", "BY", "CALL", "CASE", "COLLECT", "CONTAINS",
        "COUNT", "CREATE", "DELETE", "DESC", "DESCENDING", "DETACH", "DISTINCT", "ELSE", "END",
        "ENDS", "EXISTS", "FALSE", "FOREACH", "IN", "INSERT", "IS", "LIMIT", "LOAD", "MATCH",
        "MERGE", "NONE", "NOT", "NULL", "OFFSET", "ON", "OPTIONAL", "OR", "ORDER", "REDUCE",
        "REMOVE", "RETURN", "SET", "SINGLE", "SKIP", "STARTS", "THEN", "TRUE", "UNION", "UNWIND",
        "USE", "WHEN", "WHERE", "WITH", "XOR", "YIELD",
    ]
)  # fmt: skip
"""Words that a name must not be read as."""

_FUNCTION = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*")
_WRITTEN_AS = {name: usual for name, (usual, _) in FUNCTIONS.items()} | {
    name.lower(): name for name in ("percentileCont", "percentileDisc", "stDev", "stDevP")
}
"""The usual names of functions, which are not all in lower case."""


class WrittenStatement(NamedTuple):
    """A statement and its parameters."""

    text: str
    parameters: dict[str, Value]


@dataclass(frozen=True, slots=True)
class WritingRules:
    """How a database differs from the language of the syntax tree.

    ``hidden_label`` is that of a node without relationships that no pattern may find. If
    ``ids_are_properties``, `elementId` is the property `id` of a node.
    """

    hidden_label: str = ""
    ids_are_properties: bool = False


def write_statement(
    query: tree.UnionQuery, parameters: Mapping[str, Value], rules: WritingRules | None = None
) -> WrittenStatement:
    """Return a statement that a graph database reads as this tree, with its parameters.

    Raises QueryRefused for names and values that cannot be written safely.
    """
    writer = _StatementWriter(rules or WritingRules(), dict(parameters), frozenset(_texts(query)))
    return WrittenStatement(writer.query(query), writer.written)


def quote(name: str) -> str:
    """Return a name, in backticks unless it consists of ASCII letters and digits.

    Raises QueryRefused for a name with a backslash, which some servers decode once more before
    they parse, or with a control character or half a character.
    """
    if _PLAIN.fullmatch(name) and name.upper() not in _RESERVED:
        return name
    if not name or any(c == "\\" or ord(c) < 32 or 0xD800 <= ord(c) < 0xE000 for c in name):
        raise QueryRefused(
            f"The name {name!r} cannot be sent to a graph database.",
            fix="Use names without backslashes and control characters.",
        )
    return "`" + name.replace("`", "``") + "`"


@dataclass(slots=True)
class _StatementWriter:
    rules: WritingRules
    given: dict[str, Value]
    taken: frozenset[str]
    written: dict[str, Value] = field(default_factory=dict)
    _names: dict[tuple[str, Value], str] = field(default_factory=dict)
    _relationships: set[str] = field(default_factory=set)
    _made: int = 0

    def query(self, query: tree.UnionQuery) -> str:
        """Return a query with its parts."""
        word = " UNION " if query.distinct else " UNION ALL "
        return word.join(self._single(part) for part in query.parts)

    def _single(self, query: tree.SingleQuery) -> str:
        return " ".join(self._clause(clause) for clause in query.clauses)

    def _clause(self, clause: tree.Clause) -> str:
        if isinstance(clause, tree.Match):
            return self._match(clause)
        if isinstance(clause, tree.Unwind):
            return f"UNWIND {self.expression(clause.source)} AS {quote(clause.variable)}"
        if isinstance(clause, tree.CallSubquery):
            return self._call_subquery(clause)
        return self._projection(clause)

    def _match(self, match: tree.Match) -> str:
        patterns, conditions = [], []
        for pattern in match.patterns:
            written, hidden = self._path(pattern)
            patterns.append(written)
            conditions += hidden
        if match.condition is not None:
            conditions.append(self.expression(match.condition))
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"{'OPTIONAL ' if match.optional else ''}MATCH {', '.join(patterns)}{where}"

    def _call_subquery(self, clause: tree.CallSubquery) -> str:
        imports = ""
        if clause.imports is not None:
            names = ("*",) if clause.imports == ("*",) else map(quote, clause.imports)
            imports = f"({', '.join(names)}) "
        optional = "OPTIONAL " if clause.optional else ""
        return f"{optional}CALL {imports}{{ {self.query(clause.query)} }}"

    def _projection(self, projection: tree.Projection) -> str:
        items = ["*"] if projection.star else []
        for item in projection.items:
            written = self.expression(item.expression)
            alias = quote(self._alias(item.alias))
            items.append(written if written == alias else f"{written} AS {alias}")
        parts = ["RETURN" if projection.final else "WITH"]
        parts += ["DISTINCT"] if projection.distinct else []
        parts.append(", ".join(items))
        if projection.order:
            parts.append("ORDER BY " + ", ".join(map(self._sort_item, projection.order)))
        for word, amount in (("SKIP", projection.skip), ("LIMIT", projection.limit)):
            if amount is not None:
                parts.append(f"{word} {self.expression(amount)}")
        if projection.condition is not None:
            parts.append(f"WHERE {self.expression(projection.condition)}")
        return " ".join(parts)

    @staticmethod
    def _alias(alias: str) -> str:
        """Return the name of a column; one that was not named is its text, on one line."""
        return " ".join(alias.replace("\\", "/").split())

    def _sort_item(self, item: tree.SortItem) -> str:
        return f"{self.expression(item.expression)}{' DESC' if item.descending else ''}"

    def _path(self, path: tree.PathPattern, *, hides: bool = True) -> tuple[str, list[str]]:
        """Return a pattern, and conditions that keep it from the hidden node."""
        first, conditions = path.nodes[0], list[str]()
        if hides and self.rules.hidden_label and self._may_be_alone(path):
            name = first.variable or self._make_name()
            first = tree.NodePattern(name, first.labels, first.properties, first.condition)
            conditions = [f"NOT {quote(name)}:{quote(self.rules.hidden_label)}"]
        text = self._node(first)
        for edge, node in zip(path.relationships, path.nodes[1:], strict=True):
            text += self._relationship(edge) + self._node(node)
        if path.shortest:
            text = f"{'allShortestPaths' if path.shortest == 'all' else 'shortestPath'}({text})"
        if path.variable is not None:
            text = f"{quote(path.variable)} = {text}"
        return text, conditions

    def _may_be_alone(self, path: tree.PathPattern) -> bool:
        """Return True if a node without relationships and with the hidden label could match."""
        if any(edge.lengths is None or edge.lengths[0] > 0 for edge in path.relationships):
            return False
        return all(
            node.labels is None or tree.names_test(node.labels)([self.rules.hidden_label])
            for node in path.nodes
        )

    def _make_name(self) -> str:
        """Return a name that the statement does not use."""
        self._made += 1
        name = f"{_OWN}{self._made}"
        return name if name not in self.taken else self._make_name()

    def _node(self, node: tree.NodePattern) -> str:
        text = quote(node.variable) if node.variable is not None else ""
        if node.labels is not None:
            text += f":{self._labels(node.labels)}"
        text += self._after(" ", node.properties) + self._after(" WHERE ", node.condition)
        return f"({text})"

    def _relationship(self, edge: tree.RelationshipPattern) -> str:
        text = ""
        if edge.variable is not None:
            text = quote(edge.variable)
            if edge.lengths is None:
                self._relationships.add(edge.variable)
        if edge.types is not None:
            text += f":{_nested_labels(edge.types)}"
        if edge.lengths is not None:
            least, most = edge.lengths
            text += f"*{least}..{'' if most is None else most}"
        text += self._after(" ", edge.properties) + self._after(" WHERE ", edge.condition)
        left = "<-" if edge.direction == "in" else "-"
        right = "->" if edge.direction == "out" else "-"
        return f"{left}[{text}]{right}"

    def _labels(self, labels: tree.LabelExpression) -> str:
        """Return a label expression; plain conjunctions as `A:B`, which all databases read."""
        if not isinstance(labels, tree.LabelJunction) or labels.operator != "&":
            return _nested_labels(labels)
        names = [item.name for item in labels.operands if isinstance(item, tree.LabelIs)]
        if len(names) == len(labels.operands) and "%" not in names:
            return ":".join(map(quote, names))
        return _nested_labels(labels)

    def expression(self, expression: tree.Expression) -> str:  # noqa: C901, PLR0911, PLR0912
        """Return an expression, in brackets if it has parts that could be read otherwise."""
        write, subject = self.expression, self._subject
        match expression:
            case tree.Binary(operator, left, right):
                return f"({write(left)} {operator} {write(right)})"
            case tree.Call():
                return self._call(expression)
            case tree.Case(of, branches, otherwise):
                parts = ["CASE"] if of is None else ["CASE", write(of)]
                parts += [f"WHEN {write(test)} THEN {write(result)}" for test, result in branches]
                parts += [] if otherwise is None else [f"ELSE {write(otherwise)}"]
                return " ".join([*parts, "END"])
            case tree.Comparison(first, steps):
                lefts = [first, *(operand for _, operand in steps)]
                written = (
                    f"{write(left)} {operator} {write(right)}"
                    for left, (operator, right) in zip(lefts, steps, strict=False)
                )
                return f"({' AND '.join(written)})"
            case tree.Comprehension(name, source, condition, result):
                text = f"{quote(name)} IN {write(source)}{self._after(' WHERE ', condition)}"
                return f"[{text}{self._after(' | ', result)}]"
            case tree.Constant(value):
                return self._constant(value)
            case tree.HasLabel(of, labels):
                return f"({subject(of)}:{self._labels(labels)})"
            case tree.IndexAccess(of, index):
                return f"{subject(of)}[{write(index)}]"
            case tree.Junction(operator, operands):
                return f"({f' {operator} '.join(map(write, operands))})"
            case tree.ListOf(items):
                return f"[{', '.join(map(write, items))}]"
            case tree.MapOf(entries):
                return f"{{{', '.join(f'{quote(key)}: {write(item)}' for key, item in entries)}}}"
            case tree.MapProjection(of, projected):
                return f"{quote(of.name)} {{{', '.join(self._entry(*item) for item in projected)}}}"
            case tree.Parameter():
                return self._parameter(expression)
            case tree.PatternComprehension(pattern, condition, result):
                text = self._path(pattern, hides=False)[0] + self._after(" WHERE ", condition)
                return f"[{text} | {write(result)}]"
            case tree.PatternPredicate(pattern):
                return self._path(pattern, hides=False)[0]
            case tree.PropertyAccess(of, key):
                return f"{subject(of)}.{quote(key)}"
            case tree.Quantifier(kind, name, source, condition):
                return f"{kind}({quote(name)} IN {write(source)} WHERE {write(condition)})"
            case tree.Reduction(total, start, name, source, step):
                over = f"{quote(name)} IN {write(source)}"
                return f"reduce({quote(total)} = {write(start)}, {over} | {write(step)})"
            case tree.Slice(of, start, end):
                return f"{subject(of)}[{self._after('', start)}..{self._after('', end)}]"
            case tree.Subquery(kind, query):
                return f"{kind} {{ {self.query(query)} }}"
            case tree.Unary(operator, operand):
                is_behind = operator.startswith("IS")
                text = write(operand)
                return f"({text} {operator})" if is_behind else f"({operator} {text})"
            case tree.Variable(name):
                return quote(name)

    def _after(self, word: str, expression: tree.Expression | None) -> str:
        return "" if expression is None else word + self.expression(expression)

    def _entry(self, key: str, item: tree.Expression | None) -> str:
        if item is not None:
            return f"{quote(key)}: {self.expression(item)}"
        return ".*" if key == "*" else f".{quote(key)}"

    def _constant(self, value: Value) -> str:
        if value is None:
            return "null"
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, str):
            return self._bind("text", value)
        if isinstance(value, float) and not math.isfinite(value):
            raise QueryRefused(f"The number {value} cannot be sent to a graph database.")
        return f"({value!r})" if value < 0 else repr(value)

    def _parameter(self, parameter: tree.Parameter) -> str:
        name = parameter.name
        if name not in self.given:
            raise QueryRefused(
                f"The statement uses the parameter ${name}, which is not given.",
                fix=f"Pass it: --param {name}=VALUE.",
            )
        if _PLAIN.fullmatch(name) and not name.startswith(_OWN):
            self.written[name] = self.given[name]
            return f"${name}"
        return self._bind("given", name, self.given[name])

    def _bind(self, kind: str, key: str, value: Value = None) -> str:
        """Return a parameter for a value; equal ones share it, as expressions are compared."""
        name = self._names.get((kind, key))
        if name is None:
            name = self._names[kind, key] = f"{_OWN}{kind}_{len(self._names)}"
            self.written[name] = key if kind == "text" else value
        return f"${name}"

    def _subject(self, subject: tree.Expression) -> str:
        text = self.expression(subject)
        plain = isinstance(
            subject, tree.Variable | tree.PropertyAccess | tree.Call | tree.ListOf | tree.Parameter
        )
        return text if plain else f"({text})"

    def _call(self, call: tree.Call) -> str:
        if call.star:
            return "count(*)"
        if self.rules.ids_are_properties and call.name in ("id", "elementid"):
            return self._identity(call)
        if call.name == "size" and call.arguments:
            (first, *_) = call.arguments
            if isinstance(first, tree.PatternPredicate):
                return f"COUNT {{ {self._path(first.pattern, hides=False)[0]} }}"
        name = _WRITTEN_AS.get(call.name, call.name)
        if not _FUNCTION.fullmatch(name):
            raise QueryRefused(f"The function name {name!r} cannot be sent to a graph database.")
        distinct = "DISTINCT " if call.distinct else ""
        return f"{name}({distinct}{', '.join(map(self.expression, call.arguments))})"

    def _identity(self, call: tree.Call) -> str:
        """Return the id of a node or relationship of a mirror."""
        argument = call.arguments[0] if len(call.arguments) == 1 else None
        if call.name == "id" or not isinstance(argument, tree.Variable):
            shown = "elementId() of an expression" if call.name == "elementid" else "id()"
            raise QueryRefused(
                f"{shown} has another value on a graph database than in the index.",
                fix="Use elementId(variable), or the property `id`.",
            )
        name = quote(argument.name)
        if argument.name not in self._relationships:
            return f"{name}.id"
        ends = f"startNode({name}).id + ':' + type({name}) + ':' + endNode({name}).id"
        return f"({ends} + coalesce(':' + {name}.relation, ''))"


def _texts(node: object) -> Iterator[str]:
    """Yield all texts in a syntax tree: names, types and strings."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, tuple):
        for part in node:
            yield from _texts(part)
    elif is_dataclass(node):
        for part in fields(node):
            yield from _texts(getattr(node, part.name))


def _nested_labels(labels: tree.LabelExpression) -> str:
    if isinstance(labels, tree.LabelIs):
        return "%" if labels.name == "%" else quote(labels.name)
    if isinstance(labels, tree.LabelNot):
        return f"!{_bracketed_labels(labels.operand)}"
    return labels.operator.join(map(_bracketed_labels, labels.operands))


def _bracketed_labels(labels: tree.LabelExpression) -> str:
    text = _nested_labels(labels)
    return f"({text})" if isinstance(labels, tree.LabelJunction) else text
