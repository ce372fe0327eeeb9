"""Repair a damaged index: copy what can be read, rebuild what follows, read the rest again.

A repair works on a copy. The repaired file replaces the index only when it is complete, and the
damaged one stays beside it. Documents that lost something are then read again from their files, or
from their text in the index if a file no longer exists.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from knotwork._config import Settings, load_settings, shown_url
from knotwork._durable_files import move_file
from knotwork._extensions.tables.table_file import TableFile
from knotwork._extensions.tables.tables import SUFFIXES, add_tables
from knotwork._extensions.upkeep.backups import require_unused, sqlite_file
from knotwork._extensions.upkeep.damage import DamagedIndex, copy_tables, forget_lost
from knotwork._extensions.upkeep.reembedding import Reembedding
from knotwork._indexing.archives import enclosing_archive
from knotwork._indexing.changes import entry_path
from knotwork._indexing.chunk_questions import QUESTIONS
from knotwork._indexing.commit import CONTENT_META, WRITTEN_META, remove_sources
from knotwork._indexing.embedding import (
    EMBEDDER_META,
    INTO_META,
    LANGUAGES_META,
    Embedding,
    stamp_embedder,
)
from knotwork._indexing.sources import ROOTS_META, is_folder_or_archive, store_roots, stored_roots
from knotwork._inference.embedder import Embedder
from knotwork._knowledge_base.base import KnowledgeBase
from knotwork._knowledge_base.base import open as open_index
from knotwork._run import Progress, Steps, Verb
from knotwork._sqlite_file import (
    CALLS_SUFFIX,
    FILE_KINDS,
    JOURNAL_SUFFIXES,
    MEMORY_SUFFIX,
    OFF,
    TABLES_SUFFIX,
    SqliteFile,
    verify_file,
)
from knotwork._stores.base import LedgerEntry, Store, index_file
from knotwork._stores.corrections import entity_text, read_corrections
from knotwork._stores.embedded import EmbeddedStore
from knotwork._stores.indexes import VECTOR_INDEXES
from knotwork._synthesis.ask_request import LocalModels
from knotwork._text.languages import is_read
from knotwork.errors import IndexDamaged, KnotworkError, MissingCapability
from knotwork.records import Chunk, Document, Label

_ALL = 1 << 62
_ROWS = {
    CALLS_SUFFIX: "cached replies of a model: these calls are made, and paid for, again",
    MEMORY_SUFFIX: "facts stated in conversations",
}


@dataclass(frozen=True, slots=True)
class _Source:
    """A document to read again: its file, if known, and the document as stored, if readable."""

    uri: str
    path: Path | None
    document: Document | None


@dataclass(slots=True)
class RepairReport:
    """What a repair found and did.

    ``damaged`` names the damaged parts, ``rebuilt`` those that were computed again. ``reread`` are
    documents that were read again from their files, ``from_text`` those from their text in the
    index. ``lost`` says what could not be brought back, each with its reason. ``kept`` are the
    copies of the damaged files.
    """

    index: str
    damaged: list[str] = field(default_factory=list)
    rebuilt: list[str] = field(default_factory=list)
    reread: list[str] = field(default_factory=list)
    from_text: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether there was anything to repair."""
        return bool(self.damaged or self.rebuilt)


@Verb
def repair(
    index: str | Path, *, settings: Settings | None = None, embedder: Embedder | None = None
) -> Steps[RepairReport]:
    """Repair the index at a path, and the files beside it; return what was found and done.

    Full text, graph and communities are rebuilt from the documents; vectors are computed again if
    their embedder is at hand. Documents that lost something are read again from their files, with
    ``settings``, by default as `knotwork.open` finds them. The damaged files are kept beside the
    index.

    Raises StoreNotFound, StoreBusy if another process uses the index, IndexDamaged if nothing of
    it can be read, MissingCapability if it is not a file.
    """
    path = index_file(str(index))
    if path is None:
        fix = "Restore a backup of its database: see docs/postgresql.md."
        raise MissingCapability(shown_url(str(index)), "repairs", fix=fix)
    sqlite_file(path, "").require(create=False)
    require_unused(path)
    run = _Repair(path, settings or load_settings().settings, embedder)
    yield from run.steps()
    return run.report


