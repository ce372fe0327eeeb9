"""Chat models by role, with the cache, meter and budget of one index or one run."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Collection
from pathlib import Path

from knotwork._config import LlmSettings, shown_url
from knotwork._inference.call_budget import BudgetedChatModel, CallBudget, parse_ceiling
from knotwork._inference.call_cache import CachedChatModel, CallCache
from knotwork._inference.call_costs import PriceTable, UsageMeter
from knotwork._inference.call_limits import Halt, RateLimitedChat, RateLimiter, RetryPolicy
from knotwork._inference.chat import ChatModel
from knotwork._inference.model_registry import NO_CHAT_MODEL, ChatModels, ModelRole, chat_model_spec
from knotwork._sqlite_file import CALLS_SUFFIX, IN_MEMORY
from knotwork.errors import StoreReadOnly
from knotwork.records import content_id

NOT_KEPT_NOTE = "Replies of language models are not cached for later runs: {reason}"

_log = logging.getLogger("knotwork.inference")


def companion_path(store_url: str, suffix: str) -> str:
    """Return the path of a file that accompanies an index.

    For an index file this is its own path with ``suffix`` appended; for an index in memory,
    ":memory:". For an index on a server it is a name in the working directory, made from the
    scheme, host, port and path of the URL and the name of the index. Credentials and the rest of
    the query never become part of it.
    """
    if store_url == "memory:":
        return IN_MEMORY
    if "://" not in store_url:
        return f"{store_url}{suffix}"
    address = shown_url(store_url)
    readable = re.sub("[^A-Za-z0-9._]+", "-", address).strip("-")
    return f"{readable}-{content_id(address)[:8]}{suffix}"


def calls_path(store_url: str) -> str:
    """Return the path of the call cache of an index, as `companion_path` does."""
    return companion_path(store_url, CALLS_SUFFIX)


def forget_calls(store_url: str, sources: Collection[str]) -> int:
    """Delete cached replies about these documents and return how many were deleted.

    Replies about several documents at once, such as reports and answers, are deleted too, since
    they may quote them. Returns 0 if the index has no call cache. Raises StoreError if the cache
    cannot be written.
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
    """Opens models by role, and the call cache with the first of them.

    ``model`` replaces the models of the settings in every role, within their concurrency limit.
    ``notes`` are messages for the user, for example that replies cannot be cached because the
    folder is read-only. Thread-safe.
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
        limiter = RateLimiter(concurrency=settings.concurrency, halt=halt)
        self._model = RateLimitedChat(model, limiter) if model is not None else None
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
        """Return the model for a role, or None if the role has no model.

        Raises what `ChatModels.open` raises, and StoreError if the call cache cannot be used.
        """
        with self._lock:
            model = self._model or self._models.open(role)
            if model is None:
                return None
            if budget is not None:
                model = BudgetedChatModel(model, budget)
            return CachedChatModel(
                model, self._open_cache(), meter=meter, retry_rejected=retry_rejected
            )

    def close(self) -> None:
        """Close the call cache."""
        with self._lock:
            if self._cache is not None:
                self._cache.close()
                self._cache = None

    def _open_cache(self) -> CallCache:
        if self._cache is None:
            try:
                self._cache = CallCache.open(self._path)
            except StoreReadOnly as error:
                _log.info("replies are cached in memory: %s", error)
                self.notes = (NOT_KEPT_NOTE.format(reason=error.message),)
                self._cache = CallCache.open(IN_MEMORY)
        return self._cache


def open_budget(
    ceiling: str, settings: LlmSettings, *, count_tokens: Callable[[str], int]
) -> CallBudget | None:
    """Return the budget for a ceiling that `parse_ceiling` reads; None for an empty text.

    Raises ConfigError if the ceiling or a price is invalid.
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
    """Opens models by role for one run; ``meter`` counts the usage of all of them.

    ``model`` replaces the models of the settings. ``budget`` is a ceiling that `parse_ceiling`
    reads; ``count_tokens`` estimates a call before it is made. With ``retry``, a request whose
    cached reply was rejected is sent again. ``halt`` ends all waits.
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
        """Return True if a model is configured for a role, without opening it."""
        return self._model is not None or chat_model_spec(self._settings, role) != NO_CHAT_MODEL

    def open(self, role: ModelRole) -> CachedChatModel | None:
        """Return the model for a role, or None if it has none; raises as `RoleModels.open`."""
        return self._models.open(
            role, meter=self.meter, budget=self._budget, retry_rejected=self._retry
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages for the user, as in `RoleModels`."""
        return self._models.notes

    def close(self) -> None:
        """Close the call cache."""
        self._models.close()
