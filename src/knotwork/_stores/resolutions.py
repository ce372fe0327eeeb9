"""Groups of merged entities by the decisions of a store, and the senses of homonyms by chunk."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from knotwork._stores.base import Store
from knotwork.records import SameAs

RULES_META = "resolution.rules"
"""The version of the rules that compared the names of an index last."""


def read_groups(store: Store) -> dict[str, str]:
    """Return the canonical entity of every merged entity, itself included.

    It is empty if the store has no merge decisions.
    """
    resolutions = store.capabilities.resolutions
    return resolutions.groups() if resolutions is not None else {}


class EntityGroups(NamedTuple):
    """Groups of merged entities.

    ``canonical`` maps each entity of a group of two or more to its canonical one. ``refused`` are
    the decisions that would merge entities which another decision keeps apart.
    """

    canonical: dict[str, str]
    refused: tuple[SameAs, ...]


def form_groups(decisions: Iterable[SameAs], chunk_counts: Mapping[str, int]) -> EntityGroups:
    """Merge entities into groups by their decisions, without merging those that are kept apart.

    Decisions of persons apply first, then by score descending, ties by pair. A decision is refused
    if its group would have two entities that another decision keeps apart: its verdict is
    "different". So the result does not depend on the order of ``decisions``. The canonical entity
    of a group has most chunks, ties the smallest id. Entities that are missing in ``chunk_counts``
    are left out.
    """
    known = [d for d in decisions if d.first in chunk_counts and d.second in chunk_counts]
    apart: defaultdict[str, set[str]] = defaultdict(set)
    for decision in known:
        if not decision.joins:
            apart[decision.first].add(decision.second)
            apart[decision.second].add(decision.first)
    group: dict[str, str] = {}
    members: dict[str, set[str]] = {}
    refused: list[SameAs] = []
    joining = (decision for decision in known if decision.joins)
    for decision in sorted(joining, key=lambda d: (not d.by_person, -d.score, d.pair)):
        one, other = (group.get(end, end) for end in decision.pair)
        if one == other:
            continue
        smaller, larger = sorted((one, other), key=lambda end: len(members.get(end, ())))
        moving = members.get(smaller, {smaller})
        staying = members.get(larger, {larger})
        if any(not apart[entity].isdisjoint(staying) for entity in moving if entity in apart):
            refused.append(decision)
            continue
        members.pop(smaller, None)
        members[larger] = staying
        staying |= moving
        group.update(dict.fromkeys((*moving, larger), larger))
    canonical: dict[str, str] = {}
    for entities in members.values():
        chosen = min(entities, key=lambda entity: (-chunk_counts[entity], entity))
        canonical.update(dict.fromkeys(entities, chosen))
    return EntityGroups(dict(sorted(canonical.items())), tuple(refused))


def read_senses(
    store: Store, entity_ids: Collection[str] | None = None
) -> dict[str, Mapping[str, int]]:
    """Return, for each homonym, the number of the sense in which each of its chunks uses it.

    0 is the sense with most chunks. Chunks without a sense are absent. The result is empty for a
    store that cannot hold homonyms.
    """
    homonyms = store.capabilities.homonyms
    if homonyms is None:
        return {}
    return {
        key: {chunk: number for number, chunks in enumerate(known.senses) for chunk in chunks}
        for key, known in homonyms.read(entity_ids).items()
    }
