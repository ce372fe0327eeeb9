"""Contract suites for chat models and embedders.

Subclass `EmbedderContract` and define the fixture `embedder`, or `ChatModelContract` and define its
four fixtures. The latter applies to clients, wrappers (cache, budget, limits) and models of other
packages::

    class TestMyModel(ChatModelContract):
        @pytest.fixture
        def model(self): ...        # answers any request with a long and deterministic reply

        @pytest.fixture
        def sent(self): ...         # a function that returns all text sent to the model

        @pytest.fixture
        def unavailable(self): ...  # a model whose server is down: raises ModelUnavailable

        @pytest.fixture
        def refusing(self): ...     # a model whose server rejects requests: raises ModelError

Test an HTTP client against `knotwork.testing.model_server.ModelTestServer`, with its ``sent_text``
as ``sent``. Test a wrapper around a `ScriptedChatModel` with `explain` as its script.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from knotwork._inference.chat import ChatModel, ChatReply, ChatRequest, Message, TokenUsage
from knotwork._inference.embedder import Embedder, FloatMatrix, PassageText
from knotwork.errors import ModelError, ModelUnavailable
from knotwork.records import Span

_QUESTION = "The mayor opened the stone bridge of Tartu in 1784. Who opened it, and when was that?"
_ODD_TEXTS = ["", " ", "\x00", "…", "\ud800", "\u202eword\u0301", "word " * 2_000]
_THREADS = 8

Sent = Callable[[], str]
"""A function that returns all text sent to the model so far."""


def explain(request: ChatRequest) -> str:
    """Return a long reply that differs for each conversation: a script for wrapped models."""
    asked = " / ".join(f"{m.role}: {m.content[-200:]}" for m in request.messages)
    return f"You asked me the following, and I have read every word of it with care: {asked}"


def ask(text: str, **options: object) -> ChatRequest:
    """Return a request with one user message. ``options`` are fields of `ChatRequest`."""
    return replace(ChatRequest((Message("user", text),)), **options)  # type: ignore[arg-type]


def read_stream(model: ChatModel, request: ChatRequest) -> tuple[list[str], ChatReply]:
    """Return the pieces of a stream and its reply. Asserts that the reply is the last item."""
    items = list(model.stream(request))
    *pieces, reply = items
    assert isinstance(reply, ChatReply), items
    assert all(isinstance(piece, str) for piece in pieces), items
    return [str(piece) for piece in pieces], reply


class ChatModelContract:
    """The behaviour of chat models that indexing, retrieval and answers rely on."""

    def test_a_request_has_a_reply(self, model: ChatModel) -> None:
        reply = model.complete(ask(_QUESTION))
        assert reply.text.strip()
        assert reply.finish_reason == "stop"

    def test_equal_requests_have_equal_replies(self, model: ChatModel) -> None:
        first, second = model.complete(ask(_QUESTION)), model.complete(ask(_QUESTION))
        assert first.text == second.text

    def test_every_turn_of_a_conversation_counts(self, model: ChatModel, sent: Sent) -> None:
        turns = ("Be brief, heron.", "Name a bird.", "The osprey.", "Another one, 朱鹮?")
        roles = ("system", "user", "assistant", "user")
        messages = tuple(Message(r, t) for r, t in zip(roles, turns, strict=True))  # type: ignore[arg-type]
        assert model.complete(ChatRequest(messages)).text.strip()
        places = [sent().find(turn) for turn in turns]
        assert -1 not in places
        assert places == sorted(places)

    def test_streaming_equals_completing(self, model: ChatModel) -> None:
        for text in (_QUESTION, "市长在一七八四年主持了石桥的开通。谁主持了开通？"):
            whole = model.complete(ask(text))
            pieces, streamed = read_stream(model, ask(text))
            assert "".join(pieces) == streamed.text == whole.text
            assert streamed.finish_reason == whole.finish_reason
            assert all(pieces)

    def test_a_stream_may_be_left(self, model: ChatModel) -> None:
        stream = model.stream(ask(_QUESTION))
        next(stream)
        close = getattr(stream, "close", None)
        if close is not None:
            close()
        assert model.complete(ask(_QUESTION)).text.strip()

    def test_usage_is_told_of_every_call(self, model: ChatModel) -> None:
        replies = [model.complete(ask(_QUESTION)), read_stream(model, ask(_QUESTION))[1]]
        for reply in replies:
            check_usage(reply.usage)
        total = sum((reply.usage for reply in replies), TokenUsage())
        assert total.calls + total.reused == 2

    def test_longer_texts_cost_more_tokens(self, model: ChatModel) -> None:
        short = model.complete(ask(_QUESTION)).usage
        long = model.complete(ask(f"{_QUESTION} {_QUESTION}")).usage
        assert long.input_tokens > short.input_tokens

    def test_the_limit_of_tokens_cuts_the_reply(self, model: ChatModel) -> None:
        whole = model.complete(ask(_QUESTION))
        for cut in (
            model.complete(ask(_QUESTION, max_output_tokens=3)),
            read_stream(model, ask(_QUESTION, max_output_tokens=3))[1],
        ):
            assert cut.finish_reason == "length"
            assert len(cut.text) < len(whole.text)
            assert whole.text.startswith(cut.text.strip())

    @pytest.mark.parametrize("text", _ODD_TEXTS, ids=ascii)
    def test_any_text_may_be_sent(self, model: ChatModel, text: str) -> None:
        request = ChatRequest((Message("system", text), Message("user", f"{text} {_QUESTION}")))
        reply = model.complete(request)
        assert reply.text.strip()
        assert read_stream(model, request)[1].text == reply.text

    def test_threads_get_their_own_replies(self, model: ChatModel) -> None:
        requests = [ask(f"{_QUESTION} My number is {n}.") for n in range(3 * _THREADS)]
        expected = [model.complete(request).text for request in requests]
        with ThreadPoolExecutor(_THREADS) as pool:
            completed = list(pool.map(lambda r: model.complete(r).text, requests))
            streamed = list(pool.map(lambda r: read_stream(model, r)[1].text, requests))
        assert completed == streamed == expected

    def test_the_name_says_which_model(self, model: ChatModel) -> None:
        before = model.name
        scheme, colon, rest = before.partition(":")
        assert scheme
        assert colon
        assert rest
        model.complete(ask(_QUESTION, stage="extract"))
        assert model.name == before

    def test_stage_and_source_stay_here(self, model: ChatModel, sent: Sent) -> None:
        plain = model.complete(ask(_QUESTION))
        marked = ask(_QUESTION, stage="stage-of-herons", source="file-of-ospreys.md")
        assert model.complete(marked).text == plain.text
        assert read_stream(model, marked)[1].text == plain.text
        for mark in (marked.stage, marked.source):
            assert mark not in sent()
            assert mark not in model.name

    def test_a_server_that_cannot_be_had_is_unavailable(self, unavailable: ChatModel) -> None:
        assert unavailable.name  # needs no request
        with pytest.raises(ModelUnavailable):
            unavailable.complete(ask(_QUESTION))
        with pytest.raises(ModelUnavailable):
            list(unavailable.stream(ask(_QUESTION)))

    def test_a_refusal_is_final(self, refusing: ChatModel) -> None:
        with pytest.raises(ModelError) as completed:
            refusing.complete(ask(_QUESTION))
        with pytest.raises(ModelError) as streamed:
            list(refusing.stream(ask(_QUESTION)))
        for caught in (completed, streamed):
            assert not isinstance(caught.value, ModelUnavailable)
            assert type(caught.value) is type(completed.value)


def check_usage(usage: TokenUsage) -> None:
    """Assert that this is the usage of one call, with input and output tokens, or of one reuse."""
    assert usage.calls + usage.reused == 1
    assert (usage.input_tokens > 0) == (usage.calls > 0)
    assert (usage.output_tokens > 0) == (usage.calls > 0)


_TEXTS = [
    "The mayor opened the bridge.",
    "谁主持了大桥的开通？",
    "Soup is served at noon, every day of the week but Sunday.",
    "a",
]
_ODD_PASSAGES = ["", " ", "\x00", "…", "\ud800", "\u202eword\u0301", "word " * 2_000]
_PASSAGE = PassageText("It is old. It is of stone.", "Bridge", (Span(0, 10), Span(11, 26)))


class EmbedderContract:
    """The behaviour of embedders that indexing and retrieval rely on."""

    def test_texts_become_unit_rows_in_order(self, embedder: Embedder) -> None:
        rows = embedder.embed(_TEXTS)
        check_rows(rows, count=len(_TEXTS), dimension=embedder.dimension)
        for row, text in zip(rows, _TEXTS, strict=True):
            assert float(row @ embedder.embed([text])[0]) > 0.999

    def test_no_texts_are_no_rows(self, embedder: Embedder) -> None:
        assert embedder.embed([]).shape == (0, embedder.dimension)
        assert embedder.embed_passages([]) == []

    def test_any_text_has_a_vector(self, embedder: Embedder) -> None:
        rows = embedder.embed(_ODD_PASSAGES)
        check_rows(rows, count=len(_ODD_PASSAGES), dimension=embedder.dimension)
        passages = [PassageText(text, "", (Span(0, len(text)),)) for text in _ODD_PASSAGES]
        for vectors in embedder.embed_passages(passages):
            check_rows(vectors.chunk[None], count=1, dimension=embedder.dimension)
            check_rows(vectors.sentences, count=1, dimension=embedder.dimension)

    def test_passages_have_a_vector_and_one_for_each_sentence(self, embedder: Embedder) -> None:
        plain = PassageText("No sentences here")
        found = embedder.embed_passages([plain, _PASSAGE, plain])
        assert [len(vectors.sentences) for vectors in found] == [0, 2, 0]
        for vectors in found:
            check_rows(vectors.chunk[None], count=1, dimension=embedder.dimension)
            count = len(vectors.sentences)
            check_rows(vectors.sentences, count=count, dimension=embedder.dimension)
        assert float(found[0].chunk @ found[2].chunk) > 0.999

    def test_context_counts(self, embedder: Embedder) -> None:
        with_context, without = embedder.embed_passages([_PASSAGE, PassageText(_PASSAGE.text)])
        assert float(with_context.chunk @ without.chunk) < 0.999

    def test_the_same_text_is_nearer_than_another(self, embedder: Embedder) -> None:
        question = embedder.embed([_TEXTS[0]])[0]
        same, other = embedder.embed_passages([PassageText(_TEXTS[0]), PassageText(_TEXTS[2])])
        assert float(question @ same.chunk) > 0.9 > float(question @ other.chunk)

    def test_names_are_embedded_while_passages_are_streamed(self, embedder: Embedder) -> None:
        passages = [PassageText(text) for text in _TEXTS]
        stream = getattr(embedder, "stream_passages", embedder.embed_passages)
        names = embedder.embed(_TEXTS)
        for vectors, expected in zip(
            stream(passages), embedder.embed_passages(passages), strict=True
        ):
            assert float(vectors.chunk @ expected.chunk) > 0.999
            assert np.allclose(embedder.embed(_TEXTS), names, atol=1e-5)

    def test_the_name_says_which_model(self, embedder: Embedder) -> None:
        scheme, colon, model = embedder.name.partition(":")
        assert scheme
        assert colon
        assert model


def check_rows(rows: FloatMatrix, *, count: int, dimension: int) -> None:
    """Assert that these are float32 unit vectors of shape (count, dimension)."""
    assert rows.shape == (count, dimension)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4)
