"""Retrievers by query: dynamic Cypher, text to Cypher, and text to SQL.

Dynamic Cypher assembles a query from typed fragments, chosen by rules or by a model. For text to
Cypher and text to SQL, a model writes the whole statement and repairs it after errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from knotwork._inference.chat import ChatModel
from knotwork._inference.embedder import Embedder
from knotwork._retrieval.queries.cypher_target import CypherGraph, choose_graph
from knotwork._retrieval.queries.model_translators import (
    Example,
    ExampleBook,
    FragmentTranslator,
    ModelTranslator,
    read_examples,
)
from knotwork._retrieval.queries.plan_assembly import assemble_plans
from knotwork._retrieval.queries.query_plans import (
    Attempt,
    LinkedQuestion,
    QueryPlan,
    QueryTarget,
    Returned,
    Statement,
    Translator,
)
from knotwork._retrieval.queries.schema_linker import SchemaLinker
from knotwork._retrieval.queries.sql_target import SqlTables
from knotwork._retrieval.queries.statement_retriever import ROUNDS, StatementRetriever
from knotwork._retrieval.queries.target_schema import TargetSchema
from knotwork._stores.base import Store
from knotwork._stores.filtered import FilteredStore
from knotwork._stores.parts import require_cypher
from knotwork._stores.table_file import TableFile, tables_path
from knotwork.errors import StoreNotFound

SUREST = 0.9
SURENESS_BY_COST = 0.12
"""Reduction of the sureness for each unit of a plan's cost."""


class RuleTranslator:
    """Assembles plans by rules and returns the next best one at each call."""

    def __init__(self, target: QueryTarget, embedder: Embedder | None) -> None:
        self._target = target
        self._embedder = embedder
        self._linker: tuple[TargetSchema, SchemaLinker] | None = None
        self._plans: tuple[str, list[QueryPlan]] = ("", [])

    def translate(self, asked: LinkedQuestion, attempts: Sequence[Attempt]) -> Statement | None:
        """Return the statement of the best plan that was not tried.

        Raises QueryRefused if no plan uses all numbers and dates of the question.
        """
        if self._plans[0] != asked.text or not attempts:
            self._plans = asked.text, assemble_plans(asked, self._link(asked.schema))
        tried = {attempt.statement.text for attempt in attempts}
        for plan in self._plans[1]:
            statement = self._target.write(plan)
            if statement.text not in tried:
                return Statement(
                    statement.text,
                    statement.parameters,
                    origin="fragments by rules",
                    sureness=_sureness(plan),
                    is_planned=True,
                )
        return None

    def _link(self, schema: TargetSchema) -> SchemaLinker:
        if self._linker is None or self._linker[0] is not schema:
            self._linker = schema, SchemaLinker(schema, embedder=self._embedder)
        return self._linker[1]


class DynamicCypherRetriever(StatementRetriever):
    """Finds rows of a graph by a query assembled from the question.

    ``graph`` is the name of an imported graph, by default the only one, or else that of the
    documents. ``words`` are synonyms for its labels, types and properties. With a model, the model
    chooses the fragments, and rules follow if it fails or finds nothing.
    """

    name = "dynamic_cypher"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        graph: str | None = None
        words: Mapping[str, tuple[str, ...]] | None = None
        rounds: int = ROUNDS

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        options: Options | None = None,
    ) -> None:
        options = options or self.Options()
        super().__init__(store=store, embedder=embedder, rounds=options.rounds)
        require_cypher(store)
        self._graph = options.graph
        self._words = options.words
        self._model = model
        self._target: CypherGraph | None = None
        self._rules: RuleTranslator | None = None

    def target(self) -> CypherGraph:
        """Return the graph to query."""
        name = choose_graph(self._store, self._graph)
        if self._target is None or self._target.graph != name:
            self._target = CypherGraph(self._store, graph=name, words=self._words)
            self._rules = RuleTranslator(self._target, self._embedder)
        return self._target

    def translators(self, target: QueryTarget) -> Sequence[Translator]:
        """Return the model's fragments, if there is a model, then the rules."""
        rules = self._rules or RuleTranslator(target, self._embedder)
        return [FragmentTranslator(target, self._model), rules] if self._model else [rules]


def _open_examples(
    examples: Sequence[Example] | str | Path, embedder: Embedder | None
) -> ExampleBook:
    """Return a book of these examples, or of those in the file at this path."""
    if isinstance(examples, str | Path):
        examples = read_examples(Path(examples))
    return ExampleBook(examples, embedder=embedder)


def _sureness(plan: QueryPlan) -> float:
    if plan.returned is Returned.THING and not any(n.conditions for n in plan.nodes):
        return 0.2  # a question rarely asks for all nodes of a kind
    return max(SUREST + SURENESS_BY_COST * min(plan.score, 0.0), 0.1)


class TextToCypherRetriever(DynamicCypherRetriever):
    """Finds rows of a graph by a statement that a model writes from schema, names and examples.

    ``examples`` are questions with statements, or a file of them (`read_examples`). Without a
    model, or if it fails or finds nothing, rules assemble the statement.
    """

    name = "text_to_cypher"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options(DynamicCypherRetriever.Options):
        """Options of this retriever in a specification."""

        examples: Sequence[Example] | str | Path = ()

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        options: Options | None = None,
    ) -> None:
        options = options or self.Options()
        super().__init__(store=store, embedder=embedder, options=options)
        self._writer = model
        self._examples = _open_examples(options.examples, embedder)

    def translators(self, target: QueryTarget) -> Sequence[Translator]:
        """Return the model, if there is one, then the rules."""
        rules = super().translators(target)
        if self._writer is None:
            return rules
        return [ModelTranslator(self._writer, self._examples), *rules]


class TextToSqlRetriever(StatementRetriever):
    """Finds rows of the tables beside an index by a statement of a model or of rules.

    ``tables`` is the file of the tables, by default the one beside the index (``knotwork tables
    add``). The index itself cannot be reached.
    """

    name = "text_to_sql"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        tables: str | Path | None = None
        words: Mapping[str, tuple[str, ...]] | None = None
        examples: Sequence[Example] | str | Path = ()
        rounds: int = ROUNDS

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        options: Options | None = None,
    ) -> None:
        options = options or self.Options()
        super().__init__(store=store, embedder=embedder, rounds=options.rounds)
        path = Path(options.tables) if options.tables is not None else tables_path(store.url)
        self._tables = SqlTables(TableFile(path), words=options.words) if path is not None else None
        self._writer = model
        self._examples = _open_examples(options.examples, embedder)
        self._rules = RuleTranslator(self._tables, embedder) if self._tables else None

    def target(self) -> QueryTarget:
        """Return the tables. Raises StoreNotFound if there cannot be any, or under a filter."""
        if isinstance(self._store, FilteredStore):
            raise StoreNotFound("Rows of tables cannot be filtered, so no table was queried.")
        if self._tables is None:
            raise StoreNotFound("An index in memory has no tables beside it.")
        return self._tables

    def translators(self, target: QueryTarget) -> Sequence[Translator]:
        """Return the model, if there is one, then the rules."""
        del target
        rules: list[Translator] = [self._rules] if self._rules else []
        if self._writer is None:
            return rules
        return [ModelTranslator(self._writer, self._examples), *rules]
