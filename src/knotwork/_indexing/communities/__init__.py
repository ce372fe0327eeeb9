"""Detect communities of entities and write reports about them, with or without a model."""

from knotwork._indexing.communities.briefs import ReportBudgets
from knotwork._indexing.communities.detection import (
    CommunityChanges,
    CommunityOptions,
    refresh_communities,
)
from knotwork._indexing.communities.index_reports import (
    ReportChanges,
    refresh_reports,
    write_reports,
)
from knotwork._indexing.communities.report_writer import ReportWriter

__all__ = [
    "CommunityChanges",
    "CommunityOptions",
    "ReportBudgets",
    "ReportChanges",
    "ReportWriter",
    "refresh_communities",
    "refresh_reports",
    "write_reports",
]
