"""The knowledge base: index documents, search them, and answer questions from them.

`open` takes settings from a file, the environment or the caller. The graph, the entities, the
communities and the tables of an index are parts with a module of their own.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from knotwork._config import Settings, load_settings
from knotwork._config.settings import named_settings
from knotwork._indexing.embedding import EMBEDDER_META, Embedding
from knotwork._indexing.report import IndexReport
from knotwork._inference.chat import ChatModel
from knotwork._inference.cross_encoders import AnswerReader, Reranker
from knotwork._inference.embedder import Embedder
from knotwork._inference.model_registry import NO_EMBEDDER
from knotwork._knowledge_base.registries import find_registry
from knotwork._query_memory import set_query_memory
from knotwork._registry import PARTS
from knotwork._run import Steps, Verb
from knotwork._stores.base import LedgerEntry, Store, companions_of, require_fields
from knotwork._stores.copy_marks import require_finished
from knotwork._stores.corrections import listed_entries
from knotwork._stores.urls import open_store
from knotwork._synthesis.ask_request import AskOptions, AskRequest, LocalModels, Retrievers
from knotwork.errors import ConfigError, IndexingError, StoreError, UnknownName
from knotwork.records import (
    Answer,
    Document,
    Evidence,
    GraphSchema,
    PropertyValue,
    Span,
)

if TYPE_CHECKING:
    from knotwork._extensions.graphs.communities import Communities
    from knotwork._extensions.graphs.entities import Entities
    from knotwork._extensions.graphs.foreign_indexes.index_importer import ImportReport
    from knotwork._extensions.graphs.knowledge_graph import KnowledgeGraph
    from knotwork._extensions.graphs.servers.served_graphs import ServedGraphs
    from knotwork._extensions.graphs.wiki import WikiReport
    from knotwork._extensions.guide.guide import Guide
    from knotwork._extensions.guide.offers import OfferedQuestion
    from knotwork._extensions.model_indexing.run_estimates import IndexEstimate
    from knotwork._extensions.queries.query_plans import Translator
    from knotwork._extensions.tables.tables import Tables
    from knotwork._extensions.upkeep.backups import BackupReport
    from knotwork._extensions.upkeep.copies import CopyReport
    from knotwork._extensions.upkeep.reembedding import EmbedReport
    from knotwork._indexing.run import IndexingRun, IndexOptions
    from knotwork._indexing.splitters import Splitter
    from knotwork._inference.call_limits import RetryPolicy
    from knotwork._inference.role_models import RoleModels
    from knotwork._retrieval.filters import FilterSpec
    from knotwork._stores.fields import FieldInfo
    from knotwork._synthesis.engine import AnswerEngine
    from knotwork._transform.extractor import Extractor


_RELATED_S = 3.0
"""How long questions near an answer are tried."""


class KnowledgeBase:
    """One index, with everything that fills it and queries it.

    Reading from several threads is safe. Models and retrievers are opened on first use: a knowledge
    base that only looks up names never loads a model.
    """

    open_to_write: Callable[[], Store] | None = None
    """Opens the index for writing if it is open for reading, and a question needs new reports."""

    def __init__(
        self,
        store: Store,
        settings: Settings | None = None,
        *,
        embedder: Embedder | None = None,
        chat_model: ChatModel | None = None,
        reranker: Reranker | None = None,
        splitter: Splitter | None = None,
        extractor: Extractor | None = None,
        translator: str | Translator = "",
    ) -> None:
        self.store = store
        self.settings = settings or Settings()
        set_query_memory(self.settings.query)
        self._served: ServedGraphs = PARTS.load("graph_servers")(store, self.settings.graph)
        served = self._served.serve()  # the index, as statements see it
        self.models = LocalModels(store, self.settings, embedder=embedder, reranker=reranker)
        self.retrievers = Retrievers(
            store,
            self.settings,
            self.models,
            served=served,
            chat_model=chat_model,
            translator=translator,
        )
        self._chat_model = chat_model
        self._splitter = splitter
        self._extractor = extractor
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
        """Close the index, its connections, and the cache of language model calls beside it."""
        self._served.close()
        self.store.close()
        self.retrievers.close()
        with self._lock:
            if self._engine is not None:
                self._engine.close()

    @cached_property
    def graph(self) -> KnowledgeGraph:
        """Cypher, neighbourhoods, shortest paths, and import of graphs."""
        graph: KnowledgeGraph = PARTS.load("graph")(
            self._served.serve(), self.settings, self.models, self._served
        )
        return graph

    @cached_property
    def entities(self) -> Entities:
        """Aliases and homonyms; merge and split entities."""
        entities: Entities = PARTS.load("entities")(self.store)
        return entities

    @cached_property
    def communities(self) -> Communities:
        """Communities with their reports."""
        communities: Communities = PARTS.load("communities")(
            self.store, self.settings, self.retrievers
        )
        return communities

    @cached_property
    def tables(self) -> Tables:
        """SQL over the tables of spreadsheets."""
        tables: Tables = PARTS.load("tables")(self.store, self.settings.index)
        return tables

    @property
    def embedder(self) -> Embedder | None:
        """The embedder of the settings; None if they name none, or its extra is missing.

        "auto" follows the index, which another process may have embedded again.
        """
        return self.models.embedder

    @property
    def reranker(self) -> Reranker | None:
        """The reranking model of the settings; None if they name none."""
        return self.models.reranker

    def open_chat_models(self) -> RoleModels:
        """Open the language models of each role; the caller closes them."""
        from knotwork._inference.role_models import RoleModels

        companions = companions_of(self.store)
        return RoleModels.of(self.settings, companions, model=self._chat_model)

    @property
    def reader(self) -> AnswerReader | None:
        """The model that reads passages for answers; None if it is missing or switched off."""
        return self.models.reader

    @Verb
    def index(
        self, paths: str | Path | Sequence[str | Path], **options: Unpack[IndexOptions]
    ) -> Steps[IndexReport]:
        """Update the index from files, folders, globs or URLs, and return the report.

        Unchanged files are skipped, changed files are replaced, and files that no longer exist in
        these folders are removed. See `IndexOptions` for the options.

        Raises IndexingError for a path that does not exist, SchemaMismatch if the index has vectors
        of another embedder, StoreBusy while another process writes, ModelError if the embedder or a
        language model fails (BudgetExceeded at the ceiling), ConfigError for invalid settings,
        IndexingInterrupted (a KeyboardInterrupt) on Ctrl-C. Documents that were finished before are
        kept, and the next call continues.
        """
        from knotwork._indexing.prepare import timed
        from knotwork._indexing.sources import select_files, store_roots

        named = [paths] if isinstance(paths, str | Path) else list(paths)
        with closing(self._begin(options)) as run:
            with timed(run.stats.seconds, "discover"):
                selection = select_files(self.store, named, self.settings.index)
            with closing(selection):
                store_roots(self.store, selection.roots)
                return (yield from run.index(selection))

    @Verb
    def watch(
        self,
        *paths: str | Path,
        every_s: float = 600,
        polling: bool = False,
        **options: Unpack[IndexOptions],
    ) -> Steps[None]:
        """Keep the index current: do what `index` does, now and whenever files change.

        Folders are indexed a second after their last change, and everything every ``every_s``, as
        storage has no events. ``polling`` looks at files instead of waiting for events, which
        network file systems do not send. Each path is a run of its own, and the last event of a run
        has the path as its subject. A run that fails is ``STOPPED`` with a `Failure`, and is tried
        again. Never ends: cancel it, or close its run.

        Raises as `index` if no path can be indexed at the start, and MissingExtra without
        the extra `watch`. A folder that is found empty or missing keeps its documents.
        """
        yield from PARTS.load("watch")(self, paths, every_s, polling=polling, **options)

    @Verb
    def embed(self, model: str | Embedder = "") -> Steps[EmbedReport]:
        """Embed the index again with another model, in place, and return the report.

        All vectors are computed from the texts in the index; documents are not read again.
        ``model`` is an embedder, or the name of one as `embedding.model` takes it, by default that
        of the settings ("auto" is the model of a new index). An index without vectors gets them.

        Searches use the old vectors until all new ones are computed; then these replace them in one
        transaction. Until then `index` raises SchemaMismatch. After an error, a kill or Ctrl-C
        (EmbeddingInterrupted, a KeyboardInterrupt) the same call continues without embedding any
        text twice. Raises UnknownName for an unknown model, ConfigError for "none", MissingExtra,
        IndexingError for an index without documents, StoreReadOnly, StoreBusy while another process
        writes, ModelError if the embedder fails.
        """
        embedder, report = yield from PARTS.load("reembed")(
            self.store,
            self.settings,
            model,
            given=self.models.given_embedder,
            splitter=self._splitter,
            extractor=self._extractor,
        )
        self.models.replace_embedder(embedder)
        self.retrievers.clear()
        done: EmbedReport = report
        return done

    def estimate(
        self, paths: str | Path | Sequence[str | Path], **options: Unpack[IndexOptions]
    ) -> IndexEstimate:
        """Estimate what a language model would read in a call of `index`, and the cost.

        A few chunks are sent to the model as a sample; the replies are cached for the run. Nothing
        is indexed. Raises as `index`.
        """
        from knotwork._indexing.sources import select_files
        from knotwork._inference.call_limits import WHILE_SOMEONE_WAITS

        named = [paths] if isinstance(paths, str | Path) else list(paths)
        with (
            closing(self._begin(options, retries=WHILE_SOMEONE_WAITS)) as run,
            closing(select_files(self.store, named, self.settings.index)) as selection,
        ):
            return run.estimate(selection)

    @Verb
    def index_documents(
        self,
        documents: Iterable[Document],
        *,
        remove_others: bool = False,
        **options: Unpack[IndexOptions],
    ) -> Steps[IndexReport]:
        """Update the index from documents in memory, and return the report.

        A document with a known uri is replaced if it has changed. Its text is stored in composed
        form without invisible characters, with its offsets moved. ``remove_others`` removes all
        documents of earlier calls that this one does not include. Raises as `index`, and
        TypeError for metadata that is not text.
        """
        from knotwork._indexing.prepare import document_source
        from knotwork._indexing.sources import SourceSelection

        sources = tuple(document_source(document) for document in documents)
        covers = (lambda entry: not entry.root) if remove_others else None
        with closing(self._begin(options)) as run:
            return (yield from run.index(SourceSelection(sources, covers)))

    def delete(self, names: str | Path | Iterable[str | Path]) -> tuple[str, ...]:
        """Remove documents and everything that only they support; return their uris.

        ``names`` are uris, paths of files or folders, and patterns with ``*``. Cached replies of
        language models about these documents are removed as well. A file that is still in an
        indexed folder is added again by the next `index` of that folder. Raises UnknownName, with
        the nearest uris, before anything is removed.
        """
        from knotwork._indexing.commit import remove_property_graphs, remove_sources
        from knotwork._indexing.metadata_edits import forget_edits
        from knotwork._indexing.sources import select_entries
        from knotwork._inference.role_models import forget_calls

        given = [names] if isinstance(names, str | Path) else list(names)
        entries = select_entries(self.store, [str(name) for name in given])
        with self.store.transaction():
            remove_sources(self.store, entries)
            remove_property_graphs(self.store, entries)
            forget_edits(self.store, [entry.uri for entry in entries])
        uris = tuple(entry.uri for entry in entries)
        forget_calls(companions_of(self.store), uris)
        return uris

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
        return self.retrievers.search(AskRequest.of(question, options))

    def fields(self) -> list[FieldInfo]:
        """Return the fields that filters can compare, by name, with their most frequent values.

        Raises RetrievalError if the store cannot filter.
        """
        return require_fields(self.store).fields()

    def filtered_store(self, filters: FilterSpec | None) -> Store:
        """Return the index as filters leave it, which is read-only; all of it without any.

        Raises UnknownName for an unknown field, FilterError for an invalid filter.
        """
        from knotwork._retrieval.filters import read_filter

        wanted = read_filter(filters)
        return self.store if wanted is None else self.retrievers.filtered(wanted).store

    @Verb
    def ask(self, question: str | AskRequest, **options: Unpack[AskOptions]) -> Steps[Answer]:
        """Answer a question from the documents, each statement with its citation.

        Options are the fields of `AskRequest`; beside a request they raise TypeError. Without a
        language model in the settings the answer consists of sentences of the documents. If they
        hold no answer, ``answered`` is False and ``reason`` says why. A run yields the passages
        that were found, and the words of the model as they come: see `Stage`.

        Calls to a model are cached beside the index: an equal question costs nothing the second
        time. Rows of tables answer questions that are clearly about them, unless a retriever or a
        filter is given (`answer.tables`). Raises as `search`, UnknownName for an unknown mode,
        ConfigError if the model is set wrongly, and ModelError if it fails and ``fallback`` is off.
        """
        from knotwork._synthesis.engine import AnswerEngine

        with self._lock:
            if self._engine is None:
                self._engine = AnswerEngine(self.retrievers, model=self._chat_model)
        return self._engine.answer(question, options, open_to_write=self.open_to_write)

    def guide(self, *, limit: int = 50, offset: int = 0) -> Guide:
        """Describe the index: documents, topics, questions it answers, and a timeline.

        ``limit`` documents from the position ``offset`` are described, each by a sentence of its
        own. The questions are from different documents, and were asked before. No model is called;
        all but the documents takes up to ten seconds, and is kept until the index changes.
        """
        guide: Guide = PARTS.load("write_guide")(self.store, self.ask, limit=limit, offset=offset)
        return guide

    def related(
        self, question: str, cited: Sequence[tuple[str, Span]], *, most: int = 3
    ) -> Sequence[OfferedQuestion]:
        """Return up to ``most`` other questions that passages near an answer answer.

        ``cited`` are the chunk id and the span of each of the answer's citations. Each question was
        asked before, without a model: this takes up to three seconds.
        """
        find = PARTS.load("find_related")
        related: Sequence[OfferedQuestion] = find(
            self.store, self.ask, question, cited, most=most, seconds=_RELATED_S
        )
        return related

    @Verb
    def backup(self, target: str | Path, *, overwrite: bool = False) -> Steps[BackupReport]:
        """Copy the index and the files beside it into the folder ``target``; return the report.

        Other processes may read and write meanwhile: the copy of each file is the state of one
        commit. It is verified before the folder gets its name. ``overwrite`` replaces an earlier
        backup. Raises StoreError if ``target`` exists, StoreNotFound if its parent does not,
        IndexDamaged if a file is damaged, MissingCapability if the index is not a file.
        """
        run = PARTS.load("back_up").run(self.store.url, target, overwrite=overwrite)
        report: BackupReport = yield from run
        return report

    @Verb
    def copy(
        self, target: str | Path, *, without: Collection[str] = (), verify: bool = True
    ) -> Steps[CopyReport]:
        """Copy the index to the store at ``target``, a path or URL, and return the report.

        The copy is of one state of the index, whatever other processes write meanwhile. A call that
        was interrupted continues when it is repeated. ``without`` are parts to leave out:
        "communities", "readings", "questions", "resolutions", "homonyms", "property_graphs".
        ``verify`` compares hashes of all that both stores hold. Of the files beside the index only
        the tables are copied, from a file to a file.

        Raises UnknownName for an unknown part or scheme, MissingCapability if the target cannot
        hold a part that the index uses, StoreError if the target is neither empty nor an unfinished
        copy of this state of the index, or if the copy differs from the index.
        """
        report: CopyReport = yield from PARTS.load("copy_to")(
            self.store, str(target), without=without, verify=verify, limits=self.settings.store
        )
        return report

    @Verb
    def export_wiki(
        self, folder: str | Path, *, filters: FilterSpec | None = None, overwrite: bool = False
    ) -> Steps[WikiReport]:
        """Write the index as linked Markdown into a folder, and return the report.

        It has a page for each document, entity and topic, and opens in Obsidian. No model is
        called; equal indexes give equal files. ``filters`` are those of `search`. A folder of an
        earlier export is updated; pages that are gone are removed, and other files stay. Raises
        StoreError for a folder or a page that holds anything else, unless ``overwrite``;
        StoreReadOnly if the topics are not up to date and the index was opened for reading.
        """
        if self.store.capabilities.communities is not None:
            self.communities.update()
        store = self.filtered_store(filters)
        write = PARTS.load("write_wiki")
        report: WikiReport = yield from write(store, Path(folder).expanduser(), overwrite=overwrite)
        return report

    def document(self, name: str | Path) -> Document:
        """Return a document with its text and its blocks, whose tree is ``document.tree``.

        ``name`` is its uri, or the path of its file. Raises UnknownName, with the nearest uris, and
        IndexingError if the file could not be read.
        """
        from knotwork._indexing.sources import find_entry

        entry = find_entry(self.store, str(name))
        found = self.store.documents.documents([entry.document_id]) if entry.document_id else {}
        if entry.document_id not in found:
            raise IndexingError(
                f"`{entry.uri}` was not indexed: {entry.error}",
                fix="See the reasons with `knotwork documents`.",
            )
        return found[entry.document_id]

    def edit_metadata(self, name: str | Path, values: Mapping[str, str | None]) -> Document:
        """Give a document other metadata than its file states, and return the document.

        ``values`` are by field, as in ``{"title": "Plan", "tags": "hr, pay"}``; None restores what
        the file states. They last while the file is indexed again, until the document is deleted.
        Raises as `document`, and InvalidRequest for a value that is too long, or a date that is
        none.
        """
        from knotwork._indexing.metadata_edits import edit_metadata

        return edit_metadata(self.store, self.document(name).uri, values)

    def documents(self) -> list[LedgerEntry]:
        """Return the ledger entries of all sources, failed ones included, ordered by uri.

        The relations that people stated are no sources.
        """
        return list(listed_entries(self.store))

    def stats(self) -> Statistics:
        """Return the size and schema of the index."""
        return read_statistics(self.store)

    @Verb
    def import_from(
        self, path: str | Path, *, layout: str = "auto", name: str = ""
    ) -> Steps[ImportReport]:
        """Import the index of another system, "graphrag" or "lightrag", and return the report.

        ``name`` prefixes the uris of its documents, by default the name of its folder; they stay
        until they are deleted. Raises IndexingError if the folder has no readable index,
        UnknownName for an unknown layout, MissingExtra without the library that reads it.
        """
        embedding = Embedding(self.embedder, wanted=self.settings.embedding.model != NO_EMBEDDER)
        load = PARTS.load("import_index")
        report: ImportReport = yield from load.run(
            self.store, Path(path), format=layout, name=name, embedding=embedding
        )
        return report

    def _begin(self, options: IndexOptions, *, retries: RetryPolicy | None = None) -> IndexingRun:
        from knotwork._indexing.run import IndexingRun

        return IndexingRun.open(
            self.store,
            self.settings,
            options,
            embedder=self.embedder,
            chat_model=self._chat_model,
            splitter=self._splitter,
            extractor=self._extractor,
            retries=retries,
        )


def open(  # noqa: A001, PLR0913 - `knotwork.open` is how it is called, with any of its parts
    path: str | Path | Store | None = None,
    *,
    settings: Settings | str | Path | None = None,
    read_only: bool = False,
    embedder: str | Embedder | None = None,
    chat_model: str | ChatModel | None = None,
    reranker: str | Reranker | None = None,
    splitter: str | Splitter | None = None,
    extractor: str | Extractor | None = None,
    translator: str | Translator = "",
    **overrides: object,
) -> KnowledgeBase:
    """Open the knowledge base at ``path``, and create it if it does not exist; load no model.

    ``path`` is a file, ``memory:`` for a new index that is gone once it is closed, the URL of a
    plugin's store, or a store, which `close` closes; by default it is ``store.path``. ``settings``
    are Settings, or the file to read them from, by default `knotwork.toml` and the environment.
    ``overrides`` are single settings as SECTION_KEY, for example ``index_chunk_tokens=300``.

    ``embedder``, ``chat_model``, ``reranker``, ``splitter`` and ``extractor`` are objects that
    replace those of the settings, or names, as the settings have them. The names of a splitter and
    an extractor decide which documents are indexed again. ``translator``, an object or a name,
    writes the statements of `dynamic_cypher`, `text_to_cypher` and `text_to_sql`.

    Raises StoreNotFound for a missing index that is to be opened ``read_only``, StoreError for an
    unfinished copy of another index, SchemaMismatch if the file is not an index of this version,
    UnknownName for an unknown name, and ConfigError for invalid settings or an object that does not
    implement the protocol of its part.
    """
    named = {
        "embedding_model": embedder,
        "llm_model": chat_model,
        "rerank_model": reranker,
        "index_splitter": splitter,
        "index_extractor": extractor,
    }
    overrides |= {name: part for name, part in named.items() if isinstance(part, str)}
    loaded = _load_settings(settings, overrides)
    if loaded.prompts.dir:
        from knotwork._inference.own_prompts import read_prompt_folder

        read_prompt_folder(loaded.prompts.dir)  # a fault is reported before anything is asked
    if path is None or isinstance(path, str | Path):
        url = loaded.store.path if path is None else str(path)
        store = open_store(
            url,
            read_only=read_only,
            create=not read_only,
            synchronous=loaded.store.synchronous,
            limits=loaded.store,
        )
    else:
        store = _given(path, "stores")
    try:
        require_finished(store)
    except StoreError:
        store.close()
        raise
    if "IPython" in sys.modules:  # whoever runs inside it has imported it
        PARTS.load("register_views")()
    return KnowledgeBase(
        store,
        loaded,
        embedder=_given(embedder, "embedders"),
        chat_model=_given(chat_model, "chat_models"),
        reranker=_given(reranker, "rerankers"),
        splitter=_given(splitter, "splitters"),
        extractor=_given(extractor, "extractors"),
        translator=translator,
    )


def _given(part: Any, group: str) -> Any:  # noqa: ANN401 - a part of any kind
    """Return a part that is given as an object, None for a name; raise ConfigError if invalid."""
    if part is None or isinstance(part, str):
        return None
    find_registry(group).check(part)
    return part


def _load_settings(
    settings: Settings | str | Path | None, overrides: dict[str, object]
) -> Settings:
    known = {name.replace(".", "_"): name for name in named_settings()}
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
