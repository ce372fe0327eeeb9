"""Evaluations: questions asked of retrievers, measured, kept and compared."""

from __future__ import annotations

import pytest
from tests.service.evaluating import (
    EVALUATIONS,
    OPEN,
    finish,
    list_uris,
    sample_questions,
    start,
)
from tests.service.serving import copy_index, make_settings, open_client

from knotwork._extensions.evaluation.metrics import METRICS, compare_paired
from knotwork._extensions.server.evaluation_job import PlanShape
from knotwork._extensions.server.server import ServerConfig

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served(sample_index, tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluated")
    copy_index(sample_index, folder / "open.knot")
    with open_client(ServerConfig(folder, make_settings())) as client:
        yield client


@pytest.fixture(scope="module")
def asked(served):
    return sample_questions(list_uris(served))


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


def test_the_values_match_the_passages_that_search_finds(served, done, asked):
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


def test_answers_match_ask_and_are_judged_by_known_answers(served, done):
    cases = served.get(f"{EVALUATIONS}/{done}").json()["data"]["cases"]
    for case in cases:
        for result in case["results"]:
            body = {"question": case["question"], "retriever": result["retriever"]}
            answer = served.post(f"{OPEN}/ask", json={**body, "use_llm": False}).json()["data"]
            assert answer.pop("reading") is None
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


def test_the_questions_of_an_evaluation_are_asked_again(served, done):
    def send(**fields):
        return served.post(EVALUATIONS, files={name: (None, text) for name, text in fields.items()})

    told = served.get(f"{EVALUATIONS}/{done}").json()["data"]
    for answers, unanswerable in (("false", 0), ("true", 1)):
        again = finish(served, send(again=done, retrievers="bm25", answers=answers))
        cases = served.get(f"{EVALUATIONS}/{again}").json()["data"]["cases"]
        assert len(cases) == told["questions"] + unanswerable
        for case, before in zip(cases, told["cases"], strict=False):
            assert {**case, "results": []} == {**before, "results": []}
    assert send(again="0" * 16).status_code == 404
    assert send(retrievers="bm25").json()["error"]["message"] == "No questions were sent."


def test_a_filter_restricts_what_is_found_and_answered(served, asked):
    english = "path = sample/en and not format = docx"
    fields = {"retrievers": ["bm25", "dense"], "k": 20, "answers": True, "filters": english}
    identifier = finish(served, start(served, asked, **fields))
    told = served.get(f"{EVALUATIONS}/{identifier}").json()["data"]
    assert told["filters"] == english
    for case in told["cases"]:
        for result in case["results"]:
            body = {"question": case["question"], "retriever": result["retriever"]}
            body["filters"] = english
            hits = served.post(f"{OPEN}/search", json={**body, "k": 20}).json()["data"]["hits"]
            assert [hit["chunk_id"] for hit in result["hits"]] == [h["chunk_id"] for h in hits[:10]]
            uris = {hit["document"] for hit in result["hits"]}
            assert uris
            assert all(u.startswith("sample/en/") and not u.endswith(".docx") for u in uris)
            answer = served.post(f"{OPEN}/ask", json={**body, "use_llm": False}).json()["data"]
            assert answer.pop("reading") is None
            assert {**result["answer"], "usage": None} == {**answer, "usage": None}
    (gold,) = told["cases"][0]["gold"][0]
    assert gold.endswith("travel-policy.docx")
    for result in told["cases"][0]["results"]:  # the filter leaves the gold document out
        assert (result["gold_rank"], result["values"]["mrr"]) == (None, 0.0)


def test_a_kept_plan_may_lack_filters(served, asked):
    started = start(served, asked[:1], retrievers="bm25", filters="language = en")
    finish(served, started)
    plan = {key: started.json()["data"][key] for key in PlanShape.model_fields if key != "filters"}
    assert PlanShape.model_validate(plan).filters == ""


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


def test_cases_that_cannot_run_are_skipped_with_the_reason(served, asked):
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
        (b"\n\n", "contains no questions"),
        (b'{"question": "Who?"}', "neither gold passages nor answers"),
        (b'{"question": "Who?", "gold_pids": ["nowhere.md"]}', "Unknown document `nowhere.md`"),
        (b'{"question": "Who?", "gold_pids": 5}', "no list under `gold_pids`"),
        (b'{"question": "Who?", "gold_groups": [[]]}', "empty or not a list"),
        (b'{"question": "Who?", "answers": "x"}', "no list under `answers`"),
        (b'{"gold_pids": []}', "no text under `question`"),
        (b'{"question": "Who?", "answers": ["x"]}\n' * 2, "Two questions have the id"),
        (b"\xff\xfe\x00", "not encoded in UTF-8"),
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
        ({"retrievers": "bm25", "filters": "author ="}, "author ="),
        ({"retrievers": "bm25", "filters": "autor = 'Ann'"}, "autor"),
    ],
)
def test_an_invalid_evaluation_is_rejected_before_it_begins(served, asked, fields, told):
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
