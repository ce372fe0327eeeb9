"""The jobs of evaluations: stopped, broken off and gone on with, within their budget."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.service.evaluating import EVALUATIONS, OPEN, finish, list_uris, sample_questions, start
from tests.service.serving import (
    add_key,
    await_job,
    copy_index,
    make_settings,
    open_client,
    wait_until,
)

from knotwork._cancellation import Cancellation, Cancelled
from knotwork._extensions.server import job_runner as runner_module
from knotwork._extensions.server import job_runner as work_module
from knotwork._extensions.server import job_store
from knotwork._extensions.server.evaluation_job import EvaluationStore, run_evaluation_job
from knotwork._extensions.server.job_store import JobProgress
from knotwork._extensions.server.server import ServerConfig
from knotwork._extensions.server.workspaces import Workspaces
from knotwork.testing.model_server import ModelTestServer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def asked(client):
    return sample_questions(list_uris(client))


def test_one_that_is_under_way_is_cancelled_kept_and_gone_on_with(
    sample_index, tmp_path, asked, monkeypatch
):
    """The job is stopped after its first result; the rest is asked by its retry alone."""
    copy_index(sample_index, tmp_path / "open.knot")
    seen = []

    def watched(workspace, arguments, progress):
        class Stopping(JobProgress):
            def count(self, stage, done, total, **more):
                seen.append(done)
                if done == 1 and seen.count(1) == 1:
                    wait_until(lambda: workspace.name in cancelled)
                progress.count(stage, done, total, **more)

        return run_evaluation_job(workspace, arguments, Stopping(lambda *_: None))

    cancelled: list[str] = []
    monkeypatch.setattr(runner_module, "WORK", {**work_module.WORK, "evaluate": watched})
    with open_client(ServerConfig(tmp_path, make_settings())) as client:
        started = start(client, asked, retrievers="bm25").json()["data"]
        address = f"{EVALUATIONS}/{started['id']}"
        wait_until(lambda: 1 in seen)
        assert client.delete(address).status_code == 409
        assert client.post(f"{OPEN}/jobs/{started['job']}/cancel").status_code == 200
        cancelled.append("open")
        assert await_job(client, "open", {"id": started["job"]})["state"] == "cancelled"
        told = client.get(address).json()["data"]
        assert (told["state"], told["outcomes"][0]["asked"]) == ("cancelled", 1)
        again = client.post(f"{OPEN}/jobs/{started['job']}/retry").json()["data"]
        assert await_job(client, "open", again)["state"] == "finished"
        told = client.get(address).json()["data"]
    assert (told["state"], told["job"]) == ("finished", again["id"])
    assert told["outcomes"][0]["asked"] == 3
    assert seen == [0, 1, 1, 2, 3]


def test_a_line_that_a_kill_broke_off_is_asked_again(sample_index, tmp_path, asked):
    copy_index(sample_index, tmp_path / "open.knot")
    place = ServerConfig(tmp_path, make_settings())
    with open_client(place) as client:
        identifier = finish(client, start(client, asked, retrievers="bm25"))
    folder = tmp_path / "open.files" / "evaluations"
    results, summary = folder / identifier / "results.jsonl", folder / identifier / "summary.json"
    whole, first = results.read_bytes(), summary.read_text("utf-8")
    results.write_bytes(whole[: whole.rindex(b'"values"')])
    summary.unlink()
    (folder / f"incoming-{'0' * 16}").mkdir()
    workspaces = Workspaces(tmp_path, make_settings())
    told: list[object] = []
    progress = JobProgress(lambda _kind, body: told.append(body["done"]))
    with workspaces.lease("open") as workspace:
        (found,) = EvaluationStore(workspace).listed()
        assert len(list(found.results())) == 2
        run_evaluation_job(workspace, {"evaluation": identifier}, progress)
        assert [r.position for r in found.results()] == [0, 1, 2]
    workspaces.close()
    assert told == [2, 3]
    again = json.loads(summary.read_text("utf-8"))["outcomes"][0]["metrics"]
    assert again == json.loads(first)["outcomes"][0]["metrics"]
    with open_client(place) as client:
        assert client.get(EVALUATIONS).json()["data"]["total"] == 1
        assert not (folder / f"incoming-{'0' * 16}").exists()


def test_a_budget_is_for_all_questions_and_what_it_paid_for_stays(sample_index, tmp_path, asked):
    copy_index(sample_index, tmp_path / "open.knot")
    with ModelTestServer() as server:
        settings = make_settings(question_budget="50k")
        llm = replace(settings.llm, model="openai:test", base_url=server.url)
        place = ServerConfig(tmp_path, replace(settings, llm=llm))
        writer = add_key(place, "w", "write", "open")
        admin = add_key(place, "a", "admin", "open")
        fields = {"retrievers": "bm25", "answers": True, "use_llm": True}
        with open_client(place) as client:
            refused = start(client, asked, headers=writer, **fields)
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_permitted")
            small = start(client, asked, headers=admin, budget="2500", **fields).json()["data"]
            job = await_job(client, "open", {"id": small["job"]}, headers=admin)
            assert (job["state"], job["error"]["code"]) == ("failed", "budget_exceeded")
            assert "higher budget" in job["error"]["fix"]
            told = client.get(f"{EVALUATIONS}/{small['id']}", headers=admin).json()["data"]
            spent = told["outcomes"][0]["tokens"]
            assert told["state"] == "failed"
            assert 0 < spent <= 2500
            assert 0 < told["outcomes"][0]["asked"] < 3
            whole = start(client, asked, headers=admin, **fields).json()["data"]
            job = await_job(client, "open", {"id": whole["job"]}, headers=admin)
            assert job["state"] == "finished"
            told = client.get(f"{EVALUATIONS}/{whole['id']}", headers=admin).json()["data"]
            (outcome,) = told["outcomes"]
            assert outcome["tokens"] > 0
            assert outcome["money"] is None, "no price is known"
            assert {case["results"][0]["answer"]["model"] for case in told["cases"]} - {""}


def test_a_job_that_was_stopped_between_questions_keeps_what_is_done(
    tmp_path, sample_index, monkeypatch
):
    """Every result is on disk before the next question is asked."""
    copy_index(sample_index, tmp_path / "open.knot")
    with open_client(ServerConfig(tmp_path, make_settings())) as client:
        questions = [{"question": f"Who is number {n}?", "answers": ["x"]} for n in range(4)]
        identifier = finish(client, start(client, questions, retrievers="bm25"))
    folder = tmp_path / "open.files" / "evaluations" / identifier
    (folder / "results.jsonl").unlink()
    workspaces = Workspaces(tmp_path, make_settings())
    cancellation = Cancellation()
    done: list[int] = []

    def note(_kind, body):
        done.append(body["done"])
        if body["done"] == 2:
            cancellation.cancel()

    monkeypatch.setattr(job_store, "PROGRESS_INTERVAL_S", 0.0)
    with workspaces.lease("open") as workspace, cancellation.scope(), pytest.raises(Cancelled):
        run_evaluation_job(workspace, {"evaluation": identifier}, JobProgress(note))
    workspaces.close()
    assert done == [0, 1, 2]
    assert len((folder / "results.jsonl").read_bytes().splitlines()) == 2
