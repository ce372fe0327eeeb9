"""A text that an embedding server cannot take costs its vector, not the run."""

import json

import numpy as np
import pytest
from tests.cli.running import knotwork as command
from tests.inference.model_server import ORACLE, embed_as_base64, embed_as_lists, reply, serve

import knotwork
from knotwork._config import StoreSettings
from knotwork._extensions.diagnosis.index import check_index
from knotwork._extensions.served_models.embeddings import OpenAIEmbedder
from knotwork._extensions.served_models.http import ModelServer
from knotwork._inference.call_limits import RetryPolicy
from knotwork._inference.embedder import PassageVectors
from knotwork.errors import ModelError

COLOURS = ("red", "green", "blue", "white", "amber", "violet", "pink", "grey")
NOTES = {
    f"note {number}.md": f"# Note {number}\n\nThe lamp of quay {number} is {colour}.\n"
    for number, colour in enumerate(COLOURS)
}
BAD = "# Bad\n\nThe POISON of the jetty is kept in shed nine.\n"


def vectors(payload, change):
    status, headers, body = embed_as_lists(payload)
    data = json.loads(body)
    for place, text in enumerate(payload["input"]):
        if "poison" in text.lower():
            change(data["data"], place)
    return status, headers, json.dumps(data).encode()


def bad_vector(value):
    def answer(payload):
        return vectors(payload, lambda data, place: data[place].update(embedding=value))

    return answer


def refuse(status, message):
    def answer(payload):
        if any("poison" in text.lower() for text in payload["input"]):
            return reply(status, {"error": {"message": message}})(payload)
        return embed_as_base64(payload)

    return answer


def renumber(index):
    def answer(payload):
        return vectors(payload, lambda data, place: data[place].update(index=index))

    return answer


def lose(payload):
    return vectors(payload, lambda data, place: data.pop())


FAULTS = {
    "too long": refuse(400, "the input length exceeds the context length"),
    "NaN of Ollama": refuse(500, "json: unsupported value: NaN"),
    "gateway": refuse(502, "bad gateway"),
    "413": refuse(413, "payload too large"),
    "422": refuse(422, "无法处理输入"),
    "NaN": bad_vector([float("nan")] * 32),
    "infinite": bad_vector([float("inf")] * 32),
    "zero": bad_vector([0.0] * 32),
    "empty": bad_vector([]),
    "null": bad_vector(None),
    "no list": bad_vector("****"),
    "short": bad_vector([1.0] * 31),
    "lost": lose,
}


def open_index(folder, server, attempts=2):
    policy = RetryPolicy(attempts=attempts, sleep=lambda seconds: None)
    server = ModelServer(server.url, api_key=None, timeout_s=5, section="embedding")
    return knotwork.open(
        folder / "k.knot", embedder=OpenAIEmbedder("small", server, retries=policy)
    )


