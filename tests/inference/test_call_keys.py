"""Cache keys of calls: equal exactly for equal requests to equal models."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.inference.chat_fakes import ask

from knotwork._inference.call_cache import call_key
from knotwork._inference.chat import ChatRequest, Message, MessagePicture

# Few letters, so that equal content and moved borders come up often.
texts = st.text(alphabet='a"[,]\\\x00é\ud83d\ude00😀', max_size=4)
pictures = st.builds(
    MessagePicture,
    data=st.binary(max_size=2),
    media_type=st.just("image/png"),
    width=st.just(1),
    height=st.just(1),
)
messages = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant"]),
    content=texts,
    pictures=st.lists(pictures, max_size=2).map(tuple),
)
requests = st.builds(
    ChatRequest,
    messages=st.lists(messages, max_size=3).map(tuple),
    max_output_tokens=st.integers(1, 3),
    stage=texts,
    source=texts,
)
calls = st.tuples(texts, requests)


def content(call: tuple[str, ChatRequest]) -> tuple:
    model, request = call
    return model, replace(request, stage="", source="")


@given(calls, calls)
def test_keys_are_equal_exactly_when_content_is(first, second):
    assert (call_key(*first) == call_key(*second)) == (content(first) == content(second))


@given(calls, texts, texts)
def test_the_purpose_of_a_call_is_not_part_of_its_key(call, stage, source):
    model, request = call
    assert call_key(model, replace(request, stage=stage, source=source)) == call_key(*call)


def test_each_part_of_a_request_counts():
    base = ask("a")
    variants = [
        base,
        replace(base, messages=(Message("system", "a"),)),
        replace(base, messages=(*base.messages, Message("user", ""))),
        replace(base, max_output_tokens=1),
    ]
    keys = {call_key(model, request) for model in ("m", "n") for request in variants}
    assert len(keys) == 2 * len(variants)


def test_a_key_is_the_same_in_every_version():
    # A changed key would repeat every call in every user's file.
    assert call_key("m", ask("é\ud800")).hex() == "d37c8154d22f09e28f216d54c3364c25"
