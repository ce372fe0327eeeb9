"""Findings of `knotwork doctor` about language models, against a real local HTTP server."""

import http.server
import json
import threading
from contextlib import contextmanager

import pytest
from tests.inference.chat_answers import refuse, say
from tests.inference.model_server import serve

from knotwork._config import IndexSettings, LlmSettings, SecretRef, Settings
from knotwork._extensions.diagnosis.models import check_chat_models, check_picture_model
from knotwork._indexing.loaders.loader import can_recognise


def settings_for(url, **options):
    return LlmSettings(**{"model": "openai:small", "base_url": url, "timeout_s": 2, **options})


@contextmanager
def serve_models(names):
    """Serve a list of models, and none of them."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.answer(200, {"data": [{"id": name} for name in names]})

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(404, {"error": {"message": "no such model"}})

        def answer(self, status, body):
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()
            thread.join()


def test_no_model_is_no_fault():
    (check,) = check_chat_models(LlmSettings())
    assert check.ok
    assert check.detail.startswith("none")


def test_an_answering_model_is_shown_with_its_price_in_tokens():
    with serve(say("yes")) as server:
        (check,) = check_chat_models(settings_for(server.url))
    assert check.ok
    assert "openai:small, first reply" in check.detail
    assert "18 tokens" in check.detail
    assert len(server.requests) == 1
    assert server.requests[0]["max_tokens"] <= 16


def test_each_model_is_asked_once_and_its_roles_are_reported():
    with serve(say("yes")) as server:
        checks = list(
            check_chat_models(settings_for(server.url, judge="openai:large", extract="none"))
        )
    assert all(check.ok for check in checks)
    assert [sent["model"] for sent in server.requests] == ["small", "large"]
    assert "openai:small for summarize, keyword, answer," in checks[0].detail
    assert "openai:large for judge," in checks[1].detail
    assert checks[2].detail == "none for extract"


@pytest.mark.parametrize(
    ("answer", "detail", "fix"),
    [
        (refuse("wrong key", 401), "401: wrong key", "llm.api_key"),
        (refuse("overloaded", 503), "503: overloaded", "Try again later"),
        (refuse("no such model", 404), "404: no such model", "llm.base_url"),
    ],
)
def test_a_server_that_fails_is_reported_after_one_call(answer, detail, fix):
    with serve(answer) as server:
        (check,) = check_chat_models(settings_for(server.url))
    assert not check.ok
    assert detail in check.detail
    assert fix in check.fix
    assert len(server.requests) == 1


def test_a_model_that_the_server_lacks_is_reported_with_those_it_has():
    with serve_models(["embedder", "smaller", "small-2"]) as url:
        (check,) = check_chat_models(settings_for(url))
    assert not check.ok
    assert "no such model" in check.detail
    assert "openai:smaller" in check.fix
    with serve_models(["small"]) as url:
        (check,) = check_chat_models(settings_for(url))
    assert "llm.base_url" in check.fix


@pytest.mark.parametrize(
    ("options", "detail"),
    [
        ({"model": "opnai:x"}, "Unknown language model"),
        ({"model": "openai:"}, "has no name after its scheme"),
        ({"base_url": "localhost"}, "not a valid server URL"),
        ({"api_key": SecretRef("KNOTWORK_TEST_UNSET")}, "`KNOTWORK_TEST_UNSET`"),
    ],
)
def test_wrong_settings_are_reported(options, detail, monkeypatch):
    monkeypatch.delenv("KNOTWORK_TEST_UNSET", raising=False)
    (check,) = check_chat_models(settings_for("http://127.0.0.1:9/v1", **options))
    assert not check.ok
    assert detail in check.detail
    assert check.fix


def test_a_model_that_replies_something_else_fails():
    with serve(say("I am a teapot.")) as server:
        (check,) = check_chat_models(settings_for(server.url))
    assert not check.ok
    assert "I am a teapot." in check.detail
    assert check.fix


def test_a_model_that_was_still_thinking_passes():
    with serve(say("", finish="length", reasoning_content="The user wants")) as server:
        (check,) = check_chat_models(settings_for(server.url))
    assert check.ok


@pytest.mark.skipif(not can_recognise(), reason="the extra `ocr` is not installed")
def test_a_model_that_is_to_describe_pictures_reads_a_number_in_one():
    pictures = IndexSettings(pictures="model")
    with serve(say("It is 7403.")) as server:
        llm = settings_for(server.url, tier="full")
        (check,) = check_picture_model(Settings(index=pictures, llm=llm))
        assert check.ok
        assert check.detail == "openai:small reads a number in a picture"
        assert check.fix == ""
        assert list(check_picture_model(Settings(llm=llm))) == []
        (sent,) = server.requests
        assert sent["messages"][1]["content"][0]["type"] == "image_url"
        lean = Settings(index=pictures, llm=settings_for(server.url, tier="lean"))
        (check,) = check_picture_model(lean)
        assert check.ok
        assert check.detail.endswith('that a model reads, and the tier is "lean"')
        assert check.fix.startswith('Set llm.tier to "full"')
    with serve(say("I cannot see pictures.")) as server:
        llm = settings_for(server.url)
        (check,) = check_picture_model(Settings(index=pictures, llm=llm))
        assert not check.ok
        assert "did not read the number in a picture. It wrote: I cannot see" in check.detail
        assert "llm.describe" in check.fix
    (check,) = check_picture_model(Settings(index=pictures, llm=LlmSettings()))
    assert not check.ok
