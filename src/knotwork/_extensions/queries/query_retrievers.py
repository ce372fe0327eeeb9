"""Retrievers by query: dynamic Cypher, text to Cypher, and text to SQL.

A statement is translated from the question, run, and repaired: a translator is called again with
the problem until a statement finds rows or it gives up. Hits are the passages that state the rows,
then those of a text search. Dynamic Cypher assembles a query from typed fragments, chosen by rules
or by a model. For text to Cypher and text to SQL, a model writes the whole statement.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from knotwork._extensions.queries.graph_rows import LOOSE, GraphQuestion
from knotwork._extensions.queries.graph_words import GraphModel
from knotwork._extensions.queries.model_translators import Example, ExampleBook, read_examples
from knotwork._extensions.queries.plan_assembly import assemble_plans
from knotwork._extensions.queries.query_plans import (
    Attempt,
    LinkedQuestion,
    QueryPlan,
    QueryTarget,
    Returned,
    Statement,
    Translator,
    require_numbers,
)
from knotwork._extensions.queries.query_targets import CypherGraph, SqlTables, choose_graph
from knotwork._extensions.queries.target_schema import SchemaLinker, TargetSchema, find_mentions
from knotwork._extensions.queries.translator_registry import make_translator
from knotwork._extensions.tables.table_file import TableFile
from knotwork._inference.chat import ChatModel
from knotwork._inference.embedder import Embedder
from knotwork._retrieval.base import ConfiguredRetriever, HybridRetriever, bounded
from knotwork._retrieval.fusion import raise_hits
from knotwork._retrieval.query_rows import ROWS_SCORE, cite_rows
from knotwork._stores.base import Store, require_cypher, tables_of
from knotwork._stores.capabilities import OWN_GRAPH
from knotwork.errors import (
    ModelError,
    QueryRefused,
    QuerySyntaxError,
    QueryTimeout,
    StoreNotFound,
    Unparsable,
)
from knotwork.records import Evidence, Query, QueryResult

ROUNDS = 3
"""Maximum number of statements tried for a question."""

_NOTHING_FOUND = (
    "It ran but found nothing. Check the direction of relationships, and write values exactly as"
    " they are stored."
)
_DIALECT: tuple[tuple[str, str], ...] = (
    (r"\bapoc\.|\bgds\.|\bCALL\s+db\.|\bCALL\s+[a-z]\w*\.", "Procedures are not supported."),
    (r"\bCALL\s*\{", "CALL { } is not supported: use WITH, or OPTIONAL MATCH."),
    (r"\b(?:size|length)\s*\(\s*\(", "size((a)--(b)) is not supported: use count() after a MATCH."),
    (r"\bexists\s*\(\s*\w+\.", "exists(n.p) is not supported: use n.p IS NOT NULL."),
    (r"\belementId\s*\(|\bid\s*\(", "Ids are not stable: compare properties."),
    (r"\b(?:ILIKE|REGEXP)\b|=~", "Use CONTAINS, STARTS WITH or ENDS WITH with toLower()."),
    (r"\bdatetime\s*\(|\bdate\s*\(", "Compare dates in the format in which they are stored."),
    (
        r"\b(?:CREATE|MERGE|SET|DELETE|REMOVE|DETACH|LOAD\s+CSV|FOREACH)\b",
        "Only read statements are supported.",
    ),
)
_SQL_DIALECT: tuple[tuple[str, str], ...] = (
    (r"\bILIKE\b", "SQLite has no ILIKE: LIKE is case-insensitive."),
    (r"\b(?:EXTRACT|DATE_TRUNC|YEAR|MONTH)\s*\(", "Use strftime('%Y', column) and the like."),
    (r"\bTOP\s+\d", "SQLite has no TOP: end with LIMIT."),
    (r"::\w+", "SQLite has no ::type: use CAST(x AS type)."),
)


def run_until_right(
    translator: Translator,
    target: QueryTarget,
    asked: LinkedQuestion,
    *,
    rounds: int = ROUNDS,
    source: str = "",
) -> list[Attempt]:
    """Try the statements of a translator until one has rows, at most ``rounds``.

    A reply that cannot be parsed counts as a failed statement. Raises other errors of a
    translator's model.
    """
    attempts: list[Attempt] = []
    for _ in range(max(rounds, 1)):
        try:
            statement = translator.translate(asked, attempts)
        except (QueryRefused, Unparsable) as error:
            problem = str(error)
            reply = error.text if isinstance(error, Unparsable) else ""
            attempts.append(Attempt(Statement(reply, origin="reply"), None, problem))
            if any(attempt.problem == problem for attempt in attempts[:-1]):
                break  # rules fail in the same way each time
            continue
        if statement is None or any(
            (a.statement.text, a.statement.parameters) == (statement.text, statement.parameters)
            for a in attempts
        ):
            break
        attempts.append(_attempt(statement, target, asked, source))
        if (result := attempts[-1].result) is not None and not result.is_empty:
            break
    return attempts


def best_attempt(attempts: Iterable[Attempt]) -> Attempt | None:
    """Return the first attempt with rows, or else the first that ran, if any did."""
    ran = [attempt for attempt in attempts if attempt.result is not None]
    return next((a for a in ran if a.result and not a.result.is_empty), next(iter(ran), None))


def _attempt(
    statement: Statement, target: QueryTarget, asked: LinkedQuestion, source: str
) -> Attempt:
    try:
        if not statement.is_planned:
            held = [statement.text, *statement.parameters.values()]
            require_numbers(asked.text, held, compared=True)
        if statement.result is not None:
            return Attempt(statement, replace(statement.result, source=source))
        result = target.run(statement, source=source)
    except QueryTimeout as error:
        return Attempt(statement, None, f"{error} Match fewer nodes, or start from a named one.")
    except (QuerySyntaxError, QueryRefused) as error:
        known = _DIALECT if target.language == "cypher" else _SQL_DIALECT
        advice = [text for p, text in known if re.search(p, statement.text, re.IGNORECASE)]
        return Attempt(statement, None, " ".join([str(error), *advice]))
    return Attempt(statement, result, _NOTHING_FOUND if result.is_empty else "")


_NO_STATEMENT = "No statement fits the question, so passages were found by its words only."
_CITED_SHARE = 0.6
"""Gain of a passage that states what rows contain, as a share of the best text score."""


class StatementRetriever(ConfiguredRetriever, ABC):
    """Runs a statement for a question; hits are the passages that state its rows, then those by
    text.

    ``Evidence.results`` has the rows, without their run time, so that equal questions have equal
    evidence. If a model fails, this is noted and translators without a model continue.
    ``translator`` is one, or the name of one in `TRANSLATORS`; the options may name another.
    Without it, those in ``by_model`` are tried in order if there is a model, then the rules.
    """

    by_model: ClassVar[tuple[str, ...]] = ()

    @bounded
    class Options:
        words: Mapping[str, tuple[str, ...]] | None = None
        """A user's synonyms for names of the schema."""
        rounds: int = ROUNDS

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        translator: str | Translator = "",
        options: Any = None,  # noqa: ANN401  an instance of `Options`
    ) -> None:
        self.check(store)
        super().__init__(store=store, embedder=embedder, options=options)
        self._model = model
        self._translator = getattr(self.options, "translator", "") or translator
        examples = getattr(self.options, "examples", ())
        if isinstance(examples, str | Path):
            examples = read_examples(Path(examples))
        self._examples = ExampleBook(examples, embedder=embedder)
        self._made: tuple[object, Sequence[Translator]] | None = None
        self._text = HybridRetriever(store=store, embedder=embedder)

    def check(self, store: Store) -> None:
        """Raise MissingCapability for a store on which no statement can run."""

    @abstractmethod
    def target(self) -> QueryTarget:
        """Return the graph or tables on which statements run."""

    def translators(self, target: QueryTarget) -> Sequence[Translator]:
        """Return the translator that was chosen, else those of a model, then the rules."""
        if not isinstance(self._translator, str):
            return [self._translator]
        if self._made is None or self._made[0] is not target:
            usual = (*(self.by_model if self._model else ()), "rules")
            names = (self._translator,) if self._translator else usual
            given = {"embedder": self._embedder, "model": self._model, "examples": self._examples}
            self._made = target, [make_translator(name, target=target, **given) for name in names]
        return self._made[1]

    def retrieve(self, query: Query) -> Evidence:
        """Return the rows, the passages that state them, and those of the text search."""
        evidence = replace(self._text.retrieve(query), retriever=self.name)
        notes: list[str] = []
        trace: list[str] = []
        found = self._ask(query.text, notes, trace)
        evidence = replace(evidence, notes=(*evidence.notes, *notes), trace=tuple(trace))
        if found is None:
            return evidence
        asked, statement, result = found
        names = [str(near.stored.value) for m in asked.mentions for near in m.found[:1]]
        worths, seeds = cite_rows(result, names, self._store)
        top = max((hit.score for hit in evidence.hits), default=1.0)
        gains = {key: _CITED_SHARE * top * worth for key, worth in worths.items()}
        hits = raise_hits(evidence, gains, part=ROWS_SCORE, store=self._store)
        sureness = statement.sureness if result.rows else 0.0
        return replace(
            evidence,
            hits=tuple(replace(h, seeds=(*h.seeds, *seeds.get(h.chunk.id, ()))) for h in hits),
            confidence=max(evidence.confidence, sureness),
            results=(replace(result, seconds=0.0, confidence=statement.sureness),),
        )

    def _ask(
        self, question: str, notes: list[str], trace: list[str]
    ) -> tuple[LinkedQuestion, Statement, QueryResult] | None:
        """Return the best statement that ran, with its result; None if none did."""
        if not question.strip():
            return None
        try:
            target = self.target()
            mentions = find_mentions(question, target.values())
            asked = LinkedQuestion(question, target.schema(), mentions)
        except StoreNotFound as error:
            notes.append(str(error))
            return None
        best: Attempt | None = None
        for translator in self.translators(target):
            try:
                attempts = run_until_right(
                    translator, target, asked, rounds=self.options.rounds, source=self.name
                )
            except ModelError as error:
                notes.append(f"The language model failed: {error}")
                continue
            for attempt in attempts:
                trace += _trace_lines(attempt)
            found = best_attempt(attempts)
            if found is None:
                notes += [attempt.problem for attempt in attempts[-1:] if attempt.problem]
            elif best is None or not _has_rows(best):
                best = found
                if _has_rows(best):
                    break
        if best is None or best.result is None:
            notes.append(_NO_STATEMENT)
            return None
        return asked, best.statement, best.result


