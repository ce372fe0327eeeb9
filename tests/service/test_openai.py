"""The official client of OpenAI against a server on this machine."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import httpx2 as httpx
import numpy as np
import openai
import pytest
from tests.service.serving import QUESTION, add_key, copy_index, make_settings, run_server

from knotwork._extensions.server.server import ServerConfig
from knotwork.testing.model_server import ModelTestServer

pytestmark = pytest.mark.slow


ASKED = [
    {"role": "system", "content": "You are helpful."},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hello!"},
    {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
]


@pytest.fixture(scope="module")
def served(sample_index, tmp_path_factory):
    """The address of a server with `open` and `hidden`, and a key for `open`."""
    place = ServerConfig(tmp_path_factory.mktemp("openai"), make_settings())
    copy_index(sample_index, place.path / "open.knot")
    copy_index(sample_index, place.path / "hidden.knot")
    key = add_key(place, "mine", "read", "open")["Authorization"].removeprefix("Bearer ")
    with run_server(place) as address:
        yield address, key


@pytest.fixture(scope="module")
def sdk(served):
    address, key = served
    with openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0) as client:
        yield client


def check_marks(text, annotations):
    """Every annotation covers its mark, and leads to the page of its passage."""
    assert annotations
    numbers = []
    for annotation in annotations:
        citation = annotation.url_citation
        mark = text[citation.start_index : citation.end_index]
        assert mark.startswith("[")
        assert mark.endswith("]")
        numbers.append(int(mark[1:-1]))
        assert "/ui/documents/" in citation.url
        assert "ws=open&chunk=" in citation.url
        assert citation.title
    assert sorted(set(numbers)) == list(range(1, len(set(numbers)) + 1))


def test_a_completion_has_citations_as_marks_and_as_annotations(sdk):
    done = sdk.chat.completions.create(model="open", messages=ASKED)
    message = done.choices[0].message
    assert "Travel Office" in message.content
    check_marks(message.content, message.annotations)
    assert (done.object, done.model, done.choices[0].finish_reason) == (
        "chat.completion",
        "open",
        "stop",
    )
    assert done.usage.total_tokens == done.usage.prompt_tokens + done.usage.completion_tokens == 0


BEFORE = [
    {"role": "system", "content": "You are helpful."},
    {"role": "user", "content": "Who is Oriane Keld?"},
    {"role": "assistant", "content": "Oriane Keld is an instrument maker. [1]"},
]


def ask_alone(sdk):
    asked = [{"role": "user", "content": "Where was Oriane Keld born?"}]
    return sdk.chat.completions.create(model="open", messages=asked).choices[0].message.content


@pytest.mark.parametrize("streams", [False, True])
def test_a_question_may_lean_on_the_messages_before_it(sdk, streams):
    asked = [*BEFORE, {"role": "user", "content": "Where was she born?"}]
    done = sdk.chat.completions.create(model="open", messages=asked, stream=streams)
    if streams:
        text = "".join(c.choices[0].delta.content or "" for c in done if c.choices)
    else:
        text = done.choices[0].message.content
        assert "Understood as: Where was Oriane Keld born?" in done.knotwork["notes"]
    assert text == ask_alone(sdk)


def test_only_the_last_turns_and_their_beginnings_are_read(sdk):
    long = [
        {"role": role, "content": "Nothing of note. " * 2_000}
        for _ in range(40)
        for role in ("user", "assistant")
    ]
    asked = [*long, *BEFORE, {"role": "user", "content": "Where was she born?"}]
    done = sdk.chat.completions.create(model="open", messages=asked)
    assert done.choices[0].message.content == ask_alone(sdk)


def test_a_stream_brings_the_same_text_and_annotations(sdk):
    whole = sdk.chat.completions.create(model="open:bm25", messages=ASKED)
    chunks = list(
        sdk.chat.completions.create(
            model="open:bm25",
            messages=ASKED,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == whole.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.total_tokens == 0
    assert len({chunk.id for chunk in chunks}) == 1


def test_the_helper_of_the_sdk_assembles_a_stream_with_typed_annotations(sdk):
    with sdk.chat.completions.stream(model="open", messages=ASKED) as stream:
        final = stream.get_final_completion()
    message = final.choices[0].message
    check_marks(message.content, message.annotations)


def test_sources_are_listed_in_the_text_for_those_who_ask(sdk):
    wanted = {"knotwork": {"sources": "markdown"}}
    done = sdk.chat.completions.create(model="open", messages=ASKED, extra_body=wanted)
    text = done.choices[0].message.content
    check_marks(text, done.choices[0].message.annotations)
    assert "\n1. [" in text
    chunks = sdk.chat.completions.create(
        model="open", messages=ASKED, stream=True, extra_body=wanted
    )
    streamed = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert streamed == text


def test_unanswerable_questions_are_reported(sdk):
    asked = [{"role": "user", "content": "What is the boiling point of tungsten on Mars?"}]
    done = sdk.chat.completions.create(model="open", messages=asked)
    assert not json.loads(done.model_dump_json())["knotwork"]["answered"]
    assert "[1]" not in done.choices[0].message.content


def test_embeddings_match_the_workspace_in_both_encodings(sdk, served):
    found = sdk.embeddings.create(model="open", input=["travel office", "office travel", "salt"])
    rows = np.array([item.embedding for item in found.data])
    assert rows.shape == (3, 64)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert found.usage.prompt_tokens == 5
    address, key = served
    body = {"model": "open", "input": "salt", "encoding_format": "base64"}
    headers = {"Authorization": f"Bearer {key}"}
    packed = httpx.post(f"{address}/v1/embeddings", json=body, headers=headers).json()
    unpacked = np.frombuffer(base64.b64decode(packed["data"][0]["embedding"]), dtype="<f4")
    assert unpacked == pytest.approx(rows[2], abs=1e-6)


def test_models_are_the_workspaces_of_the_key_with_their_retrievers(sdk):
    names = [model.id for model in sdk.models.list()]
    assert {"open", "open:bm25", "open:auto"} <= set(names)
    assert not [name for name in names if "hidden" in name]
    assert sdk.models.retrieve("open:graph").id == "open:graph"
    with pytest.raises(openai.NotFoundError):
        sdk.models.retrieve("open:none")


@pytest.mark.parametrize("stream", [False, True])
def test_errors_are_those_that_the_sdk_knows(sdk, served, stream):
    def ask(client, **options):
        given = {"model": "open", "messages": ASKED, "stream": stream, **options}
        return client.chat.completions.create(**given)

    with pytest.raises(openai.NotFoundError) as missing:
        ask(sdk, model="hidden")
    assert missing.value.body["type"] == "not_found_error"
    with pytest.raises(openai.BadRequestError) as unknown:
        ask(sdk, model="open:no-such")
    assert unknown.value.body["code"] == "unknown_name"
    with pytest.raises(openai.UnprocessableEntityError):
        ask(sdk, messages=[{"role": "system", "content": "Be brief."}])
    with pytest.raises(openai.UnprocessableEntityError):
        ask(sdk, n=2)
    stranger = openai.OpenAI(base_url=f"{served[0]}/v1", api_key="no", max_retries=0)
    with stranger, pytest.raises(openai.AuthenticationError):
        ask(stranger)


def test_a_model_writes_word_by_word_and_its_tokens_are_counted(sample_index, tmp_path):
    copy_index(sample_index, tmp_path / "open.knot")
    with ModelTestServer() as model:
        settings = make_settings()
        llm = replace(settings.llm, model="openai:knotwork-test", base_url=model.url)
        place = ServerConfig(tmp_path, replace(settings, llm=llm))
        with (
            run_server(place) as address,
            openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client,
        ):
            chunks = list(
                client.chat.completions.create(
                    model="open",
                    messages=ASKED,
                    stream=True,
                    stream_options={"include_usage": True},
                )
            )
            again = client.chat.completions.create(model="open", messages=ASKED)
    pieces = [c.choices[0].delta.content for c in chunks if c.choices]
    text = "".join(piece or "" for piece in pieces)
    assert "Travel Office" in text
    assert chunks[-1].usage.prompt_tokens > 100
    assert chunks[-1].usage.completion_tokens > 0
    assert again.choices[0].message.content == text
    assert again.usage.total_tokens == 0
    check_marks(text, again.choices[0].message.annotations)
