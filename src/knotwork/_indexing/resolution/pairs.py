"""Find the pairs of entities worth comparing, apply the rules to them, and find homonyms.

Names that share an exact key are paired: the same letters, the same words in any order, the same
surname and initial, the same acronym. Names that are only spelled alike are paired by
locality-sensitive hashing of their character n-grams (MinHash in bands: Broder 1997; Leskovec,
Rajaraman, Ullman, *Mining of Massive Datasets*, 3.4). The hashes are fixed, so whether two names
are paired depends on the two alone, and an index that grew pairs the same names as a fresh one.
Only a bucket with more than `CROWD` names, most of which share just a common word, is divided by
further hashes. In the alternative, a sparse product of TF-IDF vectors, weights change with every
document, and the cost grows with the square of the number of names.

A homonym is a name with several meanings; it is never merged. Entities are identified by the normal
form of their name, so all meanings of a name are one entity. It is a homonym if texts give it types
that exclude each other and few neighbouring entities in common, or if unrelated documents use it as
a short form of different full names.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from knotwork._cancellation import checked
from knotwork._indexing.embedding import EMBEDDER_META
from knotwork._indexing.resolution.name_evidence import (
    EntityPair,
    EntityProfile,
    NameEvidence,
    read_aliases,
    read_births,
    read_evidence,
    read_listed,
    read_mentions,
    read_profiles,
)
from knotwork._indexing.resolution.name_shapes import (
    ALIKE,
    are_spellings,
    given_agree,
    grams_of,
    likeness,
)
from knotwork._indexing.resolution.rules import (
    CONFLICTS,
    Ruling,
    agree,
    is_acronym_of,
    rule_apart,
    rule_on,
    view_pair,
)
from knotwork._inference.embedder import to_similarity
from knotwork._stores.base import Store
from knotwork.records import Homonym, Verdict, content_id


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
    candidates, apart = find_pair_candidates(profiles, aliases, wanted, near)
    rivals = find_rivals(profiles.values())
    around = {pair: _rivals_of(pair, profiles, rivals) for pair in checked(candidates)}
    involved = {entity for pair in candidates for entity in pair}
    if changed is not None:
        aliases = read_aliases(store, sorted(involved | wanted))
    seen = involved | {entity for others in around.values() for entity in others}
    seen |= {entity for pair in aliases for entity in pair} & profiles.keys()
    seen |= {entity for entity in wanted if _may_have_types(profiles[entity])}
    births = read_births(store, None if changed is None else wanted)
    seen |= births.keys() & wanted
    evidence = read_evidence(store, seen, aliases)
    evidence.births = births
    read_mentions(store, evidence, _ambiguous(profiles, candidates, seen) | births.keys() & seen)
    homonyms = find_homonyms(sorted(seen), profiles, evidence)
    rulings: dict[EntityPair, Ruling] = {}
    for pair, alike in checked(candidates.items()):
        if not homonyms.keys().isdisjoint(pair):
            continue
        one, other = profiles[pair[0]], profiles[pair[1]]
        view = view_pair(
            one,
            other,
            evidence,
            profiles,
            likeness=alike,
            nearness=near.get(pair, 0.0),
            rivals=around[pair],
        )
        ruling = rule_on(view)
        if ruling is not None:
            rulings[pair] = ruling
    for pair in read_listed(store, profiles, aliases):
        if homonyms.keys().isdisjoint(pair):
            rulings[pair] = agree("listed in the dictionary", 1.0)
    differ = sum(ruling.verdict is Verdict.DIFFERENT for ruling in rulings.values())
    total = len(candidates) + apart
    looked_at = None if changed is None else frozenset(wanted).union(changed)
    return PairSurvey(
        profiles, rulings, homonyms, total, apart + differ, looked_at, frozenset(seen)
    )


def _ambiguous(
    profiles: Mapping[str, EntityProfile], pairs: Collection[EntityPair], seen: Collection[str]
) -> set[str]:
    """Return the entities whose single mentions matter: paired persons and acronyms, and possible
    homonyms.

    An entity without a type has no mention with a type.
    """
    persons = {
        entity
        for pair in pairs
        if any(profiles[end].person is not None or profiles[end].shape.acronym for end in pair)
        for entity in pair
    }
    return persons.union(entity for entity in seen if _may_have_types(profiles[entity]))


def _may_have_types(profile: EntityProfile) -> bool:
    entity = profile.entity
    return entity.chunk_count > 1 and any(entity.type in pair for pair in CONFLICTS)


def _rivals_of(
    pair: EntityPair, profiles: Mapping[str, EntityProfile], rivals: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    one, other = (profiles[entity] for entity in pair)
    if is_acronym_of(one, other) or is_acronym_of(other, one):
        keys = [one.shape.acronym or other.shape.acronym]
    elif one.person and other.person and one.person.surname == other.person.surname:
        keys = [one.person.key, other.person.key]
    else:
        return ()
    return tuple(sorted({entity for key in keys for entity in rivals.get(key, ())} - set(pair)))


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


def find_pair_candidates(
    profiles: Mapping[str, EntityProfile],
    aliases: Iterable[EntityPair],
    wanted: Collection[str],
    near: Mapping[EntityPair, float],
) -> tuple[dict[EntityPair, float], int]:
    """Return the candidate pairs with at least one ``wanted`` entity.

    They share a key, are spelled alike, are stated as ``aliases``, or have ``near`` vectors. Each
    has its likeness of spelling, 0 if it was found otherwise. Also returns how many further pairs
    `rule_apart` excludes.
    """
    ids = list(profiles)
    places = {entity: place for place, entity in enumerate(ids)}
    names = list(profiles.values())
    chosen = [places[entity] for entity in wanted if entity in places]
    found: dict[EntityPair, float] = {}
    for (one, other), alike in checked(pair_by_spelling(names, chosen).items()):
        if are_spellings(names[one].shape, names[other].shape):
            found[ids[one], ids[other]] = alike
    for one, other in checked(pair_by_keys(names, chosen)):
        found.setdefault((ids[one], ids[other]), 0.0)
    chosen_ids = set(wanted)
    for pair in (*aliases, *near):
        if pair[0] in places and pair[1] in places and not chosen_ids.isdisjoint(pair):
            found.setdefault(pair, 0.0)
    kept = {
        pair: found[pair]
        for pair in checked(sorted(found))
        if rule_apart(profiles[pair[0]], profiles[pair[1]]) is None
    }
    return kept, len(found) - len(kept)


def find_rivals(profiles: Iterable[EntityProfile]) -> dict[str, tuple[str, ...]]:
    """Return the persons that share surname and first initial, by `PersonName.key`, and the names
    that share all initials, by these.
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    for profile in profiles:
        if profile.person is not None:
            found[profile.person.key].append(profile.id)
        for initials in () if profile.shape.han else profile.shape.initials:
            found[initials].append(profile.id)
    return {key: tuple(ids) for key, ids in found.items() if len(ids) > 1}


