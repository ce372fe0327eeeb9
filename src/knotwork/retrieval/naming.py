"""From the names a person writes to the entities of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from knotwork.errors import UnknownName
from knotwork.records import ALIAS_RELATION, EdgeType, Label
from knotwork.retrieval.things import read_things_of
from knotwork.stores.base import Store
from knotwork.text.names import normal_form
from knotwork.text.terms import terms

MAX_ALIASES = 8
_TEXT_HITS = 10
_NEAR_NAMES = 8
_SCANNED_NAMES = 50_000


def resolve_names(store: Store, names: Sequence[str]) -> list[str]:
    """Return the ids of the entities meant by these names, in order, each followed by its other
    names: fuller ones, and those that the index has decided are names of the same thing.

    A name means the entity of its normal form; failing that, the best entity of the full text
    that has all its words. Raises UnknownName with the nearest names if nothing fits.
    """
    forms = {name: normal_form(name) for name in names}
    found = store.graph.lookup([form for form in forms.values() if form])
    seeds: dict[str, None] = {}
    for name, form in forms.items():
        seed = found[form].id if form in found else _by_words(store, name)
        if seed is None:
            raise UnknownName("entity", name, nearest=_near_names(store, name))
        seeds[seed] = None
        things = read_things_of(store, [seed])
        others = (*_fuller_names(store, seed), *things.members(things.of(seed)))
        seeds.update(dict.fromkeys(others))
    return list(seeds)


def _fuller_names(store: Store, entity_id: str) -> list[str]:
    edges = store.graph.neighbours([entity_id], direction="out", types=[EdgeType.RELATES])
    aliases = [e.target for e in edges.get(entity_id, []) if e.relation == ALIAS_RELATION]
    return aliases[:MAX_ALIASES]


def _by_words(store: Store, name: str) -> str | None:
    wanted = set(terms(name))
    if not wanted:
        return None
    hits = store.texts("entity").search(name, k=_TEXT_HITS)
    entities = store.graph.entities([hit.id for hit in hits])
    for hit in hits:
        if hit.id in entities and wanted <= set(terms(entities[hit.id].name)):
            return hit.id
    return None


def _near_names(store: Store, name: str) -> list[str]:
    hits = store.texts("entity").search(name, k=_NEAR_NAMES)
    entities = store.graph.entities([hit.id for hit in hits])
    by_words = [entities[hit.id].name for hit in hits if hit.id in entities]
    known = {node.name for node in store.graph.find(label=Label.ENTITY, limit=_SCANNED_NAMES)}
    by_letters = get_close_matches(name, known, n=_NEAR_NAMES)
    return list(dict.fromkeys([*by_letters, *by_words]))[:_NEAR_NAMES]
