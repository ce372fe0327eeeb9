"""The engine that prepares, embeds and stores documents on a Ray cluster."""

from __future__ import annotations

import logging

from knotwork._config import EmbeddingSettings, IndexSettings
from knotwork._extensions.ray.cluster import RayCluster
from knotwork._extensions.ray.embedder import ModelSource, RayEmbedder
from knotwork._extensions.ray.preparer import RayPreparer, pickled_setup
from knotwork._extensions.ray.writer import RayWriter
from knotwork._indexing.changes import Tiers
from knotwork._indexing.commit import Writer
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.prepare import Preparer, Recipe
from knotwork._indexing.stages import Engine
from knotwork._indexing.worker_process import UNSENDABLE
from knotwork._indexing.workers import ReadingLimits
from knotwork._inference.embedder import Embedder
from knotwork._stores.base import Store, opener_of
from knotwork.errors import ConfigError

_log = logging.getLogger("knotwork.indexing")


class RayEngine(Engine):
    """Prepares documents in Ray tasks, embeds and stores them in actors.

    The cluster is connected when there is work. Raises MissingExtra if Ray is not installed, and
    ConfigError if the settings ask for no worker.
    """

    def __init__(self, index: IndexSettings, embedding: EmbeddingSettings) -> None:
        if index.workers == 0:
            raise ConfigError(
                f'index.compute = "{index.compute}" needs workers, and index.workers is 0.',
                fix="Set index.workers to -1, for all processors of the cluster.",
            )
        super().__init__(index.workers, ReadingLimits.of(index))
        self._settings = embedding
        self._cluster = RayCluster(index.compute, workers=index.workers)
        self._embedder: RayEmbedder | None = None

    def open_preparer(self, recipe: Recipe, *, total_bytes: int) -> Preparer:
        """Return a preparer on the cluster.

        A recipe that cannot be sent is used on this machine. So is any if there is nothing to read.
        """
        here = total_bytes == 0
        try:
            setup = pickled_setup(recipe, self.limits)
        except UNSENDABLE as error:
            _log.warning(
                "documents are prepared on this machine, as Ray needs parts that "
                "can be sent to other processes: %s",
                error,
            )
            here = True
        if here:
            return super().open_preparer(recipe, total_bytes=total_bytes)
        return RayPreparer(
            self._cluster, recipe, setup, limits=self.limits, total_bytes=total_bytes
        )

    def open_embedder(self, embedder: Embedder) -> Embedder:
        """Return an embedder in actors if the model of this one runs in a process.

        The client of a model server stays here, with its limits of requests.
        """
        if not hasattr(embedder, "is_loaded"):
            return embedder
        source = ModelSource.of(embedder, self._settings)
        if source is None:
            _log.warning("`%s` embeds on this machine: it cannot be sent to others", embedder.name)
            return embedder
        self._embedder = RayEmbedder(self._cluster, embedder, source)
        return self._embedder

    def open_writer(self, store: Store, embedding: Embedding, tiers: Tiers) -> Writer:
        """Return a writer in actors if the store can have several, else one of this process."""
        opener = opener_of(store)
        if opener is None:
            return super().open_writer(store, embedding, tiers)
        return RayWriter(self._cluster, store, opener, embedding, tiers)

    def close(self) -> None:
        """End the actors and the connection."""
        if self._embedder is not None:
            self._embedder.close()
        self._cluster.close()
