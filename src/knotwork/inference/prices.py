"""Prices of tokens, as the user states them: no price is built in, since prices change.

Money has no currency here: it is in whatever the user writes prices in. Decimal, as sums of money
add up exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Self

from knotwork.errors import ConfigError
from knotwork.inference.chat import TokenUsage

_PER = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in and out.

    Raises ConfigError for a price that is negative or no number.
    """

    input_per_million: Decimal
    output_per_million: Decimal

    def __post_init__(self) -> None:
        for price in (self.input_per_million, self.output_per_million):
            if not price.is_finite() or price < 0:
                raise ConfigError(
                    f"`{price}` is not the price of a million tokens.",
                    fix="Write a number that is not negative, such as 0.15",
                )

    def of(self, input_tokens: int, output_tokens: int) -> Decimal:
        """Return the price of so many tokens."""
        cost = input_tokens * self.input_per_million + output_tokens * self.output_per_million
        return cost / _PER


class PriceTable:
    """Prices by patterns of model names, such as ``openai:gpt-*``; the first that fits counts.

    Patterns are those of shells (``*``, ``?``, ``[...]``), with attention to case.
    """

    def __init__(self, rules: Iterable[tuple[str, Price]] = ()) -> None:
        self._rules = tuple(rules)

    @classmethod
    def of(cls, rules: Mapping[str, tuple[float | str | Decimal, float | str | Decimal]]) -> Self:
        """Make a table of pattern to (price per million input tokens, of output tokens).

        Raises ConfigError for a price that is none.
        """
        return cls(
            (pattern, Price(_read_price(prices[0]), _read_price(prices[1])))
            for pattern, prices in rules.items()
        )

    @classmethod
    def read(cls, lines: Iterable[str]) -> Self:
        """Make a table of lines such as ``openai:gpt-* 0.15 0.60``: pattern, price in, price out.

        Raises ConfigError for a line that is none.
        """
        rules = []
        for line in lines:
            parts = line.split()
            if len(parts) != 3:
                raise ConfigError(
                    f"`{line}` is not the price of a model.",
                    fix="Write its name and the prices of a million tokens in and out, such as "
                    '"openai:gpt-* 0.15 0.60".',
                )
            rules.append((parts[0], Price(_read_price(parts[1]), _read_price(parts[2]))))
        return cls(rules)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def price(self, model: str) -> Price | None:
        """Return the price of a model, or None where it is not known: never 0 for that."""
        return next((price for pattern, price in self._rules if fnmatchcase(model, pattern)), None)

    def money(self, usage_by_model: Iterable[tuple[str, TokenUsage]]) -> Decimal | None:
        """Return what usage costs in all, or None when a model that was used has no price."""
        total = Decimal(0)
        for model, usage in usage_by_model:
            if not (usage.input_tokens or usage.output_tokens):
                continue
            price = self.price(model)
            if price is None:
                return None
            total += price.of(usage.input_tokens, usage.output_tokens)
        return total

    def without_price(self, models: Iterable[str]) -> list[str]:
        """Return those of the models that have no price, in order."""
        return [model for model in models if self.price(model) is None]


def _read_price(value: float | str | Decimal) -> Decimal:
    """Return a price as it is written: 0.1 is a tenth, not the nearest binary number."""
    try:
        return Decimal(str(value))
    except ArithmeticError as error:
        raise ConfigError(
            f"`{value}` is not the price of a million tokens.",
            fix="Write a number that is not negative, such as 0.15",
        ) from error
