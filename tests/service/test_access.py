"""Who may do what: keys, roles, workspaces, and whoever comes without a key."""

from __future__ import annotations

import json
import stat
from dataclasses import replace

import pytest
from tests.service.serving import (
    API,
    LOCAL,
    QUESTION,
    add_key,
    make_settings,
    open_client,
)

from knotwork._extensions.server.keys import KeyFile, KeyRole
from knotwork._extensions.server.limits import RateLimiter
from knotwork._extensions.server.server import ServerConfig
from knotwork.errors import ConfigError, TooManyRequests, UnknownName

pytestmark = pytest.mark.slow


SECRET = "hidden"
"""The workspace that the key of the tests must not reach."""

BODIES = {
    "create_workspace": {"name": SECRET},
    "delete_documents": {"documents": ["uploads/a.md"]},
    "reindex_documents": {"documents": []},
    "search_passages": {"question": QUESTION},
    "ask_question": {"question": QUESTION},
    "stream_answer": {"question": QUESTION},
    "ask_agent": {"question": QUESTION},
    "chat": {"message": QUESTION},
    "stream_chat": {"message": QUESTION},
    "add_facts": {"statement": "Ann Lee lives in Oslo."},
    "explore_graph": {"names": ["Oriane Keld"]},
    "find_paths": {"names": ["Oriane Keld", "Bram Ostrand"]},
    "run_statement": {"statement": "MATCH (n) RETURN n LIMIT 1"},
    "create_response": {"model": SECRET, "input": QUESTION},
    "complete_chat": {"model": SECRET, "messages": [{"role": "user", "content": QUESTION}]},
    "embed_texts": {"model": SECRET, "input": "x"},
}
FILES = {
    "upload_documents": ("files", ("a.md", b"# A")),
    "import_graph": ("files", ("a.tsv", b"a\tknows\tb")),
    "start_evaluation": ("questions", ("q.jsonl", b'{"question": "Who?", "answers": ["x"]}')),
}
PARAMETERS = {"workspace": SECRET, "model": f"{SECRET}:bm25"}
WITHOUT_WORKSPACE = {"list_workspaces", "list_retrievers", "list_models", "tell_alive"} | {
    "tell_ready",
    "tell_metrics",
}
"""Routes that belong to no workspace; their replies must not reveal one either."""


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


@pytest.fixture
def keyed(place):
    return place, add_key(place, "mine", "admin", "open")


def send(client, method, path, operation, headers, *, workspace=SECRET):
    values = {**PARAMETERS, "workspace": workspace}
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "path":
            name = parameter["name"]
            path = path.replace(f"{{{name}}}", values.get(name, "0123456789abcdef"))
    options = {"params": {"name": "Keld"}, "headers": headers}
    if operation["operationId"] in FILES:
        options["files"] = [FILES[operation["operationId"]]]
    elif "requestBody" in operation:
        options["json"] = BODIES.get(operation["operationId"], {})
    return client.request(method, path, **options)


def test_a_key_of_one_workspace_reaches_nothing_of_another_on_any_route(keyed):
    place, headers = keyed
    before = (place.path / f"{SECRET}.knot").read_bytes()
    tried = set()
    with open_client(place) as client:
        document = client.get(f"{API}/openapi.json", headers=headers).json()
        for method, path, operation in operations(document):
            name = operation["operationId"]
            response = send(client, method, path, operation, headers)
            tried.add(name)
            if name in WITHOUT_WORKSPACE:
                assert response.status_code in (200, 403), (name, response.text)
                assert SECRET not in response.text, name
                continue
            assert response.status_code == 404, (name, response.status_code, response.text)
            told = response.json()["error"]["message"]
            ghost = send(client, method, path.replace("{model}", "ghost"), operation, headers)
            assert told.split("`")[0] == ghost.json()["error"]["message"].split("`")[0]
    assert len(tried) > 25
    assert tried >= BODIES.keys() | FILES.keys()
    assert (place.path / f"{SECRET}.knot").read_bytes() == before
    assert not (place.path / f"{SECRET}.files").exists()


