"""Read documents with a model: many chunks at a time, while others are prepared and stored."""

from __future__ import annotations

import math
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from knotwork._cancellation import Cancellation, in_context, wait_for
from knotwork._extensions.model_indexing.model_extractor import (
    ChunkJob,
    ChunkOutcome,
    ModelExtractor,
)
from knotwork._indexing.changes import Tiers
from knotwork._indexing.prepare import Prepared
from knotwork._inference.call_limits import PATIENCE, Patience
from knotwork.errors import ModelUnavailable
from knotwork.records import ChunkReading, ReadingStatus

if TYPE_CHECKING:
    pass

THREADS_A_CALL = 1.5
"""Threads for each call that may run: while some write a prompt or parse a reply, others keep the
server busy. The model's rate limiter bounds the number of calls.
"""


@dataclass(slots=True)
class _Open:
    """A document whose chunks are being read."""

    prepared: Prepared
    futures: deque[Future[ChunkOutcome]]
    outcomes: list[ChunkOutcome] = field(default_factory=list)


UNANSWERED_NOTE = (
    "The model did not answer for {chunks} only what the rules found. The next run asks again."
)


class DocumentReader:
    """Reads documents in the order in which they were added; use from one thread.

    A chunk whose reply cannot be used keeps what the rules found and is quarantined. If no server
    answered for a chunk, its document is pending, so that the next run reads it again.
    """

    def __init__(
        self, extractor: ModelExtractor, tiers: Tiers, *, patience: int = PATIENCE
    ) -> None:
        self._extractor = extractor
        self._tiers = tiers
        self._patience = Patience(patience, what="for {count} chunks")
        self._pool: ThreadPoolExecutor | None = None
        self._waits = Cancellation()
        self._documents: deque[_Open] = deque()
        self.open_chunks = 0
        self.read_chunks = 0
        """Chunks that were read, of documents that are not read in full."""
        self.answered = 0
        self.absences: list[str] = []
        """Why the server did not answer, for each chunk that waits for it; of all documents."""

    def begin(self, prepared: Prepared) -> None:
        """Add a document to the queue."""
        if self._pool is None:
            threads = math.ceil(THREADS_A_CALL * self._extractor.concurrency)
            self._pool = ThreadPoolExecutor(threads, "knotwork-read")
            self._waits = Cancellation()
        jobs = jobs_of(prepared)
        read, submit = self._extractor.extract_chunk, self._pool.submit
        futures = deque(submit(in_context(read, waits=self._waits), job) for job in jobs)
        self._documents.append(_Open(prepared, futures))
        self.open_chunks += len(futures)

    def is_ready(self) -> bool:
        """Return True if the oldest document has been read."""
        return bool(self._documents) and all(f.done() for f in self._documents[0].futures)

    def step(self) -> Prepared | None:
        """Wait for one chunk of the oldest document; return the document if it was the last.

        Raises ModelError for what concerns all chunks: an exhausted budget, a refused key, and
        ModelUnavailable if the server has stopped answering.
        """
        oldest = self._documents[0]
        if oldest.futures:
            outcome = wait_for(oldest.futures[0])
            oldest.futures.popleft()
            oldest.outcomes.append(outcome)
            self.read_chunks += 1
            if outcome.absence:
                self.absences.append(outcome.absence)
            else:
                self.answered += 1
            self._patience.note(outcome.absence)
        return None if oldest.futures else self._finish()

    def check_answered(self) -> None:
        """Raise ModelUnavailable if no chunk had an answer, in a run too short for `step` to."""
        if self.absences and not self.answered:
            count = len(self.absences)
            raise ModelUnavailable(
                f"The model did not answer for {count} chunk{'s' * (count > 1)}: {self.absences[0]}"
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """A message for the user if the server did not answer for some chunks."""
        count = len(self.absences)
        if not count:
            return ()
        chunks = "1 chunk, which has" if count == 1 else f"{count:,} chunks, which have"
        return (UNANSWERED_NOTE.format(chunks=chunks),)

    def close(self, *, give_up: bool = False) -> list[Prepared]:
        """Drop waiting chunks, and return the documents that were read in full.

        Waits for calls in progress, since they are paid for, unless ``give_up``.
        """
        if self._pool is None:
            return []
        if give_up:
            self._waits.cancel()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = None
        finished = []
        while self._documents and all(_is_read(f) for f in self._documents[0].futures):
            oldest = self._documents[0]
            oldest.outcomes += [future.result() for future in oldest.futures]
            finished.append(self._finish())
        self._documents.clear()
        self.open_chunks = self.read_chunks = 0
        return finished

    def _finish(self) -> Prepared:
        done = self._documents.popleft()
        self.open_chunks -= len(done.outcomes)
        self.read_chunks -= min(len(done.outcomes), self.read_chunks)
        missed = done.prepared.source.lacks_descriptions or any(
            outcome.unavailable for outcome in done.outcomes
        )
        source = self._extractor.model.name
        return replace(
            done.prepared,
            extractions=tuple(outcome.extraction for outcome in done.outcomes),
            readings=tuple(_reading_of(outcome, source) for outcome in done.outcomes),
            descriptions=(
                *done.prepared.descriptions,  # the last one of an entity in a chunk is stored
                *(d for outcome in done.outcomes for d in outcome.descriptions),
            ),
            settings=self._tiers.settings(True, read=not missed),
        )


def jobs_of(prepared: Prepared) -> list[ChunkJob]:
    """Return a job for each leaf chunk of a document, on top of what the rules found."""
    return [
        ChunkJob(prepared.document, chunk, base, prepared.memories.get(chunk.id, ""))
        for chunk, base in zip(prepared.leaves, prepared.extractions, strict=True)
    ]


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
