"""Everything that rules make of an index, or of the part of it that changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from knotwork.indexing.resolution.apartness import CONFLICTS
from knotwork.indexing.resolution.candidates import find_candidates, find_rivals
from knotwork.indexing.resolution.evidence import (
    Ids,
    Profile,
    read_aliases,
    read_evidence,
    read_mentions,
    read_profiles,
)
from knotwork.indexing.resolution.homonyms import find_homonyms
from knotwork.indexing.resolution.nearness import find_near
from knotwork.indexing.resolution.rules import rule_on
from knotwork.indexing.resolution.rulings import Ruling, view_pair
from knotwork.records import Homonym, Verdict
from knotwork.stores.base import Store


@dataclass(frozen=True, slots=True)
class Survey:
    """Entities by id, what the rules say of pairs, and the names that mean several things.

    ``pairs`` were candidates; ``apart`` of them differ at a glance. ``rulings`` holds no pair with
    an end that is a homonym.
    """

    profiles: Mapping[str, Profile]
    rulings: Mapping[Ids, Ruling]
    homonyms: Mapping[str, Homonym] = field(default_factory=dict)
    pairs: int = 0
    apart: int = 0
    looked_at: frozenset[str] | None = None
    """The entities of which every pair was looked at; None for all."""
    read: frozenset[str] = frozenset()
    """The entities of which it is known whether their names mean several things."""

    def covers(self, pair: Ids) -> bool:
        """Tell whether the survey looked at a pair."""
        return self.looked_at is None or not self.looked_at.isdisjoint(pair)


def survey_pairs(store: Store, changed: Collection[str] | None = None) -> Survey:
    """Return what the rules say of all pairs, or of those with an end among ``changed``."""
    profiles = read_profiles(store)
    wanted = profiles.keys() if changed is None else set(changed) & profiles.keys()
    if not wanted:
        return Survey(profiles, {}, looked_at=frozenset(changed or ()))
    aliases = read_aliases(store, None if changed is None else sorted(wanted))
    # What an acronym or a surname means depends on where its full names stand.
    wanted = wanted | {entity for pair in aliases for entity in pair} & profiles.keys()
    near = find_near(store, profiles, wanted)
    candidates = find_candidates(profiles, aliases, wanted, near)
    rivals = find_rivals(profiles.values())
    around = {pair: _rivals_of(pair, profiles, rivals) for pair in candidates.likeness}
    involved = {entity for pair in candidates.likeness for entity in pair}
    if changed is not None:
        aliases = read_aliases(store, sorted(involved | wanted))
    seen = involved | {entity for others in around.values() for entity in others}
    seen |= {entity for pair in aliases for entity in pair} & profiles.keys()
    seen |= {entity for entity in wanted if _may_have_types(profiles[entity])}
    evidence = read_evidence(store, seen, aliases)
    read_mentions(store, evidence, _closely(profiles, candidates.likeness, seen))
    homonyms = find_homonyms(sorted(seen), profiles, evidence)
    rulings: dict[Ids, Ruling] = {}
    for pair, likeness in candidates.likeness.items():
        if not homonyms.keys().isdisjoint(pair):
            continue
        one, other = profiles[pair[0]], profiles[pair[1]]
        view = view_pair(
            one,
            other,
            evidence,
            profiles,
            likeness=likeness,
            nearness=near.get(pair, 0.0),
            rivals=around[pair],
        )
        ruling = rule_on(view)
        if ruling is not None:
            rulings[pair] = ruling
    differ = sum(ruling.verdict is Verdict.DIFFERENT for ruling in rulings.values())
    total = len(candidates.likeness) + candidates.apart
    looked_at = None if changed is None else frozenset(wanted).union(changed)
    return Survey(
        profiles, rulings, homonyms, total, candidates.apart + differ, looked_at, frozenset(seen)
    )


def _closely(
    profiles: Mapping[str, Profile], pairs: Collection[Ids], seen: Collection[str]
) -> set[str]:
    """Return the entities whose mentions matter: persons under two names, and names of which one
    chunk may mean another thing than the next. Where an entity has no type, no mention has one.
    """
    persons = {
        entity
        for pair in pairs
        if any(profiles[end].person is not None for end in pair)
        for entity in pair
    }
    return persons.union(entity for entity in seen if _may_have_types(profiles[entity]))


def _may_have_types(profile: Profile) -> bool:
    """Tell whether chunks may give an entity types that exclude each other."""
    entity = profile.entity
    return entity.chunk_count > 1 and any(entity.type in pair for pair in CONFLICTS)


def _rivals_of(
    pair: Ids, profiles: Mapping[str, Profile], rivals: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the other persons that may bear one of two names of the same surname."""
    persons = [profiles[entity].person for entity in pair]
    first, second = persons
    if first is None or second is None or first.surname != second.surname:
        return ()
    others = {entity for p in (first, second) for entity in rivals.get(p.key, ())}
    return tuple(sorted(others - set(pair)))
