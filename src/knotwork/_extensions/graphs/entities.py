"""List the aliases and homonyms of an index, and compare names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from knotwork._stores.base import Store

if TYPE_CHECKING:
    from knotwork._indexing.resolution.resolver import (
        NamedHomonym,
        ResolutionChanges,
        SameNames,
    )


class Entities:
    """The decisions on which names mean one entity; `KnowledgeBase.entities`.

    Rules, models and people decide, and what a person decides is final: see `graph.correct`. All
    methods that take names raise UnknownName, with the nearest names, for a name without an entity.
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

    def _meant(self, names: str | Sequence[str]) -> list[str] | None:
        """Return the entity id of each name; None without names."""
        from knotwork._retrieval.entity_lookup import resolve_names

        given = [names] if isinstance(names, str) else list(names)
        return [resolve_names(self._store, [name])[0] for name in given if name] or None
