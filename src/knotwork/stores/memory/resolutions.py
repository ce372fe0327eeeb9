"""Which entities are the same, in dictionaries."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable

from knotwork.records import SameAs
from knotwork.stores.memory.state import Access
from knotwork.stores.resolutions import form_groups


class MemoryResolutions:
    """The `ResolutionStore` of the memory store."""

    def __init__(self, access: Access) -> None:
        self._state, self._transaction = access

    def put(self, decisions: Iterable[SameAs]) -> None:
        with self._transaction():
            self._state().same_as.update((decision.pair, decision) for decision in decisions)

    def decisions(self) -> list[SameAs]:
        there = self._chunk_counts()
        return [
            decision
            for (first, second), decision in sorted(
                self._state().same_as.items(), key=lambda item: item[0]
            )
            if first in there and second in there
        ]

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[SameAs]]:
        wanted = set(entity_ids)
        found: defaultdict[str, list[SameAs]] = defaultdict(list)
        for decision in self.decisions():
            for end in wanted.intersection(decision.pair):
                found[end].append(decision)
        return dict(found)

    def remove(self, pairs: Collection[tuple[str, str]]) -> None:
        with self._transaction():
            for pair in pairs:
                self._state().same_as.pop(pair, None)

    def groups(self) -> dict[str, str]:
        return form_groups(self.decisions(), self._chunk_counts()).canonical

    def touch(self, entity_ids: Collection[str]) -> None:
        with self._transaction():
            self._state().touched |= set(entity_ids)

    def touched(self) -> list[str]:
        return sorted(self._state().touched)

    def settle(self, entity_ids: Collection[str]) -> None:
        settled = set(entity_ids)
        with self._transaction():
            state = self._state()
            state.touched -= settled
            gone = settled.difference(self._chunk_counts())
            state.same_as = {
                pair: decision
                for pair, decision in state.same_as.items()
                if decision.by_person or gone.isdisjoint(pair)
            }

    def _chunk_counts(self) -> Counter[str]:
        return Counter(entity for _, entity in self._state().mentions)
