"""Which entities are one thing, as far as an index has decided."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from knotwork.stores.base import Store
from knotwork.stores.resolutions import read_groups


class Things:
    """Entities by the thing that they are; one without other names is a thing by itself.

    A thing has the id of its canonical entity.
    """

    def __init__(self, groups: Mapping[str, str]) -> None:
        self._groups = groups
        self._members: defaultdict[str, list[str]] = defaultdict(list)
        for entity, standing in sorted(groups.items()):
            if entity != standing:
                self._members[standing].append(entity)

    def of(self, entity_id: str) -> str:
        """Return the thing that an entity is."""
        return self._groups.get(entity_id, entity_id)

    def members(self, thing: str) -> tuple[str, ...]:
        """Return the entities of a thing, the canonical one first, the others ascending."""
        return thing, *self._members.get(thing, ())


def read_things(store: Store) -> Things:
    """Return the things of an index; where it holds no decisions, each entity is one."""
    return Things(read_groups(store))
