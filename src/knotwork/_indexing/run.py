"""Run indexing: find what changed, prepare, read by a model, embed, store, enrich, and report.

Documents are gathered into batches (`commit.py`) that are committed every few seconds, each in one
transaction; a document is never split over two. If a run stops, the index is as after its last
commit, and the next run continues from there, because the ledger commits with the documents. The
result depends on the documents alone, not on the batches or their order.

A run works in one thread, so that an interruption finds everything at rest. Files are prepared
where the `Engine` does it, and a language model is called from threads of its own
(`knotwork._extensions.model_indexing`).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Self, TypedDict

from knotwork._cancellation import Cancelled, check_cancelled, checked, finishing
from knotwork._config import Settings
from knotwork._indexing.changes import (
    KILLED,
    MOST_STARTS,
    Attempts,
    Tier,
    compare_with_ledger,
    documents_read_in_part,
    failed_entry,
    killed_error,
    lies_in,
    touched_entry,
)
from knotwork._indexing.commit import (
    BATCH_CHUNKS,
    EMBEDDED_BATCH_CHUNKS,
    READ_BATCH_CHUNKS,
    Batch,
    remove_sources,
)
from knotwork._indexing.embedding import (
    EMBEDDING_CHUNKS,
    UNREAD_FIX,
    UNREAD_NOTE,
    check_embedder,
    check_not_switching,
    drop_kept_vectors,
    refused_chunks,
    refused_notes,
)
from knotwork._indexing.loaders.loader import unread_notes, unread_pictures, unread_pictures_note
from knotwork._indexing.prepare import (
    LeftOut,
    Prepared,
    Preparer,
    SourceFile,
    Undescribed,
    collect_unpacked,
    timed,
)
from knotwork._indexing.report import Enrichment, Failure, IndexingInterrupted, IndexReport
from knotwork._indexing.sources import SourceSelection
from knotwork._indexing.splitters import Splitter
from knotwork._indexing.stages import Engine, IndexingStages, compose_stages, open_engine
from knotwork._inference.call_limits import RetryPolicy
from knotwork._inference.chat import ChatModel
from knotwork._inference.embedder import Embedder
from knotwork._inference.own_prompts import BUILT_IN, read_prompt_folder
from knotwork._inference.role_models import ModelRun
from knotwork._registry import PARTS
from knotwork._run import OUTCOMES, Counts, FilePart, Progress, Stage, Steps, Verb
from knotwork._stores.base import (
    LedgerEntry,
    Store,
    companions_of,
    require_communities,
    require_questions,
    require_readings,
    tables_of,
)
from knotwork._text.token_counts import count_tokens
from knotwork._transform.extractor import Extractor
from knotwork.errors import BudgetExceeded, LoadError, ModelError
from knotwork.records import ReadingStatus

if TYPE_CHECKING:
    from knotwork._extensions.model_indexing.document_reader import DocumentReader
    from knotwork._extensions.model_indexing.reading import Reading
    from knotwork._extensions.model_indexing.run_estimates import IndexEstimate

READ_AHEAD_CHUNKS = 512
"""Chunks that may wait for the model: enough to keep its server busy while a batch is stored."""

OPEN_PICTURES = 64
"""Pictures that may wait for the model: enough to keep its server busy, at 200 kB each."""
BATCH_STEP = "batched requests"
"""The name of the step in events."""

STAGES = ("discover", "load", "split", "extract", "read", "embed", "store")

REMOVAL_DOCUMENTS = 64
"""Documents that are removed in one transaction."""

_PROGRESS_S = 0.25
"""Seconds between two events while a large file is prepared."""

UNSUPPORTED_NOTE = "The store `{url}` does not support {parts}. They were left out."
JOINED_NOTE = (
    "New documents were read by the model, as it read all of this index before; --tier lean leaves "
    "it out."
)
LEFT_OUT_NOTE = "The strict schema left out {counts}. See extraction.schema."
NO_EMBEDDER_NOTE = (
    "No embedder: this index answers from full text and the knowledge graph alone. "
    "Install one with pip install 'knotwork[local]', then index again."
)
OUTDATED_NOTE = (
    "{count:,} of {chunks:,} chunks have no vectors: {outdated:,} documents were indexed with "
    "other settings, such as without an embedder. Index their folders again to change that."
)


class IndexOptions(TypedDict, total=False):
    """Options of an indexing run.

    ``retry`` reads again what could not be read last time, and asks again if no reply of a language
    model could be used. ``tier`` ("none", "lean" or "full") applies to all documents of this run;
    by default, new ones have that of the settings, and those that a model read once stay so.
    ``budget`` limits tokens or money, in the syntax of `parse_ceiling`. ``batch`` sends what a
    model reads in batches, at half the price and within a day; None is ``llm.batch``, and waits for
    batches of an earlier run. False cancels those.
    """

    retry: bool
    tier: str | None
    budget: str
    batch: bool | None


_TEXT_BYTES = 1_000
_PACKED_BYTES = 20_000
"""Assumed bytes of a chunk before any file of the format was read: text, and packed formats."""
_PRIOR_CHUNKS = 20
"""The weight of that assumption, in chunks, once files of the format have been read."""
_PACKED = frozenset({".pdf", ".docx", ".pptx", ".xlsx", ".xls", ".doc", ".ppt", ".epub", ".zip"})


class ChunkForecast:
    """Estimates the chunks of a run from the chunks per byte of the files read so far.

    Each suffix counts apart: a megabyte of PDF makes far fewer chunks than one of plain text.
    ``bytes_read`` of ``bytes_total`` were read.
    """

    def __init__(self) -> None:
        self.bytes_read = self.bytes_total = 0
        self._left = Counter[str]()
        self._read = Counter[str]()
        self._chunks = Counter[str]()

    def expect(self, source: SourceFile) -> None:
        """Add a file that will be read."""
        self._left[_suffix(source)] += source.size
        self.bytes_total += source.size

    def note(self, source: SourceFile, chunks: int) -> None:
        """Add how many chunks a file made, 0 if it is unchanged or failed."""
        suffix = _suffix(source)
        left = min(self._left[suffix], source.size)
        self._left[suffix] -= left
        self._read[suffix] += source.size
        self._chunks[suffix] += chunks
        self.bytes_read += source.size
        self.bytes_total += source.size - left

    @property
    def total(self) -> int:
        """The chunks of the whole run."""
        total = 0.0
        for suffix in self._left:
            chunk_bytes = _PACKED_BYTES if suffix in _PACKED else _TEXT_BYTES
            chunks = self._chunks[suffix]
            share = (chunks + _PRIOR_CHUNKS) / (self._read[suffix] + _PRIOR_CHUNKS * chunk_bytes)
            total += chunks + self._left[suffix] * share
        return round(total)


def _suffix(source: SourceFile) -> str:
    return PurePosixPath(source.uri).suffix.lower()


@dataclass(slots=True)
class RunStats:
    """Counts the outcomes of a run of ``total`` sources; see `IndexReport`."""

    total: int = 0
    chunks: int = 0
    chunks_known: int = 0
    chunks_shown: int = 0
    bytes_ahead: int = 0
    """Bytes that were read of files that are not finished."""
    sentences: int = 0
    mentions: int = 0
    relations: int = 0
    tables: int = 0
    text_tokens: int = 0
    """Tokens of the committed documents, counted if a model that summarizes is set."""
    notes: list[str] = field(default_factory=list)
    unread_pictures: list[int] = field(default_factory=list)
    readings: Counter[ReadingStatus] = field(default_factory=Counter)
    left_out: LeftOut = field(default_factory=LeftOut)
    removed: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    outcomes: Counter[Stage] = field(default_factory=Counter)
    forecast: ChunkForecast = field(default_factory=ChunkForecast)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))
    started: float = field(default_factory=time.perf_counter)

    def add_seconds(self, seconds: Mapping[str, float]) -> None:
        """Add the times of a document that was prepared."""
        for stage, more in seconds.items():
            self.seconds[stage] += more

    def progress(
        self,
        stage: Stage,
        uri: str = "",
        *,
        note: str = "",
        read: int = 0,
        seconds: float = 0.0,
        part: FilePart = FilePart(),  # noqa: B008 - it is immutable
    ) -> Progress:
        """Count an outcome, and return the progress; ``read`` chunks are ready to be stored."""
        if stage in OUTCOMES:
            self.outcomes[stage] += 1
        if stage is Stage.REMOVED:
            self.removed.append(uri)
        self.chunks_shown = max(self.chunks_shown, self.chunks + read)
        counts = Counts(
            self.chunks_shown,
            self.chunks_known,
            self.forecast.total,
            self.forecast.bytes_read + self.bytes_ahead,
            self.forecast.bytes_total,
            seconds,
            part,
        )
        done = sum(self.outcomes.values()) - len(self.removed)
        return Progress(stage, done, self.total, uri, note, counts=counts)

    def failure(self, failed: Failure | LedgerEntry) -> Progress:
        """Count a failure, and return the progress."""
        if isinstance(failed, LedgerEntry):
            kept = failed.chunks > 0
            failed = Failure(failed.uri, failed.error_reason, failed.error, kept=kept)
        self.failures.append(failed)
        return replace(self.progress(Stage.FAILED, failed.uri, note=failed.message), value=failed)

    def stored(self, prepared: Prepared, *, counts_tokens: bool) -> Progress:
        """Count what a committed document brought, and return the progress."""
        leaves, metadata = prepared.leaves, prepared.document.metadata
        self.sentences += sum(len(chunk.sentences) for chunk in leaves)
        self.mentions += sum(len(e.mentions) for e in prepared.extractions)
        self.relations += sum(len(e.relations) for e in prepared.extractions)
        if counts_tokens:
            self.text_tokens += sum(count_tokens(chunk.text) for chunk in leaves)
        self.tables += len(prepared.document.tables)
        self.notes += unread_notes(prepared.document.uri, metadata)
        self.unread_pictures += unread_pictures(metadata)
        self.readings.update(reading.status for reading in prepared.readings)
        if prepared.left_out:
            self.left_out.add(prepared.left_out)
        stage = Stage.CHANGED if prepared.source.was_indexed else Stage.ADDED
        return self.progress(stage, prepared.source.uri)


class IndexingRun:
    """Brings an index up to date with sources, once; close it afterwards.

    A commit holds about ``batch_chunks`` chunks, by default as many as suit the stages; the
    embedder gets ``embedding_chunks`` at a time. ``engine`` prepares the documents. ``models`` and
    ``settings`` are those of the enrichment. ``clock`` returns seconds.
    """

    def __init__(  # noqa: PLR0913
        self,
        store: Store,
        stages: IndexingStages,
        *,
        engine: Engine | None = None,
        models: ModelRun | None = None,
        settings: Settings | None = None,
        options: IndexOptions | None = None,
        batch_chunks: int | None = None,
        embedding_chunks: int = EMBEDDING_CHUNKS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        options = options or {}
        self.store = store
        self.stages = stages
        self.engine = engine or Engine()
        self.models = models
        self.settings = settings or Settings()
        self.retry = options.get("retry", False)
        self.in_batches = options.get("batch")
        if self.in_batches is None and self.settings.llm.batch:
            self.in_batches = True
        self.stats = RunStats()
        self.clock = clock
        self.batch = Batch(clock=clock)
        usual_chunks = EMBEDDED_BATCH_CHUNKS if stages.embedding else BATCH_CHUNKS
        if stages.model_extractor and stages.tiers.reads_new:
            usual_chunks = READ_BATCH_CHUNKS
        self.batch_chunks = batch_chunks or usual_chunks
        self.embedding_chunks = embedding_chunks
        self.attempts = Attempts(store.url, clock=clock)
        self.writer = self.engine.open_writer(store, stages.embedding, stages.tiers)
        self.enrichment: Enrichment | None = None
        self.reader: DocumentReader | None = None
        if stages.model_extractor:
            open_reader = PARTS.load("document_reader")
            self.reader = open_reader(stages.model_extractor, stages.tiers)

    @classmethod
    def open(
        cls,
        store: Store,
        settings: Settings,
        options: IndexOptions,
        *,
        embedder: Embedder | None,
        chat_model: ChatModel | None = None,
        splitter: Splitter | None = None,
        extractor: Extractor | None = None,
        retries: RetryPolicy | None = None,
    ) -> Self:
        """Return a run as the settings have it, with its models; raises as `compose_stages`."""
        engine = open_engine(settings)
        models = ModelRun(
            settings.llm,
            companions=companions_of(store),
            count_tokens=count_tokens,
            model=chat_model,
            budget=options.get("budget", ""),
            retry=options.get("retry", False),
            retries=retries,
            prompts=read_prompt_folder(settings.prompts.dir),
        )
        stages = compose_stages(
            settings,
            embedder=engine.open_embedder(embedder) if embedder is not None else None,
            models=models,
            tier=options.get("tier"),
            indexed=store.ledger.settings_counts(),
            splitter=splitter,
            extractor=extractor,
        )
        return cls(store, stages, engine=engine, models=models, settings=settings, options=options)

    def close(self) -> None:
        """Close the engine, and the cache of calls to language models."""
        self.engine.close()
        if self.models is not None:
            self.models.close()

    def index(self, selection: SourceSelection) -> Steps[IndexReport]:
        """Index what changed, enrich the index with a model, and return the report.

        A source that fails is reported and the run continues. An error that concerns every
        document, of the store or a model, is raised after a commit of the finished documents. The
        last step before a ModelError is ``STOPPED``, with the report. Raises SchemaMismatch if the
        index holds the vectors of another embedder, MissingCapability if the store cannot hold what
        the stages write, and IndexingInterrupted, a KeyboardInterrupt, on Ctrl-C, after a commit
        too.
        """
        sources = list({source.uri: source for source in selection.files}.values())
        try:
            yield from self._read_in_batches(selection)
            self.stats.total = len(sources)
            check_not_switching(self.store)
            check_embedder(self.store, self.stages.embedding.name)
            _require_parts(self.store, self.stages)
            with self._committing():
                yield self.stats.progress(Stage.DISCOVERED)
                yield from self._prepare(sources)
                yield from self._flush()
                yield from self._stored(wait=True)
                drop_kept_vectors(self.store)
                if selection.covers is not None:
                    present = {source.uri for source in sources}
                    yield from self._remove_gone(present, selection.covers)
                if self.reader:
                    self.reader.check_answered()
            yield from self._enrich()
            report = self._report()
        except KeyboardInterrupt:
            with finishing():  # the report is read from the index
                raise IndexingInterrupted(self._report(interrupted=True)) from None
        except ModelError:
            self.enrichment = self.enrichment or Enrichment()
            stopped = self.stats.progress(Stage.STOPPED)
            yield replace(stopped, value=self._report(interrupted=True))
            raise
        last = self.stats.progress(Stage.FINISHED)
        counts = replace(last.counts, chunks_known=0, chunks_expected=0)
        yield replace(last, value=report, counts=counts)
        return report

    @Verb
    def update(
        self,
        sources: Sequence[SourceFile],
        *,
        covers: Callable[[LedgerEntry], bool] | None = None,
    ) -> Steps[IndexReport]:
        """Do as `index` for sources; entries that ``covers`` selects and they lack are removed."""
        return (yield from self.index(SourceSelection(tuple(sources), covers)))

    @contextmanager
    def _committing(self) -> Iterator[None]:
        """Commit the finished documents if the block is stopped; close what prepared them."""
        try:
            yield
        except KeyboardInterrupt:
            self._commit_finished(give_up=True)
            raise
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

    def _prepare(self, sources: Sequence[SourceFile]) -> Iterator[Progress]:
        """Prepare what changed, have a model read it if one should, and fill batches."""
        retry = self.retry
        reread = _reread(self.store, retry=retry, has_model=self.reader is not None)
        found = list(
            compare_with_ledger(
                sources, self.store.ledger, self.stages.tiers, retry=retry, reread=reread
            )
        )
        changed = [source for source in found if source.needs_reading]
        for source in changed:
            self.stats.forecast.expect(source)
        for source in checked(found):  # first, so that what is left of the run is known
            if not source.needs_reading:
                yield from self._skip(source)
        total_bytes = sum(source.size for source in changed)
        suspects: list[SourceFile] = []
        with closing(
            self.engine.open_preparer(self.stages.recipe, total_bytes=total_bytes)
        ) as preparer:
            for source in checked(changed):
                attempts = 0 if retry else self.attempts.count(source)
                if attempts >= MOST_STARTS:
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

    def _begin(self, source: SourceFile, preparer: Preparer) -> Progress:
        """Put a source in the queue of those that are prepared."""
        self.attempts.begin(source)
        preparer.begin(self.stages.as_begun(source))
        return self.stats.progress(Stage.STARTED, source.uri)

    def _take_next(self, preparer: Preparer) -> Iterator[Progress]:
        """Wait for the oldest document, with events while that takes long, and take it over."""
        started_s = self.clock()
        self.attempts.wait_for(preparer.oldest)
        while not preparer.wait(_PROGRESS_S):
            check_cancelled()
            self.attempts.wait_for(preparer.oldest)
            seconds, self.stats.bytes_ahead = self.clock() - started_s, preparer.bytes_read
            part = preparer.part
            yield self.stats.progress(Stage.READING, preparer.oldest, seconds=seconds, part=part)
            if self.batch.is_full(self.batch_chunks):
                yield from self._flush()
        found = preparer.take()
        self.stats.bytes_ahead = preparer.bytes_read
        self.stats.add_seconds(found.seconds)
        if isinstance(found, Undescribed):
            describer = self.stages.describer
            assert describer is not None, "only its documents are undescribed"
            with timed(self.stats.seconds, "read"):
                describer.begin(found)
            yield from self._take_described(preparer, waiting_pictures=OPEN_PICTURES)
            return
        self.stats.forecast.note(
            found.source, len(found.leaves) if isinstance(found, Prepared) else 0
        )
        if isinstance(found, Prepared):
            self._add(found)
        elif (error := found.own_error()) is not None:
            yield self._fail(found.source, error)
        else:
            yield from self._skip(found.source)
        yield from self._collect(waiting_chunks=READ_AHEAD_CHUNKS)
        if self.batch.is_full(self.batch_chunks):
            yield from self._flush()

    def _take_all(self, preparer: Preparer) -> Iterator[Progress]:
        """Take over all documents that were begun, and have a model read them to the end."""
        describer = self.stages.describer
        while preparer.open or (describer and describer.open):
            if preparer.open:
                yield from self._take_next(preparer)
            else:
                yield from self._take_described(preparer, waiting_pictures=0)
        yield from self._collect(waiting_chunks=0)

    def _take_described(self, preparer: Preparer, *, waiting_pictures: int) -> Iterator[Progress]:
        """Prepare documents whose pictures are described; wait while more pictures are open."""
        describer = self.stages.describer
        started_s = self.clock()
        while describer and (describer.is_ready() or describer.open_pictures > waiting_pictures):
            with timed(self.stats.seconds, "read"):
                is_ready = describer.wait(_PROGRESS_S)
            if is_ready:
                preparer.begin(describer.take())
            else:
                check_cancelled()
                seconds = self.clock() - started_s
                yield self.stats.progress(Stage.READING, describer.oldest, seconds=seconds)

    def _skip(self, source: SourceFile) -> Iterator[Progress]:
        entry = source.entry
        if entry is None:
            return
        touched = touched_entry(entry, source)
        if not entry.error:
            self._note(touched, source)
            yield self.stats.progress(Stage.UNCHANGED, source.uri)
            return
        if touched != entry:
            self.batch.entries.append(touched)
        yield self.stats.failure(entry)

    def _fail(self, source: SourceFile, error: LoadError) -> Progress:
        failed = failed_entry(source, error, self.stages.tiers)
        self._note(failed, source)
        return self.stats.failure(failed)

    def _note(self, entry: LedgerEntry, source: SourceFile) -> None:
        """Store a ledger entry with the next commit, unless the ledger has it."""
        if entry != source.entry:
            self.batch.entries.append(entry)
        else:
            self.attempts.end([source.uri])

    def _add(self, prepared: Prepared) -> None:
        """Put a document that was prepared into the batch, or in the queue of a model."""
        leaves = prepared.leaves
        self.stats.chunks_known += len(leaves)
        if embedding := self.stages.embedding:
            prepared = replace(prepared, keys=tuple(map(embedding.chunk_key, checked(leaves))))
        if self.reader and prepared.source.wants_model:
            self.reader.begin(prepared)
        else:
            self.batch.add(self.stages.admit(prepared))

    def _collect(self, *, waiting_chunks: int) -> Iterator[Progress]:
        """Take over what a model has read; wait while more chunks than these are open."""
        reader = self.reader
        while reader and (reader.is_ready() or reader.open_chunks > waiting_chunks):
            with timed(self.stats.seconds, "read"):
                finished = reader.step()
            yield self.stats.progress(Stage.READ, read=reader.read_chunks + self.batch.chunks)
            if finished:
                self.batch.add(self.stages.admit(finished))
            if self.batch.is_full(self.batch_chunks):
                yield from self._flush()

    def _flush(self) -> Iterator[Progress]:
        """Embed the batch and commit it, its first documents before the last if that takes long."""
        embedding, stats, batch = self.stages.embedding, self.stats, self.batch
        with timed(stats.seconds, "embed"):
            missing = batch.recall(self.store, embedding)
        if missing and not embedding.is_loaded:
            yield stats.progress(Stage.LOADING, note=embedding.name)
            with timed(stats.seconds, "embed"):
                embedding.load()
        stored = stats.chunks
        steps = batch.embed(missing, embedding, chunks_at_once=self.embedding_chunks)
        while True:
            with timed(stats.seconds, "embed"):
                done = next(steps, None)
            if done is None:
                break
            yield stats.progress(Stage.EMBEDDED, read=stored + done - stats.chunks)
            if unfinished := batch.first_unfinished():
                self.attempts.wait_for(unfinished.source.uri)
            if batch.is_due():
                yield from self._save_part()
        yield from self._commit()
        self.batch = Batch(clock=self.clock)
        collect_unpacked()

    def _save_part(self) -> list[Progress]:
        """Commit the documents that are embedded, or else keep the vectors of the first one."""
        if self.batch.finished().prepared:
            return self._commit()
        with timed(self.stats.seconds, "store"):
            is_kept = self.batch.keep_vectors(self.store, self.stages.embedding)
        if is_kept and (unfinished := self.batch.first_unfinished()):
            self.attempts.keep_part(unfinished.source)
        return []

    def _commit(self) -> list[Progress]:
        """Have the finished part of the batch written; return what is stored by now."""
        commit = self.batch.finished()
        if commit.prepared or commit.entries:
            if self.stages.questions is not None:
                with timed(self.stats.seconds, "extract"):
                    questions = self.stages.questions(
                        [chunk for document in commit.prepared for chunk in document.leaves],
                        [e for document in commit.prepared for e in document.extractions],
                    )
                commit = replace(commit, questions=questions)
            with timed(self.stats.seconds, "store"):
                self.writer.write(commit)
        self.batch.release(commit)
        return self._stored(wait=False)

    def _stored(self, *, wait: bool) -> list[Progress]:
        """Return the outcomes of what is stored since the last call; with ``wait``, of all."""
        counts_tokens = self.models is not None and self.models.has("summarize")
        events: list[Progress] = []
        with timed(self.stats.seconds, "store"):
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
            self.stats.chunks += sum(len(prepared.leaves) for prepared in stored)
            events += map(self.stats.failure, collided)
            events += (self.stats.stored(one, counts_tokens=counts_tokens) for one in stored)
        return events

    def _commit_finished(self, *, give_up: bool) -> None:
        """Commit the documents of a run that was stopped, if they are read and embedded in full.

        Waits for calls to a language model that are in progress, unless ``give_up``. A commit that
        takes too long after a cancellation is rolled back; the next run makes it.
        """
        with finishing(), suppress(Cancelled):
            for prepared in self.reader.close(give_up=give_up) if self.reader else ():
                self.batch.add(self.stages.admit(prepared))
            self._commit()
            self._stored(wait=True)

    def _remove_gone(
        self, present: set[str], covers: Callable[[LedgerEntry], bool]
    ) -> Iterator[Progress]:
        """Remove the documents that are gone, except those in a folder that cannot be read."""
        closed = {failure.uri for failure in self.stats.failures}
        gone = [
            entry
            for entry in self.store.ledger.entries()
            if entry.uri not in present and covers(entry) and not lies_in(entry.uri, closed)
        ]
        for start in range(0, len(gone), REMOVAL_DOCUMENTS):
            batch = gone[start : start + REMOVAL_DOCUMENTS]
            with timed(self.stats.seconds, "store"):
                remove_sources(self.store, batch)
            for entry in batch:
                if entry.chunks or not entry.error:
                    yield self.stats.progress(Stage.REMOVED, entry.uri)

    def _reading(self, selection: SourceSelection) -> Reading:
        reading: Reading = PARTS.load("reading")(
            selection.files,
            self.store.ledger,
            self.stages,
            self.engine,
            retry=self.retry,
            reread=_reread(self.store, retry=self.retry, has_model=True),
        )
        return reading

    def _read_in_batches(self, selection: SourceSelection) -> Iterator[Progress]:
        if self.models is not None and self.stages.model_extractor is not None:
            check_not_switching(self.store)
            check_embedder(self.store, self.stages.embedding.name)
            read_in_batches = PARTS.load("read_in_batches")
            reading = self._reading(selection)
            for step in read_in_batches(reading, self.models, wanted=self.in_batches):
                shown = self.stats.progress(Stage.ENRICHING, note=BATCH_STEP)
                yield replace(shown, done=step.done, total=step.total)

    def _enrich(self) -> Iterator[Progress]:
        """Have a model enrich the index, if there is one."""
        self.enrichment = Enrichment()
        models, stages = self.models, self.stages
        if models is None or stages.tier is Tier.NONE or not models.has("summarize"):
            return
        steps = PARTS.load("enrich")(
            self.store,
            models,
            stages.tier,
            settings=self.settings,
            embedding=stages.embedding,
            text_tokens=self.stats.text_tokens,
            retry=self.retry,
            done=self.enrichment,
        )
        counts = replace(self.stats.progress(Stage.ENRICHING).counts, chunks_expected=0)
        for step in steps:
            yield replace(step, counts=counts)

    def _report(self, *, interrupted: bool = False) -> IndexReport:
        store, stats, models, done = self.store, self.stats, self.models, self.enrichment
        embedding = self.stages.embedding
        chunks = store.documents.chunk_count()
        bare = chunks - store.vectors("chunk").count() if embedding else 0
        seconds = {**stats.seconds, **(done.seconds if done else {})}
        seconds["total"] = time.perf_counter() - stats.started
        seconds["embed"] += embedding.names_s
        seconds["store"] -= embedding.names_s
        return IndexReport(
            added=stats.outcomes[Stage.ADDED],
            changed=stats.outcomes[Stage.CHANGED],
            unchanged=stats.outcomes[Stage.UNCHANGED],
            removed=tuple(stats.removed),
            failures=tuple(stats.failures),
            chunks=stats.chunks,
            sentences=stats.sentences,
            mentions=stats.mentions,
            relations=stats.relations,
            readings=dict(stats.readings),
            unanswered=len(self.reader.absences) if self.reader else 0,
            left_out=stats.left_out or None,
            prompts=models.prompts if models else BUILT_IN,
            usage=models.meter.by_stage() if models else {},
            money=models.meter.money(models.prices) if models else None,
            enrichment=done,
            total_documents=store.documents.document_count(),
            total_chunks=chunks,
            total_entities=store.graph.entity_count(),
            embedder=embedding.name,
            embedded=embedding.embedded,
            reused=embedding.reused,
            seconds=seconds,
            without_vectors=bare,
            notes=tuple(dict.fromkeys(self._notes(chunks, bare))),
            interrupted=interrupted,
        )

    def _notes(self, chunks: int, bare: int) -> Iterator[str]:
        """Yield what the user should know about an index of so many chunks, and without vectors."""
        store, stages, stats, embedding = self.store, self.stages, self.stats, self.stages.embedding
        unread = bare - sum(refused_chunks(store).values()) if bare else 0
        settings = store.ledger.settings_counts() if unread else {}
        outdated = sum(n for used, n in settings.items() if not stages.tiers.is_current(used))
        if not embedding and embedding.wanted:
            yield NO_EMBEDDER_NOTE
        elif unread and outdated:
            yield OUTDATED_NOTE.format(count=unread, chunks=chunks, outdated=outdated)
        elif unread and embedding.languages:
            note = UNREAD_NOTE.format(count=unread, chunks=chunks, embedder=embedding.name)
            yield f"{note} {UNREAD_FIX}"
        if bare:
            yield from refused_notes(store)
        yield from _unsupported(store, tables=stats.tables)
        yield from stages.notes
        if stages.joins_full and stats.readings:
            yield JOINED_NOTE
        if stats.left_out:
            yield LEFT_OUT_NOTE.format(counts=stats.left_out)
        yield from stats.notes
        if pictures := unread_pictures_note(stats.unread_pictures):
            yield pictures
        for model in (stages.describer, self.reader, self.models):
            if model is not None:
                yield from model.notes

    def estimate(self, selection: SourceSelection) -> IndexEstimate:
        """Return what a model would read in `index` and what that would cost.

        It follows from cached replies and a few new ones. Leaves out sources that cannot be read.
        Raises ModelError if the model fails.
        """
        assert self.models is not None, "a run that was opened has models"
        return self._reading(selection).estimate(self.models, in_batches=bool(self.in_batches))


def _unsupported(store: Store, *, tables: int) -> Iterator[str]:
    """Yield a note on what indexing finds or derives by default and the store cannot hold."""
    parts = store.capabilities
    held = {
        "descriptions of entities": parts.readings,
        "merged entities": parts.resolutions,
        "homonyms": parts.homonyms,
        "communities": parts.communities,
        "tables": tables_of(store) if tables else True,
    }
    missing = [name for name, part in held.items() if part is None]
    if missing:
        yield UNSUPPORTED_NOTE.format(url=store.url, parts=", ".join(missing))


def _reread(store: Store, *, retry: bool, has_model: bool) -> frozenset[str]:
    """Return the ids of documents that ``retry`` reads again although they were indexed."""
    return documents_read_in_part(store, has_model=has_model) if retry else frozenset()


def _require_parts(store: Store, stages: IndexingStages) -> None:
    if stages.model_extractor is not None:
        require_readings(store)
    if stages.questions is not None:
        require_questions(store)
    if stages.tier is Tier.FULL:
        require_communities(store)
