"""Send the first requests about all chunks that a model is to read in one batch, before a run.

The replies become cached calls, so that the pipeline reads the documents as usual, without a call
for these. Further requests about a chunk, and reports and descriptions, are usual calls.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from knotwork._indexing.changes import compare_with_ledger
from knotwork._indexing.document_reader import jobs_of
from knotwork._indexing.prepare import Preparer, Recipe, SourceFile, Undescribed, Unprepared
from knotwork._indexing.stages import Engine, IndexingStages
from knotwork._inference.call_batches import BatchProgress, CallBatches
from knotwork._inference.call_cache import needs_call
from knotwork._inference.chat import ChatRequest
from knotwork._inference.role_models import ModelRun
from knotwork._stores.base import Ledger
from knotwork._transform.model.model_extractor import ChunkJob, ModelExtractor
from knotwork.errors import ConfigError

BATCH_STEP = "batched requests"
"""The name of the step in events."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The documents of a run that a model may read, and what decides which of them it reads."""

    sources: Sequence[SourceFile]
    ledger: Ledger
    stages: IndexingStages
    engine: Engine
    retry: bool = False
    reread: Container[str] = frozenset()

    def jobs(
        self, extractor: ModelExtractor, *, describe: Callable[[Undescribed], SourceFile]
    ) -> Iterator[ChunkJob]:
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
        recipe: Recipe = self.stages.recipe
        size = sum(source.size for source in wanted)
        preparer = self.engine.open_preparer(recipe, total_bytes=size)
        with closing(preparer):
            for source in wanted:
                preparer.begin(self.stages.as_begun(source))
                while preparer.is_ready():
                    yield from _take_jobs(preparer, extractor, describe)
            while preparer.open:
                yield from _take_jobs(preparer, extractor, describe)


def _take_jobs(
    preparer: Preparer, extractor: ModelExtractor, describe: Callable[[Undescribed], SourceFile]
) -> Iterator[ChunkJob]:
    """Yield the jobs of the oldest document; one with pictures is prepared again first."""
    found = preparer.take()
    if isinstance(found, Undescribed):
        preparer.begin(describe(found))
    elif isinstance(found, Unprepared):
        found.own_error()  # raises what concerns more than this document
    else:
        yield from jobs_of(found, extractor)


def read_in_batches(
    reading: Reading, models: ModelRun, *, wanted: bool | None
) -> Iterator[BatchProgress]:
    """Send what is to be read in batches, wait for the replies, and yield the progress.

    ``wanted`` None waits only for batches of an earlier run that have requests of this run; False
    cancels all of them. Raises ConfigError if the model has no batches, ModelError if the server
    refuses one.
    """
    extractor = reading.stages.model_extractor
    if extractor is None:
        return
    batches = models.batches("extract")
    if batches is None:
        if wanted:
            raise ConfigError(
                f"The model `{extractor.model.name}` has no batches.",
                fix="Use a model of an OpenAI-compatible server, or leave out --batch.",
            )
        return
    open_keys = batches.awaited()
    if wanted is False and open_keys:
        batches.cancel()
    if not wanted and (wanted is False or not open_keys):
        return
    requests = list(_new_requests(reading, extractor))
    if not wanted and open_keys.isdisjoint(map(batches.key, requests)):
        return
    if wanted:
        _submit(batches, extractor, requests, open_keys)
    yield from batches.collect()


def _submit(
    batches: CallBatches,
    extractor: ModelExtractor,
    requests: Sequence[ChatRequest],
    open_keys: set[bytes],
) -> None:
    new = [request for request in requests if batches.key(request) not in open_keys]
    if not new:
        return
    # One usual call shows which parameters the server takes: a batch cannot be corrected.
    extractor.model.complete(new[0])
    batches.submit(new[1:])


def _new_requests(reading: Reading, extractor: ModelExtractor) -> Iterator[ChatRequest]:
    describer = reading.stages.describer

    def describe(found: Undescribed) -> SourceFile:
        assert describer is not None, "only its documents are undescribed"
        describer.begin(found)
        return describer.take()

    for job in reading.jobs(extractor, describe=describe):
        request = extractor.request(job)
        if request is not None and needs_call(extractor.model, request):
            yield request
