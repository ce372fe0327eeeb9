"""Names that are near each other by their vectors, however they are spelt."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from knotwork.indexing.embedding import EMBEDDER_META
from knotwork.indexing.resolution.evidence import Ids, Profile
from knotwork.inference.similarity import to_similarity
from knotwork.stores.base import Store

NEAR = 0.85
"""The smallest similarity of the names of two entities that may be one."""

MOST_ASKED = 4_000
"""Entities whose neighbours are sought, those in most chunks: the cost is linear in all others."""

_ROWS = 512
_BATCH = 4_000


def find_near(
    store: Store, profiles: Mapping[str, Profile], wanted: Collection[str]
) -> dict[Ids, float]:
    """Return the pairs of entities with similar vectors, one of each ``wanted``, and how similar.

    Empty where entities have no vectors.
    """
    index = store.vectors("entity")
    if not index.count():
        return {}
    embedder = store.meta().get(EMBEDDER_META, "")
    ids, rows = _read_vectors(store, sorted(profiles))
    if not ids:
        return {}
    place = {entity: number for number, entity in enumerate(ids)}
    asked = sorted(
        (entity for entity in wanted if entity in place),
        key=lambda entity: (-profiles[entity].entity.chunk_count, entity),
    )[:MOST_ASKED]
    found: dict[Ids, float] = {}
    for start in range(0, len(asked), _ROWS):
        block = asked[start : start + _ROWS]
        cosines = rows[[place[entity] for entity in block]] @ rows.T
        near = to_similarity(cosines, embedder)
        for row, column in np.argwhere(near >= NEAR).tolist():
            one, other = block[row], ids[column]
            if one != other:
                found[min(one, other), max(one, other)] = round(float(near[row, column]), 4)
    return dict(sorted(found.items()))


def _read_vectors(store: Store, entity_ids: list[str]) -> tuple[list[str], np.ndarray]:
    index = store.vectors("entity")
    ids: list[str] = []
    parts: list[np.ndarray] = []
    for start in range(0, len(entity_ids), _BATCH):
        held = index.get(entity_ids[start : start + _BATCH])
        ids += sorted(held)
        parts += [held[entity] for entity in sorted(held)]
    return ids, np.concatenate(parts) if parts else np.zeros((0, 1), dtype=np.float32)
