"""Limit the tokens or the money that one run may spend.

A call reserves its estimated usage before it is sent and is charged its actual usage afterwards.
The ceiling is exceeded by no more than the error of the estimates.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from knotwork._inference.call_costs import PriceTable, count_request
from knotwork._inference.chat import ChatReply, ChatRequest, TokenUsage
from knotwork.errors import BudgetExceeded, ConfigError

_CALLS_FOR_A_MEAN = 5
"""Calls of a stage after which the mean of their outputs is reserved, not the request's limit."""
_CEILING = re.compile(r"(?P<sign>[$€£¥₩₹])?\s*(?P<number>[\d,_]*\.?\d+)\s*(?P<unit>[a-zA-Z]*)")
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}
_HOW_TO_WRITE = 'Write tokens as "200000", "200k" or "2M tokens", money as "5 money" or "5 EUR".'


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The most that a run may cost. Money is in the currency of the configured prices."""

    amount: Decimal
    unit: Literal["tokens", "money"]

    def __str__(self) -> str:
        return f"{self.amount:,f} {'tokens' if self.unit == 'tokens' else 'of money'}"


def parse_ceiling(text: str) -> Ceiling:
    """Return the ceiling that a text states: tokens for a plain number, money with a currency.

    Raises ConfigError if the text is neither.
    """
    match = _CEILING.fullmatch(text.strip().removesuffix("tokens").strip())
    has_token_unit = text.strip().endswith("tokens")
    if match:
        number = Decimal(match["number"].replace(",", "").replace("_", ""))
        sign, unit = match["sign"], match["unit"]
        is_currency = unit == "money" or (len(unit) == 3 and unit.isupper())
        if not has_token_unit and (is_currency or (sign and not unit)):
            return Ceiling(number, "money")
        if not sign and unit.lower() in _FACTORS:
            return Ceiling(number * _FACTORS[unit.lower()], "tokens")
    raise ConfigError(f"`{text}` is not a budget.", fix=_HOW_TO_WRITE)


@dataclass(slots=True)
class CallInProgress:
    """What a call has brought: the pieces of a stream, and in the end its reply."""

    pieces: list[str] = field(default_factory=list)
    reply: ChatReply | None = None

    def add(self, item: str | ChatReply) -> None:
        """Add what a stream yields, or the reply of a call."""
        if isinstance(item, ChatReply):
            self.reply = item
        else:
            self.pieces.append(item)


@dataclass(frozen=True, slots=True, eq=False)
class _Reservation:
    """The estimated usage of a call in progress."""

    model: str
    usage: TokenUsage
    is_stream: bool


class CallBudget:
    """Keeps the calls of one run, from any thread and to any model, under a ceiling.

    Share one among the models of all roles. A call that does not fit only because of calls in
    progress waits for them. ``count_tokens`` estimates the tokens of a text. ``max_output_tokens``,
    unless 0, is the output limit of the models, which replaces that of requests. Only the spending
    through this object counts: a later run has its own budget, and gets what was finished from the
    cache at no cost.
    """

    def __init__(
        self,
        ceiling: Ceiling,
        *,
        count_tokens: Callable[[str], int],
        prices: PriceTable | None = None,
        max_output_tokens: int = 0,
    ) -> None:
        self.ceiling = ceiling
        self._count_tokens = count_tokens
        self._prices = prices or PriceTable()
        self._max_output_tokens = max_output_tokens
        self._changed = threading.Condition()
        self._spent: dict[tuple[str, str], TokenUsage] = {}
        """By model and stage."""
        self._reserved: list[_Reservation] = []

    def spent(self) -> TokenUsage:
        """Return the usage of all finished calls."""
        with self._changed:
            return sum(self._spent.values(), TokenUsage())

    def money(self) -> Decimal | None:
        """Return the cost of all finished calls, or None if a model that was used has no price."""
        with self._changed:
            return self._money([])

    def affordable(self, model: str, requests: Sequence[ChatRequest]) -> int:
        """Return how many of these requests, in order, fit into what is left.

        Raises ConfigError if the ceiling is monetary and the model has no price.
        """
        self._require_price(model)
        with self._changed:
            total = TokenUsage()
            for count, request in enumerate(requests):
                total += self._expect(model, request)
                if not self._fits([*self._reserved, _Reservation(model, total, is_stream=False)]):
                    return count
        return len(requests)

    def charge(self, model: str, request: ChatRequest, usage: TokenUsage) -> None:
        """Count a call that was made without `call`."""
        with self._changed:
            key = model, request.stage
            self._spent[key] = self._spent.get(key, TokenUsage()) + usage
            self._changed.notify_all()

    @contextmanager
    def call(
        self, model: str, request: ChatRequest, *, is_stream: bool = False
    ) -> Iterator[CallInProgress]:
        """Reserve the estimated cost of a call for as long as it runs.

        A stream that ends without a reply is charged for the request and its pieces, any other call
        without one counts as free. Raises BudgetExceeded if the call would exceed the ceiling, and
        ConfigError if the ceiling is monetary and the model has no price.
        """
        reservation = self._reserve(model, request, is_stream=is_stream)
        call = CallInProgress()
        try:
            yield call
        finally:
            used = TokenUsage()
            if call.reply is not None:
                used = call.reply.usage.with_a_call()
            elif call.pieces:
                output = self._count_tokens("".join(call.pieces))
                used = TokenUsage(count_request(request, self._count_tokens), output, 1)
            with self._changed:
                self._reserved.remove(reservation)
                self.charge(model, request, used)

    def _reserve(self, model: str, request: ChatRequest, *, is_stream: bool) -> _Reservation:
        self._require_price(model)
        with self._changed:
            while True:
                reservation = _Reservation(model, self._expect(model, request), is_stream)
                if self._fits([*self._reserved, reservation]):
                    self._reserved.append(reservation)
                    return reservation
                # Do not wait for streams: their reader may be this very thread.
                streams = [held for held in self._reserved if held.is_stream]
                others_will_end = len(streams) < len(self._reserved)
                if not others_will_end or not self._fits([*streams, reservation]):
                    raise self._exceeded(reservation, request.stage)
                self._changed.wait()

    def _require_price(self, model: str) -> None:
        if self.ceiling.unit == "money" and self._prices.price(model) is None:
            raise ConfigError(
                f"The model `{model}` has no price, so a monetary budget cannot be enforced.",
                fix="Set its token prices in llm.prices, or give the budget in tokens.",
            )

    def _expect(self, model: str, request: ChatRequest) -> TokenUsage:
        """Estimate the usage of a call before it is made."""
        past = self._spent.get((model, request.stage), TokenUsage())
        output = self._max_output_tokens or request.max_output_tokens
        if past.calls >= _CALLS_FOR_A_MEAN:
            output = -(-past.output_tokens // past.calls)
        return TokenUsage(count_request(request, self._count_tokens), output, 1)

    def _fits(self, reserved: Sequence[_Reservation]) -> bool:
        if self.ceiling.unit == "tokens":
            usages = (*self._spent.values(), *(held.usage for held in reserved))
            return sum(usage.tokens for usage in usages) <= self.ceiling.amount
        money = self._money(reserved)
        return money is not None and money <= self.ceiling.amount

    def _money(self, reserved: Sequence[_Reservation]) -> Decimal | None:
        spent = [(model, usage) for (model, _), usage in self._spent.items()]
        return self._prices.money([*spent, *((held.model, held.usage) for held in reserved)])

    def _exceeded(self, next_call: _Reservation, stage: str) -> BudgetExceeded:
        spent = sum(self._spent.values(), TokenUsage())
        cost = f"{spent.tokens:,} tokens"
        if self.ceiling.unit == "money":
            cost = f"{self._money([]):,f} of money ({cost})"
        of_stage = f" for `{stage}`" if stage else ""
        calls = f"{spent.calls:,} call{'' if spent.calls == 1 else 's'}"
        usage = next_call.usage
        return BudgetExceeded(
            f"The budget of {self.ceiling} is reached: {calls} used {cost}, "
            f"and the next call{of_stage} (about {usage.input_tokens:,} tokens in and "
            f"{usage.output_tokens:,} out, to `{next_call.model}`) would exceed it.",
            fix="Run the same command again, with the same budget or a higher one. It continues "
            "from here, since finished calls are cached.",
        )
