"""The client of model servers, against a real HTTP server on this machine."""

import socket
import threading
from datetime import UTC, datetime

import numpy as np
import pytest
from tests.inference.model_server import (
    ORACLE,
    Reply,
    Server,
    embed_as_base64,
    embed_as_lists,
    reply,
    serve,
)

from knotwork._config import SecretRef
from knotwork._extensions.served_models.embeddings import (
    OpenAIEmbedder,
    batch_texts,
    estimate_tokens,
)
from knotwork._extensions.served_models.http import ModelServer, read_wait
from knotwork._extensions.testing.model_contracts import EmbedderContract
from knotwork._inference.call_limits import RetryPolicy
from knotwork._inference.embedder import PassageText
from knotwork.errors import ConfigError, ModelError, ModelUnavailable
from knotwork.records import Span

KEY = "sk-very-secret-0123456789"


def connect(server: Server | str, *, waits=None, key=None, timeout_s=5.0, **options):
    url = server if isinstance(server, str) else server.url
    waits = waits if waits is not None else []
    return OpenAIEmbedder(
        "small",
        ModelServer(url, api_key=key, timeout_s=timeout_s, section="embedding"),
        retries=RetryPolicy(attempts=3, sleep=waits.append),
        **options,
    )


@pytest.mark.parametrize("answer", [embed_as_base64, embed_as_lists])
def test_vectors_come_in_order_as_unit_rows(answer):
    texts = [f"text {number} of many" for number in range(7)]
    with serve(answer) as server:
        embedder = connect(server)
        rows = embedder.embed(texts)
        assert embedder.dimension == 32
    assert rows.dtype == np.float32
    assert np.allclose(rows, ORACLE.embed(texts), atol=1e-6)
    (request,) = server.requests
    assert request["path"] == "/v1/embeddings"
    assert request["model"] == "small"
    assert request["encoding_format"] == "base64"
    assert "dimensions" not in request
    assert "Authorization" not in server.headers[0]


def test_batches_are_by_tokens_and_run_side_by_side():
    texts = [f"{number} " + "word " * 50 for number in range(12)]
    meeting = threading.Barrier(3, timeout=5)

    def meet(payload: dict) -> Reply:
        meeting.wait()
        return embed_as_base64(payload)

    with serve(meet) as server:
        embedder = connect(server, batch_tokens=200, concurrency=3)
        rows = embedder.embed(texts)
    assert [len(request["input"]) for request in server.requests] == [2] * 6
    assert server.most_running == 3
    assert np.allclose(rows, ORACLE.embed(texts), atol=1e-6)


def test_passages_and_sentences_are_texts_of_their_own():
    passages = [
        PassageText("One. Two.", "Title", (Span(0, 4), Span(5, 9))),
        PassageText("", "", ()),
        PassageText("Three.", "", (Span(0, 6),)),
    ]
    with serve(embed_as_base64) as server:
        found = connect(server).embed_passages(passages)
        plain = connect(server, embeds_sentences=False)
        chunks = plain.embed_passages(passages)
    asked = server.requests[0]["input"]
    assert asked == ["Title. One. Two.", " ", "Three.", "One.", "Two.", "Three."]
    assert np.allclose(found[0].sentences, ORACLE.embed(["One.", "Two."]), atol=1e-6)
    assert np.allclose(found[2].sentences, ORACLE.embed(["Three."]), atol=1e-6)
    assert found[1].sentences.shape == (0, 32)
    assert server.requests[1]["input"] == ["Title. One. Two.", " ", "Three."]
    assert np.array_equal(chunks[0].sentences, np.stack([chunks[0].chunk] * 2))
    assert plain.name != connect(server).name


def test_nothing_asked_is_nothing_sent():
    with serve(embed_as_base64) as server:
        embedder = connect(server, dimension=32)
        assert embedder.embed([]).shape == (0, 32)
        assert embedder.embed_passages([]) == []
    assert server.requests == []


