"""Find pairs of entities worth comparing: by keys, spelling and vectors, in about linear time.

Names that share an exact key are paired: the same letters, the same words in any order, the same
surname and initial, the same acronym. Names that are only spelled alike are paired by
locality-sensitive hashing of their character n-grams (MinHash in bands: Broder 1997; Leskovec,
Rajaraman, Ullman, *Mining of Massive Datasets*, 3.4). The hashes are fixed, so whether two names
are paired depends on the two alone, and an index that grew pairs the same names as a fresh one.
Only a bucket with more than `CROWD` names, most of which share just a common word, is divided by
further hashes. In the alternative, a sparse product of TF-IDF vectors, weights change with every
document, and the cost grows with the square of the number of names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._cancellation import checked
from knotwork._indexing.embedding import EMBEDDER_META
from knotwork._indexing.resolution.name_evidence import EntityPair, EntityProfile
from knotwork._indexing.resolution.name_shapes import (
    ALIKE,
    NameShape,
    PersonName,
    are_spellings,
    grams_of,
    likeness,
)
from knotwork._indexing.resolution.rules import rule_apart
from knotwork._inference.embedder import to_similarity
from knotwork._stores.base import Store
from knotwork.records import content_id


@dataclass(frozen=True, slots=True)
class PairCandidates:
    """Candidate pairs with their likeness of spelling, 0 for those found otherwise.

    ``apart`` is the number of further pairs that `rule_apart` excluded.
    """

    likeness: Mapping[EntityPair, float]
    apart: int


def find_pair_candidates(
    profiles: Mapping[str, EntityProfile],
    aliases: Iterable[EntityPair],
    wanted: Collection[str],
    near: Mapping[EntityPair, float] | None = None,
) -> PairCandidates:
    """Return the candidate pairs with at least one ``wanted`` entity.

    They share a key, are spelled alike, are stated as ``aliases``, or have ``near`` vectors.
    """
    ids = list(profiles)
    places = {entity: place for place, entity in enumerate(ids)}
    names = [NamedShape(profile.shape, profile.person) for profile in profiles.values()]
    chosen = [places[entity] for entity in wanted if entity in places]
    found: dict[EntityPair, float] = {}
    for (one, other), alike in checked(pair_by_spelling(names, chosen).items()):
        if are_spellings(names[one].shape, names[other].shape):
            found[ids[one], ids[other]] = alike
    for one, other in checked(pair_by_keys(names, chosen)):
        found.setdefault((ids[one], ids[other]), 0.0)
    chosen_ids = set(wanted)
    for pair in (*aliases, *(near or {})):
        if pair[0] in places and pair[1] in places and not chosen_ids.isdisjoint(pair):
            found.setdefault(pair, 0.0)
    kept = {
        pair: found[pair]
        for pair in checked(sorted(found))
        if rule_apart(profiles[pair[0]], profiles[pair[1]]) is None
    }
    return PairCandidates(kept, len(found) - len(kept))


def find_rivals(profiles: Iterable[EntityProfile]) -> dict[str, tuple[str, ...]]:
    """Return the persons that share surname and first initial, by `PersonName.key`."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for profile in profiles:
        if profile.person is not None:
            found[profile.person.key].append(profile.id)
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


class NamedShape(NamedTuple):
    """A parsed name, as used for blocking."""

    shape: NameShape
    person: PersonName | None


def pair_by_keys(names: Sequence[NamedShape], wanted: Collection[int]) -> set[Pair]:
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


def _keys(name: NamedShape) -> Iterator[str]:
    shape = name.shape
    if shape.squeezed:
        yield "letters " + shape.squeezed
    if len(shape.words) > 1:
        yield "words " + " ".join(sorted(shape.words))
    if name.person is not None:
        yield "person " + name.person.key


def pair_by_spelling(names: Sequence[NamedShape], wanted: Collection[int]) -> dict[Pair, float]:
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
