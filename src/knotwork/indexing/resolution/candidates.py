"""The pairs of entities that are worth reading texts for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from knotwork.indexing.resolution.apartness import rule_apart
from knotwork.indexing.resolution.blocking import Named, pair_by_keys, pair_by_spelling
from knotwork.indexing.resolution.evidence import Ids, Profile
from knotwork.indexing.resolution.spelling import are_spellings


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs of entities, each with how alike the names are spelt, 0 where that did not bring them
    here; and how many more pairs names and types hold apart at a glance.
    """

    likeness: Mapping[Ids, float]
    apart: int


def find_candidates(
    profiles: Mapping[str, Profile],
    aliases: Iterable[Ids],
    wanted: Collection[str],
    near: Mapping[Ids, float] | None = None,
) -> Candidates:
    """Return the pairs of which one is ``wanted``: by keys, by spelling, stated as ``aliases``, or
    ``near`` by their vectors.
    """
    ids = list(profiles)
    places = {entity: place for place, entity in enumerate(ids)}
    names = [Named(profile.shape, profile.person) for profile in profiles.values()]
    asked = [places[entity] for entity in wanted if entity in places]
    found: dict[Ids, float] = {}
    for (one, other), alike in pair_by_spelling(names, asked).items():
        if are_spellings(names[one].shape, names[other].shape):
            found[ids[one], ids[other]] = alike
    for one, other in pair_by_keys(names, asked):
        found.setdefault((ids[one], ids[other]), 0.0)
    chosen = set(wanted)
    for pair in (*aliases, *(near or {})):
        if pair[0] in places and pair[1] in places and not chosen.isdisjoint(pair):
            found.setdefault(pair, 0.0)
    kept = {
        pair: found[pair]
        for pair in sorted(found)
        if rule_apart(profiles[pair[0]], profiles[pair[1]]) is None
    }
    return Candidates(kept, len(found) - len(kept))


def find_rivals(profiles: Iterable[Profile]) -> dict[str, tuple[str, ...]]:
    """Return the persons of each surname and first initial, by `PersonName.key`."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for profile in profiles:
        if profile.person is not None:
            found[profile.person.key].append(profile.id)
    return {key: tuple(ids) for key, ids in found.items() if len(ids) > 1}
