"""A stage in which a model's replies are unusable is no longer asked, and the others are."""

import pytest
from tests.inference.chat_fakes import EchoModel, ask

from knotwork._config import LlmSettings
from knotwork._inference.call_cache import CachedChatModel, CallCache
from knotwork._inference.chat import ChatReply, TokenUsage, complete_checked
from knotwork._inference.role_models import ModelRun
from knotwork._inference.stage_breaker import MOST_IN_A_ROW, StageBreaker
from knotwork.errors import Unparsable


def read_number(reply):
    if not reply.text.isdecimal():
        raise Unparsable("It is not a number.")
    return int(reply.text)


def send(model, count, stage="extract"):
    """Send requests, and return the readings and reasons."""
    outcomes = []
    for place in range(count):
        try:
            outcomes.append(
                complete_checked(model, ask(f"{stage} {place}", stage=stage), read_number)
            )
        except Unparsable as error:
            outcomes.append(error.reason)
    return outcomes


@pytest.fixture
def cache():
    cache = CallCache(":memory:")
    yield cache
    cache.close()


def test_a_stage_of_garbage_is_paid_for_a_few_times_only_and_the_others_go_on(cache):
    inner = EchoModel(lambda r: ChatReply("7" if r.stage == "answer" else "hm"))
    breaker = StageBreaker()
    model = CachedChatModel(inner, cache, breaker=breaker)
    reasons = send(model, 50)
    assert len(inner.requests) == MOST_IN_A_ROW
    assert "`extract`" in reasons[-1]
    assert send(model, 3, "answer") == [7, 7, 7]
    (note,) = breaker.notes
    assert "`extract`" in note
    assert "--retry" in note
    assert "larger model" in note


def test_a_share_of_nine_in_ten_is_too_much_too():
    breaker = StageBreaker()
    for place in range(40):
        breaker.note("extract", usable=place % 10 == 0)
    with pytest.raises(Unparsable, match="extract"):
        breaker.check("extract")


def test_some_garbage_stops_nothing():
    breaker = StageBreaker()
    for place in range(400):
        breaker.note("extract", usable=place % 3 > 0)
        breaker.check("extract")
    assert breaker.notes == ()


def test_open_pairs_are_asked_by_the_next_run(cache):
    send(CachedChatModel(EchoModel(lambda r: ChatReply("hm")), cache), 30)
    inner = EchoModel(lambda r: ChatReply("7"))
    outcomes = send(CachedChatModel(inner, cache), 30)
    assert outcomes == ["It is not a number."] * MOST_IN_A_ROW + [7] * (30 - MOST_IN_A_ROW)
    again = CachedChatModel(inner, cache, retry_rejected=True)
    assert send(again, 30) == [7] * 30
    assert len(inner.requests) == 30


def test_a_stage_of_a_long_process_gets_another_chance():
    now = [0.0]
    breaker = StageBreaker(rest_s=60.0, now=lambda: now[0])
    for _ in range(MOST_IN_A_ROW):
        breaker.note("answer", usable=False)
    now[0] = 59.0
    with pytest.raises(Unparsable):
        breaker.check("answer")
    now[0] = 61.0
    breaker.check("answer")
    with pytest.raises(Unparsable):
        breaker.check("answer")  # until the reply to the first is known
    breaker.note("answer", usable=True)
    breaker.check("answer")
    assert breaker.notes == ()


def test_a_run_says_what_it_stopped_once():
    from knotwork._companions import IN_MEMORY_COMPANIONS

    run = ModelRun(
        LlmSettings(),
        companions=IN_MEMORY_COMPANIONS,
        count_tokens=len,
        model=EchoModel(lambda r: ChatReply("hm")),
    )
    send(run.open("extract"), 30)
    assert len(run.notes) == 1
    run.close()


def test_thinking_that_used_up_the_limit_is_named_with_the_setting(cache):
    usage = TokenUsage(10, 360, 1)
    for reply in (
        ChatReply("", "length", usage, thought_tokens=360),
        ChatReply("", "length", usage),
        ChatReply("half a", "length", usage, thought_tokens=300),
    ):
        model = EchoModel(lambda r, reply=reply: reply)
        with pytest.raises(Unparsable, match=r"360 tokens.*llm\.max_output_tokens"):
            complete_checked(model, ask("a"), read_number)
    whole = EchoModel(lambda r: ChatReply("hm", "stop", usage, thought_tokens=350))
    with pytest.raises(Unparsable, match="not a number"):
        complete_checked(whole, ask("a"), read_number)
