"""Enrich an index with a model: merge names, write descriptions, communities and reports.

In the lean tier the model decides doubtful names only, and reports wait for a question; in the full
tier it also writes long descriptions and all community reports. Each step processes only what
changed since it last ran, and what it has finished is kept whatever happens.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from knotwork._config import Settings
from knotwork._extensions.model_indexing.description_writer import (
    DescriptionWriter,
    describe_entities,
)
from knotwork._extensions.model_indexing.judge import FULL_SHARE, LEAN_SHARE, Judge
from knotwork._extensions.model_indexing.written_reports import TASK as REPORT_TASK
from knotwork._extensions.model_indexing.written_reports import ReportWriter
from knotwork._indexing.changes import Tier
from knotwork._indexing.communities.detection import CommunityOptions
from knotwork._indexing.communities.index_reports import bring_up_to_date, is_current
from knotwork._indexing.description_vectors import embed_descriptions
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.entity_descriptions import Describer
from knotwork._indexing.report import Enrichment
from knotwork._indexing.resolution.resolver import must_see_all, resolve_entities
from knotwork._inference.model_registry import calls_at_once
from knotwork._inference.role_models import ModelRun
from knotwork._run import Progress, Run, Stage, Steps
from knotwork._stores.base import Store, was_read_by_model
from knotwork._stores.resolutions import read_groups
from knotwork._text.token_counts import count_tokens

LEAST_JUDGE_TOKENS = 600
"""Tokens for doubtful names after a small change: enough for one call."""

REPORT_PROMPTS_META = "report_prompts"
"""The version of the user's own prompts that the reports of an index were written with."""

T = TypeVar("T")


def enrich(
    store: Store,
    models: ModelRun,
    tier: Tier,
    *,
    settings: Settings,
    embedding: Embedding,
    text_tokens: int,
    retry: bool,
    done: Enrichment,
) -> Iterator[Progress]:
    """Do each step that is due, and yield its progress; ``done`` collects the results.

    ``text_tokens`` were indexed just now. Needs a model that summarizes. Raises ModelError, such as
    BudgetExceeded; what is finished is stored.
    """
    model = models.open("summarize")
    assert model is not None, "a model is set"
    concurrency = calls_at_once(settings.llm, "summarize")
    parts = store.capabilities
    all_names = must_see_all(store, with_judge=True)
    if (
        parts.resolutions is not None
        and parts.homonyms is not None
        and (all_names or parts.resolutions.touched())
    ):
        share = FULL_SHARE if tier is Tier.FULL else LEAN_SHARE
        tokens = int(share * (_count_text(store) if all_names else text_tokens))
        judge = Judge(
            model, ceiling_tokens=max(LEAST_JUDGE_TOKENS, tokens), concurrency=concurrency
        )
        done.names = yield from _step("names", resolve_entities.run(store, judge=judge), done)
    if was_read_by_model(store):
        groups = read_groups(store)
        describer = Describer(store, groups=groups)
        writer = DescriptionWriter(model, concurrency=concurrency, retry=retry)
        described = describe_entities.run(store, writer=writer, groups=groups, describer=describer)
        done.descriptions = yield from _step("descriptions", described, done)
        if embedding:
            embedded = embed_descriptions.run(store, embedding, describer=describer)
            yield from _step("vectors of descriptions", embedded, done)
    # Reports by other prompts of the user's own are written again.
    version = models.prompts.version_of({REPORT_TASK})
    rewrites = store.meta().get(REPORT_PROMPTS_META, "") != version
    if tier is Tier.FULL and (retry or rewrites or not is_current(store, written=True)):
        reports = bring_up_to_date.run(
            store,
            options=CommunityOptions.of(settings.communities),
            writer=ReportWriter(model, concurrency=concurrency, retry=retry, rewrites=rewrites),
            embedding=embedding or None,
        )
        done.reports = yield from _step("reports", reports, done)
        if rewrites and not done.reports.unanswered:
            store.set_meta({REPORT_PROMPTS_META: version})


def _step(name: str, run: Run[T], done: Enrichment) -> Steps[T]:
    """Do all of a run, yield its progress as that of a step, and note the time."""
    start = time.perf_counter()
    try:
        with run:
            yield Progress(Stage.ENRICHING, note=name)
            for step in run:
                yield replace(step, stage=Stage.ENRICHING, note=name)
            return run.result()
    finally:
        done.seconds[name] = time.perf_counter() - start


def _count_text(store: Store) -> int:
    """Return the number of tokens in all documents, which are read one by one."""
    total = 0
    for document_id in store.documents.document_ids():
        for document in store.documents.documents([document_id]).values():
            total += count_tokens(document.text)
    return total
