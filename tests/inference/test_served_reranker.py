import pytest
from tests.inference.chat_answers import refuse
from tests.inference.model_server import reply, serve

from knotwork._extensions.served_models.http import ModelServer
from knotwork._extensions.served_models.rerank import ServedReranker
from knotwork._inference.call_limits import RetryPolicy
from knotwork.errors import ModelError, ModelUnavailable
from knotwork.testing.model_server import ModelTestServer

TEXTS = ["Cats sleep.", "The bridge of Tartu opened in 1784.", "", "Bridges are long."]


def connect(server, *, waits=None, **options):
    waits = [] if waits is None else waits
    return ServedReranker(
        "small",
        ModelServer(server.url, api_key=None, timeout_s=5),
        retries=RetryPolicy(attempts=3, sleep=waits.append),
        **options,
    )


def score_by_length(payload):
    """Answer as Jina does, best first."""
    scores = {i: float(len(text)) for i, text in enumerate(payload["documents"])}
    order = sorted(scores, key=lambda i: -scores[i])
    return reply(200, {"results": [{"index": i, "relevance_score": scores[i]} for i in order]})(
        payload
    )


def score_as_tei(payload):
    if "texts" not in payload:
        return refuse("missing field `texts` at line 1", 422)(payload)
    body = [{"index": i, "score": len(text)} for i, text in enumerate(payload["texts"])]
    return reply(200, body[::-1])(payload)


def test_scores_come_in_the_order_of_the_texts_and_batches_make_no_difference():
    expected = [float(len(text) or 1) for text in TEXTS]
    with serve(score_by_length) as server:
        assert connect(server).score("Which bridge?", TEXTS) == expected
        assert connect(server, batch_texts=3).score("Which bridge?", TEXTS) == expected
        assert connect(server).score("Which bridge?", []) == []
    assert [len(sent["documents"]) for sent in server.requests] == [4, 3, 1]
    assert server.requests[0]["path"] == "/v1/rerank"
    assert server.requests[0]["query"] == "Which bridge?"


def test_the_other_name_of_the_texts_is_learned_once():
    with serve(score_as_tei) as server:
        reranker = connect(server)
        assert reranker.score("Which?", ["ab", "a"]) == [2.0, 1.0]
        assert reranker.score("Which?", ["a"]) == [1.0]
    assert [("texts" in sent) for sent in server.requests] == [False, True, True]


def test_a_whole_server_finds_the_text_about_the_question():
    with ModelTestServer() as server:
        scores = connect(server).score("When did the bridge of Tartu open?", TEXTS)
    assert max(range(4), key=scores.__getitem__) == 1


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"results": None},
        {"results": [{"index": 0, "relevance_score": 1.0}]},
        {"results": [{"index": 0, "relevance_score": 1.0}] * 2},
        {"results": [{"index": i, "relevance_score": float("nan")} for i in range(2)]},
        {"results": [{"index": i, "relevance_score": 1.0} for i in range(3)]},
        b"garbage",
    ],
)
def test_garbage_is_tried_again_and_then_told(body):
    waits = []
    with serve(reply(200, body)) as server, pytest.raises(ModelUnavailable):
        connect(server, waits=waits).score("Which?", ["a", "b"])
    assert len(waits) == 2


def test_a_refusal_is_final():
    with serve(refuse("no such model", 404)) as server, pytest.raises(ModelError, match="no such"):
        connect(server).score("Which?", ["a"])
    assert len(server.requests) == 1
