"""Requests that are no valid JSON, or no Unicode, are refused with a reason, never with 500."""

import pytest
from tests.service.serving import API, make_settings, open_client

import knotwork
from knotwork._extensions.server.server import ServerConfig


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    place = tmp_path_factory.mktemp("place")
    file = place.parent / "note.md"
    file.write_text("# Lock\n\nThe lock opens at six.\n", encoding="utf-8")
    with knotwork.open(place / "open.knot", settings=make_settings()) as kb:
        kb.index(file)
    with open_client(ServerConfig(place, make_settings())) as opened:
        yield opened


ASK = f"{API}/workspaces/open/ask"
DOORS = {
    "/v1/chat/completions": '{"model": "open", "messages": [{"role": "user", "content": %s}]}',
    "/v1/chat/completions#parts": '{"model": "open", "messages": [{"role": "user", "content": '
    '[{"type": "text", "text": %s}]}]}',
    "/v1/chat/completions#stream": '{"model": "open", "stream": true, "messages": '
    '[{"role": "user", "content": %s}]}',
    "/v1/embeddings": '{"model": "open", "input": %s}',
    "/v1/embeddings#list": '{"model": "open", "input": ["a", %s]}',
    ASK: '{"question": %s}',
    f"{ASK}/stream": '{"question": %s}',
    f"{API}/workspaces/open/search": '{"question": %s}',
    f"{API}/workspaces/open/documents/delete": '{"documents": [%s]}',
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("text", [r'"\ud83d"', r'"a\udc00b"', r'"\ud83d\ud83d"', r'"\ude00\ud83d"'])
def test_half_of_a_pair_is_refused(client, door, text):
    body = DOORS[door] % text
    path = door.partition("#")[0]
    response = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == 422, response.text
    assert "surrogate" in response.text


def test_whole_pairs_are_taken(client):
    body = DOORS["/v1/chat/completions"] % r'"\ud83d\ude00 When does the lock open?"'
    headers = {"Content-Type": "application/json"}
    response = client.post("/v1/chat/completions", content=body, headers=headers)
    assert response.status_code == 200
    assert "six" in response.json()["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[" * 100_000, b'{"a":' * 50_000, b"\xff\xfe", b'{"question": "\xff"}', b"null",
     b"[]", b"1", b"\x00", b'{"question": NaN}', b'{"question": "x", "k": NaN}',
     b'{"question": "x", "k": 1e999}', b'{"question": "x", "k": ' + b"9" * 5_000 + b"}"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["application/json", "text/plain", "multipart/form-data"])
def test_other_bodies_are_refused(client, body, kind):
    for path in (ASK, "/v1/chat/completions", "/v1/embeddings"):
        response = client.post(path, content=body, headers={"Content-Type": kind})
        assert 400 <= response.status_code < 500, (path, response.text)


@pytest.mark.parametrize("path", ["%00", "%ED%A0%BD", "%ff", "x" * 9_000])
def test_paths_that_are_no_text(client, path):
    assert client.get(f"{API}/workspaces/{path}").status_code in {404, 414, 422}
    assert client.get(f"{API}/workspaces/open/documents?q={path[:3]}").status_code < 500