BANDS = 20
ROWS = 3
"""Names with a Dice coefficient of 0.7 are paired with probability 0.96, with 0.8 of 0.999."""

CROWD = 60
_CROWD_ROWS = 6
_FEWEST_LETTERS = 4
_PRIME = (1 << 31) - 1

Pair = tuple[int, int]
"""The positions of two names, ascending."""


def pair_by_keys(names: Sequence[EntityProfile], wanted: Collection[int]) -> set[Pair]:
    """Return the pairs that share a key and include one of the ``wanted`` positions."""
    buckets: defaultdict[str, list[int]] = defaultdict(list)
    short: defaultdict[str, list[int]] = defaultdict(list)
    full: defaultdict[str, list[int]] = defaultdict(list)
    for place, name in checked(enumerate(names)):
        for key in _keys(name):
            buckets[key].append(place)
        if len(name.shape.acronym) > 2:
            short[name.shape.acronym].append(place)
        if len(name.shape.words) > 2 and not name.shape.han:
            for letters in name.shape.initials:
                full[letters].append(place)
    asked = set(wanted)
    found = set(_pairs_within(buckets.values(), asked))
    for letters, places in short.items():
        for one, other in product(places, full.get(letters, ())):
            if one != other and not asked.isdisjoint((one, other)):
                found.add((min(one, other), max(one, other)))
    return found


