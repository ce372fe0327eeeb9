"""`ask`, `search` and `explore`: the objects are pinned, the texts are readable."""

from __future__ import annotations

import json

import pytest
from tests.cli.running import knotwork

from knotwork._stores.urls import open_store

pytestmark = pytest.mark.slow


DESIGNER = "Who designed the Kestrel probe?"
ALWAYS = ("--set", "answer.abstain_below=0")
NEVER = ("--set", "answer.abstain_below=1")


@pytest.fixture(autouse=True)
def store_by_environment(sample_store, monkeypatch):
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(sample_store))


def test_the_object_of_an_answer_has_the_promised_keys(sample_store):
    payload = knotwork("ask", DESIGNER, "--json", *ALWAYS).json
    assert list(payload) == [
        "question",
        "answer",
        "short",
        "answered",
        "reason",
        "confidence",
        "strength",
        "retriever",
        "mode",
        "model",
        "notes",
        "citations",
        "pieces",
        "memory",
        "results",
        "usage",
    ]
    assert payload["question"] == DESIGNER
    assert payload["answered"] is True
    assert payload["citations"]
    assert set(payload["usage"]) == {
        "model_calls",
        "input_tokens",
        "output_tokens",
        "reused_calls",
        "cached_tokens",
        "embedded_texts",
        "seconds",
        "money",
        "stages",
    }
    assert payload["usage"]["model_calls"] == payload["usage"]["reused_calls"] == 0
    assert (payload["mode"], payload["model"], payload["results"]) == ("basic", "", [])
    for piece in payload["pieces"]:
        assert list(piece) == ["kind", "markdown", "citation"]
        assert piece["markdown"] in payload["answer"]
        assert f"[{piece['citation']}]" in piece["markdown"]
    assert [piece["citation"] for piece in payload["pieces"]] == [
        citation["number"] for citation in payload["citations"]
    ]
    for number, citation in enumerate(payload["citations"], start=1):
        assert list(citation) == [
            "number",
            "document",
            "title",
            "section",
            "page",
            "span",
            "quote",
            "chunk_id",
            "score",
            "time",
            "box",
            "document_id",
        ]
        assert citation["number"] == number
        assert f"[{number}]" in payload["answer"]


def test_every_quote_is_at_its_span(sample_store):
    store = open_store(str(sample_store), read_only=True)
    texts = {
        document.uri: document.text
        for document in store.documents.documents(store.documents.document_ids()).values()
    }
    store.close()
    for question in (DESIGNER, "海外出差由谁审批？", "When did Storm Ondine break the mooring?"):
        for citation in knotwork("ask", question, "--json", *ALWAYS).json["citations"]:
            start, end = citation["span"]
            assert texts[citation["document"]][start:end] == citation["quote"]
            assert citation["quote"].strip()


def test_an_answer_is_followed_by_its_sources():
    outcome = knotwork("ask", DESIGNER, *ALWAYS)
    answer, sources = outcome.out.split("\n\nSources\n")
    assert "[1]" in answer
    assert sources.startswith("[1] sample/")
    assert "characters " in sources
    assert "Oriane Keld" in sources
    assert "model tokens" in outcome.err
    assert "model tokens" not in outcome.out


def test_no_answer_is_reported_as_such_and_is_no_failure():
    outcome = knotwork("ask", DESIGNER, *NEVER)
    assert outcome.code == 0
    assert "Sources\n" not in outcome.out
    assert "Nearest passages" in outcome.out
    payload = knotwork("ask", DESIGNER, "--json", *NEVER).json
    assert payload["answered"] is False
    assert payload["reason"]


@pytest.mark.parametrize("command", ["ask", "search"])
def test_an_empty_index_is_reported_beside_the_result(command, tmp_path):
    (tmp_path / "empty").mkdir()
    options = ("--store", tmp_path / "empty.knot", "--set", "embedding.model=none")
    assert knotwork("index", tmp_path / "empty", *options).code == 0
    outcome = knotwork(command, "Who?", *options)
    assert outcome.code == 0
    assert "The index is empty. Add documents with: knotwork index FOLDER" in outcome.err
    assert "empty" not in knotwork(command, DESIGNER).err


def test_explain_adds_the_evidence():
    payload = knotwork("ask", DESIGNER, "--explain", "--json", *ALWAYS).json
    assert payload["evidence"]["hits"]
    shown = knotwork("ask", DESIGNER, "--explain", *ALWAYS).out
    assert "Passages" in shown
    assert "score " in shown


