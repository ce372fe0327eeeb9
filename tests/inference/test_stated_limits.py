"""Waiting as the headers of a server's responses ask."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.inference.chat_answers import say
from tests.inference.model_server import serve

from knotwork._config import LlmSettings
from knotwork._inference.call_limits import RateLimiter, read_duration
from knotwork._inference.chat import ChatRequest, Message
from knotwork._inference.model_registry import ChatModels

NOON = datetime(2026, 1, 27, 12, tzinfo=UTC)


class FakeClock:
    def __init__(self):
        self.seconds = 0.0

    def now(self):
        return self.seconds

    def wait(self, condition, seconds):
        self.seconds += seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6m0s", 360.0),
        ("20ms", 0.02),
        ("7.66s", 7.66),
        ("1h2m3s", 3_723.0),
        ("12", 12.0),
        ("1.5", 1.5),
        ("2026-01-27T12:00:30Z", 30.0),
        ("2026-01-27T11:59:00+00:00", 0.0),
        ("soon", None),
        ("", None),
        ("5x", None),
        ("-3", None),
    ],
)
def test_durations_are_read_in_each_form(text, seconds):
    found = read_duration(text, now=NOON)
    assert found == (None if seconds is None else pytest.approx(seconds))


def headers(left, *, kind="tokens", most="", reset="30s"):
    named = {f"remaining-{kind}": left, f"limit-{kind}": most, f"reset-{kind}": reset}
    return {f"x-ratelimit-{name}": value for name, value in named.items() if value}


@pytest.mark.parametrize(
    ("stated", "tokens", "wait_s"),
    [
        (headers("0"), 10, 30.0),
        (headers("100"), 10, 0.0),
        (headers("100", most="1100"), 600, 15.0),
        (headers("100", most="1100"), 9_999, 30.0),
        (headers("0", kind="requests", reset="2s"), 10, 2.0),
        (headers("0", reset=""), 10, 60.0),
        (headers("0", reset="23h59m"), 10, 0.0),
        (headers("0", reset="soon"), 10, 0.0),
        (headers("none"), 10, 0.0),
        (
            {
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "30s",
            },
            10,
            30.0,
        ),
        ({}, 10, 0.0),
    ],
)
def test_a_call_waits_until_enough_is_left(stated, tokens, wait_s):
    clock = FakeClock()
    limiter = RateLimiter(concurrency=8, clock=clock)
    limiter.heed(200, stated)
    with limiter.turn(tokens):
        assert clock.seconds == pytest.approx(wait_s)


@given(st.dictionaries(st.sampled_from([*headers("1", most="2"), "x-ratelimit-y"]), st.text()))
def test_no_header_stops_calls_for_longer_than_two_minutes(stated):
    clock = FakeClock()
    limiter = RateLimiter(concurrency=8, clock=clock)
    limiter.heed(200, stated)
    for _ in range(2):
        before = clock.seconds
        with limiter.turn(10):
            assert 0.0 <= clock.seconds - before <= 120.001


def test_calls_that_started_count_until_the_server_says_otherwise():
    clock = FakeClock()
    limiter = RateLimiter(concurrency=8, clock=clock)
    limiter.heed(200, headers("250", most="1000", reset="10s"))
    for _ in range(2):
        with limiter.turn(100):
            pass
    assert clock.seconds == 0.0
    with limiter.turn(100):
        assert 0.0 < clock.seconds <= 10.0
    limiter.heed(503, headers("0"))  # of a gateway before a server that is down
    before = clock.seconds
    limiter.heed(200, headers("1000", most="1000"))
    with limiter.turn(100):
        assert clock.seconds == before


def test_a_chat_waits_after_a_reply_that_says_nothing_is_left():
    def answer(payload):
        status, sent, body = say("Ann.")(payload)
        return (
            status,
            {**sent, "X-RateLimit-Remaining-Requests": "0"}
            | {
                "X-RateLimit-Reset-Requests": "1s",
            },
            body,
        )

    with serve(answer) as server:
        settings = LlmSettings(model="openai:small", base_url=server.url, timeout_s=5)
        model = ChatModels(settings).open()
        request = ChatRequest((Message("user", "Who?"),))
        with ThreadPoolExecutor(4) as pool:
            texts = list(pool.map(lambda _: model.complete(request).text, range(4)))
        before = time.monotonic()
        with model._limiter.turn(1):
            assert time.monotonic() - before > 0.3
    assert texts == ["Ann."] * 4
