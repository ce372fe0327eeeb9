"""Enrich an index with a model: merge names, write descriptions, communities and reports.

In the lean tier the model decides doubtful names only, and reports wait for a question; in the full
tier it also writes long descriptions and all community reports. Each step processes only what
changed since it last ran, and what it has finished is kept whatever happens.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from knotwork._indexing.changes import Tier
from knotwork._indexing.communities.detection import CommunityOptions
from knotwork._indexing.communities.index_reports import ReportChanges, is_current, update_in_steps
from knotwork._indexing.communities.written_reports import TASK as REPORT_TASK
from knotwork._indexing.communities.written_reports import ReportWriter
from knotwork._indexing.description_vectors import embed_descriptions
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.entity_descriptions import (
    Describer,
    DescriptionChanges,
    DescriptionWriter,
    describe_in_steps,
)
from knotwork._indexing.report import Enrichment
from knotwork._indexing.resolution.judge import FULL_SHARE, LEAN_SHARE, Judge
from knotwork._indexing.resolution.resolver import ResolutionChanges, must_see_all, resolve_in_steps
from knotwork._indexing.steps import Steps
from knotwork._inference.call_cache import CachedChatModel
from knotwork._inference.role_models import ModelRun
from knotwork._stores.base import Store, was_read_by_model
from knotwork._stores.resolutions import read_groups
from knotwork._text.token_counts import count_tokens

LEAST_JUDGE_TOKENS = 600
"""Tokens for doubtful names after a small change: enough for one call."""

REPORT_PROMPTS_META = "report_prompts"
"""The version of the user's own prompts that the reports of an index were written with."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EnrichmentStep:
    """Progress of a step: ``done`` of ``total`` items, 0 of 0 at its start."""

    name: str
    done: int = 0
    total: int = 0


class Enricher:
    """Updates what a model adds to an index; ``done`` collects the results of the steps."""

    def __init__(
        self,
        store: Store,
        models: ModelRun,
        tier: Tier,
        *,
        embedding: Embedding,
        concurrency: int,
        retry: bool = False,
        communities: CommunityOptions | None = None,
        done: Enrichment,
    ) -> None:
        self._store = store
        self._communities = communities
        self._models = models
        self._tier = tier
        self._embedding = embedding
        self._concurrency = concurrency
        self._retry = retry
        self.done = done

    def run(self, *, text_tokens: int) -> Iterator[EnrichmentStep]:
        """Do each step that is due and yield its progress; ``text_tokens`` were indexed just now.

        Needs a model that summarizes. Raises ModelError, such as BudgetExceeded; what is finished
        is stored.
        """
        model = self._models.open("summarize")
        assert model is not None, "a model is set"
        store = self._store
        all_names = must_see_all(store, with_judge=True)
        parts = store.capabilities
        if (
            parts.resolutions is not None
            and parts.homonyms is not None
            and (all_names or parts.resolutions.touched())
        ):
            tokens = _count_text(store) if all_names else text_tokens
            self.done.names = yield from self._timed("names", self._resolve(model, tokens))
        if was_read_by_model(store):
            groups = read_groups(store)
            describer = Describer(store, groups=groups)
            described = self._timed("descriptions", self._describe(model, groups, describer))
            self.done.descriptions = yield from described
            if self._embedding:
                vectors = embed_descriptions(store, self._embedding, describer=describer)
                yield from self._timed("vectors of descriptions", vectors)
        # Reports by other prompts of the user's own are written again.
        version = self._models.prompts.version_of({REPORT_TASK})
        rewrites = store.meta().get(REPORT_PROMPTS_META, "") != version
        is_due = self._retry or rewrites or not is_current(store, written=True)
        if self._tier is Tier.FULL and is_due:
            steps = self._report(model, rewrites=rewrites)
            self.done.reports = yield from self._timed("reports", steps)
            if rewrites and not self.done.reports.unanswered:
                store.set_meta({REPORT_PROMPTS_META: version})

    def _timed(self, name: str, steps: Steps[T]) -> Generator[EnrichmentStep, None, T]:
        """Do all of ``steps``, yield the progress, note the time, and return the result."""
        start = time.perf_counter()
        yield EnrichmentStep(name)
        try:
            while True:
                try:
                    done, total = next(steps)
                except StopIteration as end:
                    result: T = end.value
                    return result
                yield EnrichmentStep(name, done, total)
        finally:
            steps.close()
            self.done.seconds[name] = time.perf_counter() - start

    def _resolve(self, model: CachedChatModel, text_tokens: int) -> Steps[ResolutionChanges]:
        share = FULL_SHARE if self._tier is Tier.FULL else LEAN_SHARE
        ceiling = max(LEAST_JUDGE_TOKENS, int(share * text_tokens))
        judge = Judge(model, ceiling_tokens=ceiling, concurrency=self._concurrency)
        return resolve_in_steps(self._store, judge=judge)

    def _describe(
        self, model: CachedChatModel, groups: Mapping[str, str], describer: Describer
    ) -> Steps[DescriptionChanges]:
        writer = DescriptionWriter(model, concurrency=self._concurrency, retry=self._retry)
        return describe_in_steps(self._store, writer=writer, groups=groups, describer=describer)

    def _report(self, model: CachedChatModel, *, rewrites: bool) -> Steps[ReportChanges]:
        writer = ReportWriter(
            model,
            concurrency=self._concurrency,
            retry=self._retry,
            rewrites=rewrites,
        )
        embedding = self._embedding or None
        return update_in_steps(
            self._store, options=self._communities, writer=writer, embedding=embedding
        )


def _count_text(store: Store) -> int:
    """Return the number of tokens in all documents, which are read one by one."""
    total = 0
    for document_id in store.documents.document_ids():
        for document in store.documents.documents([document_id]).values():
            total += count_tokens(document.text)
    return total
