"""The cached chat model: equal calls are made once; replies are checked, stored, then used."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.inference.chat_fakes import EchoModel, ask, echo

from knotwork._extensions.testing.chat_contract import ChatModelContract, explain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._inference.call_cache import CachedChatModel, CallCache
from knotwork._inference.chat import (
    ChatModel,
    ChatReply,
    ChecksReplies,
    TokenUsage,
    complete_checked,
    require_whole,
)
from knotwork.errors import ModelError, ModelUnavailable, Unparsable

REUSED = TokenUsage(reused=1)


@pytest.fixture
def cache(tmp_path):
    cache = CallCache(tmp_path / "index.calls")
    yield cache
    cache.close()


@pytest.fixture
def inner():
    return EchoModel()


@pytest.fixture
def model(inner, cache):
    return CachedChatModel(inner, cache)


def parse_number(reply: ChatReply) -> int:
    text = reply.text.removeprefix("re: ")
    if not text.isdecimal():
        raise Unparsable(f"`{text}` is not a number")
    return int(text)


def test_an_equal_call_is_not_made_again(model, inner, cache):
    first = model.complete(ask("a", stage="extract", source="1.md"))
    again = model.complete(ask("a", stage="answer", source="2.md"))
    model.complete(ask("b"))
    assert first.usage == TokenUsage(1, 5, 1)
    assert again.text == first.text
    assert again.usage == REUSED
    assert len(inner.requests) == 2
    other_model = CachedChatModel(EchoModel(name="fake:other"), cache)
    assert other_model.complete(ask("a")).usage.calls == 1


def test_calls_outlive_the_process_that_made_them(inner, cache):
    CachedChatModel(inner, cache).complete(ask("a"))
    reopened = CallCache(cache.path)
    later = CachedChatModel(inner, reopened)
    assert later.complete(ask("a")).usage == REUSED
    assert later.meter.total() == REUSED
    reopened.close()


@pytest.mark.parametrize(
    "reply", [ChatReply("cut", "length"), ChatReply(" "), ChatReply("", "filter")]
)
def test_a_reply_that_is_not_whole_is_given_and_not_kept(inner, model, cache, reply):
    inner.answer = lambda _: reply
    for _ in range(2):
        assert model.complete(ask("a")).text == reply.text
    assert len(inner.requests) == 2
    assert cache.reply_count() == 0
    assert cache.rejected() == []
    assert cache.total().usage.calls == 2
    with pytest.raises(Unparsable):
        require_whole(reply)


def test_a_good_reply_is_kept_before_it_is_used(model, cache):
    seen = []

    def parse(reply: ChatReply) -> int:
        seen.append(cache.reply_count())
        return parse_number(reply)

    assert model.complete_checked(ask("7"), parse) == 7
    assert (seen, cache.reply_count()) == ([0], 1)
    assert model.complete_checked(ask("7"), parse) == 7


def test_a_bad_reply_is_never_served_again(model, inner, cache):
    request = ask("seven", stage="extract", source="a.md")
    for _ in range(3):
        with pytest.raises(Unparsable, match="`seven` is not a number"):
            model.complete_checked(request, parse_number)
    with pytest.raises(Unparsable):
        model.complete(request)
    with pytest.raises(Unparsable):
        list(model.stream(request))
    assert len(inner.requests) == 1
    (rejected,) = cache.rejected()
    assert (rejected.text, rejected.reason) == ("re: seven", "`seven` is not a number")
    assert (rejected.stage, rejected.source, rejected.attempts) == ("extract", "a.md", 1)
    assert cache.total().usage == TokenUsage(5, 9, 1)


def test_a_bad_reply_goes_with_its_rejection(model, inner, cache):
    def text_of(asking) -> str:
        with pytest.raises(Unparsable) as raised:
            asking()
        return raised.value.text

    def check(asked, parse=parse_number) -> str:
        return text_of(lambda: complete_checked(asked, ask("seven"), parse))

    assert check(inner) == "re: seven"  # no cache keeps it
    assert check(model) == "re: seven"
    assert check(CachedChatModel(EchoModel(), cache)) == "re: seven"  # a later run
    assert text_of(lambda: model.complete(ask("seven"))) == "re: seven"
    assert text_of(lambda: list(model.stream_checked(ask("seven"), parse_number))) == "re: seven"
    assert text_of(lambda: list(model.stream_checked(ask("new"), parse_number))) == "re: new"
    model.complete(ask("kept"))
    refused = text_of(lambda: model.complete_checked(ask("kept"), parse_number))
    assert refused == "re: kept"

    def parse_part(_: ChatReply) -> int:
        raise Unparsable("No.", text="the part of it")

    assert check(inner, parse_part) == "the part of it"


def test_a_bad_reply_is_asked_for_anew_only_on_request(inner, cache):
    model = CachedChatModel(inner, cache)
    with pytest.raises(Unparsable):
        model.complete_checked(ask("x"), parse_number)
    retrying = CachedChatModel(inner, cache, retry_rejected=True)
    with pytest.raises(Unparsable):
        retrying.complete_checked(ask("x"), parse_number)
    assert cache.rejected()[0].attempts == 2
    inner.answer = lambda _: ChatReply("8")
    assert retrying.complete_checked(ask("x"), parse_number) == 8
    assert model.complete_checked(ask("x"), parse_number) == 8
    assert len(inner.requests) == 3
    assert cache.rejected() == []


def test_a_kept_reply_that_a_stricter_check_refuses_goes_out_of_use(model, inner, cache):
    model.complete(ask("word"))
    for _ in range(2):
        with pytest.raises(Unparsable):
            model.complete_checked(ask("word"), parse_number)
    assert cache.reply_count() == 0
    assert len(cache.rejected()) == len(inner.requests) == 1


def test_a_fault_of_the_parser_loses_no_account_and_condemns_no_reply(model, cache):
    with pytest.raises(ZeroDivisionError):
        model.complete_checked(ask("1"), lambda _: 1 // 0)
    assert cache.rejected() == []
    assert cache.total().usage.calls == 1
    assert model.complete_checked(ask("1"), parse_number) == 1


def test_a_failed_call_leaves_nothing(model, inner, cache):
    def fail(_):
        raise ModelUnavailable("away")

    inner.answer = fail
    with pytest.raises(ModelUnavailable):
        model.complete(ask("a"))
    assert cache.reply_count() == 0
    assert cache.total().usage == TokenUsage()
    inner.answer = echo
    assert model.complete(ask("a")).usage.calls == 1


def test_a_stream_is_kept_when_it_ends_and_served_in_one_piece(model, inner, cache):
    *pieces, reply = model.stream(ask("stream"))
    assert "".join(pieces) == reply.text == "re: stream"
    assert len(pieces) > 1
    assert list(model.stream(ask("stream"))) == [
        "re: stream",
        ChatReply("re: stream", "stop", REUSED),
    ]
    assert model.complete(ask("stream")).usage == REUSED
    assert len(inner.requests) == 1
    left = model.stream(ask("left"))
    next(left)
    left.close()
    assert cache.reply_count() == 1


def test_equal_calls_at_the_same_time_are_one(model, inner, cache):
    inner.gate.clear()
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(model.complete, ask("a")) for _ in range(8)]
        assert inner.arrived.acquire(timeout=30)
        inner.gate.set()
        usages = [future.result().usage for future in futures]
    assert sorted(usage.reused for usage in usages) == [0] + [1] * 7
    assert len(inner.requests) == 1
    total = cache.total()
    assert total.usage == TokenUsage(1, 5, 1, 7)
    assert total.saved == TokenUsage(7, 35, 0, 7)


def test_other_calls_do_not_wait(model, inner):
    inner.gate.clear()
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(model.complete, ask(text)) for text in "ab"]
        for _ in futures:
            assert inner.arrived.acquire(timeout=30)  # both are under way
        inner.gate.set()
    assert {future.result().text for future in futures} == {"re: a", "re: b"}


def test_all_that_wait_for_a_call_fail_with_it(model, inner):
    def fail(_):
        raise ModelUnavailable("away")

    inner.answer = fail
    inner.gate.clear()
    barrier = threading.Barrier(4)

    def call():
        barrier.wait(30)
        with pytest.raises(ModelUnavailable):
            model.complete(ask("a"))

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(call) for _ in range(4)]
        assert inner.arrived.acquire(timeout=30)
        inner.gate.set()
        for future in futures:
            future.result()
    assert 1 <= len(inner.requests) <= 4


def test_an_interrupted_call_is_made_by_the_next_that_wants_it(model, inner):
    def interrupt_once(request):
        if len(inner.requests) == 1:
            raise KeyboardInterrupt
        return echo(request)

    inner.answer = interrupt_once
    inner.gate.clear()

    def call():
        try:
            return model.complete(ask("a")).text
        except KeyboardInterrupt:
            return "interrupted"

    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(call) for _ in range(2)]
        assert inner.arrived.acquire(timeout=30)
        inner.gate.set()
    assert sorted(future.result() for future in futures) == ["interrupted", "re: a"]


def test_any_chat_model_can_be_asked_for_what_can_be_parsed(model, inner):
    assert isinstance(model, ChecksReplies)
    assert not isinstance(inner, ChecksReplies)
    assert complete_checked(model, ask("5"), parse_number) == 5
    assert complete_checked(model, ask("5"), parse_number) == 5
    assert len(inner.requests) == 1
    assert complete_checked(inner, ask("6"), parse_number) == 6
    with pytest.raises(Unparsable):
        complete_checked(inner, ask("six"), parse_number)


class TestContract(ChatModelContract):
    """A cached model does all that a chat model does."""

    @pytest.fixture
    def scripted(self):
        return ScriptedChatModel(explain)

    @pytest.fixture
    def model(self, scripted, cache) -> ChatModel:
        return CachedChatModel(scripted, cache)

    @pytest.fixture
    def sent(self, scripted):
        return lambda: "\n".join(
            message.content for request in scripted.requests for message in request.messages
        )

    @pytest.fixture
    def unavailable(self, cache) -> ChatModel:
        return _failing(cache, ModelUnavailable("away"))

    @pytest.fixture
    def refusing(self, cache) -> ChatModel:
        return _failing(cache, ModelError("no"))


def _failing(cache, error) -> ChatModel:
    return CachedChatModel(ScriptedChatModel(lambda _: error), cache)


def test_a_checked_stream_keeps_what_can_be_read_and_the_rest_apart(model, inner, cache):
    def parse(reply):
        if "bad" in reply.text:
            raise Unparsable("It is bad.")
        return ("read", reply.text)

    *pieces, last = model.stream_checked(ask("good"), parse)
    assert last == ("read", "".join(pieces))
    assert list(model.stream_checked(ask("good"), parse)) == ["re: good", ("read", "re: good")]
    for _ in range(2):
        with pytest.raises(Unparsable, match="bad"):
            list(model.stream_checked(ask("bad"), parse))
    assert [rejected.reason for rejected in cache.rejected()] == ["It is bad."]