def write(folder, files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("fault", FAULTS)
def test_one_text_costs_its_vector_and_is_named(tmp_path, fault):
    folder = write(tmp_path / "files", NOTES | {"bad.md": BAD})
    with serve(FAULTS[fault]) as server, open_index(tmp_path, server) as kb:
        report = kb.index(folder)
        assert report.added == len(NOTES) + 1
        assert kb.store.vectors("chunk").count() == len(NOTES)
        (note,) = [note for note in report.notes if "no vector" in note]
        assert note.startswith("1 chunk has no vector")
        assert "bad.md`" in note
        assert "shed nine" in kb.ask("Where is the POISON of the jetty kept?").text
        sent = len(server.requests)
        assert kb.index(folder).unchanged == len(NOTES) + 1  # and does not ask again
        assert len(server.requests) == sent
        server.answers = [embed_as_base64]
        kb.embed()
        assert kb.store.vectors("chunk").count() == len(NOTES) + 1
        assert not any("no vector" in note for note in kb.index(folder).notes)


def test_indices_that_cannot_be_used_cost_nothing(tmp_path):
    for index in (None, 0, 5, -1, "0", 1.5):
        place = write(tmp_path / str(index), {})
        with serve(renumber(index)) as server, open_index(place, server) as kb:
            kb.index(write(place / "files", NOTES | {"bad.md": BAD}))
            assert kb.store.vectors("chunk").count() == len(NOTES) + 1


def test_a_text_that_is_too_long_is_shortened(tmp_path):
    def answer(payload):
        if any(len(text) > 100 for text in payload["input"]):
            return reply(400, {"error": {"message": "maximum context length is 30 tokens"}})(
                payload
            )
        return embed_as_base64(payload)

    long = "# Rules\n\n" + "Every boat needs a lamp at night. " * 20
    with serve(answer) as server, open_index(tmp_path, server) as kb:
        report = kb.index(write(tmp_path / "files", NOTES | {"long.md": long}))
        assert kb.store.vectors("chunk").count() == report.total_chunks
        assert not report.notes


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_a_server_that_refuses_everything_stops_the_run(tmp_path, status):
    folder = write(tmp_path / "files", NOTES)
    with serve(reply(status, {"error": {"message": "no"}})) as server:
        with open_index(tmp_path, server) as kb, pytest.raises(ModelError, match=str(status)):
            kb.index(folder)
        assert len(server.requests) <= 8
        with open_index(tmp_path, server) as kb:
            assert not kb.store.vectors("chunk").count()


def test_a_server_that_ends_while_texts_are_tried_stops_the_run(tmp_path):
    folder = write(tmp_path / "files", NOTES | {"bad.md": BAD})
    down = reply(503, {"error": {"message": "going down"}})
    with serve(*[FAULTS["too long"]] * 6, down) as server, open_index(tmp_path, server) as kb:
        with pytest.raises(ModelError):
            kb.index(folder)
        server.answers = [FAULTS["too long"]]
        kb.index(folder)
        assert kb.store.vectors("chunk").count() == len(NOTES)


def test_retry_and_documents_know_the_document(tmp_path):
    folder = write(tmp_path / "files", NOTES | {"bad.md": BAD})
    with serve(FAULTS["NaN of Ollama"]) as server, open_index(tmp_path, server) as kb:
        kb.index(folder)
        listed = command("documents", "--store", tmp_path / "k.knot", "--json").json
        notes = {item["uri"]: item["unread"] for item in listed["documents"] if item["unread"]}
        assert [uri.rpartition("/")[2] for uri in notes] == ["bad.md"]
        checks = {
            check.name: check
            for check in check_index(StoreSettings(path=kb.store.url), full=True).checks
        }
        assert all(check.ok for check in checks.values())
        assert "bad.md" in checks["Vectors"].detail
        assert kb.index(folder, retry=True).changed == 1
        server.answers = [embed_as_base64]
        assert kb.index(folder, retry=True).changed == 1
        assert kb.index(folder, retry=True).changed == 0
        assert kb.store.vectors("chunk").count() == len(NOTES) + 1


def test_names_and_switches_do_without_a_vector(tmp_path):
    names = {f"{n}.md": f"Ada Lind met Bo POISON Berg in Oslo on day {n}.\n" for n in range(3)}
    with serve(embed_as_base64) as server, open_index(tmp_path, server) as kb:
        kb.index(write(tmp_path / "files", NOTES | names))
        whole = kb.store.vectors("entity").count()
    hurt = tmp_path / "hurt"
    hurt.mkdir()
    with serve(FAULTS["NaN"]) as server, open_index(hurt, server) as kb:
        kb.index(tmp_path / "files")
        assert 0 < kb.store.vectors("entity").count() < whole
        policy = RetryPolicy(attempts=1)
        other = ModelServer(server.url, api_key=None, timeout_s=5, section="embedding")
        report = kb.embed(OpenAIEmbedder("other", other, retries=policy))
        assert report.without_vectors == 3
        assert any("3 chunks have no vector" in note for note in report.notes)


class Local:
    """An embedder in this process that overflows on one text."""

    name, dimension = "own:model", 32

    def embed(self, texts):
        rows = ORACLE.embed(texts)
        rows[["poison" in text.lower() for text in texts]] = np.nan
        return rows

    def embed_passages(self, passages):
        return [
            PassageVectors(
                self.embed([p.text])[0], self.embed([p.text[s.start : s.end] for s in p.sentences])
            )
            for p in passages
        ]


def test_a_local_model_that_overflows_costs_the_same(tmp_path):
    folder = write(tmp_path / "files", NOTES | {"bad.md": BAD})
    with knotwork.open(tmp_path / "k.knot", embedder=Local()) as kb:
        report = kb.index(folder)
        assert kb.store.vectors("chunk").count() == len(NOTES)
        assert any("bad.md" in note for note in report.notes)
        found = kb.search("Where is the POISON of the jetty kept?")
        assert "shed nine" in found.hits[0].chunk.text
        assert any("no vector for the question" in note for note in found.notes)


def test_a_question_without_a_server_is_answered_by_full_text(tmp_path):
    with serve(embed_as_base64) as server, open_index(tmp_path, server) as kb:
        kb.index(write(tmp_path / "files", NOTES))
        server.answers = [reply(503, {"error": {"message": "down"}})]
        answer = kb.ask("What is the lamp of quay 2?")
        assert "blue" in answer.text
        assert any("embedding model failed" in note for note in answer.notes)
        sent = len(server.requests)
        assert any("failed" in note for note in kb.search("Which lamp is green?").notes)
        assert len(server.requests) == sent  # it is not asked again at once
        with pytest.raises(ModelError, match="down"):
            kb.search("Which lamp is green?", retriever="dense")
