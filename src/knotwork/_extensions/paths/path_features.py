"""Features that distinguish path patterns that answer a question from others.

They are the same for every graph and language: they compare the question with the names of
relations and entities, and measure how long, specific and probable a path is. `FEATURES` lists them
in the order of a row.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from knotwork._extensions.paths.path_enumeration import PathStep, RelationPath
from knotwork._extensions.paths.path_question import RelationMatch, RelationWording, classes_of
from knotwork._questions.reading import reading_of
from knotwork._text.relation_words import relation_words
from knotwork._text.terms import content_terms
from knotwork.records import Span

_FEATURES = """
    hops relations entities between both seed_trust seed_rarity seed_share seeds_used
    probability answers most_entities covered_places covered_words uncovered_words
    first_named last_named mean_named least_named whole_names named_too_often
    named_too_seldom named_unlike_mutual mutual returns mutual_returns first_near_seed
    last_near_asking order asked_kind numbers_asked numbers_found answers_in_question
    shared_characters character_jaccard word_jaccard edit_likeness shared_numbers
"""
FEATURES = tuple(_FEATURES.split())
"""The names of the columns."""

SHOWN_ANSWERS = 2
"""Number of answers of a pattern whose names are compared."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_FAR = 1.0


class PatternFeatures:
    """Computes the rows of patterns; values of a single relation are cached."""

    def __init__(
        self, wording: RelationWording, names: Mapping[str, str], *, seed_count: int
    ) -> None:
        self._wording = wording
        self._names = names
        self._seed_count = max(seed_count, 1)
        self._total = sum(wording.named.values())
        self._length = max(len(wording.text), 1)
        self._terms = set(reading_of(wording.text).terms)
        self._characters = Counter(c for c in wording.text.lower() if c.isalnum())
        self._numbers = set(_NUMBER.findall(wording.text))
        self._folded = wording.text.lower()
        self._edits: dict[str, float] = {}

    def rows(self, patterns: Sequence[RelationPath]) -> NDArray[np.float64]:
        """Return the features of patterns, of shape (patterns, features)."""
        rows = [self._row(pattern) for pattern in patterns]
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(FEATURES))

    def _row(self, pattern: RelationPath) -> list[float]:
        steps = pattern.all_steps
        return [
            *self._shape(pattern, steps),
            *self._naming(steps),
            *self._places(pattern, steps),
            *self._answers(pattern, steps),
            *self._texts(pattern, steps),
        ]

    def _shape(self, pattern: RelationPath, steps: Sequence[PathStep]) -> list[float]:
        tail = pattern.tail
        is_between = tail is not None and tail.seed.entity.id != pattern.seed.entity.id
        is_both = tail is not None and not is_between
        seeds = (pattern.seed, tail.seed) if is_between and tail else (pattern.seed,)
        sizes = [*pattern.sizes[1:], *(tail.sizes[1:] if tail else ())]
        return [
            len(steps),
            len({relation for relation, _ in steps}),
            len(steps) + (0 if is_both else 1),
            float(is_between),
            float(is_both),
            min(seed.trust for seed in seeds),
            max(seed.rarity for seed in seeds),
            sum(seed.share for seed in seeds),
            len(seeds) / self._seed_count,
            -sum(math.log(size) for size in sizes),
            math.log1p(len(pattern.answers)),
            math.log1p(max(sizes)),
        ]

    def _naming(self, steps: Sequence[PathStep]) -> list[float]:
        wording = self._wording
        relations = Counter(relation for relation, _ in steps)
        own = wording.named_by(relations)
        words = max(len(wording.words), 1)
        covered = sum(span in own for _, span in wording.words)
        strengths = [wording.strength(relation) for relation, _ in steps]
        times = {relation: wording.times(relation) for relation in relations}
        mutual = float(wording.is_mutual)
        returns = sum(one[0] == other[0] and one[1] != other[1] for one, other in pairwise(steps))
        unlike = sum(
            min(abs(count - times[r]), abs(count - times[r] - mutual))
            for r, count in relations.items()
        )
        return [
            sum(own.values()) / self._total if self._total else 0.0,
            covered / words,
            float(len(wording.words) - covered),
            strengths[0],
            strengths[-1],
            sum(strengths) / len(strengths),
            min(strengths),
            sum(self._whole(relation) for relation in relations) / len(relations),
            float(sum(max(times[r] - count, 0) for r, count in relations.items())),
            float(sum(max(count - times[r], 0) for r, count in relations.items())),
            float(unlike),
            mutual,
            float(returns),
            mutual * returns,
        ]

    def _whole(self, relation: str) -> float:
        """Return the share of a relation's words that the question contains in some form."""
        found = {place.word for place in self._wording.sure(relation)}
        return len(found) / max(len(relation_words(relation)), 1)

    def _places(self, pattern: RelationPath, steps: Sequence[PathStep]) -> list[float]:
        """Return how the order of the words fits the path, from the name to what is asked."""
        seed, asking = pattern.seed.span, self._wording.asking
        places = [self._wording.sure(relation) for relation, _ in steps]
        near_seed = [self._nearest(found, seed) for found in places]
        near_asking = [self._nearest(found, asking) for found in places]
        moves = [float(np.sign(later - earlier)) for earlier, later in pairwise(near_seed)]
        return [
            near_seed[0],
            near_asking[-1],
            sum(moves) / len(moves) if moves else 0.0,
        ]

    def _nearest(self, places: Sequence[RelationMatch], target: Span | None) -> float:
        """Return the smallest distance of matches from a span, as a share of the question."""
        if not places or target is None:
            return _FAR
        return min(place.span.distance(target) for place in places) / self._length

    def _answers(self, pattern: RelationPath, steps: Sequence[PathStep]) -> list[float]:
        wording = self._wording
        kinds = wording.kinds - {"amount"}
        found = classes_of(steps[-1][0]) if pattern.tail is None and steps[-1][1] else frozenset()
        fits = 0.0 if not (kinds and found) else (1.0 if kinds & found else -1.0)
        names = [self._names.get(answer, "") for answer in pattern.answers[:SHOWN_ANSWERS]]
        numbers = sum(1 for name in names if _NUMBER.fullmatch(name)) / max(len(names), 1)
        inside = sum(1 for name in names if name and name.lower() in self._folded)
        return [
            fits,
            numbers * float("time" in kinds),
            numbers,
            inside / max(len(names), 1),
        ]

    def _texts(self, pattern: RelationPath, steps: Sequence[PathStep]) -> list[float]:
        answers = pattern.answers[:1]
        names = [self._names.get(key, "") for answer in answers for key in pattern.walk(answer)]
        words = [word for relation, _ in steps for word in relation_words(relation)]
        text = " ".join([*names, *words]).lower()
        characters = Counter(c for c in text if c.isalnum())
        shared = (self._characters & characters).total()
        either = self._characters.total() + characters.total() - shared
        own = set(content_terms(" ".join(words)))
        union = len(self._terms | own)
        return [
            shared / max(self._characters.total(), 1),
            shared / max(either, 1),
            len(self._terms & own) / max(union, 1),
            sum(self._edit(relation) for relation, _ in steps) / len(steps),
            float(len(self._numbers.intersection(_NUMBER.findall(text)))),
        ]

    def _edit(self, relation: str) -> float:
        """Return the mean similarity of a relation's words to the question's, by edit distance."""
        if relation not in self._edits:
            wanted = relation_words(relation)
            words = [word for word, _ in self._wording.words]
            self._edits[relation] = sum(
                max((edit_likeness(word, other) for other in words), default=0.0) for word in wanted
            ) / max(len(wanted), 1)
        return self._edits[relation]


@lru_cache(maxsize=1 << 14)
def edit_likeness(one: str, other: str) -> float:
    """Return 1 minus the edit distance as a share of the longer word (Levenshtein 1966).

    It is 0 if one word is more than twice as long as the other.
    """
    if max(len(one), len(other)) > 2 * min(len(one), len(other)):
        return 0.0
    previous = list(range(len(other) + 1))
    for row, a in enumerate(one, start=1):
        current = [row]
        for column, b in enumerate(other, start=1):
            change = previous[column - 1] + (a != b)
            current.append(min(change, previous[column] + 1, current[-1] + 1))
        previous = current
    return 1.0 - previous[-1] / max(len(one), len(other), 1)
