"""One run of indexing: its stages, its models, and what it costs, from settings to report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypedDict

from knotwork.config import Settings
from knotwork.errors import ModelError
from knotwork.indexing.communities.refreshing import CommunityOptions
from knotwork.indexing.composition import compose_stages
from knotwork.indexing.enrichment import Enricher, Enrichment
from knotwork.indexing.estimation import IndexEstimate, estimate_reading
from knotwork.indexing.pipeline import Pipeline
from knotwork.indexing.report import EventKind, IndexEvent, IndexingInterrupted, IndexReport
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
        self._concurrency = settings.llm.concurrency
        self._workers = settings.index.workers
        self._communities = CommunityOptions.of(settings.communities)
        self.models = ModelRun(
            settings.llm,
            store_url=store.url,
            count_tokens=count_tokens,
            model=chat_model,
            budget=options.get("budget", ""),
            retry=self._retry,
        )
        self.tally = Tally(models=self.models)
        self._enricher: Enricher | None = None
        self.stages = compose_stages(
            settings, embedder=embedder, models=self.models, tier=options.get("tier")
        )

    def events(self, selection: Selection) -> Iterator[IndexEvent]:
        """Index what changed, bring up to date what a model makes of it, and yield every step.

        Raises as `Pipeline.run`, and ModelError of the model; what is finished is kept, and told
        before.
        """
        pipeline = Pipeline(self._store, self.stages, workers=self._workers)
        try:
            for event in pipeline.run(
                selection.candidates, covers=selection.covers, retry=self._retry, tally=self.tally
            ):
                if event.report is None:
                    yield event
                else:
                    yield from self._enrich(event, event.report)
        except ModelError:
            yield self._stopped()
            raise

    def _enrich(self, last: IndexEvent, report: IndexReport) -> Iterator[IndexEvent]:
        """Yield the steps of enrichment and, at last, the last event with all that was done."""
        self._enricher = enricher = Enricher(
            self._store,
            self.models,
            self.stages.tier,
            embedding=self.stages.embedding,
            concurrency=self._concurrency,
            retry=self._retry,
            communities=self._communities,
        )
        try:
            for step in enricher.run(text_tokens=self.tally.text_tokens):
                yield replace(
                    last,
                    kind=EventKind.ENRICHING,
                    message=step.name,
                    chunks_known=self.tally.chunks_known,
                    done=step.done,
                    total=step.total,
                    report=None,
                )
        except KeyboardInterrupt:
            self.models.halt.set()
            told = self._with_enrichment(report, enricher.done)
            raise IndexingInterrupted(replace(told, interrupted=True)) from None
        yield replace(last, report=self._with_enrichment(report, enricher.done))

    def _stopped(self) -> IndexEvent:
        """Return what a run tells that a model's error ends."""
        report = self.tally.report(
            self._store, self.stages.embedding, tiers=self.stages.tiers, interrupted=True
        )
        done = self._enricher.done if self._enricher else Enrichment()
        event = self.tally.event(EventKind.STOPPED)
        return replace(event, report=self._with_enrichment(report, done))

    def _with_enrichment(self, report: IndexReport, done: Enrichment) -> IndexReport:
        seconds = {**report.seconds, **done.seconds}
        seconds["total"] = self.tally.elapsed_s
        return replace(
            report,
            usage=self.models.meter.by_stage(),
            money=self.models.meter.money(self.models.prices),
            seconds=seconds,
            enrichment=done,
            notes=tuple(dict.fromkeys((*report.notes, *self.models.notes))),
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
