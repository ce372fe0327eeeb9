"""The knowledge base: one index with its store, loaders, extractor, models and retrievers.

`open` opens it with settings from a file, the environment or the caller.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from knotwork.config import Settings, load_settings
from knotwork.config.settings import setting_fields
from knotwork.errors import ConfigError, UnknownName
from knotwork.indexing.embedding import EMBEDDER_META, Embedding
from knotwork.indexing.report import EventKind, IndexEvent, IndexReport
from knotwork.inference.chat import ChatModel
from knotwork.inference.cross_encoders import Reranker
from knotwork.inference.embedder import Embedder
from knotwork.inference.model_registry import NO_EMBEDDER
from knotwork.knowledge_base.entities import EntityMixin
from knotwork.knowledge_base.graph import CypherMixin, GraphImportMixin
from knotwork.knowledge_base.local_models import LocalModels
from knotwork.knowledge_base.search import SearchMixin
from knotwork.knowledge_base.searcher import Retrievers
from knotwork.notebook import register_views
from knotwork.records import Document, GraphSchema
from knotwork.stores.base import LedgerEntry, Store
from knotwork.stores.urls import open_store

if TYPE_CHECKING:
    from knotwork.indexing.communities.index_reports import Topic
    from knotwork.indexing.foreign_indexes import ImportReport
    from knotwork.indexing.reembedding import EmbedEvent, EmbedReport
    from knotwork.indexing.runs import IndexEstimate, IndexingRun, IndexOptions
    from knotwork.synthesis.engine import AnswerEngine


class KnowledgeBase(SearchMixin, EntityMixin, GraphImportMixin, CypherMixin):
    """One index with all that fills it and asks it.

    Reading from several threads is safe. Parts are made on first use: a knowledge base that only
    looks up names never loads a model.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings | None = None,
        *,
        embedder: Embedder | None = None,
        chat_model: ChatModel | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        self.store = store
        self.settings = settings or Settings()
        self.models = LocalModels(store, self.settings, embedder=embedder, reranker=reranker)
        self.retrievers = Retrievers(store, self.settings, self.models, chat_model=chat_model)
        self._chat_model = chat_model
        self._engine: AnswerEngine | None = None
        self._lock = threading.RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the index, and the file of calls to language models beside it."""
        self.store.close()
        self.retrievers.close()
        with self._lock:
            if self._engine is not None:
                self._engine.close()

    @property
    def embedder(self) -> Embedder | None:
        """The embedder of the settings; None if they name none, or its extra is missing.

        "auto" follows the index, which another process may have embedded again.
        """
        return self.models.embedder

    def index(
        self, paths: str | Path | Sequence[str | Path], **options: Unpack[IndexOptions]
    ) -> IndexReport:
        """Bring the index up to date with files, folders or globs, and return the report.

        Unchanged files are not read, changed ones replaced, and those that are gone from a folder
        given here removed. See `IndexOptions` for what else there is to say, and `index_events` for
        errors.
        """
        return _last_report(self.index_events(paths, **options))

    def index_events(
        self, paths: str | Path | Sequence[str | Path], **options: Unpack[IndexOptions]
    ) -> Iterator[IndexEvent]:
        """Do what `index` does, and yield every step; the last one carries the report.

        Raises IndexingError for a path that does not exist, SchemaMismatch when the index holds
        vectors of another embedder, StoreBusy while another process writes, ModelError when the
        embedder or a language model fails (BudgetExceeded at the ceiling), ConfigError for wrong
        settings, IndexingInterrupted (a KeyboardInterrupt) on Ctrl-C. All that was finished before
        is kept, and the next call continues.
        """
        from knotwork.indexing.sources import select_files, store_roots

        named = [paths] if isinstance(paths, str | Path) else list(paths)
        with closing(self._begin(options)) as run:
            with run.tally.timed("discover"):
                selection = select_files(self.store, named, self.settings.index)
            store_roots(self.store, selection.roots)
            yield from run.events(selection)

    def embed(self, model: str | Embedder = "") -> EmbedReport:
        """Embed the index again with another model, in place, and return the report.

        All vectors are computed from the texts in the index; documents are not read. ``model`` is
        an embedder, or the name of one as `embedding.model` takes it. By default it is that in the
        settings; for "auto", that of a new index. An index without vectors gets them. See
        `embed_events`.
        """
        *_, last = self.embed_events(model)
        assert last.report is not None, "the last event has the report"
        return last.report

    def embed_events(self, model: str | Embedder = "") -> Iterator[EmbedEvent]:
        """Do what `embed` does, and yield every step; the last one has the report.

        Searches use the old vectors until all new ones are there; then the new ones replace them at
        once. `index` raises SchemaMismatch until then. After an error, a kill or Ctrl-C
        (EmbeddingInterrupted, a KeyboardInterrupt) the same call continues, and texts that are
        embedded are not embedded again. Raises UnknownName or ConfigError for an unknown model or
        none, MissingExtra, IndexingError for an index without documents, StoreReadOnly, StoreBusy
        while another process writes, ModelError if the embedder fails.
        """
        from knotwork.knowledge_base.reembedding import reembed, resolve_embedder

        embedder = resolve_embedder(model, self.settings, given=self.models.given_embedder)
        yield from reembed(self.store, self.settings, embedder)
        self.models.replace_embedder(embedder)
        self.retrievers.clear()

    def estimate(
        self, paths: str | Path | Sequence[str | Path], **options: Unpack[IndexOptions]
    ) -> IndexEstimate:
        """Return what `index` would have a language model read, and at what cost.

        A few chunks are asked to find out; their replies are kept for the run. Nothing is indexed.
        Raises as `index_events`.
        """
        from knotwork.indexing.sources import select_files

        named = [paths] if isinstance(paths, str | Path) else list(paths)
        with closing(self._begin(options)) as run:
            return run.estimate(select_files(self.store, named, self.settings.index))

    def index_documents(
        self,
        documents: Iterable[Document],
        *,
        remove_others: bool = False,
        **options: Unpack[IndexOptions],
    ) -> IndexReport:
        """Bring the index up to date with documents in memory, and return the report.

        A document with a known uri is replaced when it changed. ``remove_others`` removes every
        document that was given this way before and is not now. Raises as `index_events` does.
        """
        from knotwork.indexing.prepared import document_source
        from knotwork.indexing.sources import SourceSelection

        candidates = tuple(document_source(document) for document in documents)
        covers = (lambda entry: not entry.root) if remove_others else None
        with closing(self._begin(options)) as run:
            return _last_report(run.events(SourceSelection(candidates, covers, ())))

    def delete(self, names: str | Path | Iterable[str | Path]) -> tuple[str, ...]:
        """Remove documents with all that only they supported; return their uris.

        Takes uris, paths of files or folders, and patterns with ``*``. What a language model said
        when it read them is forgotten too. A file that is still in an
        indexed folder comes back with the next `index` of it. Raises UnknownName, with the nearest
        uris, before anything is removed.
        """
        from knotwork.indexing.commits import remove_sources
        from knotwork.indexing.graph_import.graph_importer import remove_property_graphs
        from knotwork.indexing.sources import select_entries
        from knotwork.inference.role_models import forget_calls

        given = [names] if isinstance(names, str | Path) else list(names)
        entries = select_entries(self.store, [str(name) for name in given])
        with self.store.transaction():
            remove_sources(self.store, entries)
            remove_property_graphs(self.store, entries)
        uris = tuple(entry.uri for entry in entries)
        forget_calls(self.store.url, uris)
        return uris

    @property
    def has_communities(self) -> bool:
        """Whether communities and reports are there and up to date with documents and settings."""
        from knotwork.indexing.communities import CommunityOptions
        from knotwork.indexing.communities.index_reports import is_current

        options = CommunityOptions.of(self.settings.communities)
        return is_current(self.store, options=options)

    def communities(
        self, about: str = "", *, level: int | None = None, limit: int = 20, rebuild: bool = False
    ) -> list[Topic]:
        """Return communities of entities with their reports: those about something, or the topmost.

        They are brought up to date first, which writes to the index; no language model is asked.
        ``level`` 0 is the topmost. Raises StoreReadOnly when that is needed and the index was
        opened for reading only, ConfigError for a level that does not exist.
        """
        from knotwork.indexing.communities import CommunityOptions
        from knotwork.indexing.communities.index_reports import bring_up_to_date, is_current

        options = CommunityOptions.of(self.settings.communities)
        if rebuild or not is_current(self.store, options=options):
            bring_up_to_date(self.store, options=options, rebuild=rebuild)
        return self.topics(about, level=level, limit=limit)

    def topics(self, about: str = "", *, level: int | None = None, limit: int = 20) -> list[Topic]:
        """Return communities as the index holds them: see `communities`, which updates them first.

        Those about something have reports on it, or hold the passages that a search for it finds.
        """
        from knotwork.indexing.communities.index_reports import find_topics, ids_of_level
        from knotwork.retrieval.community_search import search_communities

        if not about:
            return find_topics(self.store, level=level, limit=limit)
        ranked = search_communities(
            about,
            store=self.store,
            evidence=self.search(about),
            embedder=self.embedder,
            within=None if level is None else ids_of_level(self.store, level),
            most=limit,
        )
        return find_topics(self.store, ranked=ranked, limit=limit)

    def member_names(self, topics: Iterable[Topic], *, most: int = 8) -> dict[str, str]:
        """Return the names of the ``most`` important members of communities, by entity id.

        Keywords are left out.
        """
        members = [topic.community.entity_ids for topic in topics]
        found = self.store.graph.entities({i for ids in members for i in ids})
        named = {i: e.name for i, e in found.items() if not e.is_keyword}
        return {i: named[i] for ids in members for i in [i for i in ids if i in named][:most]}

    def documents(self) -> list[LedgerEntry]:
        """Return what is known of every source, failed ones among them, ordered by uri."""
        return list(self.store.ledger.entries())

    def stats(self) -> Statistics:
        """Return what the index holds."""
        return read_statistics(self.store)

    def import_from(
        self, path: str | Path, *, layout: str = "auto", name: str = ""
    ) -> ImportReport:
        """Bring in the index of another system, "graphrag" or "lightrag", and return what came.

        ``name`` is what its documents are called by, by default the name of its folder; they stay
        until they are deleted. Raises IndexingError when the folder holds no index that can be
        read, UnknownName for an unknown layout, MissingExtra without the library that reads it.
        """
        from knotwork.indexing.foreign_indexes import import_index

        embedding = Embedding(self.embedder, wanted=self.settings.embedding.model != NO_EMBEDDER)
        return import_index(self.store, Path(path), format=layout, name=name, embedding=embedding)

    def _begin(self, options: IndexOptions) -> IndexingRun:
        from knotwork.indexing.runs import IndexingRun

        return IndexingRun(
            self.store, self.settings, options, embedder=self.embedder, chat_model=self._chat_model
        )


def _last_report(events: Iterator[IndexEvent]) -> IndexReport:
    report: IndexReport | None = None
    for event in events:
        if event.kind is EventKind.FINISHED:
            report = event.report
    assert report is not None, "a run ends with its report"
    return report


def open(  # noqa: A001 - `knotwork.open` is how it is called
    path: str | Path | None = None,
    *,
    settings: Settings | str | Path | None = None,
    read_only: bool = False,
    embedder: Embedder | None = None,
    chat_model: ChatModel | None = None,
    reranker: Reranker | None = None,
    **overrides: object,
) -> KnowledgeBase:
    """Open the knowledge base at ``path``, and make one if there is none; no model is loaded.

    ``settings`` are Settings, or the file to read them from; without them, `knotwork.toml` and the
    environment decide. ``overrides`` are single settings as SECTION_KEY, for example
    ``embedding_model="none"`` or ``index_chunk_tokens=300``. ``path`` is a file or ``memory:``,
    by default ``store.path``. ``embedder``, ``chat_model`` and ``reranker`` take the place of
    those in the settings.

    Raises StoreNotFound when it is to be read only and is not there, SchemaMismatch when the file
    is no index of this version, ConfigError or UnknownName for wrong settings.
    """
    loaded = _load_settings(settings, overrides)
    url = str(path) if path is not None else loaded.store.path
    store = open_store(url, read_only=read_only, create=not read_only)
    register_views()
    return KnowledgeBase(store, loaded, embedder=embedder, chat_model=chat_model, reranker=reranker)


def _load_settings(
    settings: Settings | str | Path | None, overrides: dict[str, object]
) -> Settings:
    known = {entry.name.replace(".", "_"): entry.name for entry in setting_fields()}
    for name in overrides:
        if name not in known:
            raise UnknownName("setting", name, known)
    if isinstance(settings, Settings):
        if overrides:
            raise ConfigError(
                f"`{next(iter(overrides))}` was given beside whole Settings.",
                fix="Set it there: dataclasses.replace, or load_settings(overrides=...).",
            )
        return settings
    values = {known[name]: value for name, value in overrides.items()}
    return load_settings(file=settings, overrides=values).settings


@dataclass(frozen=True, slots=True)
class Statistics:
    """What an index holds. ``embedder`` is empty without vectors; ``failed`` could not be read."""

    documents: int
    chunks: int
    entities: int
    failed: int
    embedder: str
    graph: GraphSchema


def read_statistics(store: Store) -> Statistics:
    """Return what the index holds."""
    return Statistics(
        documents=store.documents.document_count(),
        chunks=store.documents.chunk_count(),
        entities=store.graph.entity_count(),
        failed=sum(1 for entry in store.ledger.entries() if entry.error),
        embedder=store.meta().get(EMBEDDER_META, ""),
        graph=store.graph.schema(),
    )