def _keys(name: EntityProfile) -> Iterator[str]:
    shape = name.shape
    if shape.squeezed:
        yield "letters " + shape.squeezed
    if len(shape.words) > 1:
        yield "words " + " ".join(sorted(shape.words))
    if name.person is not None:
        yield "person " + name.person.key


def pair_by_spelling(names: Sequence[EntityProfile], wanted: Collection[int]) -> dict[Pair, float]:
    """Return the likeness of the pairs that are spelled alike and include a ``wanted`` position."""
    places = [p for p, name in enumerate(names) if len(name.shape.squeezed) >= _FEWEST_LETTERS]
    grams = {place: grams_of(names[place].shape) for place in checked(places)}
    signatures = _sign([grams[place] for place in places])
    asked = set(wanted)
    mask = np.array([place in asked for place in places], dtype=np.bool_)
    found: dict[Pair, float] = {}
    for band in range(BANDS):
        for bucket in _buckets(signatures, mask, band):
            for pair in checked(_pairs_within([[places[row] for row in bucket]], asked)):
                if pair not in found:
                    found[pair] = likeness(grams[pair[0]], grams[pair[1]])
    return {pair: alike for pair, alike in found.items() if alike >= ALIKE}


def _pairs_within(buckets: Iterable[Sequence[int]], wanted: set[int]) -> Iterator[Pair]:
    for bucket in buckets:
        if len(bucket) < 2:
            continue
        asked = wanted.intersection(bucket)
        if len(asked) == len(bucket):
            yield from combinations(sorted(bucket), 2)
        else:
            yield from (
                (min(one, other), max(one, other))
                for one in asked
                for other in bucket
                if one != other
            )


def _sign(sets: Sequence[frozenset[str]]) -> NDArray[np.int64]:
    """Return the MinHash signatures of sets of n-grams, one row per set."""
    hashes = BANDS * ROWS + _CROWD_ROWS
    signatures = np.zeros((len(sets), hashes), dtype=np.int64)
    if not sets:
        return signatures
    known: Mapping[str, int] = {g: _hash(g) for g in set().union(*sets)}
    lengths = np.array([len(grams) for grams in sets])
    flat = np.fromiter((known[gram] for grams in sets for gram in grams), np.int64, lengths.sum())
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    for column in checked(range(hashes)):
        factor, term = _hash(f"factor {column}") or 1, _hash(f"term {column}")
        # Both factors are below 2^31, so the product fits into 63 bits.
        signatures[:, column] = np.minimum.reduceat((flat * factor + term) % _PRIME, starts)
    return signatures


def _hash(text: str) -> int:
    return int(content_id("gram", text), 16) % _PRIME


def _buckets(
    signatures: NDArray[np.int64], mask: NDArray[np.bool_], band: int
) -> Iterator[list[int]]:
    """Yield groups of two or more rows that agree in a band and include a row of the mask."""
    columns = signatures[:, band * ROWS : (band + 1) * ROWS]
    crowded = np.roll(signatures[:, BANDS * ROWS :], band, axis=1)[:, :ROWS]
    for rows in _equal_rows(columns, np.arange(len(columns)), mask):
        if len(rows) <= CROWD:
            yield rows.tolist()
            continue
        for part in _equal_rows(crowded, rows, mask):
            # Rows that are still together share nearly all n-grams: slices of them suffice.
            for start in range(0, len(part), CROWD):
                yield part[start : start + CROWD].tolist()


