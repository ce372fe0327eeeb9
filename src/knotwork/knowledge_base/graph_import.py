"""The part of a knowledge base that brings in graphs which others made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from knotwork.indexing.embedding import Embedding
from knotwork.inference.registry import NO_EMBEDDER

if TYPE_CHECKING:
    from knotwork.config import Settings
    from knotwork.indexing.domain import GraphImportReport, GraphImportStep
    from knotwork.inference.base import Embedder
    from knotwork.stores.base import Store


class GraphImporting:
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

        ``format`` is told from each file when it is empty; `knotwork.indexing.domain.FORMATS` are
        the names. ``name`` is what the graph is called, by default as its first path: it becomes
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
        from knotwork.indexing.domain import ImportOptions, import_graph_steps

        named = [paths] if isinstance(paths, str | Path) else list(paths)
        yield from import_graph_steps(
            self.store,
            [Path(path).expanduser() for path in named],
            format=format,
            name=name,
            options=ImportOptions(tuple(columns), delimiter, vectors),
            embedding=Embedding(self.embedder, wanted=self.settings.embedding.model != NO_EMBEDDER),
        )
