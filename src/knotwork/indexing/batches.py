"""Batches: documents on their way to one commit, and the vectors they lack until then."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice

from knotwork.indexing.embedding import (
    EMBEDDER_META,
    EMBEDDING_CHUNKS,
    NO_VECTORS,
    Embedding,
    known_vectors,
)
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
STEP_S = 0.2
"""Seconds between two steps of embedding, so that progress moves and costs little."""


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
    clock: Callable[[], float] = time.monotonic
    opened: float = field(init=False)

    def __post_init__(self) -> None:
        self.opened = self.clock()

    def add(self, prepared: Prepared, kind: EventKind) -> None:
        """Add a document that is ready to be embedded and stored."""
        self.prepared.append((prepared, kind))
        self.chunks += len(prepared.leaves)

    def is_full(self, limit: int) -> bool:
        """Tell whether to commit: enough chunks or entries, or something that waits too long."""
        waiting = bool(self.prepared) and self.clock() - self.opened > BATCH_S
        return self.chunks >= limit or len(self.entries) >= limit or waiting

    def recall(self, store: Store, embedding: Embedding) -> dict[str, Chunk]:
        """Take the vectors that the index holds; return the chunks that lack one, by their keys."""
        if not embedding or not self.prepared:
            return {}
        wanted: dict[str, Chunk] = {}
        unread = 0
        for prepared, _ in self.prepared:
            wanted.update(zip(prepared.keys, prepared.leaves, strict=True))
            unread += prepared.keys.count(NO_VECTORS)
        wanted.pop(NO_VECTORS, None)
        if store.meta().get(EMBEDDER_META):
            self.vectors = known_vectors(store, wanted)
        embedding.reused += self.chunks - unread - len(wanted) + len(self.vectors)
        return {key: chunk for key, chunk in wanted.items() if key not in self.vectors}

    def embed(
        self,
        missing: Mapping[str, Chunk],
        embedding: Embedding,
        *,
        chunks_at_once: int = EMBEDDING_CHUNKS,
    ) -> Iterator[int]:
        """Embed ``missing`` in document order; yield how many chunks of the batch are done.

        The first step comes with the first vectors; further ones are at least ``STEP_S`` apart.
        """
        done = self.chunks - len(missing)
        shown_s = -math.inf
        keys = iter(missing)
        chunks = list(missing.values())
        with closing(embedding.stream_chunks(chunks, at_once=chunks_at_once)) as stream:
            for rows in stream:
                self.vectors.update(zip(islice(keys, len(rows)), rows, strict=True))
                done += len(rows)
                if done == self.chunks or self.clock() - shown_s >= STEP_S:
                    shown_s = self.clock()
                    yield done

    def drop_unfinished(self) -> None:
        """Keep those documents alone that need nothing more."""
        self.prepared = [
            (prepared, kind)
            for prepared, kind in self.prepared
            if all(key in self.vectors for key in prepared.keys if key != NO_VECTORS)
        ]
        self.chunks = sum(len(prepared.leaves) for prepared, _ in self.prepared)
