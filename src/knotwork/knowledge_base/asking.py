"""The part of a knowledge base that finds passages and answers questions."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from knotwork.indexing.embedding import (
    EMBEDDER_META,
    UNFINISHED_NOTE,
    check_embedder,
    holds_vectors,
    unfinished_embedder,
)
from knotwork.inference.chat import ChatModel
from knotwork.inference.reranking import Reranker
from knotwork.records import Answer, Direction, Evidence, GraphPath, Query, Subgraph
from knotwork.retrieval.base import Retriever

if TYPE_CHECKING:
    from knotwork.config import Settings
    from knotwork.inference.base import Embedder
    from knotwork.inference.role_models import RoleModels
    from knotwork.stores.base import Store
    from knotwork.synthesis.asking import Asker, AskOptions
    from knotwork.synthesis.events import AskEvent

MOST_RETRIEVERS = 64
"""Kept for the next question, as anyone may compose new ones."""

NO_VECTORS_NOTE = (
    "Searched by full text and the knowledge graph alone: the vectors of this index are of "
    "`{stored}`, which is not at hand."
)


class Asking:
    """Searches, answers and walks; retrievers and models are made when they are first needed."""

    store: Store
    settings: Settings
    _lock: threading.RLock
    _chat_model: ChatModel | None
    _asker: Asker | None
    _search_models: RoleModels | None
    _reranker: Reranker | None
    _retrievers: dict[tuple[str, str, str], Retriever]

    if TYPE_CHECKING:

        @property
        def embedder(self) -> Embedder | None: ...

    @property
    def reranker(self) -> Reranker | None:
        """The reranking model of the settings, or None when they name none."""
        from knotwork.inference.reranker_registry import open_reranker

        with self._lock:
            if self._reranker is None:
                self._reranker = open_reranker(self.settings.rerank)
            return self._reranker

    def search(
        self, question: str, *, retriever: str | None = None, k: int | None = None
    ) -> Evidence:
        """Return the passages that bear on a question, best first, each with its reasons.

        ``retriever`` and ``k`` default to the settings. Raises UnknownName for an unknown
        retriever, RetrievalError when it cannot work on this index, SchemaMismatch when the index
        holds vectors of another embedder.
        """
        wanted = self.settings.retrieval
        query = Query(question, wanted.k if k is None else k)
        chosen, notes = self._retriever(retriever or wanted.retriever)
        evidence = chosen.retrieve(query)
        return _with_notes(evidence, notes)

    def ask(
        self,
        question: str,
        *,
        retriever: str | None = None,
        k: int | None = None,
        **options: Unpack[AskOptions],
    ) -> Answer:
        """Answer a question from the documents, each statement with its citation.

        Without a language model for answers in the settings the answer consists of sentences of
        the documents. When they hold no answer, ``answered`` is False and ``reason`` says why. See
        `AskOptions` for what a model may do, and `ask_events` for errors.
        """
        *_, last = self.ask_events(question, retriever=retriever, k=k, **options)
        assert last.answer is not None, "the last event has the answer"
        return last.answer

    def ask_events(
        self,
        question: str,
        *,
        retriever: str | None = None,
        k: int | None = None,
        **options: Unpack[AskOptions],
    ) -> Iterator[AskEvent]:
        """Do what `ask` does, and yield every step, the model's words as they come.

        The last event carries the answer. Calls to a model are kept beside the index: an equal
        question costs nothing the second time. Raises as `search`, ConfigError when the model is
        not set rightly, and ModelError when it fails and ``fallback`` is off.
        """
        from knotwork.synthesis.asking import Asker
        from knotwork.synthesis.sources import index_sources

        with self._lock:
            if self._asker is None:
                self._asker = Asker(self.store, self.settings, model=self._chat_model)
        sources = index_sources(
            self.store,
            search=lambda text: self.search(text, retriever=retriever, k=k),
            embedder=lambda: self.embedder if self.store.meta().get(EMBEDDER_META) else None,
            concurrency=self.settings.llm.concurrency,
        )
        return self._asker.answer(question, sources, options)

    def explore(
        self,
        names: str | Sequence[str],
        *,
        direction: Direction = "both",
        depth: int = 2,
        fan: int = 8,
        limit: int = 50,
    ) -> Subgraph:
        """Walk the graph from entities by name: see `GraphStore.explore`.

        Raises UnknownName with the nearest names when one means no entity.
        """
        from knotwork.retrieval.naming import resolve_names

        seeds = resolve_names(self.store, [names] if isinstance(names, str) else names)
        return self.store.graph.explore(
            seeds, direction=direction, depth=depth, fan=fan, limit=limit
        )

    def paths(self, one: str, other: str, *, limit: int = 5) -> list[GraphPath]:
        """Return the shortest paths in the graph between two names, those over stated relations
        first, each hop with the chunk that states it.

        There is none where both mean one thing, or where they are more than five hops apart. Raises
        UnknownName with the nearest names when one means no entity.
        """
        from knotwork.retrieval.naming import resolve_names
        from knotwork.retrieval.paths.connecting import connect

        ends = (resolve_names(self.store, [name]) for name in (one, other))
        return connect(self.store, *ends, limit=limit)

    def _retriever(self, name: str) -> tuple[Retriever, tuple[str, ...]]:
        """Return the retriever of this name, with notes on what it lacks."""
        from knotwork.retrieval.registry import (
            AUTO,
            build_retriever,
            may_ask_model,
            may_rerank,
            resolve_auto,
        )

        stored = self.store.meta().get(EMBEDDER_META, "")
        embedder = self.embedder if stored else None
        notes: tuple[str, ...] = ()
        into = unfinished_embedder(self.store)
        if embedder is not None and into == embedder.name != stored:
            embedder = None  # the vectors of the index cannot be compared with its own yet
        if embedder is not None:
            check_embedder(self.store, embedder.name)
        elif stored and not into and holds_vectors(self.store):
            notes = (NO_VECTORS_NOTE.format(stored=stored),)
        if into:
            means = "its old vectors" if embedder is not None else "full text and the graph"
            notes = (UNFINISHED_NOTE.format(into=into, means=means),)
        key = (name, resolve_auto(AUTO, self.store), embedder.name if embedder else "")
        with self._lock:
            if key not in self._retrievers:
                if len(self._retrievers) >= MOST_RETRIEVERS:
                    self._retrievers.clear()
                self._retrievers[key] = build_retriever(
                    name,
                    store=self.store,
                    embedder=embedder,
                    model=self._keyword_model() if may_ask_model(name) else None,
                    reranker=self.reranker if may_rerank(name) else None,
                )
            return self._retrievers[key], notes

    def _keyword_model(self) -> ChatModel | None:
        """Return the model that retrievers ask, with the calls of this index; None without one."""
        from knotwork.inference.role_models import RoleModels, calls_path

        if self._search_models is None:
            self._search_models = RoleModels(
                self.settings.llm, path=calls_path(self.store.url), model=self._chat_model
            )
        return self._search_models.open("keyword")


def _with_notes(evidence: Evidence, notes: tuple[str, ...]) -> Evidence:
    return replace(evidence, notes=(*evidence.notes, *notes)) if notes else evidence
