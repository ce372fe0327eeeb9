"""The graph of a knowledge base: run Cypher statements, and import existing graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from knotwork.errors import StoreError
from knotwork.indexing.embedding import Embedding
from knotwork.inference.model_registry import NO_EMBEDDER
from knotwork.records import PropertyValue, QueryResult
from knotwork.stores.base import Store
from knotwork.stores.property_graphs import OWN_GRAPH, RunsCypher

if TYPE_CHECKING:
    from knotwork.config import Settings
    from knotwork.indexing.graph_import import GraphImportReport, GraphImportStep
    from knotwork.inference.embedder import Embedder


class CypherMixin:
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


class GraphImportMixin:
    """Graphs of a domain: what files state comes in as passages, entities and relations."""

    store: Store
    settings: Settings

    if TYPE_CHECKING:

        @property
        def embedder(self) -> Embedder | None: ...

    def import_graph(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        format: str = "",  # noqa: A002
        name: str = "",
        columns: Sequence[str] = (),
        delimiter: str = "",
        vectors: bool | None = None,
    ) -> GraphImportReport:
        """Bring in the graph of these files or folders, and return what came.

        ``format`` is one of `knotwork.indexing.graph_import.FORMATS`, by default recognized from
        each file. ``name`` is what the graph is called, by default as its first path: it becomes
        the documents `graph:NAME`, which an import of the same name replaces and `delete` removes.
        ``columns`` name those of tables without a header, ``delimiter`` is what parts them.
        ``vectors`` tells whether passages get some, where there is an embedder, by default those of
        a graph of up to 2,000 things; names always do. Raises as `import_graph_steps`.
        """
        steps = self.import_graph_steps(
            paths,
            format=format,
            name=name,
            columns=columns,
            delimiter=delimiter,
            vectors=vectors,
        )
        *_, last = steps
        assert last.report is not None, "the last step has the report"
        return last.report

    def import_graph_steps(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        format: str = "",  # noqa: A002
        name: str = "",
        columns: Sequence[str] = (),
        delimiter: str = "",
        vectors: bool | None = None,
    ) -> Iterator[GraphImportStep]:
        """Do what `import_graph` does, and yield every step; the last one carries the report.

        Raises IndexingError for a path that does not exist and for what is no graph, UnknownName
        for an unknown format, MissingExtra without the library that reads it, SchemaMismatch when
        the index holds vectors of another embedder, StoreBusy, ModelError.
        """
        from knotwork.indexing.graph_import import ImportOptions, import_graph_steps

        named = [paths] if isinstance(paths, str | Path) else list(paths)
        yield from import_graph_steps(
            self.store,
            [Path(path).expanduser() for path in named],
            format=format,
            name=name,
            options=ImportOptions(tuple(columns), delimiter, vectors),
            embedding=Embedding(self.embedder, wanted=self.settings.embedding.model != NO_EMBEDDER),
        )
