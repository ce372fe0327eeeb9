"""A meter of usage: what one run has cost so far, by stage, document and model."""

from __future__ import annotations

import threading
from decimal import Decimal

from knotwork.inference.chat import ChatRequest, TokenUsage
from knotwork.inference.prices import PriceTable


class UsageMeter:
    """Adds up the usage of one run, from any thread; share one among the models of all roles.

    The ledger is for ever and for all processes; a meter is for this run alone.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usage: dict[tuple[str, str, str], TokenUsage] = {}
        self._saved = TokenUsage()

    def add(self, model: str, request: ChatRequest, usage: TokenUsage) -> None:
        """Count a call, made or reused."""
        key = (request.stage, request.source, model)
        with self._lock:
            self._usage[key] = self._usage.get(key, TokenUsage()) + usage

    def save(self, usage: TokenUsage) -> None:
        """Count what a reply that is used again had cost when it came."""
        with self._lock:
            self._saved += usage

    @property
    def saved(self) -> TokenUsage:
        """What the replies that were used again had cost when they came."""
        return self._saved

    def total(self) -> TokenUsage:
        """Return the usage of all calls."""
        return sum(self._copy().values(), TokenUsage())

    def by_stage(self) -> dict[str, TokenUsage]:
        """Return the usage of each stage, by name."""
        return self._grouped(0)

    def by_source(self) -> dict[str, TokenUsage]:
        """Return the usage of each document, by name."""
        return self._grouped(1)

    def by_model(self) -> dict[str, TokenUsage]:
        """Return the usage of each model, by name."""
        return self._grouped(2)

    def money(self, prices: PriceTable) -> Decimal | None:
        """Return what the run has cost, or None when a model that was used has no price."""
        return prices.money(self.by_model().items())

    def _grouped(self, position: int) -> dict[str, TokenUsage]:
        groups: dict[str, TokenUsage] = {}
        for key, usage in sorted(self._copy().items()):
            groups[key[position]] = groups.get(key[position], TokenUsage()) + usage
        return groups

    def _copy(self) -> dict[tuple[str, str, str], TokenUsage]:
        with self._lock:
            return dict(self._usage)
