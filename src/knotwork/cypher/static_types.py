"""What can be told of the types of expressions before any row is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knotwork.cypher.syntax import (
    Binary,
    Comparison,
    Comprehension,
    Constant,
    Expression,
    HasLabel,
    Junction,
    ListOf,
    MapOf,
    PatternComprehension,
    PatternPredicate,
    Quantifier,
    Subquery,
    Unary,
    Variable,
)
from knotwork.errors import QuerySyntaxError

if TYPE_CHECKING:
    from knotwork.cypher.runtime import Runtime
    from knotwork.cypher.scopes import Scope

_ELEMENT_FUNCTIONS = {
    "type": ("relationship",),
    "labels": ("node",),
    "nodes": ("path",),
    "relationships": ("path",),
    "startnode": ("relationship",),
    "endnode": ("relationship",),
    "length": ("path",),
    "id": ("node", "relationship"),
    "elementid": ("node", "relationship"),
    "properties": ("node", "relationship", "map"),
    "keys": ("node", "relationship", "map"),
    "size": ("list", "string", "walk"),
    "exists": (),
}


class StaticTypes:
    """Checks of types that are plain from the statement; what is not plain is let through."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    def type_of(  # noqa: PLR0911 - one return a kind
        self, expression: Expression, scope: Scope
    ) -> str | None:
        """Return the type of an expression, or None where only a row can tell."""
        if isinstance(expression, Constant):
            return _constant_type(expression.value)
        if isinstance(expression, Variable):
            kind = scope.find(expression.name).kind
            return None if kind in ("value", "plain") else kind
        if isinstance(expression, ListOf | Comprehension | PatternComprehension):
            return "list"
        if isinstance(expression, MapOf):
            return "map"
        if isinstance(expression, PatternPredicate) and expression.pattern.shortest:
            return "path" if expression.pattern.shortest == "one" else "list"
        if isinstance(
            expression, Junction | Comparison | HasLabel | Quantifier | PatternPredicate
        ) or (isinstance(expression, Subquery) and expression.kind == "EXISTS"):
            return "truth"
        if isinstance(expression, Unary) and expression.operator not in "+-":
            return "truth"
        if isinstance(expression, Binary) and expression.operator not in "+-*/%^":
            return "truth"
        return None

    def require_truth(self, expression: Expression, scope: Scope) -> None:
        """Raise QuerySyntaxError for what is plainly no truth value."""
        found = self.type_of(expression, scope)
        if found not in (None, "truth"):
            raise QuerySyntaxError(f"A truth value is needed here, not a {found}.")

    def require_list(self, expression: Expression, scope: Scope) -> None:
        """Raise QuerySyntaxError for what is plainly no list."""
        found = self.type_of(expression, scope)
        if found not in (None, "list", "walk"):
            raise QuerySyntaxError(f"A list is needed here, not a {found}.")

    def require_no_walk(self, expression: Expression, scope: Scope) -> None:
        """Raise QuerySyntaxError for what plainly has no properties."""
        found = self.type_of(expression, scope)
        if found not in (None, "node", "relationship", "map"):
            raise QuerySyntaxError(f"A {found} has no properties.")

    def require_kinds(self, name: str, given: tuple[Expression, ...], scope: Scope) -> None:
        """Raise QuerySyntaxError where a function plainly cannot take what it is given."""
        wanted = _ELEMENT_FUNCTIONS.get(name)
        if not wanted or len(given) != 1:
            return
        found = self.type_of(given[0], scope)
        if found is not None and found not in wanted:
            raise QuerySyntaxError(f"{name}() takes a {' or '.join(wanted)}, not a {found}.")


def _constant_type(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "truth"
    return "string" if isinstance(value, str) else "number"
