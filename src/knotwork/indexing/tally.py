"""The running counts of one run, from which its events and its report are made."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from knotwork.indexing.embedding import UNREAD_FIX, UNREAD_NOTE, Embedding
from knotwork.indexing.forecast import ChunkForecast
from knotwork.indexing.preparing import timed
from knotwork.indexing.report import OUTCOMES, EventKind, Failure, IndexEvent, IndexReport
from knotwork.indexing.stages import Prepared
from knotwork.indexing.tiers import Tiers
from knotwork.inference.model_run import ModelRun
from knotwork.records import ReadingStatus
from knotwork.stores.base import Store
from knotwork.text.tokens import count_tokens

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
