"""What every report stands on: the extractive report of each community, from the documents alone.

A parent is reported from the findings of its children. Those are always the extractive ones here,
also where a model has written about a child since: so what a community's material is depends on the
documents alone, and a child that a model writes about outdates no parent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from knotwork.indexing.communities.extractive import outline_report
from knotwork.indexing.communities.material import Material, group_by_parent, read_material
from knotwork.records import EXTRACTIVE_SOURCE, Community, CommunityReport
from knotwork.stores.base import Store
from knotwork.stores.communities import CommunityStore

Children = Callable[[Community], Sequence[Community]]
"""Returns the children of a community, the largest first."""


class Foundation:
    """Gathers materials, and extractive reports of the communities below, each once.

    ``known`` are extractive reports that are right; those of communities below that are neither
    there nor `settle`d are put together from the documents, as far as a parent needs them.
    """

    def __init__(
        self, store: Store, children: Children, known: Iterable[CommunityReport] = ()
    ) -> None:
        self._store = store
        self.children = children
        self._reports: dict[str, CommunityReport] = {
            report.community_id: report for report in known if report.source == EXTRACTIVE_SOURCE
        }

    def material(self, community: Community) -> Material:
        """Return what the report of a community is written from."""
        below = [self.extractive(child) for child in self.children(community)]
        below.sort(key=lambda report: (-report.rating, report.content_key))
        return read_material(self._store, community, below)

    def extractive(self, community: Community) -> CommunityReport:
        """Return the extractive report of a community, or its outline."""
        if community.id not in self._reports:
            self.settle(outline_report(self.material(community)))
        return self._reports[community.id]

    def settle(self, report: CommunityReport) -> None:
        """Take an extractive report for right."""
        self._reports[report.community_id] = report


def children_among(communities: Iterable[Community]) -> Children:
    """Return a function to the children of a community, where all communities are at hand."""
    children: Mapping[str, Sequence[Community]] = group_by_parent(communities)
    return lambda community: children.get(community.id, ())


def children_in(held: CommunityStore) -> Children:
    """Return a function to the children of a community that reads no more than its branch."""
    found: dict[str, Sequence[Community]] = {}

    def children(community: Community) -> Sequence[Community]:
        if community.id not in found:
            branches = held.of_entities(community.entity_ids).values()
            branch = held.communities({key for branch in branches for key in branch})
            direct = [c for c in branch.values() if c.parent_id == community.id]
            found[community.id] = group_by_parent(direct).get(community.id, ())
        return found[community.id]

    return children
