"""The chat models of all roles over one file of calls, one meter and one budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from knotwork.inference.budget import Budget, BudgetedChatModel
from knotwork.inference.cached import CachedChatModel
from knotwork.inference.call_cache import CallCache
from knotwork.inference.chat import ChatModel
from knotwork.inference.metered import UsageMeter

R = TypeVar("R")


class AccountedChatModels(Generic[R]):
    """Opens chat models by role so that each call is kept, counted, and under the budget.

    ``open_model`` opens the bare ones, such as `ChatModels.open`. The budget goes inside the cache,
    as what is kept costs nothing. One object serves one run: its ``meter`` and ``budget`` start at
    nothing, while ``cache`` knows all earlier runs.
    """

    def __init__(
        self,
        open_model: Callable[[R], ChatModel | None],
        cache: CallCache,
        *,
        budget: Budget | None = None,
        meter: UsageMeter | None = None,
        retry_rejected: bool = False,
    ) -> None:
        self.cache = cache
        self.budget = budget
        self.meter = meter or UsageMeter()
        self._open_model = open_model
        self._retry_rejected = retry_rejected

    def open(self, role: R) -> CachedChatModel | None:
        """Return the model for a role, or None where there is none; raises as ``open_model``."""
        model = self._open_model(role)
        if model is None:
            return None
        if self.budget is not None:
            model = BudgetedChatModel(model, self.budget)
        return CachedChatModel(
            model, self.cache, meter=self.meter, retry_rejected=self._retry_rejected
        )
