"""Whether the relations of a graph are a vocabulary, which decides how far paths are trusted.

In a graph that was made as one, a few relations hold between many things. Rules and models that
read texts name relations in the words of each text: most of these names occur once, and that a
path's words are those of the question says little (measured: docs/benchmarks.md). Such paths are
shown, but do not change which passages come first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from knotwork.retrieval.paths.links import UNSTATED
from knotwork.retrieval.paths.wording import relation_words
from knotwork.stores.base import Store
from knotwork.text.terms import STOP_WORDS

MOST_ONCE = 0.5
"""Share of relations that hold only once up to which all relations of a graph are a vocabulary: it
is 0 to 0.3 in graphs that were made as such, 0.7 to 0.9 where rules read texts."""
REGULAR_RELATION = 20
"""Edges from which a relation of any other graph is taken for one of a vocabulary, if its name is
more than function words such as `is` and `in`."""


class Regularity:
    """Tells whether relations are regular, by counts that are read once a state of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._generation: int | None = None
        self._counts: Mapping[str, int] = {}
        self._is_regular_graph = False

    def holds(self, relations: Collection[str]) -> bool:
        """Return whether all of these relations are regular."""
        generation = self._store.generation()
        if generation != self._generation:
            counts = self._store.graph.schema().relations
            self._counts = {name: n for name, n in counts.items() if name not in UNSTATED}
            once = sum(count == 1 for count in self._counts.values())
            self._is_regular_graph = once <= MOST_ONCE * len(self._counts)
            self._generation = generation
        return self._is_regular_graph or all(
            self._counts.get(relation, 0) >= REGULAR_RELATION
            and any(word not in STOP_WORDS for word in relation_words(relation))
            for relation in relations
        )
