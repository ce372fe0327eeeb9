"""Embed an index with another model, without reading its documents again.

New vectors are written to staged indexes beside those in use, in batches of chunks. The old vectors
serve searches until all new ones are stored; one transaction then replaces them. A run that was
stopped continues where it stopped. An index that already has vectors of the model gets only the
missing ones, in place.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from knotwork._indexing.changes import with_fingerprint
from knotwork._indexing.chunk_questions import QUESTIONS, embed_questions
from knotwork._indexing.commits import BATCH_S, VECTOR_CHUNKS
from knotwork._indexing.communities.index_reports import put_missing_vectors, staying_current
from knotwork._indexing.description_vectors import embed_descriptions
from knotwork._indexing.embedding import (
    DIMENSION_META,
    EMBEDDER_META,
    FIRST_CHUNKS,
    INTO_META,
    LANGUAGES_META,
    MOST_EMBEDDED_THINGS,
    NO_VECTORS,
    UNREAD_NOTE,
    Embedding,
    known_vectors,
    note_refused,
    refused_chunks,
    refused_notes,
    stamp_embedder,
    stored_embedder,
)
from knotwork._indexing.resolution.resolver import RULES_META
from knotwork._inference.embedder import PassageVectors
from knotwork._run import Progress, Steps
from knotwork._stores.base import FloatMatrix, Store, require_vector_replacement
from knotwork._stores.capabilities import CommunityStore
from knotwork._stores.vectors import VECTOR_INDEXES, staged_name
from knotwork.errors import IndexingError, StoreBusy
from knotwork.records import EXTRACTIVE_SOURCE, GRAPH_URI, Chunk

BATCH_CHUNKS = 256
"""Most chunks in a transaction. The first has fewer, and later ones as many as take `BATCH_S`."""

_ENTRIES = 1_000


@dataclass(frozen=True, slots=True)
class EmbedReport:
    """The outcome of embedding an index.

    ``previous`` is the embedder of the earlier vectors, empty if there were none. ``vectors``
    counts the ids with vectors by index, ``without_vectors`` the chunks without one. ``embedded``
    texts went through the model in this run, which covered ``done`` of ``chunks``.
    """

    embedder: str
    previous: str
    dimension: int
    chunks: int
    done: int = 0
    without_vectors: int = 0
    vectors: Mapping[str, int] = field(default_factory=dict)
    embedded: int = 0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    def __str__(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in self.vectors.items())
        return "\n".join([f"Embedder: {self.embedder}.", f"Vectors: {counts}.", *self.notes])


class EmbeddingInterrupted(KeyboardInterrupt):
    """The user stopped a run. The same call continues; see `IndexingInterrupted`."""

    def __init__(self, report: EmbedReport) -> None:
        super().__init__(
            f"Interrupted after {report.done:,} of {report.chunks:,} chunks, which are kept. Run "
            "the same command again to continue."
        )
        self.report = report


class Reembedding:
    """One run that embeds an index.

    ``fingerprints`` map the `Embedding.identity` of an embedder to the fingerprint that the ledger
    stores for documents indexed with it, at least for `identities`. They are used to update the
    ledger, so that the next `index` does not read the documents again.
    """

    def __init__(
        self,
        store: Store,
        embedding: Embedding,
        *,
        fingerprints: Mapping[str, str] | None = None,
        batch_chunks: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._embedding = embedding
        self._fingerprints = fingerprints or {}
        self._most_chunks = batch_chunks or BATCH_CHUNKS
        self._batch_chunks = min(FIRST_CHUNKS, self._most_chunks)
        self._previous = stored_embedder(store)
        self._staged = self._previous != embedding.name
        self._clock = clock
        self._started_s = clock()
        self._dimension = 0
        self._total = 0
        self._done = 0

    def run(self) -> Steps[EmbedReport]:
        """Embed what is missing, finish the switch, and return the report.

        Finished batches are kept if the run stops. Raises IndexingError for an index without
        documents, StoreReadOnly, StoreBusy, ModelError if the embedder fails, and
        EmbeddingInterrupted (a KeyboardInterrupt) on Ctrl-C.
        """
        try:
            self._begin()
            yield Progress("chunks", 0, self._total)
            yield from self._embed_documents()
            yield from embed_descriptions.run(self._store, self._embedding, name=self._name)
            yield from self._embed_reports()
            self._finish()
        except KeyboardInterrupt:
            raise EmbeddingInterrupted(replace(self._report(), interrupted=True)) from None
        yield Progress("chunks", self._done, self._total)
        return self._report(finished=True)

    def _begin(self) -> None:
        """Load the model and mark the switch; drop vectors staged for another model."""
        self._total = self._store.documents.chunk_count()
        if not self._total:
            raise IndexingError(
                f"The index `{self._store.url}` has no documents to embed.",
                fix="Index some first: knotwork index FOLDER",
            )
        power = require_vector_replacement(self._store)
        self._dimension = int(self._embedding.dimension)  # loads the model, or raises
        into = self._embedding.name if self._staged else ""
        with self._store.transaction():
            if not into or self._store.meta().get(INTO_META) != into:
                for name in VECTOR_INDEXES:
                    power.clear_vectors(staged_name(name))
            if self._store.meta().get(INTO_META, "") != into:
                self._store.set_meta({INTO_META: into})

    def _name(self, name: str) -> str:
        return staged_name(name) if self._staged else name

    def _embed_documents(self) -> Iterator[Progress]:
        """Embed all chunks, in batches."""
        questions = self._store.capabilities.questions
        for leaves, bare in self._batches():
            begun_s = self._clock()
            batch = VectorBatch(self._store, self._embedding, self._name)
            batch.find_chunks(leaves, bare)
            present = len(leaves) - len(batch.missing)
            for embedded in batch.embed():
                yield Progress("chunks", self._done + present + embedded, self._total)
            batch.embed_entities()
            if questions is not None:
                batch.embed_questions(questions.questions([chunk.id for chunk in leaves]))
            if batch.has_news:
                with self._store.transaction():
                    self._check_mark()
                    batch.put()
            self._fit_batches(self._clock() - begun_s)
            self._done += len(leaves)
            yield Progress("chunks", min(self._done, self._total), self._total)

    def _fit_batches(self, took_s: float) -> None:
        """Change the size of the next batch by the time that the last one took."""
        if took_s > BATCH_S:
            self._batch_chunks = max(self._batch_chunks // 2, 1)
        elif took_s < BATCH_S / 2:
            self._batch_chunks = min(2 * self._batch_chunks, self._most_chunks)

    def _batches(self) -> Iterator[tuple[list[Chunk], set[str]]]:
        """Yield batches of leaf chunks, and the ids of those that get no vectors."""
        graphs = _unembedded_graphs(self._store, has_vectors=bool(self._previous))
        ids: list[str] = []
        bare: set[str] = set()
        for document_id in self._store.documents.document_ids():
            found = self._store.documents.chunk_ids_of([document_id]).get(document_id, [])
            if document_id in graphs:
                bare.update(found)
            ids += found
            while len(ids) >= self._batch_chunks:
                taken, ids = ids[: self._batch_chunks], ids[self._batch_chunks :]
                yield self._leaves(taken), bare.intersection(taken)
                bare.difference_update(taken)
        if ids:
            yield self._leaves(ids), bare

    def _leaves(self, ids: Sequence[str]) -> list[Chunk]:
        chunks = self._store.documents.chunks(ids)
        return [chunks[i] for i in ids if i in chunks and not chunks[i].is_parent]

    def _embed_reports(self) -> Iterator[Progress]:
        """Embed community reports, if the index has vectors of reports, or reports by a model."""
        held = self._store.capabilities.communities
        if held is None:
            return
        ids = sorted(key for level in held.levels() for key in level)
        if not self._store.vectors("report").count() and not _has_written(held, ids):
            return
        yield from put_missing_vectors.run(
            self._store, ids, self._embedding, name=self._name("report")
        )

    def _finish(self) -> None:
        """Replace the old vectors, and update the settings and the ledger of the index."""
        store, languages = self._store, " ".join(sorted(self._embedding.languages))
        with store.transaction():
            self._check_mark()
            self._update_ledger()
            if self._staged:
                power = require_vector_replacement(store)
                for name in VECTOR_INDEXES:
                    power.replace_vectors(name, staged_name(name))
                values = {
                    EMBEDDER_META: self._embedding.name,
                    DIMENSION_META: str(self._dimension),
                    INTO_META: "",
                }
                if languages or LANGUAGES_META in store.meta():
                    values[LANGUAGES_META] = languages
                if store.meta().get(RULES_META):
                    values[RULES_META] = ""  # similar names must be searched again
                store.set_meta(values)
            else:
                stamp_embedder(store, self._embedding)

    def _update_ledger(self) -> None:
        """Store in the ledger that all documents have the vectors of the new embedder."""
        new = self._fingerprints.get(self._embedding.identity, "")
        old = [mark for mark in self._fingerprints.values() if mark != new]
        if not new or not old:
            return
        store = self._store
        with staying_current(store):
            changed = []
            for entry in store.ledger.entries():
                settings = entry.settings
                for mark in old:
                    settings = with_fingerprint(settings, mark, new)
                if settings != entry.settings:
                    changed.append(replace(entry, settings=settings))
            for start in range(0, len(changed), _ENTRIES):
                store.ledger.put(changed[start : start + _ENTRIES])

    def _check_mark(self) -> None:
        """Raise StoreBusy if another process has finished this switch or started another."""
        into = self._embedding.name if self._staged else ""
        if self._store.meta().get(INTO_META, "") == into:
            return
        raise StoreBusy(
            f"Another process is embedding the index `{self._store.url}`, or has just finished.",
            fix="Wait until it has finished, then run this again if it is still needed.",
        )

    def _report(self, *, finished: bool = False) -> EmbedReport:
        store, embedding = self._store, self._embedding
        names = VECTOR_INDEXES if finished else [self._name(name) for name in VECTOR_INDEXES]
        vectors = [store.vectors(name).count() for name in names]
        report = EmbedReport(
            embedding.name,
            self._previous,
            self._dimension,
            self._total,
            self._done,
            self._total - vectors[0],
            dict(zip(VECTOR_INDEXES, vectors, strict=True)),
            embedding.embedded,
            self._clock() - self._started_s,
        )
        return replace(report, notes=tuple(self._notes(report))) if finished else report

    def _notes(self, report: EmbedReport) -> Iterator[str]:
        unread = report.without_vectors - sum(refused_chunks(self._store).values())
        yield from refused_notes(self._store)
        if unread and self._embedding.languages:
            yield UNREAD_NOTE.format(count=unread, chunks=report.chunks, embedder=report.embedder)


def identities(store: Store, embedding: Embedding) -> set[str]:
    """Return the identities of the embedders that documents of an index may have: see `Embedding`.

    These are that of the stored vectors, that of ``embedding``, and that of no embedder.
    """
    meta = store.meta()
    languages = sorted(meta.get(LANGUAGES_META, "").split())
    stored = " ".join([meta.get(EMBEDDER_META, ""), *languages])
    return {Embedding().identity, stored, embedding.identity}


def _unembedded_graphs(store: Store, *, has_vectors: bool) -> set[str]:
    """Return the ids of the documents of imported graphs that have no vectors by choice.

    In an index without vectors, these are the graphs that are too big to be embedded by default.
    """
    entries = [entry for entry in store.ledger.entries() if entry.root.startswith(GRAPH_URI)]
    sizes = Counter[str]()
    for entry in entries:
        sizes[entry.root] += entry.chunks
    found = set()
    for entry in entries:
        if has_vectors:
            ids = store.documents.chunk_ids_of([entry.document_id]).get(entry.document_id, [])
            if not store.vectors("chunk").get(ids):
                found.add(entry.document_id)
        elif sizes[entry.root] > MOST_EMBEDDED_THINGS:
            found.add(entry.document_id)
    return found


def _has_written(held: CommunityStore, ids: Sequence[str]) -> bool:
    """Return True if a model wrote any of the reports."""
    for start in range(0, len(ids), _ENTRIES):
        reports = held.reports(ids[start : start + _ENTRIES])
        if any(report.source != EXTRACTIVE_SOURCE for report in reports.values()):
            return True
    return False


VectorRow = tuple[str, str, FloatMatrix]


class VectorBatch:
    """The vectors of some chunks, with their entities and questions, for one transaction."""

    def __init__(self, store: Store, embedding: Embedding, name: Callable[[str], str]) -> None:
        self._store = store
        self._embedding = embedding
        self._name = name
        self._leaves: Sequence[Chunk] = ()
        self._chunks: list[Chunk] = []
        self._keys: dict[str, str] = {}
        self._vectors: dict[str, PassageVectors] = {}
        self._entities: list[VectorRow] = []
        self._questions: list[VectorRow] = []
        self.missing: list[Chunk] = []

    def find_chunks(self, leaves: Sequence[Chunk], bare: Collection[str]) -> None:
        """Find the chunks that lack vectors; those in ``bare`` get none."""
        self._leaves = leaves
        ids = [chunk.id for chunk in leaves]
        present = self._store.vectors(self._name("chunk")).get(ids)
        self._chunks = [chunk for chunk in leaves if chunk.id not in present]
        read = [chunk for chunk in self._chunks if chunk.id not in bare]
        keys = {chunk.id: self._embedding.chunk_key(chunk) for chunk in read}
        self._keys = {key: value for key, value in keys.items() if value != NO_VECTORS}
        names = (self._name("chunk"), self._name("sentence"))
        self._vectors = known_vectors(self._store, set(self._keys.values()), names=names)
        missing = {
            self._keys[chunk.id]: chunk
            for chunk in reversed(read)
            if self._keys.get(chunk.id, NO_VECTORS) not in {NO_VECTORS, *self._vectors}
        }
        self.missing = list(reversed(missing.values()))

    def embed(self) -> Iterator[int]:
        """Embed the missing chunks, and yield how many are done."""
        waiting = iter(self.missing)
        done = 0
        for vectors in self._embedding.stream_chunks(self.missing):
            for rows in vectors:
                self._vectors[self._keys[next(waiting).id]] = rows
            done += len(vectors)
            yield done

    def embed_entities(self) -> None:
        """Embed the entities of the chunks that lack a vector and are in several chunks."""
        mentions = self._store.graph.mentions([chunk.id for chunk in self._leaves])
        ids = {mention.entity_id for found in mentions.values() for mention in found}
        present = self._store.vectors(self._name("entity")).get(ids)
        entities = [
            entity
            for entity in self._store.graph.entities(ids - present.keys()).values()
            if entity.chunk_count >= VECTOR_CHUNKS and self._embedding.reads(entity.normal_form)
        ]
        entities.sort(key=lambda entity: entity.id)
        if not entities:
            return
        rows = self._embedding.embed_names([entity.normal_form for entity in entities])
        self._entities = [
            (entity.id, self._embedding.name_key(entity.normal_form), row[np.newaxis])
            for entity, row in zip(entities, rows, strict=True)
        ]

    def embed_questions(self, questions: Mapping[str, Sequence[str]]) -> None:
        """Embed those of ``questions``, by chunk id, that lack vectors."""
        ids = {chunk.id for chunk in self._leaves}
        present = self._store.vectors(self._name(QUESTIONS)).get(ids)
        wanted = {k: q for k, q in questions.items() if k in ids and k not in present}
        self._questions = embed_questions(wanted, self._embedding)

    @property
    def has_news(self) -> bool:
        """True if there is anything to write."""
        return bool(self._keys or self._entities or self._questions)

    def put(self) -> None:
        """Write the vectors, except those of chunks that another process has removed meanwhile."""
        asked = {item[0] for item in self._questions}
        now = self._store.documents.chunks({*self._keys, *asked})
        kept = [c.id for c in self._chunks if c.id in self._keys and now.get(c.id) == c]
        found = [(i, self._keys[i], self._vectors[self._keys[i]]) for i in kept]
        note_refused(self._store, ((i, rows) for i, _, rows in found))
        self._put("chunk", [(i, key, rows.chunk[np.newaxis]) for i, key, rows in found])
        self._put(
            "sentence", [(i, key, rows.sentences) for i, key, rows in found if len(rows.sentences)]
        )
        entities = self._store.graph.entities([item[0] for item in self._entities])
        linking = {i for i, entity in entities.items() if entity.chunk_count >= VECTOR_CHUNKS}
        self._put("entity", [item for item in self._entities if item[0] in linking])
        self._put(QUESTIONS, [item for item in self._questions if item[0] in now])

    def _put(self, name: str, items: Sequence[VectorRow]) -> None:
        self._store.vectors(self._name(name)).put(items)
