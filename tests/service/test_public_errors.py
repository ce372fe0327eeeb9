"""Errors and jobs never contain paths of the server."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from tests.service.serving import API, add_key, await_job, open_client, upload
from tests.service.test_access import operations, send

from knotwork._extensions.server.responses import hide_paths, hide_paths_within

pytestmark = pytest.mark.slow

HOME = str(Path.home())
OPEN = f"{API}/workspaces/open"


def error_texts(client, headers, *, every):
    """Yield the replies to wrong requests to every route.

    Unless all are wanted, none that are refused before the index is looked at.
    """
    document = client.get(f"{API}/openapi.json", headers=headers).json()
    for method, path, operation in operations(document):
        if every:
            yield send(client, method, path, operation, headers, workspace="absent")
        if operation["operationId"] == "delete_workspace":
            continue
        yield send(client, method, path, operation, headers, workspace="open")
        url = path.replace("{workspace}", "open").replace("{", "").replace("}", "")
        for content in (b"{", b"[]", b'{"statement": "MATCH ("}')[0 if every else 2 :]:
            kind = {"Content-Type": "application/json"}
            yield client.request(method, url, content=content, headers=headers | kind)
        for body in (
            {"question": "x", "retriever": "/etc/passwd", "filters": "a ="},
            {"statement": f"LOAD CSV FROM 'file://{HOME}/x' AS x RETURN x"},
            {"model": "open:none", "input": "x", "messages": [{"role": "user", "content": "x"}]},
        ):
            yield client.request(method, url, json=body, headers=headers)


DAMAGES = (
    ("garbage", {"invalid_request"}),
    ("not an index", {"schema_mismatch"}),
    ("folder", {"store_error"}),
)


@pytest.mark.parametrize(
    ("damage", "expected", "every"),
    [
        ("none", {"invalid_request", "unknown_name", "query_syntax_error", "filter_error"}, True),
        *(
            pytest.param(*damaged, every, marks=[pytest.mark.nightly] if every else [])
            for damaged in DAMAGES
            for every in (False, True)
        ),
    ],
)
def test_no_error_names_a_path_of_the_server(place, damage, expected, every):
    headers = add_key(place, "all", "admin", "*")
    index = place.path / "open.knot"
    if damage == "garbage":
        index.write_bytes(index.read_bytes()[:8_192] + b"\xff" * 100_000)
    elif damage == "not an index":
        index.write_bytes(b"something else")
    elif damage == "folder":
        (place.path / "open.files").write_text("a file in the way of a folder", encoding="utf-8")
    replies = []
    with open_client(place) as client:
        for reply in error_texts(client, headers, every=every):
            if reply.status_code >= 400 or "event: error" in reply.text:
                replies.append(reply)
            for path in (str(place.path), tempfile.gettempdir() + "/", "site-packages", "/src/"):
                assert path not in reply.text, (reply.request.url, reply.text)
    assert len(replies) > 100
    codes = {reply.json()["error"]["code"] for reply in replies if reply.text[0] == "{"}
    assert codes >= expected


def test_jobs_name_files_by_their_uris_only(place):
    with open_client(place) as client:
        job = upload(client, "open", {"a/torn.pdf": b"%PDF-1.7\nnothing", "b.md": b"# B"}).json()
        done = await_job(client, "open", job["data"]["job"])
        events = client.get(f"{OPEN}/jobs/{done['id']}/events").text
        texts = json.dumps([done, client.get(f"{OPEN}/documents").json()]) + events
    assert "uploads/a/torn.pdf" in texts
    assert str(place.path) not in texts


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Cannot open `/tmp/my files/open.knot`: no.", "Cannot open `open.knot`: no."),
        ("[Errno 13] Permission denied: '/etc/x/y'", "[Errno 13] Permission denied: 'y'"),
        (f"It is in {HOME}/indexes/a.knot.", "It is in a.knot."),
        ("file:///tmp/a/b.knot is open", "b.knot is open"),
        (r"C:\Users\ann\a.knot is open", "a.knot is open"),
        ("Unknown path `/api/v1/x`. See /api/v1/openapi.json", None),
        ("Use /mcp/WORKSPACE, or GET …/jobs", None),
        ("uploads/tmp/a.md, etc/home and https://example.org/tmp/x", None),
    ],
)
def test_only_paths_of_this_machine_are_hidden(text, shown):
    assert hide_paths(text) == (text if shown is None else shown)
    assert hide_paths_within({"a": [text, 1, None]}) == {"a": [hide_paths(text), 1, None]}
