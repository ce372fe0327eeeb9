"""Read documents with a model: many chunks at a time, while others are prepared and stored."""

from __future__ import annotations

import gc
import math
import sys
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Self

from knotwork.errors import ModelUnavailable
from knotwork.indexing.changes import Tiers
from knotwork.indexing.prepared import Prepared
from knotwork.indexing.report import EventKind
from knotwork.inference.call_cache import CachedChatModel
from knotwork.inference.chat import ChatModel, ChatRequest, TokenUsage
from knotwork.inference.concurrency import PATIENCE, Patience
from knotwork.records import ChunkReading, ReadingStatus
from knotwork.stores.base import Store
from knotwork.stores.extensions import StoresReadings
from knotwork.transform.model.model_extractor import ChunkJob, ChunkOutcome, ModelExtractor

READ_AHEAD_CHUNKS = 512
"""Chunks that may wait for the model: enough to keep its server busy while a batch is stored."""

SWITCH_S = 0.001
"""After how long a busy thread lets others run while a model reads, five times as often as usual:
each call needs the interpreter a dozen times for a moment, and waits for it as long each time. Much
less, and the changes cost more than they bring.
"""

GARBAGE_OBJECTS = 20_000
"""New objects after which garbage is looked for while a model reads: the usual 700 take a sixth of
the time of all threads, for garbage that is hardly there.
"""

THREADS_A_CALL = 1.5
"""Threads for each call that may run: while some write a prompt or read a reply, others keep every
place at the server taken. The model's pace sees to the number of calls.
"""


@dataclass(frozen=True, slots=True)
class _Manners:
    """How the interpreter of this process shares its time, which ends with the reading."""

    switch_s: float
    garbage: tuple[int, ...]

    @classmethod
    def of_now(cls) -> Self:
        return cls(sys.getswitchinterval(), gc.get_threshold())

    def take(self) -> None:
        sys.setswitchinterval(self.switch_s)
        gc.set_threshold(*self.garbage)


@dataclass(slots=True)
class _Open:
    """A document whose chunks are being read."""

    prepared: Prepared
    kind: EventKind
    futures: deque[Future[ChunkOutcome]]
    outcomes: list[ChunkOutcome] = field(default_factory=list)


