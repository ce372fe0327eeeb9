"""Run indexing from settings to report, or estimate its cost before.

`IndexingRun` opens the models, runs the pipeline, then the enrichment. `estimate_reading` samples a
few chunks to price what a model would read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from knotwork._config import Settings
from knotwork._indexing.changes import Tier
from knotwork._indexing.document_reader import Reading
from knotwork._indexing.embedding import check_embedder, check_not_switching
from knotwork._indexing.engines.engine import open_engine
from knotwork._indexing.pipeline import Pipeline
from knotwork._indexing.prepared import Candidate, Undescribed
from knotwork._indexing.report import (
    Enrichment,
    IndexingInterrupted,
    IndexReport,
)
from knotwork._indexing.rereading import documents_read_in_part
from knotwork._indexing.sources import SourceSelection
from knotwork._indexing.splitters import Splitter
from knotwork._indexing.stages import compose_stages
from knotwork._indexing.tally import Tally
from knotwork._inference.call_cache import CachedChatModel
from knotwork._inference.call_costs import (
    BATCH,
    PriceTable,
    RunEstimate,
    SampledCall,
    count_request,
    estimate_run,
    plan_calls,
)
from knotwork._inference.chat import ChatModel, ChatRequest, TokenUsage
from knotwork._inference.embedder import Embedder
from knotwork._inference.prompt_files import read_prompt_folder
from knotwork._inference.role_models import ModelRun
from knotwork._registry import PARTS
from knotwork._run import Progress, Stage, Steps
from knotwork._stores.base import Store, companions_of
from knotwork._text.token_counts import count_tokens
from knotwork._transform.extractor import Extractor
from knotwork._transform.model.model_extractor import ChunkJob, ModelExtractor
from knotwork.errors import ModelError, ModelUnavailable
from knotwork.records import ReadingStatus

BATCH_STEP = "batched requests"
"""The name of the step in events."""


class IndexOptions(TypedDict, total=False):
    """Options of an indexing run.

    ``retry`` reads again what could not be read last time, and asks again if no reply of a language
    model could be used. ``tier`` ("none", "lean" or "full") applies to all documents of this run;
    by default, new ones have that of the settings, and those that a model read once stay so.
    ``budget`` limits tokens or money, in the syntax of `parse_ceiling`. ``batch`` sends what a
    model reads in batches, at half the price and within a day; None is ``llm.batch``, and waits for
    batches of an earlier run. False cancels those.
    """

    retry: bool
    tier: str | None
    budget: str
    batch: bool | None


class IndexingRun:
    """One run that brings an index up to date; close it afterwards."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        options: IndexOptions,
        *,
        embedder: Embedder | None,
        chat_model: ChatModel | None = None,
        splitter: Splitter | None = None,
        extractor: Extractor | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._retry = options.get("retry", False)
        self._batch = options.get("batch")
        if self._batch is None and settings.llm.batch:
            self._batch = True
        self.engine = open_engine(settings)
        self.models = ModelRun(
            settings.llm,
            companions=companions_of(store),
            count_tokens=count_tokens,
            model=chat_model,
            budget=options.get("budget", ""),
            retry=self._retry,
            prompts=read_prompt_folder(settings.prompts.dir),
        )
        self.tally = Tally(models=self.models)
        self.stages = compose_stages(
            settings,
            embedder=self.engine.open_embedder(embedder) if embedder is not None else None,
            models=self.models,
            tier=options.get("tier"),
            indexed=store.ledger.settings_counts(),
            splitter=splitter,
            extractor=extractor,
        )

    def steps(self, selection: SourceSelection) -> Steps[IndexReport]:
        """Index what changed, enrich the index with a model, and return the report.

        Raises as `Pipeline.update`, and ModelError of the model. What is finished is stored, and
        the last step before a ModelError is ``STOPPED``, with the report.
        """
        done = Enrichment()
        try:
            yield from self._read_in_batches(selection)
            pipeline = Pipeline(self._store, self.stages, engine=self.engine, tally=self.tally)
            report = yield from pipeline.update.run(
                selection.candidates, covers=selection.covers, retry=self._retry
            )
            report = yield from self._enrich(report, done)
        except ModelError:
            report = self.tally.report(self._store, self.stages, interrupted=True)
            stopped = self.tally.progress(Stage.STOPPED)
            yield replace(stopped, value=self._with_enrichment(report, done))
            raise
        last = self.tally.progress(Stage.FINISHED)
        counts = replace(last.counts, chunks_known=0, chunks_expected=0)
        yield replace(last, value=report, counts=counts)
        return report

    def _enrich(self, report: IndexReport, done: Enrichment) -> Steps[IndexReport]:
        """Have a model enrich the index, and return the report of all that was done."""
        if self.stages.tier is Tier.NONE or not self.models.has("summarize"):
            return replace(report, enrichment=done)
        # What an index without a model does without: communities and their matrices.
        from knotwork._indexing.enrichment import enrich

        steps = enrich(
            self._store,
            self.models,
            self.stages.tier,
            settings=self._settings,
            embedding=self.stages.embedding,
            text_tokens=self.tally.text_tokens,
            retry=self._retry,
            done=done,
        )
        try:
            counts = replace(self.tally.progress(Stage.ENRICHING).counts, chunks_expected=0)
            for step in steps:
                yield replace(step, counts=counts)
        except KeyboardInterrupt:
            report = self._with_enrichment(report, done)
            raise IndexingInterrupted(replace(report, interrupted=True)) from None
        return self._with_enrichment(report, done)

    def _with_enrichment(self, report: IndexReport, done: Enrichment) -> IndexReport:
        return replace(
            report,
            usage=self.models.meter.by_stage(),
            money=self.models.meter.money(self.models.prices),
            seconds={**report.seconds, **done.seconds, "total": self.tally.elapsed_s},
            enrichment=done,
            notes=tuple(dict.fromkeys((*report.notes, *self.models.notes))),
        )

    def estimate(self, selection: SourceSelection) -> IndexEstimate:
        """Return what a model would read in `steps` and what that would cost.

        Samples a few chunks; raises as `estimate_reading`.
        """
        return estimate_reading(
            self._reading(selection), prices=self.models.prices, in_batches=bool(self._batch)
        )

    def _reading(self, selection: SourceSelection) -> Reading:
        return Reading(
            selection.candidates,
            self._store.ledger,
            self.stages,
            self.engine,
            retry=self._retry,
            reread=documents_read_in_part(self._store, has_model=True)
            if self._retry
            else frozenset(),
        )

    def _read_in_batches(self, selection: SourceSelection) -> Iterator[Progress]:
        """Yield the progress of batches, whose replies the run then finds in the cache."""
        check_not_switching(self._store)
        check_embedder(self._store, self.stages.embedding.name)
        try:
            if self.stages.model_extractor is None:
                return
            read_in_batches = PARTS.load("read_in_batches")
            steps = read_in_batches(self._reading(selection), self.models, wanted=self._batch)
            for step in steps:
                shown = self.tally.progress(Stage.ENRICHING, note=BATCH_STEP)
                yield replace(shown, done=step.done, total=step.total)
        except KeyboardInterrupt:
            report = self.tally.report(self._store, self.stages, interrupted=True)
            raise IndexingInterrupted(report) from None

    def close(self) -> None:
        """Close the engine, and the cache of calls to language models."""
        self.engine.close()
        self.models.close()


