"""Rate limits: they hold, callers start in order, and nobody waits forever."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.inference.chat_fakes import EchoModel, ask, echo

from knotwork._cancellation import Cancellation, Cancelled, in_context
from knotwork._inference.call_limits import (
    Allowance,
    LimitedChat,
    RateLimiter,
    RetryPolicy,
)
from knotwork._inference.chat import ChatReply, ChatRequest, Message, TokenUsage
from knotwork.errors import ModelError, ModelUnavailable

REPLY = ChatReply("Ann.", usage=TokenUsage(10, 5, calls=1))
REQUEST = ChatRequest((Message("user", "Who?"),), max_output_tokens=100)


class JumpingClock:
    """Time that passes only by waiting; a wait of one thread is a step of all."""

    def __init__(self):
        self.seconds = 0.0
        self.lock = threading.Lock()

    def now(self):
        return self.seconds

    def wait(self, condition, seconds):
        with self.lock:
            self.seconds += seconds
        condition.wait(0.0001)  # lets the others go on


class FakeModel:
    """Does for each call what ``action`` does; knows how many run."""

    name = "fake:chat"

    def __init__(self, action=lambda _: REPLY):
        self.action = action
        self.lock = threading.Lock()
        self.running = self.most_running = self.calls = 0

    def complete(self, request):
        with self.lock:
            self.calls += 1
            number = self.calls
            self.running += 1
            self.most_running = max(self.most_running, self.running)
        try:
            return self.action(number)
        finally:
            with self.lock:
                self.running -= 1

    def stream(self, request):
        reply = self.complete(request)
        yield reply.text
        yield reply


def overload(status=429, wait_s=None):
    return ModelUnavailable("busy", status=status, retry_after_s=wait_s)


def raise_(error):
    raise error


def fail(pacer, error, times=1):
    for _ in range(times):
        model = LimitedChat(FakeModel(lambda _: raise_(error)), pacer)
        with pytest.raises(type(error)):
            model.complete(REQUEST)


@given(
    per_minute=st.integers(1, 400),
    amounts=st.lists(st.integers(1, 60), min_size=1, max_size=80),
    gaps=st.lists(st.floats(0, 20), max_size=10),
)
def test_no_minute_gets_more_than_its_amount(per_minute, amounts, gaps):
    bucket = Allowance.per_minute(per_minute, now=0.0)
    largest = max(1.0, per_minute / 10)
    now, taken = 0.0, []
    for place, amount in enumerate(amounts):
        size = min(amount, largest)
        now += gaps[place] if place < len(gaps) else 0.0
        wait_s = bucket.wait_for(size, now=now)
        assert wait_s < 61
        now += wait_s
        assert bucket.wait_for(size, now=now) <= 1e-6
        bucket.take(size)
        taken.append((now, size))
    for start, _ in taken:
        spent = sum(size for at, size in taken if start <= at < start + 59.99)
        assert spent <= per_minute + largest * (largest == 1.0) + 0.01


def test_a_large_request_waits_for_a_full_bucket_and_leaves_a_debt():
    bucket = Allowance.per_minute(600, now=0.0)  # 60 at once, 9 a second
    assert bucket.wait_for(500, now=0.0) == 0
    bucket.take(500)
    assert bucket.wait_for(60, now=0.0) == pytest.approx(500 / 9)
    bucket.take(-440)  # it used less than was reserved
    assert bucket.wait_for(60, now=0.0) == pytest.approx(60 / 9)
    unlimited = Allowance.per_minute(0, now=0.0)
    unlimited.take(10**9)
    assert unlimited.wait_for(10**9, now=0.0) == 0


def test_requests_and_tokens_in_a_minute_are_limited():
    clock = JumpingClock()
    slow = LimitedChat(FakeModel(), RateLimiter(concurrency=8, requests_per_minute=60, clock=clock))
    for _ in range(66):
        slow.complete(REQUEST)
    assert clock.seconds == pytest.approx(60 / 55 * 60, rel=0.05)
    clock = JumpingClock()
    pacer = RateLimiter(concurrency=8, tokens_per_minute=1_000, clock=clock)
    for _ in range(40):  # 15 tokens each as reported, 106 as reserved
        LimitedChat(FakeModel(), pacer).complete(REQUEST)
    assert 25 < clock.seconds < 45


def test_as_many_run_as_may_and_all_come_through():
    gate = threading.Barrier(4, timeout=5)

    def meet(_):
        gate.wait()
        return REPLY

    model = FakeModel(meet)
    paced = LimitedChat(model, RateLimiter(concurrency=4))
    with ThreadPoolExecutor(12) as pool:
        replies = list(pool.map(paced.complete, [REQUEST] * 24))
    assert replies == [REPLY] * 24
    assert model.most_running == 4


def test_turns_are_taken_in_the_order_of_asking():
    pacer, order = RateLimiter(concurrency=1), []
    model = FakeModel()
    with pacer.turn(1):
        threads = []
        for number in range(8):

            def call(number=number):
                with pacer.turn(1):
                    order.append(number)

            threads.append(threading.Thread(target=call))
            threads[-1].start()
            while len(pacer._queue) <= number:
                time.sleep(0.0005)
    for thread in threads:
        thread.join(5)
    assert order == list(range(8))
    assert LimitedChat(model, pacer).complete(REQUEST) == REPLY


@pytest.mark.parametrize("status", [429, 503, 504, 529, 408, None])
def test_overload_halves_what_may_run_and_success_brings_it_back(status):
    clock = JumpingClock()
    pacer = RateLimiter(concurrency=16, clock=clock)
    seen = []
    for _ in range(6):
        clock.seconds += 1
        fail(pacer, overload(status))
        seen.append(pacer.allowed)
    assert seen == [8, 4, 2, 1, 1, 1]
    model = LimitedChat(FakeModel(), pacer)
    for _ in range(15 * 16):
        model.complete(REQUEST)
    assert pacer.allowed == 16


@pytest.mark.parametrize(
    "error", [overload(500), overload(200), ModelError("no", status=400), KeyboardInterrupt()]
)
def test_other_errors_than_overload_change_nothing(error):
    pacer = RateLimiter(concurrency=16)
    fail(pacer, error, times=3)
    assert pacer.allowed == 16
    assert pacer._running == 0


def test_calls_that_fail_together_count_once():
    gate = threading.Barrier(8, timeout=5)

    def fail_together(_):
        gate.wait()
        raise overload()

    pacer = RateLimiter(concurrency=8)
    model = LimitedChat(FakeModel(fail_together), pacer)

    def call(_):
        with pytest.raises(ModelUnavailable):
            model.complete(REQUEST)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, range(8)))
    assert pacer.allowed == 4


def test_a_wait_that_the_server_asks_for_is_kept_by_all():
    clock = JumpingClock()
    pacer = RateLimiter(concurrency=4, clock=clock)
    fail(pacer, overload(429, wait_s=7.0))
    LimitedChat(FakeModel(), pacer).complete(REQUEST)
    assert clock.seconds == pytest.approx(7.0)
    fail(pacer, overload(429, wait_s=86_400.0))
    LimitedChat(FakeModel(), pacer).complete(REQUEST)
    assert clock.seconds == pytest.approx(7.0)


def test_a_stream_holds_its_turn_until_it_ends_or_is_left():
    pacer = RateLimiter(concurrency=2)
    model = LimitedChat(FakeModel(), pacer)
    left, read = model.stream(REQUEST), model.stream(REQUEST)
    assert pacer._running == 0
    assert [next(left), next(read)] == ["Ann.", "Ann."]
    assert pacer._running == 2
    left.close()
    assert list(read) == [REPLY]
    assert pacer._running == 0


def test_all_waits_end_if_nobody_wants_the_replies():
    waits = Cancellation()
    pacer = RateLimiter(concurrency=1)
    policy = RetryPolicy(first_wait_s=60)
    queued = LimitedChat(FakeModel(), pacer)
    resting = LimitedChat(FakeModel(lambda _: raise_(overload())), retries=policy)
    with pacer.turn(1), ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(in_context(queued.complete, waits=waits), REQUEST) for _ in range(4)]
        futures += [
            pool.submit(in_context(resting.complete, waits=waits), REQUEST) for _ in range(4)
        ]
        while len(pacer._queue) < 4:
            time.sleep(0.0005)
        waits.cancel()
        for future in futures:
            with pytest.raises(Cancelled):
                future.result(timeout=5)
    with pytest.raises(Cancelled):
        in_context(queued.complete, waits=waits)(REQUEST)
    assert pacer._running == 0
    assert not pacer._queue


def test_one_who_gives_up_waiting_lets_the_next_go():
    class InterruptingClock(JumpingClock):
        def wait(self, condition, seconds):
            raise KeyboardInterrupt

    pacer = RateLimiter(concurrency=4, requests_per_minute=1, clock=InterruptingClock())
    model = LimitedChat(FakeModel(), pacer)
    model.complete(REQUEST)
    with pytest.raises(KeyboardInterrupt):
        model.complete(REQUEST)
    assert not pacer._queue
    pacer._clock.seconds = 61.0
    assert model.complete(REQUEST) == REPLY


def test_under_random_failures_every_call_ends_and_no_slot_is_lost():
    def sometimes(number):
        if number % 5 == 0:
            raise overload(429 if number % 2 else 500)
        return REPLY

    clock = JumpingClock()
    pacer = RateLimiter(concurrency=8, requests_per_minute=100_000, clock=clock)
    policy = RetryPolicy(attempts=20, jitter=0.5, sleep=lambda _: None)
    model = LimitedChat(FakeModel(sometimes), pacer, retries=policy)
    assert model.name == "fake:chat"
    with ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(model.complete, [REQUEST] * 300))
    assert replies == [REPLY] * 300
    assert pacer._running == 0
    assert not pacer._queue


def test_a_stream_is_tried_again_before_its_first_piece_and_not_after():
    class Breaking(FakeModel):
        def stream(self, request):
            self.calls += 1
            if self.calls == 1:
                raise overload()
            yield "An"
            raise overload(500)

    model = Breaking()
    waits = []
    stream = LimitedChat(model, retries=RetryPolicy(sleep=waits.append)).stream(REQUEST)
    assert next(stream) == "An"
    with pytest.raises(ModelUnavailable):
        next(stream)
    assert (model.calls, len(waits)) == (2, 1)


def test_jitter_lengthens_waits_and_never_shortens_what_was_asked():
    waits = []
    policy = RetryPolicy(attempts=4, jitter=0.5, sleep=waits.append, chance=lambda: 0.5)
    errors = iter([overload(), overload(429, wait_s=8.0), overload()])

    def act():
        error = next(errors, None)
        if error:
            raise error
        return "done"

    assert policy.call(act) == "done"
    assert waits == [0.625, 10.0, 2.5]


def timing_out(limiter, times, clock_calls):
    """Return a model that times out ``times`` times, behind the limiter and with retries."""

    def answer(request):
        clock_calls.append(limiter.allowed)
        if len(clock_calls) <= times:
            raise ModelUnavailable("silent", fix="Raise llm.timeout_s.", timed_out=True)
        return echo(request)

    retries = RetryPolicy(sleep=lambda seconds: None)
    return LimitedChat(EchoModel(answer), limiter, retries=retries)


def test_a_call_that_timed_out_is_repeated_only_with_fewer_beside_it():
    calls = []
    model = timing_out(RateLimiter(concurrency=4), 2, calls)
    assert model.complete(ask("a")).text == "re: a"
    assert calls == [4, 2, 1]


def test_a_call_that_timed_out_alone_is_given_up_with_the_setting_to_raise():
    calls = []
    model = timing_out(RateLimiter(concurrency=1), 9, calls)
    with pytest.raises(ModelUnavailable, match="silent") as caught:
        model.complete(ask("a"))
    assert calls == [1]
    assert "llm.timeout_s" in caught.value.fix


def test_a_call_that_times_out_again_and_again_is_given_up():
    calls = []
    model = timing_out(RateLimiter(concurrency="auto"), 99, calls)
    with pytest.raises(ModelUnavailable):
        model.complete(ask("a"))
    assert calls == [4, 2, 1]
