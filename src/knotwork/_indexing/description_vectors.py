"""Vectors of entities with a description."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from knotwork._indexing.embedding import Embedding
from knotwork._indexing.entity_descriptions import Describer
from knotwork._run import Progress, Steps, Verb
from knotwork._stores.base import Store
from knotwork._stores.indexes import DESCRIPTIONS
from knotwork._stores.resolutions import read_groups
from knotwork.records import content_id

_BATCH = 256


@Verb
def embed_descriptions(
    store: Store,
    embedding: Embedding,
    *,
    describer: Describer | None = None,
    name: Callable[[str], str] = str,
) -> Steps[int]:
    """Give each entity with a description a vector of name and description; return their number.

    Yields how many entities are done. Vectors whose text is unchanged are kept, and entities whose
    text is in a language that the embedder does not read get none. ``describer`` may have read
    some texts already; merged entities share one. ``name`` returns the name of the index to write
    to.
    """
    describer = describer or Describer(store, groups=read_groups(store))
    readings = store.capabilities.readings
    ids = readings.described() if readings is not None else []
    embedded = 0
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        entities, described = store.graph.entities(batch), describer.describe(batch)
        texts = {
            key: text
            for key in described
            if key in entities
            and embedding.reads(text := f"{entities[key].name}: {described[key]}")
        }
        keys = {
            entity: content_id("description", embedding.name, text)
            for entity, text in texts.items()
        }
        index = store.vectors(name(DESCRIPTIONS))
        known, held = index.by_key(set(keys.values())), index.get(keys)
        missing = {keys[entity]: texts[entity] for entity in keys if keys[entity] not in known}
        if missing:
            rows = embedding.embed_names(list(missing.values()))
            known |= dict(zip(missing, (row[np.newaxis] for row in rows), strict=True))
            embedded += len(missing)
        new = {
            entity: key
            for entity, key in keys.items()
            if entity not in held or not np.array_equal(held[entity], known[key])
        }
        gone = [e for e in batch if e not in keys or not known[keys[e]].any()]
        with store.transaction():
            still = readings.descriptions(new) if readings is not None else {}
            index.put((e, key, known[key]) for e, key in new.items() if e in still)
            index.remove(gone)
        yield Progress("descriptions", start + len(batch), len(ids))
    return embedded
