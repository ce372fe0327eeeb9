"""Statements on the graphs of the embedded store."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from knotwork.cypher import PropertyGraph
from knotwork.records import PropertyValue, QueryResult
from knotwork.stores.embedded.database import Database
from knotwork.stores.embedded.own_graph import project_index
from knotwork.stores.embedded.packing import unpack_line, unpack_strings
from knotwork.stores.embedded.property_graphs import EmbeddedPropertyGraphs, unpack_properties
from knotwork.stores.projection import (
    OWN_GRAPH,
    GraphSource,
    KeptGraphs,
    answer,
    unknown_graph,
)


class EmbeddedCypher:
    """Runs statements inside one reading transaction; graphs are kept until they change."""

    def __init__(self, database: Database, graphs: EmbeddedPropertyGraphs) -> None:
        self._database = database
        self._graphs = graphs
        self._kept = KeptGraphs()

    def run(
        self,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        graph: str = OWN_GRAPH,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
    ) -> QueryResult:
        """Run a statement; see `RunsCypher`."""
        with self._database.reading():
            found = self._kept.get(graph, self._source(graph))
            return answer(found, statement, parameters, row_limit=row_limit, timeout_s=timeout_s)

    def _source(self, name: str) -> GraphSource:
        database = self._database
        if name == OWN_GRAPH:
            version = None if database.writing else database.generation()
            return GraphSource(version, lambda: project_index(database))
        key = self._graphs.key(name)
        if key is None:
            raise unknown_graph(name, self._graphs.names())
        return GraphSource(None if database.writing else key, self._maker(key))

    def _maker(self, key: int) -> Callable[[], PropertyGraph]:
        def make() -> PropertyGraph:
            stored = self._graphs.read(key)
            labels: dict[str, tuple[str, ...]] = {}
            types: dict[bytes, str] = {}
            packed = [row[2] for row in stored.nodes]
            packed_edges = [row[4] for row in stored.relationships]
            ids = [row[0] for row in stored.relationships]
            return PropertyGraph(
                ids=[unpack_line(row[0]) for row in stored.nodes],
                labels=[_labels(row[1], labels) for row in stored.nodes],
                types=[_type(row[1], types) for row in stored.relationships],
                sources=[row[2] for row in stored.relationships],
                targets=[row[3] for row in stored.relationships],
                node_properties=lambda index: unpack_properties(packed[index]),
                relationship_properties=lambda index: unpack_properties(packed_edges[index]),
                relationship_id=lambda index: unpack_line(ids[index]),
            )

        return make


def _labels(data: str, known: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    found = known.get(data)
    if found is None:
        found = known[data] = tuple(unpack_strings(data))
    return found


def _type(data: bytes, known: dict[bytes, str]) -> str:
    found = known.get(data)
    if found is None:
        found = known[data] = unpack_line(data)
    return found
