"""A budget that all questions of an evaluation share."""

from __future__ import annotations

from decimal import Decimal

from knotwork.errors import BudgetExceeded
from knotwork.inference.budget import Ceiling, parse_ceiling


class Purse:
    """What is left of a budget, as `parse_ceiling` reads it; empty is no limit.

    Raises ConfigError for an invalid budget.
    """

    def __init__(self, budget: str) -> None:
        self._ceiling: Ceiling | None = parse_ceiling(budget) if budget else None
        self._spent = Decimal(0)

    def take(self, tokens: int, money: Decimal | None) -> None:
        """Count what was spent."""
        if self._ceiling is not None:
            # Nothing without a price is asked under a ceiling of money.
            part = Decimal(tokens) if self._ceiling.unit == "tokens" else money or Decimal(0)
            self._spent += part

    def left(self) -> str:
        """Return what is left, as `parse_ceiling` reads it; empty without a budget."""
        if self._ceiling is None:
            return ""
        return f"{max(self._ceiling.amount - self._spent, Decimal(0)):f} {self._ceiling.unit}"

    def check(self) -> None:
        """Raise BudgetExceeded when something was spent and nothing is left."""
        if self._ceiling is not None and self._spent and self._spent >= self._ceiling.amount:
            raise BudgetExceeded(f"The budget of {self._ceiling} is reached.")