def test_a_workspace_that_is_hidden_looks_like_one_that_is_not_there(keyed):
    place, headers = keyed
    with open_client(place) as client:
        hidden = client.get(f"{API}/workspaces/{SECRET}", headers=headers)
        absent = client.get(f"{API}/workspaces/absent", headers=headers)
        assert hidden.status_code == absent.status_code == 404
        texts = [json.dumps(r.json()["error"]) for r in (hidden, absent)]
        assert texts[0].replace(SECRET, "absent") == texts[1]


def test_a_job_of_another_workspace_is_not_found_under_ones_own(keyed):
    place, headers = keyed
    other = add_key(place, "theirs", "write", SECRET)
    with open_client(place) as client:
        job = client.post(f"{API}/workspaces/{SECRET}/index", json={}, headers=other).json()
        identifier = job["data"]["id"]
        mine = f"{API}/workspaces/open/jobs/{identifier}"
        assert client.get(mine, headers=headers).status_code == 404
        assert client.get(f"{mine}/events", headers=headers).status_code == 404
        assert client.post(f"{mine}/cancel", headers=headers).status_code == 404


def test_every_route_but_health_needs_a_key_once_there_is_one(keyed):
    place, mine = keyed
    with open_client(place) as client:
        assert client.get(f"{API}/openapi.json").status_code == 401
        assert client.get("/unknown").status_code == 401
        document = client.get(f"{API}/openapi.json", headers=mine).json()
        for method, path, operation in operations(document):
            for headers in ({}, {"Authorization": "Bearer kw_000000000000_" + "A" * 43}):
                response = send(client, method, path, operation, headers, workspace="open")
                if path.startswith("/health"):
                    assert response.status_code == 200
                    continue
                if response.status_code == 429:
                    continue  # so many wrong keys are slowed down
                assert response.status_code == 401, (path, response.text)
                assert response.headers["www-authenticate"] == "Bearer"


def test_a_role_may_do_no_more_than_it_says(place):
    read, write, admin = (add_key(place, role, role, "open") for role in KeyRole)
    open_ = f"{API}/workspaces/open"
    with open_client(place) as client:
        for headers in (read, write, admin):
            asked = client.post(f"{open_}/search", json={"question": "x"}, headers=headers)
            assert asked.status_code == 200
        assert client.post(f"{open_}/index", json={}, headers=read).status_code == 403
        sent = client.post(f"{open_}/documents", files=[("files", ("a.md", b"# A"))], headers=read)
        assert sent.status_code == 403
        assert client.delete(open_, headers=write).status_code == 403
        assert client.get("/metrics", headers=admin).status_code == 403
        everything = add_key(place, "all", "admin", "*")
        assert client.get("/metrics", headers=everything).status_code == 200
    assert not (place.path / "open.files").exists()


def test_a_key_that_is_removed_does_no_more_at_once(keyed):
    place, headers = keyed
    with open_client(place) as client:
        assert client.get(f"{API}/workspaces", headers=headers).status_code == 200
        add_key(place, "other", "read", "*")
        KeyFile(place.keys_path).remove("mine")
        assert client.get(f"{API}/workspaces", headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("client", "base_url", "headers"),
    [
        ("192.0.2.7", LOCAL, {}),
        ("127.0.0.1", "http://rebound.example:8321", {}),
        ("127.0.0.1", LOCAL, {"Origin": "https://evil.example"}),
        ("127.0.0.1", LOCAL, {"Origin": "null"}),
        ("127.0.0.1", LOCAL, {"Sec-Fetch-Site": "cross-site"}),
        ("192.0.2.7", LOCAL, {"Authorization": "Bearer anything"}),
    ],
)
def test_without_keys_only_this_machine_is_served_and_no_page_of_another_site(
    place, client, base_url, headers
):
    with open_client(place, client=client, base_url=base_url) as opened:
        response = opened.get(f"{API}/workspaces", headers=headers)
    assert (response.status_code, response.json()["error"]["code"]) == (401, "not_authenticated")


def test_without_keys_this_machine_is_served_whatever_key_it_sends(place):
    with open_client(place) as client:
        for headers in ({}, {"Authorization": "Bearer unused"}, {"Origin": LOCAL}):
            assert client.get(f"{API}/workspaces", headers=headers).status_code == 200


