"""Cost estimates of a run: accurate on average, with ranges for what is unknown."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.inference.chat_fakes import ask

from knotwork._extensions.model_indexing.run_estimates import (
    PlannedCalls,
    Range,
    SampledCall,
    estimate_run,
    plan_calls,
)
from knotwork._inference.call_costs import PriceTable, count_request
from knotwork._inference.chat import ChatRequest, Message

PRICES = PriceTable.read(["m 1 10", "free 0 0"])
NO_PRICES = PriceTable()


def simulate(chance: random.Random) -> SampledCall:
    """Make a call whose server counts differently, and says much or little about the same."""
    counted = chance.randint(200, 1_500)
    asked = round(counted * chance.gauss(1.2, 0.05))
    said = min(2_000, round(counted * chance.lognormvariate(-1.2, 0.4)))
    return SampledCall("extract", "m", counted, asked, said)


def test_ranges_hold_what_runs_cost_about_nine_times_in_ten():
    chance = random.Random(11)
    runs, held_in, held_out, ratios = 200, 0, 0, []
    for _ in range(runs):
        calls = [simulate(chance) for _ in range(120)]
        sample, rest = calls[:20], calls[20:]
        plan = PlannedCalls("extract", "m", 100, sum(c.counted_tokens for c in rest), 200_000)
        estimate = estimate_run(sample, [plan], prices=PRICES)
        asked, said = (sum(c.input_tokens for c in rest), sum(c.output_tokens for c in rest))
        held_in += estimate.input_tokens.low <= asked <= estimate.input_tokens.high
        held_out += estimate.output_tokens.low <= said <= estimate.output_tokens.high
        ratios.append(estimate.output_tokens.expected / said)
    assert 0.82 <= held_in / runs <= 0.97
    assert 0.82 <= held_out / runs <= 0.97
    assert sum(ratios) / runs == pytest.approx(1, abs=0.03)


sampled = st.builds(
    SampledCall,
    stage=st.sampled_from(["a", "b"]),
    model=st.sampled_from(["m", "free"]),
    counted_tokens=st.integers(0, 2_000),
    input_tokens=st.integers(0, 2_000),
    output_tokens=st.integers(0, 2_000),
)
plans = st.builds(
    PlannedCalls,
    stage=st.sampled_from(["a", "b", "c"]),
    model=st.sampled_from(["m", "free"]),
    calls=st.integers(0, 500),
    counted_tokens=st.integers(0, 100_000),
    max_output_tokens=st.integers(0, 100_000),
)


@given(st.lists(sampled, max_size=8), st.lists(plans, max_size=4))
def test_any_estimate_is_in_order_and_adds_up(sample, planned):
    estimate = estimate_run(sample, planned, prices=PRICES)
    for stage, plan in zip(estimate.stages, planned, strict=True):
        for tokens in (stage.input_tokens, stage.output_tokens):
            assert 0 <= tokens.low <= tokens.expected <= tokens.high
        assert stage.output_tokens.high <= plan.max_output_tokens
        assert stage.money is not None
        price = PRICES.price(plan.model)
        assert price is not None
        assert stage.money.expected == price.of(
            stage.input_tokens.expected, stage.output_tokens.expected
        )
    for name in ("low", "expected", "high"):
        assert getattr(estimate.input_tokens, name) == sum(
            getattr(stage.input_tokens, name) for stage in estimate.stages
        )
        assert getattr(estimate.money, name) == sum(
            getattr(stage.money, name) for stage in estimate.stages
        )


def test_calls_that_are_all_alike_leave_no_doubt():
    sample = [SampledCall("s", "m", 100, 120, 30)] * 4
    estimate = estimate_run(sample, [PlannedCalls("s", "m", 50, 5_000, 50_000)], prices=PRICES)
    assert estimate.input_tokens == Range(6_000, 6_000, 6_000)
    assert estimate.output_tokens == Range(1_500, 1_500, 1_500)
    exact = Decimal("0.021")
    assert estimate.money == Range(exact, exact, exact)
    assert estimate.calls == 50


def test_without_a_sample_a_stage_has_what_is_possible_as_its_range():
    plan = PlannedCalls("s", "m", 10, 1_000, 400)
    unseen = estimate_run([SampledCall("other", "m", 1, 1, 1)] * 9, [plan], prices=NO_PRICES)
    assert unseen.input_tokens == Range(750, 1_000, 1_250)
    assert unseen.output_tokens == Range(0, 400, 400)
    assert unseen.stages[0].sampled == 0
    once = estimate_run([SampledCall("s", "m", 100, 200, 10)], [plan], prices=NO_PRICES)
    assert once.input_tokens == Range(1_500, 2_000, 2_500)
    assert once.output_tokens == Range(0, 100, 400)


def test_money_of_a_model_without_a_price_is_unknown_and_the_model_named():
    planned = [PlannedCalls("s", "m", 1, 10, 10), PlannedCalls("t", "new", 1, 10, 10)]
    estimate = estimate_run([], planned, prices=PRICES)
    assert estimate.money is None
    assert estimate.without_price == ("new",)
    assert estimate.stages[0].money is not None
    nothing_to_do = estimate_run([], [PlannedCalls("t", "new", 0, 0, 0)], prices=PRICES)
    assert nothing_to_do.money == Range(Decimal(0), Decimal(0), Decimal(0))


def test_plans_come_from_requests():
    requests = [
        ChatRequest((Message("system", "abc"), Message("user", "de")), 50, stage="b"),
        ask("xyz", max_output_tokens=7, stage="a"),
        ask("x", max_output_tokens=7, stage="a"),
    ]
    assert count_request(requests[0], len) == 3 + 2 + 2 * 4
    assert plan_calls("m", requests, count_tokens=len) == [
        PlannedCalls("a", "m", 2, 12, 14),
        PlannedCalls("b", "m", 1, 13, 50),
    ]
    thinking = plan_calls("m", requests[1:], count_tokens=len, max_output_tokens=5_000)
    assert thinking == [PlannedCalls("a", "m", 2, 12, 10_000)]
