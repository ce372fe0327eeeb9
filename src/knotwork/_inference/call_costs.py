"""Costs of model calls: token prices, and a usage meter for one run.

Prices come from the settings; none is built in, since prices change. Money is in the currency of
these prices, and sums are exact (`Decimal`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Self

from knotwork._inference.chat import ChatRequest, TokenUsage, estimate_picture_tokens
from knotwork.errors import ConfigError

_PRICED_TOKENS = Decimal(1_000_000)
BATCH = " (batch)"
"""Behind the name of a model: its calls in batches, which cost half as much."""


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million input tokens and of a million output tokens.

    ``cached_per_million`` is that of input tokens in the cache of the server; None is the price of
    all others. Raises ConfigError for a price that is negative or not a finite number.
    """

    input_per_million: Decimal
    output_per_million: Decimal
    cached_per_million: Decimal | None = None

    def __post_init__(self) -> None:
        for price in (self.input_per_million, self.output_per_million, self.cached_per_million):
            if price is not None and (not price.is_finite() or price < 0):
                raise _invalid_price(price)

    def of(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> Decimal:
        """Return the price of tokens; ``cached_tokens`` are a part of ``input_tokens``."""
        cached = self.cached_per_million
        cost = (
            (input_tokens - cached_tokens) * self.input_per_million
            + cached_tokens * (self.input_per_million if cached is None else cached)
            + output_tokens * self.output_per_million
        )
        return cost / _PRICED_TOKENS


class PriceTable:
    """Prices by pattern of model names, such as ``openai:gpt-*``; the first match applies.

    Patterns are case-sensitive shell patterns (``*``, ``?``, ``[...]``).
    """

    def __init__(self, rules: Iterable[tuple[str, Price]] = ()) -> None:
        self._rules = tuple(rules)

    @classmethod
    def read(cls, lines: Iterable[str]) -> Self:
        """Return a table from lines ``PATTERN INPUT OUTPUT``, such as ``openai:gpt-* 0.15 0.60``.

        A line may end with the price of input tokens that the server has cached. Raises ConfigError
        for an invalid line.
        """
        rules = []
        for line in lines:
            parts = line.split()
            if len(parts) not in {3, 4}:
                raise ConfigError(
                    f"`{line}` is not the price of a model.",
                    fix="Write its name and the prices of a million input and output tokens, such "
                    'as "openai:gpt-* 0.15 0.60", then, if it differs, that of cached input.',
                )
            rules.append((parts[0], Price(*map(_read_price, parts[1:]))))
        return cls(rules)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def price(self, model: str) -> Price | None:
        """Return the price of a model, or None if it is unknown (not 0)."""
        name = model.removesuffix(BATCH)
        found = next((price for pattern, price in self._rules if fnmatchcase(name, pattern)), None)
        if found is None or name == model:
            return found
        cached = found.cached_per_million
        return Price(
            found.input_per_million / 2, found.output_per_million / 2, cached and cached / 2
        )

    def money(self, usage_by_model: Iterable[tuple[str, TokenUsage]]) -> Decimal | None:
        """Return the total cost of usage, or None if a model that was used has no price."""
        total = Decimal(0)
        for model, usage in usage_by_model:
            if not (usage.input_tokens or usage.output_tokens):
                continue
            price = self.price(model)
            if price is None:
                return None
            total += price.of(usage.input_tokens, usage.output_tokens, usage.cached_tokens)
        return total


def _read_price(value: str) -> Decimal:
    """Return the decimal number as written: 0.1 is a tenth, not the nearest binary number."""
    try:
        return Decimal(value)
    except ArithmeticError as error:
        raise _invalid_price(value) from error


def _invalid_price(value: object) -> ConfigError:
    return ConfigError(
        f"`{value}` is not a price of a million tokens.",
        fix="Write a number of at least 0, such as 0.15",
    )


class UsageMeter:
    """Adds up the usage of one run, from any thread; share one among the models of all roles.

    The ledger, by contrast, covers all runs and processes. ``saved`` is the original usage of all
    replies served from the cache.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usage: dict[tuple[str, str], TokenUsage] = {}
        self.saved = TokenUsage()

    def add(self, model: str, request: ChatRequest, usage: TokenUsage) -> None:
        """Count a call, made or reused."""
        key = request.stage, model
        with self._lock:
            self._usage[key] = self._usage.get(key, TokenUsage()) + usage

    def save(self, usage: TokenUsage) -> None:
        """Count the original usage of a reply that is served from the cache."""
        with self._lock:
            self.saved += usage

    def total(self) -> TokenUsage:
        """Return the usage of all calls."""
        return sum(self.by_stage().values(), TokenUsage())

    def by_stage(self) -> dict[str, TokenUsage]:
        """Return the usage of each stage, by name."""
        return self._grouped(0)

    def by_model(self) -> dict[str, TokenUsage]:
        """Return the usage of each model, by name."""
        return self._grouped(1)

    def money(self, prices: PriceTable) -> Decimal | None:
        """Return the cost of the run so far, or None if a model that was used has no price."""
        return prices.money(self.by_model().items())

    def _grouped(self, position: int) -> dict[str, TokenUsage]:
        with self._lock:
            counted = sorted(self._usage.items())
        groups: dict[str, TokenUsage] = {}
        for key, usage in counted:
            groups[key[position]] = groups.get(key[position], TokenUsage()) + usage
        return groups


_TOKENS_A_MESSAGE = 4


def count_request(request: ChatRequest, count_tokens: Callable[[str], int]) -> int:
    """Estimate how many tokens a server counts in a request, delimiters of messages included."""
    texts = (count_tokens(message.content) + _TOKENS_A_MESSAGE for message in request.messages)
    return sum(texts) + estimate_picture_tokens(request)
