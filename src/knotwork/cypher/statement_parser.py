"""Parse statements clause by clause; refuse clauses that write or that are unknown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from knotwork.cypher.expression_parser import ExpressionParser
from knotwork.cypher.limits import Limits
from knotwork.cypher.syntax_tree import (
    CallSubquery,
    Clause,
    Match,
    ProjectedItem,
    Projection,
    SingleQuery,
    SortItem,
    UnionQuery,
    Unwind,
    Variable,
)
from knotwork.errors import QueryRefused

_WRITING = frozenset(
    {
        "CREATE",
        "MERGE",
        "SET",
        "DELETE",
        "DETACH",
        "NODETACH",
        "REMOVE",
        "FOREACH",
        "INSERT",
        "DROP",
        "ALTER",
        "RENAME",
        "COPY",
    }
)
_REACHING_OUT = frozenset(
    {
        "LOAD",
        "IMPORT",
        "EXPORT",
        "INSTALL",
        "ATTACH",
        "DETACH",
        "USE",
        "START",
        "STOP",
    }
)
_ADMINISTRATIVE = frozenset(
    {
        "GRANT",
        "DENY",
        "REVOKE",
        "SHOW",
        "TERMINATE",
        "ENABLE",
        "DEALLOCATE",
        "REALLOCATE",
        "DRYRUN",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "CHECKPOINT",
        "EXPLAIN",
        "PROFILE",
        "PERIODIC",
        "CYPHER",
        "ANALYZE",
        "COMMENT",
        "EXECUTE",
    }
)
_HEIGHT = 150


def parse_statement(statement: str, limits: Limits | None = None) -> UnionQuery:
    """Parse one reading statement.

    Raises QuerySyntaxError for what is not in the grammar, QueryRefused for clauses that could do
    anything but read, or that are not supported, and for statements above the ceilings.
    """
    parser = StatementParser(statement, limits or Limits())
    try:
        query = parser.statement()
        _require_low(query)
    except RecursionError:
        raise QueryRefused("The statement nests too deeply.") from None
    return query


def _require_low(query: UnionQuery) -> None:
    """Refuse a statement whose parts stand in each other too deeply to be worked out."""
    level: list[object] = [query]
    for _ in range(_HEIGHT):
        level = [part for node in level for part in _parts(node)]
        if not level:
            return
    raise QueryRefused(f"The statement nests deeper than {_HEIGHT} parts in parts.")


def _parts(node: object) -> Iterator[object]:
    if isinstance(node, tuple):
        yield from (part for part in node if isinstance(part, tuple) or is_dataclass(part))
    elif is_dataclass(node):
        values = (getattr(node, field.name) for field in fields(node))
        yield from (value for value in values if isinstance(value, tuple) or is_dataclass(value))


class StatementParser(ExpressionParser):
    """The grammar of statements."""

    def statement(self) -> UnionQuery:
        """Read the one statement that there may be."""
        query = self.query()
        self.accept(";")
        if self.token.kind != "end":
            if self.tokens[self.position - 1].text == ";":
                raise QueryRefused("Only one statement at a time is run.")
            self._refuse_clause()
            self.fail("A clause, or the end of the statement, is expected")
        return query

    def query(self, *, must_return: bool = True) -> UnionQuery:
        """Read single queries joined by UNION."""
        parts = [self._single(must_return=must_return)]
        kinds: set[bool] = set()
        while self.accept("UNION"):
            kinds.add(not self.accept("ALL"))
            self.accept("DISTINCT")
            parts.append(self._single(must_return=must_return))
        if len(kinds) > 1:
            self.fail("UNION and UNION ALL cannot be mixed")
        return UnionQuery(tuple(parts), distinct=False not in kinds)

    def subquery(self) -> UnionQuery:
        """Read the query, or bare pattern, in the braces of EXISTS, COUNT or COLLECT."""
        if self.at_any("(") or (self.token.kind == "name" and self.ahead().text == "="):
            patterns = self.patterns()
            condition = self.expression() if self.accept("WHERE") else None
            return UnionQuery((SingleQuery((Match(patterns, condition),)),))
        return self.query(must_return=False)

    def _single(self, *, must_return: bool) -> SingleQuery:
        clauses: list[Clause] = []
        while True:
            clause = self._clause()
            if clause is None:
                break
            clauses.append(clause)
            if isinstance(clause, Projection) and clause.final:
                return SingleQuery(tuple(clauses))
        self._refuse_clause()
        if not clauses:
            self.fail("A clause is expected, such as MATCH")
        if must_return:
            self.fail("A statement ends with RETURN")
        return SingleQuery(tuple(clauses))

    def _clause(self) -> Clause | None:  # noqa: PLR0911 - one return a clause
        if self.at("OPTIONAL", "CALL"):
            self.next()
            return self._call_subquery(optional=True)
        if self.at_any("MATCH") or self.at("OPTIONAL", "MATCH"):
            return self._match()
        if self.accept("UNWIND"):
            source = self.expression()
            self.expect("AS")
            return Unwind(source, self.name("a variable"))
        if self.accept("WITH"):
            return self._projection(final=False)
        if self.accept("RETURN"):
            return self._projection(final=True)
        if self.at_any("CALL"):
            return self._call_subquery(optional=False)
        return None

    def _refuse_clause(self) -> None:
        """Raise QueryRefused where the word at hand begins a clause that is not run."""
        word = self.token.upper
        if word in _WRITING:
            raise QueryRefused(
                f"`{word}` changes the graph: only statements that read are run.",
                fix="Use MATCH, WHERE, WITH, UNWIND, UNION, CALL { } and RETURN.",
            )
        if word in _REACHING_OUT:
            raise QueryRefused(f"`{word}` reaches beyond this graph: no file or database is read.")
        if word in _ADMINISTRATIVE:
            raise QueryRefused(f"`{word}` is a command, not a query of this graph.")
        if word in ("FINISH", "LET", "FILTER", "FOR", "NEXT", "ORDER", "LIMIT", "SKIP", "OFFSET"):
            raise QueryRefused(f"`{word}` as a clause of its own is not supported.")

    def _match(self) -> Match:
        optional = self.accept("OPTIONAL")
        self.expect("MATCH")
        if self.at("REPEATABLE") or self.at("DIFFERENT"):
            raise QueryRefused(f"`{self.token.upper}` is not supported.")
        patterns = self.patterns()
        if self.at_any("USING"):
            raise QueryRefused("Hints to a planner (USING) are not supported.", fix="Leave it out.")
        condition = self.expression() if self.accept("WHERE") else None
        return Match(patterns, condition, optional)

    def _call_subquery(self, *, optional: bool) -> CallSubquery:
        self.expect("CALL")
        imports: tuple[str, ...] | None = None
        if self.accept("("):
            imports = self._imports()
        if not self.at_any("{"):
            name = self.text[self.token.start :].partition("(")[0].strip()
            raise QueryRefused(
                f"Procedures are not called (`CALL {name[:40]}`): none is known to only read.",
                fix="CALL { } with a query in it is supported.",
            )
        query = self._braced(self.query)
        if self.at("IN"):
            raise QueryRefused("Subqueries IN TRANSACTIONS are for writing, and are not run.")
        return CallSubquery(query, imports, optional)

    def _imports(self) -> tuple[str, ...]:
        names: list[str] = []
        if self.accept("*"):
            names.append("*")
        while not self.at_any(")"):
            names.append(self.name("a variable"))
            if not self.accept(","):
                break
        self.expect(")")
        return tuple(names)

    def _projection(self, *, final: bool) -> Projection:
        distinct = self.accept("DISTINCT")
        star = self.accept("*")
        items: list[ProjectedItem] = []
        if not star or self.accept(","):
            items.append(self._item())
            while self.accept(","):
                items.append(self._item())
        order: list[SortItem] = []
        if self.accept("ORDER", "BY"):
            order.append(self._sort_item())
            while self.accept(","):
                order.append(self._sort_item())
        skip = self.expression() if self.accept("SKIP") or self.accept("OFFSET") else None
        limit = self.expression() if self.accept("LIMIT") else None
        condition = self.expression() if not final and self.accept("WHERE") else None
        return Projection(tuple(items), star, distinct, tuple(order), skip, limit, condition, final)

    def _item(self) -> ProjectedItem:
        start = self.token.start
        expression = self.expression()
        end = self.tokens[self.position - 1]
        if self.accept("AS"):
            return ProjectedItem(expression, self.name("a column"), named=True)
        if isinstance(expression, Variable):
            return ProjectedItem(expression, expression.name, named=True)
        text = self.text[start : end.start + len(end.text)]
        return ProjectedItem(expression, text, named=False)

    def _sort_item(self) -> SortItem:
        expression = self.expression()
        descending = self.accept("DESC") or self.accept("DESCENDING")
        if not descending:
            _ = self.accept("ASC") or self.accept("ASCENDING")
        return SortItem(expression, descending)
