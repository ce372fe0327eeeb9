"""No modules of the package import each other, and its figures only fall."""

import pytest
from benchmarks.structure import measure

BEFORE = {
    "src": {"files": 10, "lines": 100},
    "lines": {"_cli": 60, "records": 40},
    "ask": {"files": 5, "functions": 50, "depth": 9},
}


def changed(**tables):
    return {name: figures | tables.get(name, {}) for name, figures in BEFORE.items()}


@pytest.fixture
def house(tmp_path, monkeypatch):
    place = tmp_path / "house.toml"
    monkeypatch.setattr(measure, "HOUSE", place)
    measure.write_figures(BEFORE)
    return place


def read(house):
    return measure.tomllib.loads(house.read_text(encoding="utf8"))


def test_there_are_no_import_circles():
    assert measure.find_circles() == []


def test_the_same_figures_pass(house):
    measure.check(BEFORE, writes=False)
    assert read(house) == BEFORE


@pytest.mark.parametrize("writes", [False, True])
def test_a_figure_that_grew_fails_and_says_which(house, writes):
    with pytest.raises(SystemExit, match=r"ask\.depth grew by 2: 9 -> 11"):
        measure.check(changed(ask={"depth": 11, "files": 4}), writes=writes)
    assert read(house) == (changed(ask={"files": 4}) if writes else BEFORE)


def test_figures_that_fell_are_written_only_when_asked(house, capsys):
    fallen = changed(src={"lines": 90}, lines={"_cli": 50})
    measure.check(fallen, writes=False)
    assert "--write" in capsys.readouterr().out
    assert read(house) == BEFORE
    measure.check(fallen, writes=True)
    assert read(house) == fallen


def test_lines_may_move_between_parts_if_all_together_are_no_more(house):
    moved = changed(lines={"_cli": 40, "records": 0})
    moved["lines"]["_extensions/server"] = 60
    moved["src"] |= {"core": 40, "extensions": 60}
    with pytest.raises(SystemExit, match=r"(?s)_extensions/server is new.*only moved.*--write"):
        measure.check(moved, writes=False)
    measure.check(moved, writes=True)
    assert read(house) == moved
    back = changed(src={"core": 50, "extensions": 50})
    with pytest.raises(SystemExit, match=r"src\.core grew by 10"):
        measure.check(back, writes=True)


def test_lines_of_the_core_and_of_extensions_are_counted_apart(tmp_path, monkeypatch):
    assert sum(measure.count_lines()["lines"].values()) == measure.count_lines()["src"]["lines"]
    for name in ("errors.py", "_cli/main.py", "_extensions/server/http.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1\n2\n", encoding="utf8")
    monkeypatch.setattr(measure, "PACKAGE", tmp_path)
    assert measure.count_lines() == {
        "src": {"files": 3, "lines": 6, "core": 4, "extensions": 2},
        "lines": {"_cli": 2, "_extensions/server": 2, "knotwork": 2},
    }