SAMPLED_CHUNKS = 12
"""Chunks whose replies predict the cost of others; those with cached replies come first."""

_Pair = tuple[ChunkJob, ChatRequest]


@dataclass(frozen=True, slots=True)
class IndexEstimate:
    """What a model would read in a run, and at what cost.

    It would read ``documents`` with ``chunks`` of ``text_tokens``. The replies for ``kept`` chunks
    are cached and cost nothing; ``sampled`` chunks were sent for this estimate and cost ``spent``.
    The replies about ``readable`` of them could be used. ``pictures`` would be described, and the
    model would read that as well, which is not counted. ``run`` is the cost of the rest. ``notes``
    are for the user, about settings without effect.
    """

    documents: int
    chunks: int
    text_tokens: int
    kept: int
    sampled: int
    spent: TokenUsage
    run: RunEstimate
    readable: int = 0
    pictures: int = 0
    notes: tuple[str, ...] = ()


def estimate_reading(
    reading: Reading, *, prices: PriceTable, in_batches: bool = False
) -> IndexEstimate:
    """Return what a run would cost, from cached replies and a few new ones.

    ``in_batches`` estimates the price of batches. Leaves out sources that cannot be read. Raises
    ModelError if the model fails.
    """
    extractor = reading.stages.model_extractor
    if extractor is None:
        nothing = estimate_run([], [], prices=prices)
        return IndexEstimate(0, 0, 0, 0, 0, TokenUsage(), nothing, notes=reading.stages.notes)
    model = extractor.model
    name = f"{model.name}{BATCH}" if in_batches else model.name
    describer = reading.stages.describer
    pictures: list[ChatRequest] = []

    def leave_undescribed(found: Undescribed) -> Candidate:
        assert describer is not None, "only its documents are undescribed"
        source, requests = describer.plan(found)
        pictures.extend(requests)
        return source

    jobs = list(reading.jobs(describe=leave_undescribed))
    cached: list[_Pair] = []
    new: list[_Pair] = []
    for job in jobs:
        if request := extractor.request(job):
            is_cached = isinstance(model, CachedChatModel) and model.is_kept(request)
            (cached if is_cached else new).append((job, request))
    free = _spread(cached, SAMPLED_CHUNKS)
    bought = _spread(new, SAMPLED_CHUNKS - len(free))
    before = _spent(model)
    samples = [_sample(extractor, job, request) for job, request in (*free, *bought)]
    calls = [replace(call, model=name) for call, _ in samples]
    spent = _spent(model).since(before)
    left = [request for job, request in new if not any(job is other for other, _ in bought)]
    planned = plan_calls(name, left, count_tokens=count_tokens)
    if describer is not None:
        planned += plan_calls(describer.model.name, pictures, count_tokens=count_tokens)
    return IndexEstimate(
        documents=len({job.document.uri for job in jobs}),
        chunks=len(jobs),
        text_tokens=sum(count_tokens(job.chunk.text) for job in jobs),
        kept=len(cached),
        sampled=len(bought),
        spent=spent,
        run=estimate_run(calls, planned, prices=prices),
        readable=sum(is_readable for _, is_readable in samples[len(free) :]),
        pictures=len(pictures),
        notes=reading.stages.notes,
    )


