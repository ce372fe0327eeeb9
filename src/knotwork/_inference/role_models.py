"""Chat models by role, with the cache, meter and budget of one index or one run."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from contextlib import closing

from knotwork._companions import IN_MEMORY_COMPANIONS, Companions
from knotwork._config import LlmSettings, Settings
from knotwork._inference.call_budget import CallBudget, parse_ceiling
from knotwork._inference.call_cache import CALLS, CachedChatModel, CallCache
from knotwork._inference.call_costs import UsageMeter
from knotwork._inference.call_limits import LimitedChat, RateLimiter, RetryPolicy
from knotwork._inference.chat import ChatModel
from knotwork._inference.model_registry import (
    MODEL_ROLES,
    NO_CHAT_MODEL,
    ChatModels,
    ModelRole,
    chat_model_spec,
    price_table,
    role_settings,
)
from knotwork._inference.own_prompts import BUILT_IN, OwnPrompts, read_prompt_folder
from knotwork._inference.stage_breaker import StageBreaker
from knotwork._sqlite_file import IN_MEMORY
from knotwork.errors import StoreReadOnly

NOT_KEPT_NOTE = "Replies of language models are not cached for later runs: {reason}"


_log = logging.getLogger("knotwork.inference")


def forget_calls(companions: Companions, sources: Collection[str]) -> int:
    """Delete cached replies about these documents and return how many were deleted.

    Replies about several documents at once, such as reports and answers, are deleted too, since
    they may quote them. Returns 0 if the index has no call cache. Raises StoreError if the cache
    cannot be written.
    """
    if not companions.has(CALLS):
        return 0
    with closing(CallCache(companions.open(CALLS))) as cache:
        return cache.forget([*sources, ""])


class RoleModels:
    """Opens models by role, and the call cache with the first of them.

    ``model`` replaces the models of the settings in every role, within their concurrency limit.
    The models carry ``prompts``. Thread-safe.
    """

    _rest_s: float | None = 300.0
    """Seconds without a call in a stage with unusable replies; None: until the end of a run."""
    meter: UsageMeter | None = None
    budget: CallBudget | None = None
    _retry = False

    def __init__(
        self,
        settings: LlmSettings,
        *,
        companions: Companions = IN_MEMORY_COMPANIONS,
        model: ChatModel | None = None,
        retries: RetryPolicy | None = None,
        prompts: OwnPrompts = BUILT_IN,
    ) -> None:
        self._companions = companions
        self.prompts = prompts
        self._breaker = StageBreaker(rest_s=self._rest_s)
        self._given = model
        self._model: LimitedChat | None = None
        if model is not None:
            self._model = LimitedChat(model, RateLimiter(concurrency=settings.concurrency))
        self._models = ChatModels(settings, retries=retries)
        self._cache: CallCache | None = None
        self._lock = threading.Lock()
        self._not_kept: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        settings: Settings,
        companions: Companions,
        *,
        model: ChatModel | None = None,
        retries: RetryPolicy | None = None,
    ) -> RoleModels:
        """Return the models of an index: those of its settings, with its prompts and its cache."""
        prompts = read_prompt_folder(settings.prompts.dir)
        return cls(
            settings.llm, companions=companions, model=model, retries=retries, prompts=prompts
        )

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
            if budget := budget or self.budget:
                model = LimitedChat(model, budget=budget)
            return CachedChatModel(
                model,
                self.cache(),
                meter=meter or self.meter,
                retry_rejected=retry_rejected or self._retry,
                breaker=self._breaker,
                prompts=self.prompts,
            )

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages for the user, for example that replies cannot be cached."""
        return self._not_kept

    def close(self) -> None:
        """Close the call cache."""
        with self._lock:
            if self._cache is not None:
                self._cache.close()
                self._cache = None

    def cache(self) -> CallCache:
        """Return the call cache, which is opened once."""
        if self._cache is None:
            try:
                self._cache = CallCache(self._companions.open(CALLS))
            except StoreReadOnly as error:
                _log.info("replies are cached in memory: %s", error)
                self._not_kept = (NOT_KEPT_NOTE.format(reason=error.message),)
                self._cache = CallCache(IN_MEMORY)
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
        prices=price_table(settings),
        max_output_tokens=max(
            role_settings(settings, role).max_output_tokens for role in MODEL_ROLES
        ),
    )


class ModelRun(RoleModels):
    """Opens models by role for one run; ``meter`` counts the usage of all of them.

    ``model`` replaces the models of the settings. ``budget`` is a ceiling that `parse_ceiling`
    reads; ``count_tokens`` estimates a call before it is made. With ``retry``, a request whose
    cached reply was rejected is sent again.
    """

    _rest_s = None
    meter: UsageMeter

    def __init__(
        self,
        settings: LlmSettings,
        *,
        companions: Companions,
        count_tokens: Callable[[str], int],
        model: ChatModel | None = None,
        budget: str = "",
        retry: bool = False,
        retries: RetryPolicy | None = None,
        prompts: OwnPrompts = BUILT_IN,
    ) -> None:
        super().__init__(
            settings, companions=companions, model=model, retries=retries, prompts=prompts
        )
        self.meter = UsageMeter()
        self.prices = price_table(settings)
        self._settings = settings
        self._retry = retry
        self.budget = open_budget(budget, settings, count_tokens=count_tokens)
        self.further_notes: list[str] = []

    def has(self, role: ModelRole) -> bool:
        """Return True if a model is configured for a role, without opening it."""
        return self._given is not None or chat_model_spec(self._settings, role) != NO_CHAT_MODEL

    def client(self, role: ModelRole) -> ChatModel | None:
        """Return the model for a role as it was opened, without limits, retries and cache."""
        return self._given or self._models.client(role)

    @property
    def retries(self) -> RetryPolicy:
        """How often a call is tried."""
        return self._models.retries

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages for the user, as in `RoleModels`, further ones, and the stages that stopped."""
        return (*super().notes, *self.further_notes, *self._breaker.notes)
