"""The files around the code say what is so."""

import re
import tomllib
from pathlib import Path

import knotwork

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> dict[str, str]:
    marked = r"^<!-- command: (\w+) -->\n```sh\n(.*?)\n```$"
    return dict(re.findall(marked, README, re.MULTILINE | re.DOTALL))


def test_the_readme_marks_its_two_commands():
    assert commands() == {
        "demo": (
            'python3 -m pip install -q -c constraints.txt ".[local]" && python3 -m knotwork demo'
        ),
        "check": (
            "python3 -m pip install -q -c constraints.txt -e "
            '".[local,sentence-transformers,dev]" && python3 -m nox'
        ),
    }
    assert "<!-- command: check -->" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 90


def test_the_versions_agree():
    assert PROJECT["project"]["version"] == knotwork.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(
        rf"^## \[(Unreleased|{re.escape(knotwork.__version__)})\]", changes, re.MULTILINE
    )


def test_only_what_decides_results_or_size_is_pinned():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    assert {line.partition("==")[0] for line in lines} <= {"graspologic-native", "torch"}


def test_the_layers_match_the_architecture():
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    (contract,) = (found for found in contracts if found["type"] == "layers")
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    drawn = [line.strip() for line in text.splitlines() if line.startswith("    ")]
    names = [re.split(r"\s{3,}", line)[0] for line in drawn]
    start = names.index(contract["layers"][0])
    assert names[start : start + len(contract["layers"])] == contract["layers"]


def test_the_table_of_rooms_names_every_room():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rooms = {p.parent.name for p in (ROOT / "src" / "knotwork").glob("*/__init__.py")}
    cells = re.findall(r"^\| (`.+?) \|", text, re.MULTILINE)
    assert rooms - set(re.findall(r"`(\w+)/", " ".join(cells))) == set()


def test_every_ignored_rule_has_a_reason():
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    start = lines.index("ignore = [")
    end = lines.index("]", start)
    assert all(re.search(r"# \w+", line) for line in lines[start + 1 : end])
