"""Embed documents in batches and commit each batch in one transaction.

A commit writes whole documents with all that follows from them: graph, full text, vectors, the
texts and vectors of the entities they touch, tables and ledger entries.

An entity's full text is its name. Its vector is that of its normal form, and exists while at least
`VECTOR_CHUNKS` chunks mention it: most names occur in one chunk only, lead to no other chunk, and
would double the cost of embedding. Both are functions of the current graph, so an index that grew
and shrank equals a fresh build, and removing documents never needs a model.
"""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from knotwork._cancellation import check_cancelled, checked
from knotwork._indexing.changes import Tiers, failed_entry, indexed_entry
from knotwork._indexing.chunk_questions import put_questions
from knotwork._indexing.embedding import (
    EMBEDDER_META,
    EMBEDDING_CHUNKS,
    NO_VECTORS,
    Embedding,
    check_not_switching,
    drop_kept_vectors,
    find_kept_vectors,
    keep_vectors,
    known_vectors,
    put_vectors,
    stamp_embedder,
)
from knotwork._indexing.metadata_edits import with_edits
from knotwork._indexing.prepare import Prepared
from knotwork._inference.embedder import PassageVectors
from knotwork._stores.base import (
    FloatMatrix,
    LedgerEntry,
    Store,
    has_tables,
    require_readings,
    tables_of,
)
from knotwork._stores.corrections import divided_from, entity_text, read_corrections
from knotwork._stores.removal import remove_vectors
from knotwork._stores.resolutions import RULES_META
from knotwork.errors import IdCollision, LoadError
from knotwork.records import GRAPH_URI, Chunk, Document, Entity

_log = logging.getLogger("knotwork.indexing")

BATCH_CHUNKS = 1_024
"""Chunks of a commit. Ids are random, so each commit writes pages all over the file."""

EMBEDDED_BATCH_CHUNKS = 256
"""With an embedder, which is called for all chunks of a batch."""

READ_BATCH_CHUNKS = 128
"""If a language model reads everything: its server waits while a batch is written."""

BATCH_S = 3.0
"""Seconds of work after which a batch is committed, however small it is.

A killed run repeats at most five seconds: these, the time of the commit, and what workers prepared
ahead. A document that takes longer is repeated as a whole, except for its vectors.
"""

STEP_S = 0.2
"""Seconds between two progress steps of embedding."""

CONTENT_META = "communities_of"
"""Index setting: the fingerprint of the ledger that its communities and reports are based on."""

WRITTEN_META = "reports_of"
"""Index setting: the fingerprint of ledger and names for which a model wrote all its reports."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What is stored at once: documents, vectors by content key, questions, ledger entries."""

    prepared: Sequence[Prepared]
    entries: Sequence[LedgerEntry]
    vectors: Mapping[str, PassageVectors]
    questions: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(slots=True)
