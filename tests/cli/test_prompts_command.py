"""`prompts`: listed, shown, copied and checked."""

import pytest
from tests.cli.running import knotwork

from knotwork._extensions.prompts.folder import built_in_prompts

ROUTE = "Choose.\n---\n{question}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder of a user whose settings name a folder with one prompt."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "route.en.txt").write_text(ROUTE, encoding="utf-8")
    (tmp_path / "knotwork.toml").write_text('[prompts]\ndir = "own"\n', encoding="utf-8")
    return tmp_path


def test_the_list_says_which_prompts_are_own(folder):
    outcome = knotwork("prompts", "list")
    assert outcome.code == 0
    lines = [line.split() for line in outcome.out.splitlines()]
    assert ["route", "en", "own"] in lines
    assert ["route", "zh", "built", "in"] in lines
    assert "1 file of your own, version " in outcome.err
    found = knotwork("prompts", "list", "--json").json
    assert found["dir"] == "own"
    assert found["files"] == ["route.en.txt"]
    assert len(found["prompts"]) == len(built_in_prompts())
    assert [p["file"] for p in found["prompts"] if p["own"]] == ["route.en.txt"]
    assert knotwork("prompts", "list", "--set", "prompts.dir=", "--json").json["version"] == ""


def test_a_prompt_is_shown_as_it_is_in_force(folder):
    assert knotwork("prompts", "show", "route").out == ROUTE + "\n"
    built_in = knotwork("prompts", "show", "route", "--built-in").out
    assert built_in.startswith("task: ")
    assert knotwork("prompts", "show", "route", "--language", "zh").out != built_in
    found = knotwork("prompts", "show", "route", "--json").json
    assert found == {
        "name": "route", "language": "en", "file": "route.en.txt", "own": True, "text": ROUTE
    }  # fmt: skip
    assert "graph = " in knotwork("prompts", "show", "extraction").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "rout"), ("Unknown prompt `rout`", "Did you mean `route`")),
        (("show", "route", "--language", "de"), ("`de`", "`en`, `zh`")),
        (("check", "none"), ("none", "not a folder")),
        (("copy", "knotwork.toml"), ("not a folder",)),
    ],
)
def test_missing_things_are_named(folder, arguments, words):
    outcome = knotwork("prompts", *arguments)
    assert outcome.code != 0
    for word in words:
        assert word in outcome.err


def test_copying_writes_all_prompts_and_keeps_what_is_there(folder):
    outcome = knotwork("prompts", "copy", "own", "--json").json
    assert outcome["kept"] == ["route.en.txt"]
    assert len(outcome["written"]) == len(built_in_prompts()) - 1
    assert (folder / "own" / "route.en.txt").read_text("utf-8") == ROUTE
    for prompt in built_in_prompts():
        if prompt.file != "route.en.txt":
            assert (folder / "own" / prompt.file).read_text("utf-8") == prompt.text
    again = knotwork("prompts", "copy", "own")
    assert "Wrote 0 prompts" in again.out
    assert knotwork("prompts", "list", "--json").json["files"] == ["route.en.txt"]
    fresh = knotwork("prompts", "copy", "deep/er")
    assert "set prompts.dir to deep/er" in fresh.err


def test_all_faults_are_reported(folder):
    assert knotwork("prompts", "check").code == 0
    assert knotwork("prompts", "check", "--json").json["ok"] is True
    (folder / "own" / "answr.en.txt").write_text("x", encoding="utf-8")
    (folder / "own" / "extraction.zh.toml").write_text('graph = "x"', encoding="utf-8")
    outcome = knotwork("prompts", "check")
    assert outcome.code == 1
    assert "`answr.en.txt`" in outcome.out
    assert "lacks the placeholder `{types}`" in outcome.out
    found = knotwork("prompts", "check", "--json")
    assert found.code == 1
    assert (found.json["ok"], len(found.json["faults"])) == (False, 2)
    unset = knotwork("prompts", "check", "--set", "prompts.dir=")
    assert (unset.code != 0, "No folder of prompts is set" in unset.err) == (True, True)


def test_a_broken_folder_stops_what_would_use_it_and_is_found_by_the_doctor(folder):
    (folder / "own" / "answr.en.txt").write_text("x", encoding="utf-8")
    (folder / "a.txt").write_text("Ada.", encoding="utf-8")
    outcome = knotwork("index", "a.txt", "--set", "embedding.model=none")
    assert outcome.code != 0
    assert "`answr.en.txt`" in outcome.err
    assert "`answr.en.txt`" in knotwork("doctor", "--set", "embedding.model=none").out
