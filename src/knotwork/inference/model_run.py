"""The models of one run over an index: they share its calls, a meter, a budget and a halt."""

from __future__ import annotations

from collections.abc import Callable

from knotwork.config import LlmSettings
from knotwork.inference.budget import Budget, parse_ceiling
from knotwork.inference.cached import CachedChatModel
from knotwork.inference.chat import ChatModel
from knotwork.inference.chat_registry import NO_CHAT_MODEL, ModelRole, chat_model_spec
from knotwork.inference.halt import Halt
from knotwork.inference.metered import UsageMeter
from knotwork.inference.prices import PriceTable
from knotwork.inference.retries import RetryPolicy
from knotwork.inference.role_models import RoleModels, calls_path


def open_budget(
    ceiling: str, settings: LlmSettings, *, count_tokens: Callable[[str], int]
) -> Budget | None:
    """Return the budget of a ceiling as `parse_ceiling` reads it, None for an empty one.

    Raises ConfigError for what is no ceiling, and for prices that are none.
    """
    if not ceiling:
        return None
    return Budget(
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
