"""The part of a knowledge base that runs statements of a query language."""

from __future__ import annotations

from collections.abc import Mapping

from knotwork.errors import StoreError
from knotwork.records import PropertyValue, QueryResult
from knotwork.stores.base import Store
from knotwork.stores.queries import OWN_GRAPH, RunsCypher


class Querying:
    """Statements on the index's own graph, and on graphs that were imported."""

    store: Store

    def cypher(
        self,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        graph: str = OWN_GRAPH,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
        **named: PropertyValue,
    ) -> QueryResult:
        """Run a read-only openCypher statement and return its rows, at most ``row_limit``.

        Parameters come as a mapping or by name: ``kb.cypher("... {name: $n} ...", n="Ada")``.
        Nodes, relationships and paths come as mappings, times as strings. Raises QueryRefused for a
        statement that could do anything but read, QuerySyntaxError, QueryTimeout, UnknownName for a
        graph that is not there, StoreError on a store without this power.
        """
        if not isinstance(self.store, RunsCypher):
            raise StoreError(f"The store `{self.store.url}` cannot run Cypher.")
        given = {**(parameters or {}), **named}
        return self.store.cypher(
            statement, given, graph=graph, row_limit=row_limit, timeout_s=timeout_s
        )
