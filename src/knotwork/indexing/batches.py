"""Batches: documents on their way to one commit, and the vectors they lack until then."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from knotwork.indexing.embedding import EMBEDDER_META, NO_VECTORS, Embedding, known_vectors
from knotwork.indexing.report import EventKind
from knotwork.indexing.stages import Prepared, Stages
from knotwork.inference.base import PassageVectors
from knotwork.records import Chunk
from knotwork.stores.base import LedgerEntry, Store

BATCH_CHUNKS = 1_024
"""Ids are random, so each commit writes pages all over the file: the fewer commits, the less."""

EMBEDDED_BATCH_CHUNKS = 256
"""What a killed run loses of a model's work at most: seconds of it."""

READ_BATCH_CHUNKS = 128
"""Where a language model reads all: its server waits while a batch is written."""

BATCH_S = 5.0
EMBEDDING_CHUNKS = 128


def usual_batch_chunks(stages: Stages) -> int:
    """Return about how many chunks a commit holds."""
    if stages.reader and stages.tiers.reads_new:
        return READ_BATCH_CHUNKS
    return EMBEDDED_BATCH_CHUNKS if stages.embedding else BATCH_CHUNKS


@dataclass(slots=True)
class Batch:
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

    def embed(
        self, store: Store, embedding: Embedding, *, chunks_at_once: int = EMBEDDING_CHUNKS
    ) -> Iterator[int]:
        """Embed what the batch lacks, in document order; yield how many chunks are done."""
        if not embedding or not self.prepared:
            return
        wanted: dict[str, Chunk] = {}
        unread = 0
        for prepared, _ in self.prepared:
            wanted.update(zip(prepared.keys, prepared.leaves, strict=True))
            unread += prepared.keys.count(NO_VECTORS)
        wanted.pop(NO_VECTORS, None)
        if store.meta().get(EMBEDDER_META):
            self.vectors = known_vectors(store, wanted)
        embedding.reused += self.chunks - unread - len(wanted) + len(self.vectors)
        missing = [key for key in wanted if key not in self.vectors]
        for start in range(0, len(missing), chunks_at_once):
            keys = missing[start : start + chunks_at_once]
            rows = embedding.embed_chunks([wanted[key] for key in keys])
            self.vectors.update(zip(keys, rows, strict=True))
            yield self.chunks - len(missing) + start + len(keys)

    def drop_unfinished(self) -> None:
        """Keep those documents alone that need nothing more."""
        self.prepared = [
            (prepared, kind)
            for prepared, kind in self.prepared
            if all(key in self.vectors for key in prepared.keys if key != NO_VECTORS)
        ]
        self.chunks = sum(len(prepared.leaves) for prepared, _ in self.prepared)