class _Repair:
    """One repair of one index."""

    def __init__(self, path: Path, settings: Settings, embedder: Embedder | None) -> None:
        self._path = path
        self._settings = settings
        self._embedder = embedder
        self._mark = f".{secrets.token_hex(4)}"
        self._sources: list[_Source] = []
        self._lost_tables: list[tuple[str, str, str]] = []
        self._tables_lost = False
        self.report = RepairReport(str(path))

    def steps(self) -> Iterator[Progress]:
        """Repair each file, then read documents again."""
        for suffix, kind in FILE_KINDS.items():
            path = self._path.with_name(self._path.name + suffix)
            if not path.exists():
                continue
            yield Progress(f"checking the {kind}")
            work = path.with_name(f"{path.name}{self._mark}")
            try:
                yield from self._repair_file(path, work, suffix)
            finally:
                for place in (work, _other(work)):
                    for journal in ("", *JOURNAL_SUFFIXES):
                        place.with_name(place.name + journal).unlink(missing_ok=True)
        if self.report.damaged or self._lacks_vectors():
            yield from self._complete()

    def _repair_file(self, path: Path, work: Path, suffix: str) -> Iterator[Progress]:
        for journal in ("", "-wal"):
            source = path.with_name(path.name + journal)
            if source.exists():
                shutil.copy2(source, work.with_name(work.name + journal))
        new = _other(work)
        if suffix:
            file = sqlite_file(work, suffix)
            try:
                if _is_intact(file):
                    return
                yield Progress(f"copying the {file.kind}")
                self._salvage_companion(file, sqlite_file(new, suffix), suffix)
            except KnotworkError as error:
                self._give_up(path, FILE_KINDS[suffix], error)
                return
            self.report.damaged.append(file.kind)
        else:
            try:
                faults = _find_index_faults(work)
            except KnotworkError as error:
                raise self._unreadable(path, error) from error
            if not faults:
                return
            self.report.damaged += faults
            yield from self._salvage_index(work, new)
        self._replace(path, new)

    def _salvage_index(self, work: Path, new: Path) -> Iterator[Progress]:
        yield Progress("copying what can be read")
        with (
            closing(DamagedIndex(work)) as damaged,
            closing(EmbeddedStore.open(new, create=True, synchronous=OFF)) as target,
        ):
            found = damaged.copy_to(target)
        self.report.lost += [f"some {what}" for what in dict.fromkeys(found.lost)]
        with closing(EmbeddedStore.open(new)) as store:
            roots = stored_roots(store)
            for uri, entry, document in found.documents:
                self._sources.append(_Source(uri, _find_path(uri, entry, roots), document))
            if "settings of the index" in self.report.damaged:
                lost = (entry for _, entry, _ in found.documents if entry is not None)
                self._restore_settings(store, [*store.ledger.entries(), *lost])
            with store.transaction():
                yield from _restore_texts(store)
            if store.meta().get(CONTENT_META):
                store.set_meta({CONTENT_META: ""})
            if found.lost_reports and store.meta().get(WRITTEN_META):
                self.report.lost.append(
                    "some community reports by a model: the next indexing run writes them again"
                )
                store.set_meta({WRITTEN_META: ""})
        self.report.rebuilt += ["full text", "graph", "fields of documents"]

    def _restore_settings(self, store: EmbeddedStore, entries: Sequence[LedgerEntry]) -> None:
        """Find out the indexed folders and the embedder, if their record cannot be read."""
        if ROOTS_META not in store.meta():
            known = {entry.root for entry in entries}
            roots = {root for root in known if is_folder_or_archive(Path(root))}
            store_roots(store, sorted(roots))
        if not store.meta().get(EMBEDDER_META) and store.vectors("chunk").count():
            models = LocalModels(store, self._settings, embedder=self._embedder)
            if not _recognize_embedder(store, Embedding(models.embedder)):
                for name in VECTOR_INDEXES:
                    store.clear_vectors(name)
                self.report.lost.append(
                    "the vectors: the name of their embedder cannot be read. Compute them again "
                    "with: knotwork embed"
                )

    def _lacks_vectors(self) -> bool:
        with closing(EmbeddedStore.open(self._path)) as store:
            vectors = store.vectors("chunk").count()
            embedded = bool(store.meta().get(EMBEDDER_META))
            return embedded and vectors < store.documents.chunk_count()

    def _complete(self) -> Iterator[Progress]:
        """Read the damaged documents again, and compute missing vectors and communities."""
        with open_index(self._path, settings=self._settings) as plain:
            store = plain.store
            assert isinstance(store, EmbeddedStore)
            kb = KnowledgeBase(store, self._settings, embedder=self._embedder)
            self._sources += self._table_documents(store)
            yield Progress("reading documents again", 0, len(self._sources))
            self._reread(kb)
            self._add_tables()
            forget_lost(store)
            try:
                yield from self._complete_vectors(store, kb)
                if store.communities.parents() or CONTENT_META in store.meta():
                    yield Progress("communities")
                    kb.communities.update(rebuild="communities" in self.report.damaged)
                    self.report.rebuilt.append("communities")
            except KnotworkError as error:
                self.report.lost.append(f"vectors or communities: {error}")

    def _complete_vectors(self, store: EmbeddedStore, kb: KnowledgeBase) -> Iterator[Progress]:
        if not store.meta().get(EMBEDDER_META):
            return
        meta, missing = store.meta(), _count_missing_vectors(store)
        if not missing and not self.report.damaged:
            return
        embedding = Embedding(kb.embedder)
        if not embedding or embedding.name != meta[EMBEDDER_META] or meta.get(INTO_META):
            if missing:
                self.report.lost.append(
                    f"the vectors of {missing:,} passages: their embedder `{meta[EMBEDDER_META]}` "
                    "is not installed, not set or about to be replaced. Full text finds them; "
                    "compute the vectors with: knotwork embed"
                )
        elif store.documents.chunk_count():
            done = yield from Reembedding(store, embedding).run()
            self.report.rebuilt += ["vectors"] * bool(done.embedded)

    def _reread(self, kb: KnowledgeBase) -> None:
        paths = [source.path for source in self._sources if source.path is not None]
        failure = ""
        try:
            if paths:
                kb.index(paths)
        except KnotworkError as error:
            failure = str(error)
        entries = kb.store.ledger.get([source.uri for source in self._sources])
        for source in self._sources:
            entry = entries.get(source.uri)
            if entry is not None and not entry.error:
                self.report.reread.append(source.uri)
                continue
            reason = failure or (entry.error if entry is not None else "its file is not there")
            if source.document is not None:
                try:
                    kb.index_documents([source.document])
                except KnotworkError as error:
                    reason = str(error)
                else:
                    self.report.from_text.append(source.uri)
                    continue
            name = source.uri or "a document whose name cannot be read"
            self.report.lost.append(f"the document {name}: {reason}")

    def _salvage_companion(self, file: SqliteFile, new: SqliteFile, suffix: str) -> None:
        with file.translated_errors():
            damaged = copy_tables(file, new)
        if suffix != TABLES_SUFFIX:
            if damaged:
                self.report.lost.append(f"some {_ROWS[suffix]}")
            return
        tables = TableFile(Path(new.path))
        shapes = {shape.name: shape for shape in tables.tables()}
        if any(name.startswith("knotwork_") for name in damaged):
            self._tables_lost = True
        for shape in (shapes[name] for name in damaged if name in shapes):
            tables.remove(shape.name)
            self._lost_tables.append((shape.name, shape.document, shape.source))

    def _table_documents(self, store: Store) -> list[_Source]:
        """Remove the documents whose tables were lost, and return them to be read again."""
        wanted = {document for _, document, _ in self._lost_tables if document}
        found: list[_Source] = []
        for entry in list(store.ledger.entries()):
            named = self._tables_lost and entry.uri.lower().endswith(SUFFIXES)
            path = Path(entry_path(entry))
            if (named or entry.uri in wanted) and entry.root and _is_readable(path):
                remove_sources(store, [entry])
                found.append(_Source(entry.uri, path, None))
        known = {source.uri for source in (*self._sources, *found)}
        for name, document, _ in self._lost_tables:
            if document and document not in known:
                self.report.lost.append(f"the table `{name}`: `{document}` is not there")
        return found

    def _add_tables(self) -> None:
        tables = TableFile(self._path.with_name(self._path.name + TABLES_SUFFIX))
        for name, document, source in self._lost_tables:
            if document:
                continue
            if Path(source).is_file():
                add_tables(tables, Path(source))
                self.report.reread.append(source)
            else:
                self.report.lost.append(f"the table `{name}`: its file `{source}` is not there")

    def _give_up(self, path: Path, kind: str, error: KnotworkError) -> None:
        self.report.damaged.append(kind)
        self.report.lost.append(f"the {kind}: {error.message}")
        self._keep(path)

    def _replace(self, path: Path, new: Path) -> None:
        self._keep(path)
        wal = new.with_name(f"{new.name}-wal")
        assert not wal.exists() or not wal.stat().st_size, "the new file was closed"
        move_file(new, path)

    def _keep(self, path: Path) -> None:
        kept = _free_path(path)
        for journal in ("-wal", ""):
            source = path.with_name(path.name + journal)
            if source.exists():
                source.rename(kept.with_name(kept.name + journal))
        path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
        self.report.kept.append(str(kept))

    def _unreadable(self, path: Path, error: KnotworkError) -> IndexDamaged:
        return IndexDamaged(
            f"Nothing of the index `{path}` can be read: {error.message}",
            path=str(path),
            fix="Restore a backup with: knotwork restore BACKUP INDEX --force. Or move the file "
            "away and index the documents again: knotwork index FOLDER",
        )


