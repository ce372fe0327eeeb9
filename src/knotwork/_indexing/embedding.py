"""Embed chunks and names: reuse stored vectors of known texts, call the model for the rest.

A long document takes many minutes to embed, and is committed when it is finished. Until then, its
vectors are kept in the staged indexes, beside those in use, by chunk and content key, so that a
killed run need not repeat them. They are removed with the commit of the document, or at the end of
a run if the document changed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from knotwork._cancellation import checked
from knotwork._inference.embedder import (
    Embedder,
    PassageText,
    PassageVectors,
    embedding_key,
    normalise_rows,
    without_prefixes,
)
from knotwork._stores.base import FloatMatrix, Store
from knotwork._stores.indexes import staged_name
from knotwork._text.languages import is_read
from knotwork.errors import SchemaMismatch
from knotwork.records import Chunk, Entity, content_id

MOST_EMBEDDED_THINGS = 2_000
"""The entities of an imported graph whose passages are embedded without being asked for."""

EMBEDDER_META = "embedder"
DIMENSION_META = "dimension"
LANGUAGES_META = "languages"
"""The languages that the embedder supports, separated by spaces; empty for all."""

INTO_META = "embedding_into"
"""The embedder that the index is being switched to; empty after the switch."""

EMBEDDING_CHUNKS = 128
"""Most chunks in a call of an embedder that does not stream."""

FIRST_CHUNKS = 16
CALL_S = 1.0
"""The first call has few chunks, and later ones as many as take about this time."""

NO_VECTORS = ""
"""The content key of a chunk without vectors."""

KEPT_META = "vectors_kept_of"
"""The embedder of the kept vectors; empty without any."""

REFUSED_META = "chunks_without_vectors"
"""The ids of chunks whose text the embedder could not take, separated by spaces."""

REEMBED_COMMAND = "knotwork embed"
UNREAD_NOTE = (
    "{count:,} of {chunks:,} chunks have no vectors, because `{embedder}` does not read their "
    "language. Full text and the knowledge graph find them."
)
REFUSED_NOTE = (
    "{count} no vector, because the embedding model could not take the text: {documents}. "
    f"Full text and the knowledge graph still find it. To try again: {REEMBED_COMMAND}"
)
UNFINISHED_NOTE = (
    "This index is being switched to the vectors of `{into}`. Until that is finished, it is "
    f"searched by {{means}}. To finish: {REEMBED_COMMAND} --model {{into}}"
)
UNREAD_FIX = (
    "For vectors too, embed the index with a multilingual model: "
    f"{REEMBED_COMMAND} --model local:multilingual-e5-small"
)

VectorsByChunk = Mapping[tuple[str, str], PassageVectors]

VectorRow = tuple[str, str, FloatMatrix]
"""What a vector index stores: an id, a content key, and the rows."""

CHUNK_INDEXES = ("chunk", "sentence")
_KEPT_INDEXES = (staged_name("chunk"), staged_name("sentence"))


@dataclass(slots=True)
class Embedding:
    """The embedder of a run, or none; ``embedded`` and ``reused`` count its texts.

    Text in a language that the embedder does not support gets no vectors, which would be noise;
    questions in it are not embedded either. Names are embedded while a batch is stored, in
    ``names_s`` seconds so far. ``wanted`` is False if the settings ask for no embedder.
    ``call_chunks`` is the size of the next call of an embedder that does not stream.
    """

    embedder: Embedder | None = None
    wanted: bool = True
    embedded: int = 0
    reused: int = 0
    names_s: float = 0.0
    call_chunks: int = FIRST_CHUNKS
    clock: Callable[[], float] = time.perf_counter

    def __bool__(self) -> bool:
        return self.embedder is not None

    @property
    def name(self) -> str:
        """The embedder's name; empty without one."""
        return self.embedder.name if self.embedder else ""

    @property
    def languages(self) -> frozenset[str]:
        """The languages that the embedder supports; empty for all."""
        return frozenset(getattr(self.embedder, "languages", None) or ())

    @property
    def identity(self) -> str:
        """The name and languages, which decide the vectors and the texts that have one."""
        return " ".join([self.name, *sorted(self.languages)])

    @property
    def dimension(self) -> int:
        """The length of a vector; the first use may load a model."""
        return self._model.dimension

    @property
    def is_loaded(self) -> bool:
        """False if the next use will load a model, which may take seconds."""
        return bool(getattr(self.embedder, "is_loaded", True))

    def load(self) -> None:
        """Load the model, unless it is loaded."""
        _ = self._model.dimension

    @property
    def _model(self) -> Embedder:
        assert self.embedder is not None, "nothing is embedded without an embedder"
        return self.embedder

    def chunk_key(self, chunk: Chunk) -> str:
        """Return a hash of all that decides a chunk's vectors; NO_VECTORS if it gets none."""
        if not self.reads(chunk.text):
            return NO_VECTORS
        return embedding_key(self.name, PassageText.of(chunk))

    def reads(self, text: str) -> bool:
        """Return True if the embedder supports the language of the text."""
        return is_read(text, self.languages)

    def embed_chunks(self, chunks: Sequence[Chunk]) -> list[PassageVectors]:
        """Return the vectors of chunks, in order; zeros for a chunk that cannot be embedded."""
        vectors = self._model.embed_passages([PassageText.of(chunk) for chunk in chunks])
        self.embedded += len(chunks)
        return list(map(_usable, vectors))

    def stream_chunks(
        self, chunks: Sequence[Chunk], *, at_once: int = EMBEDDING_CHUNKS
    ) -> Generator[list[PassageVectors], None, None]:
        """Yield the vectors of chunks in order, as many at a time as the embedder returns.

        An embedder that does not stream gets at most ``at_once`` chunks in a call, fewer if it is
        slow. No chunks load no model.
        """
        if not chunks:
            return
        stream = getattr(self.embedder, "stream_passages", None)
        if stream is None:
            start = 0
            while start < len(chunks):
                begun_s = self.clock()
                vectors = self.embed_chunks(chunks[start : start + min(self.call_chunks, at_once)])
                took_s = self.clock() - begun_s
                start += len(vectors)
                if took_s < CALL_S / 2:
                    self.call_chunks = min(2 * self.call_chunks, at_once)
                elif took_s > CALL_S:
                    self.call_chunks = max(len(vectors) // 2, 1)
                yield vectors
            return
        for vectors in stream([PassageText.of(chunk) for chunk in chunks]):
            self.embedded += 1
            yield [_usable(vectors)]

    def embed_names(self, names: Sequence[str]) -> FloatMatrix:
        """Return a matrix with a unit row for each name; zeros if it cannot be embedded."""
        started_s = self.clock()
        rows = self._model.embed(names)
        rows = np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, np.float32(0))
        self.names_s += self.clock() - started_s
        self.embedded += len(names)
        return rows

    def entity_row(self, entity: Entity, row: FloatMatrix) -> VectorRow:
        """Return what the index stores of an entity with this vector of its normal form."""
        return entity_row(self.name, entity, row)

    def embed_entities(self, entities: Sequence[Entity]) -> list[VectorRow]:
        """Return what the index stores of entities, whose names are embedded."""
        if not entities:
            return []
        rows = self.embed_names([entity.normal_form for entity in entities])
        return [self.entity_row(entity, row) for entity, row in zip(entities, rows, strict=True)]


