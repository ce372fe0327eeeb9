"""WITH and RETURN: columns, grouping, DISTINCT, order, SKIP and LIMIT."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from itertools import islice
from sys import maxsize
from typing import Any

from knotwork.cypher.graph import Value
from knotwork.cypher.grouping import Grouping
from knotwork.cypher.limits import Budget
from knotwork.cypher.names import aggregates_in, names_in
from knotwork.cypher.scopes import Kind, Scope
from knotwork.cypher.steps import Evaluate, Pipe, Row, Rows
from knotwork.cypher.syntax import Expression, ProjectedItem, Projection, SortItem, Variable
from knotwork.cypher.values import group_key, order_key, truth
from knotwork.errors import QuerySyntaxError

_FEW = 10_000
"""As many rows as are kept in a heap; more are sorted all at once."""

_Sorted = tuple[tuple[Any, ...], bool, list[Value]]
"""What a row is sorted by, whether it passes WHERE, and the values of its columns."""


@dataclass(slots=True)
class Projected:
    """A compiled WITH or RETURN: the step, what is seen after it, and its columns."""

    pipe: Pipe
    scope: Scope
    columns: tuple[str, ...]


class Projecting(Grouping):
    """Compiles projections."""

    def project(self, clause: Projection, scope: Scope) -> Projected:
        """Return the compiled projection. Raises QuerySyntaxError for columns without a name."""
        items = _items(clause, scope)
        _require_names(items, clause)
        after = Scope()
        for item in items:
            after.declare(item.alias, self._kind_after(item.expression, scope))
        grouped = any(aggregates_in(item.expression) for item in items)
        if not grouped and aggregates_in(tuple(item.expression for item in clause.order)):
            raise QuerySyntaxError("ORDER BY counts over rows, but no column does.")
        if grouped or clause.distinct:
            sources, inner = self._grouped(clause, items, scope, counting=grouped)
        else:
            sources, inner = self._plain(items, scope)
        pipe = self._arranged(clause, items, sources, inner, after)
        return Projected(pipe, after, tuple(item.alias for item in items))

    def _kind_after(self, expression: Expression, scope: Scope) -> Kind:
        if isinstance(expression, Variable) and expression.name in scope.names:
            return scope.names[expression.name].kind
        return "value" if self.type_of(expression, scope) is None else "plain"

    def _plain(self, items: list[ProjectedItem], scope: Scope) -> tuple[Pipe, Scope]:
        """Return the step that works out the columns beside what is in the row."""
        work = [self.compile(item.expression, scope) for item in items]
        inner = scope.inner()
        slots = [inner.declare(item.alias) for item in items]
        for item, slot in zip(items, slots, strict=True):
            if not isinstance(item.expression, Variable):
                inner.replaced[item.expression] = slot

        def run(rows: Rows) -> Rows:
            for row in rows:
                values = [evaluate(row) for evaluate in work]
                for slot, value in zip(slots, values, strict=True):
                    row[slot] = value
                yield row

        return run, inner

    def _grouped(
        self, clause: Projection, items: list[ProjectedItem], scope: Scope, *, counting: bool
    ) -> tuple[Pipe, Scope]:
        """Return the step that groups rows, and what is seen of a group."""
        sorts = tuple(item.expression for item in clause.order) if counting else ()
        inner = Scope()
        inner.grouped = counting
        pipe = self.group(items, sorts, scope, inner)
        if counting and clause.distinct:
            return _then_distinct(pipe, inner, items, self.runtime.budget.step), inner
        return pipe, inner

    def _arranged(
        self,
        clause: Projection,
        items: list[ProjectedItem],
        sources: Pipe,
        inner: Scope,
        after: Scope,
    ) -> Pipe:
        """Return the whole step: columns, then order, SKIP, LIMIT and WHERE."""
        slots = [inner.names[item.alias].slot for item in items]
        keys = [self._sort_key(item, inner) for item in clause.order]
        skip = self._count(clause.skip, "SKIP") or 0
        limit = self._count(clause.limit, "LIMIT")
        where = self._where(clause.condition, inner)
        layout = after.layout
        directions = [item.descending for item in clause.order]

        def projected(rows: Rows) -> Iterator[_Sorted]:
            for row in sources(rows):
                passes = where is None or truth(where(row), "WHERE") is True
                values = [row[slot] for slot in slots]
                yield tuple(key(row) for key in keys), passes, values

        def run(rows: Rows) -> Rows:
            if limit == 0:
                return
            wanted = None if limit is None else min(skip + limit, maxsize)
            found = projected(rows)
            if keys:
                found = iter(_ordered(found, directions, wanted, self.runtime.budget))
            size = layout.size
            for _, passes, values in islice(found, min(skip, maxsize), wanted):
                if passes:
                    yield values + [None] * (size - len(values))

        return run

    def _where(self, condition: Expression | None, inner: Scope) -> Evaluate | None:
        if condition is None:
            return None
        self.require_truth(condition, inner)
        return self.compile(condition, inner)

    def _sort_key(self, item: SortItem, scope: Scope) -> Callable[[Row], Any]:
        evaluate, step = self.compile(item.expression, scope), self.runtime.budget.step
        return lambda row: order_key(evaluate(row), step)

    def _count(self, expression: Expression | None, word: str) -> int | None:
        """Return how many rows SKIP or LIMIT says. Raises QuerySyntaxError for what is no count."""
        if expression is None:
            return None
        if names_in(expression):
            raise QuerySyntaxError(f"{word} cannot depend on a row.")
        scope = Scope()
        evaluate = self.compile(expression, scope)
        count = evaluate([None] * scope.layout.size)
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise QuerySyntaxError(f"{word} takes a whole number that is not negative.")
        return count


def _items(clause: Projection, scope: Scope) -> list[ProjectedItem]:
    found: list[ProjectedItem] = []
    if clause.star:
        names = sorted(scope.visible())
        if not names and clause.final:
            raise QuerySyntaxError("`*` stands for all variables, but there are none.")
        found = [ProjectedItem(Variable(name), name, named=True) for name in names]
    return found + list(clause.items)


def _require_names(items: list[ProjectedItem], clause: Projection) -> None:
    known: dict[str, ProjectedItem] = {}
    for item in items:
        if known.setdefault(item.alias, item) != item or (
            item.named and item is not known[item.alias]
        ):
            raise QuerySyntaxError(f"Two columns have the name `{item.alias}`.")
    if not clause.final:
        for item in items:
            if not item.named:
                raise QuerySyntaxError(
                    f"`{item.alias}` in WITH needs a name.", fix="Give it one with AS."
                )


def _then_distinct(
    pipe: Pipe, inner: Scope, items: list[ProjectedItem], step: Callable[[], None]
) -> Pipe:
    slots = [inner.names[item.alias].slot for item in items]

    def run(rows: Rows) -> Rows:
        seen: set[Any] = set()
        for row in pipe(rows):
            key = tuple(group_key(row[slot], step) for slot in slots)
            if key not in seen:
                seen.add(key)
                yield row

    return run


def _ordered(
    rows: Iterator[_Sorted],
    directions: list[bool],
    wanted: int | None,
    budget: Budget,
) -> list[_Sorted]:
    """Return rows in order, equal ones as they came; at most ``wanted``."""

    def counted() -> Iterator[_Sorted]:
        for row in rows:
            budget.hold()
            yield row

    def key(row: _Sorted) -> Any:  # noqa: ANN401
        return row[0]

    if wanted is not None and wanted <= _FEW and len(set(directions)) == 1:
        choose = nlargest if directions[0] else nsmallest
        return choose(wanted, counted(), key=key)
    found = list(counted())
    budget.sort(len(found) * len(directions))
    for place in reversed(range(len(directions))):
        found.sort(key=lambda row: row[0][place], reverse=directions[place])
    return found
