"""Keeping reports up to date: bottom-up, and only where what they are written from changed."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

from knotwork.indexing.communities.extractive import write_extractive_report
from knotwork.indexing.communities.material import group_by_parent, read_material
from knotwork.indexing.communities.refreshing import community_store, stored_communities
from knotwork.records import Community, CommunityReport
from knotwork.stores.base import Store


@dataclass(frozen=True, slots=True)
class ReportChanges:
    """What a refresh did: reports written, and reports that were still right."""

    written: int
    kept: int
    seconds: float


def refresh_reports(store: Store, *, community_ids: Collection[str] | None = None) -> ReportChanges:
    """Write the extractive reports that are missing or outdated, in one transaction.

    All of them, or those of ``community_ids`` and of the communities below these, which they are
    made from. A report with the content key of its community's material is kept, whoever wrote it.
    Reports are searched by ``texts("report")``, under the ids of their communities. Raises
    StoreError when the store cannot hold communities.
    """
    begun = time.monotonic()
    held = community_store(store)
    with store.transaction():
        communities = stored_communities(held)
        children = group_by_parent(communities)
        if community_ids is not None:
            communities = _with_descendants(communities, set(community_ids))
        reports = held.reports([community.id for community in communities])
        written: list[CommunityReport] = []
        for community in sorted(communities, key=lambda c: (-c.level, c.id)):
            below = [reports[child.id] for child in children.get(community.id, ())]
            below.sort(key=lambda report: (-report.rating, report.content_key))
            material = read_material(store, community, below)
            known = reports.get(community.id)
            if known is None or known.content_key != material.content_key:
                reports[community.id] = write_extractive_report(material)
                written.append(reports[community.id])
        held.put_reports(written)
        store.texts("report").add((report.community_id, report.text) for report in written)
    return ReportChanges(len(written), len(communities) - len(written), time.monotonic() - begun)


def _with_descendants(communities: list[Community], wanted: set[str]) -> list[Community]:
    """Return those wanted and all below them; ``communities`` come parents first."""
    found: list[Community] = []
    for community in communities:
        if community.id in wanted or community.parent_id in wanted:
            wanted.add(community.id)
            found.append(community)
    return found
