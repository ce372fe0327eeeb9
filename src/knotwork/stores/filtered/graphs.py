"""Statements on the graphs that a filter leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from knotwork.records import (
    GRAPH_URI,
    Comparison,
    Condition,
    PropertyValue,
    QueryResult,
)
from knotwork.stores.fields import URI, FieldStore, Selection
from knotwork.stores.filtered.documents import refuse_to_write
from knotwork.stores.queries import OWN_GRAPH, PropertyGraphStore, RunsCypher

if TYPE_CHECKING:
    from knotwork.cypher import PropertyGraph
    from knotwork.stores.filtered.store import FilteredStore


class FilteredPropertyGraphs:
    """The `PropertyGraphStore` of a filtered index: graphs of which no passage is excluded."""

    put = refuse_to_write
    remove = refuse_to_write

    def __init__(self, held: PropertyGraphStore, fields: FieldStore, selection: Selection) -> None:
        self._held = held
        self._fields = fields
        self._selection = selection

    def names(self) -> list[str]:
        """Return the names of the graphs, ascending."""
        return [name for name in self._held.names() if self._is_whole(name)]

    def _is_whole(self, name: str) -> bool:
        uri = f"{GRAPH_URI}{name}"
        stated = self._fields.select(Condition(URI, Comparison.EQUAL, (uri, f"{uri}/*")))
        return len(stated.chunks - self._selection.chunks) == 0


class FilteredCypher:
    """Runs statements on the index's own graph without what is excluded, and on whole graphs."""

    def __init__(self, store: FilteredStore, runs: RunsCypher) -> None:
        self._store = store
        self._runs = runs
        self._own: PropertyGraph | None = None

    def run(
        self,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        graph: str = OWN_GRAPH,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
    ) -> QueryResult:
        """Run a statement; see `RunsCypher`. Raises UnknownName for a graph not left whole."""
        # The language is imported with the first statement.
        from knotwork.stores.projection import answer, project_own, unknown_graph

        if graph == OWN_GRAPH:
            if self._own is None:
                self._own = project_own(self._store)
            return answer(
                self._own, statement, parameters, row_limit=row_limit, timeout_s=timeout_s
            )
        names = self._store.property_graphs.names()
        if graph not in names:
            raise unknown_graph(graph, names)
        return self._runs.cypher(
            statement, parameters, graph=graph, row_limit=row_limit, timeout_s=timeout_s
        )
