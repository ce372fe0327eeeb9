"""What one index gives to answers: its search, its reports, its embedder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from knotwork.inference.base import Embedder
from knotwork.records import Evidence
from knotwork.retrieval.reports import ReportSource, StoredReports
from knotwork.stores.base import Store
from knotwork.synthesis.inquiry import Sources

if TYPE_CHECKING:
    from knotwork.inference.cached import CachedChatModel


def index_sources(
    store: Store,
    *,
    search: Callable[[str], Evidence],
    embedder: Callable[[], Embedder | None],
    concurrency: int,
) -> Sources:
    """Return the sources of answers from an index; nothing is read or written yet."""

    def write_reports(model: CachedChatModel | None) -> ReportSource:
        # What finds and writes communities is imported only when a question is about the whole.
        from knotwork.synthesis.lazy_reports import open_reports

        return open_reports(store, model, embedder=embedder, concurrency=concurrency)

    return Sources(search, lambda: StoredReports(store), write_reports, embedder)
