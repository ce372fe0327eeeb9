"""Chat models by role, with the cache, meter and budget of one index or one run."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from pathlib import Path

from knotwork.config import LlmSettings
from knotwork.errors import StoreReadOnly
from knotwork.inference.call_budget import BudgetedChatModel, CallBudget, parse_ceiling
from knotwork.inference.call_cache import CachedChatModel, CallCache
from knotwork.inference.call_costs import PriceTable, UsageMeter
from knotwork.inference.chat import ChatModel
from knotwork.inference.concurrency import Halt
from knotwork.inference.model_registry import NO_CHAT_MODEL, ChatModels, ModelRole, chat_model_spec
from knotwork.inference.rate_limits import RateLimitedChat, RateLimiter
from knotwork.inference.retries import RetryPolicy

IN_MEMORY = ":memory:"
NOT_KEPT_NOTE = "Calls to language models are not kept for the next time: {reason}"

_log = logging.getLogger("knotwork.inference")


def calls_path(store_url: str) -> str:
    """Return the file of calls that belongs to an index: beside it, or in memory as it is."""
    return IN_MEMORY if store_url == "memory:" else f"{store_url}.calls"


def forget_calls(store_url: str, sources: Collection[str]) -> int:
    """Remove the kept calls about these documents, and those about several documents at once, such
    as reports and answers, which may quote them; return how many there were.

    An index without a file of calls has none. Raises StoreError when the file cannot be written.
    """
    path = calls_path(store_url)
    if path == IN_MEMORY or not Path(path).exists():
        return 0
    cache = CallCache.open(path)
    try:
        return cache.forget([*sources, ""])
    finally:
        cache.close()


class RoleModels:
    """Opens models by role; the file of calls is made, or opened, with the first of them.

    ``model`` takes the place of those in the settings, for every role, and gets no more calls at a
    time than they allow. ``notes`` say what a user
    should know, as that calls cannot be kept where nothing may be written. Safe for many threads.
    """

    def __init__(
        self,
        settings: LlmSettings,
        *,
        path: str = IN_MEMORY,
        model: ChatModel | None = None,
        retries: RetryPolicy | None = None,
        halt: Halt | None = None,
    ) -> None:
        self._path = path
        pacer = RateLimiter(concurrency=settings.concurrency, halt=halt)
        self._model = RateLimitedChat(model, pacer) if model is not None else None
        self._models = ChatModels(settings, retries=retries, halt=halt)
        self._cache: CallCache | None = None
        self._lock = threading.Lock()
        self.notes: tuple[str, ...] = ()

    def open(
        self,
        role: ModelRole,
        *,
        meter: UsageMeter | None = None,
        budget: CallBudget | None = None,
        retry_rejected: bool = False,
    ) -> CachedChatModel | None:
        """Return the model for a role, or None where it has none.

        Raises as `ChatModels.open`, and StoreError when the file of calls cannot be used.
        """
        with self._lock:
            model = self._model or self._models.open(role)
            if model is None:
                return None
            if budget is not None:
                model = BudgetedChatModel(model, budget)
            return CachedChatModel(
                model, self._opened_cache(), meter=meter, retry_rejected=retry_rejected
            )

    def close(self) -> None:
        """Close the file of calls."""
        with self._lock:
            if self._cache is not None:
                self._cache.close()
                self._cache = None

    def _opened_cache(self) -> CallCache:
        if self._cache is None:
            try:
                self._cache = CallCache.open(self._path)
            except StoreReadOnly as error:
                _log.info("calls are kept in memory: %s", error)
                self.notes = (NOT_KEPT_NOTE.format(reason=error.message),)
                self._cache = CallCache.open(IN_MEMORY)
        return self._cache


def open_budget(
    ceiling: str, settings: LlmSettings, *, count_tokens: Callable[[str], int]
) -> CallBudget | None:
    """Return the budget of a ceiling as `parse_ceiling` reads it, None for an empty one.

    Raises ConfigError for what is no ceiling, and for prices that are none.
    """
    if not ceiling:
        return None
    return CallBudget(
        parse_ceiling(ceiling),
        count_tokens=count_tokens,
        prices=PriceTable.read(settings.prices),
        max_output_tokens=settings.max_output_tokens,
    )


class ModelRun:
    """Opens models by role for one run; ``meter`` counts what all of them cost.

    ``model`` takes the place of those in the settings. ``budget`` is a ceiling as `parse_ceiling`
    reads it; ``count_tokens`` estimates a call before it is made. ``retry`` asks again for replies
    that could not be used. ``halt`` ends all waits.
    """

    def __init__(
        self,
        settings: LlmSettings,
        *,
        store_url: str,
        count_tokens: Callable[[str], int],
        model: ChatModel | None = None,
        budget: str = "",
        retry: bool = False,
        retries: RetryPolicy | None = None,
    ) -> None:
        self.halt = Halt()
        self.meter = UsageMeter()
        self.prices = PriceTable.read(settings.prices)
        self._settings = settings
        self._model = model
        self._retry = retry
        self._budget = open_budget(budget, settings, count_tokens=count_tokens)
        self._models = RoleModels(
            settings, path=calls_path(store_url), model=model, retries=retries, halt=self.halt
        )

    def has(self, role: ModelRole) -> bool:
        """Tell whether a model is set for a role, without opening it."""
        return self._model is not None or chat_model_spec(self._settings, role) != NO_CHAT_MODEL

    def open(self, role: ModelRole) -> CachedChatModel | None:
        """Return the model for a role, or None where it has none; raises as `RoleModels.open`."""
        return self._models.open(
            role, meter=self.meter, budget=self._budget, retry_rejected=self._retry
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know, as that calls cannot be kept where nothing may be written."""
        return self._models.notes

    def close(self) -> None:
        """Close the file of calls."""
        self._models.close()
