"""The aliases and homonyms of an index: list them, merge and split entities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from knotwork._stores.base import Store, require_resolutions

if TYPE_CHECKING:
    from knotwork._indexing.resolution.resolver import (
        NamedDecision,
        NamedHomonym,
        ResolutionChanges,
        SameNames,
    )


class Entities:
    """The decisions on which names mean one entity; `KnowledgeBase.entities`.

    Rules, models and people decide, and what a person decides is final. All methods
    that take names raise UnknownName, with the nearest names, for a name without an entity.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def aliases(self, about: str | Sequence[str] = ()) -> SameNames:
        """Return entities with aliases, pairs that are kept apart, and the decisions.

        They are those of the whole index, or only of the entities with these names.
        """
        from knotwork._indexing.resolution.resolver import read_same_names

        return read_same_names(self._store, self._meant(about))

    def homonyms(self, about: str | Sequence[str] = ()) -> tuple[NamedHomonym, ...]:
        """Return the names that mean several entities, as of the last comparison of names.

        They are those of the whole index, or only of the entities with these names.
        """
        from knotwork._indexing.resolution.resolver import read_homonyms

        return read_homonyms(self._store, self._meant(about))

    def find_aliases(self) -> ResolutionChanges:
        """Compare changed names, or all the first time, by rules; return the changes.

        No language model is called: indexing does that if one is set. Raises MissingCapability
        if the store cannot hold merged entities or homonyms.
        """
        from knotwork._indexing.resolution.resolver import resolve_entities

        return resolve_entities(self._store)

    def merge(self, one: str, other: str) -> NamedDecision:
        """Merge the entities of two names for good, and return the decision.

        It is a correction, which `kb.graph.undo` reverts. The decision is stored but ``refused``
        while other decisions keep apart what it would merge.
        Raises ConfigError if both names mean the same entity.
        """
        return self._decide("merge", one, other)

    def split(self, one: str, other: str) -> NamedDecision:
        """Keep the entities of two names apart for good, and return the decision.

        Overrides rules, models and `merge`, which also reverts it. Raises ConfigError if
        both names mean the same entity.
        """
        return self._decide("split", one, other)

    def _meant(self, names: str | Sequence[str]) -> list[str] | None:
        """Return the entity id of each name; None without names."""
        from knotwork._retrieval.entity_lookup import resolve_names

        given = [names] if isinstance(names, str) else list(names)
        return [resolve_names(self._store, [name])[0] for name in given if name] or None

    def _decide(self, kind: str, one: str, other: str) -> NamedDecision:
        from knotwork._extensions.graphs.corrections import Corrections
        from knotwork._indexing.resolution.resolver import read_same_names
        from knotwork._retrieval.entity_lookup import resolve_names

        require_resolutions(self._store)
        first, second = (resolve_names(self._store, [name])[0] for name in (one, other))
        corrections = Corrections(self._store)
        corrections.record(corrections.make(kind, first, other=second))
        known = read_same_names(self._store, [first])
        every = (*known.apart, *(d for thing in known.things for d in thing.decisions))
        return next(d for d in every if set(d.decision.pair) == {first, second})
