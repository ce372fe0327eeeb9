"""Retrievers by query: dynamic Cypher, text to Cypher, and text to SQL.

Dynamic Cypher assembles a query from typed fragments, chosen by rules or by a model. For text to
Cypher and text to SQL, a model writes the whole statement and repairs it after errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from knotwork._inference.embedder import Embedder
from knotwork._retrieval.options import bounded
from knotwork._retrieval.queries.cypher_target import CypherGraph, choose_graph
from knotwork._retrieval.queries.model_translators import Example
from knotwork._retrieval.queries.plan_assembly import assemble_plans
from knotwork._retrieval.queries.query_plans import (
    Attempt,
    LinkedQuestion,
    QueryPlan,
    QueryTarget,
    Returned,
    Statement,
)
from knotwork._retrieval.queries.schema_linker import SchemaLinker
from knotwork._retrieval.queries.sql_target import SqlTables
from knotwork._retrieval.queries.statement_retriever import StatementRetriever
from knotwork._retrieval.queries.target_schema import TargetSchema
from knotwork._stores.base import Store, require_cypher
from knotwork._stores.index_tables import tables_of
from knotwork._stores.table_file import TableFile
from knotwork.errors import StoreNotFound

SUREST = 0.9
SURENESS_BY_COST = 0.12
"""Reduction of the sureness for each unit of a plan's cost."""


class RuleTranslator:
    """Assembles plans by rules and returns the next best one at each call."""

    def __init__(self, target: QueryTarget, embedder: Embedder | None = None) -> None:
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


def _sureness(plan: QueryPlan) -> float:
    if plan.returned is Returned.THING and not any(n.conditions for n in plan.nodes):
        return 0.2  # a question rarely asks for all nodes of a kind
    return max(SUREST + SURENESS_BY_COST * min(plan.score, 0.0), 0.1)


class DynamicCypherRetriever(StatementRetriever):
    """Finds rows of a graph by a query assembled from the question.

    ``graph`` is the name of an imported graph, by default the only one, or else that of the
    documents. ``words`` are synonyms for its labels, types and properties. With a model, the model
    chooses the fragments, and rules follow if it fails or finds nothing.
    """

    name = "dynamic_cypher"
    by_model = ("fragments",)

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
