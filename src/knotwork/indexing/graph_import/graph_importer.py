"""Import a graph: spool its files on disk, compose documents from its facts, index these.

The labelled property graph is stored too, if the store can answer Cypher on it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from knotwork.errors import IndexingError
from knotwork.indexing.commits import Batch, commit_documents, remove_sources
from knotwork.indexing.embedding import NO_VECTORS, Embedding, check_embedder, check_not_switching
from knotwork.indexing.graph_import.entity_names import is_iri, name_all, short_name
from knotwork.indexing.graph_import.fact_documents import GraphPart, compose_parts
from knotwork.indexing.graph_import.formats import (
    FORMATS,
    ImportOptions,
    ReadBytes,
    ReadFault,
    list_files,
)
from knotwork.indexing.graph_import.spool import Spool
from knotwork.indexing.prepared import Candidate, Prepared
from knotwork.indexing.report import EventKind
from knotwork.records import GRAPH_URI, Chunk, PropertyNode, PropertyValue, Relationship, content_id
from knotwork.stores.base import LedgerEntry, Store
from knotwork.stores.property_graphs import StoresPropertyGraphs

MOST_COMPLAINTS = 20
MOST_EMBEDDED_THINGS = 2_000
UNEMBEDDED_NOTE = (
    "The passages have no vectors, which would take long for so many: full text and the knowledge"
    " graph find them. Import with --vectors to give them some."
)
_VERSION = "graph-1"
"""Changes whenever the same files would make another index."""

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that could not be read; ``kept`` tells that what could be read of it came in."""

    file: str
    line: int
    reason: str
    text: str = ""
    kept: bool = False


