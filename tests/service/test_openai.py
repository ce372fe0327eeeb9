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
from knotwork._knowledge_base import KnowledgeBase
from knotwork._run import Verb
from knotwork.errors import KnotworkError
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


def test_models_are_the_workspaces_of_the_key(sdk):
    assert [model.id for model in sdk.models.list()] == ["open"]
    assert sdk.models.retrieve("open").id == "open"
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
    stranger = openai.OpenAI(base_url=f"{served[0]}/v1", api_key="no", max_retries=0)
    with stranger, pytest.raises(openai.AuthenticationError):
        ask(stranger)


def ask_by_chat(sdk, **options):
    return sdk.chat.completions.create(model="open", messages=ASKED, **options)


def ask_by_response(sdk, **options):
    return sdk.responses.create(model="open", input=QUESTION, **options)


@pytest.mark.parametrize("ask", [ask_by_chat, ask_by_response])
def test_the_retriever_is_an_option(sdk, ask):
    chosen = ask(sdk, extra_body={"knotwork": {"retriever": "bm25"}})
    assert chosen.knotwork["retriever"] == "bm25"
    assert ask(sdk, extra_body={"model": "open:bm25"}).knotwork["retriever"] == "bm25"
    with pytest.raises(openai.BadRequestError, match="Did you mean `bm25`"):
        ask(sdk, extra_body={"knotwork": {"retriever": "bm26"}})


def test_a_response_has_the_text_and_the_marks_of_a_chat(sdk):
    done = sdk.responses.create(model="open", input=QUESTION)
    chat = sdk.chat.completions.create(model="open", messages=ASKED)
    assert done.output_text == chat.choices[0].message.content
    ((said,),) = (item.content for item in done.output)
    cited = [note.url_citation.model_dump() for note in chat.choices[0].message.annotations]
    assert [note.model_dump(exclude={"type"}) for note in said.annotations] == cited
    assert {note.type for note in said.annotations} == {"url_citation"}
    assert (done.object, done.status, done.error, done.model) == (
        "response",
        "completed",
        None,
        "open",
    )
    assert done.usage.total_tokens == done.usage.output_tokens_details.reasoning_tokens == 0
    assert done.knotwork["answered"]


@pytest.mark.parametrize("streams", [False, True])
def test_a_response_takes_a_conversation(sdk, streams):
    first = sdk.responses.create(model="open", input="Who is Oriane Keld?")
    asked = [
        {"role": "developer", "content": "You are helpful."},
        {"role": "user", "content": "Who is Oriane Keld?"},
        *(item.model_dump() for item in first.output),
        {"role": "user", "content": [{"type": "input_text", "text": "Where was she born?"}]},
    ]
    done = sdk.responses.create(model="open", input=asked, stream=streams)
    if streams:
        done = list(done)[-1].response
    assert "Understood as: Where was Oriane Keld born?" in done.knotwork["notes"]
    assert done.output_text == ask_alone(sdk)


def test_a_streamed_response_has_the_events_of_openai(sdk):
    whole = sdk.responses.create(model="open", input=QUESTION)
    events = list(sdk.responses.create(model="open", input=QUESTION, stream=True))
    kinds = [event.type.removeprefix("response.") for event in events]
    deltas, notes = kinds.count("output_text.delta"), len(whole.output[0].content[0].annotations)
    assert kinds == [
        *("created", "in_progress", "output_item.added", "content_part.added"),
        *["output_text.delta"] * deltas,
        *["output_text.annotation.added"] * notes,
        *("output_text.done", "content_part.done", "output_item.done", "completed"),
    ]
    assert min(deltas, notes) >= 1
    assert [event.sequence_number for event in events] == list(range(len(events)))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    done = events[-1].response
    assert text == done.output_text == whole.output_text
    assert done.output == [whole.output[0].model_copy(update={"id": done.output[0].id})]
    assert events[0].response.status == "in_progress"
    assert len({event.response.id for event in events if hasattr(event, "response")}) == 1


