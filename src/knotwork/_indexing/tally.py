"""Count what a run of indexing does, and build its progress and its report.

`ChunkForecast` estimates the number of chunks from file sizes.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from knotwork._indexing.changes import Tiers
from knotwork._indexing.document_reader import DocumentReader
from knotwork._indexing.embedding import (
    UNREAD_FIX,
    UNREAD_NOTE,
    Embedding,
    refused_chunks,
    refused_notes,
)
from knotwork._indexing.loaders.unread import unread_notes, unread_pictures, unread_pictures_note
from knotwork._indexing.preparation import timed
from knotwork._indexing.prepared import Candidate, Prepared
from knotwork._indexing.report import Failure, IndexReport
from knotwork._indexing.stages import IndexingStages
from knotwork._inference.own_prompts import BUILT_IN
from knotwork._inference.role_models import ModelRun
from knotwork._run import OUTCOMES, Counts, Progress, Stage
from knotwork._stores.base import Store
from knotwork._stores.index_tables import tables_of
from knotwork._text.token_counts import count_tokens
from knotwork._transform.model.extraction_schema import LeftOut
from knotwork.records import ReadingStatus

UNSUPPORTED_NOTE = "The store `{url}` does not support {parts}. They were left out."

_TEXT_BYTES = 1_000
_PACKED_BYTES = 20_000
"""Assumed bytes of a chunk before any file of the format was read: text, and packed formats."""
_PRIOR_CHUNKS = 20
"""The weight of that assumption, in chunks, once files of the format have been read."""
_PACKED = frozenset({".pdf", ".docx", ".pptx", ".xlsx", ".xls", ".doc", ".ppt", ".epub", ".zip"})


@dataclass(slots=True)
class _Format:
    """Files of one suffix: bytes to read, bytes read, and the chunks that these made."""

    left: int = 0
    read: int = 0
    chunks: int = 0


class ChunkForecast:
    """Estimates the chunks of a run from the chunks per byte of the files read so far.

    Each suffix counts apart: a megabyte of PDF makes far fewer chunks than one of plain text.
    """

    def __init__(self) -> None:
        self._formats: defaultdict[str, _Format] = defaultdict(_Format)
        self.total = 0
        """The chunks of the whole run."""
        self.bytes_read = 0
        """The bytes of the files that were read so far."""
        self.bytes_total = 0
        """The bytes of all files to read."""

    def expect(self, source: Candidate) -> None:
        """Add a file that will be read."""
        self._formats[_suffix(source)].left += source.size
        self.bytes_total += source.size
        self._count()

    def note(self, source: Candidate, chunks: int) -> None:
        """Add how many chunks a file made, 0 if it is unchanged or failed."""
        found = self._formats[_suffix(source)]
        found.left = max(found.left - source.size, 0)
        found.read += source.size
        self.bytes_read += source.size
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


JOINED_NOTE = (
    "New documents were read by the model, as it read all of this index before; --tier lean leaves "
    "it out."
)
LEFT_OUT_NOTE = "The strict schema left out {counts}. See extraction.schema."
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
    """Counts the outcomes of a run of ``total`` sources, and builds its progress and report."""

    total: int = 0
    chunks: int = 0
    chunks_known: int = 0
    chunks_shown: int = 0
    forecast: ChunkForecast = field(default_factory=ChunkForecast)
    sentences: int = 0
    tables: int = 0
    unread: list[str] = field(default_factory=list)
    unread_pictures: list[int] = field(default_factory=list)
    mentions: int = 0
    relations: int = 0
    text_tokens: int = 0
    """Tokens of the committed documents, counted if a model that summarizes is set."""
    readings: Counter[ReadingStatus] = field(default_factory=Counter)
    left_out: LeftOut = field(default_factory=LeftOut)
    models: ModelRun | None = None
    reader: DocumentReader | None = None
    removed: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    outcomes: Counter[Stage] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))
    started: float = field(default_factory=time.perf_counter)

    def timed(self, stage: str) -> AbstractContextManager[None]:
        """Add the time of the block to a stage."""
        return timed(self.seconds, stage)

    def progress(
        self,
        stage: Stage,
        uri: str = "",
        *,
        note: str = "",
        read: int = 0,
        seconds: float = 0.0,
        share: float = 0.0,
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
            self.forecast.bytes_read,
            self.forecast.bytes_total,
            seconds,
            share,
        )
        done = sum(self.outcomes.values()) - len(self.removed)
        return Progress(stage, done, self.total, uri, note, counts=counts)

    def failure(self, failure: Failure) -> Progress:
        """Count a failure, and return the progress."""
        self.failures.append(failure)
        step = self.progress(Stage.FAILED, failure.uri, note=failure.message)
        return replace(step, value=failure)

    def stored(self, prepared: Prepared) -> None:
        """Count what a committed document brought."""
        leaves = prepared.leaves
        self.sentences += sum(len(chunk.sentences) for chunk in leaves)
        self.mentions += sum(len(e.mentions) for e in prepared.extractions)
        self.relations += sum(len(e.relations) for e in prepared.extractions)
        if self.models is not None and self.models.has("summarize"):
            self.text_tokens += sum(count_tokens(chunk.text) for chunk in leaves)
        self.tables += len(prepared.document.tables)
        self.unread += unread_notes(prepared.document.uri, prepared.document.metadata)
        self.unread_pictures += unread_pictures(prepared.document.metadata)
        self.readings.update(reading.status for reading in prepared.readings)
        if prepared.left_out:
            self.left_out.add(prepared.left_out)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self.started

    def report(
        self, store: Store, stages: IndexingStages, *, interrupted: bool = False
    ) -> IndexReport:
        """Return the report of the run so far."""
        embedding = stages.embedding
        seconds = {**self.seconds, "total": self.elapsed_s}
        seconds["embed"] += embedding.names_s
        seconds["store"] -= embedding.names_s
        chunks = store.documents.chunk_count()
        bare = chunks - store.vectors("chunk").count() if embedding else 0
        unread = bare - sum(refused_chunks(store).values()) if bare else 0
        outdated = _count_outdated(store, stages.tiers) if unread else 0
        return IndexReport(
            added=self.outcomes[Stage.ADDED],
            changed=self.outcomes[Stage.CHANGED],
            unchanged=self.outcomes[Stage.UNCHANGED],
            removed=tuple(self.removed),
            failures=tuple(self.failures),
            chunks=self.chunks,
            sentences=self.sentences,
            mentions=self.mentions,
            relations=self.relations,
            readings=dict(self.readings),
            unanswered=len(self.reader.absences) if self.reader else 0,
            left_out=self.left_out or None,
            prompts=self.models.prompts if self.models else BUILT_IN,
            usage=self.models.meter.by_stage() if self.models else {},
            money=self.models.meter.money(self.models.prices) if self.models else None,
            total_documents=store.documents.document_count(),
            total_chunks=chunks,
            total_entities=store.graph.entity_count(),
            embedder=embedding.name,
            embedded=embedding.embedded,
            reused=embedding.reused,
            seconds=seconds,
            without_vectors=bare,
            notes=(
                *_notes(embedding, chunks, unread, outdated),
                *(refused_notes(store) if bare else ()),
                *_unsupported(store, tables=self.tables),
                *stages.notes,
                *((JOINED_NOTE,) if stages.joins_full and self.readings else ()),
                *((LEFT_OUT_NOTE.format(counts=self.left_out),) if self.left_out else ()),
                *self.unread,
                *filter(None, [unread_pictures_note(self.unread_pictures)]),
                *(stages.describer.notes if stages.describer else ()),
                *(self.reader.notes if self.reader else ()),
                *(self.models.notes if self.models else ()),
            ),
            interrupted=interrupted,
        )


def _count_outdated(store: Store, tiers: Tiers) -> int:
    """Return how many documents were indexed with other settings than these."""
    counts = store.ledger.settings_counts()
    return sum(count for settings, count in counts.items() if not tiers.is_current(settings))


def _unsupported(store: Store, *, tables: int) -> tuple[str, ...]:
    """Return a note on what indexing finds or derives by default and the store cannot hold."""
    parts = store.capabilities
    missing = [
        name
        for name, part in (
            ("descriptions of entities", parts.readings),
            ("merged entities", parts.resolutions),
            ("homonyms", parts.homonyms),
            ("communities", parts.communities),
        )
        if part is None
    ]
    if tables and tables_of(store) is None:
        missing.append("tables")
    return (UNSUPPORTED_NOTE.format(url=store.url, parts=", ".join(missing)),) if missing else ()


def _notes(embedding: Embedding, chunks: int, bare: int, outdated: int) -> tuple[str, ...]:
    """Return what the user should know about an index of ``chunks``, ``bare`` without vectors."""
    if not embedding:
        return (NO_EMBEDDER_NOTE,) if embedding.wanted else ()
    if bare and outdated:
        return (OUTDATED_NOTE.format(count=bare, chunks=chunks, outdated=outdated),)
    if bare and embedding.languages:
        note = UNREAD_NOTE.format(count=bare, chunks=chunks, embedder=embedding.name)
        return (f"{note} {UNREAD_FIX}",)
    return ()