def test_the_dimension_is_asked_for_and_checked():
    with serve(embed_as_base64) as server:
        assert connect(server, dimension=32).embed(["a"]).shape == (1, 32)
        assert server.requests[0]["dimensions"] == 32
        with pytest.raises(ModelError, match="dimension 32, not 48") as caught:
            connect(server, dimension=48).embed(["a"])
    assert not isinstance(caught.value, ModelUnavailable)


def test_a_dimension_that_changes_is_an_error():
    with serve(embed_as_lists, reply(200, {"data": [{"embedding": [1.0, 2.0]}]})) as server:
        embedder = connect(server)
        embedder.embed(["a"])
        with pytest.raises(ModelError, match="dimension 2, not 32"):
            embedder.embed(["b"])


@pytest.mark.parametrize(
    ("status", "headers", "waits"),
    [
        (429, {"Retry_After": "7"}, [7.0]),
        (429, {}, [0.5]),
        (500, {}, [0.5]),
        (503, {"Retry_After": "0"}, [0.5]),
        (503, {"Retry_After": "soon"}, [0.5]),
    ],
)
def test_temporary_errors_are_retried(status, headers, waits):
    slept: list[float] = []
    with serve(reply(status, {"error": {"message": "busy"}}, **headers), embed_as_lists) as server:
        rows = connect(server, waits=slept).embed(["a"])
    assert rows.shape == (1, 32)
    assert slept == waits


def test_tries_end():
    slept: list[float] = []
    with (
        serve(reply(500, b"<html>broken</html>")) as server,
        pytest.raises(ModelUnavailable, match="500: <html>broken"),
    ):
        connect(server, waits=slept).embed(["a"])
    assert [request["input"] for request in server.requests] == [["a"]] * 3 + [["dimension"]]
    assert slept == [0.5, 1.0]


def test_a_wait_that_is_too_long_is_reported_and_not_slept():
    slept: list[float] = []
    answer = reply(429, {"error": "tomorrow"}, Retry_After="86400")
    with serve(answer) as server, pytest.raises(ModelUnavailable, match="tomorrow") as caught:
        connect(server, waits=slept).embed(["a"])
    assert caught.value.retry_after_s == 86_400
    assert slept == []


@pytest.mark.parametrize(("status", "fix"), [(400, ""), (401, "embedding.api_key"), (404, "name")])
def test_a_refusal_is_final_and_says_why(status, fix):
    message = f"no, {KEY} is not known"
    environ_key = SecretRef("KNOTWORK_TEST_KEY")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KNOTWORK_TEST_KEY", KEY)
        with (
            serve(reply(status, {"error": {"message": message}})) as server,
            pytest.raises(ModelError, match=r"no, \*\*\* is not known") as caught,
        ):
            connect(server, key=environ_key).embed(["a"])
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert len(server.requests) == (2 if status == 400 else 1)  # whether it refuses all texts
    assert KEY not in str(caught.value)
    assert KEY not in repr(caught.value.__dict__)
    assert fix in caught.value.fix
    assert not isinstance(caught.value, ModelUnavailable)


def test_a_key_that_is_not_set_is_named(monkeypatch):
    monkeypatch.delenv("KNOTWORK_TEST_KEY", raising=False)
    with (
        serve(embed_as_lists) as server,
        pytest.raises(ConfigError, match="`KNOTWORK_TEST_KEY`"),
    ):
        connect(server, key=SecretRef("KNOTWORK_TEST_KEY")).embed(["a"])
    assert server.requests == []


def test_redirects_are_not_followed_with_the_key():
    with serve(embed_as_lists) as other:
        answer = reply(302, "", Location=f"{other.url}/embeddings")
        with serve(answer) as server, pytest.raises(ModelError, match="answered 302"):
            connect(server).embed(["a"])
    assert other.requests == []


