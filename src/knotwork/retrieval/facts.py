"""Which entities of a chunk a language model states a fact of."""

from __future__ import annotations

from collections.abc import Collection

from knotwork.stores.base import Store
from knotwork.stores.relations import ReadsRelations


def stated_entities(chunk_ids: Collection[str], store: Store) -> dict[str, frozenset[str]]:
    """Return the ids of the ends of each chunk's described relations.

    Only a model describes relations: a chunk that none has read, or found nothing in, is absent.
    """
    graph = store.graph
    if not isinstance(graph, ReadsRelations):
        return {}
    ends = {
        chunk_id: frozenset(
            end
            for relation in relations
            if relation.description
            for end in (relation.source, relation.target)
        )
        for chunk_id, relations in graph.relations(chunk_ids).items()
    }
    return {chunk_id: found for chunk_id, found in ends.items() if found}
