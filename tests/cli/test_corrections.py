"""`graph correct`, `corrections` and `undo`: the graph is corrected by hand from a terminal."""

from __future__ import annotations

import pytest
from tests.cli.running import knotwork

pytestmark = pytest.mark.slow

TEXT = "Ada Lovelace met Charles Babbage in London. Charles Babbage knew Mary Somerville."


@pytest.fixture(autouse=True)
def index(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text(TEXT, "utf-8")
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(tmp_path / "index.knot"))
    monkeypatch.setenv("KNOTWORK_EMBEDDING_MODEL", "none")
    assert knotwork("index", tmp_path / "a.txt").code == 0


def correct(*words):
    return knotwork("graph", "correct", *words)


def test_a_correction_is_made_listed_and_undone():
    made = correct("rename", "Ada Lovelace", "Countess", "--author", "Ana")
    assert "rename: Ada Lovelace → Countess" in made.out
    (found,) = knotwork("graph", "corrections", "--json").json["corrections"]
    assert (found["kind"], found["author"], found["name"]) == ("rename", "Ana", "Countess")
    assert f"knotwork graph undo {found['id']}" in made.out
    assert "Countess" in knotwork("explore", "Ada Lovelace").out
    listed = knotwork("graph", "corrections")
    assert found["id"] in listed.out
    assert "by Ana" in listed.out
    assert "1 correction" in listed.err
    undone = knotwork("graph", "undo", found["id"], "--json").json
    assert (undone["id"], undone["applied"]) == (found["id"], False)
    assert "No corrections." in knotwork("graph", "corrections").out


def test_each_kind_is_given_by_words(tmp_path):
    for words in (
        ("add-relation", "Ada Lovelace", "inspired", "Mary Somerville"),
        ("remove_relation", "Ada Lovelace", "inspired", "Mary Somerville"),
        ("retype", "London", "city"),
        ("merge", "Ada Lovelace", "Mary Somerville"),
        ("split", "Charles Babbage", "Mary Somerville"),
        ("pin", "London"),
        ("divide", "London", "London, Ontario", "a.txt"),
        ("hide", "Charles Babbage"),
        ("show", "Charles Babbage"),
    ):
        outcome = correct(*words, "--json")
        assert outcome.code == 0, outcome.err
    kinds = [
        found["kind"] for found in knotwork("graph", "corrections", "--json").json["corrections"]
    ]
    assert kinds == ["divide", "pin", "split", "merge", "retype", "remove_relation", "add_relation"]
    shown = knotwork("graph", "corrections").out
    assert "Ada Lovelace — inspired → Mary Somerville" in shown
    assert "London → London, Ontario in a.txt" in shown


def test_corrections_are_carried_to_another_index(tmp_path, monkeypatch):
    correct("rename", "Ada Lovelace", "伯爵夫人")
    correct("hide", "London")
    lines = knotwork("graph", "corrections", "--lines").out
    (tmp_path / "c.jsonl").write_text(lines, "utf-8")
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(tmp_path / "other.knot"))
    knotwork("index", tmp_path / "a.txt")
    loaded = knotwork("graph", "corrections", "--load", tmp_path / "c.jsonl", "--json").json
    assert [found["applied"] for found in loaded["corrections"]] == [True, True]
    assert knotwork("graph", "corrections", "--lines").out == lines


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("rename", "Ada Lovelace"), "takes NAME NEW-NAME, 1 given"),
        (("divide", "Ada Lovelace", "Ada"), "Add DOCUMENT..."),
        (("hide", "Ada Lovelace", "x"), "takes NAME, 2 given"),
        (("burn", "Ada Lovelace"), "Unknown kind of correction"),
        (("hide", "Ada Lovelase"), "Did you mean `Ada Lovelace`?"),
    ],
)
def test_what_cannot_be_corrected_is_refused_in_words(words, message):
    refused = correct(*words)
    assert refused.code != 0
    assert message in " ".join(refused.err.split())


def test_an_unknown_id_is_refused():
    refused = knotwork("graph", "undo", "0123")
    assert refused.code != 0
    assert "Unknown correction `0123`" in refused.err
