"""The web pages, with and without a build."""

import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from knotwork._extensions.server.pages import BUILD_COMMAND, add_pages, has_pages

ROOT = Path(__file__).parents[2]


def open_pages(folder):
    app = FastAPI(docs_url=None)
    add_pages(app, folder)
    return TestClient(app)


@pytest.fixture
def built(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<title>The page</title>", encoding="utf-8")
    (tmp_path / "assets" / "main-1a2b.js").write_text("start()", encoding="utf-8")
    return tmp_path


def test_without_a_build_every_page_says_how_to_get_the_pages(tmp_path):
    assert not has_pages(tmp_path)
    with open_pages(tmp_path) as client:
        for path in ("/", "/ui", "/ui/default/graph"):
            page = client.get(path)
            assert page.status_code == 200
            assert "does not include the web pages" in page.text
            assert BUILD_COMMAND in page.text
            assert "http" not in page.text.replace("html", "")


def test_the_command_that_is_named_is_there():
    assert (ROOT / BUILD_COMMAND.split()[1]).is_file()


def test_every_address_below_ui_is_the_page_but_files_are_themselves(built):
    assert has_pages(built)
    with open_pages(built) as client:
        for path in ("/", "/ui", "/ui/", "/ui/default/graph", "/ui/v1.2/ask?q=1", "/ui/notes.2024"):
            assert "The page" in client.get(path).text, path
        script = client.get("/ui/assets/main-1a2b.js")
        assert script.text == "start()"
        assert script.headers["content-type"].startswith("text/javascript")
        assert client.get("/ui/assets/gone-3c4d.js").status_code == 404
        assert client.get("/ui/../conftest.py").status_code == 404


def test_files_with_a_hash_are_kept_and_the_page_is_looked_at_anew(built):
    with open_pages(built) as client:
        assert "immutable" in client.get("/ui/assets/main-1a2b.js").headers["cache-control"]
        for path in ("/ui/", "/ui/default/graph"):
            assert client.get(path).headers["cache-control"] == "no-cache"


def test_large_files_are_sent_packed(built):
    (built / "assets" / "large-9f.js").write_text("start();" * 1_000, encoding="utf-8")
    with open_pages(built) as client:
        sent = client.get("/ui/assets/large-9f.js", headers={"Accept-Encoding": "gzip"})
    assert sent.headers["content-encoding"] == "gzip"
    assert sent.text == "start();" * 1_000


def test_the_page_of_the_routes_needs_no_build_and_no_other_server(tmp_path):
    with open_pages(tmp_path) as client:
        page = client.get("/docs", follow_redirects=False)
        assert (page.status_code, page.headers["content-type"][:9]) == (200, "text/html")
        assert page.headers["cache-control"] == "no-cache"
        assert client.get("/docs/").text == page.text
        linked = re.findall(r'(?:href|src)="([^"]*)"', page.text)
        assert "/docs/docs.js" in linked
        assert all(path.startswith("/") for path in linked)
        for path in linked[1:]:
            text = client.get(path).text
            assert "://" not in text, path
        assert client.get("/docs/docs.js").headers["content-type"].startswith("text/javascript")
