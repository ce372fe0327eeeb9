"""Send the first requests about all chunks that a model is to read in one batch, before a run.

The replies become cached calls, so that the pipeline reads the documents as usual, without a call
for these. Further requests about a chunk, and reports and descriptions, are usual calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from knotwork._cancellation import sleep
from knotwork._extensions.served_models.batches import BatchProgress, CallBatches
from knotwork._extensions.served_models.chat import OpenAIChat
from knotwork._indexing.prepare import SourceFile, Undescribed
from knotwork._inference.call_cache import needs_call
from knotwork._inference.chat import ChatRequest
from knotwork._inference.role_models import ModelRun
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork._extensions.model_indexing.model_extractor import ModelExtractor
    from knotwork._extensions.model_indexing.reading import Reading


def read_in_batches(
    reading: Reading, models: ModelRun, *, wanted: bool | None
) -> Iterator[BatchProgress]:
    """Send what is to be read in batches, wait for the replies, and yield the progress.

    ``wanted`` None waits only for batches of an earlier run that have requests of this run; False
    cancels all of them. Raises ConfigError if the model has no batches, ModelError if the server
    refuses one.
    """
    extractor = reading.stages.model_extractor
    assert extractor is not None, "only a run that has a model read asks for batches"
    batches = open_batches(models)
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


def open_batches(models: ModelRun) -> CallBatches | None:
    """Return the batches of the model that reads chunks; None if it has none."""
    model = models.client("extract")
    if not isinstance(model, OpenAIChat) or not model.server.takes_batches:
        return None
    batches = CallBatches(
        model,
        models.cache(),
        meter=models.meter,
        budget=models.budget,
        retries=models.retries,
        sleep=sleep,
    )
    models.further_notes = batches.notes
    return batches


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

    for job in reading.jobs(describe=describe):
        request = extractor.request(job)
        if request is not None and needs_call(extractor.model, request):
            yield request