def _spread(pairs: Sequence[_Pair], most: int) -> list[_Pair]:
    """Return at most ``most`` pairs, at even distances."""
    return list(pairs[:: max(1, len(pairs) // max(most, 1))][: max(most, 0)])


def _sample(
    extractor: ModelExtractor, job: ChunkJob, request: ChatRequest
) -> tuple[SampledCall, bool]:
    """Have the model read one chunk, with all turns.

    Return the cost, now or when cached, and True if a reply could be used.

    Raises ModelError, such as ModelUnavailable if no server answers.
    """
    model = extractor.model
    before = _spent(model, with_saved=True)
    outcome = extractor.extract_chunk(job)
    if outcome.unavailable:
        raise ModelUnavailable(outcome.reason, fix="Run again when the server answers.")
    usage = _spent(model, with_saved=True).since(before)
    counted = count_request(request, count_tokens)
    call = SampledCall(request.stage, model.name, counted, usage.input_tokens, usage.output_tokens)
    return call, outcome.status is not ReadingStatus.QUARANTINED


def _spent(model: ChatModel, *, with_saved: bool = False) -> TokenUsage:
    """Return the tokens that this run used, with those that cached replies saved if asked."""
    if not isinstance(model, CachedChatModel):
        return TokenUsage()
    return model.meter.total() + model.meter.saved if with_saved else model.meter.total()
