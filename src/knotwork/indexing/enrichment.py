"""Enrich an index with a model: merge names, write descriptions, communities and reports.

In the lean tier the model decides doubtful names only, and reports wait for a question; in the full
tier it also writes long descriptions and all community reports. Each step processes only what
changed since it last ran, and what it has finished is kept whatever happens.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from knotwork.indexing.changes import Tier
from knotwork.indexing.communities import ReportChanges
from knotwork.indexing.communities.detection import CommunityOptions
from knotwork.indexing.communities.index_reports import is_current, update_in_steps
from knotwork.indexing.communities.report_writer import ReportWriter
from knotwork.indexing.description_writer import DescriptionWriter
from knotwork.indexing.embedding import Embedding
from knotwork.indexing.entity_descriptions import DescriptionChanges, describe_in_steps
from knotwork.indexing.resolution.judge import FULL_SHARE, LEAN_SHARE, Judge
from knotwork.indexing.resolution.resolver import ResolutionChanges, must_see_all, resolve_in_steps
from knotwork.indexing.steps import Steps
from knotwork.inference.call_cache import CachedChatModel
from knotwork.inference.role_models import ModelRun
from knotwork.stores.base import Store
from knotwork.stores.extensions import was_read_by_model
from knotwork.stores.resolutions import StoresResolutions, read_groups
from knotwork.text.token_counts import count_tokens

LEAST_JUDGE_TOKENS = 600
"""What doubtful names may cost after a small change: one call."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EnrichmentStep:
    """How far a step is: its name, and how many of how many things are done, 0 of 0 at first."""

    name: str
    done: int = 0
    total: int = 0


@dataclass(slots=True)
class Enrichment:
    """What was done, and how long each step took; None for a step that was not due."""

    names: ResolutionChanges | None = None
    descriptions: DescriptionChanges | None = None
    reports: ReportChanges | None = None
    seconds: dict[str, float] = field(default_factory=dict)


class Enricher:
    """Brings what a model makes of an index up to date."""

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
    ) -> None:
        self._store = store
        self._communities = communities
        self._models = models
        self._tier = tier
        self._embedding = embedding
        self._concurrency = concurrency
        self._retry = retry
        self.done = Enrichment()

    def run(self, *, text_tokens: int) -> Iterator[EnrichmentStep]:
        """Do each step that is due, and yield how far it is; ``text_tokens`` are new.

        Raises ModelError, and BudgetExceeded at the ceiling; what is finished is kept.
        """
        if self._tier is Tier.NONE or not self._models.has("summarize"):
            return
        model = self._models.open("summarize")
        assert model is not None, "a model is set"
        all_names = must_see_all(self._store, with_judge=True)
        if all_names or _has_touched_names(self._store):
            tokens = _count_text(self._store) if all_names else text_tokens
            self.done.names = yield from self._told("names", self._resolve(model, tokens))
        if was_read_by_model(self._store):
            steps = self._describe(model)
            self.done.descriptions = yield from self._told("descriptions", steps)
        if self._tier is Tier.FULL and (self._retry or not is_current(self._store, written=True)):
            self.done.reports = yield from self._told("reports", self._report(model))

    def _told(self, name: str, steps: Steps[T]) -> Generator[EnrichmentStep, None, T]:
        """Do a step, yield how far it is, take its time, and return what came of it."""
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

    def _describe(self, model: CachedChatModel) -> Steps[DescriptionChanges]:
        writer = DescriptionWriter(
            model, concurrency=self._concurrency, retry=self._retry, halt=self._models.halt
        )
        return describe_in_steps(self._store, writer=writer, groups=read_groups(self._store))

    def _report(self, model: CachedChatModel) -> Steps[ReportChanges]:
        writer = ReportWriter(
            model, concurrency=self._concurrency, retry=self._retry, halt=self._models.halt
        )
        embedding = self._embedding or None
        return update_in_steps(
            self._store, options=self._communities, writer=writer, embedding=embedding
        )


def _has_touched_names(store: Store) -> bool:
    return isinstance(store, StoresResolutions) and bool(store.resolutions.touched())


def _count_text(store: Store) -> int:
    """Return the tokens of all documents, read one by one."""
    total = 0
    for document_id in store.documents.document_ids():
        for document in store.documents.documents([document_id]).values():
            total += count_tokens(document.text)
    return total
