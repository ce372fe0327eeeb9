"""Apply the rules to all pairs of an index, or to those that changed, and find homonyms.

A homonym is a name with several meanings; it is never merged. Entities are identified by the normal
form of their name, so all meanings of a name are one entity. It is a homonym if texts give it types
that exclude each other and few neighbouring entities in common, or if unrelated documents use it as
a short form of different full names.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from knotwork._cancellation import checked
from knotwork._indexing.resolution.name_evidence import (
    EntityPair,
    EntityProfile,
    NameEvidence,
    read_aliases,
    read_births,
    read_evidence,
    read_mentions,
    read_profiles,
)
from knotwork._indexing.resolution.name_shapes import are_spellings, given_agree
from knotwork._indexing.resolution.pair_candidates import (
    find_near,
    find_pair_candidates,
    find_rivals,
)
from knotwork._indexing.resolution.rules import CONFLICTS, Ruling, is_acronym_of, rule_on, view_pair
from knotwork._stores.base import Store
from knotwork.records import Homonym, Verdict


@dataclass(frozen=True, slots=True)
class PairSurvey:
    """Entities, the rulings on pairs, and the homonyms, by id.

    Of ``pairs`` candidates, ``apart`` differ by rule. ``rulings`` excludes pairs with a homonym.
    """

    profiles: Mapping[str, EntityProfile]
    rulings: Mapping[EntityPair, Ruling]
    homonyms: Mapping[str, Homonym] = field(default_factory=dict)
    pairs: int = 0
    apart: int = 0
    looked_at: frozenset[str] | None = None
    """The entities whose pairs were all examined, or None for all entities."""
    read: frozenset[str] = frozenset()
    """The entities that were checked for several meanings."""

    def covers(self, pair: EntityPair) -> bool:
        """Return True if the survey examined a pair."""
        return self.looked_at is None or not self.looked_at.isdisjoint(pair)


def survey_pairs(store: Store, changed: Collection[str] | None = None) -> PairSurvey:
    """Return the rulings on all candidate pairs, or on those with a ``changed`` entity."""
    profiles = read_profiles(store)
    wanted = profiles.keys() if changed is None else set(changed) & profiles.keys()
    if not wanted:
        return PairSurvey(profiles, {}, looked_at=frozenset(changed or ()))
    aliases = read_aliases(store, None if changed is None else sorted(wanted))
    # The meaning of an acronym or a surname depends on the chunks of its full names.
    wanted = wanted | {entity for pair in aliases for entity in pair} & profiles.keys()
    near = find_near(store, profiles, wanted)
    candidates = find_pair_candidates(profiles, aliases, wanted, near)
    rivals = find_rivals(profiles.values())
    around = {pair: _rivals_of(pair, profiles, rivals) for pair in checked(candidates.likeness)}
    involved = {entity for pair in candidates.likeness for entity in pair}
    if changed is not None:
        aliases = read_aliases(store, sorted(involved | wanted))
    seen = involved | {entity for others in around.values() for entity in others}
    seen |= {entity for pair in aliases for entity in pair} & profiles.keys()
    seen |= {entity for entity in wanted if _may_have_types(profiles[entity])}
    births = read_births(store, None if changed is None else wanted)
    seen |= births.keys() & wanted
    evidence = read_evidence(store, seen, aliases)
    evidence.births = births
    read_mentions(
        store, evidence, _ambiguous(profiles, candidates.likeness, seen) | births.keys() & seen
    )
    homonyms = find_homonyms(sorted(seen), profiles, evidence)
    rulings: dict[EntityPair, Ruling] = {}
    for pair, likeness in checked(candidates.likeness.items()):
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
    return PairSurvey(
        profiles, rulings, homonyms, total, candidates.apart + differ, looked_at, frozenset(seen)
    )


def _ambiguous(
    profiles: Mapping[str, EntityProfile], pairs: Collection[EntityPair], seen: Collection[str]
) -> set[str]:
    """Return the entities whose single mentions matter: paired persons, and possible homonyms.

    An entity without a type has no mention with a type.
    """
    persons = {
        entity
        for pair in pairs
        if any(profiles[end].person is not None for end in pair)
        for entity in pair
    }
    return persons.union(entity for entity in seen if _may_have_types(profiles[entity]))


def _may_have_types(profile: EntityProfile) -> bool:
    """Return True if chunks may give an entity types that exclude each other."""
    entity = profile.entity
    return entity.chunk_count > 1 and any(entity.type in pair for pair in CONFLICTS)


def _rivals_of(
    pair: EntityPair, profiles: Mapping[str, EntityProfile], rivals: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the other persons who may be meant by one of two names with the same surname."""
    persons = [profiles[entity].person for entity in pair]
    first, second = persons
    if first is None or second is None or first.surname != second.surname:
        return ()
    others = {entity for p in (first, second) for entity in rivals.get(p.key, ())}
    return tuple(sorted(others - set(pair)))


MOST_SHARED = 0.1
"""Largest share of neighbouring entities that two meanings of a name have in common."""


def find_homonyms(
    entity_ids: Iterable[str], profiles: Mapping[str, EntityProfile], evidence: NameEvidence
) -> dict[str, Homonym]:
    """Return the homonyms among entities, by id."""
    found: dict[str, Homonym] = {}
    for entity in checked(entity_ids):
        if entity not in profiles:
            continue
        homonym = (
            _by_full_names(profiles[entity], profiles, evidence)
            or _by_types(entity, evidence)
            or _by_births(entity, profiles, evidence)
        )
        if homonym is not None:
            found[entity] = homonym
    return found