def _trace_lines(attempt: Attempt) -> list[str]:
    text = " ".join(attempt.statement.text.split())
    line = f"{attempt.statement.origin or 'statement'}: {text}"
    if attempt.result is not None:
        return [line, f"rows: {len(attempt.result.rows)}"]
    return [line, f"problem: {attempt.problem}"] if attempt.problem else [line]


def _has_rows(attempt: Attempt) -> bool:
    return attempt.result is not None and bool(attempt.result.rows)


SUREST = 0.9
SURENESS_BY_COST = 0.12
"""Reduction of the sureness for each unit of a plan's cost."""


class RuleTranslator:
    """Makes plans by rules and returns the next best one at each call.

    First are the plans with which `ask` answers from an imported graph, which account for each
    word; then what the words that are known may mean.
    """

    def __init__(self, target: QueryTarget, embedder: Embedder | None = None) -> None:
        self._target = target
        self._embedder = embedder
        self._linker: tuple[TargetSchema, SchemaLinker] | None = None
        self._plans: tuple[str, list[QueryPlan]] = ("", [])
        self._model: tuple[TargetSchema, GraphModel] | None = None
        self._read: tuple[str, Statement | None] = ("", None)

    def translate(self, asked: LinkedQuestion, attempts: Sequence[Attempt]) -> Statement | None:
        """Return the statement of the best plan that was not tried.

        Raises QueryRefused if no plan uses all numbers and dates of the question.
        """
        tried = {attempt.statement.text for attempt in attempts}
        statement = self._read_statement(asked)
        if statement is not None and statement.text not in tried:
            return statement
        if self._linker is None or self._linker[0] is not asked.schema:
            self._linker = asked.schema, SchemaLinker(asked.schema, embedder=self._embedder)
        if self._plans[0] != asked.text or not attempts:
            self._plans = asked.text, assemble_plans(asked, self._linker[1])
        for plan in self._plans[1]:
            statement = self._target.write(plan)
            if statement.text not in tried:
                most = LOOSE if self._model else SUREST  # not each word is accounted for
                sureness = max(min(SUREST + SURENESS_BY_COST * min(plan.score, 0.0), most), 0.1)
                if plan.returned is Returned.THING and not any(n.conditions for n in plan.nodes):
                    sureness = 0.2  # a question rarely asks for all nodes of a kind
                return replace(
                    statement, origin="fragments by rules", sureness=sureness, is_planned=True
                )
        return None

    def _read_statement(self, asked: LinkedQuestion) -> Statement | None:
        """Return the statement for a question about an imported graph, if one has rows.

        In a graph without labels, words that it lacks are left out if there is no other.
        """
        target = self._target
        if not isinstance(target, CypherGraph) or target.graph == OWN_GRAPH:
            return None
        if self._model is None or self._model[0] is not asked.schema:
            self._model, self._read = (asked.schema, GraphModel(target)), ("", None)
        model = self._model[1]
        if self._read[0] != asked.text:
            found = GraphQuestion(model, asked.text).statement()
            if found is None and not model.is_labelled:
                found = GraphQuestion(model, asked.text, is_loose=True).statement()
            self._read = asked.text, found
        return self._read[1]


