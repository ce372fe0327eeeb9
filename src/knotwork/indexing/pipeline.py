"""The way of a document into the index: load, split, extract, read by a model, embed, store.

Documents are gathered into batches of about ``BATCH_CHUNKS`` chunks, or ``EMBEDDED_BATCH_CHUNKS``
where a model embeds them, that are committed in one transaction; a document is never split over
two. Whatever stops a run, the index is as after its last commit, and the next run goes on from
there, because the ledger commits with the documents. The result depends on the documents alone, not
on the batches or their order.

The stages take turns in one thread: a local model keeps all cores busy anyway, so that reading
ahead beside it could save a tenth at most, and an interruption finds everything at rest. Only a
language model is asked from threads of its own, since its server can do much at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from knotwork.errors import BudgetExceeded, LoadError, ModelError
from knotwork.indexing.changes import (
    failed_entry,
    needs_no_reading,
    same_content,
    touched_entry,
    with_entries,
)
from knotwork.indexing.commits import commit_documents, remove_sources
from knotwork.indexing.embedding import EMBEDDER_META, NO_VECTORS, check_embedder, known_vectors
from knotwork.indexing.preparing import prepare
from knotwork.indexing.reading import READ_AHEAD_CHUNKS, quarantined_documents
from knotwork.indexing.report import (
    EventKind,
    Failure,
    IndexEvent,
    IndexingInterrupted,
    IndexReport,
)
from knotwork.indexing.stages import Candidate, Prepared, Stages
from knotwork.indexing.tally import Tally
from knotwork.inference.base import PassageVectors
from knotwork.records import Chunk
from knotwork.stores.base import LedgerEntry, Store

BATCH_CHUNKS = 1_024
"""Ids are random, so each commit writes pages all over the file: the fewer commits, the less."""

EMBEDDED_BATCH_CHUNKS = 256
"""What a killed run loses of a model's work at most: seconds of it."""

BATCH_S = 5.0
EMBEDDING_CHUNKS = 128
REMOVAL_DOCUMENTS = 64
OUTSIDE_REASONS = frozenset({"missing", "not_a_file", "too_large", "unreadable"})
"""Failures that may pass while the file stays as it is: tried again by every run."""


@dataclass(slots=True)
class _Batch:
    """Documents on their way to one commit, and ledger entries that go with them."""

    prepared: list[tuple[Prepared, EventKind]] = field(default_factory=list)
    entries: list[LedgerEntry] = field(default_factory=list)
    vectors: dict[str, PassageVectors] = field(default_factory=dict)
    chunks: int = 0
    opened: float = field(default_factory=time.monotonic)

    def add(self, prepared: Prepared, kind: EventKind) -> None:
        """Add a document that is ready to be embedded and stored."""
        self.prepared.append((prepared, kind))
        self.chunks += len(prepared.leaves)

    def is_full(self, limit: int) -> bool:
        """Tell whether to commit: enough chunks or entries, or something that waits too long."""
        waiting = bool(self.prepared) and time.monotonic() - self.opened > BATCH_S
        return self.chunks >= limit or len(self.entries) >= limit or waiting