def test_pages_of_other_origins_may_ask_only_where_they_are_named(place):
    origin = "https://app.example"
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    with open_client(place) as client:
        refused = client.options(f"{API}/workspaces", headers=asked)
        assert "access-control-allow-origin" not in refused.headers
    allowing = replace(place, settings=make_settings(cors_origins=(origin,)))
    with open_client(allowing) as client:
        allowed = client.options(f"{API}/workspaces", headers=asked)
        assert allowed.headers["access-control-allow-origin"] == origin
        others = client.options(f"{API}/workspaces", headers={**asked, "Origin": "https://x.y"})
        assert "access-control-allow-origin" not in others.headers


def test_listening_on_other_addresses_needs_a_key(place):
    open_place = ServerConfig(place.path, make_settings(host="0.0.0.0"))
    with pytest.raises(ConfigError, match="requires a key"):
        open_place.check()
    add_key(open_place, "one", "read", "*")
    open_place.check()


def test_keys_are_kept_as_hashes_in_a_file_of_their_owner(tmp_path):
    path = tmp_path / "keys.json"
    keys = KeyFile(path)
    made = [keys.add(name, role=KeyRole.READ, workspaces=["a"]) for name in ("one", "two")]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text(encoding="utf-8")
    for key, token in made:
        assert token.split("_", 2)[2] not in text
        assert KeyFile(path).find(token) == key
        assert keys.find(token[:-1] + ("A" if token[-1] != "A" else "B")) is None
    assert made[0][0].hash != made[1][0].hash
    for wrong in ("", "kw_", "kw_x_y", made[0][1].upper(), made[0][1] + "\n"):
        assert keys.find(wrong) is None
    with pytest.raises(UnknownName):
        keys.remove("three")
    assert keys.remove("one") == made[0][0]
    assert keys.find(made[0][1]) is None


def test_a_damaged_file_of_keys_lets_nobody_in(place):
    headers = add_key(place, "mine", "admin", "*")
    place.keys_path.write_text("{", encoding="utf-8")
    with open_client(place) as client:
        for sent in ({}, headers):
            response = client.get(f"{API}/workspaces", headers=sent)
            assert response.status_code == 503
            assert str(place.path) not in response.text


def test_only_requests_of_the_busy_key_are_slowed_down(place):
    slow = ServerConfig(place.path, make_settings(requests_per_minute=12))
    one, two = add_key(place, "one", "read", "*"), add_key(place, "two", "read", "*")
    with open_client(slow) as client:
        told = [client.get(f"{API}/retrievers", headers=one) for _ in range(4)]
        assert [response.status_code for response in told] == [200, 200, 429, 429]
        assert 1 <= int(told[-1].headers["retry-after"]) <= 6
        assert client.get(f"{API}/retrievers", headers=two).status_code == 200


def test_a_bucket_fills_with_time():
    now = 0.0
    limiter = RateLimiter(60, clock=lambda: now)
    for _ in range(10):
        limiter.take("a")
    with pytest.raises(TooManyRequests) as refused:
        limiter.take("a")
    assert refused.value.retry_after_s == pytest.approx(1.0)
    limiter.take("b")
    now = 1.0
    limiter.take("a")
    with pytest.raises(TooManyRequests):
        limiter.take("a")


def test_no_key_is_in_a_log_or_an_error(keyed, caplog):
    place, headers = keyed
    secret = headers["Authorization"].split("_", 2)[2]
    caplog.set_level("DEBUG", logger="knotwork")
    with open_client(place) as client:
        texts = [
            client.get(f"{API}/workspaces/{SECRET}", headers=headers).text,
            client.post(f"{API}/workspaces/open/ask", json={"x": secret}, headers=headers).text,
            client.get(f"{API}/workspaces?key={secret}").text,
        ]
    # The client of the test logs what it sends; the server must not.
    logged = [r.getMessage() for r in caplog.records if r.name.startswith(("knotwork", "uvicorn"))]
    assert logged
    assert not [text for text in (*texts, *logged) if secret in text]
