"""Which pairs of names are worth a look: far fewer than all, found in about linear time.

Names that share an exact key meet: the same letters, the same words in any order, the same surname
and initial, the same acronym. Names that are only spelt alike meet by locality-sensitive hashing of
their character n-grams (MinHash in bands: Broder 1997; Leskovec, Rajaraman, Ullman, *Mining of
Massive Datasets*, 3.4). The hashes are fixed, so that whether two names meet depends on the two
alone, and an index that grew pairs the same names as one that was built at once. Only a bucket with
more than `CROWD` names, most of which share a common word and no more, is divided by further
hashes.

A sparse product of TF-IDF vectors was the other choice: its weights change with every document, and
its cost grows with the square of the number of names, as they share a fixed number of n-grams.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork.indexing.resolution.names import NameShape, PersonName
from knotwork.indexing.resolution.spelling import ALIKE, grams_of, likeness
from knotwork.records import content_id

BANDS = 20
ROWS = 3
"""Two names with a Dice likeness of 0.7 meet with probability 0.96, of 0.8 with 0.999."""

CROWD = 60
_CROWD_ROWS = 6
_FEWEST_LETTERS = 4
_PRIME = (1 << 31) - 1

Pair = tuple[int, int]
"""The places of two names, ascending."""


class Named(NamedTuple):
    """A name as blocking sees it."""

    shape: NameShape
    person: PersonName | None


def pair_by_keys(names: Sequence[Named], wanted: Collection[int]) -> set[Pair]:
    """Return the pairs that share a key, with at least one of ``wanted`` places in each."""
    buckets: defaultdict[str, list[int]] = defaultdict(list)
    short: defaultdict[str, list[int]] = defaultdict(list)
    full: defaultdict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(names):
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


def _keys(name: Named) -> Iterator[str]:
    shape = name.shape
    if shape.squeezed:
        yield "letters " + shape.squeezed
    if len(shape.words) > 1:
        yield "words " + " ".join(sorted(shape.words))
    if name.person is not None:
        yield "person " + name.person.key


def pair_by_spelling(names: Sequence[Named], wanted: Collection[int]) -> dict[Pair, float]:
    """Return the pairs that are spelt alike, with their likeness, one of ``wanted`` in each."""
    places = [p for p, name in enumerate(names) if len(name.shape.squeezed) >= _FEWEST_LETTERS]
    grams = {place: grams_of(names[place].shape) for place in places}
    signatures = _sign([grams[place] for place in places])
    asked = set(wanted)
    mask = np.array([place in asked for place in places], dtype=np.bool_)
    found: dict[Pair, float] = {}
    for band in range(BANDS):
        for bucket in _buckets(signatures, mask, band):
            for pair in _pairs_within([[places[row] for row in bucket]], asked):
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
    """Return the MinHash signatures of sets of n-grams, a row a set."""
    hashes = BANDS * ROWS + _CROWD_ROWS
    signatures = np.zeros((len(sets), hashes), dtype=np.int64)
    if not sets:
        return signatures
    known: Mapping[str, int] = {g: _hash(g) for g in set().union(*sets)}
    lengths = np.array([len(grams) for grams in sets])
    flat = np.fromiter((known[gram] for grams in sets for gram in grams), np.int64, lengths.sum())
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    for column in range(hashes):
        factor, term = _hash(f"factor {column}") or 1, _hash(f"term {column}")
        # Both factors are below 2^31, so that the product fits 63 bits.
        signatures[:, column] = np.minimum.reduceat((flat * factor + term) % _PRIME, starts)
    return signatures


def _hash(text: str) -> int:
    return int(content_id("gram", text), 16) % _PRIME


def _buckets(
    signatures: NDArray[np.int64], mask: NDArray[np.bool_], band: int
) -> Iterator[list[int]]:
    """Yield the rows that agree in a band, two or more at a time, one in the mask at least."""
    columns = signatures[:, band * ROWS : (band + 1) * ROWS]
    crowded = np.roll(signatures[:, BANDS * ROWS :], band, axis=1)[:, :ROWS]
    for rows in _equal_rows(columns, np.arange(len(columns)), mask):
        if len(rows) <= CROWD:
            yield rows.tolist()
            continue
        for part in _equal_rows(crowded, rows, mask):
            # What is still crowded shares nearly all n-grams: neighbours in order stand for all.
            for start in range(0, len(part), CROWD):
                yield part[start : start + CROWD].tolist()


def _equal_rows(
    columns: NDArray[np.int64], rows: NDArray[np.intp], mask: NDArray[np.bool_]
) -> Iterator[NDArray[np.intp]]:
    """Yield those of ``rows``, ascending, that have equal columns, where the mask holds for one."""
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
