"""Parse statements: clauses, patterns, and expressions by the precedence of operators.

Clauses that write or are unsupported are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass

from knotwork._extensions.cypher.language import syntax_tree as tree
from knotwork._extensions.cypher.language.lexer import (
    TokenCursor,
    read_number,
    token_end,
    unquote_string,
)
from knotwork._extensions.cypher.language.limits import Limits
from knotwork.errors import QueryRefused, QuerySyntaxError

_CHANGES = "`{}` changes the graph; only statements that read are allowed."
_REFUSED_CLAUSES = {
    word: problem
    for problem, words in {
        "`{}` is an administrative command, not a query.": """
            GRANT DENY REVOKE SHOW TERMINATE ENABLE DEALLOCATE REALLOCATE DRYRUN BEGIN COMMIT
            ROLLBACK CHECKPOINT EXPLAIN PROFILE PERIODIC CYPHER ANALYZE COMMENT EXECUTE
        """,
        "`{}` would access files or other databases.": """
            LOAD IMPORT EXPORT INSTALL ATTACH USE START STOP
        """,
        _CHANGES: """
            CREATE MERGE SET DELETE DETACH NODETACH REMOVE FOREACH INSERT DROP ALTER RENAME COPY
        """,
        "`{}` as a clause of its own is not supported.": """
            FINISH LET FILTER FOR NEXT ORDER LIMIT SKIP OFFSET
        """,
    }.items()
    for word in words.split()
}
_MAX_HEIGHT = 150


def parse_statement(statement: str, limits: Limits | None = None) -> tree.UnionQuery:
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


def _check_nesting(query: tree.UnionQuery) -> None:
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


_SHORTEST_KINDS = {"SHORTESTPATH": "one", "ALLSHORTESTPATHS": "all"}
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


class StatementParser(TokenCursor):
    """The grammar of statements."""

    label_may_follow = True

    def statement(self) -> tree.UnionQuery:
        """Read a single statement up to the end of the text."""
        query = self.query()
        self.accept(";")
        if self.token.kind != "end":
            if self.tokens[self.position - 1].text == ";":
                raise QueryRefused("Only one statement can be run at a time.")
            self._refuse_clause()
            self.fail("Expected a clause or the end of the statement")
        return query

    def query(self, *, must_return: bool = True) -> tree.UnionQuery:
        """Read single queries combined by UNION; each must end with RETURN if ``must_return``."""
        parts = [self._single(must_return=must_return)]
        kinds: set[bool] = set()
        while self.accept("UNION"):
            kinds.add(not self.accept("ALL"))
            self.accept("DISTINCT")
            parts.append(self._single(must_return=must_return))
        if len(kinds) > 1:
            self.fail("UNION and UNION ALL cannot be mixed")
        return tree.UnionQuery(tuple(parts), distinct=False not in kinds)

    def subquery(self) -> tree.UnionQuery:
        """Read the query, or bare pattern, in the braces of EXISTS, COUNT or COLLECT."""
        if self.at_any("(") or (self.token.kind == "name" and self.ahead().text == "="):
            patterns = self.patterns()
            condition = self.expression() if self.accept("WHERE") else None
            return tree.UnionQuery((tree.SingleQuery((tree.Match(patterns, condition),)),))
        return self.query(must_return=False)

    def _single(self, *, must_return: bool) -> tree.SingleQuery:
        clauses: list[tree.Clause] = []
        while True:
            clause = self._clause()
            if clause is None:
                break
            clauses.append(clause)
            if isinstance(clause, tree.Projection) and clause.final:
                return tree.SingleQuery(tuple(clauses))
        self._refuse_clause()
        if not clauses:
            self.fail("Expected a clause such as MATCH")
        if must_return:
            self.fail("A statement must end with RETURN")
        return tree.SingleQuery(tuple(clauses))

    def _clause(self) -> tree.Clause | None:  # noqa: PLR0911 - one return a clause
        if self.at("OPTIONAL", "CALL"):
            self.next()
            return self._call_subquery(optional=True)
        if self.at_any("MATCH") or self.at("OPTIONAL", "MATCH"):
            return self._match()
        if self.accept("UNWIND"):
            source = self.expression()
            self.expect("AS")
            return tree.Unwind(source, self.name("a variable"))
        if self.accept("WITH"):
            return self._projection(final=False)
        if self.accept("RETURN"):
            return self._projection(final=True)
        if self.at_any("CALL"):
            return self._call_subquery(optional=False)
        return None

    def _refuse_clause(self) -> None:
        """Raise QueryRefused if the current word begins a clause that is not allowed."""
        problem = _REFUSED_CLAUSES.get(self.token.upper)
        if problem is not None:
            fix = "Use MATCH, WHERE, WITH, UNWIND, UNION, CALL { } and RETURN."
            raise QueryRefused(
                problem.format(self.token.upper), fix=fix if problem == _CHANGES else ""
            )

    def _match(self) -> tree.Match:
        optional = self.accept("OPTIONAL")
        self.expect("MATCH")
        if self.at("REPEATABLE") or self.at("DIFFERENT"):
            raise QueryRefused(f"`{self.token.upper}` is not supported.")
        patterns = self.patterns()
        if self.at_any("USING"):
            raise QueryRefused("Planner hints (USING) are not supported.", fix="Remove the hint.")
        condition = self.expression() if self.accept("WHERE") else None
        return tree.Match(patterns, condition, optional)

    def _call_subquery(self, *, optional: bool) -> tree.CallSubquery:
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
        return tree.CallSubquery(query, imports, optional)

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

    def _projection(self, *, final: bool) -> tree.Projection:
        distinct = self.accept("DISTINCT")
        star = self.accept("*")
        items: list[tree.ProjectedItem] = []
        if not star or self.accept(","):
            items.append(self._item())
            while self.accept(","):
                items.append(self._item())
        order: list[tree.SortItem] = []
        if self.accept("ORDER", "BY"):
            order.append(self._sort_item())
            while self.accept(","):
                order.append(self._sort_item())
        skip = self.expression() if self.accept("SKIP") or self.accept("OFFSET") else None
        limit = self.expression() if self.accept("LIMIT") else None
        condition = self.expression() if not final and self.accept("WHERE") else None
        return tree.Projection(
            tuple(items), star, distinct, tuple(order), skip, limit, condition, final
        )

    def _item(self) -> tree.ProjectedItem:
        start = self.token.start
        expression = self.expression()
        last = self.tokens[self.position - 1]
        if self.accept("AS"):
            return tree.ProjectedItem(expression, self.name("a column"), named=True)
        if isinstance(expression, tree.Variable):
            return tree.ProjectedItem(expression, expression.name, named=True)
        text = self.text[start : token_end(self.text, last)]
        return tree.ProjectedItem(expression, text, named=False)

    def _sort_item(self) -> tree.SortItem:
        expression = self.expression()
        descending = self.accept("DESC") or self.accept("DESCENDING")
        if not descending:
            _ = self.accept("ASC") or self.accept("ASCENDING")
        return tree.SortItem(expression, descending)

    def patterns(self) -> tuple[tree.PathPattern, ...]:
        """Read the patterns of a MATCH."""
        found = [self.path_pattern()]
        while self.accept(","):
            found.append(self.path_pattern())
        return tuple(found)

    def path_pattern(self) -> tree.PathPattern:
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
            return tree.PathPattern(variable, inner.nodes, inner.relationships, kind)
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

    def pattern_chain(self, variable: str | None) -> tree.PathPattern:
        """Read nodes connected by relationships."""
        nodes = [self.node_pattern()]
        relationships: list[tree.RelationshipPattern] = []
        while self.at_any("-") or self.at("<", "-"):
            relationships.append(self.relationship_pattern())
            if self.at_any("{", "+", "*"):
                raise QueryRefused(
                    "Quantified relationships are not supported.",
                    fix="Use a variable length, such as -[:KNOWS*1..3]->.",
                )
            nodes.append(self.node_pattern())
        return tree.PathPattern(variable, tuple(nodes), tuple(relationships))

    def node_pattern(self) -> tree.NodePattern:
        """Read a node in brackets."""
        self.expect("(")
        variable = None
        if self.token.kind in ("name", "quoted") and not self.at_any("WHERE"):
            variable = self.name("a node")
        labels = self.label_expression() if self._accept_colon() else None
        properties = self.map_or_parameter() if self._at_properties() else None
        condition = self.expression() if self.accept("WHERE") else None
        self.expect(")")
        return tree.NodePattern(variable, labels, properties, condition)

    def _accept_colon(self) -> bool:
        return self.accept(":") or self.accept("IS")

    def _at_properties(self) -> bool:
        return self.at_any("{") or self.token.kind == "parameter"

    def relationship_pattern(self) -> tree.RelationshipPattern:
        """Read a relationship with its arrows."""
        leftward = self.accept("<")
        self.expect("-")
        variable: str | None = None
        types: tree.LabelExpression | None = None
        lengths: tuple[int, int | None] | None = None
        properties = condition = None
        if self.accept("["):
            if self.token.kind in ("name", "quoted") and not self.at_any("WHERE"):
                variable = self.name("a relationship")
            types = self.label_expression() if self._accept_colon() else None
            lengths = self._lengths() if self.accept("*") else None
            properties = self.map_or_parameter() if self._at_properties() else None
            condition = self.expression() if self.accept("WHERE") else None
            self.expect("]")
        self.expect("-")
        rightward = self.accept(">")
        direction: tree.Direction = "both"
        if leftward != rightward:
            direction = "in" if leftward else "out"
        return tree.RelationshipPattern(variable, types, properties, direction, lengths, condition)

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

    def label_expression(self) -> tree.LabelExpression:
        """Read labels: ``A``, ``A:B``, ``A&B``, ``A|B``, ``!A``, ``%``, ``(A)``."""
        self.deeper()
        operands = [self._label_term()]
        while self.at_any("|"):
            self.next()
            self.accept(":")
            operands.append(self._label_term())
        self.higher()
        return operands[0] if len(operands) == 1 else tree.LabelJunction("|", tuple(operands))

    def _label_term(self) -> tree.LabelExpression:
        operands = [self._label_factor()]
        while self.at_any("&", ":"):
            self.next()
            operands.append(self._label_factor())
        return operands[0] if len(operands) == 1 else tree.LabelJunction("&", tuple(operands))

    def _label_factor(self) -> tree.LabelExpression:
        if self.accept("!"):
            self.deeper()
            negated = tree.LabelNot(self._label_factor())
            self.higher()
            return negated
        if self.accept("("):
            inner = self.label_expression()
            self.expect(")")
            return inner
        return tree.LabelIs("%" if self.accept("%") else self.name("a label"))

    def expression(self) -> tree.Expression:
        """Read an expression."""
        self.deeper()
        found = self._junction("OR", self._exclusive)
        self.higher()
        return found

    def _exclusive(self) -> tree.Expression:
        return self._junction("XOR", self._conjunction)

    def _conjunction(self) -> tree.Expression:
        return self._junction("AND", self._negation)

    def _junction(self, word: str, operand: Callable[[], tree.Expression]) -> tree.Expression:
        operands = [operand()]
        while self.accept(word):
            operands.append(operand())
        return operands[0] if len(operands) == 1 else tree.Junction(word, tuple(operands))

    def _negation(self) -> tree.Expression:
        if not self.accept("NOT"):
            return self._comparison()
        self.deeper()
        found = tree.Unary("NOT", self._negation())
        self.higher()
        return found

    def _comparison(self) -> tree.Expression:
        first = self._predicate()
        steps: list[tuple[str, tree.Expression]] = []
        while self.at_any(*_COMPARISONS):
            operator = self.next().text
            steps.append((operator, self._predicate()))
        return tree.Comparison(first, tuple(steps)) if steps else first

    def _predicate(self) -> tree.Expression:
        left = self._sum()
        while True:
            operator = self._accept_predicate()
            if operator is None:
                return left
            if operator.startswith("IS"):
                left = tree.Unary(operator, left)
            else:
                left = tree.Binary(operator, left, self._sum())

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

    def _sum(self) -> tree.Expression:
        left = self._product()
        while self.at_any("+", "-", "||"):
            operator = self.next().text
            left = tree.Binary("+" if operator == "||" else operator, left, self._product())
        return left

    def _product(self) -> tree.Expression:
        left = self._power()
        while self.at_any("*", "/", "%"):
            left = tree.Binary(self.next().text, left, self._power())
        return left

    def _power(self) -> tree.Expression:
        left = self._signed()
        while self.accept("^"):
            left = tree.Binary("^", left, self._signed())
        return left

    def _signed(self) -> tree.Expression:
        if self.at_any("-") and self.ahead().kind == "number":
            self.next()
            return self._postfix(self.number(negative=True))
        if self.at_any("+", "-"):
            operator = self.next().text
            self.deeper()
            found = tree.Unary(operator, self._signed())
            self.higher()
            return found
        return self._postfix(self.atom())

    def _postfix(self, subject: tree.Expression) -> tree.Expression:
        while True:
            if self.at_any(".") and self.ahead().kind in ("name", "quoted"):
                self.next()
                subject = tree.PropertyAccess(subject, self.name("a property"))
            elif self.accept("["):
                subject = self._indexed(subject)
                self.expect("]")
            elif self.at_any(":") and self.label_may_follow:
                self.next()
                subject = tree.HasLabel(subject, self.label_expression())
            else:
                return subject

    def _indexed(self, subject: tree.Expression) -> tree.Expression:
        if self.accept(".."):
            return tree.Slice(subject, None, None if self.at_any("]") else self.expression())
        start = self.expression()
        if self.accept(".."):
            return tree.Slice(subject, start, None if self.at_any("]") else self.expression())
        return tree.IndexAccess(subject, start)

    def atom(self) -> tree.Expression:  # noqa: PLR0911 - one return a kind of token
        """Read an atom."""
        token = self.token
        if token.kind == "number":
            return self.number()
        if token.kind == "string":
            return self._string()
        if token.kind == "parameter":
            return tree.Parameter(self.next().text)
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

    def number(self, *, negative: bool = False) -> tree.Expression:
        """Read a number. Raises QuerySyntaxError for one that is malformed or too large."""
        token = self.next()
        try:
            number = read_number(token.text, negative=negative)
        except OverflowError:
            self.fail("The number is too large: integers have 64 bits", token)
        if number is None:
            self.fail("Invalid number", token)
        return tree.Constant(-number if negative and number else number)

    def _string(self) -> tree.Expression:
        token = self.next()
        text = unquote_string(token.text)
        if text is None:
            self.fail("The string has an unknown escape sequence", token)
        return tree.Constant(text)

    def _word(self) -> tree.Expression:  # noqa: PLR0911 - one return a kind of word
        word, follows = self.token.upper, self.ahead().text
        if word in _WORDS and follows not in ("(", ".", "{"):
            self.next()
            return tree.Constant(_WORDS[word])
        if word == "CASE" and follows not in (".", ",", ")", "]", "}"):
            return self._case()
        if word in _SUBQUERIES and follows == "{":
            self.next()
            return tree.Subquery(word, self._braced(self.subquery))
        if follows == "(":
            if word in _QUANTIFIERS:
                return self._attempt(self._quantifier) or self._named()
            if word == "REDUCE":
                return self._reduction()
            if word in _SHORTEST_KINDS:
                return tree.PatternPredicate(self.path_pattern())
        return self._named()

    def _named(self) -> tree.Expression:
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
        variable = tree.Variable(self.name("a variable"))
        return self._map_projection(variable) if self.at_any("{") else variable

    def _call(self, name: str) -> tree.Expression:
        self.expect("(")
        if self.accept("*"):
            self.expect(")")
            if name != "count":
                self.fail(f"`*` is allowed in count(*) only, not in {name}()")
            return tree.Call(name, (), star=True)
        distinct = self.accept("DISTINCT")
        arguments = self._until(")", self.expression)
        return tree.Call(name, tuple(arguments), distinct)

    def _until(self, end: str, read: Callable[[], tree.Expression]) -> list[tree.Expression]:
        """Read expressions separated by commas, and the closing mark."""
        found: list[tree.Expression] = []
        if not self.accept(end):
            found.append(read())
            while self.accept(","):
                found.append(read())
            self.expect(end)
        return found

    def _bracketed(self) -> tree.Expression:
        pattern = self._attempt(self._pattern_predicate)
        if pattern is not None:
            return pattern
        self.expect("(")
        free, self.label_may_follow = self.label_may_follow, True
        found = self.expression()
        self.label_may_follow = free
        self.expect(")")
        return found

    def _pattern_predicate(self) -> tree.Expression:
        pattern = self.pattern_chain(None)
        if not pattern.relationships:
            self.fail("A pattern has a relationship")
        return tree.PatternPredicate(pattern)

    def _attempt(self, read: Callable[[], tree.Expression]) -> tree.Expression | None:
        """Return the result of ``read``, or None and backtrack if it fails."""
        position, depth = self.position, self._depth
        try:
            return read()
        except QuerySyntaxError:
            self.position, self._depth = position, depth
            return None

    def _list(self) -> tree.Expression:
        if self.ahead().kind in ("name", "quoted") and self.ahead(2).upper == "IN":
            found = self._attempt(self._comprehension)
            if found is not None:
                return found
        elif self.ahead().text == "(" or self.ahead(2).text == "=":
            found = self._attempt(self._pattern_comprehension)
            if found is not None:
                return found
        self.expect("[")
        return tree.ListOf(tuple(self._until("]", self.expression)))

    def _comprehension(self) -> tree.Expression:
        self.expect("[")
        variable = self.name("a variable")
        self.expect("IN")
        source = self.expression()
        condition = self.expression() if self.accept("WHERE") else None
        result = self.expression() if self.accept("|") else None
        self.expect("]")
        return tree.Comprehension(variable, source, condition, result)

    def _pattern_comprehension(self) -> tree.Expression:
        self.expect("[")
        pattern = self.path_pattern()
        if not pattern.relationships:
            self.fail("A pattern has a relationship")
        condition = self.expression() if self.accept("WHERE") else None
        self.expect("|")
        result = self.expression()
        self.expect("]")
        return tree.PatternComprehension(pattern, condition, result)

    def map_or_parameter(self) -> tree.Expression:
        """Read a map in braces, or a parameter instead."""
        if self.token.kind == "parameter":
            return tree.Parameter(self.next().text)
        self.expect("{")
        entries: list[tuple[str, tree.Expression]] = []
        while not self.at_any("}"):
            key = self.name("a key")
            self.expect(":")
            entries.append((key, self.expression()))
            if not self.accept(","):
                break
        self.expect("}")
        return tree.MapOf(tuple(entries))

    def _map_projection(self, subject: tree.Variable) -> tree.Expression:
        self.expect("{")
        entries: list[tuple[str, tree.Expression | None]] = []
        while not self.at_any("}"):
            if self.accept("."):
                entries.append(("*", None) if self.accept("*") else (self.name("a key"), None))
            else:
                key = self.name("a key")
                entries.append((key, self.expression() if self.accept(":") else tree.Variable(key)))
            if not self.accept(","):
                break
        self.expect("}")
        return tree.MapProjection(subject, tuple(entries))

    def _case(self) -> tree.Expression:
        self.expect("CASE")
        subject = None if self.at_any("WHEN") else self.expression()
        branches: list[tuple[tree.Expression, tree.Expression]] = []
        while self.accept("WHEN"):
            condition = self.expression()
            self.expect("THEN")
            branches.append((condition, self.expression()))
        otherwise = self.expression() if self.accept("ELSE") else None
        self.expect("END")
        if not branches:
            self.fail("CASE has at least one WHEN")
        return tree.Case(subject, tuple(branches), otherwise)

    def _quantifier(self) -> tree.Expression:
        kind = self.next().text.lower()
        self.expect("(")
        variable = self.name("a variable")
        self.expect("IN")
        source = self.expression()
        self.expect("WHERE")
        condition = self.expression()
        self.expect(")")
        return tree.Quantifier(kind, variable, source, condition)

    def _reduction(self) -> tree.Expression:
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
        return tree.Reduction(accumulator, start, variable, source, step)

    def _braced(self, read: Callable[[], tree.UnionQuery]) -> tree.UnionQuery:
        self.expect("{")
        self.deeper()
        query = read()
        self.higher()
        self.expect("}")
        return query
