"""The graph of a knowledge base: run Cypher statements, and import existing graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from knotwork._indexing.embedding import Embedding
from knotwork._inference.model_registry import NO_EMBEDDER
from knotwork._stores.base import Store
from knotwork._stores.property_graphs import OWN_GRAPH, RunsCypher
from knotwork.errors import StoreError
from knotwork.records import PropertyValue, QueryResult

if TYPE_CHECKING:
    from knotwork._config import Settings
    from knotwork._indexing.graph_import import GraphImportReport, GraphImportStep
    from knotwork._inference.embedder import Embedder


class CypherMixin:
    """Read-only Cypher on the graph of the index and on imported graphs."""

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

        Pass parameters as a mapping or by name: ``kb.cypher("... {name: $n} ...", n="Ada")``.
        Nodes, relationships and paths are returned as mappings, times as strings. Raises
        QueryRefused for a statement that is not read-only, QuerySyntaxError, QueryTimeout after
        ``timeout_s`` seconds, UnknownName for an unknown graph, StoreError if the store cannot run
        Cypher.
        """
        if not isinstance(self.store, RunsCypher):
            raise StoreError(f"The store `{self.store.url}` cannot run Cypher.")
        given = {**(parameters or {}), **named}
        return self.store.cypher(
            statement, given, graph=graph, row_limit=row_limit, timeout_s=timeout_s
        )


class GraphImportMixin:
    """Import of existing graphs as passages, entities and relations of the index."""

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
        """Import the graph in these files or folders, and return the report.

        ``format`` is one of `knotwork._indexing.graph_import.FORMATS`, by default detected for each
        file. ``name`` is the name of the graph, by default that of its first path. Its documents
        are `graph:NAME`: an import of the same name replaces them, and `delete` removes them.
        ``columns`` are the names of columns of tables without a header, ``delimiter`` separates
        their cells. ``vectors``: whether to embed passages, by default if the graph has at most
        2,000 entities; names are always embedded if there is an embedder. Raises as
        `import_graph_steps`.
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
        """Yield each step of `import_graph`; the last one carries the report.

        Raises IndexingError for a path that does not exist or is not a graph, UnknownName for an
        unknown format, MissingExtra without the library that reads it, SchemaMismatch if the index
        has vectors of another embedder, StoreBusy while another process writes, ModelError if the
        embedder fails.
        """
        from knotwork._indexing.graph_import import ImportOptions, import_graph_steps

        named = [paths] if isinstance(paths, str | Path) else list(paths)
        yield from import_graph_steps(
            self.store,
            [Path(path).expanduser() for path in named],
            format=format,
            name=name,
            options=ImportOptions(tuple(columns), delimiter, vectors),
            embedding=Embedding(self.embedder, wanted=self.settings.embedding.model != NO_EMBEDDER),
        )
