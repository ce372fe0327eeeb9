"""Run retrievers over a data set: index it once, ask every question, measure and compare."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from statistics import fmean, median
from typing import Any

from knotwork.config import IndexSettings, fingerprint
from knotwork.errors import RetrievalError, UnknownName
from knotwork.evaluation.datasets import Dataset, EvaluationCase
from knotwork.evaluation.metrics import METRICS, MetricDifference, PairedComparison, compare_paired
from knotwork.indexing.changes import Tiers
from knotwork.indexing.embedding import Embedding
from knotwork.indexing.pipeline import Pipeline
from knotwork.indexing.prepared import document_source
from knotwork.indexing.report import IndexEvent
from knotwork.indexing.splitters import make_splitter
from knotwork.indexing.stages import IndexingStages
from knotwork.inference.call_budget import CallBudget
from knotwork.inference.call_costs import PriceTable, UsageMeter
from knotwork.inference.cross_encoders import Reranker
from knotwork.inference.embedder import Embedder
from knotwork.inference.role_models import RoleModels
from knotwork.records import Evidence, Query, content_id
from knotwork.retrieval.retriever_builder import build_retriever
from knotwork.retrieval.retriever_registry import retriever_names
from knotwork.retrieval.specification_grammar import is_expression
from knotwork.stores.base import Store
from knotwork.transform.extractor import Extractor

RANKED_DEPTH = 50
"""How many passages are ranked for each question."""

WHOLE_SPLITTER = "whole"
"""The splitter of passages: each is one chunk."""


@dataclass(frozen=True, slots=True)
class AskedCase:
    """One question asked of one retriever, and what came back: the uris ranked, each metric, the
    ``seconds`` it took, and the ``tokens`` and ``money`` of a language model, None where its price
    is not known.
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
    """What one retriever did: per question the ranked uris, the metrics and the seconds; and the
    ``tokens`` that a language model took for all of them.
    """

    retriever: str
    ranked: list[list[str]] = field(default_factory=list)
    values: dict[str, list[float]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    tokens: int = 0

    def add(self, asked: AskedCase) -> None:
        """Add what came back for one more question."""
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
    """The runs of all retrievers on one data set; ``skipped`` says why some could not run."""

    dataset: str
    questions: int
    runs: dict[str, RetrieverRun] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def compare(self, first: str, second: str, metric: str) -> PairedComparison:
        """Compare two retrievers on one metric, question by question."""
        return compare_paired(self.runs[first].values[metric], self.runs[second].values[metric])


def index_dataset(
    dataset: Dataset,
    *,
    store: Store,
    embedder: Embedder | None,
    extractor: Extractor,
    splitter: str = WHOLE_SPLITTER,
) -> Iterator[IndexEvent]:
    """Bring the store up to date with the corpus; what is there stays.

    A passage is a chunk, unless ``splitter`` names another way to cut documents.
    """
    embedding = Embedding(embedder)
    settings = fingerprint(IndexSettings(splitter=splitter), embedding.identity, extractor.name)
    stages = IndexingStages(make_splitter(splitter), extractor, embedding, Tiers(settings))
    sources = [document_source(document) for document in dataset.documents]
    yield from Pipeline(store, stages).run(sources, covers=lambda _: True)


def index_path(
    dataset: Dataset, *, embedder: Embedder | None, folder: Path, splitter: str = WHOLE_SPLITTER
) -> Path:
    """Return where the index of a corpus is kept between runs."""
    name = content_id(dataset.fingerprint, embedder.name if embedder else "", *_named(splitter))
    return folder / f"{name}.knot"


def _named(splitter: str) -> tuple[str, ...]:
    return () if splitter == WHOLE_SPLITTER else (splitter,)


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
    """Ask every question of every retriever; fill ``run``, yielding after each question.

    ``depth`` passages are ranked for each. Raises RetrievalError for a retriever that cannot work
    on this index; with ``skipping`` it is left out, with the reason. Raises BudgetExceeded.
    """
    total = len(dataset.cases) * len(names)
    done = 0
    for name in names:
        meter = UsageMeter()
        spending = _Spending(meter, prices or PriceTable())
        model = models.open("keyword", meter=meter, budget=budget) if models is not None else None
        try:
            retriever = build_retriever(
                name, store=store, embedder=embedder, model=model, reranker=reranker
            )
        except RetrievalError as error:
            if not skipping:
                raise
            run.skipped[name] = str(error)
            total -= len(dataset.cases)
            continue
        outcome = run.runs.setdefault(name, RetrieverRun(name))
        uris = _Uris(store)
        for case in dataset.cases:
            started = time.perf_counter()
            evidence = retriever.retrieve(Query(case.question, k=depth))
            ranked = uris.of(evidence)
            seconds = time.perf_counter() - started
            tokens, money = spending.since_last()
            values = {metric: measure(ranked, case.gold) for metric, measure in METRICS.items()}
            done += 1
            asked = AskedCase(
                name, done, total, case, evidence, ranked, values, seconds, tokens, money
            )
            outcome.add(asked)
            yield asked


class _Spending:
    """What a language model took for each question, one after the other."""

    def __init__(self, meter: UsageMeter, prices: PriceTable) -> None:
        self._meter = meter
        self._prices = prices
        self._before: tuple[int, Decimal | None] = (0, Decimal(0))

    def since_last(self) -> tuple[int, Decimal | None]:
        """Return tokens and money since this was asked before."""
        spent, money = self._meter.total(), self._meter.money(self._prices)
        tokens = spent.input_tokens + spent.output_tokens
        tokens_before, money_before = self._before
        self._before = (tokens, money)
        if money is None or money_before is None:
            return tokens - tokens_before, None
        return tokens - tokens_before, money - money_before


class _Uris:
    """Turns hits into the uris of their documents, each once, best first."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, str] = {}

    def of(self, evidence: Evidence) -> list[str]:
        ids = [hit.chunk.document_id for hit in evidence.hits]
        missing = [identifier for identifier in ids if identifier not in self._known]
        for identifier, document in self._store.documents.documents(missing).items():
            self._known[identifier] = document.uri
        return list(dict.fromkeys(self._known[identifier] for identifier in ids))


COMPARED_METRICS = ("recall@5", "all_gold@5")
"""The metrics of which differences are printed; JSON has those of all."""


def compare_retrievers(
    run: EvaluationRun, *, metrics: Sequence[str] = ()
) -> list[MetricDifference]:
    """Compare the first retriever with each of the others, on all metrics unless some are named."""
    if not run.runs:
        return []
    first, *others = run.runs
    wanted = metrics or list(run.runs[first].values)
    return [
        MetricDifference(first, other, metric, **asdict(run.compare(first, other, metric)))
        for other in others
        for metric in wanted
    ]


def describe_retriever_runs(run: EvaluationRun) -> dict[str, Any]:
    """Return the run as one JSON object; metrics are fractions from 0 to 1, tokens a question."""
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
    """Return the names and specifications that commas part, each once.

    Raises UnknownName for one that is neither, and for none at all.
    """
    names = [name.strip() for name in _OUTSIDE_PARENTHESES.split(listed)]
    names = list(dict.fromkeys(name for name in names if name)) or [""]
    for name in names:
        if name not in retriever_names() and not is_expression(name):
            raise UnknownName("retriever", name, retriever_names())
    return names