def _is_intact(file: SqliteFile) -> bool:
    try:
        return not verify_file(file)
    except IndexDamaged:
        return False


def _find_index_faults(path: Path) -> list[str]:
    """Read a whole index, and return its damaged parts. Raises KnotworkError if it cannot be."""
    file = sqlite_file(path, "")
    file.require(create=False)
    with closing(DamagedIndex(path)) as index, file.translated_errors():
        if faults := index.check():
            return faults
        if index.connection().execute("PRAGMA integrity_check(1)").get != "ok":
            return ["structure of the file"]
    try:
        with closing(EmbeddedStore.open(path)) as store:
            return store.check_fully()
    except IndexDamaged:  # a value cannot be decoded
        return ["documents"]


def _find_path(uri: str, entry: LedgerEntry | None, roots: Sequence[str]) -> Path | None:
    if entry is not None:
        candidates = [Path(entry_path(entry))] if entry.root else []
    else:
        head, _, tail = uri.partition("/")
        candidates = [Path(root, tail) for root in roots if tail and Path(root).name == head]
    return next((path for path in candidates if _is_readable(path)), None)


def _is_readable(path: Path) -> bool:
    return path.is_file() or enclosing_archive(path) is not None


def _other(work: Path) -> Path:
    return work.with_name(f"{work.name}.new")