class Batch:
    """The documents of the next commits, their vectors, and further ledger entries."""

    prepared: list[Prepared] = field(default_factory=list)
    entries: list[LedgerEntry] = field(default_factory=list)
    vectors: dict[str, PassageVectors] = field(default_factory=dict)
    chunks: int = 0
    clock: Callable[[], float] = time.monotonic
    opened: float = field(init=False)
    _unsaved: dict[tuple[str, str], PassageVectors] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.opened = self.clock()

    def add(self, prepared: Prepared) -> None:
        """Add a document to embed and store."""
        self.prepared.append(prepared)
        self.chunks += len(prepared.leaves)

    def is_full(self, limit: int) -> bool:
        """Return True if it is time to commit: ``limit`` chunks or entries, or ``BATCH_S``."""
        return self.chunks >= limit or len(self.entries) >= limit or self.is_due()

    def is_due(self) -> bool:
        """Return True if the batch has held work for ``BATCH_S``."""
        has_work = bool(self.prepared or self.entries)
        return has_work and self.clock() - self.opened > BATCH_S

    def recall(self, store: Store, embedding: Embedding) -> dict[str, Chunk]:
        """Read known vectors from the index; return the chunks that lack one, by content key."""
        if not embedding or not self.prepared:
            return {}
        wanted: dict[str, Chunk] = {}
        unread = 0
        for prepared in self.prepared:
            wanted.update(zip(prepared.keys, prepared.leaves, strict=True))
            unread += prepared.keys.count(NO_VECTORS)
        wanted.pop(NO_VECTORS, None)
        if store.meta().get(EMBEDDER_META):
            self.vectors = known_vectors(store, wanted)
        self.vectors |= find_kept_vectors(store, embedding, wanted.keys() - self.vectors.keys())
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

        The first step follows the first vectors; further ones are at least ``STEP_S`` apart.
        """
        total = self.chunks
        done = total - len(missing)
        shown_s = -math.inf
        items = iter(missing.items())
        chunks = list(missing.values())
        with closing(embedding.stream_chunks(chunks, at_once=chunks_at_once)) as stream:
            for rows in stream:
                check_cancelled()
                for (key, chunk), found in zip(islice(items, len(rows)), rows, strict=True):
                    self.vectors[key] = self._unsaved[chunk.id, key] = found
                done += len(rows)
                if done == total or self.clock() - shown_s >= STEP_S:
                    shown_s = self.clock()
                    yield done

    def finished(self) -> Commit:
        """Return what can be stored: the documents that have all their vectors, and all entries."""
        prepared = tuple(filter(self._is_finished, self.prepared))
        keys = {key for one in prepared for key in one.keys}
        vectors = {key: self.vectors[key] for key in keys if key in self.vectors}
        return Commit(prepared, tuple(self.entries), vectors)

    def first_unfinished(self) -> Prepared | None:
        """Return the first document that lacks vectors."""
        return next((p for p in self.prepared if not self._is_finished(p)), None)

    def _is_finished(self, prepared: Prepared) -> bool:
        return all(key in self.vectors for key in prepared.keys if key != NO_VECTORS)

    def release(self, stored: Commit) -> None:
        """Remove what was committed; the rest waits for another ``BATCH_S``."""
        gone = set(map(id, stored.prepared))
        self.prepared = [prepared for prepared in self.prepared if id(prepared) not in gone]
        self.entries = []
        self.chunks = sum(len(prepared.leaves) for prepared in self.prepared)
        self._unsaved = {
            at: rows for at, rows in self._unsaved.items() if at[1] not in stored.vectors
        }
        self.opened = self.clock()

    def keep_vectors(self, store: Store, embedding: Embedding) -> bool:
        """Store the new vectors of a document that is not finished, once the batch is due.

        Returns True if there were any.
        """
        if not self._unsaved or not self.is_due():
            return False
        keep_vectors(store, embedding, self._unsaved)
        self._unsaved = {}
        self.opened = self.clock()
        return True


class Committed(NamedTuple):
    """A commit that is stored, with the entries of documents that have an id of another one."""

    commit: Commit
    collided: Sequence[LedgerEntry] = ()


class Writer:
    """Stores the commits of a run in its thread; close it after the run.

    A file has one writer. A store that can be opened again elsewhere (`Capabilities.opener`) may
    have many, and the index is the same whatever the order in which they commit.
    """

    def __init__(self, store: Store, embedding: Embedding, tiers: Tiers) -> None:
        self.store = store
        self.embedding = embedding
        self.tiers = tiers
        self.stored: list[Committed] = []

    def write(self, commit: Commit) -> None:
        """Store a commit, or begin to. Waits for earlier ones if too many are in progress.

        If a document has an id of another one, each is stored alone, so that only these fail.
        """
        store, vectors, embedding = self.store, commit.vectors, self.embedding
        store_documents = partial(commit_documents, store, vectors=vectors, embedding=embedding)
        collided: list[LedgerEntry] = []
        try:
            store_documents(commit.prepared, entries=commit.entries, questions=commit.questions)
        except IdCollision:
            _log.warning("ids collide in a batch; its documents are committed one by one")
            for prepared in checked(commit.prepared):
                chunks = {chunk.id for chunk in prepared.leaves}
                asked = {key: found for key, found in commit.questions.items() if key in chunks}
                try:
                    store_documents([prepared], questions=asked)
                except IdCollision as error:
                    failure = LoadError(error.code, str(error))
                    collided.append(failed_entry(prepared.source, failure, self.tiers))
            store_documents([], entries=[*commit.entries, *collided])
            drop_tables(store, [entry.uri for entry in collided if not entry.document_id])
        self.stored.append(Committed(commit, collided))

    def take(self, *, wait: bool) -> Iterator[Committed]:  # noqa: ARG002 - nothing is in progress
        """Yield the commits that are stored by now, or with ``wait`` all of them.

        Raises what storing one of them raised.
        """
        stored, self.stored = self.stored, []
        yield from stored

    def close(self) -> None:
        """End all work; a commit in progress is made as a whole or not at all."""


def commit_documents(
    store: Store,
    batch: Sequence[Prepared],
    *,
    vectors: Mapping[str, PassageVectors],
    embedding: Embedding,
    entries: Sequence[LedgerEntry] = (),
    questions: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write documents with their chunks, graph, texts, vectors and ledger entries at once.

    Replaces documents that are in the index. ``vectors`` are by content key; ``entries`` are
    further ledger entries of the same commit; ``questions`` are those that chunks answer, by chunk
    id. Descriptions by rules are left out if the store cannot hold them; the run reports that.
    Raises MissingCapability if the store cannot hold readings or questions, SchemaMismatch while
    the index is being switched to another embedder, IdCollision if an id of a document or of what
    it mentions is that of something else.
    """
    put_tables(store, [prepared.document for prepared in batch])
    names = embed_names_ahead(store, batch, embedding)
    indexed = [*map(indexed_entry, batch)]
    with store.transaction():
        batch = with_edits(store, batch)
        check_not_switching(store)
        stamp_embedder(store, embedding)
        replaced = _stored_chunks(store, batch)
        mentioned = {m.entity_id for p in batch for e in p.extractions for m in e.mentions}
        mentioned |= divided_from(store, mentioned)
        before = None
        if replaced:
            chunks = [chunk for ids in replaced.values() for chunk in ids]
            before = entities_before(store, chunks, mentioned)
            store.remove_documents(replaced.keys())
        for prepared in checked(batch):
            store.documents.put(prepared.document, prepared.sections, prepared.chunks)
        store.texts("chunk").add(
            (chunk.id, chunk.searched_text)
            for prepared in batch
            for chunk in checked(prepared.leaves)
        )
        keyed = [
            (chunk.id, key, vectors[key])
            for prepared in batch
            for chunk, key in zip(prepared.leaves, prepared.keys, strict=bool(prepared.keys))
            if key != NO_VECTORS
        ]
        put_vectors(store, keyed)
        drop_kept_vectors(store, [chunk.id for prepared in batch for chunk in prepared.leaves])
        if questions:
            put_questions(store, questions, embedding)
        # What follows is shared with other documents: several writers of a server take turns here.
        before = before or entities_before(store, [], mentioned)
        extractions = [extraction for prepared in batch for extraction in prepared.extractions]
        store.graph.upsert(
            mentions=(m for extraction in checked(extractions) for m in extraction.mentions),
            relations=(r for extraction in checked(extractions) for r in extraction.relations),
        )
        readings = [reading for prepared in batch for reading in prepared.readings]
        descriptions = [said for prepared in batch for said in prepared.descriptions]
        if readings:
            require_readings(store).put(readings, descriptions)
        elif descriptions and store.capabilities.readings is not None:
            store.capabilities.readings.put((), descriptions)
        resolutions = store.capabilities.resolutions
        if resolutions is not None and RULES_META in store.meta():
            resolutions.touch(mentioned)  # before the first resolution, all names are new
        if batch:
            outdate_communities(store)
        refresh_entities(store, before, embedding, names)
        store.ledger.put([*indexed, *entries])


