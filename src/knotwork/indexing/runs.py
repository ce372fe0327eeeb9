"""One run of indexing: its stages, its models, and what it costs, from settings to report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from knotwork.config import Settings
from knotwork.indexing.composition import compose_stages
from knotwork.indexing.estimation import IndexEstimate, estimate_reading
from knotwork.indexing.pipeline import Pipeline
from knotwork.indexing.report import IndexEvent
from knotwork.indexing.sources import Selection
from knotwork.indexing.tally import Tally
from knotwork.inference.base import Embedder
from knotwork.inference.chat import ChatModel
from knotwork.inference.model_run import ModelRun
from knotwork.stores.base import Store
from knotwork.text.tokens import count_tokens


class IndexOptions(TypedDict, total=False):
    """What a run is told beside its sources.

    ``retry`` reads again what could not be read last time, and asks again where no reply of a
    language model could be used. ``tier`` ("none", "lean" or "full") is that of all documents of
    this run; by default new ones have that of the settings, and those that a model read once stay
    so. ``budget`` is a ceiling of tokens or money, as `parse_ceiling` reads it.
    """

    retry: bool
    tier: str | None
    budget: str


class IndexingRun:
    """Brings an index up to date once; close it afterwards."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        options: IndexOptions,
        *,
        embedder: Embedder | None,
        chat_model: ChatModel | None = None,
    ) -> None:
        self._store = store
        self._retry = options.get("retry", False)
        self.models = ModelRun(
            settings.llm,
            store_url=store.url,
            count_tokens=count_tokens,
            model=chat_model,
            budget=options.get("budget", ""),
            retry=self._retry,
        )
        self.tally = Tally(models=self.models)
        self.stages = compose_stages(
            settings, embedder=embedder, models=self.models, tier=options.get("tier")
        )

    def events(self, selection: Selection) -> Iterator[IndexEvent]:
        """Index what changed and yield every step; raises as `Pipeline.run`."""
        pipeline = Pipeline(self._store, self.stages)
        yield from pipeline.run(
            selection.candidates, covers=selection.covers, retry=self._retry, tally=self.tally
        )

    def estimate(self, selection: Selection) -> IndexEstimate:
        """Return what `events` would have a model read, and at what cost; ask a few chunks."""
        return estimate_reading(
            selection.candidates,
            ledger=self._store.ledger,
            stages=self.stages,
            prices=self.models.prices,
        )

    def close(self) -> None:
        """Close the file of calls to language models."""
        self.models.close()
