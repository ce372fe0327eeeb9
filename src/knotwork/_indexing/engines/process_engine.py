"""The default engine: worker processes that read files, and the embedder in this process."""

from __future__ import annotations

from dataclasses import dataclass

from knotwork._indexing.changes import Tiers
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.preparation import Preparer, Recipe, open_preparer
from knotwork._indexing.reading_limits import DEFAULT_LIMITS, ReadingLimits
from knotwork._indexing.writers import DirectWriter, Writer
from knotwork._inference.embedder import Embedder
from knotwork._stores.base import Store


@dataclass(frozen=True, slots=True)
class ProcessEngine:
    """Reads files in ``workers`` processes within ``limits``; implements `Engine`.

    -1 is one process for each core, at most 8. 0 reads files in this process, without limits.
    """

    workers: int = 0
    limits: ReadingLimits = DEFAULT_LIMITS

    def open_preparer(self, recipe: Recipe, *, total_bytes: int) -> Preparer:
        return open_preparer(
            recipe, workers=self.workers, total_bytes=total_bytes, limits=self.limits
        )

    def open_embedder(self, embedder: Embedder) -> Embedder:
        return embedder

    def open_writer(self, store: Store, embedding: Embedding, tiers: Tiers) -> Writer:
        return DirectWriter(store, embedding, tiers)

    def close(self) -> None:
        """Do nothing: preparers end their own processes."""