def outdate_communities(store: Store) -> None:
    """Mark communities as outdated.

    They stay so even if the documents become what they were: whatever only a removed document
    supported has left the communities.
    """
    held = [name for name in (CONTENT_META, WRITTEN_META) if store.meta().get(name)]
    if held:
        store.set_meta(dict.fromkeys(held, ""))


def remove_sources(store: Store, entries: Sequence[LedgerEntry]) -> None:
    """Remove the documents of these entries, and all that only they supported, at once."""
    with store.transaction():
        ids = [entry.document_id for entry in entries if entry.document_id]
        chunks = [i for found in store.documents.chunk_ids_of(ids).values() for i in found]
        before = entities_before(store, chunks, set())
        store.remove_documents(ids)
        outdate_communities(store)
        refresh_entities(store, before, None)
        store.ledger.remove([entry.uri for entry in entries])
    drop_tables(store, [entry.uri for entry in entries])


def _stored_chunks(store: Store, batch: Sequence[Prepared]) -> dict[str, Collection[str]]:
    """Return the chunk ids of each document of the batch that is in the index, by document id.

    A source that failed with an id of another document has an entry without the id.
    """
    known = store.ledger.get([prepared.source.uri for prepared in batch])
    ids = [
        prepared.document.id
        for prepared in batch
        if prepared.source.uri in known and known[prepared.source.uri].document_id
    ]
    chunks = store.documents.chunk_ids_of(ids)
    return {document_id: chunks.get(document_id, []) for document_id in ids}


VECTOR_CHUNKS = 2
"""Chunks that mention an entity before it gets a vector."""


@dataclass(frozen=True, slots=True)
class EntityState:
    """The entities that a write may touch, before it.

    ``removed`` are those of removed chunks: they may vanish and come back within the write.
    """

    ids: frozenset[str]
    removed: frozenset[str]
    entities: Mapping[str, Entity]
    vectors: Mapping[str, FloatMatrix]


def entities_before(store: Store, removed_from: Collection[str], added: set[str]) -> EntityState:
    """Return the state of the entities of the chunks ``removed_from``, and of those ``added``."""
    old: set[str] = set()
    if removed_from:
        for mentions in checked(store.graph.mentions(removed_from).values()):
            old.update(mention.entity_id for mention in mentions)
    ids = frozenset(old | added)
    vectors = store.vectors("entity").get(old)
    return EntityState(ids, frozenset(old), store.graph.entities(ids), vectors)


