"""Prices from the settings; a model without a price has an unknown cost, not zero."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._inference.call_costs import Price, PriceTable
from knotwork._inference.chat import TokenUsage
from knotwork.errors import ConfigError

TABLE = PriceTable.read(["openai:gpt-*-mini 0.15 0.6", "openai:* 2.5 10", "local:* 0 0"])


def test_the_first_pattern_that_fits_counts():
    assert TABLE.price("openai:gpt-4o-mini") == Price(Decimal("0.15"), Decimal("0.6"))
    assert TABLE.price("openai:gpt-4o") == Price(Decimal("2.5"), Decimal(10))
    assert TABLE.price("OpenAI:gpt-4o") is None
    assert TABLE
    assert not PriceTable()


def test_a_price_is_what_is_written_and_not_the_nearest_binary_number():
    assert TABLE.money([("openai:gpt-4o-mini", TokenUsage(1, 1))]) == Decimal("0.00000075")


def test_unknown_is_not_free():
    used = TokenUsage(1, 0, 1)
    assert TABLE.money([("local:x", used), ("other", used)]) is None
    assert TABLE.money([("local:x", used), ("other", TokenUsage(reused=3))]) == 0
    assert TABLE.money([]) == 0


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), max_size=8))
def test_money_of_parts_is_money_of_the_sum(parts):
    usages = [TokenUsage(asked, said, 1) for asked, said in parts]
    each = sum((TABLE.money([("openai:x", usage)]) for usage in usages), Decimal(0))
    assert TABLE.money([("openai:x", sum(usages, TokenUsage()))]) == each


@pytest.mark.parametrize("price", [-1, "nan", "inf", "free"])
def test_invalid_prices_are_refused(price):
    with pytest.raises(ConfigError, match="price of a million tokens"):
        PriceTable.read([f"* 1 {price}"])
