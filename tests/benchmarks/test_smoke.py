"""The run of every benchmark with one question leaves none out without a word."""

import sys
import tomllib

import pytest

from benchmarks import smoke

TABLES = tomllib.loads((smoke.HERE / "smoke.toml").read_text(encoding="utf8"))


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["smoke.py", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        smoke.main()
    return ended.value.code


def test_every_program_is_run_or_named_with_what_it_needs():
    programs = [
        path.relative_to(smoke.HERE).as_posix()
        for path in smoke.HERE.glob("*/**/*.py")
        if "__main__" in path.read_text(encoding="utf8")
    ]
    assert sorted(name for table in TABLES.values() for name in table) == sorted(programs)


def test_every_folder_of_the_data_is_from_somewhere():
    needs = {need for needs in TABLES for need in needs.split() if need.startswith("data/")}
    assert not {need for need in needs if "install" in smoke.where_from(need)}


def test_what_needs_missing_data_is_skipped_and_says_where_it_is_from(
    tmp_path, monkeypatch, capsys
):
    assert run(monkeypatch, tmp_path, "--only", "tiers/") == 0
    said = capsys.readouterr().out
    assert "skipped  tiers/measure.py: needs data/bench/qa/musique_train100\n" in said
    assert "0 ran, 1 skipped, 0 failed." in said
    assert "MuSiQue" in said


def test_a_folder_that_is_named_must_be_there(tmp_path, monkeypatch, capsys):
    assert run(monkeypatch, tmp_path / "none") == 2
    assert "is not a folder" in capsys.readouterr().err


def test_a_name_that_no_benchmark_has_is_refused(tmp_path, monkeypatch, capsys):
    assert run(monkeypatch, tmp_path, "--only", "nothing") == 2
    assert "no benchmark has nothing in its name" in capsys.readouterr().err


def test_a_benchmark_that_fails_is_told_with_its_end(tmp_path, monkeypatch, capsys):
    failing = tmp_path / "failing.py"
    failing.write_text("raise SystemExit('no such thing')", encoding="utf8")
    monkeypatch.setattr(smoke, "HERE", tmp_path)
    (tmp_path / "smoke.toml").write_text('[""]\n"failing.py" = ""\n[later]\n', encoding="utf8")
    assert run(monkeypatch, tmp_path) == 1
    assert "FAILED   failing.py: exit code 1\nno such thing" in capsys.readouterr().out
