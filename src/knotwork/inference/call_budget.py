"""A ceiling on the tokens or the money of one run.

A call is reserved at an estimate before it is sent, and settled at its usage afterwards. The
ceiling is exceeded by no more than the error of the estimates.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from knotwork.errors import BudgetExceeded, ConfigError
from knotwork.inference.call_costs import PriceTable, count_request
from knotwork.inference.chat import ChatModel, ChatReply, ChatRequest, TokenUsage

OutputEstimate = Literal["mean", "most"]
"""Output reserved for a call: the mean of its stage so far, or all that the request allows."""

_CALLS_FOR_A_MEAN = 5
_CEILING = re.compile(r"(?P<sign>[$€£¥₩₹])?\s*(?P<number>[\d,_]*\.?\d+)\s*(?P<unit>[a-zA-Z]*)")
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}
_HOW_TO_WRITE = 'Write tokens as "200000", "200k" or "2M tokens", money as "5 money" or "5 EUR".'


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most that a run may cost. Money is in the currency in which prices are written."""

    amount: Decimal
    unit: Literal["tokens", "money"]

    def __str__(self) -> str:
        return f"{self.amount:,f} {'tokens' if self.unit == 'tokens' else 'of money'}"


def parse_ceiling(text: str) -> Ceiling:
    """Return the ceiling that a text states: a plain number is tokens, a currency makes it money.

    Raises ConfigError.
    """
    match = _CEILING.fullmatch(text.strip().removesuffix("tokens").strip())
    says_tokens = text.strip().endswith("tokens")
    if match:
        number = Decimal(match["number"].replace(",", "").replace("_", ""))
        sign, unit = match["sign"], match["unit"]
        is_currency = unit == "money" or (len(unit) == 3 and unit.isupper())
        if not says_tokens and (is_currency or (sign and not unit)):
            return Ceiling(number, "money")
        if not sign and unit.lower() in _FACTORS:
            return Ceiling(number * _FACTORS[unit.lower()], "tokens")
    raise ConfigError(f"`{text}` is not a budget.", fix=_HOW_TO_WRITE)


class _Reservation:
    """What is set aside for one call."""

    __slots__ = ("is_stream", "model", "usage")

    def __init__(self, model: str, usage: TokenUsage, *, is_stream: bool) -> None:
        self.model, self.usage, self.is_stream = model, usage, is_stream


