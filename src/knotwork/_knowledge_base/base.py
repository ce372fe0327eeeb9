"""Open a knowledge base, index documents into it, and read what it holds.

`open` takes settings from a file, the environment or the caller.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from knotwork._config import Settings, load_settings
from knotwork._config.settings import setting_fields
from knotwork._indexing.embedding import EMBEDDER_META, Embedding
from knotwork._indexing.report import EventKind, IndexEvent, IndexReport
from knotwork._inference.chat import ChatModel
from knotwork._inference.cross_encoders import Reranker
from knotwork._inference.embedder import Embedder
from knotwork._inference.model_registry import NO_EMBEDDER
from knotwork._knowledge_base.entities import EntityMixin
from knotwork._knowledge_base.graph import CypherMixin, GraphImportMixin
from knotwork._knowledge_base.local_models import LocalModels
from knotwork._knowledge_base.search import SearchMixin
from knotwork._knowledge_base.searcher import Retrievers
from knotwork._notebook import register_views
from knotwork._stores.base import LedgerEntry, Store
from knotwork._stores.urls import open_store
from knotwork.errors import ConfigError, UnknownName
from knotwork.records import Document, GraphSchema

if TYPE_CHECKING:
    from knotwork._indexing.communities.index_reports import Topic
    from knotwork._indexing.foreign_indexes import ImportReport
    from knotwork._indexing.reembedding import EmbedEvent, EmbedReport
    from knotwork._indexing.runs import IndexEstimate, IndexingRun, IndexOptions
    from knotwork._synthesis.engine import AnswerEngine


class KnowledgeBase(SearchMixin, EntityMixin, GraphImportMixin, CypherMixin):
    """One index, with everything that fills it and queries it.

    Reading from several threads is safe. Models and retrievers are opened on first use: a knowledge
    base that only looks up names never loads a model.
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
        """Close the index and the cache of language model calls beside it."""
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
        """Update the index from files, folders or globs, and return the report.

        Unchanged files are skipped, changed files are replaced, and files that no longer exist in
        these folders are removed. See `IndexOptions` for the options, `index_events` for errors.
        """
        return _last_report(self.index_events(paths, **options))

    def index_events(
        self, paths: str | Path | Sequence[str | Path], **options: Unpack[IndexOptions]
    ) -> Iterator[IndexEvent]:
        """Yield each step of `index`; the last event carries the report.

        Raises IndexingError for a path that does not exist, SchemaMismatch if the index has vectors
        of another embedder, StoreBusy while another process writes, ModelError if the embedder or a
        language model fails (BudgetExceeded at the ceiling), ConfigError for invalid settings,
        IndexingInterrupted (a KeyboardInterrupt) on Ctrl-C. Documents that were finished before are
        kept, and the next call continues.
        """
        from knotwork._indexing.sources import select_files, store_roots

        named = [paths] if isinstance(paths, str | Path) else list(paths)
        with closing(self._begin(options)) as run:
            with run.tally.timed("discover"):
                selection = select_files(self.store, named, self.settings.index)
            store_roots(self.store, selection.roots)
            yield from run.events(selection)

    def embed(self, model: str | Embedder = "") -> EmbedReport:
        """Embed the index again with another model, in place, and return the report.

        All vectors are computed from the texts in the index; documents are not read again.
        ``model`` is an embedder, or the name of one as `embedding.model` takes it, by default that
        of the settings ("auto" is the model of a new index). An index without vectors gets them.
        See `embed_events` for errors.
        """
        *_, last = self.embed_events(model)
        assert last.report is not None, "the last event has the report"
        return last.report

    def embed_events(self, model: str | Embedder = "") -> Iterator[EmbedEvent]:
        """Yield each step of `embed`; the last event carries the report.

        Searches use the old vectors until all new ones are computed; then these replace them in one
        transaction. Until then `index` raises SchemaMismatch. After an error, a kill or Ctrl-C
        (EmbeddingInterrupted, a KeyboardInterrupt) the same call continues without embedding any
        text twice. Raises UnknownName for an unknown model, ConfigError for "none", MissingExtra,
        IndexingError for an index without documents, StoreReadOnly, StoreBusy while another process
        writes, ModelError if the embedder fails.
        """
        from knotwork._knowledge_base.reembedding import reembed, resolve_embedder

        embedder = resolve_embedder(model, self.settings, given=self.models.given_embedder)
        yield from reembed(self.store, self.settings, embedder)
        self.models.replace_embedder(embedder)
        self.retrievers.clear()

    def estimate(
        self, paths: str | Path | Sequence[str | Path], **options: Unpack[IndexOptions]
    ) -> IndexEstimate:
        """Estimate what a language model would read in a call of `index`, and the cost.

        A few chunks are sent to the model as a sample; the replies are cached for the run. Nothing
        is indexed. Raises as `index_events`.
        """
        from knotwork._indexing.sources import select_files

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
        """Update the index from documents in memory, and return the report.

        A document with a known uri is replaced if it has changed. ``remove_others`` removes all
        documents of earlier calls that this one does not include. Raises as `index_events`.
        """
        from knotwork._indexing.prepared import document_source
        from knotwork._indexing.sources import SourceSelection

        candidates = tuple(document_source(document) for document in documents)
        covers = (lambda entry: not entry.root) if remove_others else None
        with closing(self._begin(options)) as run:
            return _last_report(run.events(SourceSelection(candidates, covers, ())))

    def delete(self, names: str | Path | Iterable[str | Path]) -> tuple[str, ...]:
        """Remove documents and everything that only they support; return their uris.

        ``names`` are uris, paths of files or folders, and patterns with ``*``. Cached replies of
        language models about these documents are removed as well. A file that is still in an
        indexed folder is added again by the next `index` of that folder. Raises UnknownName, with
        the nearest uris, before anything is removed.
        """
        from knotwork._indexing.commits import remove_sources
        from knotwork._indexing.graph_import.graph_importer import remove_property_graphs
        from knotwork._indexing.sources import select_entries
        from knotwork._inference.role_models import forget_calls

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
        """Whether communities and reports are up to date with the documents and settings."""
        from knotwork._indexing.communities import CommunityOptions
        from knotwork._indexing.communities.index_reports import is_current

        options = CommunityOptions.of(self.settings.communities)
        return is_current(self.store, options=options)

    def communities(
        self, about: str = "", *, level: int | None = None, limit: int = 20, rebuild: bool = False
    ) -> list[Topic]:
        """Update the communities, and return those about a topic, or the topmost, with reports.

        The update writes to the index and calls no language model; ``rebuild`` detects all
        communities again. ``level`` 0 is the topmost. Raises StoreReadOnly if an update is needed
        and the index was opened read-only, ConfigError for a level that does not exist.
        """
        from knotwork._indexing.communities import CommunityOptions
        from knotwork._indexing.communities.index_reports import bring_up_to_date, is_current

        options = CommunityOptions.of(self.settings.communities)
        if rebuild or not is_current(self.store, options=options):
            bring_up_to_date(self.store, options=options, rebuild=rebuild)
        return self.topics(about, level=level, limit=limit)

    def topics(self, about: str = "", *, level: int | None = None, limit: int = 20) -> list[Topic]:
        """Return the stored communities; `communities` updates them first.

        Communities ``about`` a topic have reports on it, or contain passages that a search finds.
        Raises ConfigError for a level that does not exist.
        """
        from knotwork._indexing.communities.index_reports import find_topics, ids_of_level
        from knotwork._retrieval.community_search import search_communities

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
        """Return the names of the ``most`` important members of each community, by entity id.

        Keywords are left out.
        """
        members = [topic.community.entity_ids for topic in topics]
        found = self.store.graph.entities({i for ids in members for i in ids})
        named = {i: e.name for i, e in found.items() if not e.is_keyword}
        return {i: named[i] for ids in members for i in [i for i in ids if i in named][:most]}

    def documents(self) -> list[LedgerEntry]:
        """Return the ledger entries of all sources, failed ones included, ordered by uri."""
        return list(self.store.ledger.entries())

    def stats(self) -> Statistics:
        """Return the size and schema of the index."""
        return read_statistics(self.store)

    def import_from(
        self, path: str | Path, *, layout: str = "auto", name: str = ""
    ) -> ImportReport:
        """Import the index of another system, "graphrag" or "lightrag", and return the report.

        ``name`` prefixes the uris of its documents, by default the name of its folder; they stay
        until they are deleted. Raises IndexingError if the folder has no readable index,
        UnknownName for an unknown layout, MissingExtra without the library that reads it.
        """
        from knotwork._indexing.foreign_indexes import import_index

        embedding = Embedding(self.embedder, wanted=self.settings.embedding.model != NO_EMBEDDER)
        return import_index(self.store, Path(path), format=layout, name=name, embedding=embedding)

    def _begin(self, options: IndexOptions) -> IndexingRun:
        from knotwork._indexing.runs import IndexingRun

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
    """Open the knowledge base at ``path``, and create it if it does not exist; load no model.

    ``path`` is a file or ``memory:``, by default ``store.path``. ``settings`` are Settings, or the
    file to read them from, by default `knotwork.toml` and the environment. ``overrides`` are single
    settings as SECTION_KEY, for example ``embedding_model="none"`` or ``index_chunk_tokens=300``.
    ``embedder``, ``chat_model`` and ``reranker`` replace those of the settings.

    Raises StoreNotFound for a missing index that is to be opened ``read_only``, SchemaMismatch if
    the file is not an index of this version, ConfigError or UnknownName for invalid settings.
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
                f"`{next(iter(overrides))}` cannot be combined with a Settings object.",
                fix="Set it in the object: dataclasses.replace, or load_settings(overrides=...).",
            )
        return settings
    values = {known[name]: value for name, value in overrides.items()}
    return load_settings(file=settings, overrides=values).settings


@dataclass(frozen=True, slots=True)
class Statistics:
    """The size of an index: numbers of documents, chunks and entities, and its graph schema.

    ``failed`` counts sources that could not be read; ``embedder`` is empty without vectors.
    """

    documents: int
    chunks: int
    entities: int
    failed: int
    embedder: str
    graph: GraphSchema


def read_statistics(store: Store) -> Statistics:
    """Return the statistics of an index."""
    return Statistics(
        documents=store.documents.document_count(),
        chunks=store.documents.chunk_count(),
        entities=store.graph.entity_count(),
        failed=sum(1 for entry in store.ledger.entries() if entry.error),
        embedder=store.meta().get(EMBEDDER_META, ""),
        graph=store.graph.schema(),
    )
