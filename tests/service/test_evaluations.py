"""Evaluations: questions asked of retrievers, kept, compared, and gone on with after a break."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.service.serving import (
    API,
    add_key,
    await_job,
    copy_index,
    make_settings,
    open_client,
    wait_until,
)

from knotwork.evaluation.metrics import METRICS
from knotwork.evaluation.significance import compare_paired
from knotwork.service.evaluations.records import Evaluations
from knotwork.service.evaluations.running import run_evaluation
from knotwork.service.jobs import runner as runner_module
from knotwork.service.jobs import work as work_module
from knotwork.service.jobs.progress import JobStopped, Progress
from knotwork.service.serving import Place
from knotwork.service.workspaces import Workspaces
from knotwork.testing.model_server import ModelTestServer

OPEN = f"{API}/workspaces/open"
EVALUATIONS = f"{OPEN}/evaluations"


@pytest.fixture(scope="module")
def served(sample_index, tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluated")
    copy_index(sample_index, folder / "open.knot")
    with open_client(Place(folder, make_settings())) as client:
        yield client


@pytest.fixture(scope="module")
def uris(served):
    listed = served.get(f"{OPEN}/documents", params={"limit": 100}).json()["data"]["documents"]
    return [document["uri"] for document in listed]


@pytest.fixture(scope="module")
def asked(uris):
    """Questions of which one names its document by the end of its uri alone."""
    travel = next(uri for uri in uris if "travel" in uri)
    return [
        {"qid": "t", "question": "Who approves trips abroad?", "gold_pids": [travel]},
        {
            "question": "Where was the designer of the Kestrel probe born?",
            "gold_pids": [uris[0].rpartition("/")[2], uris[1]],
            "answers": ["Halvik"],
        },
        {"qid": "k", "question": "What did Oriane Keld study?", "answers": ["no such thing"]},
    ]


def lines(records):
    return "\n".join(json.dumps(record) for record in records).encode()


def start(client, records, *, unanswerable=(), at=EVALUATIONS, headers=None, **fields):
    files = {"questions": ("mine.jsonl", lines(records))}
    if unanswerable:
        files["unanswerable"] = ("none.jsonl", lines(unanswerable))
    return client.post(at, files=files, data=fields, headers=headers)


def finish(client, response, workspace="open"):
    assert response.status_code == 202, response.text
    started = response.json()["data"]
    job = await_job(client, workspace, {"id": started["job"]})
    assert job["state"] == "finished", job
    return started["id"]


@pytest.fixture(scope="module")
def done(served, asked):
    """A finished evaluation of two retrievers, with answers."""
    nothing = [{"question": "What is the price of the Merlin probe?"}]
    fields = {"retrievers": ["bm25", "graph,dense"], "k": 20, "answers": True, "name": "first"}
    return finish(served, start(served, asked, unanswerable=nothing, **fields))


def test_every_retriever_is_asked_every_question_and_summed_up(served, done, asked):
    told = served.get(f"{EVALUATIONS}/{done}").json()["data"]
    assert (told["state"], told["questions"], told["unanswerable"]) == ("finished", 3, 1)
    assert told["retrievers"] == ["bm25", "graph", "dense"]
    assert (told["name"], told["k"], told["documents"]) == ("first", 20, 22)
    assert [case["question"] for case in told["cases"][:3]] == [q["question"] for q in asked]
    assert [case["is_answerable"] for case in told["cases"]] == [True, True, True, False]
    for outcome in told["outcomes"]:
        assert (outcome["asked"], outcome["tokens"], outcome["money"]) == (4, 0, "0")
        assert 0 < outcome["p50_ms"] <= outcome["p95_ms"]
        assert 0 < outcome["answer_p50_ms"] <= outcome["answer_p95_ms"]
        counts = {name: e["questions"] for name, e in outcome["metrics"].items()}
        expected = dict.fromkeys(METRICS, 2) | {"answer@5": 2, "answered": 3, "abstained": 1}
        assert counts == expected | {"answer_found": 2}
        for name, estimate in outcome["metrics"].items():
            values = [
                result["values"][name]
                for case in told["cases"]
                for result in case["results"]
                if result["retriever"] == outcome["retriever"] and name in result["values"]
            ]
            assert estimate["mean"] == pytest.approx(sum(values) / len(values))
            assert 0 <= estimate["low"] <= estimate["mean"] <= estimate["high"] <= 1
            assert estimate["low"] < estimate["high"]


def test_the_values_are_those_of_the_passages_that_search_finds(served, done, asked):
    case = served.get(f"{EVALUATIONS}/{done}").json()["data"]["cases"][0]
    (gold,) = case["gold"][0]
    for result in case["results"]:
        body = {"question": case["question"], "retriever": result["retriever"], "k": 20}
        hits = served.post(f"{OPEN}/search", json=body).json()["data"]["hits"]
        ranked = list(dict.fromkeys(hit["document"] for hit in hits))
        assert [hit["chunk_id"] for hit in result["hits"]] == [h["chunk_id"] for h in hits[:10]]
        assert [hit["is_gold"] for hit in result["hits"]] == [
            hit["document"] == gold for hit in hits[:10]
        ]
        expected = ranked.index(gold) + 1 if gold in ranked else None
        assert result["gold_rank"] == expected
        assert result["values"]["mrr"] == (1 / expected if expected else 0.0)
        assert result["values"]["recall@5"] == float(gold in ranked[:5])


def test_answers_are_those_of_ask_and_judged_by_what_is_known(served, done):
    cases = served.get(f"{EVALUATIONS}/{done}").json()["data"]["cases"]
    for case in cases:
        for result in case["results"]:
            body = {"question": case["question"], "retriever": result["retriever"]}
            answer = served.post(f"{OPEN}/ask", json={**body, "use_llm": False}).json()["data"]
            assert {**result["answer"], "usage": None} == {**answer, "usage": None}
            judged = result["values"]
            if case["is_answerable"]:
                assert judged["answered"] == float(answer["answered"])
            else:
                assert judged == {"abstained": float(not answer["answered"])}
    assert {r["values"]["answer_found"] for r in cases[2]["results"]} == {0.0}
    found = [r["values"]["answer_found"] for r in cases[1]["results"]]
    assert found == [float("Halvik" in r["answer"]["answer"]) for r in cases[1]["results"]]


def test_a_difference_is_paired_and_has_wins_ties_and_losses(served, done):
    cases = served.get(f"{EVALUATIONS}/{done}").json()["data"]["cases"]
    params = {"retriever": "graph", "other_retriever": "bm25", "metric": "mrr", "limit": 1}
    told = served.get(f"{EVALUATIONS}/{done}/difference", params=params).json()["data"]
    assert (told["first"]["retriever"], told["second"]["retriever"]) == ("graph", "bm25")
    pairs = [
        [r["values"].get("mrr") for name in ("graph", "bm25") for r in case["results"]
         if r["retriever"] == name]
        for case in cases
    ]  # fmt: skip
    pairs = [pair for pair in pairs if None not in pair]
    expected = compare_paired([a for a, _ in pairs], [b for _, b in pairs])
    metric = told["metrics"]["mrr"]
    assert metric["difference"] == pytest.approx(expected.difference)
    assert (metric["wins"], metric["losses"]) == (expected.wins, expected.losses)
    assert metric["wins"] + metric["ties"] + metric["losses"] == metric["questions"] == len(pairs)
    assert metric["p_value"] == expected.p_value
    (shown,) = told["cases"]
    apart = abs(shown["first"]["mrr"] - shown["second"]["mrr"])
    assert apart == max(abs(a - b) for a, b in pairs)
    alone = served.get(f"{EVALUATIONS}/{done}/difference").json()["data"]
    assert (alone["first"]["retriever"], alone["second"]["retriever"]) == ("bm25", "graph")


def test_two_evaluations_are_compared_on_what_both_asked(served, done, asked):
    second = finish(served, start(served, asked[1:2], retrievers="bm25"))
    params = {"other": second, "retriever": "bm25", "other_retriever": "bm25"}
    told = served.get(f"{EVALUATIONS}/{done}/difference", params=params).json()["data"]
    assert told["questions"] == 1
    assert told["metrics"]["mrr"]["difference"] == 0
    assert told["metrics"]["mrr"]["p_value"] == 1
    assert "answered" not in told["metrics"]
    wrong = {**params, "retriever": "explore"}
    refused = served.get(f"{EVALUATIONS}/{done}/difference", params=wrong)
    assert (refused.status_code, "`bm25`" in refused.json()["error"]["message"]) == (400, True)
    alone = served.get(f"{EVALUATIONS}/{second}/difference")
    assert alone.status_code == 422
    other = finish(served, start(served, asked[:1], retrievers="bm25"))
    apart = served.get(f"{EVALUATIONS}/{second}/difference", params={"other": other})
    assert (apart.status_code, apart.json()["error"]["code"]) == (409, "conflict")


def test_pages_of_questions_join_to_all(served, done):
    start, seen = 0, []
    while start is not None:
        page = served.get(f"{EVALUATIONS}/{done}", params={"start": start, "limit": 3})
        told = page.json()["data"]
        seen += [case["question"] for case in told["cases"]]
        start = told["next"]
    assert len(seen) == len(set(seen)) == 4


def test_one_question_is_found_by_its_id(served, done):
    every = served.get(f"{EVALUATIONS}/{done}").json()["data"]["cases"]
    for case in every:
        asked_for = {"question": case["id"]}
        found = served.get(f"{EVALUATIONS}/{done}", params=asked_for).json()["data"]
        assert found["cases"] == [case]
        assert found["next"] is None
    unknown = served.get(f"{EVALUATIONS}/{done}", params={"question": "none"})
    assert unknown.json()["data"]["cases"] == []


def test_what_cannot_run_is_left_out_with_the_reason(served, asked):
    fields = {"retrievers": "hyde(by=model) > bm25,bm25"}
    identifier = finish(served, start(served, asked[:1], **fields))
    skipped, ran = served.get(f"{EVALUATIONS}/{identifier}").json()["data"]["outcomes"]
    assert skipped["retriever"] == "hyde(by=model) > bm25"
    assert (skipped["asked"], skipped["metrics"], skipped["p50_ms"]) == (0, {}, None)
    assert "use_llm" in skipped["skipped"]
    assert (ran["asked"], ran["skipped"]) == (1, "")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{", "line 1 is not JSON"),
        (b"\n\n", "holds no question"),
        (b'{"question": "Who?"}', "neither gold passages nor answers"),
        (b'{"question": "Who?", "gold_pids": ["nowhere.md"]}', "Unknown document `nowhere.md`"),
        (b'{"question": "Who?", "gold_pids": 5}', "no list under `gold_pids`"),
        (b'{"question": "Who?", "gold_groups": [[]]}', "no list, or empty"),
        (b'{"question": "Who?", "answers": "x"}', "no list under `answers`"),
        (b'{"gold_pids": []}', "no text under `question`"),
        (b'{"question": "Who?", "answers": ["x"]}\n' * 2, "Two questions have the id"),
        (b"\xff\xfe\x00", "not in UTF-8"),
    ],
)
def test_a_file_that_holds_no_questions_is_refused_with_its_line(served, content, told):
    before = served.get(EVALUATIONS).json()["data"]["total"]
    files = {"questions": ("q.jsonl", content)}
    refused = served.post(EVALUATIONS, files=files, data={"retrievers": "bm25"})
    assert refused.status_code in (400, 422)
    assert told in refused.json()["error"]["message"]
    assert served.get(EVALUATIONS).json()["data"]["total"] == before


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"retrievers": "no-such"}, "no-such"),
        ({"retrievers": "bm25 > nothing"}, "nothing"),
        ({"retrievers": "bm25", "budget": "much"}, "`much` is not a budget"),
        ({"retrievers": "bm25", "k": "0"}, "k"),
    ],
)
def test_what_an_evaluation_cannot_be_is_told_before_it_begins(served, asked, fields, told):
    refused = start(served, asked, **fields)
    assert refused.status_code in (400, 422)
    assert told in refused.json()["error"]["message"]


def test_questions_without_an_answer_need_answers(served, asked):
    refused = start(served, asked, unanswerable=[{"question": "What?"}], retrievers="bm25")
    assert (refused.status_code, "answers" in refused.json()["error"]["fix"]) == (422, True)


def test_an_evaluation_is_removed_with_all_that_belongs_to_it(served, asked):
    identifier = finish(served, start(served, asked, retrievers="bm25"))
    assert served.delete(f"{EVALUATIONS}/{identifier}").status_code == 200
    gone = served.get(f"{EVALUATIONS}/{identifier}")
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "not_found")
    for path in ("%2e%2e%2fuploads", "0" * 16, "0" * 15, "plan.json"):
        assert served.get(f"{EVALUATIONS}/{path}").status_code == 404


def test_one_that_is_under_way_is_cancelled_kept_and_gone_on_with(
    sample_index, tmp_path, asked, monkeypatch
):
    """The job is stopped after its first result; the rest is asked by its retry alone."""
    copy_index(sample_index, tmp_path / "open.knot")
    seen = []

    def watched(workspace, arguments, progress):
        class Stopping(Progress):
            def count(self, stage, done, total, **more):
                seen.append(done)
                if done == 1 and seen.count(1) == 1:
                    wait_until(lambda: workspace.name in cancelled)
                progress.count(stage, done, total, **more)

        return run_evaluation(
            workspace, arguments, Stopping(lambda *_: None, is_stopping=lambda: False)
        )

    cancelled: list[str] = []
    monkeypatch.setattr(runner_module, "WORK", {**work_module.WORK, "evaluate": watched})
    with open_client(Place(tmp_path, make_settings())) as client:
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
    place = Place(tmp_path, make_settings())
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
    progress = Progress(lambda _kind, body: told.append(body["done"]), is_stopping=lambda: False)
    with workspaces.lease("open") as workspace:
        (found,) = Evaluations(workspace).listed()
        assert len(list(found.results())) == 2
        run_evaluation(workspace, {"evaluation": identifier}, progress)
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
        place = Place(tmp_path, replace(settings, llm=llm))
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


def test_a_job_that_was_stopped_between_questions_keeps_what_is_done(tmp_path, sample_index):
    """Every result is on disk before the next question is asked."""
    copy_index(sample_index, tmp_path / "open.knot")
    with open_client(Place(tmp_path, make_settings())) as client:
        questions = [{"question": f"Who is number {n}?", "answers": ["x"]} for n in range(4)]
        identifier = finish(client, start(client, questions, retrievers="bm25"))
    folder = tmp_path / "open.files" / "evaluations" / identifier
    (folder / "results.jsonl").unlink()
    workspaces = Workspaces(tmp_path, make_settings())
    steps: list[int] = []

    def stopping():
        steps.append(len((folder / "results.jsonl").read_bytes().splitlines()) if steps else 0)
        return len(steps) > 3

    with workspaces.lease("open") as workspace, pytest.raises(JobStopped):
        run_evaluation(
            workspace,
            {"evaluation": identifier},
            Progress(lambda *_: None, is_stopping=stopping),
        )
    workspaces.close()
    assert steps == [0, 1, 2, 3]
