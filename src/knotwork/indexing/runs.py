"""Run indexing from settings to report, or estimate its cost before.

`IndexingRun` opens the models, runs the pipeline, then the enrichment. `estimate_reading` samples a
few chunks to price what a model would read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from knotwork.config import Settings
from knotwork.errors import LoadError, ModelError
from knotwork.indexing.changes import needs_no_reading, with_entries
from knotwork.indexing.communities.detection import CommunityOptions
from knotwork.indexing.document_reader import DocumentReader
from knotwork.indexing.enrichment import Enricher, Enrichment
from knotwork.indexing.pipeline import Pipeline, Tally
from knotwork.indexing.preparation import PreparationOrder, finish_document, prepare, recipe_of
from knotwork.indexing.prepared import Candidate
from knotwork.indexing.report import EventKind, IndexEvent, IndexingInterrupted, IndexReport
from knotwork.indexing.sources import SourceSelection
from knotwork.indexing.stages import IndexingStages, compose_stages
from knotwork.inference.call_cache import CachedChatModel
from knotwork.inference.call_costs import (
    PriceTable,
    RunEstimate,
    SampledCall,
    count_request,
    estimate_run,
    plan_calls,
)
from knotwork.inference.chat import ChatModel, ChatRequest, TokenUsage
from knotwork.inference.embedder import Embedder
from knotwork.inference.role_models import ModelRun
from knotwork.stores.base import Ledger, Store
from knotwork.text.token_counts import count_tokens
from knotwork.transform.model.model_extractor import ChunkJob


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

    def events(self, selection: SourceSelection) -> Iterator[IndexEvent]:
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

    def estimate(self, selection: SourceSelection) -> IndexEstimate:
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


SAMPLED_CHUNKS = 12
"""Chunks whose replies say what others will cost: first such as are kept, which cost nothing."""

_Pair = tuple[ChunkJob, ChatRequest]


@dataclass(frozen=True, slots=True)
class IndexEstimate:
    """What a run will have a model read, and at what cost.

    ``documents`` are to be read, with ``chunks`` of ``text_tokens``; ``kept`` of the chunks were
    asked before and cost nothing, ``sampled`` were asked for this estimate and cost ``spent``.
    ``run`` is the cost of what is left.
    """

    documents: int
    chunks: int
    text_tokens: int
    kept: int
    sampled: int
    spent: TokenUsage
    run: RunEstimate


def estimate_reading(
    sources: Sequence[Candidate],
    *,
    ledger: Ledger,
    stages: IndexingStages,
    prices: PriceTable,
    sampled_chunks: int = SAMPLED_CHUNKS,
) -> IndexEstimate:
    """Return what a run over ``sources`` will cost; a few chunks are asked to find out, unless kept
    replies tell.

    Sources that cannot be read are left out. Raises ModelError when the model fails.
    """
    reader = stages.reader
    if reader is None:
        return IndexEstimate(0, 0, 0, 0, 0, TokenUsage(), estimate_run([], [], prices=prices))
    jobs = list(_jobs(sources, ledger, stages, reader))
    asked = [(job, request) for job in jobs if (request := reader.request(job))]
    known: list[_Pair] = []
    new: list[_Pair] = []
    for pair in asked:
        (known if _is_kept(reader.model, pair[1]) else new).append(pair)
    free = _spread(known, sampled_chunks)
    bought = _spread(new, sampled_chunks - len(free))
    before = reader.spent()
    calls = [_ask(reader, job, request) for job, request in (*free, *bought)]
    spent = reader.spent().since(before)
    left = [request for job, request in new if not any(job is other for other, _ in bought)]
    planned = plan_calls(reader.model.name, left, count_tokens=count_tokens)
    return IndexEstimate(
        documents=len({job.document.uri for job in jobs}),
        chunks=len(jobs),
        text_tokens=sum(count_tokens(job.chunk.text) for job in jobs),
        kept=len(known),
        sampled=len(bought),
        spent=spent,
        run=estimate_run(calls, planned, prices=prices),
    )


def _spread(pairs: Sequence[_Pair], most: int) -> list[_Pair]:
    """Return at most so many of them, from all over."""
    return list(pairs[:: max(1, len(pairs) // max(most, 1))][: max(most, 0)])


def _jobs(
    sources: Sequence[Candidate], ledger: Ledger, stages: IndexingStages, reader: DocumentReader
) -> Iterator[ChunkJob]:
    recipe = recipe_of(stages)
    for source, entry in with_entries(sources, ledger):
        wanted = stages.tiers.wants_model(entry)
        if not wanted or needs_no_reading(source, entry, stages.tiers):
            continue
        try:
            made = prepare(PreparationOrder(source.uri, source.read, for_model=wanted), recipe)
            prepared = finish_document(source, made, stages, wanted=wanted)
        except LoadError:
            continue
        yield from reader.jobs(prepared)


def _is_kept(model: object, request: ChatRequest) -> bool:
    return isinstance(model, CachedChatModel) and model.is_kept(request)


def _ask(reader: DocumentReader, job: ChunkJob, request: ChatRequest) -> SampledCall:
    """Have one chunk read, with all its turns, and return what that cost."""
    usage = reader.cost(job)
    counted = count_request(request, count_tokens)
    return SampledCall(
        request.stage, reader.model.name, counted, usage.input_tokens, usage.output_tokens
    )
