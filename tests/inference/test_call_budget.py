"""Budgets hold with concurrent calls, and their errors explain how to continue."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.inference.chat_fakes import EchoModel, ask

from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._extensions.testing.model_contracts import ChatModelContract, explain
from knotwork._inference.call_budget import CallBudget, Ceiling, parse_ceiling
from knotwork._inference.call_cache import CachedChatModel, CallCache
from knotwork._inference.call_costs import PriceTable, count_request
from knotwork._inference.call_limits import LimitedChat
from knotwork._inference.chat import ChatModel, ChatReply, TokenUsage
from knotwork._text.token_counts import count_tokens
from knotwork.errors import BudgetExceeded, ConfigError, ModelError, ModelUnavailable

PRICES = PriceTable.read(["fake:cheap 0.1 0.7", "fake:* 1 10"])


def tokens(amount) -> Ceiling:
    return Ceiling(Decimal(amount), "tokens")


def money(amount) -> Ceiling:
    return Ceiling(Decimal(amount), "money")


def exact(request) -> ChatReply:
    """Use just what a budget by `len` expects: input as counted, and all the output allowed."""
    usage = TokenUsage(count_request(request, len), request.max_output_tokens, 1)
    for _ in range(20):
        time.sleep(0)  # let other threads make their calls
    return ChatReply("x", usage=usage)


def cost_of(request) -> int:
    return count_request(request, len) + request.max_output_tokens


wanted = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 60)), max_size=16)


@given(wanted, st.integers(0, 600), st.booleans())
def test_exact_estimates_never_pass_the_ceiling(sizes, ceiling, in_money):
    unit = money(Decimal(ceiling) / 100_000) if in_money else tokens(ceiling)
    # Of equal outputs the mean is exact too.
    sizes = [(asked, 20) for asked, _ in sizes]
    budget = CallBudget(unit, count_tokens=len, prices=PRICES)
    inner = EchoModel(exact)
    model = LimitedChat(inner, budget=budget)

    def call(size) -> int:
        request = ask("x" * size[0], max_output_tokens=size[1])
        try:
            usage = model.complete(request).usage
        except BudgetExceeded:
            return 0
        return usage.input_tokens + usage.output_tokens

    with ThreadPoolExecutor(4) as pool:
        used = sum(pool.map(call, sizes))
    spent = budget.spent()
    assert spent.input_tokens + spent.output_tokens == used
    assert spent.calls == len(inner.requests)
    assert (budget.money() if in_money else used) <= unit.amount
    assert budget.money() == PRICES.money([("fake:echo", spent)])


@given(wanted, st.integers(0, 600))
def test_a_call_alone_is_refused_exactly_when_it_does_not_fit(sizes, ceiling):
    budget = CallBudget(tokens(ceiling), count_tokens=len)
    model = LimitedChat(EchoModel(exact), budget=budget)
    left = ceiling
    for number, (asked, said) in enumerate(sizes):
        # A stage of its own, so that no mean takes the place of the limit.
        request = ask("x" * asked, max_output_tokens=said, stage=str(number))
        if cost_of(request) <= left:
            model.complete(request)
            left -= cost_of(request)
        else:
            with pytest.raises(BudgetExceeded):
                model.complete(request)
    spent = budget.spent()
    assert spent.input_tokens + spent.output_tokens == ceiling - left


def test_a_call_that_only_others_under_way_keep_out_waits_for_them():
    inner = EchoModel(lambda request: ChatReply("x", usage=TokenUsage(5, 10, 1)))
    inner.gate.clear()
    budget = CallBudget(tokens(200), count_tokens=len)
    model = LimitedChat(inner, budget=budget)
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(model.complete, ask("x", max_output_tokens=150)) for _ in range(2)]
        assert inner.arrived.acquire(timeout=30)
        assert len(inner.requests) == 1  # 155 of 200 are set aside
        inner.gate.set()
        for future in futures:
            future.result(30)
    assert budget.spent() == TokenUsage(10, 20, 2)


def test_the_mean_of_a_stage_takes_the_place_of_its_limit():
    inner = EchoModel(lambda request: ChatReply("x", usage=TokenUsage(5, 10, 1)))
    budget = CallBudget(tokens(1_000 + 5 * 15 - 1), count_tokens=len)
    model = LimitedChat(inner, budget=budget)
    request = ask("x", max_output_tokens=995, stage="extract")
    for _ in range(5):
        model.complete(ask("x", max_output_tokens=50, stage="extract"))
    model.complete(request)  # would not fit at 995
    with pytest.raises(BudgetExceeded):
        model.complete(ask("x", max_output_tokens=995, stage="answer"))


def test_the_limit_of_models_replaces_the_limit_of_requests():
    budget = CallBudget(tokens(100), count_tokens=len, max_output_tokens=2_000)
    with pytest.raises(BudgetExceeded, match="2,000 out"):
        LimitedChat(EchoModel(), budget=budget).complete(ask("x", max_output_tokens=5))


def test_models_share_a_budget_at_their_own_prices():
    budget = CallBudget(money("0.00008"), count_tokens=len, prices=PRICES)
    dear, cheap = (
        LimitedChat(EchoModel(exact, name=name), budget=budget)
        for name in ("fake:dear", "fake:cheap")
    )
    request = ask("x", max_output_tokens=5)
    dear.complete(request)
    assert budget.money() == Decimal("0.000055")
    with pytest.raises(BudgetExceeded, match=r"0\.000055 of money \(10 tokens\)"):
        dear.complete(request)
    for _ in range(6):
        cheap.complete(request)
    assert budget.money() == Decimal("0.000079")


def test_no_budget_of_money_without_a_price():
    budget = CallBudget(money(5), count_tokens=len, prices=PRICES)
    inner = EchoModel(name="other:model")
    with pytest.raises(ConfigError, match="`other:model` has no price"):
        LimitedChat(inner, budget=budget).complete(ask("x"))
    assert inner.requests == []


def test_the_error_says_what_was_spent_and_how_to_go_on_and_going_on_works():
    cache = CallCache(":memory:")
    inner = EchoModel(exact)
    texts = [f"{number:02}" for number in range(10)]

    def run() -> tuple[int, BudgetExceeded | None]:
        budget = CallBudget(tokens(80), count_tokens=len)
        model = CachedChatModel(LimitedChat(inner, budget=budget), cache)
        for done, text in enumerate(texts):
            try:
                model.complete(ask(text, max_output_tokens=10, stage="extract"))
            except BudgetExceeded as error:
                return done, error
        return len(texts), None

    done, error = run()
    assert done == 5
    assert error is not None
    assert "budget of 80 tokens is reached: 5 calls used 80 tokens" in error.message
    assert "the next call for `extract` (about 6 tokens in and 10 out" in error.message
    assert "continues from here" in error.fix
    assert [run(), run()] == [(10, None), (10, None)]
    assert len(inner.requests) == 10
    cache.close()


def test_a_failed_call_gives_back_what_was_set_aside():
    def fail(_):
        raise ModelUnavailable("away")

    budget = CallBudget(tokens(20), count_tokens=len)
    for _ in range(3):
        with pytest.raises(ModelUnavailable):
            LimitedChat(EchoModel(fail), budget=budget).complete(ask("x", max_output_tokens=10))
    assert budget.spent() == TokenUsage()
    LimitedChat(EchoModel(exact), budget=budget).complete(ask("x", max_output_tokens=10))


def test_streams_count_whole_or_left_and_are_not_waited_for():
    budget = CallBudget(tokens(100), count_tokens=len)
    inner = EchoModel()
    model = LimitedChat(inner, budget=budget)
    assert list(model.stream(ask("abc", max_output_tokens=50)))[-1].usage == TokenUsage(3, 7, 1)
    assert budget.spent() == TokenUsage(3, 7, 1)
    left = model.stream(ask("abc", max_output_tokens=50))
    assert next(left) == "re:"
    with pytest.raises(BudgetExceeded):  # it would wait for itself for ever
        model.complete(ask("abc", max_output_tokens=50))
    left.close()
    assert budget.spent() == TokenUsage(3 + 7, 7 + 3, 2)
    model.complete(ask("abc", max_output_tokens=50))


def test_an_error_while_waiting_wakes_the_others():
    def fail(_):
        raise ModelUnavailable("away")

    inner = EchoModel(fail)
    inner.gate.clear()
    model = LimitedChat(inner, budget=CallBudget(tokens(60), count_tokens=len))
    failed = threading.Semaphore(0)

    def call() -> None:
        with pytest.raises(ModelUnavailable):
            model.complete(ask("x", max_output_tokens=50))
        failed.release()

    with ThreadPoolExecutor(4) as pool:
        for _ in range(4):
            pool.submit(call)
        inner.gate.set()
        assert all(failed.acquire(timeout=30) for _ in range(4))


@pytest.mark.parametrize(
    ("text", "ceiling"),
    [
        ("200000", tokens(200_000)),
        ("200_000 tokens", tokens(200_000)),
        ("200k", tokens(200_000)),
        ("1.5M tokens", tokens(1_500_000)),
        ("2,000,000tokens", tokens(2_000_000)),
        ("5 money", money(5)),
        ("2.50 EUR", money("2.50")),
        ("$0.5", money("0.5")),
        ("¥ 20", money(20)),
        (".5USD", money("0.5")),
        ("0", tokens(0)),
    ],
)
def test_ceilings_are_read(text, ceiling):
    assert parse_ceiling(text) == ceiling


@pytest.mark.parametrize(
    "text", ["", "tokens", "5 tokns", "-5", "5 eur", "$5k", "EUR 5 tokens", "1e9 x"]
)
def test_invalid_limits_are_refused(text):
    with pytest.raises(ConfigError, match="is not a budget"):
        parse_ceiling(text)


class TestContract(ChatModelContract):
    """A model under a budget that suffices does all that a chat model does."""

    @pytest.fixture
    def scripted(self):
        return ScriptedChatModel(explain)

    @pytest.fixture
    def model(self, scripted) -> ChatModel:
        return LimitedChat(scripted, budget=CallBudget(tokens(10**9), count_tokens=count_tokens))

    @pytest.fixture
    def sent(self, scripted):
        return lambda: "\n".join(
            message.content for request in scripted.requests for message in request.messages
        )

    @pytest.fixture
    def unavailable(self) -> ChatModel:
        failing = ScriptedChatModel(lambda _: ModelUnavailable("away"))
        return LimitedChat(failing, budget=CallBudget(tokens(10**9), count_tokens=count_tokens))

    @pytest.fixture
    def refusing(self) -> ChatModel:
        failing = ScriptedChatModel(lambda _: ModelError("no"))
        return LimitedChat(failing, budget=CallBudget(tokens(10**9), count_tokens=count_tokens))
