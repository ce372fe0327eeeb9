"""`index`, `documents` and `delete`: what a user reads, and what a program gets."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.running import knotwork
from tests.indexing.pipeline_fakes import LatinEmbedder

from knotwork._inference import embedder

pytestmark = pytest.mark.slow


NO_MODEL = ("--set", "embedding.model=none")


@pytest.fixture
def folder(tmp_path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.md").write_text("# Heron\n\nThe heron eats fish.\n", encoding="utf-8")
    (folder / "温.txt").write_text("温青岚是海洋学家。\n", encoding="utf-8")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 not really")
    (folder / "empty.txt").write_bytes(b"")
    return folder


def index(folder: Path, *more: object):
    return knotwork("index", folder, "--store", "x.knot", *NO_MODEL, *more)


def test_the_object_counts_what_was_done(folder):
    outcome = index(folder, "--json")
    assert outcome.code == 0
    report = outcome.json
    assert (report["added"], report["changed"], report["unchanged"]) == (2, 0, 0)
    assert {item["uri"] for item in report["skipped"]} == {"papers/broken.pdf", "papers/empty.txt"}
    assert all(item["reason"] and item["message"] for item in report["skipped"])
    assert report["index"]["documents"] == 2
    assert report["index"]["chunks"] == report["chunks"] >= 2
    assert report["embedder"] == ""
    assert set(report["seconds"]) >= {"load", "split", "extract", "store", "total"}
    assert report["interrupted"] is False


def test_the_summary_reports_counts_and_reasons(folder):
    outcome = index(folder)
    assert outcome.out.splitlines()[0] == "Documents  2 added, 2 skipped"
    assert "papers/broken.pdf" in outcome.out
    assert "papers/empty.txt" in outcome.out
    assert "x.knot" in outcome.out
    assert "4 files found" in outcome.err
    assert "\x1b" not in outcome.out + outcome.err


def test_a_second_run_does_nothing_and_a_changed_file_is_replaced(folder):
    index(folder)
    assert index(folder, "--json").json["unchanged"] == 2
    (folder / "a.md").write_text("# Heron\n\nThe heron eats frogs.\n", encoding="utf-8")
    (folder / "温.txt").unlink()
    report = index(folder, "--json").json
    assert report["changed"] == 1
    assert report["removed"] == ["papers/温.txt"]


def test_progress_as_json_lines_ends_with_the_report(folder):
    outcome = index(folder, "--json", "--progress", "json")
    lines = [json.loads(line) for line in outcome.err.splitlines() if line.startswith("{")]
    assert lines[0]["event"] == "discovered"
    assert lines[-1]["event"] == "finished"
    assert lines[-1]["report"] == outcome.json
    done = [line["done"] for line in lines]
    assert done == sorted(done)


@pytest.mark.parametrize("option", ["-q", "--no-progress"])
def test_progress_can_be_silent(folder, option):
    outcome = index(folder, option)
    assert "files found" not in outcome.err
    assert outcome.out.startswith("Documents  ")


def test_a_path_that_is_not_there_fails(tmp_path):
    outcome = index(tmp_path / "absent", "--json")
    assert outcome.code == 1
    assert outcome.json["error"]["code"] == "indexing_error"
    assert "absent" in outcome.json["error"]["message"]


def test_documents_lists_what_is_in_and_what_was_skipped(folder):
    index(folder)
    listed = knotwork("documents", "--store", "x.knot", "--json").json
    assert [item["uri"] for item in listed["documents"]] == ["papers/a.md", "papers/温.txt"]
    assert listed["documents"][0]["title"] == "Heron"
    assert listed["documents"][0]["chunks"] >= 1
    assert [item["uri"] for item in listed["skipped"]] == ["papers/broken.pdf", "papers/empty.txt"]
    shown = knotwork("documents", "--store", "x.knot").out
    assert "papers/a.md" in shown
    assert "papers/broken.pdf" in shown


def test_documents_are_given_other_metadata_that_lasts(folder):
    index(folder)
    edit = ("documents", "papers/a.md", "--store", "x.knot", "--json")
    edited = knotwork(*edit, "--edit", "title=The heron", "--edit", "tags=birds, lakes").json
    assert (edited["title"], edited["metadata"]["tags"]) == ("The heron", "birds, lakes")
    (folder / "a.md").write_text("# Heron\n\nHerons wade.", encoding="utf-8")
    index(folder)
    listed = knotwork("documents", "--store", "x.knot", "--json").json["documents"]
    assert listed[0]["title"] == "The heron"
    assert knotwork(*edit, "--edit", "title").json["title"] == "Heron"
    assert knotwork("documents", "papers/a.md", "--store", "x.knot").code == 2


def test_delete_removes_and_names_the_nearest_otherwise(folder):
    index(folder)
    wrong = knotwork("delete", "papers/b.md", "--store", "x.knot")
    assert wrong.code == 2
    assert "papers/a.md" in wrong.err
    gone = knotwork("delete", "papers/a.md", "--store", "x.knot", "--json")
    assert gone.json == {"removed": ["papers/a.md"]}
    listed = knotwork("documents", "--store", "x.knot", "--json").json
    assert [item["uri"] for item in listed["documents"]] == ["papers/温.txt"]


INTERRUPT = """
import os, signal, sys
from knotwork._cli.main import run
from knotwork._indexing import stages

