"""The call ledger: sums by stage, document and model are exact for any writers and order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.inference.chat_fakes import EchoModel, ask

from knotwork._inference.call_cache import CachedChatModel, CallCache, CallTotal
from knotwork._inference.call_costs import PriceTable, UsageMeter
from knotwork._inference.chat import ChatReply, TokenUsage

PRICES = PriceTable.read(["fake:cheap* 1 2", "fake:dear 10 30.5"])
NOTHING = TokenUsage()


@pytest.fixture
def cache():
    cache = CallCache(":memory:")
    yield cache
    cache.close()


def count(cache, model, stage, source, tokens):
    cache.count_call(model, ask("", stage=stage, source=source), TokenUsage(tokens, 2 * tokens, 1))


def test_totals_by_any_of_their_names(cache):
    count(cache, "fake:cheap-1", "extract", "a.md", 1_000_000)
    count(cache, "fake:cheap-2", "extract", "b.md", 2_000_000)
    count(cache, "fake:dear", "answer", "", 1_000)
    cache.count_reuse("fake:dear", ask("", stage="answer"), TokenUsage(5, 6, 1))
    assert cache.total(prices=PRICES) == CallTotal(
        (),
        TokenUsage(3_001_000, 6_002_000, 3, 1),
        TokenUsage(5, 6, 0, 1),
        0,
        Decimal("15.071"),
    )
    assert [(t.group, t.money) for t in cache.totals("stage", prices=PRICES)] == [
        (("answer",), Decimal("0.071")),
        (("extract",), Decimal(15)),
    ]
    assert [t.group for t in cache.totals("source", "model")] == [
        ("", "fake:dear"),
        ("a.md", "fake:cheap-1"),
        ("b.md", "fake:cheap-2"),
    ]
    by_both = {total.group: total.usage for total in cache.totals("stage", "source")}
    assert by_both["extract", "b.md"] == TokenUsage(2_000_000, 4_000_000, 1)


def test_money_is_unknown_rather_than_too_little(cache):
    count(cache, "fake:cheap-1", "extract", "a.md", 10)
    count(cache, "fake:new", "extract", "a.md", 10)
    count(cache, "fake:free", "answer", "a.md", 0)
    assert cache.total(prices=PRICES).money is None
    by_model = {t.group[0]: t.money for t in cache.totals("model", prices=PRICES)}
    assert by_model == {"fake:cheap-1": Decimal("0.00005"), "fake:free": 0, "fake:new": None}
    assert cache.total().money is None


calls = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "bad", "d", "cut"]),
        st.sampled_from(["extract", "answer"]),
        st.sampled_from(["1.md", "2.md", "\udcff.md"]),
        st.sampled_from(["fake:x", "fake:y"]),
    ),
    max_size=24,
)


def answer(request) -> ChatReply:
    text = request.messages[0].content
    finish = "length" if text == "cut" else "stop"
    return ChatReply(text, finish, TokenUsage(len(request.source) * 3, ord(text[0]), 1))


@given(calls)
def test_sums_add_up_under_any_interleaving(wanted):
    cache = CallCache(":memory:")
    meter = UsageMeter()
    inner = {name: EchoModel(answer, name=name) for name in ("fake:x", "fake:y")}
    models = {name: CachedChatModel(model, cache, meter=meter) for name, model in inner.items()}

    def call(item):
        text, stage, source, name = item
        return models[name].complete(ask(text, stage=stage, source=source)).usage

    with ThreadPoolExecutor(4) as pool:
        usages = list(pool.map(call, wanted))
    total = cache.total()
    assert total.usage == sum(usages, NOTHING) == meter.total()
    assert total.usage.calls == sum(len(model.requests) for model in inner.values())
    assert total.usage.calls + total.usage.reused == len(wanted)
    for size in range(1, 4):
        for by in combinations(("stage", "source", "model"), size):
            groups = cache.totals(*by)
            assert sum((group.usage for group in groups), NOTHING) == total.usage
            assert sum((group.saved for group in groups), NOTHING) == total.saved
            assert len({group.group for group in groups}) == len(groups)
    for by, found in (("model", meter.by_model()), ("stage", meter.by_stage())):
        assert {total.group[0]: total.usage for total in cache.totals(by)} == found
    cache.close()


def test_totals_survive_a_restart(tmp_path):
    path = tmp_path / "calls"
    for run in range(1, 4):
        cache = CallCache(path)
        model = CachedChatModel(EchoModel(), cache)
        model.complete(ask(f"run {run}", stage="s"))
        model.complete(ask("always", stage="s"))
        total = cache.total()
        assert (total.usage.calls, total.usage.reused) == (run + 1, run - 1)
        cache.close()
