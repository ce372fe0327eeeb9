"""Costs of model calls: token prices, a usage meter for one run, and cost estimates.

Prices come from the settings; none is built in, since prices change. Money is in the currency of
these prices, and sums are exact (`Decimal`).

A run is estimated from a sample of its calls, by the ratio estimator of survey sampling (W. G.
Cochran, Sampling Techniques, 3rd ed. 1977, ch. 6): the server's token count is about proportional
to our own count of the request, which is known for every call of the run. For ``n`` sampled calls,
``x`` is our count, ``y`` the server's, ``R = sum(y) / sum(x)`` and ``s^2 = sum((y - R x)^2) / (n -
1)``. Calls with ``X`` counted tokens in total, which are ``N = X / mean(x)`` calls like the sampled
ones, use ``R X`` tokens, plus or minus ``t s sqrt(N^2 / n + N)``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from math import ceil, floor, sqrt
from typing import Generic, Self, TypeVar

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
_CONFIDENCE = 0.9
_COUNT_ERROR = 0.25
"""Assumed relative error of our token count while no call has been sampled."""


@dataclass(frozen=True, slots=True)
class SampledCall:
    """A call that was made: our token count of its request, and the token counts of the server."""

    stage: str
    model: str
    counted_tokens: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class PlannedCalls:
    """The calls still to make in one stage, with the sums of their tokens and output limits."""

    stage: str
    model: str
    calls: int
    counted_tokens: int
    max_output_tokens: int


Amount = TypeVar("Amount", int, Decimal)


@dataclass(frozen=True, slots=True)
class Range(Generic[Amount]):
    """An expected number of tokens, or amount of money, and its 90 % interval."""

    low: Amount
    expected: Amount
    high: Amount

    def __add__(self, other: Range[Amount]) -> Range[Amount]:
        return Range(self.low + other.low, self.expected + other.expected, self.high + other.high)


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """The estimated cost of one stage with one model, from ``sampled`` calls (0: an upper bound).

    ``money`` is None if the price is unknown.
    """

    stage: str
    model: str
    calls: int
    sampled: int
    input_tokens: Range[int]
    output_tokens: Range[int]
    money: Range[Decimal] | None


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """The estimated cost of a run. Its ranges are sums over stages and therefore a little too wide.

    ``money`` is None if a price is unknown; ``without_price`` lists the models concerned.
    """

    stages: tuple[StageEstimate, ...]
    calls: int
    input_tokens: Range[int]
    output_tokens: Range[int]
    money: Range[Decimal] | None
    without_price: tuple[str, ...]


def count_request(request: ChatRequest, count_tokens: Callable[[str], int]) -> int:
    """Estimate how many tokens a server counts in a request, delimiters of messages included."""
    texts = (count_tokens(message.content) + _TOKENS_A_MESSAGE for message in request.messages)
    return sum(texts) + estimate_picture_tokens(request)


def plan_calls(
    model: str,
    requests: Iterable[ChatRequest],
    *,
    count_tokens: Callable[[str], int],
    max_output_tokens: int = 0,
) -> list[PlannedCalls]:
    """Return the calls that requests will make, grouped by stage and ordered by its name.

    ``max_output_tokens``, unless 0, is the model's own limit, which replaces that of requests.
    """
    stages: dict[str, list[int]] = {}
    for request in requests:
        sums = stages.setdefault(request.stage, [0, 0, 0])
        sums[0] += 1
        sums[1] += count_request(request, count_tokens)
        sums[2] += max_output_tokens or request.max_output_tokens
    return [PlannedCalls(stage, model, *sums) for stage, sums in sorted(stages.items())]


def estimate_run(
    sample: Sequence[SampledCall], planned: Iterable[PlannedCalls], *, prices: PriceTable
) -> RunEstimate:
    """Return the estimated cost of the planned calls, from sampled calls of the same stages.

    ``planned`` are the calls that the run will send: not those with a cached reply, which after
    sampling includes the sampled calls. The range of a stage with fewer than two sampled calls
    covers everything possible.
    """
    stages = []
    for plan in planned:
        calls = [call for call in sample if (call.stage, call.model) == (plan.stage, plan.model)]
        stages.append(_estimate_stage(plan, calls, prices))
    nothing = Range(0, 0, 0)
    missing = [stage.model for stage in stages if stage.calls and stage.money is None]
    known = [stage.money for stage in stages if stage.money is not None]
    zero = Decimal(0)
    return RunEstimate(
        stages=tuple(stages),
        calls=sum(stage.calls for stage in stages),
        input_tokens=sum((stage.input_tokens for stage in stages), nothing),
        output_tokens=sum((stage.output_tokens for stage in stages), nothing),
        money=None if missing else sum(known, Range(zero, zero, zero)),
        without_price=tuple(sorted(set(missing))),
    )


def _estimate_stage(
    plan: PlannedCalls, calls: Sequence[SampledCall], prices: PriceTable
) -> StageEstimate:
    counted = [call.counted_tokens for call in calls]
    inputs = [call.input_tokens for call in calls]
    outputs = [call.output_tokens for call in calls]
    most, price = plan.max_output_tokens, prices.price(plan.model)
    expected = _expected_tokens(counted, inputs, plan, plan.counted_tokens)
    error = ceil(expected * _COUNT_ERROR)
    tokens_in = _scale(counted, inputs, plan) or Range(expected - error, expected, expected + error)
    expected = _expected_tokens(counted, outputs, plan, most)
    tokens_out = _scale(counted, outputs, plan) or Range(0, expected, most)
    # The output limit bounds every call.
    tokens_out = Range(*(min(tokens, most) for tokens in astuple(tokens_out)))
    return StageEstimate(
        plan.stage,
        plan.model,
        plan.calls,
        len(calls),
        tokens_in,
        tokens_out,
        None if price is None else Range(*map(price.of, astuple(tokens_in), astuple(tokens_out))),
    )


def _scale(counted: Sequence[int], used: Sequence[int], plan: PlannedCalls) -> Range[int] | None:
    """Return the ratio estimate of the tokens that the plan uses; None for fewer than two calls."""
    n, total = len(counted), sum(counted)
    if n < 2 or not total:
        return None
    from scipy.special import stdtrit

    ratio = sum(used) / total
    residuals = sum((y - ratio * x) ** 2 for x, y in zip(counted, used, strict=True)) / (n - 1)
    size = plan.counted_tokens / (total / n)
    variance = residuals * (size**2 / n + size)
    expected = ratio * plan.counted_tokens
    margin = float(stdtrit(n - 1, (1 + _CONFIDENCE) / 2)) * sqrt(variance)
    return Range(max(0, floor(expected - margin)), round(expected), ceil(expected + margin))


def _expected_tokens(
    counted: Sequence[int], used: Sequence[int], plan: PlannedCalls, otherwise: int
) -> int:
    """Extrapolate the tokens of the plan from the first sampled call, if there is one."""
    if not counted or not counted[0]:
        return otherwise
    return round(used[0] / counted[0] * plan.counted_tokens)