Preparer = stages.Preparer
seen = []

def open_interrupted(*arguments, **options):
    preparer = Preparer(*arguments, **options)
    begin = preparer.begin

    def stop_at_the_fifth(source):
        seen.append(source)
        if len(seen) == 5:
            os.kill(os.getpid(), signal.SIGINT)
        begin(source)

    preparer.begin = stop_at_the_fifth
    return preparer

stages.Preparer = open_interrupted
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")
@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_keeps_what_was_done_and_says_how_to_go_on(tmp_path, as_json):
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number:02}.txt").write_text(f"Note {number} of many.\n", encoding="utf-8")
    line = ["index", "many", "--store", "x.knot", *NO_MODEL]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPT, *line, *(["--json"] if as_json else [])],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env=dict(os.environ),
    )
    assert done.returncode == 130
    assert "Run the same command again" in done.stderr
    assert "Traceback" not in done.stderr
    if as_json:
        assert json.loads(done.stdout)["interrupted"] is True
    resumed = knotwork(*line, "--json").json
    assert resumed["added"] + resumed["unchanged"] == 12
    assert resumed["unchanged"] >= 4
    assert resumed["index"]["documents"] == 12


def test_chunks_that_the_model_does_not_read_are_reported_once(folder, monkeypatch):
    monkeypatch.setattr(embedder, "open_hashing", lambda model, settings: LatinEmbedder(int(model)))
    line = ("index", folder, "--store", "x.knot", "--set", "embedding.model=hashing:32")
    outcome = knotwork(*line)
    assert (outcome.out + outcome.err).count("chunks have no vectors") == 1
    report = knotwork(*line, "--json").json
    assert (report["unchanged"], report["embedded"], report["without_vectors"]) == (2, 0, 1)
    (note,) = report["notes"]
    assert "1 of 2 chunks have no vectors" in note
    assert "knotwork embed --model local:multilingual-e5-small" in note


def test_who_chose_no_model_is_not_advised_to_install_one(folder):
    assert index(folder, "--json").json["notes"] == []


def test_a_refused_command_leaves_no_new_index_behind(folder):
    before = set(Path().iterdir())
    assert knotwork("index", "nowhere", "--store", "new.knot", *NO_MODEL).code != 0
    assert knotwork("delete", "a.md", "--store", "new.knot").code == 2
    assert set(Path().iterdir()) == before
    assert index(folder).code == 0
    assert knotwork("index", "nowhere", "--store", "x.knot", *NO_MODEL).code != 0
    assert len(knotwork("documents", "--store", "x.knot", "--json").json["documents"]) == 2


def test_an_empty_index_of_before_is_kept(tmp_path):
    (tmp_path / "none").mkdir()
    assert knotwork("index", "none", "--store", "x.knot", *NO_MODEL).code == 0
    assert knotwork("index", "nowhere", "--store", "x.knot", *NO_MODEL).code != 0
    assert Path("x.knot").is_file()


def test_documents_of_missing_files_can_be_deleted_as_suggested(folder):
    assert knotwork("index", folder / "a.md", "--store", "x.knot", *NO_MODEL).code == 0
    (folder / "a.md").unlink()
    gone = knotwork("index", "papers/a.md", "--store", "x.knot", *NO_MODEL)
    assert "no longer exists" in gone.err
    assert "knotwork delete papers/a.md" in gone.err
    never = knotwork("index", "papers/b.md", "--store", "x.knot", *NO_MODEL)
    assert "Check the spelling" in never.err
    assert knotwork("delete", "papers/a.md", "--store", "x.knot", "--json").json["removed"]