def entity_row(embedder: str, entity: Entity, row: FloatMatrix) -> VectorRow:
    """Return what an index stores of an entity with the vector of its normal form."""
    return entity.id, content_id("name", embedder, entity.normal_form), np.atleast_2d(row)


def _usable(vectors: PassageVectors) -> PassageVectors:
    """Return vectors of which those of a sentence without one are those of its passage."""
    chunk, sentences = vectors.chunk, vectors.sentences
    if np.isfinite(chunk).all() and chunk.any() and np.isfinite(sentences).all():
        is_bare = ~sentences.any(axis=1)
        if not is_bare.any():
            return vectors
    chunk = normalise_rows(chunk[np.newaxis])
    sentences = normalise_rows(sentences) * chunk.any()
    return PassageVectors(
        chunk[0], np.where(sentences.any(axis=1, keepdims=True), sentences, chunk)
    )


def put_vectors(
    store: Store,
    found: Sequence[tuple[str, str, PassageVectors]],
    *,
    names: tuple[str, str] = CHUNK_INDEXES,
    notes_refused: bool = True,
) -> None:
    """Store the vectors of chunks and their sentences, and which chunks could not be embedded."""
    refused = {chunk for chunk, _, rows in found if not rows.chunk.any()}
    if refused and notes_refused:
        refused.update(store.meta().get(REFUSED_META, "").split())
        store.set_meta({REFUSED_META: " ".join(sorted(refused))})
    chunks, sentences = map(store.vectors, names)
    chunks.put((i, key, rows.chunk[np.newaxis]) for i, key, rows in checked(found))
    sentences.put(
        (i, key, rows.sentences) for i, key, rows in checked(found) if len(rows.sentences)
    )


