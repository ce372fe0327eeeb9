"""Which names mean several things, in a dictionary."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from knotwork.records import Homonym
from knotwork.stores.memory.state import Access


class MemoryHomonyms:
    """The `HomonymStore` of the memory store."""

    def __init__(self, access: Access) -> None:
        self._state, self._transaction = access

    def replace(self, homonyms: Iterable[Homonym], *, among: Collection[str] | None = None) -> None:
        with self._transaction():
            state = self._state()
            gone = set(state.homonyms if among is None else among)
            kept = {key: known for key, known in state.homonyms.items() if key not in gone}
            state.homonyms = kept | {homonym.entity_id: homonym for homonym in homonyms}

    def read(self, entity_ids: Collection[str] | None = None) -> dict[str, Homonym]:
        state = self._state()
        wanted = state.homonyms if entity_ids is None else set(entity_ids) & state.homonyms.keys()
        found: dict[str, Homonym] = {}
        for key in sorted(wanted):
            known = state.homonyms[key]
            senses = [
                tuple(sorted(c for c in sense if (c, key) in state.mentions))
                for sense in known.senses
            ]
            there = tuple(sense for sense in senses if sense)
            if len(there) > 1:
                found[key] = replace(known, senses=there)
        return found