class GraphStatementRetriever(StatementRetriever):
    """Finds rows of a graph.

    ``graph`` is the name of an imported graph, by default the only one, or else that of the
    documents. ``words`` are synonyms for its labels, types and properties.
    """

    @bounded
    class Options(StatementRetriever.Options):
        graph: str | None = None

    options: Options
    _target: CypherGraph | None = None

    def check(self, store: Store) -> None:
        """Raise MissingCapability for a store that does not run Cypher."""
        require_cypher(store)

    def target(self) -> CypherGraph:
        """Return the graph to query."""
        name = choose_graph(self._store, self.options.graph)
        if self._target is None or self._target.graph != name:
            self._target = CypherGraph(self._store, graph=name, words=self.options.words)
        return self._target


class DynamicCypherRetriever(GraphStatementRetriever):
    """Finds rows of a graph by a query assembled from the question.

    With a model, the model chooses the fragments, and rules follow if it fails or finds nothing.
    """

    name = "dynamic_cypher"
    by_model = ("fragments",)

    @bounded
    class Options(GraphStatementRetriever.Options):
        translator: str = ""


class TextToCypherRetriever(DynamicCypherRetriever):
    """Finds rows of a graph by a statement that a model writes from schema, names and examples.

    ``examples`` are questions with statements, or a file of them (`read_examples`). Without a
    model, or if it fails or finds nothing, rules assemble the statement.
    """

    name = "text_to_cypher"
    by_model = ("statement",)

    @bounded
    class Options(DynamicCypherRetriever.Options):
        examples: Sequence[Example] | str | Path = ()


class TextToSqlRetriever(StatementRetriever):
    """Finds rows of the tables beside an index by a statement of a model or of rules.

    ``tables`` is the file of the tables, by default the one beside the index (``knotwork tables
    add``). The index itself cannot be reached.
    """

    name = "text_to_sql"
    by_model = ("statement",)

    @bounded
    class Options(StatementRetriever.Options):
        translator: str = ""
        tables: str | Path | None = None
        examples: Sequence[Example] | str | Path = ()

    options: Options
    _tables: SqlTables | None = None

    def target(self) -> QueryTarget:
        """Return the tables. Raises StoreNotFound if there cannot be any, or under a filter."""
        if self._store.capabilities.whole is not None:
            raise StoreNotFound("Rows of tables cannot be filtered, so no table was queried.")
        if self._tables is None:
            named, words = self.options.tables, self.options.words
            tables = tables_of(self._store) if named is None else TableFile(Path(named))
            if tables is None:
                raise StoreNotFound("An index in memory has no tables beside it.")
            self._tables = SqlTables(tables, words=words)
        return self._tables
