"""Embed an index with another model, without reading its documents again.

The new vectors are written to staged indexes beside those in use, chunks in batches, each with its
sentences, entities and questions in one transaction. The index is searched by its old vectors until
all new ones are there; one transaction then replaces the old ones. A run that was stopped goes on
where it stopped, because what is staged is not embedded again.

An index that already has vectors of the model gets only those that it lacks, in place.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from knotwork.errors import IndexingError, StoreBusy, StoreError
from knotwork.indexing.communities.publishing import put_vectors_in_steps
from knotwork.indexing.communities.survey import staying_current
from knotwork.indexing.domain.importing import MOST_EMBEDDED_THINGS
from knotwork.indexing.embedding import (
    DIMENSION_META,
    EMBEDDER_META,
    INTO_META,
    LANGUAGES_META,
    UNREAD_NOTE,
    Embedding,
    stamp_embedder,
    stored_embedder,
)
from knotwork.indexing.questions import QUESTIONS
from knotwork.indexing.reembedded_batch import VectorBatch, find_questions
from knotwork.indexing.resolution.resolving import RULES_META
from knotwork.indexing.tiers import with_fingerprint
from knotwork.records import EXTRACTIVE_SOURCE, GRAPH_URI, Chunk
from knotwork.stores.base import ReplacesVectors, Store
from knotwork.stores.communities import StoresCommunities
from knotwork.stores.staging import VECTOR_INDEXES, staged_name

BATCH_CHUNKS = 256
"""Chunks of a transaction: a killed run loses at most the embedding of these."""

LOST_QUESTIONS_NOTE = (
    "The questions of {count:,} chunks were written by a model and have no vectors any more, since "
    "an earlier version did not store their text: full text still finds them. Index the documents "
    "again to have them embedded."
)

_ENTRIES = 1_000


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """The outcome of embedding an index.

    ``previous`` is the embedder of the vectors before, empty if there were none. ``vectors`` counts
    the ids with vectors by index, ``without_vectors`` the chunks that have none. ``embedded`` texts
    went through the model in this run; ``done`` of ``chunks`` were looked at.
    """

    embedder: str
    previous: str
    dimension: int
    chunks: int
    done: int = 0
    without_vectors: int = 0
    vectors: Mapping[str, int] = field(default_factory=dict)
    embedded: int = 0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in self.vectors.items())
        return "\n".join([f"Embedder: {self.embedder}.", f"Vectors: {counts}.", *self.notes])


@dataclass(frozen=True, slots=True)
class EmbedEvent:
    """A step: ``done`` of ``total`` "chunks" or "reports". The last event has the report."""

    stage: str
    done: int
    total: int
    report: EmbedReport | None = None


class EmbeddingInterrupted(KeyboardInterrupt):
    """The user stopped a run. The same call continues; see `IndexingInterrupted`."""

    def __init__(self, report: EmbedReport) -> None:
        super().__init__(
            f"Interrupted after {report.done:,} of {report.chunks:,} chunks, which are kept. Run "
            "the same command again to continue."
        )
        self.report = report


class Reembedding:
    """One run that embeds an index.

    ``fingerprints`` maps `Embedding.identity` of an embedder to the fingerprint that the ledger
    stores for documents indexed with it, at least for `identities`. With it the ledger says that
    documents were indexed with the new embedder, so that the next `index` does not read them again.
    """

    def __init__(
        self,
        store: Store,
        embedding: Embedding,
        *,
        fingerprints: Mapping[str, str] | None = None,
        batch_chunks: int | None = None,
    ) -> None:
        self._store = store
        self._embedding = embedding
        self._fingerprints = fingerprints or {}
        self._batch_chunks = batch_chunks or BATCH_CHUNKS
        self._previous = stored_embedder(store)
        self._staged = self._previous != embedding.name
        self._started_s = time.monotonic()
        self._dimension = 0
        self._total = 0
        self._done = 0
        self._questions_known = 0

    def run(self) -> Iterator[EmbedEvent]:
        """Embed what is missing, finish the switch, and yield every step.

        Raises IndexingError for an index without documents, StoreReadOnly, StoreBusy, ModelError
        if the embedder fails, EmbeddingInterrupted (a KeyboardInterrupt) on Ctrl-C. The finished
        batches are kept.
        """
        try:
            self._begin()
            yield EmbedEvent("chunks", 0, self._total)
            yield from self._embed_documents()
            yield from self._embed_reports()
            self._finish()
        except KeyboardInterrupt:
            raise EmbeddingInterrupted(replace(self._report(), interrupted=True)) from None
        yield EmbedEvent("chunks", self._done, self._total, self._report(finished=True))

    def _begin(self) -> None:
        """Load the model, then mark the switch; drop what is staged for another model."""
        self._total = self._store.documents.chunk_count()
        if not self._total:
            raise IndexingError(
                f"The index `{self._store.url}` has no documents to embed.",
                fix="Index some first: knotwork index FOLDER",
            )
        power = _require_replacing(self._store)
        self._dimension = int(self._embedding.dimension)  # loads the model, or raises
        into = self._embedding.name if self._staged else ""
        with self._store.transaction():
            if not into or self._store.meta().get(INTO_META) != into:
                for name in VECTOR_INDEXES:
                    power.clear_vectors(staged_name(name))
            if self._store.meta().get(INTO_META, "") != into:
                self._store.set_meta({INTO_META: into})

    def _name(self, name: str) -> str:
        return staged_name(name) if self._staged else name

    def _embed_documents(self) -> Iterator[EmbedEvent]:
        """Embed all chunks in batches of the same borders in every run."""
        has_questions = self._store.texts(QUESTIONS).count() > 0
        for leaves, bare in self._batches():
            batch = VectorBatch(self._store, self._embedding, self._name)
            batch.find_chunks(leaves, bare)
            present = len(leaves) - len(batch.missing)
            for embedded in batch.embed():
                yield EmbedEvent("chunks", self._done + present + embedded, self._total)
            batch.embed_entities()
            if has_questions:
                known = find_questions(self._store, leaves)
                self._questions_known += len(known)
                batch.embed_questions(known)
            if batch.has_news:
                with self._store.transaction():
                    self._check_mark()
                    batch.put()
            self._done += len(leaves)
            yield EmbedEvent("chunks", min(self._done, self._total), self._total)

    def _batches(self) -> Iterator[tuple[list[Chunk], set[str]]]:
        """Yield chunks, document by document, and the ids of those to leave without vectors."""
        graphs = _unembedded_graphs(self._store, has_vectors=bool(self._previous))
        ids: list[str] = []
        bare: set[str] = set()
        for document_id in self._store.documents.document_ids():
            found = self._store.documents.chunk_ids(document_id)
            if document_id in graphs:
                bare.update(found)
            ids += found
            while len(ids) >= self._batch_chunks:
                taken, ids = ids[: self._batch_chunks], ids[self._batch_chunks :]
                yield self._leaves(taken), bare.intersection(taken)
                bare.difference_update(taken)
        if ids:
            yield self._leaves(ids), bare

    def _leaves(self, ids: Sequence[str]) -> list[Chunk]:
        chunks = self._store.documents.chunks(ids)
        return [chunks[i] for i in ids if i in chunks and not chunks[i].is_parent]

    def _embed_reports(self) -> Iterator[EmbedEvent]:
        """Embed community reports, if the index has vectors of reports, or reports by a model."""
        if not isinstance(self._store, StoresCommunities):
            return
        held = self._store.communities
        ids = sorted(key for level in held.levels() for key in level)
        if not self._store.vectors("report").count() and not _has_written(self._store, ids):
            return
        for done in put_vectors_in_steps(
            self._store, ids, self._embedding, name=self._name("report")
        ):
            yield EmbedEvent("reports", done, len(ids))

    def _finish(self) -> None:
        """Put the new vectors in use, and say so in the settings and the ledger of the index."""
        store, languages = self._store, " ".join(sorted(self._embedding.languages))
        with store.transaction():
            self._check_mark()
            self._update_ledger()
            if self._staged:
                power = _require_replacing(store)
                for name in VECTOR_INDEXES:
                    power.replace_vectors(name, staged_name(name))
                values = {
                    EMBEDDER_META: self._embedding.name,
                    DIMENSION_META: str(self._dimension),
                    INTO_META: "",
                }
                if languages or LANGUAGES_META in store.meta():
                    values[LANGUAGES_META] = languages
                if store.meta().get(RULES_META):
                    values[RULES_META] = ""  # similar names have to be looked for again
                store.set_meta(values)
            else:
                stamp_embedder(store, self._embedding)

    def _update_ledger(self) -> None:
        """Let the ledger say that documents of other vectors, or none, have these now."""
        new = self._fingerprints.get(self._embedding.identity, "")
        old = [mark for mark in self._fingerprints.values() if mark != new]
        if not new or not old:
            return
        store = self._store
        with staying_current(store):
            changed = []
            for entry in store.ledger.entries():
                settings = entry.settings
                for mark in old:
                    settings = with_fingerprint(settings, mark, new)
                if settings != entry.settings:
                    changed.append(replace(entry, settings=settings))
            for start in range(0, len(changed), _ENTRIES):
                store.ledger.put(changed[start : start + _ENTRIES])

    def _check_mark(self) -> None:
        """Raise StoreBusy if another process has finished this switch, or begun another."""
        into = self._embedding.name if self._staged else ""
        if self._store.meta().get(INTO_META, "") == into:
            return
        raise StoreBusy(
            f"Another process is embedding the index `{self._store.url}`, or has just finished.",
            fix="Wait until it is done, then run this again if it is still needed.",
        )

    def _report(self, *, finished: bool = False) -> EmbedReport:
        store, embedding = self._store, self._embedding
        names = VECTOR_INDEXES if finished else [self._name(name) for name in VECTOR_INDEXES]
        vectors = [store.vectors(name).count() for name in names]
        report = EmbedReport(
            embedding.name,
            self._previous,
            self._dimension,
            self._total,
            self._done,
            self._total - vectors[0],
            dict(zip(VECTOR_INDEXES, vectors, strict=True)),
            embedding.embedded,
            time.monotonic() - self._started_s,
        )
        return replace(report, notes=tuple(self._notes(report))) if finished else report

    def _notes(self, report: EmbedReport) -> Iterator[str]:
        if report.without_vectors and self._embedding.languages:
            yield UNREAD_NOTE.format(
                count=report.without_vectors, chunks=report.chunks, embedder=report.embedder
            )
        lost = self._store.texts(QUESTIONS).count() - self._questions_known
        if self._staged and lost > 0:
            yield LOST_QUESTIONS_NOTE.format(count=lost)


def identities(store: Store, embedding: Embedding) -> set[str]:
    """Return the identities of all embedders that documents of an index may be indexed with."""
    meta = store.meta()
    languages = sorted(meta.get(LANGUAGES_META, "").split())
    stored = " ".join([meta.get(EMBEDDER_META, ""), *languages])
    return {Embedding().identity, stored, embedding.identity}


def _unembedded_graphs(store: Store, *, has_vectors: bool) -> set[str]:
    """Return the documents of imported graphs whose passages were left without vectors.

    In an index without vectors these are the graphs that are too big to be embedded by default.
    """
    entries = [entry for entry in store.ledger.entries() if entry.root.startswith(GRAPH_URI)]
    sizes = Counter[str]()
    for entry in entries:
        sizes[entry.root] += entry.chunks
    found = set()
    for entry in entries:
        if has_vectors:
            ids = store.documents.chunk_ids(entry.document_id)
            if not store.vectors("chunk").get(ids):
                found.add(entry.document_id)
        elif sizes[entry.root] > MOST_EMBEDDED_THINGS:
            found.add(entry.document_id)
    return found


def _has_written(store: StoresCommunities, ids: Sequence[str]) -> bool:
    """Return True if a model wrote any of the reports."""
    for start in range(0, len(ids), _ENTRIES):
        reports = store.communities.reports(ids[start : start + _ENTRIES])
        if any(report.source != EXTRACTIVE_SOURCE for report in reports.values()):
            return True
    return False


def _require_replacing(store: Store) -> ReplacesVectors:
    if isinstance(store, ReplacesVectors):
        return store
    raise StoreError(
        f"The store `{store.url}` cannot replace its vectors.",
        fix="Give it the shape of `ReplacesVectors`, or build the index again.",
    )
