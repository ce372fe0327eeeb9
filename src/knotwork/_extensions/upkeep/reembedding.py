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
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice

from knotwork._config import Settings
from knotwork._indexing.changes import with_fingerprint
from knotwork._indexing.chunk_questions import QUESTIONS, embed_questions
from knotwork._indexing.commit import BATCH_S, VECTOR_CHUNKS
from knotwork._indexing.communities.index_reports import staying_current
from knotwork._indexing.communities.stored_reports import put_missing_vectors
from knotwork._indexing.description_vectors import embed_descriptions
from knotwork._indexing.embedding import (
    DIMENSION_META,
    EMBEDDER_META,
    FIRST_CHUNKS,
    INTO_META,
    LANGUAGES_META,
    MOST_EMBEDDED_THINGS,
    NO_VECTORS,
    REEMBED_COMMAND,
    UNREAD_NOTE,
    Embedding,
    VectorRow,
    known_vectors,
    put_vectors,
    refused_chunks,
    refused_notes,
    stamp_embedder,
    stored_embedder,
)
from knotwork._indexing.splitters import Splitter
from knotwork._indexing.stages import open_engine, plain_fingerprints
from knotwork._inference.embedder import Embedder, PassageVectors, without_prefixes
from knotwork._inference.model_registry import choose_model, open_embedder
from knotwork._run import Progress, Steps
from knotwork._stores.base import Store, require_vector_replacement
from knotwork._stores.capabilities import CommunityStore
from knotwork._stores.indexes import VECTOR_INDEXES, staged_name
from knotwork._stores.resolutions import RULES_META
from knotwork._transform.extractor import Extractor
from knotwork.errors import ConfigError, IndexingError, MissingExtra, StoreBusy
from knotwork.records import EXTRACTIVE_SOURCE, GRAPH_URI, Chunk

BATCH_CHUNKS = 256
"""Most chunks in a transaction. The first has fewer, and later ones as many as take `BATCH_S`."""

_ENTRIES = 1_000

_SETTINGS_NOTE = (
    "The settings name `{wanted}`. To search with the new vectors, set: "
    'embedding.model = "{embedder}"'
)


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


def _resolve_embedder(
    model: str | Embedder, settings: Settings, given: Embedder | None
) -> Embedder:
    """Return the embedder that ``model`` names, by default ``given`` or that of the settings.

    "auto" is the model of a new index. Raises ConfigError for "none", UnknownName for an unknown
    model, MissingExtra without its library.
    """
    if not isinstance(model, str):
        return model
    if not model and given is not None:
        return given
    embedder = open_embedder(model or settings.embedding.model, settings.embedding)
    if embedder is None:
        raise ConfigError(
            "No embedding model is set.",
            fix=f"Choose one: {REEMBED_COMMAND} --model {choose_model()}",
        )
    return embedder


