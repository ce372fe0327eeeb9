"""Define the syntax tree of a statement: immutable nodes that compare by value."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Direction = Literal["out", "in", "both"]


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal: null, a boolean, a number or a string; 1, 1.0 and true are different."""

    value: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant) or type(other.value) is not type(self.value):
            return False
        return bool(other.value == self.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    name: str


@dataclass(frozen=True, slots=True)
class PropertyAccess:
    subject: Expression
    key: str


@dataclass(frozen=True, slots=True)
class IndexAccess:
    """``subject[index]``."""

    subject: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Slice:
    subject: Expression
    start: Expression | None
    end: Expression | None


@dataclass(frozen=True, slots=True)
class ListOf:
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MapOf:
    entries: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class MapProjection:
    """``subject {.key, .*, name: value, variable}``; the entry "*" takes all properties."""

    subject: Variable
    entries: tuple[tuple[str, Expression | None], ...]


@dataclass(frozen=True, slots=True)
class Unary:
    """``-x``, ``+x``, ``NOT x``, ``x IS NULL``, ``x IS NOT NULL``."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary:
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Junction:
    """Operands of AND, OR or XOR, in order."""

    operator: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A chain such as ``a < b <= c``, true if every step is; a step is (operator, operand)."""

    first: Expression
    steps: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class LabelIs:
    """The name of a label or type; "%" means any."""

    name: str


@dataclass(frozen=True, slots=True)
class LabelNot:
    operand: LabelExpression


@dataclass(frozen=True, slots=True)
class LabelJunction:
    """Operands of "&" or "|"."""

    operator: str
    operands: tuple[LabelExpression, ...]


LabelExpression: TypeAlias = "LabelIs | LabelNot | LabelJunction"


def names_test(labels: LabelExpression) -> Callable[[Collection[str]], bool]:
    """Return a test of the labels of a node, or of the one type of a relationship."""
    if isinstance(labels, LabelIs):
        name = labels.name
        return bool if name == "%" else (lambda names: name in names)
    if isinstance(labels, LabelNot):
        inner = names_test(labels.operand)
        return lambda names: not inner(names)
    tests = [names_test(operand) for operand in labels.operands]
    if labels.operator == "&":
        return lambda names: all(test(names) for test in tests)
    return lambda names: any(test(names) for test in tests)


@dataclass(frozen=True, slots=True)
class HasLabel:
    subject: Expression
    labels: LabelExpression


@dataclass(frozen=True, slots=True)
class Call:
    """A function call; the name is in lower case, ``star`` is for ``count(*)``."""

    name: str
    arguments: tuple[Expression, ...]
    distinct: bool = False
    star: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    subject: Expression | None
    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None


@dataclass(frozen=True, slots=True)
class Comprehension:
    """``[variable IN source WHERE condition | result]``."""

    variable: str
    source: Expression
    condition: Expression | None
    result: Expression | None


@dataclass(frozen=True, slots=True)
class Quantifier:
    """``all``, ``any``, ``none`` or ``single`` (variable IN source WHERE condition)."""

    kind: str
    variable: str
    source: Expression
    condition: Expression


@dataclass(frozen=True, slots=True)
class Reduction:
    accumulator: str
    start: Expression
    variable: str
    source: Expression
    step: Expression


@dataclass(frozen=True, slots=True)
class PatternComprehension:
    pattern: PathPattern
    condition: Expression | None
    result: Expression


@dataclass(frozen=True, slots=True)
class PatternPredicate:
    pattern: PathPattern


@dataclass(frozen=True, slots=True)
class Subquery:
    """``EXISTS``, ``COUNT`` or ``COLLECT`` of a query in braces."""

    kind: str
    query: UnionQuery


Expression: TypeAlias = (
    "Constant | Parameter | Variable | PropertyAccess | IndexAccess | Slice | ListOf | MapOf"
    " | MapProjection | Unary | Binary | Junction | Comparison | HasLabel | Call | Case"
    " | Comprehension | Quantifier | Reduction | PatternComprehension | PatternPredicate | Subquery"
)


@dataclass(frozen=True, slots=True)
class NodePattern:
    variable: str | None = None
    labels: LabelExpression | None = None
    properties: Expression | None = None
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class RelationshipPattern:
    """``lengths`` is None for one relationship, else the minimum and maximum of a walk.

    A maximum of None means unlimited.
    """

    variable: str | None
    types: LabelExpression | None
    properties: Expression | None
    direction: Direction
    lengths: tuple[int, int | None] | None = None
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class PathPattern:
    """``shortest`` is "" for all paths, else "one" or "all" of the shortest paths."""

    variable: str | None
    nodes: tuple[NodePattern, ...]
    relationships: tuple[RelationshipPattern, ...]
    shortest: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    patterns: tuple[PathPattern, ...]
    condition: Expression | None
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Unwind:
    source: Expression
    variable: str


@dataclass(frozen=True, slots=True)
class ProjectedItem:
    """A column; ``named`` is True for a variable or a column named with AS."""

    expression: Expression
    alias: str
    named: bool


@dataclass(frozen=True, slots=True)
class SortItem:
    expression: Expression
    descending: bool


@dataclass(frozen=True, slots=True)
class Projection:
    """WITH, or RETURN if ``final``; ``condition`` is the WHERE of a WITH."""

    items: tuple[ProjectedItem, ...]
    star: bool
    distinct: bool
    order: tuple[SortItem, ...]
    skip: Expression | None
    limit: Expression | None
    condition: Expression | None
    final: bool


@dataclass(frozen=True, slots=True)
class CallSubquery:
    """``CALL { }``; ``imports`` are those of ``CALL (a, b) { }``, None without round brackets."""

    query: UnionQuery
    imports: tuple[str, ...] | None = None
    optional: bool = False


Clause: TypeAlias = "Match | Unwind | Projection | CallSubquery"


@dataclass(frozen=True, slots=True)
class SingleQuery:
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class UnionQuery:
    """Single queries combined by UNION; ``distinct`` unless by UNION ALL."""

    parts: tuple[SingleQuery, ...]
    distinct: bool = True
