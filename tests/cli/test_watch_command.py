"""`watch`: a line for each change and each problem, and a summary at the end."""

import json
import re
import sys

import pytest
from tests.cli.running import knotwork

from knotwork._extensions.watching import watch as watching

OPTIONS = ("--store", "x.knot", "--set", "embedding.model=none")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "a.md").write_text("# Heron\n\nThe heron eats fish.\n", encoding="utf-8")
    monkeypatch.setattr(watching, "require_extra", lambda: None)
    return folder


@pytest.fixture
def steps(monkeypatch):
    """Steps between comparisons; after the last one, the user presses Ctrl-C."""
    steps = []

    def events(_files, **_options):
        yield set()
        for step in steps:
            step()
            yield {"/elsewhere"}
            yield set()
        raise KeyboardInterrupt

    monkeypatch.setattr(watching, "file_events", events)
    return steps


def test_changes_and_problems_are_lines_and_the_end_is_a_summary(folder, steps):
    empty = folder / "empty.txt"
    steps += [
        lambda: empty.write_bytes(b""),
        lambda: (folder / "温.txt").write_text("温青岚是海洋学家。\n", encoding="utf-8"),
        empty.unlink,
        (folder / "a.md").unlink,
    ]
    outcome = knotwork("watch", folder, *OPTIONS)
    assert outcome.code == 0
    lines = [re.sub(r"^\d\d:\d\d:\d\d ", "", line) for line in outcome.out.splitlines()]
    assert lines[0] == "added    papers/a.md"
    assert lines[1] == f"current  {folder}: 1 document in the index"
    assert lines[2].startswith("skipped  ")
    assert "papers/empty.txt" in lines[2]
    assert lines[4] == "added    papers/温.txt"
    assert lines[-3] == "removed  papers/a.md"
    assert sum("empty.txt" in line for line in lines) == 1
    assert re.fullmatch(r"Watched for .* s: 2 added, 1 removed, 1 skipped\.", lines[-1])


def test_a_solved_problem_is_shown_when_it_returns(folder, steps):
    empty = folder / "empty.txt"
    for _ in range(2):
        steps += [lambda: empty.write_bytes(b""), lambda: None, empty.unlink]
    outcome = knotwork("watch", folder, *OPTIONS)
    assert outcome.out.count("skipped  ") == 2


def test_json_lines_end_with_the_counts(folder, steps):
    steps += [(folder / "a.md").unlink]
    outcome = knotwork("watch", folder, *OPTIONS, "--json")
    lines = [json.loads(line) for line in outcome.out.splitlines()]
    kinds = [line["event"] for line in lines]
    assert kinds == ["added", "finished", "removed", "finished", "ended"]
    assert lines[0]["uri"] == "papers/a.md"
    assert lines[1]["report"]["index"]["documents"] == 1
    assert (lines[-1]["added"], lines[-1]["removed"], lines[-1]["problem"]) == (1, 1, 0)
    assert outcome.err == ""


@pytest.mark.parametrize("given", ["", "10", "m", "0s", "-1m", "1.5h", "10 m", "10w"])
def test_a_time_is_a_number_and_a_unit(folder, given):
    outcome = knotwork("watch", folder, "--every", given, *OPTIONS)
    assert outcome.code == 2
    assert "--every 10m" in outcome.err


def test_without_the_library_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    outcome = knotwork("watch", tmp_path, *OPTIONS)
    assert outcome.code == 2
    assert "knotwork[watch]" in outcome.err
    assert not (tmp_path / "x.knot").exists()


def test_an_unknown_folder_ends_the_command(tmp_path, steps, folder):
    outcome = knotwork("watch", tmp_path / "nothing", *OPTIONS)
    assert outcome.code == 1
    assert "does not exist" in outcome.err
    assert "problem" not in outcome.out
