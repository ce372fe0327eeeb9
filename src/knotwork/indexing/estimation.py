"""What it will cost to have a model read documents, from a sample of their chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from knotwork.errors import LoadError
from knotwork.indexing.changes import needs_no_reading, with_entries
from knotwork.indexing.preparing import Order, finish, prepare, recipe_of
from knotwork.indexing.reading import DocumentReader
from knotwork.indexing.stages import Candidate, Stages
from knotwork.inference.cached import CachedChatModel
from knotwork.inference.chat import ChatRequest, TokenUsage
from knotwork.inference.estimates import (
    RunEstimate,
    SampledCall,
    count_request,
    estimate_run,
    plan_calls,
)
from knotwork.inference.prices import PriceTable
from knotwork.stores.base import Ledger
from knotwork.text.tokens import count_tokens
from knotwork.transform.model.turns import ChunkJob

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
    stages: Stages,
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
    sources: Sequence[Candidate], ledger: Ledger, stages: Stages, reader: DocumentReader
) -> Iterator[ChunkJob]:
    recipe = recipe_of(stages)
    for source, entry in with_entries(sources, ledger):
        wanted = stages.tiers.wants_model(entry)
        if not wanted or needs_no_reading(source, entry, stages.tiers):
            continue
        try:
            made = prepare(Order(source.uri, source.read, for_model=wanted), recipe)
            prepared = finish(source, made, stages, wanted=wanted)
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
