"""The knowledge graph of an index: Cypher, walks from names, and import of existing graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knotwork._config import Settings
from knotwork._indexing.embedding import Embedding
from knotwork._inference.model_registry import NO_EMBEDDER
from knotwork._run import Steps, Verb
from knotwork._stores.base import Store, require_cypher
from knotwork._stores.capabilities import OWN_GRAPH
from knotwork._stores.corrections import SHOW
from knotwork._stores.links import linked_documents, links_to, resolve_links
from knotwork._synthesis.ask_request import LocalModels
from knotwork.errors import UnknownName
from knotwork.records import (
    Conflict,
    Direction,
    DocumentLink,
    GraphPath,
    PropertyValue,
    QueryResult,
    Subgraph,
    content_id,
)

if TYPE_CHECKING:
    from knotwork._extensions.graphs.corrections import Corrections, RecordedCorrection
    from knotwork._extensions.graphs.editable_graph import Graph
    from knotwork._extensions.graphs.graph_import.graph_importer import GraphImportReport
    from knotwork._extensions.graphs.servers.mirror import MirrorReport
    from knotwork._extensions.graphs.servers.served_graphs import GraphConnection, ServedGraphs
    from knotwork._retrieval.entity_lookup import Dossier


class KnowledgeGraph:
    """The graph of the index, and the graphs imported into it; `KnowledgeBase.graph`.

    All methods that take names raise UnknownName, with the nearest names, for a name without an
    entity.
    """

    def __init__(
        self, store: Store, settings: Settings, models: LocalModels, served: ServedGraphs
    ) -> None:
        self._store = store
        self._settings = settings
        self._models = models
        self._served = served

    def cypher(
        self,
        /,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        graph: str = OWN_GRAPH,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
        **named: PropertyValue,
    ) -> QueryResult:
        """Run a read-only openCypher statement and return its rows, at most ``row_limit``.

        Pass parameters as a mapping or by name: ``cypher("... {name: $n} ...", n="Ada")``.
        Nodes, relationships and paths are returned as mappings, times as strings. Raises
        QueryRefused for a statement that is not read-only, QuerySyntaxError, QueryTimeout after
        ``timeout_s`` seconds, UnknownName for an unknown graph, MissingCapability if the store
        cannot run Cypher.

        ``graph`` is an imported graph or a live one (`connect`). With `graph.cypher` = "mirror",
        the graph of the index is read from its mirror; MirrorOutdated if it is not up to date. A
        server that fails raises GraphServerError.
        """
        run = require_cypher(self._store)
        given = {**(parameters or {}), **named}
        return run(statement, given, graph=graph, row_limit=row_limit, timeout_s=timeout_s)

    def explore(
        self,
        names: str | Sequence[str],
        *,
        direction: Direction = "both",
        depth: int = 2,
        fan: int | None = 8,
        limit: int | None = 50,
    ) -> Subgraph:
        """Walk the graph breadth first from entities, and return what was reached.

        The walk is at most ``depth`` hops long and ends after ``limit`` edges. Each node adds at
        most ``fan`` neighbours, the strongest first; None is no limit. With `graph.cypher` =
        "mirror" it walks the mirror, with the same result.
        """
        from knotwork._retrieval.entity_lookup import resolve_names

        seeds = resolve_names(self._store, [names] if isinstance(names, str) else names)
        if self._served.uses_mirror:
            return self._served.explore(
                seeds, direction=direction, depth=depth, fan=fan, limit=limit
            )
        return self._store.graph.explore(
            seeds, direction=direction, depth=depth, fan=fan, limit=limit
        )

    def describe(
        self, names: str | Sequence[str], *, passages: int = 3, relations: int = 8, nearby: int = 8
    ) -> list[Dossier]:
        """Return a dossier on each of these entities: aliases, description, relations, communities,
        passages, and the other entities that these passages mention.
        """
        from knotwork._retrieval.entity_lookup import read_dossier, resolve_names

        given = [names] if isinstance(names, str) else names
        found = dict.fromkeys(resolve_names(self._store, [name])[0] for name in given)
        read = (
            read_dossier(self._store, key, relations=relations, passages=passages, nearby=nearby)
            for key in found
        )
        return [dossier for dossier in read if dossier is not None]

    def links(self, uri: str, *, direction: Direction = "both") -> list[DocumentLink]:
        """Return the links that a document has (``direction`` "out") and that lead to it ("in").

        Links of the document come first, in the order of its text, then those of other documents.
        Raises UnknownName if the index has no document ``uri``.
        """
        key = content_id("document", uri)
        document = self._store.documents.documents([key]).get(key)
        if document is None:
            known = [entry.uri for entry in self._store.ledger.entries()]
            near = get_close_matches(uri, known, cutoff=0)
            raise UnknownName("document", uri, nearest=near, place=" in this index")
        out = resolve_links(self._store, [document]) if direction != "in" else []
        return out + (links_to(self._store, document) if direction != "out" else [])

    def dead_links(self) -> list[DocumentLink]:
        """Return the links that lead to no document of the index, by their documents' uris.

        Web addresses and identifiers such as a DOI may be outside of the index.
        """
        dead = linked_documents(self._store).dead
        ids = {identifier for sources in dead.values() for identifier in sources}
        sources = self._store.documents.documents(sorted(ids)).values()
        resolved = resolve_links(self._store, sorted(sources, key=lambda source: source.uri))
        return [link for link in resolved if link.target in dead and not link.document]

    def conflicts(self) -> list[Conflict]:
        """Return the claims of documents that give different values for one thing.

        Sentences are compared whose words agree but for a number, a date or a name; claims about
        different periods do not disagree. No model is called.
        """
        from knotwork._synthesis.conflicts import find_conflicts

        return find_conflicts(self._store)

    def shortest_paths(self, one: str, other: str, *, limit: int = 5) -> list[GraphPath]:
        """Return the shortest paths between two entities, those over stated relations first, each
        hop with the chunk that states it.

        The list is empty if both names mean one entity, or if they are more than five hops apart.
        """
        from knotwork._retrieval.entity_lookup import resolve_names
        from knotwork._retrieval.graph_paths import find_shortest_paths

        ends = (resolve_names(self._store, [name]) for name in (one, other))
        return find_shortest_paths(self._store, *ends, limit=limit)

    def correct(
        self,
        kind: str,
        entity: str,
        *,
        other: str = "",
        relation: str = "",
        name: str = "",
        type: str = "",  # noqa: A002
        documents: Sequence[str] = (),
        author: str = "",
    ) -> RecordedCorrection:
        """Correct the graph by hand, and return the correction; `undo` reverts it.

        ``entity`` and ``other`` are names or ids. ``kind`` is "rename" (with ``name``), "retype"
        (``type``), "merge" or "split" (``other``), "divide" (``name``: what ``documents``, by their
        uris, mean by the entity; it keeps those that an earlier one names), "hide", "pin",
        "add_relation" or "remove_relation" (``relation`` and ``other``); "show" undoes a "hide". A
        correction stays in effect whatever is indexed or deleted. One that is in effect is not
        recorded again. ``author`` is "local" by default.

        Raises UnknownName for an unknown kind, entity or relation, ConfigError if a correction
        lacks something or says what is so, SchemaMismatch, StoreReadOnly, StoreBusy.
        """
        corrections = self._corrections()
        if kind == SHOW:
            return corrections.show(entity)
        said = {"other": other, "relation": relation, "name": name, "type": type}
        return corrections.record(
            corrections.make(kind, entity, **said, documents=documents, author=author)
        )

    def corrections(self) -> list[RecordedCorrection]:
        """Return the corrections of the graph, the oldest first."""
        return self._corrections().listed()

    def undo(self, correction: str) -> RecordedCorrection:
        """Remove a correction, given by its id, and return it; the graph is as without it.

        Raises UnknownName.
        """
        return self._corrections().undo(correction)

    def import_corrections(self, lines: Iterable[str]) -> list[RecordedCorrection]:
        """Record the corrections of another index, from lines of `knotwork graph corrections`.

        What the documents of this index do not mention is recorded too, and applies once they do.
        Raises ConfigError for a line that is not a correction, before anything is recorded.
        """
        from knotwork._extensions.graphs.corrections import parse_corrections

        corrections = self._corrections()
        return [corrections.record(found) for found in parse_corrections(lines)]

    def _corrections(self) -> Corrections:
        from knotwork._extensions.graphs.corrections import Corrections

        wanted = self._settings.embedding.model != NO_EMBEDDER
        return Corrections(self._store, Embedding(self._models.embedder, wanted=wanted))

    def query(
        self,
        graph: str,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
    ) -> QueryResult:
        """Run a statement on a live graph in its language, Cypher or SPARQL, and return its rows.

        It can only read: what is more than a query is refused before it is sent. Raises as
        `cypher`; UnknownName for a graph that the index is not connected to.
        """
        return self._served.query(
            graph, statement, parameters, row_limit=row_limit, timeout_s=timeout_s
        )

    def connect(self, url: str, *, name: str, password_env: str = "") -> GraphConnection:
        """Connect to a live graph by its URL, which is only read, and remember it with the index.

        ``url`` is ``bolt://USER@HOST:7687/DATABASE`` (also ``bolt+s``, ``neo4j``, …), extra `bolt`,
        or ``sparql+http://HOST/PATH``, extra `rdf`. The password is in the environment variable
        ``password_env``, by default NAME_PASSWORD; one in the URL is used until the index is
        closed, and stored nowhere.

        Raises ConfigError for an invalid URL or name, MissingExtra, GraphServerError if the server
        does not answer, StoreReadOnly.
        """
        return self._served.connect(url, name, password_env=password_env)

    def disconnect(self, name: str) -> None:
        """Forget a live graph. Raises UnknownName."""
        self._served.disconnect(name)

    def connections(self) -> list[GraphConnection]:
        """Return the live graphs that the index is connected to, by name."""
        return self._served.connections()

    @Verb
    def mirror(self, *, full: bool = False) -> Steps[MirrorReport]:
        """Write what changed to the mirror of the graph (`graph.mirror`), and return the report.

        A mirror whose stamp is that of the index is left as it is, unless ``full`` compares it all
        the same. After an error or a kill the same call continues. Raises ConfigError without a
        mirror, MissingExtra, GraphServerError if the server fails or its database holds anything
        else, StoreBusy if the index keeps changing, StoreReadOnly for the first mirror of an index
        that was opened for reading.
        """
        return (yield from self._served.mirror().update(full=full))

    @Verb
    def verify_mirror(self) -> Steps[MirrorReport]:
        """Compare the mirror with the index, item by item, and return the report.

        Nothing is written. Raises as `mirror`.
        """
        return (yield from self._served.mirror().verify())

    @Verb
    def import_files(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        format: str = "",  # noqa: A002
        name: str = "",
        columns: Sequence[str] = (),
        delimiter: str = "",
        vectors: bool | None = None,
    ) -> Steps[GraphImportReport]:
        """Import the graph in these files or folders, and return the report.

        ``format`` is one of those of `knotwork graph import`, by default detected for each file.
        ``name`` is the name of the graph, by default that of its first path. Its documents are
        `graph:NAME`: an import of the same name replaces them, and `KnowledgeBase.delete` removes
        them. ``columns`` are the names of columns of tables without a header, ``delimiter``
        separates their cells. ``vectors``: whether to embed passages, by default if the graph has
        at most 2,000 entities; names are always embedded if there is an embedder.

        Raises IndexingError for a path that does not exist or is not a graph, UnknownName for an
        unknown format, MissingExtra without the library that reads it, SchemaMismatch if the index
        has vectors of another embedder, StoreBusy while another process writes, ModelError if the
        embedder fails.
        """
        return (
            yield from self._import(
                _paths(paths),
                format=format,
                name=name,
                columns=columns,
                delimiter=delimiter,
                vectors=vectors,
            )
        )

    @Verb
    def import_graph(
        self,
        graph: Graph | str | Path | Sequence[str | Path],
        *,
        name: str = "",
        vectors: bool | None = None,
    ) -> Steps[GraphImportReport]:
        """Import a graph that was built in memory, and return the report.

        Paths are imported as by `import_files`, and ``vectors`` is that of it. A graph in memory
        needs a ``name``. Raises IndexingError for a graph without entities, ConfigError for an
        empty name, MissingCapability if the store cannot hold imported graphs, SchemaMismatch if
        the index has vectors of another embedder, StoreBusy while another process writes,
        ModelError if the embedder fails.
        """
        from knotwork._extensions.graphs.editable_graph import Graph

        source = graph if isinstance(graph, Graph) else _paths(graph)
        return (yield from self._import(source, name=name, vectors=vectors))

    def _import(
        self,
        source: Graph | Sequence[Path],
        **options: Any,  # noqa: ANN401 - those of `import_graph`
    ) -> Steps[GraphImportReport]:
        from knotwork._extensions.graphs.graph_import.graph_importer import import_graph

        wanted = self._settings.embedding.model != NO_EMBEDDER
        embedding = Embedding(self._models.embedder, wanted=wanted)
        return (yield from import_graph.run(self._store, source, embedding=embedding, **options))


def _paths(given: str | Path | Sequence[str | Path]) -> list[Path]:
    named = [given] if isinstance(given, str | Path) else given
    return [Path(path).expanduser() for path in named]
