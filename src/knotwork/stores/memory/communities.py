"""Communities and their reports in dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from knotwork.records import Community, CommunityReport
from knotwork.stores.memory.state import Access


class MemoryCommunities:
    """The `CommunityStore` of the memory store."""

    def __init__(self, access: Access) -> None:
        self._state, self._transaction = access

    def replace(self, communities: Iterable[Community]) -> None:
        with self._transaction():
            state = self._state()
            state.communities = {community.id: community for community in communities}
            state.stale = frozenset()
            state.reports = {
                key: report for key, report in state.reports.items() if key in state.communities
            }

    def communities(self, ids: Collection[str]) -> dict[str, Community]:
        stored = self._state().communities
        return {key: stored[key] for key in ids if key in stored}

    def levels(self) -> list[list[str]]:
        stored = self._state().communities
        depth = max((community.level for community in stored.values()), default=-1) + 1
        return [
            sorted(key for key, community in stored.items() if community.level == level)
            for level in range(depth)
        ]

    def parents(self) -> dict[str, str | None]:
        stored = self._state().communities
        return {key: stored[key].parent_id for key in sorted(stored)}

    def of_entities(self, entity_ids: Collection[str]) -> dict[str, list[str]]:
        return self._holding(entity_ids, lambda community: community.entity_ids)

    def of_chunks(self, chunk_ids: Collection[str]) -> dict[str, list[str]]:
        return self._holding(chunk_ids, lambda community: community.chunk_ids)

    def _holding(
        self, ids: Collection[str], held_by: Callable[[Community], Collection[str]]
    ) -> dict[str, list[str]]:
        wanted = set(ids)
        found: dict[str, list[str]] = {}
        stored = self._state().communities.values()
        for community in sorted(stored, key=lambda c: (c.level, c.id)):
            for held in wanted.intersection(held_by(community)):
                found.setdefault(held, []).append(community.id)
        return found

    def stale(self) -> list[str]:
        return sorted(self._state().stale)

    def forget(
        self, chunk_ids: Collection[str], *, mentioned: Collection[str], vanished: Collection[str]
    ) -> list[str]:
        chunks, touched, gone = set(chunk_ids), set(mentioned), set(vanished)
        with self._transaction():
            state = self._state()
            for key, community in list(state.communities.items()):
                if chunks.isdisjoint(community.chunk_ids) and touched.isdisjoint(
                    community.entity_ids
                ):
                    continue
                members = tuple(m for m in community.members if m.entity_id not in gone)
                kept = tuple(chunk for chunk in community.chunk_ids if chunk not in chunks)
                state.communities[key] = replace(community, members=members, chunk_ids=kept)
                state.stale |= {key}
                if not members:
                    del state.communities[key]
                    state.stale -= {key}
            dropped = sorted(
                key
                for key, report in state.reports.items()
                if key not in state.communities or not chunks.isdisjoint(report.chunk_ids)
            )
            self.remove_reports(dropped)
        return dropped

    def put_reports(self, reports: Iterable[CommunityReport]) -> None:
        with self._transaction():
            self._state().reports.update((report.community_id, report) for report in reports)

    def remove_reports(self, community_ids: Collection[str]) -> None:
        with self._transaction():
            for key in community_ids:
                self._state().reports.pop(key, None)

    def reports(self, community_ids: Collection[str]) -> dict[str, CommunityReport]:
        stored = self._state().reports
        return {key: stored[key] for key in community_ids if key in stored}
