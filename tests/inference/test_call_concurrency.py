"""The limit of calls that is found by measuring, against simulated servers and their clock."""

import heapq
import random

import pytest

from knotwork._inference.call_limits import (
    FinishedCall,
    FixedLimit,
    MeasuredLimit,
    most_calls,
    open_limit,
)


def simulate(limit, seconds, *, calls=3_000, seed=1, slots=10**9):
    """Keep the server busy with ``calls``, and return all limits that were in force.

    ``seconds(n)`` is how long a call of average length takes while ``n`` are computed. A server
    computes at most ``slots`` at a time, and queues the rest.
    """
    chance = random.Random(seed)
    now, running, seen, slot_ends = 0.0, [], [limit.allowed], []
    for number in range(calls):
        while len(running) >= limit.allowed:
            now, _, began, tokens, wait = heapq.heappop(running)
            limit.succeed(FinishedCall(began, now, tokens * 5, tokens, len(running) + 1, wait))
            seen.append(limit.allowed)
        tokens = chance.randint(60, 140)
        slot_ends = [end for end in slot_ends if end > now]
        starts = now if len(slot_ends) < slots else sorted(slot_ends)[-slots]
        computed = min(len(running) + 1, slots)
        end = starts + seconds(computed) * tokens / 100
        slot_ends.append(end)
        heapq.heappush(running, (end, number, now, tokens, starts - now + 0.01))
    return seen


def tail(seen):
    return sorted(seen[len(seen) // 2 :])[len(seen) // 4]


@pytest.mark.parametrize("seed", range(5))
def test_a_server_that_computes_one_call_at_a_time_gets_one_or_two(seed):
    seen = simulate(MeasuredLimit(now=0.0), lambda n: 10.0, slots=1, seed=seed, calls=400)
    assert tail(seen) <= 2
    assert max(seen) <= 4


@pytest.mark.parametrize("seed", range(5))
def test_a_fast_server_gets_many(seed):
    seen = simulate(MeasuredLimit(now=0.0), lambda n: 0.5, seed=seed)
    assert tail(seen) >= 16
    assert max(seen) <= 64


@pytest.mark.parametrize("seed", range(5))
def test_a_server_with_slots_gets_about_as_many(seed):
    seen = simulate(MeasuredLimit(now=0.0), lambda n: 2.0, slots=8, seed=seed)
    assert 6 <= tail(seen) <= 12


def test_a_batching_server_gets_more_although_each_call_takes_longer():
    seen = simulate(MeasuredLimit(now=0.0), lambda n: 1.0 + n / 40)
    assert tail(seen) >= 16


def test_no_call_is_expected_to_wait_until_the_time_out():
    limit = MeasuredLimit(now=0.0, timeout_s=120.0)
    limit.succeed(FinishedCall(0.0, 50.0, 100, 100, 4, wait_s=45.0))
    for _ in range(4):
        limit.succeed(FinishedCall(50.0, 100.0, 100, 100, 4, wait_s=45.0))
    limit.succeed(FinishedCall(50.0, 100.0, 100, 100, 2, wait_s=45.0))
    for _ in range(4):
        limit.succeed(FinishedCall(100.0, 150.0, 100, 100, 2, wait_s=45.0))
    assert limit.allowed == 4  # half as many were slower, but twice as many would wait for 90 s


def test_calls_that_nobody_waits_for_are_no_measurement():
    limit = MeasuredLimit(now=0.0)
    for place in range(100):
        limit.succeed(FinishedCall(place, place + 1.0, 100, 100, running=1))
    assert limit.allowed == 4


def test_an_overload_halves_once_for_the_calls_that_ran_and_stays():
    limit = MeasuredLimit(now=0.0)
    limit.overload(0.0, 1.0)
    limit.overload(0.5, 1.1)
    assert limit.allowed == 2
    limit.overload(2.0, 3.0)
    assert limit.allowed == 1
    limit.overload(4.0, 5.0)
    assert limit.allowed == 1


def test_the_setting_is_a_number_or_auto():
    assert isinstance(open_limit(3, now=0.0), FixedLimit)
    assert isinstance(open_limit("auto", now=0.0), MeasuredLimit)
    assert (most_calls(3), most_calls("auto")) == (3, 64)