def keep_vectors(store: Store, embedding: Embedding, found: VectorsByChunk) -> None:
    """Store vectors by (chunk id, content key) of documents that are not finished.

    Does nothing if the store has no staged indexes. Raises SchemaMismatch while the index is being
    switched to another embedder.
    """
    if store.capabilities.vector_replacement is None:
        return
    with store.transaction():
        check_not_switching(store)
        if store.meta().get(KEPT_META) != embedding.name:
            _clear_kept(store)
            store.set_meta({KEPT_META: embedding.name})
        rows = [(*at, vectors) for at, vectors in found.items()]
        put_vectors(store, rows, names=_KEPT_INDEXES, notes_refused=False)


def find_kept_vectors(
    store: Store, embedding: Embedding, keys: Collection[str]
) -> dict[str, PassageVectors]:
    """Return the kept vectors of these content keys."""
    if store.meta().get(KEPT_META) != embedding.name:
        return {}
    return known_vectors(store, keys, names=_KEPT_INDEXES)


def drop_kept_vectors(store: Store, chunk_ids: Collection[str] | None = None) -> None:
    """Remove the kept vectors of these chunks, or of all."""
    if not store.meta().get(KEPT_META):
        return
    with store.transaction():
        if chunk_ids is None:
            if not unfinished_embedder(store):  # a switch uses the same staged indexes
                _clear_kept(store)
            store.set_meta({KEPT_META: ""})
        else:
            for name in _KEPT_INDEXES:
                store.vectors(name).remove(chunk_ids)


def _clear_kept(store: Store) -> None:
    replacement = store.capabilities.vector_replacement
    if replacement is not None:
        for name in _KEPT_INDEXES:
            replacement.clear_vectors(name)


def refused_chunks(store: Store) -> dict[str, int]:
    """Return the number of chunks by document id whose text the embedder could not take.

    They still lack a vector: another run may have embedded or removed some.
    """
    counts = Counter[str]()
    ids = store.meta().get(REFUSED_META, "").split()
    chunks = store.documents.chunks(ids) if ids else {}
    for key in chunks.keys() - store.vectors("chunk").get(ids).keys():
        counts[chunks[key].document_id] += 1
    return counts