def test_the_helper_of_the_sdk_assembles_a_streamed_response(sdk):
    with sdk.responses.stream(model="open", input=QUESTION) as stream:
        final = stream.get_final_response()
    assert "Travel Office" in final.output_text


def test_a_streamed_response_that_fails_says_so(sdk, monkeypatch):
    whole = KnowledgeBase.ask

    def fail(self, question, **options):
        events = whole.run(self, question, **options)
        yield next(events)
        raise KnotworkError("The disk is full.", fix="Free some space.")

    monkeypatch.setattr(KnowledgeBase, "ask", Verb(fail))
    *_, last = sdk.responses.create(model="open", input=QUESTION, stream=True)
    assert (last.type, last.response.status) == ("response.failed", "failed")
    assert last.response.error.message == "The disk is full. Free some space."


TOOL = {"type": "function", "function": {"name": "search", "parameters": {}}}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("ask", "name", "value", "harmless"),
    [
        (ask_by_chat, "n", 2, 1),
        (ask_by_chat, "n", True, 1),
        (ask_by_chat, "tools", [TOOL], []),
        (ask_by_chat, "tool_choice", "required", "none"),
        (ask_by_chat, "tool_choice", {"type": "function", "function": {"name": "x"}}, "auto"),
        (ask_by_chat, "functions", [{"name": "x"}], []),
        (ask_by_chat, "response_format", {"type": "json_object"}, {"type": "text"}),
        (ask_by_chat, "logprobs", True, False),
        (ask_by_chat, "modalities", ["text", "audio"], ["text"]),
        (ask_by_response, "tools", [{"type": "web_search"}], []),
        (ask_by_response, "tool_choice", "required", "auto"),
        (ask_by_response, "previous_response_id", "resp_1", None),
        (ask_by_response, "background", True, False),
        (ask_by_response, "background", 0, False),
        (ask_by_response, "text.format", {"type": "json_object"}, {"type": "text"}),
    ],
)
def test_what_asks_for_another_kind_of_answer_is_refused_in_words(
    sdk, ask, name, value, harmless, stream
):
    def body(given):
        return {"text": {"format": given}} if name == "text.format" else {name: given}

    with pytest.raises(openai.BadRequestError) as refused:
        ask(sdk, stream=stream, extra_body=body(value))
    error = refused.value.body
    assert (error["type"], error["param"]) == ("invalid_request_error", name)
    assert f"`{name}` is not supported" in error["message"]
    assert "Leave it out" in error["message"]
    assert ask(sdk, extra_body=body(harmless)).knotwork["answered"]


def test_fields_that_do_not_change_the_answer_are_ignored(sdk):
    plain = sdk.responses.create(model="open", input=QUESTION)
    done = sdk.responses.create(
        model="open",
        input=QUESTION,
        instructions="Be brief.",
        temperature=0.2,
        max_output_tokens=500,
        store=False,
        include=[],
        metadata={"a": "b"},
    )
    assert done.output_text == plain.output_text


def test_items_that_are_no_messages_are_refused(sdk):
    item = {"type": "function_call_output", "call_id": "c", "output": "x"}
    asked = [{"role": "user", "content": QUESTION}, item]
    with pytest.raises(openai.UnprocessableEntityError, match="'message' or 'reasoning'"):
        sdk.responses.create(model="open", input=asked)


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
            response = client.responses.create(model="open", input=QUESTION)
            *_, last = client.responses.create(model="open", input=QUESTION, stream=True)
    pieces = [c.choices[0].delta.content for c in chunks if c.choices]
    text = "".join(piece or "" for piece in pieces)
    assert "Travel Office" in text
    assert chunks[-1].usage.prompt_tokens > 100
    assert chunks[-1].usage.completion_tokens > 0
    assert again.choices[0].message.content == text
    assert response.output_text == last.response.output_text
    assert "Travel Office" in response.output_text
    assert again.usage.total_tokens == 0
    check_marks(text, again.choices[0].message.annotations)
