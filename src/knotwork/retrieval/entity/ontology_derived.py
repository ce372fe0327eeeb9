"""An ontology out of an index itself: which relations lead on, by how they are distributed."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from knotwork.records import CO_OCCURRENCE_RELATION, ENTITY_EDGES, Label
from knotwork.retrieval.entity.ontology_rules import FollowRule, Ontology, default_ontology
from knotwork.retrieval.question import rarity
from knotwork.stores.base import Store

SAMPLED_ENTITIES = 400
"""Ids are hashes: the first of them are a sample that no order of documents has a hand in."""
_FAN = 16
_MOST_RULES = 400
_LEAST_SEEN = 2
_CO_OCCURS = 0.6
_LEAST = 0.4


@dataclass(slots=True)
class _Seen:
    """How a relation leads from entities of one type."""

    sources: set[str]
    edges: int = 0


def derive_ontology(store: Store, *, sample: int = SAMPLED_ENTITIES) -> Ontology:
    """Return rules from the schema of an index and the edges of a sample of its entities.

    A relation is worth following from a type when it is rare among all relations, so that it says
    something, and when an entity of that type has few of it, so that it leads to one place. What a
    question asks for is as in the built-in ontology.
    """
    relations = store.graph.schema().relations
    total = sum(relations.values())
    rules = [FollowRule(relations=(CO_OCCURRENCE_RELATION,), weight=_CO_OCCURS)]
    for (type_, relation, forward), seen in _sampled(store, sample):
        fan = seen.edges / len(seen.sources)
        telling = rarity(relations.get(relation, seen.edges), total)
        weight = _LEAST + (1.0 - _LEAST) * telling / fan**0.5
        rules.append(
            FollowRule(
                sources=frozenset({type_.casefold()}),
                relations=(_escape(relation.casefold()),),
                direction="out" if forward else "in",
                weight=min(weight, 1.0),
            )
        )
    return Ontology("derived", rules, default_ontology().asks, rest=0.8, untyped=0.0)


def _sampled(store: Store, sample: int) -> list[tuple[tuple[str, str, bool], _Seen]]:
    nodes = store.graph.find(label=Label.ENTITY, limit=sample)
    entities = store.graph.entities([node.id for node in nodes])
    around = store.graph.neighbours(list(entities), types=ENTITY_EDGES, fan=_FAN)
    seen: defaultdict[tuple[str, str, bool], _Seen] = defaultdict(lambda: _Seen(set()))
    for entity_id, edges in around.items():
        names = Counter((edge.relation, edge.source == entity_id) for edge in edges)
        for (relation, forward), times in names.items():
            if relation != CO_OCCURRENCE_RELATION:
                found = seen[entities[entity_id].type, relation, forward]
                found.sources.add(entity_id)
                found.edges += times
    common = [item for item in seen.items() if item[1].edges >= _LEAST_SEEN]
    return sorted(common, key=lambda item: (-item[1].edges, item[0]))[:_MOST_RULES]


def _escape(name: str) -> str:
    """Return a name that `fnmatch` takes literally."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