def refused_notes(store: Store, document_id: str = "") -> list[str]:
    """Return a note on the chunks of an index, or of one document, that `refused_chunks` counts."""
    counts = refused_chunks(store)
    if document_id:
        counts = {key: count for key, count in counts.items() if key == document_id}
    uris = sorted(document.uri for document in store.documents.documents(counts).values())
    if not uris:
        return []
    count, more = sum(counts.values()), len(uris) - _SHOWN_DOCUMENTS
    shown = ", ".join(f"`{uri}`" for uri in uris[:_SHOWN_DOCUMENTS])
    documents = f"{shown} and {more:,} more documents" if more > 0 else shown
    counted = "1 chunk has" if count == 1 else f"{count:,} chunks have"
    return [REFUSED_NOTE.format(count=counted, documents=documents)]


_SHOWN_DOCUMENTS = 3


def known_vectors(
    store: Store, keys: Collection[str], *, names: tuple[str, str] = CHUNK_INDEXES
) -> dict[str, PassageVectors]:
    """Return the stored vectors of these content keys; ``names`` are the two vector indexes.

    A chunk and its sentences are stored in one transaction: a chunk with a vector and no sentence
    matrix has no sentence vectors.
    """
    chunks = store.vectors(names[0]).by_key(keys)
    sentences = store.vectors(names[1]).by_key(chunks.keys())
    return {
        key: PassageVectors(matrix[0], sentences.get(key, matrix[:0]))
        for key, matrix in chunks.items()
    }


def holds_vectors(store: Store) -> bool:
    """Return True if the index holds any vector."""
    return any(store.vectors(name).count() for name in ("chunk", "entity"))


def stored_embedder(store: Store) -> str:
    """Return the name of the embedder of the stored vectors; empty without vectors."""
    stored = store.meta().get(EMBEDDER_META, "")
    return stored if stored and holds_vectors(store) else ""


def unfinished_embedder(store: Store) -> str:
    """Return the name of the embedder that the index is being switched to; empty for none."""
    return store.meta().get(INTO_META, "")


def check_not_switching(store: Store) -> None:
    """Raise SchemaMismatch while the index is being switched to another embedder."""
    into = unfinished_embedder(store)
    if into:
        raise SchemaMismatch(
            f"The index is being switched to the vectors of `{into}`, and takes no new documents "
            "until that is finished.",
            fix=f"Finish it: {REEMBED_COMMAND} --model {without_prefixes(into)}",
        )


def check_embedder(store: Store, name: str) -> None:
    """Raise SchemaMismatch if the index holds the vectors of another embedder than ``name``.

    An index without vectors fits every embedder: the next run embeds its documents.
    """
    stored = stored_embedder(store)
    if stored in {"", name}:
        return
    if not name:
        raise SchemaMismatch(
            f"The index holds vectors of `{stored}`, which cannot be loaded here.",
            fix="Install its extra (`knotwork doctor` names it), or switch the index to a model "
            f"that is installed: {REEMBED_COMMAND}",
        )
    if without_prefixes(stored) == without_prefixes(name):
        raise SchemaMismatch(
            f"The index holds vectors of `{stored}`, but the settings name `{name}`: texts get "
            "another prefix.",
            fix="Set embedding.query_prefix and embedding.document_prefix as they were, or embed "
            f"the index again: {REEMBED_COMMAND}",
        )
    raise SchemaMismatch(
        f"The index holds vectors of `{stored}`, but the settings name `{name}`.",
        fix=f'Set embedding.model to "{stored}" or "auto", or embed the index again: '
        f"{REEMBED_COMMAND} --model {without_prefixes(name)}",
    )


def stamp_embedder(store: Store, embedding: Embedding) -> None:
    """Store the name, dimension and languages of the embedder, if there is one."""
    if not embedding:
        return
    meta = store.meta()
    languages = " ".join(sorted(embedding.languages))
    if meta.get(EMBEDDER_META) != embedding.name:
        dimension = str(embedding.dimension)
        store.set_meta({EMBEDDER_META: embedding.name, DIMENSION_META: dimension})
    if meta.get(LANGUAGES_META, "") != languages:
        store.set_meta({LANGUAGES_META: languages})
