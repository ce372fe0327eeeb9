"""The full text and the vectors of entities, kept in step with the graph.

Both are functions of the graph as it is now: an entity's text is its name; its vector, which it has
as long as ``VECTOR_CHUNKS`` chunks mention it, is that of its normal form, which never changes. A
name in a language that the embedder does not read has none. So an index that grew and shrank equals
a fresh build, and removing documents never needs a model.
Names of one chunk alone are most of all names, and lead nowhere but to a chunk with its own vector:
to embed them too would double what indexing costs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knotwork.indexing.embedding import Embedding
from knotwork.records import Entity
from knotwork.stores.base import Store
from knotwork.stores.staging import remove_vectors

FloatMatrix = NDArray[np.float32]

VECTOR_CHUNKS = 2


@dataclass(frozen=True, slots=True)
class EntityState:
    """The entities that a write may touch, as they were before it.

    Those of ``removed`` chunks may vanish and come back within the write.
    """

    ids: frozenset[str]
    removed: frozenset[str]
    entities: Mapping[str, Entity]
    vectors: Mapping[str, FloatMatrix]


def entities_before(store: Store, removed_from: Collection[str], added: set[str]) -> EntityState:
    """Return the state of the entities of chunks about to be removed, and of those to be added."""
    old: set[str] = set()
    if removed_from:
        for mentions in store.graph.mentions(removed_from).values():
            old.update(mention.entity_id for mention in mentions)
    ids = frozenset(old | added)
    vectors = store.vectors("entity").get(old)
    return EntityState(ids, frozenset(old), store.graph.entities(ids), vectors)


def refresh_entities(store: Store, before: EntityState, embedding: Embedding | None) -> None:
    """Bring texts and vectors of the touched entities in step with the graph.

    Without ``embedding``, as in a removal, no vector is made: an entity that stays keeps its own.
    """
    after = store.graph.entities(before.ids)
    gone = before.ids - after.keys()
    store.texts("entity").remove(gone)
    store.texts("entity").add(
        (entity.id, entity.name)
        for entity in after.values()
        if entity.id in before.removed
        or entity.id not in before.entities
        or entity.name != before.entities[entity.id].name
    )
    linking = {i: entity for i, entity in after.items() if entity.chunk_count >= VECTOR_CHUNKS}
    linked = (i for i, entity in before.entities.items() if entity.chunk_count >= VECTOR_CHUNKS)
    remove_vectors(store, "entity", [i for i in linked if i not in linking])
    if embedding:
        _add_vectors(store, linking, before.vectors, embedding)


def _add_vectors(
    store: Store,
    entities: Mapping[str, Entity],
    earlier: Mapping[str, FloatMatrix],
    embedding: Embedding,
) -> None:
    index = store.vectors("entity")
    present = index.get(entities.keys()).keys()
    missing = [
        entity
        for entity in entities.values()
        if entity.id not in present and embedding.reads(entity.normal_form)
    ]
    again = [entity for entity in missing if entity.id in earlier]
    fresh = [entity for entity in missing if entity.id not in earlier]
    index.put((e.id, embedding.name_key(e.normal_form), earlier[e.id]) for e in again)
    embedding.reused += len(again)
    if fresh:
        rows = embedding.embed_names([entity.normal_form for entity in fresh])
        index.put(
            (entity.id, embedding.name_key(entity.normal_form), row[np.newaxis])
            for entity, row in zip(fresh, rows, strict=True)
        )
