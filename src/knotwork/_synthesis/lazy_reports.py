"""Write missing community reports when a question first needs them, within its token budget."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from knotwork._indexing.communities.index_reports import write_reports
from knotwork._indexing.communities.report_writer import ReportWriter
from knotwork._indexing.embedding import Embedding
from knotwork._inference.call_cache import CachedChatModel
from knotwork._retrieval.community_search import StoredReports
from knotwork._stores.base import Store
from knotwork.errors import IndexDamaged, ModelError, StoreError
from knotwork.records import CommunityReport

REPORT_TOKENS = 850
"""The maximum cost of one report in tokens, its share of the instructions included."""

_LEAST_TOKENS = 1_000
"""The maximum cost of a report that is written alone."""

_log = logging.getLogger("knotwork.synthesis")


class LazyReports:
    """A `ReportSource` whose missing reports a model writes when they are asked for.

    A report that is up to date is never written again. If the model fails, its reports stay
    missing, and ``notes`` has the reason.
    """

    def __init__(
        self,
        store: Store,
        model: CachedChatModel,
        *,
        embedding: Embedding | None = None,
        concurrency: int = 4,
    ) -> None:
        self._store = store
        self._model = model
        self._embedding = embedding
        self._writer = ReportWriter(model, concurrency=concurrency)
        self.notes: tuple[str, ...] = ()

    def reports(
        self, community_ids: Sequence[str], *, spend_tokens: int = 0
    ) -> dict[str, CommunityReport]:
        """Return the reports of communities, by id, after writing missing ones in this order.

        New reports cost at most ``spend_tokens`` tokens.
        """
        waiting, left = list(dict.fromkeys(community_ids)), spend_tokens
        while waiting and left >= _LEAST_TOKENS:
            size = max(left // REPORT_TOKENS, 1)
            batch, waiting = waiting[:size], waiting[size:]
            before = self._spent()
            try:
                write_reports(self._store, batch, self._writer, embedding=self._embedding)
            except IndexDamaged:
                raise
            except (ModelError, StoreError) as error:
                _log.info("no reports from %s: %s", self._model.name, error)
                self.notes = (f"Some reports were not written: {error}",)
                break
            left -= self._spent() - before
        return StoredReports(self._store).reports(community_ids)

    def _spent(self) -> int:
        total = self._model.meter.total()
        return total.input_tokens + total.output_tokens
