"""Measures of ranked passages against gold, per question, from 0 to 1."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

Gold = Sequence[Collection[str]]
"""For each fact needed, the passages any one of which gives it."""


def recall(ranked: Sequence[str], gold: Gold, *, k: int) -> float:
    """Return the share of facts that some passage among the first ``k`` gives."""
    if not gold:
        return 0.0
    top = set(ranked[:k])
    return sum(not top.isdisjoint(group) for group in gold) / len(gold)


def all_gold(ranked: Sequence[str], gold: Gold, *, k: int) -> float:
    """Return 1 when the first ``k`` passages give every fact, else 0."""
    return float(bool(gold) and recall(ranked, gold, k=k) == 1.0)


def hits(ranked: Sequence[str], gold: Gold, *, k: int) -> float:
    """Return 1 when the first ``k`` passages give any fact, else 0.

    This is Hits@k as the script of MultiHop-RAG counts it (Tang and Yang, COLM 2024).
    """
    return float(recall(ranked, gold, k=k) > 0.0)


def reciprocal_rank(ranked: Sequence[str], gold: Gold) -> float:
    """Return 1 / the rank of the first passage that gives a fact; 0 when none does."""
    wanted = {uri for group in gold for uri in group}
    return next((1.0 / rank for rank, uri in enumerate(ranked, start=1) if uri in wanted), 0.0)


METRICS: Mapping[str, Callable[[Sequence[str], Gold], float]] = {
    "recall@2": lambda ranked, gold: recall(ranked, gold, k=2),
    "recall@5": lambda ranked, gold: recall(ranked, gold, k=5),
    "recall@10": lambda ranked, gold: recall(ranked, gold, k=10),
    "all_gold@5": lambda ranked, gold: all_gold(ranked, gold, k=5),
    "all_gold@8": lambda ranked, gold: all_gold(ranked, gold, k=8),
    "mrr": reciprocal_rank,
}
"""The metrics of `knotwork eval`, by name."""
