"""Import a graph: spool its elements to disk, compose documents from its facts, and index these.

If the store can hold property graphs, the graph is also stored for Cypher.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from knotwork._cancellation import checked
from knotwork._extensions.graphs.graph_import.entity_names import is_iri, name_all, short_name
from knotwork._extensions.graphs.graph_import.fact_documents import compose_parts
from knotwork._extensions.graphs.graph_import.formats import (
    GraphSource,
    ImportOptions,
    ReadBytes,
    ReadFault,
    open_source,
)
from knotwork._extensions.graphs.graph_import.spool import Spool
from knotwork._extensions.graphs.imported_documents import (
    embed_batch,
    import_entries,
    remove_others,
)
from knotwork._graph.editable_graph import Graph
from knotwork._indexing.commit import Batch, commit_documents
from knotwork._indexing.embedding import (
    MOST_EMBEDDED_THINGS,
    NO_VECTORS,
    Embedding,
    check_embedder,
    check_not_switching,
)
from knotwork._run import Progress, Steps, Verb
from knotwork._stores.base import Store, require_property_graphs
from knotwork.errors import ConfigError, IndexingError
from knotwork.records import GRAPH_URI, PropertyNode, Relationship, content_id

MOST_EXAMPLES = 20
UNEMBEDDED_NOTE = (
    "The passages have no vectors, because embedding so many takes long. Full text and the graph"
    " find them. Import with --vectors to embed them."
)
_VERSION = "graph-1"
"""Version of the import; increase it if the same files would give another index."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """An invalid line of a file; with ``kept``, its valid part was imported."""

    file: str
    line: int
    reason: str
    text: str = ""
    kept: bool = False


@dataclass(frozen=True, slots=True)
class GraphImportReport:
    """The outcome of an import.

    ``formats`` maps file names to formats. ``things`` (entities), ``facts`` and distinct
    ``relations`` were read; ``loops`` of the facts relate an entity to itself and are in the text
    only. ``bad_lines`` counts the lines that were not fully read, by reason; ``examples`` are the
    first of them. ``documents`` and ``chunks`` were written, none if ``unchanged``.
    ``shared_names`` entities were renamed, because others share their name. ``removed`` are the
    documents of an earlier import that are no longer part of the graph.
    """

    name: str
    uri: str
    formats: Mapping[str, str]
    unchanged: bool = False
    things: int = 0
    facts: int = 0
    relations: int = 0
    loops: int = 0
    shared_names: int = 0
    documents: int = 0
    chunks: int = 0
    bad_lines: Mapping[str, int] = field(default_factory=dict)
    examples: tuple[BadLine, ...] = ()
    removed: tuple[str, ...] = ()
    property_graph: bool = False
    embedder: str = ""
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)


@Verb
def import_graph(
    store: Store,
    source: Graph | Sequence[Path],
    *,
    format: str = "",  # noqa: A002
    name: str = "",
    columns: Sequence[str] = (),
    delimiter: str = "",
    vectors: bool | None = None,
    embedding: Embedding | None = None,
) -> Steps[GraphImportReport]:
    """Import a graph, or files and folders as one graph, and return the report.

    ``name`` is the name of the graph, by default that of the first path. An earlier import of that
    name is replaced, or left unchanged if graph and options are the same. Raises UnknownName for an
    unknown format, IndexingError if no graph can be read, ConfigError for a graph in memory without
    a name, MissingExtra if a reader is not installed, MissingCapability if the store cannot hold
    imported graphs, SchemaMismatch if the index has vectors of another embedder, StoreBusy, and
    ModelError if the embedder fails.
    """
    embedding = embedding or Embedding()
    check_not_switching(store)
    check_embedder(store, embedding.name)
    opened = open_source(source, format=format)
    named = " ".join(name.replace("/", " ").split()) or opened.name
    if not named:
        raise ConfigError("A graph in memory has no name.", fix="Pass its `name`.")
    options = ImportOptions(tuple(columns), delimiter, vectors)
    run = _Import(store, opened, named, options, embedding)
    return (yield from run.steps())


class _Import:
    """State of one import."""

    def __init__(
        self,
        store: Store,
        source: GraphSource,
        name: str,
        options: ImportOptions,
        embedding: Embedding,
    ) -> None:
        self.store = store
        self.graphs = require_property_graphs(store)
        self.source = source
        self.name = name
        self.root = graph_root(name)
        self.options = options
        self.embedding = embedding
        self.bad: dict[str, int] = {}
        self.examples: list[BadLine] = []
        self.seconds: dict[str, float] = {}
        self.notes: list[str] = []
        self.begun = time.monotonic()

    def steps(self) -> Steps[GraphImportReport]:
        shaping = [_VERSION, self.embedding.identity, repr(self.options)]
        settings = content_id(*shaping, *self.source.digests())
        if self._is_current(settings) and self.name in self.graphs.names():
            return self._report(unchanged=True)
        with Spool() as spool:
            yield from self._read(spool)
            return (yield from self._write(spool, settings))

    def _is_current(self, settings: str) -> bool:
        """Return True if the index has exactly the documents of this graph.

        The settings of the last document include their number.
        """
        marks = [entry.settings for entry in import_entries(self.store, self.root)]
        last = f"{settings} {len(marks)}"
        return marks.count(last) == 1 and marks.count(settings) == len(marks) - 1

    def _read(self, spool: Spool) -> Iterator[Progress]:
        total = self.source.size
        for file, element in checked(self.source.read(self.options)):
            if isinstance(element, ReadBytes):
                yield Progress("read", min(element.count, total), total)
            elif isinstance(element, ReadFault):
                self._record_fault(file, element)
            else:
                spool.add(element)
        yield Progress("read", total, total)
        spool.finish_reading()
        if not spool.count("SELECT count(*) FROM entity"):
            raise self._empty_graph()
        self.seconds["read"] = self._lap()

    def _write(self, spool: Spool, settings: str) -> Steps[GraphImportReport]:
        finder = name_all(spool, self.name)
        self.seconds["name"] = self._lap()
        total = spool.count("SELECT count(*) FROM entity")
        wanted = self.options.vectors
        has_vectors = total <= MOST_EMBEDDED_THINGS if wanted is None else wanted
        if self.embedding and wanted is None and not has_vectors:
            self.notes.append(UNEMBEDDED_NOTE)
        key = self.embedding.chunk_key if has_vectors else lambda _: NO_VECTORS
        metadata = {"imported_from": self.source.origin}
        parts = compose_parts(spool, finder, name=self.name, root=self.root, metadata=metadata)
        uris: list[str] = []
        chunks = 0
        for part, following in pairwise(chain(parts, [None])):
            assert part is not None, "only the last item is None"
            uris.append(part.document.uri)
            is_last = following is None
            mark = f"{settings} {len(uris)}" if is_last else settings
            keys = tuple(map(key, part.chunks)) if self.embedding else ()
            batch = Batch()
            batch.add(replace(part, settings=mark, keys=keys))
            for done in embed_batch(self.store, batch, self.embedding):
                yield Progress("write", min(chunks + done, total), total)
            with self.store.transaction():
                self._commit(batch)
                if is_last:
                    removed = remove_others(self.store, self.root, uris)
                    self.graphs.put(self.name, _nodes(spool), _relationships(spool))
            chunks += batch.chunks
            yield Progress("write", min(chunks, total), total)
        self.seconds["write"] = self._lap()
        yield Progress("write", total, total)
        found = {question: spool.count(sql) for question, sql in _COUNTS.items()}
        return self._report(
            documents=len(uris), chunks=chunks, removed=removed, property_graph=True, **found
        )

    def _commit(self, batch: Batch) -> None:
        """Write a document, unless an interrupted run has already written it."""
        (prepared,) = batch.prepared
        entry = self.store.ledger.get([prepared.source.uri]).get(prepared.source.uri)
        is_written = entry is not None and (entry.revision, entry.settings, entry.error) == (
            prepared.document.revision,
            prepared.settings,
            "",
        )
        if not is_written:
            commit_documents(
                self.store, [prepared], vectors=batch.vectors, embedding=self.embedding
            )

    def _record_fault(self, file: str, fault: ReadFault) -> None:
        self.bad[fault.reason] = self.bad.get(fault.reason, 0) + 1
        if len(self.examples) < MOST_EXAMPLES:
            text = fault.text if len(fault.text) <= 80 else f"{fault.text[:79]}…"
            self.examples.append(BadLine(file, fault.line, fault.reason, text, fault.kept))

    def _empty_graph(self) -> IndexingError:
        why = ""
        if self.examples:
            first = self.examples[0]
            why = f" Line {first.line} of `{first.file}`: {first.reason}."
        return IndexingError(
            f"No entity or relation could be read from {self.source.shown}.{why}",
            fix="Set the --format, or the --columns of a table.",
        )

    def _report(self, **found: Any) -> GraphImportReport:  # noqa: ANN401 - fields of the report
        self.seconds["total"] = time.monotonic() - self.begun
        return GraphImportReport(
            self.name,
            self.root,
            self.source.formats,
            bad_lines=dict(sorted(self.bad.items(), key=lambda item: (-item[1], item[0]))),
            examples=tuple(self.examples),
            embedder=self.embedding.name,
            notes=tuple(self.notes),
            seconds=self.seconds,
            **found,
        )

    def _lap(self) -> float:
        """Return the seconds since the last stage ended."""
        return time.monotonic() - self.begun - sum(self.seconds.values())


_COUNTS = {
    "things": "SELECT count(*) FROM entity",
    "facts": "SELECT count(*) FROM fact",
    "relations": "SELECT count(*) FROM relation",
    "shared_names": "SELECT count(*) FROM entity WHERE plain != ''",
    "loops": "SELECT count(*) FROM fact f JOIN entity s ON s.id = f.source"
    " JOIN entity t ON t.id = f.target WHERE s.form = t.form",
}


def describe_graph_import(report: GraphImportReport) -> dict[str, Any]:
    """Return a report as JSON for the command line and the server."""
    seconds = {stage: round(seconds, 3) for stage, seconds in report.seconds.items()}
    return asdict(report) | {"seconds": seconds}


_RELATIONSHIP_ROWS = (
    "SELECT f.id, r.raw, f.source, f.target, f.properties FROM fact f"
    " JOIN relation r ON r.id = f.relation ORDER BY f.id"
)


def graph_root(name: str) -> str:
    """Return the root of a graph in the ledger, which is never inside a folder."""
    return f"{GRAPH_URI}{name}"


def _nodes(spool: Spool) -> Iterator[PropertyNode]:
    rows = spool.rows("SELECT id, key, name FROM entity ORDER BY id")
    for (entity, key, name), stated in spool.with_statements(rows):
        properties = stated.properties if stated else {}
        if stated is None or stated.names or not properties:
            properties.setdefault("name", name)  # one derived from an id is not added to others
        if is_iri(key):
            properties.setdefault("iri", key)
        yield PropertyNode(str(entity), tuple(stated.labels) if stated else (), properties)


def _relationships(spool: Spool) -> Iterator[Relationship]:
    for number, raw, source, target, packed in spool.rows(_RELATIONSHIP_ROWS):
        properties = json.loads(packed) if packed else {}
        kind = short_name(raw) if is_iri(raw) else raw
        yield Relationship(str(number), kind, str(source), str(target), properties)