def _by_full_names(
    profile: EntityProfile, profiles: Mapping[str, EntityProfile], evidence: NameEvidence
) -> Homonym | None:
    """Return the meanings of a surname or an acronym by its full names, or None for one meaning."""
    owners = [
        profiles[partner]
        for partner in sorted(evidence.partners.get(profile.id, ()))
        if partner in profiles and partner in evidence.documents
    ]
    owners = [owner for owner in owners if _is_short_for(profile, owner)]
    groups: list[list[EntityProfile]] = []
    for owner in owners:
        for group in groups:
            if any(_may_be_one(owner, other, evidence) for other in group):
                group.append(owner)
                break
        else:
            groups.append([owner])
    if len(groups) < 2:
        return None
    senses = []
    for group in groups:
        documents = frozenset().union(*(evidence.documents[owner.id] for owner in group))
        senses.append([c for c in evidence.chunks[profile.id] if evidence.owners[c] in documents])
    return _homonym(profile.id, senses, "short for several names")


def _is_short_for(short: EntityProfile, full: EntityProfile) -> bool:
    if full.person is not None and short.shape.words == (full.person.surname,):
        return True
    return is_acronym_of(short, full)


def _may_be_one(one: EntityProfile, other: EntityProfile, evidence: NameEvidence) -> bool:
    if evidence.shared_documents(one.id, other.id):
        return True
    if one.person is not None and other.person is not None:
        return given_agree(one.person, other.person)
    words, others = set(one.shape.words), set(other.shape.words)
    return words <= others or others <= words or are_spellings(one.shape, other.shape)


def _by_types(entity: str, evidence: NameEvidence) -> Homonym | None:
    """Return the meanings of a name by its types in documents, or None for one meaning."""
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for chunk in evidence.chunks[entity]:
        kind = evidence.kinds.get((chunk, entity), "")
        if kind:
            kinds[evidence.owners[chunk]][kind] += 1
    of_type: defaultdict[str, set[str]] = defaultdict(set)
    for document, counts in kinds.items():
        of_type[min(counts, key=lambda kind: (-counts[kind], kind))].add(document)
    return _by_documents(entity, evidence, of_type, CONFLICTS, "types differ: {} and {}")


def _by_births(
    entity: str, profiles: Mapping[str, EntityProfile], evidence: NameEvidence
) -> Homonym | None:
    """Return the meanings of a name by the places of birth in documents, or None for one meaning.

    A place that documents of the other one mention may be part of it, as Ulm is of Germany.
    """
    of_place: defaultdict[str, set[str]] = defaultdict(set)
    for place, chunks in evidence.births.get(entity, {}).items():
        if place in profiles:
            of_place[place].update(evidence.owners[c] for c in chunks if c in evidence.owners)
    mentioned = {
        place: set().union(
            *(
                evidence.around.get(c, ())
                for c in evidence.chunks[entity]
                if evidence.owners[c] in documents
            )
        )
        for place, documents in of_place.items()
    }
    apart = {
        frozenset((profiles[one].entity.name, profiles[other].entity.name))
        for one, other in combinations(of_place, 2)
        if other not in mentioned[one] and one not in mentioned[other]
    }
    named = {profiles[place].entity.name: documents for place, documents in of_place.items()}
    return _by_documents(entity, evidence, named, apart, "born in {} and in {}")


def _by_documents(
    entity: str,
    evidence: NameEvidence,
    of_type: Mapping[str, set[str]],
    conflicts: Collection[frozenset[str]],
    reason: str,
) -> Homonym | None:
    """Return the meanings of a name by what excludes each other in its documents."""
    if len(of_type) < 2:
        return None
    around: defaultdict[str, set[str]] = defaultdict(set)
    for chunk in evidence.chunks[entity]:
        around[evidence.owners[chunk]] |= evidence.around.get(chunk, frozenset()) - {entity}
    surroundings = {
        kind: set().union(*(around[document] for document in documents))
        for kind, documents in of_type.items()
    }
    ordered = sorted(of_type, key=lambda kind: (-len(of_type[kind]), kind))
    for place, one in enumerate(ordered):
        for other in ordered[place + 1 :]:
            if frozenset((one, other)) not in conflicts:
                continue
            if _shared(surroundings[one], surroundings[other]) > MOST_SHARED:
                continue
            sides = [_side(kind, of_type, around, surroundings) for kind in (one, other)]
            senses = [
                [c for c in evidence.chunks[entity] if evidence.owners[c] in side] for side in sides
            ]
            return _homonym(entity, senses, reason.format(one, other))
    return None


def _side(
    kind: str,
    of_type: Mapping[str, set[str]],
    around: Mapping[str, set[str]],
    surroundings: Mapping[str, set[str]],
) -> set[str]:
    """Return the documents of a meaning: those with its type, and similar ones without a type."""
    typed = set().union(*of_type.values())
    side = set(of_type[kind])
    for document in around.keys() - typed:
        shares = {other: _shared(around[document], known) for other, known in surroundings.items()}
        if shares[kind] > MOST_SHARED and shares[kind] == max(shares.values()):
            side.add(document)
    return side


def _shared(one: set[str], other: set[str]) -> float:
    fewer = min(len(one), len(other))
    return len(one & other) / fewer if fewer else 0.0


def _homonym(entity: str, senses: Sequence[Sequence[str]], reason: str) -> Homonym | None:
    sides = [tuple(sorted(chunks)) for chunks in senses if chunks]
    if len(sides) < 2:
        return None
    return Homonym(entity, tuple(sorted(sides, key=lambda side: (-len(side), side))), reason)
