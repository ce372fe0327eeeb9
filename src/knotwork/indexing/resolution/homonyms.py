"""Names that mean more than one thing: found and told, never merged with anything.

An entity is one normal form, so two things of one name are one entity. Two signs show that it is
two: texts give it types that exclude each other, among things that have nothing in common; or
documents that have nothing else in common use it short for different full names.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from knotwork.indexing.resolution.apartness import CONFLICTS, is_acronym
from knotwork.indexing.resolution.evidence import Evidence, Profile
from knotwork.indexing.resolution.names import given_agree
from knotwork.indexing.resolution.spelling import are_spellings
from knotwork.records import Homonym

MOST_SHARED = 0.1
"""The share of the smaller surroundings that two senses of a name have in common at most."""


def find_homonyms(
    entity_ids: Iterable[str], profiles: Mapping[str, Profile], evidence: Evidence
) -> dict[str, Homonym]:
    """Return those of the entities that ``evidence`` shows to be several, by id."""
    found: dict[str, Homonym] = {}
    for entity in entity_ids:
        if entity not in profiles:
            continue
        homonym = _by_full_names(profiles[entity], profiles, evidence) or _by_types(
            entity, evidence
        )
        if homonym is not None:
            found[entity] = homonym
    return found


def _by_full_names(
    profile: Profile, profiles: Mapping[str, Profile], evidence: Evidence
) -> Homonym | None:
    """Tell the senses of a surname or an acronym by the full names that texts give it."""
    owners = [
        profiles[partner]
        for partner in sorted(evidence.partners.get(profile.id, ()))
        if partner in profiles and partner in evidence.documents
    ]
    owners = [owner for owner in owners if _is_short_for(profile, owner)]
    groups: list[list[Profile]] = []
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


def _is_short_for(short: Profile, full: Profile) -> bool:
    if full.person is not None and short.shape.words == (full.person.surname,):
        return True
    return is_acronym(short, full)


def _may_be_one(one: Profile, other: Profile, evidence: Evidence) -> bool:
    if evidence.shared_documents(one.id, other.id):
        return True
    if one.person is not None and other.person is not None:
        return given_agree(one.person, other.person)
    words, others = set(one.shape.words), set(other.shape.words)
    return words <= others or others <= words or are_spellings(one.shape, other.shape)


def _by_types(entity: str, evidence: Evidence) -> Homonym | None:
    """Tell the senses of a name by the types that its documents give it."""
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    around: defaultdict[str, set[str]] = defaultdict(set)
    for chunk in evidence.chunks[entity]:
        document = evidence.owners[chunk]
        kind = evidence.kinds.get((chunk, entity), "")
        if kind:
            kinds[document][kind] += 1
        around[document] |= evidence.around.get(chunk, frozenset()) - {entity}
    of_type: defaultdict[str, set[str]] = defaultdict(set)
    for document, counts in kinds.items():
        of_type[min(counts, key=lambda kind: (-counts[kind], kind))].add(document)
    surroundings = {
        kind: set().union(*(around[document] for document in documents))
        for kind, documents in of_type.items()
    }
    ordered = sorted(of_type, key=lambda kind: (-len(of_type[kind]), kind))
    for place, one in enumerate(ordered):
        for other in ordered[place + 1 :]:
            if frozenset((one, other)) not in CONFLICTS:
                continue
            if _shared(surroundings[one], surroundings[other]) > MOST_SHARED:
                continue
            sides = [_side(kind, of_type, around, surroundings) for kind in (one, other)]
            senses = [
                [c for c in evidence.chunks[entity] if evidence.owners[c] in side] for side in sides
            ]
            return _homonym(entity, senses, f"types differ: {one} and {other}")
    return None


def _side(
    kind: str,
    of_type: Mapping[str, set[str]],
    around: Mapping[str, set[str]],
    surroundings: Mapping[str, set[str]],
) -> set[str]:
    """Return the documents of one sense: those of its type, and those without a type that share
    most with them.
    """
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
