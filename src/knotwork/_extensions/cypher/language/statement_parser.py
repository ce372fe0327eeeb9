"""Parse statements clause by clause, and refuse clauses that write or are unsupported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from knotwork._extensions.cypher.language.expression_parser import ExpressionParser
from knotwork._extensions.cypher.language.lexer import token_end
from knotwork._extensions.cypher.language.limits import Limits
from knotwork._extensions.cypher.language.syntax_tree import (
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
        "CREATE", "MERGE", "SET", "DELETE", "DETACH", "NODETACH", "REMOVE", "FOREACH", "INSERT",
        "DROP", "ALTER", "RENAME", "COPY",
    }
)  # fmt: skip
_REACHING_OUT = frozenset(
    {
        "LOAD", "IMPORT", "EXPORT", "INSTALL", "ATTACH", "DETACH", "USE", "START", "STOP",
    }
)  # fmt: skip
_ADMINISTRATIVE = frozenset(
    {
        "GRANT", "DENY", "REVOKE", "SHOW", "TERMINATE", "ENABLE", "DEALLOCATE", "REALLOCATE",
        "DRYRUN", "BEGIN", "COMMIT", "ROLLBACK", "CHECKPOINT", "EXPLAIN", "PROFILE", "PERIODIC",
        "CYPHER", "ANALYZE", "COMMENT", "EXECUTE",
    }
)  # fmt: skip
_MAX_HEIGHT = 150


def parse_statement(statement: str, limits: Limits | None = None) -> UnionQuery:
    """Parse one read-only statement.

    Raises QuerySyntaxError if the statement is invalid, QueryRefused for clauses that do more than
    read or are unsupported, and for statements above the limits.
    """
    parser = StatementParser(statement, limits or Limits())
    try:
        query = parser.statement()
        _check_nesting(query)
    except RecursionError:
        raise QueryRefused("The statement nests too deeply.") from None
    return query


def _check_nesting(query: UnionQuery) -> None:
    """Raise QueryRefused if the syntax tree is too deep to be compiled recursively."""
    level: list[object] = [query]
    for _ in range(_MAX_HEIGHT):
        level = [part for node in level for part in _parts(node)]
        if not level:
            return
    raise QueryRefused(f"The syntax tree of the statement is deeper than {_MAX_HEIGHT} levels.")


def _parts(node: object) -> Iterator[object]:
    """Yield the parts of a node of the syntax tree, or of a tuple of nodes."""
    if isinstance(node, tuple):
        yield from (part for part in node if isinstance(part, tuple) or is_dataclass(part))
    elif is_dataclass(node):
        values = (getattr(node, field.name) for field in fields(node))
        yield from (value for value in values if isinstance(value, tuple) or is_dataclass(value))


class StatementParser(ExpressionParser):
    """The grammar of statements."""

    def statement(self) -> UnionQuery:
        """Read a single statement up to the end of the text."""
        query = self.query()
        self.accept(";")
        if self.token.kind != "end":
            if self.tokens[self.position - 1].text == ";":
                raise QueryRefused("Only one statement can be run at a time.")
            self._refuse_clause()
            self.fail("Expected a clause or the end of the statement")
        return query

    def query(self, *, must_return: bool = True) -> UnionQuery:
        """Read single queries combined by UNION; each must end with RETURN if ``must_return``."""
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
            self.fail("Expected a clause such as MATCH")
        if must_return:
            self.fail("A statement must end with RETURN")
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
        """Raise QueryRefused if the current word begins a clause that is not allowed."""
        word = self.token.upper
        if word in _WRITING:
            raise QueryRefused(
                f"`{word}` changes the graph; only statements that read are allowed.",
                fix="Use MATCH, WHERE, WITH, UNWIND, UNION, CALL { } and RETURN.",
            )
        if word in _REACHING_OUT:
            raise QueryRefused(f"`{word}` would access files or other databases.")
        if word in _ADMINISTRATIVE:
            raise QueryRefused(f"`{word}` is an administrative command, not a query.")
        if word in ("FINISH", "LET", "FILTER", "FOR", "NEXT", "ORDER", "LIMIT", "SKIP", "OFFSET"):
            raise QueryRefused(f"`{word}` as a clause of its own is not supported.")

    def _match(self) -> Match:
        optional = self.accept("OPTIONAL")
        self.expect("MATCH")
        if self.at("REPEATABLE") or self.at("DIFFERENT"):
            raise QueryRefused(f"`{self.token.upper}` is not supported.")
        patterns = self.patterns()
        if self.at_any("USING"):
            raise QueryRefused("Planner hints (USING) are not supported.", fix="Remove the hint.")
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
                f"Procedures are not supported (`CALL {name[:40]}`).",
                fix="Use MATCH, or CALL { } with a subquery.",
            )
        query = self._braced(self.query)
        if self.at("IN"):
            raise QueryRefused("CALL { } IN TRANSACTIONS is for writing, and not supported.")
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
        last = self.tokens[self.position - 1]
        if self.accept("AS"):
            return ProjectedItem(expression, self.name("a column"), named=True)
        if isinstance(expression, Variable):
            return ProjectedItem(expression, expression.name, named=True)
        text = self.text[start : token_end(self.text, last)]
        return ProjectedItem(expression, text, named=False)

    def _sort_item(self) -> SortItem:
        expression = self.expression()
        descending = self.accept("DESC") or self.accept("DESCENDING")
        if not descending:
            _ = self.accept("ASC") or self.accept("ASCENDING")
        return SortItem(expression, descending)
