"""`demo`, `eval` and `doctor`: a newcomer's first minute, and the numbers behind it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.shell_completion import BashComplete
from tests.cli.running import knotwork

from knotwork._cli.main import app
from knotwork.demo import QUESTIONS, open_sample

pytestmark = pytest.mark.slow


NO_MODEL = ("--set", "embedding.model=none")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))


def test_the_sample_has_both_languages_and_every_loader_reads_it():
    with open_sample() as folder:
        files = [path for path in folder.rglob("*") if path.is_file()]
    assert 20 <= len(files) <= 25
    suffixes = {path.suffix for path in files}
    assert suffixes >= {".md", ".txt", ".html", ".csv", ".json", ".docx", ".pdf"}
    payload = knotwork("demo", "--json", *NO_MODEL).json
    assert payload["index"]["skipped"] == []
    assert payload["index"]["added"] == len(files)


def test_the_demo_answers_its_questions_without_a_model():
    payload = knotwork("demo", "--json", *NO_MODEL).json
    assert [answer["question"] for answer in payload["answers"]] == [q.text for q in QUESTIONS]
    assert Path(payload["store"]).is_file()
    for answer in payload["answers"]:
        assert answer["usage"]["input_tokens"] == 0
        assert answer["citations"]
    born, approved, price = payload["answers"]
    assert [answer["answered"] for answer in payload["answers"]] == [True, True, False]
    assert "Oriane Keld" in born["answer"]
    assert "Tarnby" in born["answer"]
    assert len({citation["document"] for citation in born["citations"]}) == 2
    assert "办事处主任" in approved["answer"]
    assert "crowns" not in price["answer"]


def test_the_demo_says_what_it_did_and_what_to_do_next():
    outcome = knotwork("demo", "--store", "demo.knot", *NO_MODEL)
    assert outcome.code == 0
    for question in QUESTIONS:
        assert question.text in outcome.out
    assert "0 model tokens" in outcome.out
    assert "Embedder: none: full text and knowledge graph only." in outcome.out
    assert "--store demo.knot" in outcome.out
    again = knotwork("demo", "--store", "demo.knot", *NO_MODEL, "--json").json
    assert again["index"]["unchanged"] == 0


@pytest.fixture
def dataset(tmp_path) -> Path:
    folder = tmp_path / "birds"
    folder.mkdir()
    birds = {"heron": "fish", "kestrel": "voles", "plover": "worms", "finch": "seeds"}
    corpus = [
        {"pid": bird, "title": bird.title(), "text": f"The {bird} is a bird. It eats {food}."}
        for bird, food in birds.items()
    ]
    questions = [
        {"qid": str(n), "question": f"Which bird eats {food}?", "gold_pids": [bird]}
        for n, (bird, food) in enumerate(birds.items())
    ]
    for name, records in (("corpus", corpus), ("questions", questions)):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def test_eval_prints_fractions_for_each_retriever(dataset):
    outcome = knotwork("eval", dataset, "--retrievers", "auto,bm25", "--json", *NO_MODEL)
    assert outcome.code == 0
    payload = outcome.json
    assert list(payload["retrievers"]) == ["auto", "bm25"]
    metrics = {"recall@2", "recall@5", "recall@10", "all_gold@5", "all_gold@8", "mrr"}
    for values in payload["retrievers"].values():
        assert set(values) == metrics
        assert all(0 <= value <= 1 for value in values.values())
    assert payload["retrievers"]["bm25"] == dict.fromkeys(metrics, 1.0)
    assert payload["questions"] == 4
    assert {item["metric"] for item in payload["comparisons"]} == metrics
    assert all(0 < item["p_value"] <= 1 for item in payload["comparisons"])


def test_eval_asks_again_without_indexing_again(dataset, tmp_path):
    line = ["eval", dataset, "--retrievers", "bm25", "--json", *NO_MODEL]
    first = knotwork(*line).json
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.knot")}
    assert len(kept) == 1
    assert knotwork(*line).json["retrievers"] == first["retrievers"]
    again = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.knot")}
    assert again == kept


def test_eval_prints_a_table_and_bars(dataset):
    outcome = knotwork("eval", dataset, "--retrievers", "bm25,pagerank", *NO_MODEL)
    assert outcome.code == 0
    assert "recall@5" in outcome.out
    assert "█" in outcome.out
    assert "Paired difference to bm25 in recall@5" in outcome.out
    assert "Paired difference to bm25 in all_gold@5" in outcome.out


def test_eval_measures_every_retriever_against_hybrid(dataset):
    outcome = knotwork("eval", dataset, "--all", "--json", *NO_MODEL)
    payload = outcome.json
    names = list(payload["retrievers"])
    assert names[0] == "hybrid"
    assert {"bm25", "graph", "pagerank"} < set(names)
    assert {item["first"] for item in payload["comparisons"]} == {"hybrid"}
    assert "needs an embedder" in payload["skipped"]["dense"]
    assert set(payload["tokens"].values()) == {0.0}


def test_eval_refuses_what_is_no_data_set(tmp_path):
    outcome = knotwork("eval", tmp_path, "--json", *NO_MODEL)
    assert outcome.code == 2
    assert "corpus.jsonl" in outcome.json["error"]["message"]
    unknown = knotwork("eval", tmp_path, "--retrievers", "auto,bm52", "--json", *NO_MODEL)
    assert unknown.json["error"]["fix"] == "Did you mean `bm25`?"


def test_doctor_lists_every_check_and_setting(sample_store):
    outcome = knotwork("doctor", "--store", sample_store, "--json", *NO_MODEL)
    payload = outcome.json
    assert outcome.code == 0, payload
    assert payload["ok"] is True
    assert {check["name"] for check in payload["checks"]} >= {"Python", "Index", "Embedder"}
    assert payload["settings"]["embedding.model"] == {"value": "none", "origin": "argument"}
    shown = knotwork("doctor", "--store", sample_store, *NO_MODEL).out
    assert all(line.startswith(("ok ", "       ")) for line in shown.splitlines())


def test_doctor_fails_on_a_fault_and_says_what_to_do():
    Path("bad.knot").write_text("no index " * 1000, encoding="utf-8")
    outcome = knotwork("doctor", "--store", "bad.knot", *NO_MODEL)
    assert outcome.code == 1
    assert "FAILED Index" in outcome.out


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("knotwork expl", "plain,explore"),
        ("knotwork index pap", "file,pap"),
        ("knotwork ask x --store kno", "file,kno"),
        ("knotwork ask x --retriever bm", "plain,bm25"),
        ("knotwork explore x --direction o", "plain,out"),
        ("knotwork graph export --format graphm", "plain,graphml"),
        ("knotwork completion f", "plain,fish"),
        ("knotwork documents --color ne", "plain,never"),
    ],
)
def test_a_shell_completes_commands_files_and_values(line, offered):
    *words, typed = line.split()[1:]
    completion = BashComplete(app, {}, "knotwork", "_KNOTWORK_COMPLETE")
    assert [(item.type, item.value) for item in completion.get_completions(words, typed)] == [
        tuple(offered.split(","))
    ]


@pytest.mark.parametrize(
    ("shell", "place"),
    [
        ("bash", ".local/share/bash-completion/completions/knotwork"),
        ("fish", ".config/fish/completions/knotwork.fish"),
        ("zsh", ".zfunc/_knotwork"),
    ],
)
def test_completion_is_installed_where_the_shell_looks(shell, place, tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    printed = knotwork("completion", shell, "--json").json
    assert "_KNOTWORK_COMPLETE" in printed["script"]
    installed = knotwork("completion", shell, "--install", "--json").json
    assert installed["path"] == str(tmp_path / place)
    assert Path(installed["path"]).read_text(encoding="utf-8").strip() == printed["script"].strip()
    assert knotwork("completion", "csh").code == 2
