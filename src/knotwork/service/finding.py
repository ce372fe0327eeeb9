"""Finding things by what somebody types of their names."""

from __future__ import annotations

from knotwork.knowledge_base import KnowledgeBase
from knotwork.records import Entity

MOST_SCANNED = 20_000
"""Things whose names are looked through for a part; where there are more, whole words find them."""

_WITH_PART = (
    "MATCH (e:Entity) WHERE toLower(e.name) CONTAINS $part "
    "RETURN e.id ORDER BY NOT toLower(e.name) STARTS WITH $part, e.chunk_count DESC, e.name "
    "LIMIT $most"
)


def find_things(base: KnowledgeBase, name: str, *, limit: int) -> list[Entity]:
    """Return entities by name, keywords left out: what is called just so, those with its words, the
    best first, then those with it as a part.

    Raises as `KnowledgeBase.cypher`.
    """
    store = base.store
    ids = [hit.id for hit in store.texts("entity").search(name, k=limit)]
    if len(ids) < limit and store.graph.entity_count() <= MOST_SCANNED:
        part = {"part": name.strip().lower(), "most": limit}
        ids += [str(row[0]) for row in base.cypher(_WITH_PART, part, row_limit=limit).rows]
    found = store.graph.entities(ids)
    known = (found[i] for i in dict.fromkeys(ids) if i in found)
    things = [entity for entity in known if not entity.is_keyword]
    wanted = name.strip().casefold()
    return sorted(things, key=lambda thing: thing.name.casefold() != wanted)[:limit]
