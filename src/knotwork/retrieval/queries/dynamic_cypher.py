"""Dynamic Cypher: a query put together from typed fragments, by rules or as a model chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from knotwork.inference.base import Embedder
from knotwork.inference.chat import ChatModel
from knotwork.retrieval.queries.assembling import assemble_plans
from knotwork.retrieval.queries.cypher_graph import CypherGraph, choose_graph, require_cypher
from knotwork.retrieval.queries.fragment_lines import FragmentTranslator
from knotwork.retrieval.queries.linking import SchemaLinker
from knotwork.retrieval.queries.plans import QueryPlan, Returned
from knotwork.retrieval.queries.repair import ROUNDS
from knotwork.retrieval.queries.retriever import StatementRetriever
from knotwork.retrieval.queries.schema import TargetSchema
from knotwork.retrieval.queries.statements import (
    Asked,
    Attempt,
    QueryTarget,
    Statement,
    Translator,
)
from knotwork.stores.base import Store

SUREST = 0.9
SURENESS_BY_COST = 0.12
"""What each unit of a plan's cost takes from how sure it is."""


class RuleTranslator:
    """Assembles plans by rules, and gives the next likeliest one each time it is asked."""

    def __init__(self, target: QueryTarget, embedder: Embedder | None) -> None:
        self._target = target
        self._embedder = embedder
        self._linker: tuple[TargetSchema, SchemaLinker] | None = None
        self._plans: tuple[str, list[QueryPlan]] = ("", [])

    def translate(self, asked: Asked, attempts: Sequence[Attempt]) -> Statement | None:
        """Return the statement of the likeliest plan that was not tried.

        Raises QueryRefused if no plan honours all numbers and dates of the question.
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
    """Rows of a graph by a query assembled from the question.

    ``graph`` names an imported graph (by default the only one, else that of the documents);
    ``words`` gives other words for its labels, types and properties. With a model, it chooses the
    fragments, and the rules follow where it fails or finds nothing.
    """

    name = "dynamic_cypher"

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        graph: str | None = None,
        words: Mapping[str, tuple[str, ...]] | None = None,
        rounds: int = ROUNDS,
    ) -> None:
        super().__init__(store=store, embedder=embedder, rounds=rounds)
        require_cypher(store)
        self._graph = graph
        self._words = words
        self._model = model
        self._target: CypherGraph | None = None
        self._rules: RuleTranslator | None = None

    def target(self) -> CypherGraph:
        """Return the graph that is asked."""
        name = choose_graph(self._store, self._graph)
        if self._target is None or self._target.graph != name:
            self._target = CypherGraph(self._store, graph=name, words=self._words)
            self._rules = RuleTranslator(self._target, self._embedder)
        return self._target

    def translators(self, target: QueryTarget) -> Sequence[Translator]:
        """Return the model's fragments, where there is a model, then the rules."""
        rules = self._rules or RuleTranslator(target, self._embedder)
        return [FragmentTranslator(target, self._model), rules] if self._model else [rules]


def _sureness(plan: QueryPlan) -> float:
    if plan.returned is Returned.THING and not any(n.conditions for n in plan.nodes):
        return 0.2  # all there is of a kind is seldom what was asked
    return max(SUREST + SURENESS_BY_COST * min(plan.score, 0.0), 0.1)