class CallBudget:
    """Keeps the calls of one run, by any thread and to any model, under a ceiling.

    Share one among the models of all roles. A call that would fit but for others under way waits
    for them. ``count_tokens`` estimates a text; ``max_output_tokens``, unless 0, is the limit that
    the models set in place of that of requests. The spending is that of this object: a later run
    has a budget of its own, and what the first finished comes from the cache at no cost.
    """

    def __init__(
        self,
        ceiling: Ceiling,
        *,
        count_tokens: Callable[[str], int],
        prices: PriceTable | None = None,
        output_estimate: OutputEstimate = "mean",
        max_output_tokens: int = 0,
    ) -> None:
        self.ceiling = ceiling
        self._count_tokens = count_tokens
        self._prices = prices or PriceTable()
        self._output_estimate = output_estimate
        self._max_output_tokens = max_output_tokens
        self._changed = threading.Condition()
        self._spent: dict[str, TokenUsage] = {}
        self._reserved: list[_Reservation] = []
        self._outputs: dict[tuple[str, str], tuple[int, int]] = {}

    def spent(self) -> TokenUsage:
        """Return the usage of all calls that ended."""
        with self._changed:
            return sum(self._spent.values(), TokenUsage())

    def money(self) -> Decimal | None:
        """Return what they cost, or None when a model that was used has no price."""
        with self._changed:
            return self._prices.money(self._spent.items())

    def estimate(self, request: ChatRequest, text: str) -> TokenUsage:
        """Return about what a call cost of whose reply only ``text`` came."""
        return TokenUsage(count_request(request, self._count_tokens), self._count_tokens(text), 1)

    @contextmanager
    def call(
        self, model: str, request: ChatRequest, *, is_stream: bool = False
    ) -> Iterator[Callable[[TokenUsage], None]]:
        """Set aside what a call may cost while it is under way; give its usage to what is yielded.

        A call that fails is taken to have cost nothing. Raises BudgetExceeded when the call would
        go beyond the ceiling, ConfigError when it has no price and the ceiling is one of money.
        """
        reservation = self._reserve(model, request, is_stream=is_stream)
        used = TokenUsage()

        def settle(usage: TokenUsage) -> None:
            nonlocal used
            used = usage

        try:
            yield settle
        finally:
            with self._changed:
                self._reserved.remove(reservation)
                self._settle(model, request.stage, used)
                self._changed.notify_all()

    def _reserve(self, model: str, request: ChatRequest, *, is_stream: bool) -> _Reservation:
        if self.ceiling.unit == "money" and self._prices.price(model) is None:
            raise ConfigError(
                f"The price of `{model}` is not known, so a budget of money cannot be kept.",
                fix="State the price of its tokens, or give the budget in tokens.",
            )
        input_tokens = count_request(request, self._count_tokens)
        with self._changed:
            while True:
                usage = TokenUsage(input_tokens, self._expected_output(model, request), 1)
                reservation = _Reservation(model, usage, is_stream=is_stream)
                if self._fits([*self._reserved, reservation]):
                    self._reserved.append(reservation)
                    return reservation
                # Streams are not waited for: whoever reads one may be this very thread.
                lasting = [held for held in self._reserved if held.is_stream]
                others_end = len(lasting) < len(self._reserved)
                if not others_end or not self._fits([*lasting, reservation]):
                    raise self._exceeded(model, request, usage)
                self._changed.wait()

    def _expected_output(self, model: str, request: ChatRequest) -> int:
        calls, tokens = self._outputs.get((model, request.stage), (0, 0))
        if self._output_estimate == "most" or calls < _CALLS_FOR_A_MEAN:
            return self._max_output_tokens or request.max_output_tokens
        return -(-tokens // calls)

    def _fits(self, reserved: list[_Reservation]) -> bool:
        return self._cost(reserved) <= self.ceiling.amount

    def _cost(self, reserved: list[_Reservation]) -> Decimal:
        parts = [*self._spent.items(), *((held.model, held.usage) for held in reserved)]
        if self.ceiling.unit == "tokens":
            return Decimal(sum(usage.input_tokens + usage.output_tokens for _, usage in parts))
        money = self._prices.money(parts)
        assert money is not None  # no call without a price is reserved
        return money

    def _settle(self, model: str, stage: str, usage: TokenUsage) -> None:
        if not usage.calls:
            return
        self._spent[model] = self._spent.get(model, TokenUsage()) + usage
        calls, tokens = self._outputs.get((model, stage), (0, 0))
        self._outputs[model, stage] = (calls + usage.calls, tokens + usage.output_tokens)

    def _exceeded(self, model: str, request: ChatRequest, usage: TokenUsage) -> BudgetExceeded:
        spent = sum(self._spent.values(), TokenUsage())
        tokens = spent.input_tokens + spent.output_tokens
        cost = f"{tokens:,} tokens"
        if self.ceiling.unit == "money":
            cost = f"{self._cost([]):,f} of money ({cost})"
        stage = f" for `{request.stage}`" if request.stage else ""
        calls = f"{spent.calls:,} call{'' if spent.calls == 1 else 's'}"
        return BudgetExceeded(
            f"The budget of {self.ceiling} is reached: {cost} went into {calls}, "
            f"and the next one{stage} (about {usage.input_tokens:,} tokens in and "
            f"{usage.output_tokens:,} out, to `{model}`) would go beyond it.",
            fix="Run the same command again, with the same budget or a higher one: it goes on from "
            "here, as finished calls are kept.",
        )


class BudgetedChatModel:
    """Wraps a chat model with a budget; implements `ChatModel`. Goes inside the cache."""

    def __init__(self, model: ChatModel, budget: CallBudget) -> None:
        self._model = model
        self._budget = budget

    @property
    def name(self) -> str:
        return self._model.name

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply; raises BudgetExceeded before anything is sent."""
        with self._budget.call(self.name, request) as settle:
            reply = self._model.complete(request)
            settle(_at_least_one_call(reply.usage))
            return reply

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Yield the reply; one that is left early counts at what was asked and what had come."""
        with self._budget.call(self.name, request, is_stream=True) as settle:
            pieces: list[str] = []
            try:
                for item in self._model.stream(request):
                    if isinstance(item, ChatReply):
                        pieces.clear()
                        settle(_at_least_one_call(item.usage))
                    else:
                        pieces.append(item)
                    yield item
            finally:
                if pieces:
                    settle(self._budget.estimate(request, "".join(pieces)))


def _at_least_one_call(usage: TokenUsage) -> TokenUsage:
    return usage if usage.calls or usage.reused else usage + TokenUsage(calls=1)