@dataclass(frozen=True, slots=True)
class GraphImportReport:
    """The outcome of an import.

    ``formats`` are of the files, by their names. ``things``, ``facts`` and ``relations`` (distinct
    ones) were read, ``loops`` of the facts relate a thing to itself and are in the text alone.
    ``bad_lines`` counts the lines that could not be read, in full, by reason, and ``examples`` are
    the first of them. ``documents`` and ``chunks`` were written, none where ``unchanged``.
    ``shared_names`` things are called by more than their name, because others share it.
    ``removed`` are documents of an earlier import that this graph has no more.
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


@dataclass(frozen=True, slots=True)
class GraphImportStep:
    """How far an import is in a stage, "read" (bytes) or "write" (things told, of all); the last
    step carries the report.
    """

    stage: str
    done: int
    total: int
    report: GraphImportReport | None = None


def import_graph_steps(
    store: Store,
    paths: Sequence[Path],
    *,
    format: str = "",  # noqa: A002
    name: str = "",
    options: ImportOptions | None = None,
    embedding: Embedding | None = None,
) -> Iterator[GraphImportStep]:
    """Import the graph of these files and folders, as one, and yield every step.

    ``name`` is what it is called, by default as its first path; an earlier import of that name is
    replaced, and one of the same files left as it is. Raises UnknownName for an unknown format,
    IndexingError for what is no graph, MissingExtra without what reads it, SchemaMismatch when the
    index holds vectors of another embedder, StoreBusy, and ModelError when the embedder fails.
    """
    embedding = embedding or Embedding()
    check_not_switching(store)
    check_embedder(store, embedding.name)
    files = list_files(paths, format=format)
    made = _Import(store, files, _graph_name(paths, name), options or ImportOptions(), embedding)
    yield from made.steps()


class _Import:
    """One import on its way."""

    def __init__(
        self,
        store: Store,
        files: Sequence[tuple[Path, str]],
        name: str,
        options: ImportOptions,
        embedding: Embedding,
    ) -> None:
        self.store = store
        self.files = files
        self.name = name
        self.root = graph_root(name)
        self.options = options
        self.embedding = embedding
        self.bad: dict[str, int] = {}
        self.examples: list[BadLine] = []
        self.seconds: dict[str, float] = {}
        self.has_property_graph = False
        self.has_vectors = True
        self.notes: list[str] = []
        self.begun = time.monotonic()

    def steps(self) -> Iterator[GraphImportStep]:
        settings = self._fingerprint()
        if self._is_current(settings) and not lacks_property_graph(self.store, self.name):
            yield GraphImportStep("write", 0, 0, self._report(unchanged=True))
            return
        with Spool() as spool:
            yield from self._read(spool)
            yield from self._write(spool, settings)

    def _read(self, spool: Spool) -> Iterator[GraphImportStep]:
        total = sum(path.stat().st_size for path, _ in self.files)
        before = 0
        for path, found in self.files:
            for element in FORMATS[found].open()(path, self.options):
                if isinstance(element, ReadBytes):
                    yield GraphImportStep("read", min(before + element.count, total), total)
                elif isinstance(element, ReadFault):
                    self._complain(path, element)
                else:
                    spool.add(element)
            before += path.stat().st_size
        yield GraphImportStep("read", total, total)
        spool.finish_reading()
        if not spool.count("SELECT count(*) FROM thing"):
            raise self._nothing()
        self.seconds["read"] = self._lap()

    def _write(self, spool: Spool, settings: str) -> Iterator[GraphImportStep]:
        finder = name_all(spool, self.name)
        self.seconds["name"] = self._lap()
        total = spool.count("SELECT count(*) FROM thing")
        self._choose_vectors(total)
        metadata = {"imported_from": ", ".join(sorted({found for _, found in self.files}))}
        parts = compose_parts(spool, finder, name=self.name, metadata=metadata)
        uris: list[str] = []
        chunks = 0
        for part, following in pairwise(chain(parts, [None])):
            assert part is not None, "only the last one has none"
            uris.append(part.document.uri)
            is_last = following is None
            batch = self._prepare(part, f"{settings} {len(uris)}" if is_last else settings)
            missing = batch.recall(self.store, self.embedding)
            for done in batch.embed(missing, self.embedding):
                yield GraphImportStep("write", min(chunks + done, total), total)
            with self.store.transaction():
                self._commit(batch)
                if is_last:
                    removed = self._remove_others(uris)
                    self.has_property_graph = put_property_graph(self.store, spool, self.name)
            chunks += batch.chunks
            yield GraphImportStep("write", min(chunks, total), total)
        self.seconds["write"] = self._lap()
        report = self._report(spool, documents=len(uris), chunks=chunks, removed=removed)
        yield GraphImportStep("write", total, total, report)

    def _prepare(self, part: GraphPart, settings: str) -> Batch:
        document = part.document
        embedding = self.embedding
        prepared = Prepared(
            Candidate(document.uri, lambda: document, root=self.root, size=len(document.text)),
            document,
            (part.section,),
            part.chunks,
            part.extractions,
            settings=settings,
            keys=tuple(map(self._key, part.chunks)) if embedding else (),
        )
        batch = Batch()
        batch.add(prepared, EventKind.ADDED)
        return batch

    def _key(self, chunk: Chunk) -> str:
        return self.embedding.chunk_key(chunk) if self.has_vectors else NO_VECTORS

    def _choose_vectors(self, things: int) -> None:
        """Decide whether passages are embedded."""
        wanted = self.options.vectors
        self.has_vectors = things <= MOST_EMBEDDED_THINGS if wanted is None else wanted
        if self.embedding and wanted is None and not self.has_vectors:
            self.notes.append(UNEMBEDDED_NOTE)

    def _commit(self, batch: Batch) -> None:
        """Write a document, unless the index has it from a run that was broken off."""
        ((prepared, _),) = batch.prepared
        entry = self.store.ledger.get([prepared.source.uri]).get(prepared.source.uri)
        if entry is not None and (entry.revision, entry.settings, entry.error) == (
            prepared.document.revision,
            prepared.settings,
            "",
        ):
            return
        commit_documents(self.store, [prepared], vectors=batch.vectors, embedding=self.embedding)

    def _remove_others(self, uris: Sequence[str]) -> tuple[str, ...]:
        """Remove what is left of an earlier import of this name."""
        kept = set(uris)
        gone = [entry for entry in self._entries() if entry.uri not in kept]
        if gone:
            remove_sources(self.store, gone)
        return tuple(entry.uri for entry in gone)

    def _entries(self) -> list[LedgerEntry]:
        return [entry for entry in self.store.ledger.entries() if entry.root == self.root]

    def _is_current(self, settings: str) -> bool:
        """Tell whether the index holds all of just this graph: the last document tells of how
        many there are.
        """
        entries = self._entries()
        last = f"{settings} {len(entries)}"
        marks = [entry.settings for entry in entries]
        return marks.count(last) == 1 and marks.count(settings) == len(entries) - 1

    def _fingerprint(self) -> str:
        """Return what tells these files, read and indexed so, from others."""
        told = [_VERSION, self.embedding.identity, repr(self.options)]
        for path, found in self.files:
            digest = blake2b(digest_size=16)
            with path.open("rb") as file:
                while block := file.read(_BLOCK_BYTES):
                    digest.update(block)
            told += [path.name, found, digest.hexdigest()]
        return content_id(*told)

    def _complain(self, path: Path, complaint: ReadFault) -> None:
        self.bad[complaint.reason] = self.bad.get(complaint.reason, 0) + 1
        if len(self.examples) < MOST_COMPLAINTS:
            text = complaint.text if len(complaint.text) <= 80 else f"{complaint.text[:79]}…"
            self.examples.append(
                BadLine(path.name, complaint.line, complaint.reason, text, complaint.kept)
            )

    def _nothing(self) -> IndexingError:
        files = ", ".join(f"`{path}`" for path, _ in self.files[:3])
        why = ""
        if self.examples:
            first = self.examples[0]
            why = f" Line {first.line} of `{first.file}`: {first.reason}."
        return IndexingError(
            f"{files} holds no fact and no thing that could be read.{why}",
            fix="Name the --format, or the --columns of a table.",
        )

    def _report(
        self,
        spool: Spool | None = None,
        *,
        unchanged: bool = False,
        documents: int = 0,
        chunks: int = 0,
        removed: tuple[str, ...] = (),
    ) -> GraphImportReport:
        self.seconds["total"] = time.monotonic() - self.begun
        report = GraphImportReport(
            self.name,
            self.root,
            {path.name: found for path, found in self.files},
            unchanged,
            documents=documents,
            chunks=chunks,
            bad_lines=dict(sorted(self.bad.items(), key=lambda item: (-item[1], item[0]))),
            examples=tuple(self.examples),
            removed=removed,
            property_graph=self.has_property_graph,
            embedder=self.embedding.name,
            notes=tuple(self.notes),
            seconds=self.seconds,
        )
        return replace(report, **_counts(spool)) if spool else report

    def _lap(self) -> float:
        return time.monotonic() - self.begun - sum(self.seconds.values())


def _counts(spool: Spool) -> dict[str, Any]:
    return {
        "things": spool.count("SELECT count(*) FROM thing"),
        "facts": spool.count("SELECT count(*) FROM fact"),
        "relations": spool.count("SELECT count(*) FROM relation"),
        "shared_names": spool.count("SELECT count(*) FROM thing WHERE plain != ''"),
        "loops": spool.count(
            "SELECT count(*) FROM fact f JOIN thing s ON s.id = f.source"
            " JOIN thing t ON t.id = f.target WHERE s.form = t.form"
        ),
    }


def _graph_name(paths: Sequence[Path], name: str) -> str:
    """Return what a graph is called: a given name, or that of its first path."""
    given = " ".join(name.replace("/", " ").split())
    if given or not paths:
        return given
    path = paths[0].absolute()
    return " ".join((path.name if path.is_dir() else path.stem).split()) or "graph"


def describe_graph_import(report: GraphImportReport) -> dict[str, Any]:
    """Return an import of a graph as JSON shows it, of the command line and of the server."""
    return {
        "name": report.name,
        "uri": report.uri,
        "formats": dict(report.formats),
        "unchanged": report.unchanged,
        "things": report.things,
        "facts": report.facts,
        "relations": report.relations,
        "loops": report.loops,
        "shared_names": report.shared_names,
        "documents": report.documents,
        "chunks": report.chunks,
        "bad_lines": dict(report.bad_lines),
        "examples": [
            {
                "file": bad.file,
                "line": bad.line,
                "reason": bad.reason,
                "text": bad.text,
                "kept": bad.kept,
            }
            for bad in report.examples
        ],
        "removed": list(report.removed),
        "property_graph": report.property_graph,
        "embedder": report.embedder,
        "notes": list(report.notes),
        "seconds": {stage: round(seconds, 3) for stage, seconds in report.seconds.items()},
    }


"""What the roots of graphs begin with in the ledger: no folder, so that none covers them."""

_RELATIONSHIP_ROWS = (
    "SELECT f.id, r.raw, f.source, f.target, f.properties FROM fact f"
    " JOIN relation r ON r.id = f.relation ORDER BY f.id"
)


def graph_root(name: str) -> str:
    """Return what the ledger calls the root of a graph."""
    return f"{GRAPH_URI}{name}"


def put_property_graph(store: Store, spool: Spool, name: str) -> bool:
    """Put a graph with its labels, types and properties under its name; False where the store
    cannot hold one.
    """
    if not isinstance(store, StoresPropertyGraphs):
        return False
    store.property_graphs.put(name, _nodes(spool), _relationships(spool))
    return True


def lacks_property_graph(store: Store, name: str) -> bool:
    """Tell whether a graph should be there and is not."""
    return isinstance(store, StoresPropertyGraphs) and name not in store.property_graphs.names()


def remove_property_graphs(store: Store, entries: Iterable[LedgerEntry]) -> None:
    """Remove the graphs of removed documents of which no document is left."""
    roots = {entry.root for entry in entries if entry.root.startswith(GRAPH_URI)}
    if roots and isinstance(store, StoresPropertyGraphs):
        left = {entry.root for entry in store.ledger.entries()}
        for root in sorted(roots - left):
            store.property_graphs.remove(root.removeprefix(GRAPH_URI))


def _nodes(spool: Spool) -> Iterator[PropertyNode]:
    said_of = spool.said()
    number, said = next(said_of, (-1, None))
    for thing, key, name in spool.rows("SELECT id, key, name FROM thing ORDER BY id"):
        labels: tuple[str, ...] = ()
        properties: dict[str, PropertyValue] = {}
        named = True
        if said is not None and number == thing:
            labels, properties = tuple(said.labels), said.properties
            named = bool(said.names) or not properties
            number, said = next(said_of, (-1, None))
        if named:  # a name that was made of an id is no property of what has properties
            properties.setdefault("name", name)
        if is_iri(key):
            properties.setdefault("iri", key)
        yield PropertyNode(str(thing), labels, properties)


def _relationships(spool: Spool) -> Iterator[Relationship]:
    for number, raw, source, target, packed in spool.rows(_RELATIONSHIP_ROWS):
        properties = json.loads(packed) if packed else {}
        kind = short_name(raw) if is_iri(raw) else raw
        yield Relationship(str(number), kind, str(source), str(target), properties)
