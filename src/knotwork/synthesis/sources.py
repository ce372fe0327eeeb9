"""The sources of answers in one index: search, reports, embedder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from knotwork.config import Settings
from knotwork.inference.base import Embedder
from knotwork.inference.reading import Reader
from knotwork.records import Evidence
from knotwork.retrieval.reports import ReportSource, StoredReports
from knotwork.stores.base import Store
from knotwork.synthesis.inquiry import Sources

if TYPE_CHECKING:
    from knotwork.inference.cached import CachedChatModel


def index_sources(
    store: Store,
    *,
    part: Store | None = None,
    search: Callable[[str], Evidence],
    embedder: Callable[[], Embedder | None],
    reader: Callable[[], Reader | None] = lambda: None,
    settings: Settings,
) -> Sources:
    """Return the sources of answers from an index; nothing is read or written yet.

    ``part`` is what a filter leaves of it. The reports of a part are those that are there: a model
    writes none, as a community is of the whole index.
    """

    def write_reports(model: CachedChatModel | None) -> ReportSource:
        # What finds and writes communities is imported only when a question is about the whole.
        from knotwork.indexing.communities import CommunityOptions
        from knotwork.synthesis.lazy_reports import open_reports

        def open_with(asked: CachedChatModel | None) -> ReportSource:
            return open_reports(
                store,
                asked,
                embedder=embedder,
                options=CommunityOptions.of(settings.communities),
                concurrency=settings.llm.concurrency,
            )

        if part is None:
            return open_with(model)
        return StoredReports(part, notes=open_with(None).notes)

    read = store if part is None else part
    return Sources(read, search, lambda: StoredReports(read), write_reports, embedder, reader)