class Pipeline:
    """Brings an index up to date with sources.

    A commit holds about ``batch_chunks`` chunks; the model gets ``embedding_chunks`` at a time.
    """

    def __init__(
        self,
        store: Store,
        stages: Stages,
        *,
        batch_chunks: int | None = None,
        embedding_chunks: int = EMBEDDING_CHUNKS,
    ) -> None:
        self._store = store
        self._stages = stages
        usual = EMBEDDED_BATCH_CHUNKS if stages.embedding else BATCH_CHUNKS
        self._batch_chunks = batch_chunks or usual
        self._embedding_chunks = embedding_chunks
        self._batch = _Batch()
        self._tally = Tally()
        self._retried: frozenset[str] = frozenset()

    def run(
        self,
        sources: Sequence[Candidate],
        *,
        covers: Callable[[LedgerEntry], bool] | None = None,
        failures: Sequence[Failure] = (),
        retry: bool = False,
        tally: Tally | None = None,
    ) -> Iterator[IndexEvent]:
        """Index what changed, remove what ``covers`` holds and ``sources`` lack; yield each step.

        ``failures`` were met on the way to the sources and are only reported. ``retry`` reads
        again what failed last time. A failing source is reported and the run goes on; what
        concerns every document (the store, the embedder) is raised, after a commit of the
        finished documents. Raises IndexingInterrupted, a KeyboardInterrupt, on Ctrl-C, likewise.
        """
        self._batch, self._tally = _Batch(), tally or Tally()
        self._retried = frozenset()
        if retry and self._stages.reader:
            self._retried = quarantined_documents(self._store)
        sources = list({source.uri: source for source in sources}.values())
        self._tally.total = len(sources) + len(failures)
        check_embedder(self._store, self._stages.embedding.name)
        try:
            yield from self._steps(sources, covers, failures, retry=retry)
        except KeyboardInterrupt:
            self._commit_finished(give_up=True)
            raise IndexingInterrupted(self._report(interrupted=True)) from None
        except (ModelError, GeneratorExit) as stop:
            self._commit_finished(give_up=not isinstance(stop, BudgetExceeded))
            raise
        finally:
            if self._stages.reader:
                self._stages.reader.close(give_up=True)

    def _steps(
        self,
        sources: Sequence[Candidate],
        covers: Callable[[LedgerEntry], bool] | None,
        failures: Sequence[Failure],
        *,
        retry: bool,
    ) -> Iterator[IndexEvent]:
        yield self._tally.event(EventKind.DISCOVERED)
        stored = self._store.ledger.get([failure.uri for failure in failures])
        for failure in failures:
            kept = failure.uri in stored and stored[failure.uri].chunks > 0
            yield self._tally.failure(replace(failure, kept=kept))
        for source, entry in with_entries(sources, self._store.ledger):
            yield from self._take(source, entry, retry=retry)
            yield from self._collect(waiting_chunks=READ_AHEAD_CHUNKS)
            if self._batch.is_full(self._batch_chunks):
                yield from self._flush()
        yield from self._collect(waiting_chunks=0)
        yield from self._flush()
        if covers is not None:
            present = {item.uri for group in (sources, failures) for item in group}
            yield from self._remove_gone(present, covers)
        event = self._tally.event(EventKind.FINISHED)
        yield IndexEvent(
            event.kind, "", event.done, event.total, event.chunks, report=self._report()
        )

    def _take(
        self, source: Candidate, entry: LedgerEntry | None, *, retry: bool
    ) -> Iterator[IndexEvent]:
        """Prepare one source for the batch, unless the ledger shows that there is nothing to do."""
        tiers = self._stages.tiers
        again = entry is not None and entry.document_id in self._retried
        if entry is not None and not again and needs_no_reading(source, entry, tiers):
            if not entry.error:
                yield self._tally.event(EventKind.UNCHANGED, source.uri)
                return
            if not retry and entry.error_reason not in OUTSIDE_REASONS:
                yield self._tally.failure(_known_failure(entry))
                return
        yield self._tally.event(EventKind.STARTED, source.uri)
        try:
            with self._tally.timed("load"):
                document = source.read()
            if entry is not None and not again and same_content(entry, document.revision, tiers):
                touched = touched_entry(entry, source)
                if touched != entry:
                    self._batch.entries.append(touched)
                yield self._tally.event(EventKind.UNCHANGED, source.uri)
                return
            wanted = tiers.wants_model(entry)
            prepared = prepare(source, document, self._stages, wanted=wanted, tally=self._tally)
        except LoadError as error:
            failed = failed_entry(source, entry, error, tiers)
            if failed != entry:
                self._batch.entries.append(failed)
            yield self._tally.failure(_known_failure(failed))
            return
        known = entry is not None and (entry.chunks > 0 or not entry.error)
        kind = EventKind.CHANGED if known else EventKind.ADDED
        self._tally.chunks_known += len(prepared.leaves)
        if wanted and self._stages.reader:
            with self._tally.timed("extract"):
                self._stages.reader.begin(prepared, kind)
        else:
            self._batch.add(prepared, kind)

    def _collect(self, *, waiting_chunks: int) -> Iterator[IndexEvent]:
        """Take over what a model has read, and wait until no more chunks than these are open."""
        reader = self._stages.reader
        while reader and (reader.is_ready() or reader.open_chunks > waiting_chunks):
            with self._tally.timed("read"):
                finished = reader.step()
            yield self._tally.event(EventKind.READ, read=reader.read_chunks + self._batch.chunks)
            if finished:
                self._batch.add(*finished)
                if self._batch.is_full(self._batch_chunks):
                    yield from self._flush()

    def _flush(self) -> Iterator[IndexEvent]:
        """Embed and commit the batch."""
        stored = self._tally.chunks
        for done in self._embed():
            self._tally.chunks = stored + done
            yield self._tally.event(EventKind.EMBEDDED)
        self._tally.chunks = stored
        yield from self._commit()

    def _embed(self) -> Iterator[int]:
        """Embed what the batch lacks, in document order; yield how many chunks are done."""
        embedding = self._stages.embedding
        if not embedding or not self._batch.prepared:
            return
        wanted: dict[str, Chunk] = {}
        unread = 0
        for prepared, _ in self._batch.prepared:
            wanted.update(zip(prepared.keys, prepared.leaves, strict=True))
            unread += prepared.keys.count(NO_VECTORS)
        wanted.pop(NO_VECTORS, None)
        with self._tally.timed("embed"):
            if self._store.meta().get(EMBEDDER_META):
                self._batch.vectors = known_vectors(self._store, wanted)
        embedding.reused += self._batch.chunks - unread - len(wanted) + len(self._batch.vectors)
        missing = [key for key in wanted if key not in self._batch.vectors]
        for start in range(0, len(missing), self._embedding_chunks):
            keys = missing[start : start + self._embedding_chunks]
            with self._tally.timed("embed"):
                vectors = embedding.embed_chunks([wanted[key] for key in keys])
                self._batch.vectors.update(zip(keys, vectors, strict=True))
            yield self._batch.chunks - len(missing) + start + len(keys)

    def _commit(self) -> list[IndexEvent]:
        """Write the batch, open the next one, and return the outcomes."""
        batch = self._batch
        if batch.prepared or batch.entries:
            with self._tally.timed("store"):
                commit_documents(
                    self._store,
                    [prepared for prepared, _ in batch.prepared],
                    vectors=batch.vectors,
                    embedding=self._stages.embedding,
                    entries=batch.entries,
                )
        self._batch = _Batch()
        self._tally.chunks += batch.chunks
        for prepared, _ in batch.prepared:
            self._tally.stored(prepared)
        return [self._tally.event(kind, prepared.source.uri) for prepared, kind in batch.prepared]

    def _commit_finished(self, *, give_up: bool) -> None:
        """Commit those documents of a broken off run that are read and embedded in full.

        Calls to a language model under way are waited for, unless ``give_up``.
        """
        batch = self._batch
        if self._stages.reader:
            for prepared, kind in self._stages.reader.close(give_up=give_up):
                batch.add(prepared, kind)
        finished = [
            (prepared, kind)
            for prepared, kind in batch.prepared
            if all(key in batch.vectors for key in prepared.keys if key != NO_VECTORS)
        ]
        self._batch.prepared = finished
        self._batch.chunks = sum(len(prepared.leaves) for prepared, _ in finished)
        self._commit()

    def _remove_gone(
        self, present: set[str], covers: Callable[[LedgerEntry], bool]
    ) -> Iterator[IndexEvent]:
        """Remove what is gone; not what lies in a folder that could not be looked into."""
        closed = {failure.uri for failure in self._tally.failures}
        gone = [
            entry
            for entry in self._store.ledger.entries()
            if entry.uri not in present and covers(entry) and not _lies_in(entry.uri, closed)
        ]
        for start in range(0, len(gone), REMOVAL_DOCUMENTS):
            batch = gone[start : start + REMOVAL_DOCUMENTS]
            with self._tally.timed("store"):
                remove_sources(self._store, batch)
            for entry in batch:
                if entry.chunks or not entry.error:
                    yield self._tally.event(EventKind.REMOVED, entry.uri)

    def _report(self, *, interrupted: bool = False) -> IndexReport:
        return self._tally.report(
            self._store,
            self._stages.embedding,
            tiers=self._stages.tiers,
            interrupted=interrupted,
        )


def _known_failure(entry: LedgerEntry) -> Failure:
    return Failure(entry.uri, entry.error_reason, entry.error, kept=entry.chunks > 0)


def _lies_in(uri: str, folders: set[str]) -> bool:
    parts = uri.split("/")
    return any("/".join(parts[:depth]) in folders for depth in range(1, len(parts)))
