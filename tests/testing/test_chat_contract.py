"""The contract holds for a small client of the model server, and catches models that break it."""

import json
import urllib.error
import urllib.request
from dataclasses import replace

import pytest

from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._extensions.testing.model_contracts import ChatModelContract, explain
from knotwork._inference.chat import ChatReply, TokenUsage
from knotwork.errors import ModelError, ModelUnavailable
from knotwork.testing.model_server import Fault, FaultPlan, ModelTestServer


class PlainClient:
    """The least that speaks to a server: no retries, no settings."""

    name = "plain:any"

    def __init__(self, url):
        self.url = url

    def complete(self, request):
        with self._open(request, {}) as response:
            body = json.load(response)
        choice = body["choices"][0]
        return reply(choice["message"]["content"], choice["finish_reason"], body["usage"])

    def stream(self, request):
        text, finish, usage = "", "", {}
        extra = {"stream": True, "stream_options": {"include_usage": True}}
        with self._open(request, extra) as response:
            for line in response:
                if not line.startswith(b"data: {"):
                    continue
                event = json.loads(line.removeprefix(b"data: "))
                usage = event.get("usage") or usage
                for choice in event["choices"]:
                    finish = choice["finish_reason"] or finish
                    piece = choice["delta"].get("content", "")
                    text += piece
                    if piece:
                        yield piece
        yield reply(text, finish, usage)

    def _open(self, request, extra):
        body = {
            "model": "any",
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "max_tokens": request.max_output_tokens,
        }
        url = f"{self.url}/chat/completions"
        try:
            return urllib.request.urlopen(url, json.dumps(body | extra).encode(), timeout=30)
        except urllib.error.HTTPError as error:
            with error:
                kind = ModelUnavailable if error.code >= 500 else ModelError
                raise kind(error.reason) from None


def reply(text, finish, usage):
    told = TokenUsage(usage["prompt_tokens"], usage["completion_tokens"], calls=1)
    return ChatReply(text, finish, told)


class TestPlainClient(ChatModelContract):
    @pytest.fixture
    def server(self):
        with ModelTestServer() as running:
            yield running

    @pytest.fixture
    def model(self, server):
        return PlainClient(server.url)

    @pytest.fixture
    def sent(self, server):
        return server.sent_text

    @pytest.fixture
    def unavailable(self, server, model):
        server.faults = FaultPlan(rates={Fault.UNAVAILABLE: 1.0})
        return model

    @pytest.fixture
    def refusing(self, server, model):
        server.faults = FaultPlan(refuses=frozenset({"messages"}))
        return model


class Careless(ScriptedChatModel):
    """Answers as the script does, with one fault."""

    def __init__(self):
        super().__init__(explain)

    def sent(self):
        return "\n".join(m.content for r in self.requests for m in r.messages)


class NamedByStage(Careless):
    def complete(self, request):
        self.name = f"scripted:{request.stage}"
        return super().complete(request)


class SendsSource(Careless):
    def sent(self):
        return super().sent() + "".join(request.source for request in self.requests)


class LosesTheLastPiece(Careless):
    def stream(self, request):
        *pieces, _, whole = super().stream(request)
        yield from pieces
        yield whole


class CountsTwice(Careless):
    def complete(self, request):
        done = super().complete(request)
        return replace(done, usage=done.usage + done.usage)


class ForgetsTheLimit(Careless):
    def complete(self, request):
        return super().complete(replace(request, max_output_tokens=1_000))


class SharesOneReply(Careless):
    def complete(self, request):
        self.last = getattr(self, "last", None) or super().complete(request)
        return self.last


class SeesOneTurn(Careless):
    def complete(self, request):
        return super().complete(replace(request, messages=request.messages[-1:]))


CONTRACT = ChatModelContract()


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (NamedByStage, CONTRACT.test_the_name_says_which_model),
        (SendsSource, lambda m: CONTRACT.test_stage_and_source_stay_here(m, m.sent)),
        (LosesTheLastPiece, CONTRACT.test_streaming_equals_completing),
        (CountsTwice, CONTRACT.test_usage_is_told_of_every_call),
        (ForgetsTheLimit, CONTRACT.test_the_limit_of_tokens_cuts_the_reply),
        (SharesOneReply, CONTRACT.test_threads_get_their_own_replies),
        (SeesOneTurn, lambda m: CONTRACT.test_every_turn_of_a_conversation_counts(m, m.sent)),
    ],
)
def test_the_contract_catches(kind, check):
    check(Careless())
    with pytest.raises(AssertionError):
        check(kind())


def test_an_error_that_changes_its_type_is_caught():
    final = ScriptedChatModel(lambda _: ModelError("No."))
    passing = ScriptedChatModel(lambda _: ModelUnavailable("Later."))
    CONTRACT.test_a_refusal_is_final(final)
    with pytest.raises(AssertionError):
        CONTRACT.test_a_refusal_is_final(passing)
    with pytest.raises(ModelError, match="No"):
        CONTRACT.test_a_server_that_cannot_be_had_is_unavailable(final)
