"""Every module is public or has an underscore in its path; pages import public names alone."""

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PUBLIC = (
    "knotwork",
    "knotwork.adapters.haystack",
    "knotwork.adapters.langchain",
    "knotwork.adapters.llama_index",
    "knotwork.agents",
    "knotwork.demo",
    "knotwork.errors",
    "knotwork.evaluation",
    "knotwork.mcp_server",
    "knotwork.plugins",
    "knotwork.records",
    "knotwork.testing",
    "knotwork.testing.model_server",
)
PAGES = [
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "examples").rglob("*.ipynb"),
    *(ROOT / "examples").rglob("*.py"),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]
IMPORT = re.compile(r"(?:from (knotwork(?:\.\w+)*) import ([\w, ]+)|import (knotwork(?:\.\w+)*)\b)")


def test_all_other_modules_have_an_underscore_in_their_path():
    files = (ROOT / "src" / "knotwork").rglob("*.py")
    modules = {".".join(file.relative_to(ROOT / "src").with_suffix("").parts) for file in files}
    names = {name.removesuffix(".__init__") for name in modules if not name.endswith("__main__")}
    assert {name for name in names if "._" not in name} == {*PUBLIC, "knotwork.adapters"}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_module_lists_its_names(name):
    module = import_module(name)
    assert len(module.__all__) == len(set(module.__all__))
    assert all(getattr(module, public) is not None for public in module.__all__)
    assert not [public for public in module.__all__ if public.startswith("_")]


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_module_is_in_the_reference(name):
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert re.search(rf"^\.\. automodule:: {re.escape(name)}$", page, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_and_examples_import_public_names_alone(page):
    for module, names, whole in IMPORT.findall(page.read_text(encoding="utf-8")):
        assert (module or whole) in PUBLIC
        listed = import_module(module or whole).__all__
        assert {name.split(" as ")[0].strip() for name in names.split(",") if name} <= set(listed)
