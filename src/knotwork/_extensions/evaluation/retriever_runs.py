"""Run retrievers on a data set: index it once, ask every question, measure and compare."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from statistics import fmean, median
from typing import Any

from knotwork._config import IndexSettings, fingerprint
from knotwork._extensions.evaluation.metrics import METRICS, MetricDifference, compare_paired
from knotwork._extensions.evaluation.questions import Dataset, EvaluationCase
from knotwork._indexing.changes import Tiers
from knotwork._indexing.embedding import Embedding
from knotwork._indexing.prepare import document_source
from knotwork._indexing.report import IndexReport
from knotwork._indexing.run import IndexingRun
from knotwork._indexing.splitters import make_splitter
from knotwork._indexing.stages import IndexingStages
from knotwork._inference.call_budget import CallBudget
from knotwork._inference.call_costs import PriceTable, UsageMeter
from knotwork._inference.cross_encoders import Reranker
from knotwork._inference.embedder import Embedder
from knotwork._inference.role_models import RoleModels
from knotwork._retrieval.retriever_registry import (
    AUTO,
    RETRIEVERS,
    build_retriever,
    is_expression,
    retriever_names,
)
from knotwork._run import Steps, Verb
from knotwork._stores.base import Store
from knotwork._transform.extractor import Extractor
from knotwork.errors import MissingCapability, RetrievalError, UnknownName
from knotwork.records import Evidence, Query, content_id

RANKED_DEPTH = 50
"""Number of passages ranked for each question."""

WHOLE_SPLITTER = "whole"
"""The splitter that makes each passage one chunk."""


@dataclass(frozen=True, slots=True)
class AskedCase:
    """The result of one question with one retriever.

    ``ranked`` has the URIs of documents, ``values`` the metrics by name. ``tokens`` and ``money``
    are the usage of a language model; ``money`` is None if its price is unknown.
    """

    retriever: str
    done: int
    total: int
    case: EvaluationCase
    evidence: Evidence
    ranked: list[str]
    values: dict[str, float]
    seconds: float
    tokens: int
    money: Decimal | None


@dataclass(slots=True)
class RetrieverRun:
    """The results of one retriever: ranked URIs, metrics and seconds of each question, and the
    model ``tokens`` of all questions.
    """

    retriever: str
    ranked: list[list[str]] = field(default_factory=list)
    values: dict[str, list[float]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    tokens: int = 0

    def add(self, asked: AskedCase) -> None:
        """Add the result of a question."""
        self.seconds.append(asked.seconds)
        self.ranked.append(asked.ranked)
        self.tokens += asked.tokens
        for metric, value in asked.values.items():
            self.values.setdefault(metric, []).append(value)

    def means(self) -> dict[str, float]:
        """Return each metric's mean over the questions."""
        return {name: fmean(values) if values else 0.0 for name, values in self.values.items()}


@dataclass(slots=True)
class EvaluationRun:
    """The runs of all retrievers on a data set. ``skipped`` has the reason of those not run."""

    dataset: str
    questions: int
    runs: dict[str, RetrieverRun] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


@Verb
def index_dataset(
    dataset: Dataset,
    *,
    store: Store,
    embedder: Embedder | None,
    extractor: Extractor,
    splitter: str = WHOLE_SPLITTER,
) -> Steps[IndexReport]:
    """Index the passages of a corpus that the store lacks, and return the report.

    Each passage is one chunk unless another ``splitter`` is given.
    """
    embedding = Embedding(embedder)
    settings = fingerprint(IndexSettings(splitter=splitter), embedding.identity, extractor.name)
    stages = IndexingStages(make_splitter(splitter), extractor, embedding, Tiers(settings))
    sources = [document_source(document) for document in dataset.documents]
    return (yield from IndexingRun(store, stages).update.run(sources, covers=lambda _: True))


def index_path(
    dataset: Dataset, *, embedder: Embedder | None, folder: Path, splitter: str = WHOLE_SPLITTER
) -> Path:
    """Return the path of the index of a corpus, which later runs use again."""
    parts = [dataset.fingerprint, embedder.name if embedder else ""]
    if splitter != WHOLE_SPLITTER:
        parts.append(splitter)
    return folder / f"{content_id(*parts)}.knot"


