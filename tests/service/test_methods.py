"""HEAD, OPTIONS and the header Allow, on every path of the server."""

from __future__ import annotations

from itertools import count

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from tests.service.serving import API, add_key, make_settings, open_client

from knotwork._extensions.server.middleware import HeadMiddleware
from knotwork._extensions.server.responses import EventStream, format_event
from knotwork._extensions.server.server import ServerConfig

pytestmark = pytest.mark.slow

OPEN = f"{API}/workspaces/open"
PAGES = {"/": {"GET"}, "/ui/": {"GET"}, "/docs": {"GET"}, "/docs/docs.js": {"GET"}}


def methods_by_path(client):
    document = client.get(f"{API}/openapi.json").json()
    known = {path: {name.upper() for name in found} for path, found in document["paths"].items()}
    return known | PAGES | {"/mcp/open": {"POST"}, f"{API}/openapi.json": {"GET"}}


def fill_in(path):
    for name in ("workspace", "model"):
        path = path.replace(f"{{{name}}}", "open")
    return path.replace("{number}", "1").replace("{", "").replace("}", "")


def test_head_is_answered_as_get_without_a_body(client):
    for path in methods_by_path(client):
        url = fill_in(path)
        head = client.head(url, follow_redirects=False)
        assert head.content == b"", path
        got = client.get(url, follow_redirects=False)
        assert head.status_code == got.status_code, path
        assert head.headers.keys() == got.headers.keys(), path
        assert head.headers.get("content-type") == got.headers.get("content-type"), path


def test_head_of_a_stream_without_an_end_ends():
    app = FastAPI()
    sent: list[object] = []

    @app.get("/")
    async def stream() -> EventStream:
        async def events():
            try:
                for number in count():
                    sent.append(number)
                    yield format_event(number)
            finally:
                sent.append("closed")

        return EventStream(events())

    app.add_middleware(HeadMiddleware)
    with TestClient(app) as client:
        head = client.head("/")
    assert (head.status_code, head.content, sent) == (200, b"", [0, "closed"])
    assert head.headers["content-type"].startswith("text/event-stream")


def test_head_is_counted_under_its_route(place):
    with open_client(place) as client:
        client.head(OPEN)
        counted = client.get("/metrics").text
    route = f"{API}/workspaces/{{workspace}}"
    assert f'knotwork_requests_total{{method="HEAD",route="{route}",status="200"}} 1.0' in counted
    assert f'knotwork_request_seconds_count{{method="HEAD",route="{route}"}} 1.0' in counted


def test_options_and_405_list_all_methods_of_a_path(client):
    for path, methods in methods_by_path(client).items():
        url = fill_in(path)
        options = client.options(url)
        assert (options.status_code, options.content) == (204, b""), path
        allowed = set(options.headers["allow"].split(", "))
        assert allowed >= methods | {"OPTIONS"}, path
        assert ("HEAD" in allowed) == ("GET" in allowed), path
        assert not [name for name in options.headers if name.startswith("access-control")]
        refused = client.request("TRACE", url)
        assert refused.status_code == 405, path
        assert refused.headers["allow"] == options.headers["allow"], path
        assert refused.headers["allow"] in str(refused.json()["error"]), path
        for method in {"DELETE", "PATCH", "PUT"} - allowed:
            assert client.request(method, url).status_code == 405, (method, path)
    assert client.options(f"{API}/nothing").status_code == 404


def test_options_needs_a_key_where_everything_does(place):
    headers = add_key(place, "reader", "read", "open")
    with open_client(place) as client:
        assert client.options(OPEN).status_code == 401
        assert client.head(OPEN).status_code == 401
        assert client.options(OPEN, headers=headers).status_code == 204
        assert client.head(OPEN, headers=headers).status_code == 200


def test_pages_of_named_origins_may_ask_which_methods_are_allowed(place):
    named = ServerConfig(place.path, make_settings(cors_origins=("https://a.example",)))
    asked = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    with open_client(named) as client:
        assert client.options(OPEN, headers=asked).status_code == 200
        other = client.options(OPEN, headers=asked | {"Origin": "https://b.example"})
        assert "access-control-allow-origin" not in other.headers


def test_the_document_names_its_server(client):
    document = client.get(f"{API}/openapi.json").json()
    assert [server["url"] for server in document["servers"]] == ["/"]
