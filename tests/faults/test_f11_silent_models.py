"""A model that does not answer is named, however few chunks it was to read."""

import socket

import pytest
from tests.cli.running import knotwork as command
from tests.inference.model_server import reply, serve

import knotwork
from knotwork._extensions.diagnosis.index import check_readings
from knotwork._inference.call_limits import RetryPolicy
from knotwork.testing import FaultPlan, ModelTestServer
from knotwork.testing.model_server import Fault

TEXT = "Ada Lind manages the harbour of Ulm. Bo Berg repairs the boats of Ada Lind in Ulm."


def closed_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


@pytest.fixture(autouse=True)
def no_waits(monkeypatch):
    monkeypatch.setattr(
        "knotwork._inference.model_registry.RetryPolicy",
        lambda **options: RetryPolicy(attempts=1),
    )


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "files"
    place.mkdir()
    for number in range(3):
        (place / f"{number}.md").write_text(f"{TEXT} Day {number}.\n", encoding="utf-8")
    return place


def arguments(tmp_path, folder, url, tier="full"):
    settings = {"llm.model": "openai:m", "llm.base_url": url, "embedding.model": "none"}
    return (
        *("index", folder, "--store", tmp_path / "k.knot", "--tier", tier),
        *(part for key, value in settings.items() for part in ("--set", f"{key}={value}")),
    )


FAULTS = {
    "429": (reply(429, {"error": {"message": "slow down"}}, Retry_After="86400"), "429: slow down"),
    "502": (reply(502, b"<html>bad gateway</html>"), "502"),
    "401": (reply(401, {"error": {"message": "wrong key"}}), "wrong key"),
    "no json": (reply(200, b"hello"), "did not return"),
}


@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_the_run_says_that_the_model_did_not_answer(tmp_path, folder, fault):
    answer, reason = FAULTS.get(fault, (None, "Cannot connect"))
    with serve(answer or reply(500)) as server:
        url = server.url if fault else closed_port()
        told = command(*arguments(tmp_path, folder, url))
        assert told.code != 0
        assert reason in told.err
        as_json = command(*arguments(tmp_path, folder, url), "--json")
        assert as_json.code == told.code
        assert reason in str(as_json.out + as_json.err)


def test_the_next_run_reads_only_what_waits_and_doctor_advises_on_the_error(tmp_path, folder):
    said = command(*arguments(tmp_path, folder, closed_port()))
    assert "Documents  3 added" in said.out
    assert "did not answer for 3 chunks" in said.err
    assert "Check llm.base_url, and that the server is running" in said.err
    with knotwork.open(tmp_path / "k.knot", read_only=True) as kb:
        (check,) = check_readings(kb.store)
    assert "Connection refused" in check.detail
    assert "larger" not in check.fix
    assert "did not answer" in check.fix
    with ModelTestServer() as server:
        report = command(*arguments(tmp_path, folder, server.url), "--json").json
        assert report["changed"] == 3
        assert report["model"]["unanswered"] == 0
        again = command(*arguments(tmp_path, folder, server.url), "--json").json
        assert (again["unchanged"], again["changed"]) == (3, 0)
        (folder / "new.md").write_text("Cid Frost paints the mast of Bo Berg.", encoding="utf-8")
    down = command(*arguments(tmp_path, folder, closed_port()))
    assert down.code == 3
    assert "did not answer for 1 chunk:" in down.err


def test_some_chunks_without_an_answer_are_a_note(tmp_path, folder):
    with ModelTestServer() as good:
        options = {"llm_model": "openai:m", "embedding_model": "none", "llm_tier": "full"}
        kb = knotwork.open(tmp_path / "k.knot", llm_base_url=good.url, **options)
        good.faults = FaultPlan(at={2: Fault.UNAVAILABLE})
        with kb:
            report = kb.index(folder)
            assert report.unanswered == 1
            assert any("did not answer for 1 chunk, which has" in note for note in report.notes)
            assert any("extract (1)" in note for note in report.notes)
            assert kb.index(folder).changed == 1


def test_every_step_of_a_run_that_asks_in_vain_is_named(tmp_path, folder):
    """Steps behind the chunks do without the model as well, such as questions and reports."""
    options = {"llm_model": "openai:m", "embedding_model": "none", "index_questions": "model"}
    with knotwork.open(tmp_path / "k.knot", llm_base_url=closed_port(), **options) as kb:
        report = kb.index(folder)
    assert any("questions (" in note and "Cannot connect" in note for note in report.notes)
