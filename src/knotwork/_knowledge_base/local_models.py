"""The embedder, the reranker and the reader of a knowledge base, each opened on first use."""

from __future__ import annotations

import threading
import time

from knotwork._config import Settings
from knotwork._indexing.embedding import EMBEDDER_META, stored_embedder
from knotwork._inference.cross_encoders import AnswerReader, Reranker
from knotwork._inference.embedder import Embedder
from knotwork._inference.model_registry import (
    AUTO_EMBEDDER,
    open_embedder,
    open_reader,
    open_reranker,
)
from knotwork._stores.base import Store
from knotwork.errors import MissingExtra, ModelError

REST_S = 30.0
"""Seconds for which an embedder that failed is not asked."""


class LocalModels:
    """The models that one index is asked with. Safe for many threads.

    An ``embedder`` or ``reranker`` given here replaces that of the settings.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        self.given_embedder = embedder
        self._store = store
        self._settings = settings
        self._embedder = embedder
        self._has_embedder = embedder is not None
        self._embedder_of = ""
        self._reranker = reranker
        self._reader: AnswerReader | None = None
        self._has_reader = False
        self._failure: ModelError | None = None
        self._rests_until_s = 0.0
        self._lock = threading.RLock()

    @property
    def embedder(self) -> Embedder | None:
        """The embedder of the settings; None if they name none, or its extra is missing.

        "auto" follows the index, which another process may have embedded again.
        """
        with self._lock:
            embedding = self._settings.embedding
            follows_index = embedding.model == AUTO_EMBEDDER and self.given_embedder is None
            known = {"", self._embedder_of, self._embedder.name if self._embedder else ""}
            is_known = not follows_index or self._store.meta().get(EMBEDDER_META, "") in known
            if not self._has_embedder or not (is_known or stored_embedder(self._store) in known):
                stored = self._embedder_of = stored_embedder(self._store)
                try:
                    self._embedder = open_embedder(embedding.model, embedding, stored=stored)
                except MissingExtra:
                    self._embedder = None
                self._has_embedder = True
            return self._embedder

    @property
    def query_embedder(self) -> Embedder | None:
        """The embedder for questions; None if the index has no vectors, or while it rests."""
        has_vectors = self._store.meta().get(EMBEDDER_META)
        return self.embedder if has_vectors and not self.embedder_failure else None

    @property
    def embedder_failure(self) -> ModelError | None:
        """The error for which the embedder is not asked at present; None if it is."""
        return self._failure if time.monotonic() < self._rests_until_s else None

    def rest_embedder(self, failure: ModelError | None) -> None:
        """Do not ask the embedder for a while: each question would wait for its attempts."""
        self._failure, self._rests_until_s = failure, time.monotonic() + REST_S

    @property
    def reranker(self) -> Reranker | None:
        """The reranking model of the settings; None if they name none."""
        with self._lock:
            if self._reranker is None:
                self._reranker = open_reranker(self._settings.rerank)
            return self._reranker

    @property
    def reader(self) -> AnswerReader | None:
        """The model that reads passages for answers; None if it is missing or switched off."""
        with self._lock:
            if not self._has_reader:
                self._reader = open_reader(self._settings.answer.reader)
                self._has_reader = True
            return self._reader

    def replace_embedder(self, embedder: Embedder) -> None:
        """Use another embedder from now on: the index was embedded again with it."""
        with self._lock:
            self._embedder, self._has_embedder = embedder, True
            self._embedder_of = embedder.name
