"""Pairs worth a look: all that share a key, nearly all that are spelt alike, far from all."""

import random
from itertools import combinations

import pytest

from knotwork._indexing.resolution.name_evidence import make_profile
from knotwork._indexing.resolution.name_shapes import (
    ALIKE,
    grams_of,
    likeness,
)
from knotwork._indexing.resolution.pairs import (
    CROWD,
    pair_by_keys,
    pair_by_spelling,
)
from knotwork.records import Entity

pytestmark = pytest.mark.slow


SYLLABLES = (
    *("ba", "do", "ki", "lu", "me", "no", "pa", "ri", "so"),
    *("tu", "va", "wen", "xi", "yor", "zan", "gel", "mor", "fen"),
)


def make_names(count, seed):
    chance = random.Random(seed)
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(count)]
    names = [" ".join(chance.sample(words, chance.randint(1, 3))) for _ in range(count)]
    for name in list(names[: count // 3]):
        place = chance.randrange(len(name))
        names.append(name[:place] + chance.choice("aeiou") + name[place + 1 :])
    return sorted({name.title() for name in names})


def named(names):
    return [make_profile(Entity(name, name, name, "", 1)) for name in names]


@pytest.mark.parametrize("seed", [1, 2])
def test_nearly_all_pairs_that_are_spelt_alike_are_found(seed):
    known = named(make_names(400, seed))
    grams = [grams_of(name.shape) for name in known]
    exact = {
        (one, other): likeness(grams[one], grams[other])
        for one, other in combinations(range(len(known)), 2)
    }
    found = pair_by_spelling(known, range(len(known)))
    assert all(alike == exact[pair] >= ALIKE for pair, alike in found.items())
    close = {pair for pair, alike in exact.items() if alike >= 0.8}
    assert len(close) > 50
    assert len(close & found.keys()) >= 0.97 * len(close)


def test_pairs_of_some_equal_all_pairs_with_one_of_them():
    known = named([*make_names(300, 3), *(f"Common Company {word}" for word in SYLLABLES)])
    everything = range(len(known))
    some = {5, 17, 200, len(known) - 1}
    for search in (pair_by_spelling, pair_by_keys):
        whole = search(known, everything)
        assert set(search(known, some)) == {pair for pair in whole if not some.isdisjoint(pair)}


def test_names_that_share_a_key_meet():
    names = [
        "Graph Lab", "GraphLab", "Kafka Franz", "Franz Kafka", "John Smith", "J. Smith",
        "WHO", "World Health Organization", "中国电信", "中国电信有限公司", "Unrelated Thing",
    ]  # fmt: skip
    found = pair_by_keys(named(names), range(len(names)))
    assert {(names[one], names[other]) for one, other in found} == {
        ("Graph Lab", "GraphLab"),
        ("Kafka Franz", "Franz Kafka"),
        ("John Smith", "J. Smith"),
        ("WHO", "World Health Organization"),
        ("中国电信", "中国电信有限公司"),
    }


def test_pairs_grow_with_the_names_even_where_all_of_these_are_alike():
    chance = random.Random(4)
    names = named(
        [f"International Company of Engineers {chance.getrandbits(40)}" for _ in range(12 * CROWD)]
    )
    fewer = len(pair_by_spelling(names[: 6 * CROWD], range(6 * CROWD)))
    assert len(pair_by_spelling(names, range(len(names)))) < 2.8 * fewer


def test_nothing_comes_of_nothing():
    assert pair_by_spelling([], []) == {}
    assert pair_by_keys([], []) == set()
    assert pair_by_spelling(named(["Ab", "Ac"]), [0, 1]) == {}
