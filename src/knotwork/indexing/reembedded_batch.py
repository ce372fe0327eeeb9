"""Compute the vectors of stored chunks, their sentences, entities and questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np

from knotwork.indexing.embedding import NO_VECTORS, Embedding, FloatMatrix, known_vectors
from knotwork.indexing.entities import VECTOR_CHUNKS
from knotwork.indexing.questions import QUESTIONS, embed_questions, questions_of
from knotwork.inference.base import PassageVectors
from knotwork.records import Chunk
from knotwork.stores.base import Store
from knotwork.stores.questions import StoresQuestions
from knotwork.text.terms import terms

Item = tuple[str, str, FloatMatrix]


class VectorBatch:
    """Chunks that get their vectors in one transaction, with their entities and questions."""

    def __init__(self, store: Store, embedding: Embedding, name: Callable[[str], str]) -> None:
        self._store = store
        self._embedding = embedding
        self._name = name
        self._chunks: list[Chunk] = []
        self._keys: dict[str, str] = {}
        self._vectors: dict[str, PassageVectors] = {}
        self._entities: list[Item] = []
        self._questions: list[Item] = []
        self.missing: list[Chunk] = []

    def find_chunks(self, leaves: Sequence[Chunk], bare: Collection[str]) -> None:
        """Find the chunks without vectors; those of ``bare`` are to have none."""
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
        """Embed the missing chunks, and yield how many are done as they are."""
        waiting = iter(self.missing)
        done = 0
        for vectors in self._embedding.stream_chunks(self.missing):
            for rows in vectors:
                self._vectors[self._keys[next(waiting).id]] = rows
            done += len(vectors)
            yield done

    def embed_entities(self) -> None:
        """Embed the entities of the chunks that have no vector and are in several chunks."""
        mentions = self._store.graph.mentions([chunk.id for chunk in self._chunks])
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
        """Embed the questions of the chunks, of those in ``questions``."""
        ids = {chunk.id for chunk in self._chunks}
        present = self._store.vectors(self._name(QUESTIONS)).get(ids)
        wanted = {k: q for k, q in questions.items() if k in ids and k not in present}
        self._questions = embed_questions(wanted, self._embedding)

    @property
    def has_news(self) -> bool:
        """Whether there is anything to write."""
        return bool(self._keys or self._entities or self._questions)

    def put(self) -> None:
        """Write the vectors, except those of what another process has removed meanwhile."""
        now = self._store.documents.chunks(self._keys.keys())
        kept = [c.id for c in self._chunks if c.id in self._keys and now.get(c.id) == c]
        found = [(i, self._keys[i], self._vectors[self._keys[i]]) for i in kept]
        self._put("chunk", [(i, key, rows.chunk[np.newaxis]) for i, key, rows in found])
        self._put(
            "sentence", [(i, key, rows.sentences) for i, key, rows in found if len(rows.sentences)]
        )
        entities = self._store.graph.entities([item[0] for item in self._entities])
        linking = {i for i, entity in entities.items() if entity.chunk_count >= VECTOR_CHUNKS}
        self._put("entity", [item for item in self._entities if item[0] in linking])
        self._put(QUESTIONS, [item for item in self._questions if item[0] in now])

    def _put(self, name: str, items: Sequence[Item]) -> None:
        self._store.vectors(self._name(name)).put(items)


def find_questions(store: Store, chunks: Sequence[Chunk]) -> dict[str, tuple[str, ...]]:
    """Return the questions of chunks by id.

    An index of an earlier version stores the terms of questions, not their text. There the rules
    write them again; those that do not match the stored terms are a model's, and are left out.
    """
    ids = [chunk.id for chunk in chunks]
    found: dict[str, tuple[str, ...]] = {}
    if isinstance(store, StoresQuestions):
        found |= store.questions.questions(ids)
    mentions = store.graph.mentions([i for i in ids if i not in found])
    for chunk in chunks:
        if chunk.id in found:
            continue
        questions = questions_of(chunk, mentions.get(chunk.id, ()))
        counts = Counter(terms("\n".join(questions)))
        if counts:
            row = store.texts(QUESTIONS).occurrences([chunk.id], list(counts))
            if row[0].tolist() == list(counts.values()):
                found[chunk.id] = questions
    return found
