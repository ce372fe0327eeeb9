"""Communities of an index, and reports of them that need no model."""

from knotwork.indexing.communities.refreshing import (
    CommunityChanges,
    CommunityOptions,
    refresh_communities,
)
from knotwork.indexing.communities.reporting import ReportChanges, refresh_reports

__all__ = [
    "CommunityChanges",
    "CommunityOptions",
    "ReportChanges",
    "refresh_communities",
    "refresh_reports",
]
