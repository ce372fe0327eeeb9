"""The documents of a run that a model is to read: their chunks, and the cost of reading them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from knotwork._extensions.model_indexing.document_reader import jobs_of
from knotwork._extensions.model_indexing.model_extractor import ChunkJob, ModelExtractor
from knotwork._extensions.model_indexing.run_estimates import (
    IndexEstimate,
    SampledCall,
    estimate_run,
    plan_calls,
)
from knotwork._indexing.changes import compare_with_ledger
from knotwork._indexing.prepare import Preparer, SourceFile, Undescribed, Unprepared
from knotwork._indexing.stages import Engine, IndexingStages
from knotwork._inference.call_cache import CachedChatModel
from knotwork._inference.call_costs import BATCH, count_request
from knotwork._inference.chat import ChatModel, ChatRequest, TokenUsage
from knotwork._inference.role_models import ModelRun
from knotwork._stores.base import Ledger
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ModelUnavailable
from knotwork.records import ReadingStatus

SAMPLED_CHUNKS = 12
"""Chunks whose replies predict the cost of others; those with cached replies come first."""

_Pair = tuple[ChunkJob, ChatRequest]


@dataclass(frozen=True, slots=True)
class Reading:
    """The documents of a run that a model may read, and what decides which of them it reads."""

    sources: Sequence[SourceFile]
    ledger: Ledger
    stages: IndexingStages
    engine: Engine
    retry: bool = False
    reread: Container[str] = frozenset()

    def jobs(self, *, describe: Callable[[Undescribed], SourceFile]) -> Iterator[ChunkJob]:
        """Yield the chunks to read. Leaves out sources that cannot be loaded.

        ``describe`` returns a document with descriptions of its pictures.
        """
        wanted = [
            source
            for source in compare_with_ledger(
                self.sources, self.ledger, self.stages.tiers, retry=self.retry, reread=self.reread
            )
            if source.wants_model and source.needs_reading
        ]
        recipe = self.stages.recipe
        size = sum(source.size for source in wanted)
        preparer = self.engine.open_preparer(recipe, total_bytes=size)
        with closing(preparer):
            for source in wanted:
                preparer.begin(self.stages.as_begun(source))
                while preparer.is_ready():
                    yield from _take_jobs(preparer, describe)
            while preparer.open:
                yield from _take_jobs(preparer, describe)

    def estimate(self, models: ModelRun, *, in_batches: bool) -> IndexEstimate:
        """Return what a model would read and what that would cost: see `IndexingRun.estimate`."""
        stages = self.stages
        extractor, describer = stages.model_extractor, stages.describer
        if extractor is None:
            nothing = estimate_run([], [], prices=models.prices)
            return IndexEstimate(0, 0, 0, 0, 0, TokenUsage(), nothing, notes=stages.notes)
        model = extractor.model
        name = f"{model.name}{BATCH}" if in_batches else model.name
        pictures: list[ChatRequest] = []

        def leave_undescribed(found: Undescribed) -> SourceFile:
            assert describer is not None, "only its documents are undescribed"
            source, requests = describer.plan(found)
            pictures.extend(requests)
            return source

        jobs = list(self.jobs(describe=leave_undescribed))
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
            run=estimate_run(calls, planned, prices=models.prices),
            readable=sum(is_readable for _, is_readable in samples[len(free) :]),
            pictures=len(pictures),
            notes=stages.notes,
        )


def _take_jobs(
    preparer: Preparer, describe: Callable[[Undescribed], SourceFile]
) -> Iterator[ChunkJob]:
    """Yield the jobs of the oldest document; one with pictures is prepared again first."""
    found = preparer.take()
    if isinstance(found, Undescribed):
        preparer.begin(describe(found))
    elif isinstance(found, Unprepared):
        found.own_error()  # raises what concerns more than this document
    else:
        yield from jobs_of(found)


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
