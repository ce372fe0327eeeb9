"""Index documents: load, split, extract, read by a model, embed, store.

Documents are gathered into batches (`commits.py`) that are committed every few seconds, each in one
transaction; a document is never split over two. If a run stops, the index is as after its last
commit, and the next run continues from there, because the ledger commits with the documents. The
result depends on the documents alone, not on the batches or their order.

The pipeline itself runs in one thread, so that an interruption finds everything at rest. Files are
prepared where the engine does it (`engines/`), and a language model is called from threads of its
own (`document_reader.py`). A `Tally` (`tally.py`) counts what a run does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace

from knotwork._cancellation import Cancelled, check_cancelled, checked, finishing
from knotwork._indexing.attempts import KILLED, MOST_STARTS, Attempts, killed_error
from knotwork._indexing.changes import (
    Tier,
    compare_with_ledger,
    failed_entry,
    lies_in,
    touched_entry,
)
from knotwork._indexing.chunk_questions import write_questions
from knotwork._indexing.commits import (
    BATCH_CHUNKS,
    EMBEDDED_BATCH_CHUNKS,
    READ_BATCH_CHUNKS,
    Batch,
    remove_sources,
)
from knotwork._indexing.document_reader import (
    READ_AHEAD_CHUNKS,
    DocumentReader,
)
from knotwork._indexing.embedding import (
    EMBEDDING_CHUNKS,
    check_embedder,
    check_not_switching,
)
from knotwork._indexing.engines.engine import Engine
from knotwork._indexing.engines.process_engine import ProcessEngine
from knotwork._indexing.kept_vectors import drop_kept_vectors
from knotwork._indexing.parcels import collect_unpacked
from knotwork._indexing.preparation import (
    Preparer,
    load_error_of,
)
from knotwork._indexing.prepared import Candidate, Prepared, Undescribed, Unprepared
from knotwork._indexing.report import (
    Failure,
    IndexingInterrupted,
    IndexReport,
)
from knotwork._indexing.rereading import documents_read_in_part
from knotwork._indexing.stages import IndexingStages
from knotwork._indexing.tally import Tally
from knotwork._run import Progress, Stage, Steps, Verb
from knotwork._stores.base import (
    LedgerEntry,
    Store,
    require_communities,
    require_questions,
    require_readings,
)
from knotwork.errors import BudgetExceeded, LoadError, ModelError

OPEN_PICTURES = 64
"""Pictures that may wait for the model: enough to keep its server busy, at 200 kB each."""
_PROGRESS_S = 0.25
"""Seconds between two events while a large file is prepared."""

REMOVAL_DOCUMENTS = 64
"""Documents that are removed in one transaction."""


class Pipeline:
    """Brings an index up to date with sources, once.

    A commit holds about ``batch_chunks`` chunks, by default as many as suit the stages; the
    embedder gets ``embedding_chunks`` at a time. ``engine`` prepares the documents. ``clock``
    returns seconds.
    """

    def __init__(
        self,
        store: Store,
        stages: IndexingStages,
        *,
        batch_chunks: int | None = None,
        embedding_chunks: int = EMBEDDING_CHUNKS,
        engine: Engine | None = None,
        clock: Callable[[], float] = time.monotonic,
        tally: Tally | None = None,
    ) -> None:
        self.store = store
        self.stages = stages
        self.engine = engine or ProcessEngine()
        self.clock = clock
        self.tally = tally or Tally()
        self.batch = Batch(clock=clock)
        self.attempts = Attempts(store.url, clock=clock)
        self.batch_chunks = batch_chunks or _usual_batch_chunks(stages)
        self.embedding_chunks = embedding_chunks
        self.writer = self.engine.open_writer(store, stages.embedding, stages.tiers)
        self.reader: DocumentReader | None = None
        if stages.model_extractor:
            self.reader = self.tally.reader = DocumentReader(stages.model_extractor, stages.tiers)

    @Verb
    def update(
        self,
        sources: Sequence[Candidate],
        *,
        covers: Callable[[LedgerEntry], bool] | None = None,
        failures: Sequence[Failure] = (),
        retry: bool = False,
    ) -> Steps[IndexReport]:
        """Index what changed, remove entries that ``covers`` selects and ``sources`` lack.

        ``failures`` were met while finding the sources and are only reported. ``retry`` reads again
        what failed last time. A source that fails is reported and the run continues. An error that
        concerns every document, of the store or a model, is raised after a commit of the finished
        documents. Raises SchemaMismatch if the index holds the vectors of another embedder,
        MissingCapability if the store cannot hold what the stages write, and IndexingInterrupted, a
        KeyboardInterrupt, on Ctrl-C, after a commit too.
        """
        sources = list({source.uri: source for source in sources}.values())
        self.tally.total = len(sources) + len(failures)
        check_not_switching(self.store)
        check_embedder(self.store, self.stages.embedding.name)
        _require_parts(self.store, self.stages)
        try:
            yield from self._update(sources, covers, failures, retry=retry)
            return self._report()
        except KeyboardInterrupt:
            self._commit_finished(give_up=True)
            raise IndexingInterrupted(self._report(interrupted=True)) from None
        except (ModelError, GeneratorExit) as stop:
            self._commit_finished(give_up=not isinstance(stop, BudgetExceeded))
            raise
        finally:
            if self.reader:
                self.reader.close(give_up=True)
            if self.stages.describer:
                self.stages.describer.close()
            self.writer.close()
            self.attempts.close()

    def _update(
        self,
        sources: Sequence[Candidate],
        covers: Callable[[LedgerEntry], bool] | None,
        failures: Sequence[Failure],
        *,
        retry: bool,
    ) -> Iterator[Progress]:
        yield self.tally.progress(Stage.DISCOVERED)
        stored = self.store.ledger.get([failure.uri for failure in failures])
        for failure in failures:
            kept = failure.uri in stored and stored[failure.uri].chunks > 0
            yield self.tally.failure(replace(failure, kept=kept))
        yield from self._index(sources, retry=retry)
        yield from self._flush()
        yield from self._stored(wait=True)
        drop_kept_vectors(self.store)
        if covers is not None:
            present = {item.uri for group in (sources, failures) for item in group}
            yield from self._remove_gone(present, covers)
        if self.reader:
            self.reader.check_answered()

    def _index(self, sources: Sequence[Candidate], *, retry: bool) -> Iterator[Progress]:
        """Prepare what changed, have a model read it if one should, and fill batches."""
        has_model = self.reader is not None
        reread = documents_read_in_part(self.store, has_model=has_model) if retry else frozenset()
        candidates = list(
            compare_with_ledger(
                sources, self.store.ledger, self.stages.tiers, retry=retry, reread=reread
            )
        )
        changed = [source for source in candidates if source.needs_reading]
        for source in changed:
            self.tally.forecast.expect(source)
        preparer = self.engine.open_preparer(
            self.stages.recipe, total_bytes=sum(source.size for source in changed)
        )
        suspects: list[Candidate] = []
        with closing(preparer):
            for source in checked(candidates):
                attempts = 0 if retry else self.attempts.count(source)
                if not source.needs_reading:
                    if source.entry is not None:
                        yield self._skip(source, source.entry)
                elif attempts >= MOST_STARTS:
                    yield self._fail(source, killed_error(source, attempts))
                elif attempts == MOST_STARTS - 1:
                    suspects.append(source)
                else:
                    yield self._begin(source, preparer)
                while preparer.is_ready():
                    yield from self._take_next(preparer)
            yield from self._take_all(preparer)
            for source in suspects:
                # Alone: the others of its last runs are committed whatever it does.
                yield from self._flush()
                yield from self._stored(wait=True)
                yield self._begin(source, preparer)
                yield from self._take_all(preparer)

    def _begin(self, source: Candidate, preparer: Preparer) -> Progress:
        """Put a source in the queue of those that are prepared."""
        self.attempts.begin(source)
        preparer.begin(self.stages.as_begun(source))
        return self.tally.progress(Stage.STARTED, source.uri)

    def _take_next(self, preparer: Preparer) -> Iterator[Progress]:
        """Wait for the oldest document, with events while that takes long, and take it over."""
        started_s = self.clock()
        self.attempts.wait_for(preparer.oldest)
        while not preparer.wait(_PROGRESS_S):
            check_cancelled()
            self.attempts.wait_for(preparer.oldest)
            seconds, share = self.clock() - started_s, preparer.share
            yield self.tally.progress(Stage.READING, preparer.oldest, seconds=seconds, share=share)
            if self.batch.is_full(self.batch_chunks):
                yield from self._flush()
        found = preparer.take()
        if isinstance(found, Undescribed):
            yield from self._describe(found, preparer)
        else:
            yield from self._take_over(found)

    def _take_all(self, preparer: Preparer) -> Iterator[Progress]:
        """Take over all documents that were begun, and have a model read them to the end."""
        describer = self.stages.describer
        while preparer.open or (describer and describer.open):
            if preparer.open:
                yield from self._take_next(preparer)
            else:
                yield from self._take_described(preparer, waiting_pictures=0)
        yield from self._collect(waiting_chunks=0)

    def _describe(self, found: Undescribed, preparer: Preparer) -> Iterator[Progress]:
        """Have a model describe the pictures of a document, and prepare those that are ready."""
        describer = self.stages.describer
        assert describer is not None, "only its documents are undescribed"
        for stage, seconds in found.seconds.items():
            self.tally.seconds[stage] += seconds
        with self.tally.timed("read"):
            describer.begin(found)
        yield from self._take_described(preparer, waiting_pictures=OPEN_PICTURES)

    def _take_described(self, preparer: Preparer, *, waiting_pictures: int) -> Iterator[Progress]:
        """Prepare documents whose pictures are described; wait while more pictures are open."""
        describer = self.stages.describer
        started_s = self.clock()
        while describer and (describer.is_ready() or describer.open_pictures > waiting_pictures):
            with self.tally.timed("read"):
                is_ready = describer.wait(_PROGRESS_S)
            if is_ready:
                preparer.begin(describer.take())
            else:
                check_cancelled()
                seconds = self.clock() - started_s
                yield self.tally.progress(Stage.READING, describer.oldest, seconds=seconds)

    def _skip(self, source: Candidate, entry: LedgerEntry) -> Progress:
        """Leave a source as it was indexed, or as it failed, and update what the ledger knows."""
        if entry.error:
            return self.tally.failure(_failure_of(entry))
        touched = touched_entry(entry, source)
        if touched != entry:
            self.batch.entries.append(touched)
        else:
            self.attempts.end([source.uri])
        return self.tally.progress(Stage.UNCHANGED, source.uri)

    def _take_over(self, found: Prepared | Unprepared) -> Iterator[Progress]:
        """Put a document that was prepared into the batch, or in the queue of a model."""
        source = found.source
        for stage, seconds in found.seconds.items():
            self.tally.seconds[stage] += seconds
        chunks = len(found.leaves) if isinstance(found, Prepared) else 0
        self.tally.forecast.note(source, chunks)
        if isinstance(found, Prepared):
            self._add(found)
        elif (error := load_error_of(found)) is not None:
            yield self._fail(source, error)
        elif source.entry is not None:
            yield self._skip(source, source.entry)
        yield from self._collect(waiting_chunks=READ_AHEAD_CHUNKS)
        if self.batch.is_full(self.batch_chunks):
            yield from self._flush()

    def _add(self, prepared: Prepared) -> None:
        leaves = prepared.leaves
        self.tally.chunks_known += len(leaves)
        if embedding := self.stages.embedding:
            prepared = replace(prepared, keys=tuple(map(embedding.chunk_key, checked(leaves))))
        if self.reader and prepared.source.wants_model:
            self.reader.begin(prepared)
        else:
            self._gather(prepared)

    def _gather(self, prepared: Prepared) -> None:
        """Add a document that is extracted in full to the batch, as a strict schema leaves it."""
        self.batch.add(self.stages.admit(prepared))

    def _fail(self, source: Candidate, error: LoadError) -> Progress:
        failed = failed_entry(source, error, self.stages.tiers)
        if failed != source.entry:
            self.batch.entries.append(failed)
        else:
            self.attempts.end([source.uri])
        return self.tally.failure(_failure_of(failed))

    def _collect(self, *, waiting_chunks: int) -> Iterator[Progress]:
        """Take over what a model has read; wait while more chunks than these are open."""
        reader = self.reader
        while reader and (reader.is_ready() or reader.open_chunks > waiting_chunks):
            with self.tally.timed("read"):
                finished = reader.step()
            yield self.tally.progress(Stage.READ, read=reader.read_chunks + self.batch.chunks)
            if finished:
                self._gather(finished)
            if self.batch.is_full(self.batch_chunks):
                yield from self._flush()

    def _flush(self) -> Iterator[Progress]:
        """Embed the batch and commit it, its first documents before the last if that takes long."""
        embedding, tally, batch = self.stages.embedding, self.tally, self.batch
        with tally.timed("embed"):
            missing = batch.recall(self.store, embedding)
        if missing and not embedding.is_loaded:
            yield tally.progress(Stage.LOADING, note=embedding.name)
            with tally.timed("embed"):
                embedding.load()
        stored = tally.chunks
        steps = batch.embed(missing, embedding, chunks_at_once=self.embedding_chunks)
        while True:
            with tally.timed("embed"):
                done = next(steps, None)
            if done is None:
                break
            yield tally.progress(Stage.EMBEDDED, read=stored + done - tally.chunks)
            if unfinished := batch.first_unfinished():
                self.attempts.wait_for(unfinished.source.uri)
            if batch.is_due():
                yield from self._save_part()
        yield from self._commit(batch)
        self.batch = Batch(clock=self.clock)
        collect_unpacked()

    def _save_part(self) -> list[Progress]:
        """Commit the documents that are embedded, or else keep the vectors of the first one."""
        finished = self.batch.finished()
        if finished.prepared:
            return self._commit(finished)
        with self.tally.timed("store"):
            is_kept = self.batch.keep_vectors(self.store, self.stages.embedding)
        if is_kept and (unfinished := self.batch.first_unfinished()):
            self.attempts.keep_part(unfinished.source)
        return []

    def _commit(self, batch: Batch) -> list[Progress]:
        """Have a part of the open batch written, or all of it; return what is stored by now."""
        if batch.prepared or batch.entries:
            questions: Mapping[str, Sequence[str]] = {}
            if self.stages.questions is not None:
                with self.tally.timed("extract"):
                    questions = write_questions(self.stages.questions, batch.prepared)
            with self.tally.timed("store"):
                self.writer.write(batch.commit(questions))
        self.batch.release(batch)
        return self._stored(wait=False)

    def _stored(self, *, wait: bool) -> list[Progress]:
        """Return the outcomes of what is stored since the last call; with ``wait``, of all."""
        events: list[Progress] = []
        with self.tally.timed("store"):
            written = list(self.writer.take(wait=wait))
        for commit, collided in written:
            self.attempts.end(
                [
                    *(prepared.source.uri for prepared in commit.prepared),
                    *(entry.uri for entry in commit.entries if entry.error_reason != KILLED),
                ]
            )
            failed = {entry.uri for entry in collided}
            stored = [found for found in commit.prepared if found.source.uri not in failed]
            self.tally.chunks += sum(len(prepared.leaves) for prepared in stored)
            for prepared in stored:
                self.tally.stored(prepared)
            events += (self.tally.failure(_failure_of(entry)) for entry in collided)
            events += (
                self.tally.progress(
                    Stage.CHANGED if prepared.source.was_indexed else Stage.ADDED,
                    prepared.source.uri,
                )
                for prepared in stored
            )
        return events

    def _commit_finished(self, *, give_up: bool) -> None:
        """Commit the documents of a run that was stopped, if they are read and embedded in full.

        Waits for calls to a language model that are in progress, unless ``give_up``. A commit that
        takes too long after a cancellation is rolled back; the next run makes it.
        """
        with finishing(), suppress(Cancelled):
            for prepared in self.reader.close(give_up=give_up) if self.reader else ():
                self._gather(prepared)
            self._commit(self.batch.finished())
            self._stored(wait=True)

    def _remove_gone(
        self, present: set[str], covers: Callable[[LedgerEntry], bool]
    ) -> Iterator[Progress]:
        """Remove the documents that are gone, except those in a folder that cannot be read."""
        closed = {failure.uri for failure in self.tally.failures}
        gone = [
            entry
            for entry in self.store.ledger.entries()
            if entry.uri not in present and covers(entry) and not lies_in(entry.uri, closed)
        ]
        for start in range(0, len(gone), REMOVAL_DOCUMENTS):
            batch = gone[start : start + REMOVAL_DOCUMENTS]
            with self.tally.timed("store"):
                remove_sources(self.store, batch)
            for entry in batch:
                if entry.chunks or not entry.error:
                    yield self.tally.progress(Stage.REMOVED, entry.uri)

    def _report(self, *, interrupted: bool = False) -> IndexReport:
        return self.tally.report(self.store, self.stages, interrupted=interrupted)


def _require_parts(store: Store, stages: IndexingStages) -> None:
    """Raise MissingCapability if the store cannot hold what the user asked to write."""
    if stages.model_extractor is not None:
        require_readings(store)
    if stages.questions is not None:
        require_questions(store)
    if stages.tier is Tier.FULL:
        require_communities(store)


def _failure_of(entry: LedgerEntry) -> Failure:
    return Failure(entry.uri, entry.error_reason, entry.error, kept=entry.chunks > 0)


def _usual_batch_chunks(stages: IndexingStages) -> int:
    if stages.model_extractor and stages.tiers.reads_new:
        return READ_BATCH_CHUNKS
    return EMBEDDED_BATCH_CHUNKS if stages.embedding else BATCH_CHUNKS
