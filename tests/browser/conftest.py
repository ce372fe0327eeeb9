"""A real server, with the demo's index and the pages that were built, and a real Chromium.

Where one of them is not there, all tests here are skipped, and say why.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from tests.browser.serving import fill_folder, run_server
from tests.browser.watching import Visit, Visitor

from knotwork._extensions.server.pages import BUILD_COMMAND, has_pages

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--disable-background-networking",)


@pytest.fixture(scope="session")
def chromium():
    """The browser, for all tests."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is there")
    if not has_pages():
        pytest.skip(f"the web pages are not built: {BUILD_COMMAND}")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def address(chromium, tmp_path_factory) -> Iterator[str]:
    """The address of a server of a folder of workspaces."""
    folder = tmp_path_factory.mktemp("served")
    fill_folder(folder)
    with run_server(folder) as at:
        yield at


@pytest.fixture
def visitor(chromium, address) -> Iterator[Visitor]:
    """What opens pages, in contexts of its own; fails when one of them misbehaved."""
    opened = Visitor(chromium, address)
    yield opened
    opened.leave()


@pytest.fixture
def visit(visitor) -> Visit:
    """A visit with the usual window, language and colours."""
    return visitor.visit()


@pytest.fixture
def empty_workspace(visitor, request) -> Iterator[str]:
    """A new workspace, which is removed after the test."""
    name = f"new-{abs(hash(request.node.name)) % 10_000_000}"
    visitor.call("POST", "/workspaces", {"name": name})
    yield name
    visitor.remove_workspace(name)