VECTOR = [1.0, 2.0]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[" * 100_000,
        [],
        {"data": None},
        {"data": []},
        {"data": [{"embedding": VECTOR}] * 3},
        {"data": ["x", "y"]},
        {"data": [{"index": 0, "embedding": VECTOR}] * 2},
        {"data": [{"index": 5, "embedding": VECTOR}, {"embedding": VECTOR}]},
        {"data": [{"embedding": VECTOR}, {"embedding": [1.0]}]},
        {"data": [{"embedding": VECTOR}, {"embedding": []}]},
        {"data": [{"embedding": VECTOR}, {"embedding": None}]},
        {"data": [{"embedding": VECTOR}, {"embedding": [[1.0], [1.0]]}]},
        {"data": [{"embedding": VECTOR}, {"embedding": [[1.0], 1.0]}]},
        {"data": [{"embedding": VECTOR}, {"embedding": ["a", "b"]}]},
        {"data": [{"embedding": VECTOR}, {"embedding": [True, False]}]},
        {"data": [{"embedding": VECTOR}, {"embedding": {"a": 1}}]},
        {"data": [{"embedding": VECTOR}, {"embedding": "****"}]},
        {"data": [{"embedding": VECTOR}, {"embedding": "AAA="}]},
        {"data": [{"embedding": VECTOR}, {"embedding": [0.0, 0.0]}]},
        {"data": [{"embedding": VECTOR}, {"embedding": [float("nan"), 1.0]}]},
        {"data": [{"embedding": VECTOR}, {"embedding": [1e300, 1.0]}]},
    ],
)
def test_garbage_is_tried_again_and_then_told(body):
    with serve(reply(200, body)) as server, pytest.raises(ModelUnavailable):
        connect(server).embed(["a", "b"])
    assert [request["input"] for request in server.requests[:3]].count(["a", "b"]) >= 1
    assert len(server.requests) <= 12


def test_one_bad_text_has_no_vector():
    def answer(payload: dict) -> Reply:
        if "bad" in payload["input"]:
            return reply(400, {"error": {"message": "bad text"}})(payload)
        return embed_as_lists(payload)

    texts = ["good"] * 5 + ["bad"] + ["good"] * 5
    with serve(answer) as server:
        rows = connect(server, batch_tokens=1, concurrency=2).embed(texts)
    assert np.flatnonzero(~rows.any(axis=1)).tolist() == [5]
    assert np.allclose(rows[6], rows[0])


def test_a_server_that_breaks_off_may_recover():
    half = reply(200, b'{"data"', Length="1000")
    with serve(half, embed_as_lists) as server:
        assert connect(server).embed(["a"]).shape == (1, 32)


def test_no_server_may_come_up():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    slept: list[float] = []
    with pytest.raises(ModelUnavailable, match="Cannot connect"):
        connect(url, waits=slept).embed(["a"])
    assert len(slept) == 2


def test_a_silent_server_is_given_up():
    release = threading.Event()

    def hang(payload: dict) -> Reply:
        release.wait(5)
        return embed_as_lists(payload)

    with serve(hang) as server:
        with pytest.raises(ModelUnavailable, match=r"did not respond within 0\.05 s"):
            connect(server, timeout_s=0.05).embed(["a"])
        release.set()


@pytest.mark.parametrize("url", ["", "host:80", "ftp://host", "file:///etc/passwd", "http://"])
def test_an_invalid_address_is_refused(url):
    with pytest.raises(ConfigError, match="not a valid server URL"):
        ModelServer(url, api_key=None, timeout_s=1, section="embedding")


def test_retry_after_is_seconds_or_a_date():
    now = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
    assert read_wait({"retry-after": "2.5"}) == 2.5
    assert read_wait({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, now=now) == 30
    assert read_wait({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, now=now) == 0
    assert read_wait({"retry-after": ""}) is None
    assert read_wait({"retry-after": "later"}) is None


def test_batches_keep_order_and_a_large_text_stands_alone():
    texts = ["a", "word " * 100, "b", "中" * 30]
    batches = list(batch_texts(texts, batch_tokens=40))
    assert [text for batch in batches for text in batch] == texts
    assert ["word " * 100] in batches
    assert estimate_tokens("中" * 30) >= 30
    assert len(list(batch_texts(["x"] * 5_000, batch_tokens=10**6))) == 3


class TestServed(EmbedderContract):
    @pytest.fixture
    def embedder(self):
        with serve(embed_as_base64) as server:
            yield connect(server)
