"""Estimate what a run of model calls costs.

A run is estimated from a sample of its calls, by the ratio estimator of survey sampling (W. G.
Cochran, Sampling Techniques, 3rd ed. 1977, ch. 6): the server's token count is about proportional
to our own count of the request, which is known for every call of the run. For ``n`` sampled calls,
``x`` is our count, ``y`` the server's, ``R = sum(y) / sum(x)`` and ``s^2 = sum((y - R x)^2) / (n -
1)``. Calls with ``X`` counted tokens in total, which are ``N = X / mean(x)`` calls like the sampled
ones, use ``R X`` tokens, plus or minus ``t s sqrt(N^2 / n + N)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from decimal import Decimal
from math import ceil, floor, sqrt
from typing import Generic, TypeVar

from knotwork._inference.call_costs import PriceTable, count_request
from knotwork._inference.chat import ChatRequest, TokenUsage

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


@dataclass(frozen=True, slots=True)
class IndexEstimate:
    """What a model would read in a run, and at what cost.

    It would read ``documents`` with ``chunks`` of ``text_tokens``. The replies for ``kept`` chunks
    are cached and cost nothing; ``sampled`` chunks were sent for this estimate and cost ``spent``.
    The replies about ``readable`` of them could be used. ``pictures`` would be described, and the
    model would read that as well, which is not counted. ``run`` is the cost of the rest. ``notes``
    are for the user, about settings without effect.
    """

    documents: int
    chunks: int
    text_tokens: int
    kept: int
    sampled: int
    spent: TokenUsage
    run: RunEstimate
    readable: int = 0
    pictures: int = 0
    notes: tuple[str, ...] = ()