class DocumentReader:
    """Reads documents in the order given; use from one thread.

    A chunk whose reply cannot be used keeps what the rules found and is quarantined. One that no
    server answered for makes its document pending, so that the next run reads it again.
    """

    def __init__(
        self, extractor: ModelExtractor, tiers: Tiers, *, patience: int = PATIENCE
    ) -> None:
        self._extractor = extractor
        self._tiers = tiers
        self._patience = Patience(patience, what="for {count} chunks")
        self._pool: ThreadPoolExecutor | None = None
        self._documents: deque[_Open] = deque()
        self._usual = _Manners.of_now()
        self.open_chunks = 0
        self.read_chunks = 0
        """Chunks of unfinished documents that were read."""

    @property
    def model(self) -> ChatModel:
        """The model that reads."""
        return self._extractor.model

    @property
    def memory_tokens(self) -> int:
        """Tokens of other chunks in each prompt, at most."""
        return self._extractor.memory_tokens

    def jobs(self, prepared: Prepared) -> list[ChunkJob]:
        """Return what there is to read in a document."""
        return self._extractor.jobs(
            prepared.document, prepared.leaves, prepared.extractions, prepared.memories
        )

    def request(self, job: ChunkJob) -> ChatRequest | None:
        """Return the first request for a chunk; None for one without words, which is not asked."""
        return self._extractor.request(job)

    def cost(self, job: ChunkJob) -> TokenUsage:
        """Have one chunk read, and return what all its turns cost, now or when they were asked.

        Raises ModelError, ModelUnavailable when no server answers among them.
        """
        before = self._spent_and_saved()
        outcome = self._extractor.extract_chunk(job)
        if outcome.unavailable:
            raise ModelUnavailable(outcome.reason, fix="Run again when the server answers.")
        return self._spent_and_saved().since(before)

    def spent(self) -> TokenUsage:
        """Return what this run has cost so far."""
        model = self.model
        return model.meter.total() if isinstance(model, CachedChatModel) else TokenUsage()

    def _spent_and_saved(self) -> TokenUsage:
        model = self.model
        saved = model.meter.saved if isinstance(model, CachedChatModel) else TokenUsage()
        return self.spent() + saved

    def begin(self, prepared: Prepared, kind: EventKind) -> None:
        """Have a document read; ``kind`` comes back with it."""
        if self._pool is None:
            threads = math.ceil(THREADS_A_CALL * self._extractor.concurrency)
            self._pool = ThreadPoolExecutor(threads, "knotwork-read")
            self._usual = _Manners.of_now()
            _Manners(SWITCH_S, (GARBAGE_OBJECTS, *self._usual.garbage[1:])).take()
        submit = self._pool.submit
        futures = deque(submit(self._extractor.extract_chunk, job) for job in self.jobs(prepared))
        self._documents.append(_Open(prepared, kind, futures))
        self.open_chunks += len(futures)

    def is_ready(self) -> bool:
        """Tell whether the oldest document is read."""
        return bool(self._documents) and all(f.done() for f in self._documents[0].futures)

    def step(self) -> tuple[Prepared, EventKind] | None:
        """Wait for one chunk of the oldest document; return the document if it was the last.

        Raises ModelError for what concerns all chunks: a ceiling that is reached, a key that is
        refused, and ModelUnavailable when no server answers any more.
        """
        oldest = self._documents[0]
        if oldest.futures:
            outcome = oldest.futures[0].result()
            oldest.futures.popleft()
            oldest.outcomes.append(outcome)
            self.read_chunks += 1
            self._patience.note(outcome.absence)
        return None if oldest.futures else self._finish()

    def close(self, *, give_up: bool = False) -> list[tuple[Prepared, EventKind]]:
        """Begin nothing more, and return the documents that are read in full.

        Calls under way are waited for, since they are paid for, unless ``give_up``.
        """
        if self._pool is None:
            return []
        if give_up and self._extractor.halt is not None:
            self._extractor.halt.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = None
        self._usual.take()
        finished = []
        while self._documents and all(_is_read(f) for f in self._documents[0].futures):
            done = self._documents[0]
            done.outcomes += [future.result() for future in done.futures]
            finished.append(self._finish())
        self._documents.clear()
        self.open_chunks = self.read_chunks = 0
        return finished

    def _finish(self) -> tuple[Prepared, EventKind]:
        done = self._documents.popleft()
        self.open_chunks -= len(done.outcomes)
        self.read_chunks -= min(len(done.outcomes), self.read_chunks)
        missed = any(outcome.unavailable for outcome in done.outcomes)
        source = self._extractor.model.name
        read = replace(
            done.prepared,
            extractions=tuple(outcome.extraction for outcome in done.outcomes),
            readings=tuple(_reading_of(outcome, source) for outcome in done.outcomes),
            descriptions=(
                *done.prepared.descriptions,  # of one entity in one chunk the last one is kept
                *(d for outcome in done.outcomes for d in outcome.descriptions),
            ),
            settings=self._tiers.settings(True, read=not missed),
        )
        return read, done.kind


def _is_read(future: Future[ChunkOutcome]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _reading_of(outcome: ChunkOutcome, source: str) -> ChunkReading:
    quarantined = outcome.status is ReadingStatus.QUARANTINED
    return ChunkReading(
        outcome.chunk_id,
        source,
        outcome.status,
        reason=outcome.reason if quarantined else "",
        raw=outcome.raw,
        complaints=tuple(": ".join(filter(None, (c.line, c.reason))) for c in outcome.complaints),
    )


def quarantined_documents(store: Store) -> frozenset[str]:
    """Return the ids of the documents with a chunk that no reply of a model could be used for."""
    if not isinstance(store, StoresReadings):
        return frozenset()
    chunks = [reading.chunk_id for reading in store.readings.quarantined()]
    return frozenset(chunk.document_id for chunk in store.documents.chunks(chunks).values())
