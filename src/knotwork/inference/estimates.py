"""What a run will cost, from a sample of its calls: tokens in and out, money, each with a range.

The ratio estimator of survey sampling (W. G. Cochran, Sampling Techniques, 3rd ed. 1977, ch. 6):
what a server counts, in and out, is about proportional to our own count of what is asked, which is
known for every call of the run. Of ``n`` sampled calls, ``x`` is our count, ``y`` the server's,
``R = sum(y) / sum(x)`` and ``s^2 = sum((y - R x)^2) / (n - 1)``. Calls of ``X`` counted tokens in
all, as much as ``N = X / mean(x)`` like those of the sample, use ``R X``, give or take
``t s sqrt(N^2 / n + N)``: the first part as ``R`` is not known well, the second as calls differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil, floor, sqrt

from knotwork.inference.chat import ChatReply, ChatRequest
from knotwork.inference.prices import PriceTable

_TOKENS_A_MESSAGE = 4
_CONFIDENCE = 0.9
_COUNT_ERROR = 0.25
"""How far our count of tokens may be from a server's, where no call has shown it."""


@dataclass(frozen=True, slots=True)
class SampledCall:
    """A call that was made: the tokens we counted in its request, and those its server counted."""

    stage: str
    model: str
    counted_tokens: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class PlannedCalls:
    """Calls still to make in one stage; ``counted_tokens`` of all, output limit of all."""

    stage: str
    model: str
    calls: int
    counted_tokens: int
    max_output_tokens: int


@dataclass(frozen=True, slots=True)
class Range:
    """What is expected, and between what it lies nine times in ten."""

    low: int
    expected: int
    high: int

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.expected + other.expected, self.high + other.high)


@dataclass(frozen=True, slots=True)
class MoneyRange:
    """What is expected to be paid, and between what it lies nine times in ten."""

    low: Decimal
    expected: Decimal
    high: Decimal

    def __add__(self, other: MoneyRange) -> MoneyRange:
        return MoneyRange(
            self.low + other.low, self.expected + other.expected, self.high + other.high
        )


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """What one stage will cost at one model; ``sampled`` calls say so (with none, a bound).

    ``money`` is None where the price is not known.
    """

    stage: str
    model: str
    calls: int
    sampled: int
    input_tokens: Range
    output_tokens: Range
    money: MoneyRange | None


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What a run will cost. Ranges are sums of those of its stages, so rather too wide.

    ``money`` is None when a price is not known; ``without_price`` are the models concerned.
    """

    stages: tuple[StageEstimate, ...]
    calls: int
    input_tokens: Range
    output_tokens: Range
    money: MoneyRange | None
    without_price: tuple[str, ...]


def count_request(request: ChatRequest, count_tokens: Callable[[str], int]) -> int:
    """Return about how many tokens a server counts in a request, marks between turns included."""
    texts = [message.content for message in request.messages]
    if request.schema:
        texts.append(request.schema)
    return sum(count_tokens(text) + _TOKENS_A_MESSAGE for text in texts)


def sample_call(
    model: str, request: ChatRequest, reply: ChatReply, *, count_tokens: Callable[[str], int]
) -> SampledCall:
    """Return what a call that was made tells of others like it."""
    counted = count_request(request, count_tokens)
    usage = reply.usage
    if not usage.input_tokens and not usage.output_tokens:
        # From the cache: it cost nothing, which says nothing of calls that will cost.
        return SampledCall(request.stage, model, counted, counted, count_tokens(reply.text))
    return SampledCall(request.stage, model, counted, usage.input_tokens, usage.output_tokens)


def plan_calls(
    model: str,
    requests: Iterable[ChatRequest],
    *,
    count_tokens: Callable[[str], int],
    max_output_tokens: int = 0,
) -> list[PlannedCalls]:
    """Return the calls that requests will make, by stage, ordered by its name.

    ``max_output_tokens``, unless 0, is the limit that the model sets in place of theirs.
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
    """Return what the planned calls will cost, by the sample of their stages and models.

    ``planned`` are the calls that the run will send: without those that the cache knows, and those
    of the sample, which are then kept too. A stage of which fewer than two calls were sampled has
    as its range what is possible at all.
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
        money=None if missing else sum(known, MoneyRange(zero, zero, zero)),
        without_price=tuple(sorted(set(missing))),
    )


def _estimate_stage(
    plan: PlannedCalls, calls: Sequence[SampledCall], prices: PriceTable
) -> StageEstimate:
    counted = [call.counted_tokens for call in calls]
    asked = [call.input_tokens for call in calls]
    said = [call.output_tokens for call in calls]
    most = plan.max_output_tokens
    tokens_in = _scale(counted, asked, plan)
    if tokens_in is None:
        expected = _expect(counted, asked, plan, plan.counted_tokens)
        error = ceil(expected * _COUNT_ERROR)
        tokens_in = Range(expected - error, expected, expected + error)
    tokens_out = _scale(counted, said, plan) or Range(0, _expect(counted, said, plan, most), most)
    # No call has an output beyond its limit.
    tokens_out = Range(*(min(tokens, most) for tokens in _parts(tokens_out)))
    price = prices.price(plan.model)
    money = None
    if price is not None:
        pairs = zip(_parts(tokens_in), _parts(tokens_out), strict=True)
        money = MoneyRange(*(price.of(*pair) for pair in pairs))
    return StageEstimate(
        plan.stage, plan.model, plan.calls, len(calls), tokens_in, tokens_out, money
    )


def _scale(counted: Sequence[int], used: Sequence[int], plan: PlannedCalls) -> Range | None:
    """Return the ratio estimate of the tokens that the plan uses; None of fewer than two calls."""
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


def _expect(counted: Sequence[int], used: Sequence[int], plan: PlannedCalls, otherwise: int) -> int:
    """Return what to expect by one sampled call, or without any."""
    if not counted or not counted[0]:
        return otherwise
    return round(used[0] / counted[0] * plan.counted_tokens)


def _parts(tokens: Range) -> tuple[int, int, int]:
    return tokens.low, tokens.expected, tokens.high
