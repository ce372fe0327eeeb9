"""The notebooks of examples/ run, and show what is kept in them."""

import importlib.util
import json
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
# Where a node is drawn may differ in the last digit from one processor to the next.
PASSING = re.compile(
    r'[\d.]+ s\b|seconds=[\d.e-]+|\b(?:x|y|x1|y1|x2|y2|cx|cy)="[\d.]+"|text-anchor="\w+"'
)


@pytest.fixture
def examples():
    spec = importlib.util.spec_from_file_location("examples", ROOT / "scripts/build_examples.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outputs_of(notebook):
    return [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]


def settle(outputs):
    """Return outputs without what passes: times, and places in pictures."""
    return PASSING.sub("…", json.dumps(outputs, ensure_ascii=False).replace('\\"', '"'))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_kept_in_it(path, examples, tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("KNOTWORK_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    kept = json.loads(path.read_text(encoding="utf-8"))
    run = examples.run_notebook(kept)
    for shown, before in zip(outputs_of(run), outputs_of(kept), strict=True):
        assert settle(shown) == settle(before), "run python scripts/build_examples.py"


def test_there_are_two_and_they_are_small():
    assert len(NOTEBOOKS) == 2
    assert all(path.stat().st_size < 60_000 for path in NOTEBOOKS)


def test_a_cell_that_fails_is_not_hidden(examples):
    cell = {"cell_type": "code", "source": ["print(1)\n", "nothing_like_it"]}
    with pytest.raises(NameError, match="nothing_like_it"):
        examples.run_notebook({"cells": [cell]})


def test_cells_may_wait_and_show_their_last_value(examples):
    sources = ["import asyncio\n", "x = await asyncio.sleep(0, 3)\n", "print('told')\n", "x + 1"]
    notebook = examples.run_notebook({"cells": [{"cell_type": "code", "source": sources}]})
    stream, shown = notebook["cells"][0]["outputs"]
    assert stream["text"] == ["told\n"]
    assert shown["data"] == {"text/plain": ["4"]}
