"""A real server, with the demo's index and the pages that were built, and a real browser.

Where one of them is not there, all tests here are skipped, and say why.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests.browser.serving import fill_folder, run_server
from tests.browser.watching import PROGRAMS, Visit, Visitor, find_program

from knotwork._extensions.server.pages import BUILD_COMMAND, has_pages

OPTIONS = {
    "chromium": {"args": ["--disable-background-networking"]},
    # The Firefox of the system, by WebDriver BiDi. It does not set reduced motion for a page.
    "firefox": {"channel": "moz-firefox", "firefox_user_prefs": {"ui.prefersReducedMotion": 1}},
}
KIND = os.environ.get("TEST_BROWSER", "chromium")
"""The kind of browser that runs the tests."""


@pytest.fixture(scope="session")
def browser():
    """The browser for all tests: Chromium, or what TEST_BROWSER names."""
    found = find_program(KIND)
    if found is None:
        pytest.skip(f"none of {', '.join(PROGRAMS[KIND])} is there")
    if not has_pages():
        pytest.skip(f"the web pages are not built: {BUILD_COMMAND}")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        opened = getattr(started, KIND).launch(executable_path=found, **OPTIONS[KIND])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def address(browser, tmp_path_factory) -> Iterator[str]:
    """The address of a server of a folder of workspaces."""
    folder = tmp_path_factory.mktemp("served")
    fill_folder(folder)
    with run_server(folder) as at:
        yield at


@pytest.fixture
def visitor(browser, address) -> Iterator[Visitor]:
    """What opens pages, in contexts of its own; fails when one of them misbehaved."""
    opened = Visitor(browser, address)
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
