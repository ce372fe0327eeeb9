"""Which entities are one thing, as far as an index has decided."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from knotwork.stores.base import Scored, Store
from knotwork.stores.resolutions import StoresResolutions, read_groups


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


def read_things_of(store: Store, entity_ids: Collection[str]) -> Things:
    """Return the things of an index if any of these entities is one with another; else none."""
    held = store.resolutions.of_entities(entity_ids) if isinstance(store, StoresResolutions) else {}
    joined = any(decision.joins for decisions in held.values() for decision in decisions)
    return read_things(store) if joined else Things({})


def chunks_about(store: Store, entity_ids: Sequence[str], *, fan: int) -> dict[str, list[Scored]]:
    """Return the chunks about each entity, under any of its names: the ``fan`` most about it."""
    things = read_things_of(store, entity_ids)
    members = {key: things.members(things.of(key)) for key in entity_ids}
    all_names = dict.fromkeys(name for names in members.values() for name in names)
    about = store.graph.about(list(all_names), fan=fan)
    found: dict[str, list[Scored]] = {}
    for key, names in members.items():
        if len(names) == 1:
            if key in about:
                found[key] = list(about[key])
            continue
        best: dict[str, float] = {}
        for chunk_id, score in (item for name in names for item in about.get(name, ())):
            best[chunk_id] = max(score, best.get(chunk_id, 0.0))
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
        if ranked:
            found[key] = [Scored(*item) for item in ranked[:fan]]
    return found
