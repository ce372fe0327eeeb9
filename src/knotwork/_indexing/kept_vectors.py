"""Keep the vectors of documents that are not finished, so that a killed run need not repeat them.

A long document takes many minutes to embed, and is committed when it is finished. Until then, its
vectors are kept in the staged indexes, beside those in use, by chunk and content key. They are
removed with the commit of the document, or at the end of a run if the document changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from knotwork._indexing.embedding import (
    Embedding,
    check_not_switching,
    known_vectors,
    unfinished_embedder,
)
from knotwork._inference.embedder import PassageVectors
from knotwork._stores.base import Store
from knotwork._stores.vectors import staged_name

KEPT_META = "vectors_kept_of"
"""The embedder of the kept vectors; empty without any."""

_CHUNKS, _SENTENCES = staged_name("chunk"), staged_name("sentence")


def keep_vectors(
    store: Store, embedding: Embedding, vectors: Mapping[tuple[str, str], PassageVectors]
) -> None:
    """Store vectors by (chunk id, content key), unless the store has no staged indexes.

    Raises SchemaMismatch while the index is being switched to another embedder.
    """
    if store.capabilities.vector_replacement is None:
        return
    with store.transaction():
        check_not_switching(store)
        if store.meta().get(KEPT_META) != embedding.name:
            _clear(store)
            store.set_meta({KEPT_META: embedding.name})
        store.vectors(_CHUNKS).put(
            (chunk, key, found.chunk[np.newaxis]) for (chunk, key), found in vectors.items()
        )
        store.vectors(_SENTENCES).put(
            (chunk, key, found.sentences)
            for (chunk, key), found in vectors.items()
            if len(found.sentences)
        )


def find_kept_vectors(
    store: Store, embedding: Embedding, keys: Collection[str]
) -> dict[str, PassageVectors]:
    """Return the kept vectors of these content keys."""
    if store.meta().get(KEPT_META) != embedding.name:
        return {}
    return known_vectors(store, keys, names=(_CHUNKS, _SENTENCES))


def drop_kept_vectors(store: Store, chunk_ids: Collection[str] | None = None) -> None:
    """Remove the kept vectors of these chunks, or of all."""
    if not store.meta().get(KEPT_META):
        return
    with store.transaction():
        if chunk_ids is None:
            if not unfinished_embedder(store):  # a switch uses the same staged indexes
                _clear(store)
            store.set_meta({KEPT_META: ""})
        else:
            store.vectors(_CHUNKS).remove(chunk_ids)
            store.vectors(_SENTENCES).remove(chunk_ids)


def _clear(store: Store) -> None:
    replacement = store.capabilities.vector_replacement
    if replacement is not None:
        replacement.clear_vectors(_CHUNKS)
        replacement.clear_vectors(_SENTENCES)
