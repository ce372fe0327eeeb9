from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.testing.chat_models import BrokenStream, ScriptedChatModel, ScriptMismatch
from knotwork._extensions.testing.model_contracts import (
    ChatModelContract,
    ask,
    explain,
    read_stream,
)
from knotwork._inference.chat import ChatReply, ChatRequest, Message, TokenUsage
from knotwork._text.token_counts import count_tokens
from knotwork.errors import BudgetExceeded, KnotworkError, ModelError, ModelUnavailable


class TestScripted(ChatModelContract):
    @pytest.fixture
    def model(self):
        return ScriptedChatModel(explain)

    @pytest.fixture
    def sent(self, model):
        return lambda: "\n".join(m.content for r in model.requests for m in r.messages)

    @pytest.fixture
    def unavailable(self):
        return ScriptedChatModel([ModelUnavailable("Gone."), ModelUnavailable("Gone.")])

    @pytest.fixture
    def refusing(self):
        return ScriptedChatModel(lambda _: ModelError("No such model."))


def test_a_list_is_printed_in_order_and_requests_are_kept():
    model = ScriptedChatModel(["one", "two"])
    asked = [ask("first", stage="extract"), ask("second", source="a.md")]
    assert [model.complete(request).text for request in asked] == ["one", "two"]
    assert model.requests == asked


def test_a_script_that_has_run_out_shows_the_request():
    model = ScriptedChatModel(["one"])
    model.complete(ask("first"))
    with pytest.raises(ScriptMismatch, match=r"(?s)1 replies.*call 2.*'extract'.*user: second"):
        model.complete(ask("second", stage="extract"))
    with pytest.raises(ScriptMismatch, match="call 3"):
        list(model.stream(ask("third")))


def test_the_same_text_is_used_at_every_call():
    model = ScriptedChatModel("yes", errors={2: ModelError("No.")})
    assert model.complete(ask("a")).text == "yes"
    with pytest.raises(ModelError):
        model.complete(ask("b"))
    assert read_stream(model, ask("c"))[1].text == "yes"


def test_the_first_pattern_that_is_found_counts():
    model = ScriptedChatModel({r"bridge of \w+": "stone", "bridge": "wood", "^市": "石"})
    assert model.complete(ask("The bridge of Tartu")).text == "stone"
    assert model.complete(ask("A bridge")).text == "wood"
    assert (
        model.complete(ChatRequest((Message("system", "市长"), Message("user", "?")))).text == "石"
    )
    with pytest.raises(ScriptMismatch, match=r"(?s)user: soup.*Patterns: .*`bridge`"):
        model.complete(ask("soup"))


def test_a_mismatch_is_no_error_that_knotwork_handles():
    assert not issubclass(ScriptMismatch, KnotworkError)


def test_errors_come_at_their_calls_and_take_no_reply():
    full = BudgetExceeded("At the ceiling.")
    model = ScriptedChatModel(["one", "two"], errors={1: ModelUnavailable("Busy."), 3: full})
    with pytest.raises(ModelUnavailable, match="Busy"):
        model.complete(ask("a"))
    assert model.complete(ask("a")).text == "one"
    with pytest.raises(BudgetExceeded) as caught:
        list(model.stream(ask("a")))
    assert caught.value is full
    assert model.complete(ask("a")).text == "two"
    assert len(model.requests) == 4


def collect(stream, seen):
    for piece in stream:
        seen.append(piece)


def test_a_broken_stream_yields_what_came_before():
    model = ScriptedChatModel(lambda _: BrokenStream("half of it", ModelUnavailable("Cut.")))
    seen = []
    with pytest.raises(ModelUnavailable, match="Cut"):
        collect(model.stream(ask("a")), seen)
    assert "".join(seen) == "half of it"
    with pytest.raises(ModelUnavailable, match="Cut"):
        model.complete(ask("a"))


def test_a_whole_reply_is_given_as_it_is():
    reply = ChatReply("withheld", "filter", TokenUsage(10, 2, calls=1))
    model = ScriptedChatModel([reply, ChatReply("", "length")])
    assert model.complete(ask("a", max_output_tokens=1)) == reply
    assert model.complete(ask("three small words")).usage == TokenUsage(3, 0, calls=1)


@given(st.text(max_size=60), st.integers(1, 20), st.integers(1, 9))
def test_pieces_join_to_the_reply_and_tokens_are_bounded(text, limit, size):
    model = ScriptedChatModel(lambda _: text, piece_characters=size)
    pieces, reply = read_stream(model, ask("a", max_output_tokens=limit))
    assert "".join(pieces) == reply.text
    assert all(0 < len(piece) <= size for piece in pieces)
    assert count_tokens(reply.text) == min(limit, count_tokens(text)) == reply.usage.output_tokens
    assert (reply.finish_reason == "length") == (count_tokens(text) > limit)
    assert text.startswith(reply.text)


def test_threads_share_a_script_without_losing_a_reply():
    replies = [str(n) for n in range(400)]
    model = ScriptedChatModel(replies)
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda n: model.complete(ask(str(n))).text, range(400)))
    assert sorted(said, key=int) == replies
    assert len(model.requests) == 400