def test_the_object_of_a_search_has_the_promised_keys():
    payload = knotwork("search", DESIGNER, "-k", "3", "--json").json
    assert list(payload) == [
        "query",
        "question",
        "filter",
        "retriever",
        "confidence",
        "hits",
        "paths",
        "results",
        "trace",
        "notes",
    ]
    assert payload["query"] == payload["question"] == DESIGNER
    assert [hit["rank"] for hit in payload["hits"]] == [1, 2, 3]
    for hit in payload["hits"]:
        assert list(hit) == [
            "rank",
            "chunk_id",
            "document",
            "document_id",
            "title",
            "section",
            "page",
            "time",
            "box",
            "span",
            "text",
            "score",
            "scores",
            "seeds",
            "path",
            "sentences",
        ]
        assert hit["document"].startswith("sample/")
        assert hit["span"][1] - hit["span"][0] == len(hit["text"])
    scores = [hit["score"] for hit in payload["hits"]]
    assert scores == sorted(scores, reverse=True)


def test_the_path_of_a_bridge_is_an_object():
    question = "Where was the designer of the Kestrel probe born?"
    hits = knotwork("search", question, "--json").json["hits"]
    steps = [step for hit in hits for step in hit["path"]]
    assert {step["entity_name"] for step in steps} >= {"Oriane Keld"}
    assert set(steps[0]) == {
        "chunk_id",
        "sentence",
        "sentence_text",
        "entity_id",
        "entity_name",
        "score",
    }


@pytest.mark.parametrize("name", ["auto", "bm25", "graph", "pagerank"])
def test_retrievers_that_need_no_embedder_find_the_passage(name):
    payload = knotwork("search", DESIGNER, "--retriever", name, "--json").json
    assert any("Oriane Keld" in hit["text"] for hit in payload["hits"])


def test_a_retriever_that_needs_an_embedder_is_reported():
    outcome = knotwork("search", DESIGNER, "--retriever", "dense", "--json")
    assert outcome.code != 0
    assert outcome.json["error"]["code"] == "retrieval_error"


def test_an_unknown_retriever_is_refused_with_the_nearest():
    outcome = knotwork("ask", DESIGNER, "--retriever", "bm52")
    assert outcome.code == 2
    assert "fix: Did you mean `bm25`?" in outcome.err


def test_a_question_that_matches_nothing_is_an_empty_result():
    assert knotwork("search", "zzzz qqqq", "--retriever", "bm25", "--json").json["hits"] == []
    assert knotwork("search", "zzzz qqqq", "--retriever", "bm25").out == "No passage found.\n"
    assert knotwork("ask", "zzzz qqqq", "--retriever", "bm25", "--json").json["answered"] is False


def test_explore_walks_from_a_name():
    payload = knotwork("explore", "Oriane Keld", "--depth", "1", "--json").json
    names = {node["id"]: node["name"] for node in payload["nodes"]}
    assert "Oriane Keld" in names.values()
    for edge in payload["edges"]:
        assert {edge["source"], edge["target"]} <= set(names)
        together = edge["relation"] == "co-occurs with"
        assert edge["type"] == ("CO_OCCURS" if together else "RELATES")
        assert edge["chunks"]
    shown = knotwork("explore", "Oriane Keld", "--limit", "9")
    described, rest = shown.out.split("\n\n", maxsplit=1)
    assert described.startswith("Oriane Keld")
    stated, together = rest.split("Co-occur in a sentence:\n")
    header, *relations = stated.splitlines()
    assert header.split() == ["from", "relation", "to", "weight"]
    other, *pairs = together.splitlines()
    assert other.split() == ["entity", "with", "sentences"]
    assert len(relations) + len(pairs) == 9
    assert not any("co-occurs" in line for line in relations)
    assert "--limit allows no more" in shown.err


@pytest.mark.parametrize("name", ["The Heron buoy", "温青岚"])
def test_explore_shows_passages_where_an_entity_has_no_relations(name):
    payload = knotwork("explore", name, "--json").json
    (entity,) = payload["entities"]
    assert entity["name"] == name
    assert any(name in passage["text"] for passage in entity["passages"])
    shown = knotwork("explore", name)
    assert shown.out.startswith(name)
    assert entity["passages"][0]["document"] in shown.out
    assert "In the same passages: " in shown.out
    titles = {passage["section"] for passage in entity["passages"]}
    assert not {other["name"] for other in entity["nearby"]} & titles


