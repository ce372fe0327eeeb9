"""From a question to the patterns of paths that may answer it, and to their features."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from knotwork.retrieval.paths.enumeration import Bounds, Pattern, enumerate_patterns
from knotwork.retrieval.paths.features import SHOWN_ANSWERS, PatternFeatures
from knotwork.retrieval.paths.linking import Seed, find_seeds, spans_of
from knotwork.retrieval.paths.links import LinkReader
from knotwork.retrieval.paths.trees import Rows
from knotwork.retrieval.paths.wording import Wording
from knotwork.stores.base import Store

DEFAULT_BOUNDS = Bounds()
COMPARED = 300
"""Patterns whose features are made: the first in the order of enumeration."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The patterns of a question, with what they were found from; ``names`` are of entities."""

    seeds: tuple[Seed, ...]
    wording: Wording
    reader: LinkReader
    patterns: tuple[Pattern, ...]
    names: dict[str, str]

    def rows(self) -> Rows:
        """Return the features of the patterns, a row for each; see `features.FEATURES`."""
        features = PatternFeatures(self.wording, self.names, seed_count=len(self.seeds))
        return features.rows(self.patterns)


def find_candidates(text: str, store: Store, bounds: Bounds = DEFAULT_BOUNDS) -> Candidates:
    """Link a question and enumerate the patterns from and between the entities that it names."""
    seeds = find_seeds(text, store)
    wording = Wording(text, spans_of(seeds))
    reader = LinkReader(store, limit=bounds.links)
    patterns = enumerate_patterns(seeds, reader, wording, bounds)[:COMPARED]
    shown = {
        entity
        for pattern in patterns
        for entity in (
            *islice(pattern.answers, SHOWN_ANSWERS),
            *pattern.walk(pattern.answers[0]),
        )
    }
    names = {key: entity.name for key, entity in store.graph.entities(shown).items()}
    return Candidates(tuple(seeds), wording, reader, tuple(patterns), names)