def embed_names_ahead(
    store: Store, batch: Sequence[Prepared], embedding: Embedding
) -> dict[str, FloatMatrix]:
    """Embed the names to which a commit of this batch will give a vector, by entity id.

    It needs no transaction, in which other writers of a server would wait for the model.
    """
    mentions = [m for prepared in batch for e in prepared.extractions for m in e.mentions]
    if not embedding or not mentions:
        return {}
    forms = {mention.entity_id: mention.normal_form for mention in mentions}
    with store.reading():
        replaced = [chunk for ids in _stored_chunks(store, batch).values() for chunk in ids]
        gone = Counter(
            m.entity_id for found in store.graph.mentions(replaced).values() for m in found
        )
        held = store.graph.entities(forms.keys())
        added = Counter(entity for _, entity in {(m.chunk_id, m.entity_id) for m in mentions})
        linking = [
            entity
            for entity in forms
            if added[entity] - gone[entity] + (held[entity].chunk_count if entity in held else 0)
            >= VECTOR_CHUNKS
        ]
        present = store.vectors("entity").get(linking).keys()
    wanted = [e for e in linking if e not in present and embedding.reads(forms[e])]
    if not wanted:
        return {}
    rows = embedding.embed_names([forms[entity] for entity in wanted])
    return {entity: row[np.newaxis] for entity, row in zip(wanted, rows, strict=True)}


def refresh_entities(
    store: Store,
    before: EntityState,
    embedding: Embedding | None,
    names: Mapping[str, FloatMatrix] = MappingProxyType({}),
) -> None:
    """Update the texts and vectors of the touched entities to match the graph.

    Without ``embedding``, as in a removal, no vector is added: an entity that stays keeps its own.
    ``names`` are the vectors of names that were embedded ahead (`embed_names_ahead`).
    """
    after = store.graph.entities(before.ids)
    gone = before.ids - after.keys()
    store.texts("entity").remove(gone)
    text_of = entity_text(read_corrections(store))
    store.texts("entity").add(
        (entity.id, text_of(entity))
        for entity in after.values()
        if entity.id in before.removed
        or entity.id not in before.entities
        or entity.name != before.entities[entity.id].name
    )
    linking = {i: entity for i, entity in after.items() if entity.chunk_count >= VECTOR_CHUNKS}
    linked = (i for i, entity in before.entities.items() if entity.chunk_count >= VECTOR_CHUNKS)
    if unlinked := [i for i in linked if i not in linking]:
        remove_vectors(store, "entity", unlinked)
    if embedding:
        _add_vectors(store, linking, before.vectors, embedding, names)


def _add_vectors(
    store: Store,
    entities: Mapping[str, Entity],
    earlier: Mapping[str, FloatMatrix],
    embedding: Embedding,
    ahead: Mapping[str, FloatMatrix],
) -> None:
    index = store.vectors("entity")
    present = index.get(entities.keys()).keys()
    missing = [
        entity
        for entity in entities.values()
        if entity.id not in present and embedding.reads(entity.normal_form)
    ]
    known = {**ahead, **earlier}
    index.put(embedding.entity_row(e, known[e.id]) for e in missing if e.id in known)
    embedding.reused += sum(entity.id in earlier for entity in missing)
    # Another writer may have mentioned the others since.
    index.put(embedding.embed_entities([e for e in missing if e.id not in known]))


def put_tables(store: Store, documents: Sequence[Document]) -> None:
    """Store the tables of documents beside an index, and replace earlier ones.

    Call this before the documents are committed: after an interruption in between, the next run
    does it again, and until then `TableShape.revision` differs from that of the document.
    """
    is_due = any(document.tables for document in documents) or has_tables(store)
    tables = tables_of(store) if is_due else None
    if tables is not None:
        tables.put_documents(documents)


def drop_tables(store: Store, uris: Sequence[str]) -> None:
    """Remove the tables of documents that are no longer in an index."""
    tables = tables_of(store) if has_tables(store) else None
    if tables is not None:
        tables.remove_documents(uris)


def remove_property_graphs(store: Store, entries: Iterable[LedgerEntry]) -> None:
    """Remove the property graphs of removed documents that have no document left."""
    roots = {entry.root for entry in entries if entry.root.startswith(GRAPH_URI)}
    graphs = store.capabilities.property_graphs
    if roots and graphs is not None:
        left = {entry.root for entry in store.ledger.entries()}
        for root in sorted(roots - left):
            graphs.remove(root.removeprefix(GRAPH_URI))
