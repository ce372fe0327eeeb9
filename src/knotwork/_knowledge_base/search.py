"""Search a knowledge base, answer questions from it, and walk its graph from names."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from knotwork._inference.chat import ChatModel
from knotwork._inference.cross_encoders import AnswerReader, Reranker
from knotwork._knowledge_base.local_models import LocalModels
from knotwork._knowledge_base.searcher import Retrievers, ScopedSearcher, store_fields
from knotwork._stores.base import Store
from knotwork._synthesis.ask_request import AskOptions, AskRequest
from knotwork.records import (
    RETRIEVAL_QUERY,
    Answer,
    Direction,
    Evidence,
    GraphPath,
    PropertyValue,
    QueryResult,
    Subgraph,
)

if TYPE_CHECKING:
    from knotwork._config import Settings
    from knotwork._retrieval.entity_lookup import Dossier
    from knotwork._retrieval.filter_parser import FilterSpec
    from knotwork._stores.fields import FieldInfo
    from knotwork._synthesis.ask_request import AskEvent
    from knotwork._synthesis.engine import AnswerEngine


class SearchMixin:
    """Searches, answers and walks; retrievers and models are opened on first use."""

    store: Store
    settings: Settings
    models: LocalModels
    retrievers: Retrievers
    _lock: threading.RLock
    _chat_model: ChatModel | None
    _engine: AnswerEngine | None

    @property
    def reranker(self) -> Reranker | None:
        """The reranking model of the settings; None if they name none."""
        return self.models.reranker

    @property
    def reader(self) -> AnswerReader | None:
        """The model that reads passages for answers; None if it is missing or switched off."""
        return self.models.reader

    def search(
        self,
        question: str | AskRequest,
        *,
        retriever: str | None = None,
        k: int | None = None,
        filters: FilterSpec | None = None,
        min_score: float | None = None,
        retrieval_query: str | None = None,
        query_params: Mapping[str, PropertyValue] | None = None,
    ) -> Evidence:
        """Return the passages that are relevant to a question, best first, each with its reasons.

        An `AskRequest` holds its own options. ``retriever`` and ``k`` default to the settings.
        ``filters`` restrict the search to documents and pages, as ``"author = 'Ann' and
        date >= 2023"`` or ``{"author": "Ann"}``; `fields` returns what can be compared. Passages
        that score less than ``min_score``, on the scale of the retriever, are left out.

        ``retrieval_query`` is read-only Cypher that runs over the hits: it starts from `node`, a
        chunk that was found, and `score`, as "MATCH (node)-[:MENTIONS]->(e) RETURN e.name, score";
        ``query_params`` are its parameters, beside `$question`. Its rows are the last of
        ``Evidence.results``, and chunks in these rows become hits.

        Raises UnknownName for an unknown retriever or field, FilterError for an invalid filter,
        RetrievalError if the retriever cannot work on this index, SchemaMismatch if the index has
        vectors of another embedder; QuerySyntaxError, QueryRefused or QueryTimeout for
        ``retrieval_query``.
        """
        options = AskOptions(
            retriever=retriever,
            k=k,
            filters=filters,
            min_score=min_score,
            retrieval_query=retrieval_query,
            query_params=query_params,
        )
        request = AskRequest.of(question, options)
        searcher = self.retrievers.searcher(request)
        found = searcher.search(searcher.scope.question)
        return replace(found, query=replace(found.query, text=request.question))

    def fields(self) -> list[FieldInfo]:
        """Return the fields that filters can compare, by name, with their most frequent values.

        Raises RetrievalError if the store cannot filter.
        """
        return store_fields(self.store).fields()

    def filtered_store(self, filters: FilterSpec | None) -> Store:
        """Return the index as filters leave it, which is read-only; all of it without any.

        Raises UnknownName for an unknown field, FilterError for an invalid filter.
        """
        from knotwork._retrieval.filter_parser import read_filter

        wanted = read_filter(filters)
        return self.store if wanted is None else self.retrievers.filtered(wanted).store

    def ask(self, question: str | AskRequest, **options: Unpack[AskOptions]) -> Answer:
        """Answer a question from the documents, each statement with its citation.

        Options are the fields of `AskRequest`; beside a request they raise TypeError. Without a
        language model in the settings the answer consists of sentences of the documents. If they
        hold no answer, ``answered`` is False and ``reason`` says why. Raises as `ask_events`.
        """
        *_, last = self.ask_events(question, **options)
        assert last.answer is not None, "the last event has the answer"
        return last.answer

    def ask_events(
        self, question: str | AskRequest, **options: Unpack[AskOptions]
    ) -> Iterator[AskEvent]:
        """Do what `ask` does, and yield every step, the model's words as they come.

        The last event carries the answer. Calls to a model are cached beside the index: an equal
        question costs nothing the second time. Rows of tables answer questions that are clearly
        about them, unless a retriever or a filter is given (`answer.tables`). Raises as `search`,
        UnknownName for an unknown mode, ConfigError if the model is set wrongly, and ModelError if
        it fails and ``fallback`` is off.
        """
        request = AskRequest.of(question, options)
        searcher = self.retrievers.searcher(request, with_tables=True)
        return self._answer(request, searcher)

    def _answer(self, request: AskRequest, searcher: ScopedSearcher) -> Iterator[AskEvent]:
        from knotwork._synthesis.engine import AnswerEngine
        from knotwork._synthesis.inquiry import AnswerSources, CommunityReports

        with self._lock:
            if self._engine is None:
                self._engine = AnswerEngine(self.store, self.settings, model=self._chat_model)
        scope = searcher.scope
        part = scope.part.store if scope.filter else None
        store = scope.part.store
        plan = self._engine.plan(replace(request, question=scope.question), store)
        evidence = searcher.search(plan.question)
        reports = CommunityReports(self.store, self.models, self.settings, part)
        sources = AnswerSources(store, searcher, self.models, reports)
        rows: tuple[QueryResult, ...] = ()
        for event in self._engine.answer(plan, evidence, sources):
            if event.evidence is not None:
                found = event.evidence.results
                rows = tuple(r for r in found if r.source == RETRIEVAL_QUERY) or rows
            if event.answer is None:
                yield event
                continue
            notes = tuple(dict.fromkeys((*scope.notes, *event.answer.notes)))
            results = (*event.answer.results, *rows)
            answer = replace(event.answer, question=request.question, notes=notes, results=results)
            yield replace(event, answer=answer)

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

        Raises UnknownName with the nearest names if a name has no entity.
        """
        from knotwork._retrieval.entity_lookup import resolve_names

        seeds = resolve_names(self.store, [names] if isinstance(names, str) else names)
        return self.store.graph.explore(
            seeds, direction=direction, depth=depth, fan=fan, limit=limit
        )

    def describe(
        self, names: str | Sequence[str], *, passages: int = 3, relations: int = 8, nearby: int = 8
    ) -> list[Dossier]:
        """Return a dossier on each of these entities: aliases, description, relations, communities,
        passages, and the other entities that these passages mention.

        Raises UnknownName with the nearest names if a name has no entity.
        """
        from knotwork._retrieval.entity_lookup import read_dossier, resolve_names

        given = [names] if isinstance(names, str) else names
        found = dict.fromkeys(resolve_names(self.store, [name])[0] for name in given)
        read = (
            read_dossier(self.store, key, relations=relations, passages=passages, nearby=nearby)
            for key in found
        )
        return [dossier for dossier in read if dossier is not None]

    def paths(self, one: str, other: str, *, limit: int = 5) -> list[GraphPath]:
        """Return the shortest paths in the graph between two names, those over stated relations
        first, each hop with the chunk that states it.

        The list is empty if both names mean one entity, or if they are more than five hops apart.
        Raises UnknownName with the nearest names if a name has no entity.
        """
        from knotwork._retrieval.entity_lookup import resolve_names
        from knotwork._retrieval.paths.shortest_paths import find_shortest_paths

        ends = (resolve_names(self.store, [name]) for name in (one, other))
        return find_shortest_paths(self.store, *ends, limit=limit)
