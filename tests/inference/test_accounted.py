"""Models of all roles share what is kept, what is counted and what may be spent."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from tests.inference.chat_fakes import EchoModel, ask

from knotwork.errors import BudgetExceeded, Unparsable
from knotwork.inference.accounted import AccountedChatModels
from knotwork.inference.budget import Budget, Ceiling
from knotwork.inference.call_cache import CallCache
from knotwork.inference.chat import TokenUsage


@pytest.fixture
def cache():
    cache = CallCache.open(":memory:")
    yield cache
    cache.close()


def test_roles_share_cache_meter_and_budget(cache):
    inner = {name: EchoModel(name=f"fake:{name}") for name in ("extract", "answer")}
    budget = Budget(Ceiling(Decimal(60), "tokens"), count_tokens=len)
    models = AccountedChatModels(inner.get, cache, budget=budget)
    assert models.open("judge") is None
    extract, answer = models.open("extract"), models.open("answer")
    assert extract is not None
    assert answer is not None
    extract.complete(ask("ab", max_output_tokens=20))
    answer.complete(ask("ab", max_output_tokens=20))
    extract.complete(ask("ab", max_output_tokens=20))
    assert models.meter.total() == TokenUsage(4, 12, 2, 1)
    assert budget.spent() == TokenUsage(4, 12, 2)
    with pytest.raises(BudgetExceeded):
        answer.complete(ask("a", max_output_tokens=50))
    # A kept reply is served also when nothing may be spent any more.
    assert answer.complete(ask("ab", max_output_tokens=20)).usage == TokenUsage(reused=1)
    assert cache.ledger().total().usage == models.meter.total()


def test_roles_with_one_model_make_an_equal_call_once(cache):
    inner = EchoModel()
    inner.gate.clear()
    models = AccountedChatModels(lambda _: inner, cache)
    with ThreadPoolExecutor(2) as pool:
        futures = [
            pool.submit(models.open(role).complete, ask("a")) for role in ("summarize", "answer")
        ]
        assert inner.arrived.acquire(timeout=30)
        inner.gate.set()
    assert sorted(future.result().usage.reused for future in futures) == [0, 1]
    assert len(inner.requests) == 1


def test_a_run_that_retries_asks_again_for_what_was_rejected(cache):
    def refuse(_reply):
        raise Unparsable("no")

    inner = EchoModel()
    for retry, calls in ((False, 1), (False, 1), (True, 2)):
        models = AccountedChatModels(lambda _: inner, cache, retry_rejected=retry)
        with pytest.raises(Unparsable):
            models.open("extract").complete_checked(ask("a"), refuse)
        assert len(inner.requests) == calls