def _free_path(path: Path) -> Path:
    kept, number = path.with_name(f"{path.name}.damaged"), 1
    while os.path.lexists(kept):
        number += 1
        kept = path.with_name(f"{path.name}.damaged-{number}")
    return kept


def _restore_texts(store: EmbeddedStore) -> Iterator[Progress]:
    ids = store.documents.document_ids()
    for done, document_id in enumerate(ids, start=1):
        store.texts("chunk").add(
            (chunk.id, chunk.searched_text) for chunk in _leaves(store, document_id)
        )
        yield Progress("full text", done, len(ids))
    text_of = entity_text(read_corrections(store))
    for label in (Label.ENTITY, Label.KEYWORD):
        nodes = store.graph.find(label=label, limit=_ALL)
        store.texts("entity").add((node.id, text_of(node)) for node in nodes)
    asked = store.questions.questions(store.questions.chunk_ids())
    store.texts(QUESTIONS).add((key, "\n".join(found)) for key, found in asked.items())
    reports = store.communities.reports(list(store.communities.parents()))
    store.texts("report").add((key, report.text) for key, report in reports.items())


def _recognize_embedder(store: EmbeddedStore, embedding: Embedding) -> bool:
    """Return True if the embedder made the vectors of the index, as their content keys show.

    Its name is then stored with the index. Use this if the stored name cannot be read.
    """
    for chunk, has_vector in _leaves_with_vectors(store):
        if has_vector:
            key = embedding.chunk_key(chunk)
            if key not in store.vectors("chunk").by_key([key]):
                return False
            stamp_embedder(store, embedding)
            return True
    return False


def _count_missing_vectors(store: EmbeddedStore) -> int:
    languages = store.meta().get(LANGUAGES_META, "").split()
    leaves = _leaves_with_vectors(store)
    return sum(not has_vector and is_read(chunk.text, languages) for chunk, has_vector in leaves)


def _leaves_with_vectors(store: EmbeddedStore) -> Iterator[tuple[Chunk, bool]]:
    for document_id in store.documents.document_ids():
        chunks = _leaves(store, document_id)
        known = store.vectors("chunk").get([chunk.id for chunk in chunks])
        yield from ((chunk, chunk.id in known) for chunk in chunks)


def _leaves(store: EmbeddedStore, document_id: str) -> list[Chunk]:
    ids = store.documents.chunk_ids_of([document_id]).get(document_id, [])
    found = store.documents.chunks(ids)
    return [chunk for chunk in found.values() if not chunk.is_parent]