def evaluate_retrievers(  # noqa: PLR0913  one for each option
    dataset: Dataset,
    names: Sequence[str],
    *,
    store: Store,
    embedder: Embedder | None,
    run: EvaluationRun,
    models: RoleModels | None = None,
    reranker: Reranker | None = None,
    budget: CallBudget | None = None,
    prices: PriceTable | None = None,
    depth: int = RANKED_DEPTH,
    skipping: bool = False,
) -> Iterator[AskedCase]:
    """Ask every retriever every question, add the results to ``run``, and yield each.

    ``depth`` passages are ranked for each question. Raises BudgetExceeded, and RetrievalError for a
    retriever that cannot run on this index; with ``skipping``, its reason is recorded instead.
    """
    total = len(dataset.cases) * len(names)
    done = 0
    for name in names:
        meter = UsageMeter()
        model = models.open("keyword", meter=meter, budget=budget) if models is not None else None
        try:
            retriever = build_retriever(
                name, store=store, embedder=embedder, model=model, reranker=reranker
            )
        except (RetrievalError, MissingCapability) as error:
            if not skipping:
                raise
            run.skipped[name] = str(error)
            total -= len(dataset.cases)
            continue
        outcome = run.runs.setdefault(name, RetrieverRun(name))
        uris: dict[str, str] = {}
        before: tuple[int, Decimal | None] = (0, Decimal(0))
        for case in dataset.cases:
            started = time.perf_counter()
            evidence = retriever.retrieve(Query(case.question, k=depth))
            ranked = _ranked_uris(evidence, store, uris)
            seconds = time.perf_counter() - started
            spent, paid = meter.total().tokens, meter.money(prices or PriceTable())
            tokens = spent - before[0]
            money = None if paid is None or before[1] is None else paid - before[1]
            before = spent, paid
            values = {metric: measure(ranked, case.gold) for metric, measure in METRICS.items()}
            done += 1
            asked = AskedCase(
                name, done, total, case, evidence, ranked, values, seconds, tokens, money
            )
            outcome.add(asked)
            yield asked


def _ranked_uris(evidence: Evidence, store: Store, known: dict[str, str]) -> list[str]:
    """Return the uris of the documents of the hits, each once; new ones are added to ``known``."""
    ids = [hit.chunk.document_id for hit in evidence.hits]
    found = store.documents.documents([key for key in ids if key not in known])
    known.update((key, document.uri) for key, document in found.items())
    return list(dict.fromkeys(known[key] for key in ids))


COMPARED_METRICS = ("recall@5", "all_gold@5")
"""The metrics of which differences are printed; JSON has those of all."""


def compare_retrievers(
    run: EvaluationRun, *, metrics: Sequence[str] = ()
) -> list[MetricDifference]:
    """Compare the first retriever with each of the others on the given metrics, or on all."""
    if not run.runs:
        return []
    first, *others = run.runs.values()
    return [
        MetricDifference(
            **asdict(compare_paired(first.values[metric], other.values[metric])),
            first=first.retriever,
            second=other.retriever,
            metric=metric,
        )
        for other in others
        for metric in metrics or first.values
    ]


def describe_retriever_runs(run: EvaluationRun) -> dict[str, Any]:
    """Return the object of `eval DIR --json`. Metrics are from 0 to 1, tokens are per question."""
    return {
        "dataset": run.dataset,
        "questions": run.questions,
        "retrievers": {name: outcome.means() for name, outcome in run.runs.items()},
        "median_ms": {
            name: round(1000 * median(outcome.seconds), 3) if outcome.seconds else 0.0
            for name, outcome in run.runs.items()
        },
        "tokens": {
            name: round(outcome.tokens / max(run.questions, 1), 1)
            for name, outcome in run.runs.items()
        },
        "skipped": dict(run.skipped),
        "comparisons": [asdict(item) for item in compare_retrievers(run)],
    }


_OUTSIDE_PARENTHESES = re.compile(r",(?![^(]*\))")


def read_retrievers(listed: str) -> list[str]:
    """Return the distinct names and specifications in a comma-separated list.

    Raises UnknownName for an unknown retriever, and for an empty list.
    """
    names = [name.strip() for name in _OUTSIDE_PARENTHESES.split(listed)]
    names = list(dict.fromkeys(name for name in names if name)) or [""]
    for name in names:
        if name != AUTO and name not in RETRIEVERS and not is_expression(name):
            raise UnknownName("retriever", name, retriever_names())
    return names