def test_shortest_paths_lead_from_one_name_to_another():
    names = ("Oriane Keld", "Bram Ostrand")
    paths = knotwork("graph", "shortest-paths", *names, "--json").json["paths"]
    assert 1 <= len(paths) <= 5
    for path in paths:
        assert path["hops"][0]["source_name"] == "Oriane Keld"
        assert path["hops"][-1]["target_name"] == "Bram Ostrand"
    shown = knotwork("graph", "shortest-paths", *names, "--limit", "1")
    assert shown.out.strip().splitlines() == [paths[0]["text"]]
    unknown = knotwork("graph", "shortest-paths", "Oriane Kelt", "Bram Ostrand")
    assert (unknown.code, "Oriane Keld" in unknown.err) == (2, True)


def test_explore_refuses_a_name_that_nothing_is_near_to():
    outcome = knotwork("explore", "Zzyzx Qwfp", "--json")
    assert outcome.code == 2
    assert outcome.json["error"]["code"] == "unknown_name"


def test_graph_stats_counts_what_the_export_holds(tmp_path):
    counts = knotwork("graph", "stats", "--json").json
    outcome = knotwork("graph", "export", "--output", tmp_path / "graph.json", "--json")
    graph = json.loads((tmp_path / "graph.json").read_text(encoding="utf-8"))
    assert outcome.json["nodes"] == len(graph["nodes"]) == sum(counts["nodes"].values())
    assert outcome.json["edges"] == len(graph["edges"]) == sum(counts["edges"].values())
    printed = knotwork("graph", "export").out
    assert printed == (tmp_path / "graph.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["graphml", "cypher", "csv", "parquet"])
def test_other_formats_are_written(tmp_path, name):
    outcome = knotwork("graph", "export", "--format", name, "-o", tmp_path / "out", "--json")
    assert outcome.code == 0
    assert all((tmp_path / file).exists() for file in outcome.json["files"])
    assert outcome.json["nodes"] > 0


def test_doubt_is_reported_in_the_language_of_the_question(sample_store):
    chinese = knotwork("ask", "海外出差由谁审批？", "--store", sample_store, *NEVER)
    assert "需要达到 1.00（answer.abstain_below）" in chinese.out
    english = knotwork("ask", "Who approves travel?", "--store", sample_store, *NEVER)
    assert "1.00 is needed (answer.abstain_below)" in english.out


def test_filters_are_kept_to_and_joined():
    both = ("--where", "path = sample/en", "--where", "format!=docx")
    found = knotwork("search", "who approves travel", "-k", 50, *both, "--json").json
    assert found["filter"] == "path = 'sample/en' and not format = 'docx'"
    assert found["hits"]
    assert all(hit["document"].startswith("sample/en/") for hit in found["hits"])
    assert not any(hit["document"].endswith(".docx") for hit in found["hits"])
    answer = knotwork("ask", DESIGNER, "--where", "language = zh", "--json", *ALWAYS).json
    assert all(citation["document"].startswith("sample/zh/") for citation in answer["citations"])
    least = found["hits"][2]["score"]
    kept = knotwork("search", "who approves travel", *both, "--min-score", least, "--json").json
    assert [hit["chunk_id"] for hit in kept["hits"]] == [
        hit["chunk_id"] for hit in found["hits"] if hit["score"] >= least
    ][:10]


def test_fields_are_listed_and_an_unknown_one_is_reported():
    names = [field["name"] for field in knotwork("documents", "--fields", "--json").json["fields"]]
    assert {"path", "format", "title", "language", "file_date"} <= set(names)
    assert "sample/en/" in knotwork("documents", "--fields").out
    refused = knotwork("search", "x", "--where", "titel = x")
    assert refused.code == 2
    assert "Did you mean `title`?" in refused.err
    broken = knotwork("ask", "who?", "--where", "title =")
    assert broken.code == 2
    assert "expected a value" in broken.err


def test_a_filter_that_matches_nothing_is_reported():
    found = knotwork("search", "travel", "--where", "path = nowhere")
    assert "No document matches the filter: path = 'nowhere'" in found.out + found.err
