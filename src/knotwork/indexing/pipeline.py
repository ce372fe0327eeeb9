"""Index documents: load, split, extract, read by a model, embed, store.

Documents are gathered into batches (`commits.py`) that are committed in one transaction; a document
is never split over two. If a run stops, the index is as after its last commit, and the next run
continues from there, because the ledger commits with the documents. The result depends on the
documents alone, not on the batches or their order.

The stages run in one thread, so that an interruption finds everything at rest. If there is much to
read, files are prepared in other processes (`preparation.py`), and a language model is called from
threads of its own (`document_reader.py`). `Tally` counts what a run does and builds its events and
report; `ChunkForecast` expects its chunks from the sizes of its files.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from knotwork.errors import BudgetExceeded, LoadError, ModelError
from knotwork.indexing.changes import (
    Tiers,
    failed_entry,
    known_revision,
    lies_in,
    needs_no_reading,
    touched_entry,
    with_entries,
)
from knotwork.indexing.chunk_questions import write_questions
from knotwork.indexing.commits import (
    BATCH_CHUNKS,
    EMBEDDED_BATCH_CHUNKS,
    READ_BATCH_CHUNKS,
    Batch,
    commit_documents,
    remove_sources,
)
from knotwork.indexing.document_reader import READ_AHEAD_CHUNKS, quarantined_documents
from knotwork.indexing.embedding import (
    EMBEDDING_CHUNKS,
    UNREAD_FIX,
    UNREAD_NOTE,
    Embedding,
    check_embedder,
    check_not_switching,
)
from knotwork.indexing.preparation import (
    Preparation,
    PreparationOrder,
    Preparer,
    SerialPreparer,
    finish_document,
    open_preparer,
    recipe_of,
    timed,
)
from knotwork.indexing.prepared import Candidate, Prepared
from knotwork.indexing.report import (
    OUTCOMES,
    EventKind,
    Failure,
    IndexEvent,
    IndexingInterrupted,
    IndexReport,
)
from knotwork.indexing.stages import IndexingStages
from knotwork.inference.role_models import ModelRun
from knotwork.records import ReadingStatus
from knotwork.stores.base import LedgerEntry, Store
from knotwork.text.token_counts import count_tokens

REMOVAL_DOCUMENTS = 64
OUTSIDE_REASONS = frozenset({"missing", "not_a_file", "too_large", "unreadable"})
"""Failures that may pass while the file stays as it is: tried again by every run."""


class Pipeline:
    """Brings an index up to date with sources.

    A commit holds about ``batch_chunks`` chunks; the model gets ``embedding_chunks`` at a time.
    """

    def __init__(
        self,
        store: Store,
        stages: IndexingStages,
        *,
        batch_chunks: int | None = None,
        embedding_chunks: int = EMBEDDING_CHUNKS,
        workers: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._clock = clock
        self._stages = stages
        self._batch_chunks = batch_chunks or usual_batch_chunks(stages)
        self._embedding_chunks = embedding_chunks
        self._batch = Batch(clock=clock)
        self._tally = Tally()
        self._retried: frozenset[str] = frozenset()
        self._workers = workers
        self._preparer: Preparer = SerialPreparer(recipe_of(stages))
        self._offered: deque[tuple[Candidate, LedgerEntry | None]] = deque()

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
        self._batch, self._tally = Batch(clock=self._clock), tally or Tally()
        self._retried = frozenset()
        if retry and self._stages.reader:
            self._retried = quarantined_documents(self._store)
        sources = list({source.uri: source for source in sources}.values())
        self._tally.total = len(sources) + len(failures)
        check_not_switching(self._store)
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
            self._preparer.close()
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
        known = list(with_entries(sources, self._store.ledger))
        self._open_preparer(known)
        for source, entry in known:
            yield from self._offer(source, entry, retry=retry)
            while self._preparer.is_ready():
                yield from self._take()
        while self._preparer.open:
            yield from self._take()
        yield from self._collect(waiting_chunks=0)
        yield from self._flush()
        if covers is not None:
            present = {item.uri for group in (sources, failures) for item in group}
            yield from self._remove_gone(present, covers)
        event = self._tally.event(EventKind.FINISHED)
        yield IndexEvent(
            event.kind, "", event.done, event.total, event.chunks, report=self._report()
        )

    def _open_preparer(self, known: Sequence[tuple[Candidate, LedgerEntry | None]]) -> None:
        tiers = self._stages.tiers
        total_bytes = 0
        for source, entry in known:
            if not needs_no_reading(source, entry, tiers):
                self._tally.forecast.expect(source)
                total_bytes += source.size
        recipe = recipe_of(self._stages)
        self._preparer = open_preparer(recipe, workers=self._workers, total_bytes=total_bytes)
        self._offered.clear()

    def _offer(
        self, source: Candidate, entry: LedgerEntry | None, *, retry: bool
    ) -> Iterator[IndexEvent]:
        """Have one source made ready, unless the ledger shows that there is nothing to do."""
        tiers = self._stages.tiers
        again = entry is not None and entry.document_id in self._retried
        if entry is not None and not again and needs_no_reading(source, entry, tiers):
            if not entry.error:
                yield self._leave(source, entry)
                return
            if not retry and entry.error_reason not in OUTSIDE_REASONS:
                yield self._tally.failure(_known_failure(entry))
                return
        yield self._tally.event(EventKind.STARTED, source.uri)
        known = "" if again else known_revision(entry, tiers)
        wanted = self._stages.reader is not None and tiers.wants_model(entry)
        self._preparer.begin(
            PreparationOrder(source.uri, source.read, source.size, known, for_model=wanted)
        )
        self._offered.append((source, entry))

    def _take(self) -> Iterator[IndexEvent]:
        """Take over the next source that is ready, and what else is."""
        made = self._preparer.take()
        source, entry = self._offered.popleft()
        for stage, seconds in made.seconds.items():
            self._tally.seconds[stage] += seconds
        leaves = sum(not chunk.is_parent for chunk in made.chunks)
        self._tally.forecast.note(source, leaves)
        if made.is_known and entry is not None:
            yield self._leave(source, entry)
        else:
            yield from self._place(source, entry, made)
        yield from self._collect(waiting_chunks=READ_AHEAD_CHUNKS)
        if self._batch.is_full(self._batch_chunks):
            yield from self._flush()

    def _leave(self, source: Candidate, entry: LedgerEntry) -> IndexEvent:
        """Leave a source as it is indexed, and note what else is known of it now."""
        touched = touched_entry(entry, source)
        if touched != entry:
            self._batch.entries.append(touched)
        return self._tally.event(EventKind.UNCHANGED, source.uri)

    def _place(
        self, source: Candidate, entry: LedgerEntry | None, made: Preparation
    ) -> Iterator[IndexEvent]:
        """Put a document into the batch, or before a model that reads it first."""
        tiers = self._stages.tiers
        wanted = tiers.wants_model(entry)
        try:
            prepared = finish_document(source, made, self._stages, wanted=wanted)
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
        embedding = self._stages.embedding
        with self._tally.timed("embed"):
            missing = self._batch.recall(self._store, embedding)
        if missing and not embedding.is_loaded:
            yield replace(self._tally.event(EventKind.LOADING), message=embedding.name)
            with self._tally.timed("embed"):
                embedding.load()
        stored = self._tally.chunks
        steps = self._batch.embed(missing, embedding, chunks_at_once=self._embedding_chunks)
        while (done := self._timed_step(steps)) is not None:
            self._tally.chunks = stored + done
            yield self._tally.event(EventKind.EMBEDDED)
        self._tally.chunks = stored
        yield from self._commit()

    def _timed_step(self, steps: Iterator[int]) -> int | None:
        with self._tally.timed("embed"):
            return next(steps, None)

    def _commit(self) -> list[IndexEvent]:
        """Write the batch, open the next one, and return the outcomes."""
        batch = self._batch
        if batch.prepared or batch.entries:
            documents = [prepared for prepared, _ in batch.prepared]
            questions = self._write_questions(documents)
            with self._tally.timed("store"):
                commit_documents(
                    self._store,
                    documents,
                    vectors=batch.vectors,
                    embedding=self._stages.embedding,
                    entries=batch.entries,
                    questions=questions,
                )
        self._batch = Batch(clock=self._clock)
        self._tally.chunks += batch.chunks
        for prepared, _ in batch.prepared:
            self._tally.stored(prepared)
        return [self._tally.event(kind, prepared.source.uri) for prepared, kind in batch.prepared]

    def _write_questions(self, documents: Sequence[Prepared]) -> Mapping[str, Sequence[str]]:
        if self._stages.questions is None:
            return {}
        with self._tally.timed("extract"):
            return write_questions(self._stages.questions, documents)

    def _commit_finished(self, *, give_up: bool) -> None:
        """Commit those documents of a broken off run that are read and embedded in full.

        Calls to a language model under way are waited for, unless ``give_up``.
        """
        batch = self._batch
        if self._stages.reader:
            for prepared, kind in self._stages.reader.close(give_up=give_up):
                batch.add(prepared, kind)
        batch.drop_unfinished()
        self._commit()

    def _remove_gone(
        self, present: set[str], covers: Callable[[LedgerEntry], bool]
    ) -> Iterator[IndexEvent]:
        """Remove what is gone; not what lies in a folder that could not be looked into."""
        closed = {failure.uri for failure in self._tally.failures}
        gone = [
            entry
            for entry in self._store.ledger.entries()
            if entry.uri not in present and covers(entry) and not lies_in(entry.uri, closed)
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


_TEXT_BYTES = 1_000
_PACKED_BYTES = 20_000
"""Bytes of a chunk while no file of the format has been read: of text, and of packed formats."""
_PRIOR_CHUNKS = 20
"""How many chunks the guess above counts for, once files of the format have been read."""
_PACKED = frozenset({".pdf", ".docx", ".pptx", ".xlsx", ".xls", ".doc", ".ppt", ".epub", ".zip"})


@dataclass(slots=True)
class _Format:
    """Files of one suffix: bytes still to read, bytes read, and the chunks these made."""

    left: int = 0
    read: int = 0
    chunks: int = 0


class ChunkForecast:
    """Expects as many chunks in a byte as the files of the same suffix had so far.

    A megabyte of PDF makes far fewer chunks than one of plain text, so formats count apart.
    """

    def __init__(self) -> None:
        self._formats: defaultdict[str, _Format] = defaultdict(_Format)
        self.total = 0
        """The chunks of the whole run."""

    def expect(self, source: Candidate) -> None:
        """Add a file that is to be read."""
        self._formats[_suffix(source)].left += source.size
        self._count()

    def note(self, source: Candidate, chunks: int) -> None:
        """Take into account how many chunks a file made, 0 if it is unchanged or failed."""
        found = self._formats[_suffix(source)]
        found.left = max(found.left - source.size, 0)
        found.read += source.size
        found.chunks += chunks
        self._count()

    def _count(self) -> None:
        total = 0.0
        for suffix, found in self._formats.items():
            chunk_bytes = _PACKED_BYTES if suffix in _PACKED else _TEXT_BYTES
            read = found.read + _PRIOR_CHUNKS * chunk_bytes
            total += found.chunks + found.left * (found.chunks + _PRIOR_CHUNKS) / read
        self.total = round(total)


def _suffix(source: Candidate) -> str:
    return PurePosixPath(source.uri).suffix.lower()


STAGES = ("discover", "load", "split", "extract", "read", "embed", "store")
NO_EMBEDDER_NOTE = (
    "No embedder: this index answers from full text and the knowledge graph alone. "
    "Install one with pip install 'knotwork[local]', then index again."
)
OUTDATED_NOTE = (
    "{count:,} of {chunks:,} chunks have no vectors: {outdated:,} documents were indexed with "
    "other settings, such as without an embedder. Index their folders again to change that."
)


@dataclass(slots=True)
class Tally:
    """Counts what happened; ``total`` sources are expected."""

    total: int = 0
    chunks: int = 0
    chunks_known: int = 0
    chunks_shown: int = 0
    forecast: ChunkForecast = field(default_factory=ChunkForecast)
    sentences: int = 0
    mentions: int = 0
    relations: int = 0
    text_tokens: int = 0
    """Tokens of what was committed, counted where models are set."""
    readings: Counter[ReadingStatus] = field(default_factory=Counter)
    models: ModelRun | None = None
    removed: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    outcomes: Counter[EventKind] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))
    started: float = field(default_factory=time.perf_counter)

    def timed(self, stage: str) -> AbstractContextManager[None]:
        """Add the time of the block to a stage."""
        return timed(self.seconds, stage)

    def event(self, kind: EventKind, uri: str = "", *, read: int = 0) -> IndexEvent:
        """Count an outcome and return its event; ``read`` chunks are ready to be stored."""
        if kind in OUTCOMES:
            self.outcomes[kind] += 1
        if kind is EventKind.REMOVED:
            self.removed.append(uri)
        self.chunks_shown = max(self.chunks_shown, self.chunks + read)
        return IndexEvent(
            kind,
            uri,
            done=sum(self.outcomes.values()) - len(self.removed),
            total=self.total,
            chunks=self.chunks_shown,
            chunks_known=self.chunks_known,
            chunks_expected=self.forecast.total,
        )

    def failure(self, failure: Failure) -> IndexEvent:
        """Count a failure and return its event."""
        self.failures.append(failure)
        event = self.event(EventKind.FAILED, failure.uri)
        return replace(event, reason=failure.reason, message=failure.message)

    def stored(self, prepared: Prepared) -> None:
        """Count what a committed document brought."""
        self.sentences += prepared.sentence_count
        self.mentions += sum(len(e.mentions) for e in prepared.extractions)
        self.relations += sum(len(e.relations) for e in prepared.extractions)
        if self.models is not None and self.models.has("summarize"):
            self.text_tokens += sum(count_tokens(chunk.text) for chunk in prepared.leaves)
        self.readings.update(reading.status for reading in prepared.readings)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self.started

    def report(
        self,
        store: Store,
        embedding: Embedding | None,
        *,
        tiers: Tiers | None = None,
        interrupted: bool = False,
    ) -> IndexReport:
        """Return the report of the run so far; ``tiers`` tell which documents are outdated."""
        seconds = {**self.seconds, "total": self.elapsed_s}
        if embedding is not None:
            seconds["embed"] += embedding.names_s
            seconds["store"] -= embedding.names_s
        chunks = store.documents.chunk_count()
        bare = chunks - store.vectors("chunk").count() if embedding else 0
        outdated = _count_outdated(store, tiers) if bare and tiers else 0
        return IndexReport(
            added=self.outcomes[EventKind.ADDED],
            changed=self.outcomes[EventKind.CHANGED],
            unchanged=self.outcomes[EventKind.UNCHANGED],
            removed=tuple(self.removed),
            failures=tuple(self.failures),
            chunks=self.chunks,
            sentences=self.sentences,
            mentions=self.mentions,
            relations=self.relations,
            readings=dict(self.readings),
            usage=self.models.meter.by_stage() if self.models else {},
            money=self.models.meter.money(self.models.prices) if self.models else None,
            total_documents=store.documents.document_count(),
            total_chunks=chunks,
            total_entities=store.graph.entity_count(),
            embedder=embedding.name if embedding is not None else "",
            embedded=embedding.embedded if embedding is not None else 0,
            reused=embedding.reused if embedding is not None else 0,
            seconds=seconds,
            without_vectors=bare,
            notes=(
                *(_notes(embedding, chunks, bare, outdated) if embedding is not None else ()),
                *(self.models.notes if self.models else ()),
            ),
            interrupted=interrupted,
        )


def _count_outdated(store: Store, tiers: Tiers) -> int:
    """Return how many documents were indexed with other settings than these."""
    entries = store.ledger.entries()
    return sum(not tiers.is_current(entry) for entry in entries if not entry.error_reason)


def _notes(embedding: Embedding, chunks: int, bare: int, outdated: int) -> tuple[str, ...]:
    """Return what the user should know of the index's ``chunks``, ``bare`` ones without vectors."""
    if not embedding:
        return (NO_EMBEDDER_NOTE,) if embedding.wanted else ()
    if bare and outdated:
        return (OUTDATED_NOTE.format(count=bare, chunks=chunks, outdated=outdated),)
    if bare and embedding.languages:
        note = UNREAD_NOTE.format(count=bare, chunks=chunks, embedder=embedding.name)
        return (f"{note} {UNREAD_FIX}",)
    return ()


def usual_batch_chunks(stages: IndexingStages) -> int:
    """Return about how many chunks a commit holds."""
    if stages.reader and stages.tiers.reads_new:
        return READ_BATCH_CHUNKS
    return EMBEDDED_BATCH_CHUNKS if stages.embedding else BATCH_CHUNKS