def reembed(
    store: Store,
    settings: Settings,
    model: str | Embedder,
    *,
    given: Embedder | None = None,
    splitter: Splitter | None = None,
    extractor: Extractor | None = None,
) -> Steps[tuple[Embedder, EmbedReport]]:
    """Embed an index again, and return the embedder with the report of `Reembedding.run`.

    ``model`` is an embedder or the name of one, by default ``given`` or that of the settings.
    ``splitter`` and ``extractor`` are those of the index if they are not those of the settings.
    The report has a note if the settings name another embedder than the index now has.
    """
    embedder = _resolve_embedder(model, settings, given)
    with closing(open_engine(settings)) as engine:
        embedding = Embedding(engine.open_embedder(embedder))
        marks = plain_fingerprints(
            settings, identities(store, embedding), splitter=splitter, extractor=extractor
        )
        report = yield from Reembedding(store, embedding, fingerprints=marks).run()
    wanted = settings.embedding.model
    try:
        found = open_embedder(wanted, settings.embedding, stored=embedder.name)
    except MissingExtra:
        found = None
    if found is not None and found.name == embedder.name:
        return embedder, report
    note = _SETTINGS_NOTE.format(wanted=wanted, embedder=without_prefixes(embedder.name))
    return embedder, replace(report, notes=(*report.notes, note))


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
            for leaves, bare in self._batches():
                begun_s = self._clock()
                yield from self._embed_batch(leaves, bare)
                took_s = self._clock() - begun_s
                if took_s > BATCH_S:
                    self._batch_chunks = max(self._batch_chunks // 2, 1)
                elif took_s < BATCH_S / 2:
                    self._batch_chunks = min(2 * self._batch_chunks, self._most_chunks)
                self._done += len(leaves)
                yield Progress("chunks", min(self._done, self._total), self._total)
            yield from embed_descriptions.run(self._store, self._embedding, name=self._name)
            held = self._store.capabilities.communities
            if held is not None:
                ids = sorted(key for level in held.levels() for key in level)
                if self._store.vectors("report").count() or _has_written(held, ids):
                    yield from put_missing_vectors.run(
                        self._store, ids, self._embedding, name=self._name("report")
                    )
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

    def _embed_batch(self, leaves: Sequence[Chunk], bare: Collection[str]) -> Iterator[Progress]:
        """Embed the chunks that lack vectors, but for ``bare``, with their entities and questions.

        All of it is stored in one transaction.
        """
        store, embedding = self._store, self._embedding
        names = self._name("chunk"), self._name("sentence")
        present = store.vectors(names[0]).get([chunk.id for chunk in leaves])
        keys = {
            chunk.id: key
            for chunk in leaves
            if chunk.id not in present
            and chunk.id not in bare
            and (key := embedding.chunk_key(chunk)) != NO_VECTORS
        }
        vectors = known_vectors(store, set(keys.values()), names=names)
        missing: dict[str, Chunk] = {}
        for chunk in leaves:
            if chunk.id in keys and keys[chunk.id] not in vectors:
                missing.setdefault(keys[chunk.id], chunk)
        done = self._done + len(leaves) - len(missing)
        waiting = iter(missing)
        for rows in embedding.stream_chunks(list(missing.values())):
            vectors |= zip(islice(waiting, len(rows)), rows, strict=True)
            done += len(rows)
            yield Progress("chunks", done, self._total)
        entities, questions = self._embed_entities(leaves), self._embed_questions(leaves)
        if keys or entities or questions:
            with store.transaction():
                self._check_mark()
                self._put(leaves, keys, vectors, entities, questions)

    def _embed_entities(self, leaves: Sequence[Chunk]) -> list[VectorRow]:
        """Embed the entities of the chunks that lack a vector and are in several chunks."""
        mentions = self._store.graph.mentions([chunk.id for chunk in leaves])
        ids = {mention.entity_id for found in mentions.values() for mention in found}
        present = self._store.vectors(self._name("entity")).get(ids)
        entities = [
            entity
            for entity in self._store.graph.entities(ids - present.keys()).values()
            if entity.chunk_count >= VECTOR_CHUNKS and self._embedding.reads(entity.normal_form)
        ]
        return self._embedding.embed_entities(sorted(entities, key=lambda entity: entity.id))

    def _embed_questions(self, leaves: Sequence[Chunk]) -> list[VectorRow]:
        held = self._store.capabilities.questions
        if held is None:
            return []
        ids = [chunk.id for chunk in leaves]
        present = self._store.vectors(self._name(QUESTIONS)).get(ids)
        wanted = {key: asked for key, asked in held.questions(ids).items() if key not in present}
        return embed_questions(wanted, self._embedding)

    def _put(
        self,
        leaves: Sequence[Chunk],
        keys: Mapping[str, str],
        vectors: Mapping[str, PassageVectors],
        entities: Sequence[VectorRow],
        questions: Sequence[VectorRow],
    ) -> None:
        """Write vectors, except those of chunks that another process has removed meanwhile."""
        store = self._store
        now = store.documents.chunks({*keys, *(chunk for chunk, _, _ in questions)})
        kept = [chunk.id for chunk in leaves if chunk.id in keys and now.get(chunk.id) == chunk]
        put_vectors(
            store,
            [(chunk, keys[chunk], vectors[keys[chunk]]) for chunk in kept],
            names=(self._name("chunk"), self._name("sentence")),
        )
        found = store.graph.entities([entity for entity, _, _ in entities])
        store.vectors(self._name("entity")).put(
            row
            for row in entities
            if row[0] in found and found[row[0]].chunk_count >= VECTOR_CHUNKS
        )
        store.vectors(self._name(QUESTIONS)).put(row for row in questions if row[0] in now)

    def _finish(self) -> None:
        """Replace the old vectors, and update the settings and the ledger of the index."""
        store, languages = self._store, " ".join(sorted(self._embedding.languages))
        with store.transaction():
            self._check_mark()
            self._update_ledger()
            if not self._staged:
                stamp_embedder(store, self._embedding)
                return
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

    def _update_ledger(self) -> None:
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
        bare = self._total - vectors[0]
        notes: list[str] = []
        if finished:
            notes += refused_notes(store)
            unread = bare - sum(refused_chunks(store).values())
            if unread and embedding.languages:
                notes.append(
                    UNREAD_NOTE.format(count=unread, chunks=self._total, embedder=embedding.name)
                )
        return EmbedReport(
            embedding.name,
            self._previous,
            self._dimension,
            self._total,
            self._done,
            bare,
            dict(zip(VECTOR_INDEXES, vectors, strict=True)),
            embedding.embedded,
            self._clock() - self._started_s,
            tuple(notes),
        )


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
    for start in range(0, len(ids), _ENTRIES):
        reports = held.reports(ids[start : start + _ENTRIES])
        if any(report.source != EXTRACTIVE_SOURCE for report in reports.values()):
            return True
    return False
