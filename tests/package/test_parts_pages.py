"""The example of every page in docs/parts runs, and every kind of part has a page."""

import re
from pathlib import Path

import pytest

from knotwork._extensions.graphs.servers.dialects import Dialect
from knotwork._knowledge_base.registries import GROUPS, find_registry

FOLDER = Path(__file__).parents[2] / "docs" / "parts"
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.name != "index.md")


@pytest.fixture(autouse=True)
def registries(monkeypatch):
    """Registries without plugins, in which nothing is registered after the test."""
    for registry in map(find_registry, GROUPS):
        monkeypatch.setitem(vars(registry), "_plugins", ({}, {}))
        monkeypatch.setattr(registry, "_registered", {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_example_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert code
    exec(compile("\n".join(code), str(page), "exec"), {"Dialect": Dialect})


def test_every_kind_of_part_has_a_page():
    kinds = {name.removesuffix("s").replace("_", "-") for name in GROUPS if name != "parts"}
    assert kinds <= {page.stem.removesuffix("s") for page in PAGES}
    listed = re.findall(r"^[\w-]+$", (FOLDER / "index.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == [page.stem for page in PAGES]
