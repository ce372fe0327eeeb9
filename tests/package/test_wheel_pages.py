"""The step of the build that gives a wheel its web pages."""

import os
import runpy
from pathlib import Path

import pytest

pytest.importorskip("hatchling")

ROOT = Path(__file__).parents[2]
BUILDS = """
from pathlib import Path
pages = Path(__file__).parents[1] / "src/knotwork/_extensions/server/web"
pages.mkdir(parents=True, exist_ok=True)
(pages / "index.html").write_text("built")
"""
FAILS = "import sys; sys.exit('Node.js 20.19 or newer is not there.')"


class Notices:
    """What the step tells the one who builds."""

    def __init__(self):
        self.warnings = []

    def display_warning(self, text):
        self.warnings.append(text)


@pytest.fixture
def checkout(tmp_path):
    """Return the folder of a checkout with one source of the pages, and a script to build them."""
    (tmp_path / "web" / "src").mkdir(parents=True)
    (tmp_path / "web" / "src" / "main.ts").write_text("start()")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "build_web.py").write_text(BUILDS)
    return tmp_path


def build(root, *, version="standard", target="wheel"):
    """Run the step as hatchling does, and return its warnings."""
    hook = runpy.run_path(str(ROOT / "scripts" / "build_hook.py"))["WebPages"]
    told = Notices()
    hook(str(root), {}, None, None, str(root / "dist"), target, told).initialize(version, {})
    return told.warnings


def pages_of(root):
    return root / "src/knotwork/_extensions/server/web/index.html"


def test_a_wheel_gets_the_pages_that_it_lacks(checkout):
    assert build(checkout) == []
    assert pages_of(checkout).read_text() == "built"


def test_pages_older_than_their_source_are_built_again(checkout):
    build(checkout)
    pages_of(checkout).write_text("old")
    build(checkout)
    assert pages_of(checkout).read_text() == "old"
    os.utime(pages_of(checkout), (1, 1))
    build(checkout)
    assert pages_of(checkout).read_text() == "built"


@pytest.mark.parametrize(("version", "target"), [("editable", "wheel"), ("standard", "sdist")])
def test_an_editable_install_and_a_source_archive_build_none(checkout, version, target):
    assert build(checkout, version=version, target=target) == []
    assert not pages_of(checkout).exists()


def test_a_build_that_fails_is_told_and_stops_no_install(checkout):
    (checkout / "scripts" / "build_web.py").write_text(FAILS)
    (warning,) = build(checkout)
    assert "not built: Node.js 20.19 or newer is not there." in warning