def _equal_rows(
    columns: NDArray[np.int64], rows: NDArray[np.intp], mask: NDArray[np.bool_]
) -> Iterator[NDArray[np.intp]]:
    """Yield groups of ``rows``, ascending, with equal columns and at least one row of the mask."""
    if len(rows) < 2:
        return
    chosen = columns[rows]
    order = np.lexsort((*chosen.T[::-1],))  # stable: equal rows stay in ascending order
    changes = np.any(chosen[order[1:]] != chosen[order[:-1]], axis=1)
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    ends = np.append(starts[1:], len(rows))
    ranked = rows[order]
    asked = np.add.reduceat(mask[ranked].astype(np.int64), starts) > 0
    for place in np.flatnonzero((ends - starts > 1) & asked).tolist():
        yield ranked[starts[place] : ends[place]]


NEAR = 0.85
"""Least similarity of the name vectors of a candidate pair."""

MOST_ASKED = 4_000
"""Most entities to search neighbours for, by chunk count; each is compared with all others."""

_ROWS = 512
_VECTOR_BATCH = 4_000


def find_near(
    store: Store, profiles: Mapping[str, EntityProfile], wanted: Collection[str]
) -> dict[EntityPair, float]:
    """Return the similarity of the pairs with similar vectors that include a ``wanted`` entity.

    The result is empty if entities have no vectors.
    """
    index = store.vectors("entity")
    if not index.count():
        return {}
    embedder = store.meta().get(EMBEDDER_META, "")
    ids, rows = _read_vectors(store, sorted(profiles))
    if not ids:
        return {}
    place = {entity: number for number, entity in enumerate(ids)}
    asked = sorted(
        (entity for entity in wanted if entity in place),
        key=lambda entity: (-profiles[entity].entity.chunk_count, entity),
    )[:MOST_ASKED]
    found: dict[EntityPair, float] = {}
    for start in range(0, len(asked), _ROWS):
        block = asked[start : start + _ROWS]
        cosines = rows[[place[entity] for entity in block]] @ rows.T
        near = to_similarity(cosines, embedder)
        for row, column in np.argwhere(near >= NEAR).tolist():
            one, other = block[row], ids[column]
            if one != other:
                found[min(one, other), max(one, other)] = round(float(near[row, column]), 4)
    return dict(sorted(found.items()))


def _read_vectors(store: Store, entity_ids: list[str]) -> tuple[list[str], np.ndarray]:
    index = store.vectors("entity")
    ids: list[str] = []
    parts: list[np.ndarray] = []
    for start in range(0, len(entity_ids), _VECTOR_BATCH):
        held = index.get(entity_ids[start : start + _VECTOR_BATCH])
        ids += sorted(held)
        parts += [held[entity] for entity in sorted(held)]
    return ids, np.concatenate(parts) if parts else np.zeros((0, 1), dtype=np.float32)


QUESTION_VERSION = "pairs-1"
"""Version of questions; increase it if the same entities would give another question."""


@dataclass(frozen=True, slots=True)
class PairQuestion:
    """A question to a judge: two described entities, and the worth of a verdict in chunks.

    ``content_key`` hashes what the judge is shown; it does not depend on the model.
    """

    pair: tuple[str, str]
    first: str
    second: str
    reason: str
    worth: float

    @property
    def content_key(self) -> str:
        return content_id(QUESTION_VERSION, self.first, self.second)

    @property
    def text(self) -> str:
        """The question as one line of a prompt."""
        return f"{self.first} || {self.second}"


@dataclass(frozen=True, slots=True)
class Margin:
    """The open pairs of a survey.

    ``kept`` pairs have a verdict on an unchanged question, ``asked`` are the questions to ask now,
    and ``left`` is the number of further pairs without a verdict.
    """

    kept: frozenset[EntityPair] = frozenset()
    asked: tuple[PairQuestion, ...] = ()
    left: int = 0
