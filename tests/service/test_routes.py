"""Replies of the routes, on an index of the sample."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.service.serving import (
    API,
    QUESTION,
    add_key,
    await_job,
    make_settings,
    open_client,
    read_events,
)

import knotwork
from knotwork._extensions.server.server import ServerConfig
from knotwork.records import content_id

pytestmark = pytest.mark.slow


OPEN = f"{API}/workspaces/open"


def test_the_workspaces_of_a_folder_are_listed_and_described(client):
    listed = client.get(f"{API}/workspaces").json()["data"]
    assert [item["name"] for item in listed] == ["hidden", "open"]
    told = client.get(OPEN).json()["data"]
    assert told["documents"] == 22
    assert told["labels"]["Entity"] == told["entities"] > 50


def test_one_index_is_the_workspace_default(sample_index, tmp_path):
    path = tmp_path / "one.knot"
    path.write_bytes(sample_index.read_bytes())
    with open_client(ServerConfig(path, make_settings())) as client:
        assert [w["name"] for w in client.get(f"{API}/workspaces").json()["data"]] == ["default"]
        answer = client.post(f"{API}/workspaces/default/ask", json={"question": QUESTION})
        assert answer.json()["data"]["answered"]
        refused = client.post(f"{API}/workspaces", json={"name": "more"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
    assert {file.name for file in tmp_path.iterdir()} >= {"one.knot", ".one.knotwork-service.db"}


def test_every_citation_of_an_answer_is_in_its_document(client):
    answer = client.post(f"{OPEN}/ask", json={"question": QUESTION}).json()["data"]
    assert answer["answered"]
    assert answer["citations"]
    for citation in answer["citations"]:
        assert f"[{citation['number']}]" in answer["answer"]
        document = client.get(f"{OPEN}/documents/{citation['document_id']}").json()["data"]
        start, end = citation["span"]
        assert document["uri"] == citation["document"]
        assert document["text"][start:end] == citation["quote"]


def test_a_stream_reports_stages_then_sources_and_ends_with_the_answer_of_the_plain_route(client):
    plain = client.post(f"{OPEN}/ask", json={"question": QUESTION}).json()["data"]
    with client.stream("POST", f"{OPEN}/ask/stream", json={"question": QUESTION}) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        events = read_events(response)
    names = [name for name, _ in events if name != "text"]
    assert names == ["stage", "sources", "done"]
    texts = [json.loads(data)["text"] for name, data in events if name == "text"]
    assert "".join(texts) == plain["answer"]
    assert [text.strip() for text in texts] == [piece["markdown"] for piece in plain["pieces"]]
    found = json.loads(events[1][1])
    assert {hit["chunk_id"] for hit in found["hits"]} >= {
        citation["chunk_id"] for citation in plain["citations"]
    }
    done = json.loads(events[-1][1])
    assert {**done, "usage": None} == {**plain, "usage": None}


def test_a_question_may_lean_on_turns_before_it(client):
    turns = [{"question": "Who is Oriane Keld?", "answer": "An instrument maker."}]
    asked = {"question": "Where was she born?", "turns": turns}
    told = client.post(f"{OPEN}/ask", json=asked).json()["data"]
    assert told["question"] == "Where was she born?"
    assert "Understood as: Where was Oriane Keld born?" in told["notes"]
    with client.stream("POST", f"{OPEN}/ask/stream", json=asked) as response:
        assert json.loads(read_events(response)[-1][1])["answer"] == told["answer"]


def test_errors_before_a_stream_begins_are_reported_as_errors(client):
    asked = {"question": QUESTION, "retriever": "no-such"}
    response = client.post(f"{OPEN}/ask/stream", json=asked)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "unknown_name"


def test_search_returns_k_passages_with_their_reasons(client):
    asked = {"question": QUESTION, "k": 3, "retriever": "bm25"}
    found = client.post(f"{OPEN}/search", json=asked).json()["data"]
    assert (found["retriever"], len(found["hits"])) == ("bm25", 3)
    scores = [hit["score"] for hit in found["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert found["hits"][0]["document"]


def test_a_document_is_shown_with_the_boundaries_of_its_chunks(client):
    page = client.get(f"{OPEN}/documents", params={"limit": 5}).json()["data"]
    assert (page["total"], page["next"], len(page["documents"])) == (22, 5, 5)
    shown = client.get(f"{OPEN}/documents/{page['documents'][0]['id']}").json()["data"]
    leaves = [chunk for chunk in shown["chunks"] if not chunk["is_parent"]]
    assert [chunk["ordinal"] for chunk in leaves] == list(range(len(leaves)))
    for chunk in leaves:
        assert shown["text"][slice(*chunk["span"])].strip()
        assert all(chunk["span"][0] <= a < b <= chunk["span"][1] for a, b in chunk["sentences"])


def test_a_document_is_shown_with_the_documents_that_it_links_to_and_from(client):
    entries = client.get(f"{OPEN}/documents").json()["data"]["documents"]
    known = {entry["id"] for entry in entries}
    shown = [client.get(f"{OPEN}/documents/{i}").json()["data"] for i in sorted(known)]
    links = [(page, link) for page in shown for link in page["links"]]
    assert links
    for page, link in links:
        assert page["text"][slice(*link["span"])].strip()
        assert link["document"] in known
        linked = client.get(f"{OPEN}/documents/{link['document']}/contents").json()["data"]
        back = {one["id"]: one for one in linked["linked_from"]}
        assert back.keys() <= known - {link["document"]}
        if page["id"] != link["document"]:
            one = back[page["id"]]
            assert one["title"] == page["title"]
            assert page["text"][slice(*one["span"])] == one["words"]


def test_a_document_is_shown_with_the_tree_of_its_blocks(client):
    listed = client.get(f"{OPEN}/documents", params={"name": ".md"}).json()["data"]["documents"]
    kinds = set()
    for entry in listed:
        shown = client.get(f"{OPEN}/documents/{entry['id']}").json()["data"]
        waiting = [(block, [0, len(shown["text"])]) for block in shown["blocks"]]
        while waiting:
            block, (start, end) = waiting.pop()
            assert list(block) == ["kind", "span", "label", "lead", "level", "children"]
            first, last = block["span"]
            assert start <= first < last <= end
            kinds.add(block["kind"])
            if block["kind"] == "section":
                assert shown["text"].startswith(f"{'#' * block['level']} {block['label']}", first)
            waiting += [(child, block["span"]) for child in block["children"]]
    assert {"section", "paragraph"} <= kinds


def test_documents_are_found_by_a_part_of_their_name_in_any_case(client):
    found = client.get(f"{OPEN}/documents", params={"name": "STORM-on"}).json()["data"]
    assert [item["uri"].rpartition("/")[2] for item in found["documents"]] == [
        "storm-ondine-report.md"
    ]
    assert found["total"] == 1


def test_contributions_lie_in_the_text_of_their_document(client):
    listed = client.get(f"{OPEN}/documents").json()["data"]["documents"]
    identifier = next(item["id"] for item in listed if "kestrel-probe" in item["uri"])
    text = client.get(f"{OPEN}/documents/{identifier}").json()["data"]["text"]
    told = client.get(f"{OPEN}/documents/{identifier}/contents").json()["data"]
    by_name = {thing["name"]: thing for thing in told["things"]}
    keld = by_name["Oriane Keld"]
    assert {text[slice(*span)] for span in keld["spans"]} == {"Oriane Keld"}
    # She has a document of her own; the depth of the probe is stated only here.
    assert not keld["only_here"]
    assert any(thing["only_here"] for thing in told["things"])
    ends = {name for r in told["relations"] for name in (r["source_name"], r["target_name"])}
    assert "Oriane Keld" in ends
    assert all(relation["chunks"] for relation in told["relations"])
    missing = client.get(f"{OPEN}/documents/0000/contents")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")


def test_pages_of_documents_join_to_the_whole_list(client):
    start, uris = 0, []
    while start is not None:
        params = {"start": start, "limit": 7}
        page = client.get(f"{OPEN}/documents", params=params).json()["data"]
        uris += [item["uri"] for item in page["documents"]]
        start = page["next"]
    assert uris == sorted(uris)
    assert len(uris) == 22


def test_the_graph_is_walked_from_names_and_unknown_ones_bring_the_nearest(client):
    walked = client.post(f"{OPEN}/explore", json={"names": ["Oriane Keld"], "limit": 5}).json()
    nodes = {node["id"] for node in walked["data"]["nodes"]}
    assert len(walked["data"]["edges"]) == 5
    assert walked["data"]["is_cut"]
    assert all({edge["source"], edge["target"]} <= nodes for edge in walked["data"]["edges"])
    failed = client.post(f"{OPEN}/explore", json={"names": ["Oriane Keldd"]})
    assert failed.status_code == 400
    assert "Oriane Keld" in failed.json()["error"]["message"]


def test_entities_are_found_by_name(client):
    found = client.get(f"{OPEN}/entities", params={"name": "Keld"}).json()["data"]["entities"]
    assert "Oriane Keld" in [entity["name"] for entity in found]


@pytest.mark.parametrize(
    ("typed", "first"),
    [("kes", "Kestrel"), ("Kestrel probe", "The Kestrel probe"), ("eld", None), ("温青", "温青岚")],
)
def test_things_are_found_by_a_part_of_their_name(client, typed, first):
    asked = {"name": typed, "limit": 10}
    found = client.get(f"{OPEN}/entities", params=asked).json()["data"]["entities"]
    names = [thing["name"] for thing in found]
    assert len(set(names)) == len(names) <= 10
    assert all(any(word in name.lower() for word in typed.lower().split()) for name in names)
    assert names
    assert first is None or first in names[:2]


def test_names_that_mean_one_thing_are_listed(client):
    names = client.get(f"{OPEN}/names").json()["data"]
    assert names["compared"]
    assert all(len(thing["names"]) == len(thing["entity_ids"]) > 1 for thing in names["things"])


def test_communities_come_with_reports_that_lead_to_the_documents(client):
    told = client.get(f"{OPEN}/communities").json()["data"]
    assert told["is_current"]
    assert told["levels"][0] == 0
    first = told["communities"][0]
    shown = client.get(f"{OPEN}/communities/{first['id']}").json()["data"]
    assert shown["size"] >= len(shown["members"]) >= len(first["members"]) > 0
    support = shown["findings"][0]["supports"][0]
    document = client.get(f"{OPEN}/documents/{support['document_id']}").json()["data"]
    assert document["text"][slice(*support["span"])].strip()


def test_communities_report_what_lies_within_them_and_which_changed_since(place):
    with knotwork.open(place.path / "open.knot", settings=place.settings) as base:
        held = base.store.communities
        one, other, *_ = [topic.community for topic in base.communities.list()]
        own = next(i for i in one.entity_ids if i not in other.entity_ids)
        reports = held.reports([one.id, other.id])
        over = replace(one, id=content_id("over"), members=one.members + other.members)
        told = replace(reports[one.id], community_id=over.id, title="Both")
        with base.store.transaction():
            held.replace([over, *(replace(c, level=1, parent_id=over.id) for c in (one, other))])
            held.put_reports([told, *reports.values()])
            held.forget([], mentioned=[own], vanished=[])
    with open_client(place) as client:
        top = client.get(f"{OPEN}/communities").json()["data"]
        assert (top["total"], top["levels"]) == (1, [0, 1])
        first = top["communities"][0]
        assert (first["title"], first["children"], first["is_stale"]) == ("Both", 2, True)
        asked = {"parent": over.id, "limit": 1}
        cut = client.get(f"{OPEN}/communities", params=asked).json()["data"]
        assert (cut["total"], len(cut["communities"])) == (2, 1)
        within = client.get(f"{OPEN}/communities", params={"parent": over.id}).json()["data"]
        stale = {c["id"]: c["is_stale"] for c in within["communities"]}
        assert stale == {one.id: True, other.id: False}
        assert {c["children"] for c in within["communities"]} == {0}


def test_a_level_that_does_not_exist_is_refused(client):
    failed = client.get(f"{OPEN}/communities", params={"level": 99})
    assert (failed.status_code, failed.json()["error"]["code"]) == (400, "config_error")


def test_retrievers_and_usage_are_reported(client):
    listed = client.get(f"{API}/retrievers").json()["data"]
    assert {"bm25", "graph"} <= {item["name"] for item in listed["retrievers"]}
    assert "global" in listed["modes"]
    used = client.get(f"{OPEN}/usage").json()["data"]
    assert (used["total"]["calls"], used["by_stage"]) == (0, {})


@pytest.mark.parametrize(
    ("method", "path", "options", "status", "code"),
    [
        ("GET", f"{API}/nowhere", {}, 404, "not_found"),
        ("PUT", f"{API}/workspaces", {}, 405, "method_not_allowed"),
        ("GET", f"{API}/workspaces/none", {}, 404, "not_found"),
        ("GET", f"{API}/workspaces/..%2fopen", {}, 404, "not_found"),
        ("GET", f"{OPEN}/documents/0000", {}, 404, "not_found"),
        ("GET", f"{OPEN}/jobs/none", {}, 404, "not_found"),
        ("GET", f"{OPEN}/jobs/none/events", {}, 404, "not_found"),
        ("GET", f"{OPEN}/communities/none", {}, 404, "not_found"),
        ("POST", f"{OPEN}/ask", {"json": {}}, 422, "invalid_request"),
        ("POST", f"{OPEN}/ask", {"json": {"question": "x", "turns": [{}]}}, 422, "invalid_request"),
        ("POST", f"{OPEN}/ask", {"json": {"question": "  "}}, 422, "invalid_request"),
        ("POST", f"{OPEN}/ask", {"content": b"{"}, 422, "invalid_request"),
        ("POST", f"{OPEN}/ask", {"json": {"question": "x", "mode": "?"}}, 400, "unknown_name"),
        ("POST", f"{OPEN}/ask", {"json": {"question": "x" * 9_000}}, 413, "too_large"),
        ("POST", f"{OPEN}/ask", {"content": b"x" * 2_000_000}, 413, "too_large"),
        ("POST", f"{OPEN}/search", {"json": {"question": "x", "k": 0}}, 422, "invalid_request"),
        ("POST", f"{API}/workspaces", {"json": {"name": "../up"}}, 422, "invalid_request"),
        ("POST", f"{API}/workspaces", {"json": {"name": "open"}}, 409, "conflict"),
        ("POST", f"{API}/workspaces", {"json": {}}, 422, "invalid_request"),
        ("POST", f"{API}/workspaces", {"json": {"title": " \u200b "}}, 422, "invalid_request"),
        ("POST", f"{API}/workspaces", {"json": {"title": "x" * 201}}, 422, "invalid_request"),
        ("PATCH", OPEN, {"json": {"title": "\n"}}, 422, "invalid_request"),
        ("PATCH", f"{API}/workspaces/none", {"json": {"title": "x"}}, 404, "not_found"),
        ("POST", f"{API}/workspaces/none/sample", {}, 404, "not_found"),
    ],
)
def test_every_error_has_an_envelope(client, method, path, options, status, code):
    response = client.request(method, path, **options)
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) == {"error", "request_id"}
    assert set(body["error"]) == {"code", "message", "fix"}
    assert body["error"]["code"] == code
    assert body["request_id"] == response.headers["x-request-id"]


def test_a_workspace_is_made_and_removed_with_all_its_files(client):
    place = client.app.state.service.config
    made = client.post(f"{API}/workspaces", json={"name": "neu-北"})
    assert made.status_code == 201
    assert (place.path / "neu-北.knot").is_file()
    assert client.get(f"{API}/workspaces/neu-北").json()["data"]["documents"] == 0
    for companion in ("neu-北.knot.calls", "neu-北.knot.memory", "neu-北.knot-tables"):
        (place.path / companion).write_bytes(b"")
    assert client.delete(f"{API}/workspaces/neu-北").status_code == 200
    assert not list(place.path.glob("neu*"))
    assert client.get(f"{API}/workspaces/neu-北").status_code == 404


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Northern Basin 2024", "northern-basin-2024"),
        ("研究资料（二〇二四）", "研究资料-二〇二四"),
        ("../../etc/passwd", "etc-passwd"),
        ("CON: «Ärger»\n v1.2.", "con-ärger-v1.2"),
        ("🌊 !?", "workspace"),
        ("A" * 200, "a" * 48),
    ],
)
def test_a_title_may_be_any_text_and_gives_a_name(place, title, name):
    with open_client(place) as client:
        for expected in (name, f"{name}-2"):
            made = client.post(f"{API}/workspaces", json={"title": title}).json()["data"]
            assert (made["name"], made["title"]) == (expected, " ".join(title.split()))
        assert made in client.get(f"{API}/workspaces").json()["data"]
        address = f"{API}/workspaces/{name}"
        renamed = client.patch(address, json={"title": "二〇二五"}).json()["data"]
        assert (renamed["name"], renamed["title"]) == (name, "二〇二五")
        assert client.get(address).json()["data"]["title"] == "二〇二五"
    with open_client(place) as client:
        titles = {w["name"]: w["title"] for w in client.get(f"{API}/workspaces").json()["data"]}
    assert titles[name] == "二〇二五"
    assert titles["open"] == "open"


def test_titles_are_changed_by_keys_that_may_write_and_names_given_by_those_for_all(place):
    reader, writer = (add_key(place, role, role, "open") for role in ("read", "write"))
    bound, free = add_key(place, "bound", "admin", "mine"), add_key(place, "free", "admin", "*")
    with open_client(place) as client:
        new = {"title": "Mine"}
        assert client.patch(OPEN, json=new, headers=reader).status_code == 403
        assert client.patch(OPEN, json=new, headers=writer).status_code == 200
        assert client.post(f"{OPEN}/sample", headers=reader).status_code == 403
        assert client.post(f"{API}/workspaces", json=new, headers=writer).status_code == 403
        refused = client.post(f"{API}/workspaces", json=new, headers=bound)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_permitted")
        named = client.post(f"{API}/workspaces", json={"name": "mine", **new}, headers=bound)
        assert named.json()["data"]["title"] == "Mine"
        made = client.post(f"{API}/workspaces", json=new, headers=free).json()["data"]
        assert made["name"] == "mine-2"


def test_the_sample_is_indexed_in_a_workspace_without_a_model(place):
    with open_client(place) as client:
        client.post(f"{API}/workspaces", json={"name": "sample", "title": "样例"})
        for _ in range(2):
            job = client.post(f"{API}/workspaces/sample/sample")
            assert job.status_code == 202
            ended = await_job(client, "sample", job.json()["data"])
            assert (ended["state"], ended["arguments"]["tier"]) == ("finished", "none")
        told = client.get(f"{API}/workspaces/sample").json()["data"]
        assert (told["documents"], told["failed"]) == (22, 0)
        listed = client.get(f"{API}/workspaces/sample/documents", params={"name": "HERON BUOY"})
        found = {document["title"] for document in listed.json()["data"]["documents"]}
        assert found == {"The Heron buoy"}
        private = (place.path / "sample.files" / "uploads" / "en").stat().st_mode
    assert private & 0o077 == 0


def test_a_server_that_only_reads_changes_nothing(place):
    before = (place.path / "open.knot").read_bytes()
    with open_client(ServerConfig(place.path, place.settings, read_only=True)) as client:
        listed = client.get(f"{API}/workspaces").json()["data"]
        assert {workspace["role"] for workspace in listed} == {"read"}
        assert client.get(OPEN).json()["data"]["role"] == "read"
        assert client.post(f"{OPEN}/ask", json={"question": QUESTION}).status_code == 200
        for path, body in [
            (f"{OPEN}/index", {}),
            (f"{OPEN}/communities/refresh", {}),
            (f"{API}/workspaces", {"name": "new"}),
            (f"{OPEN}/sample", {}),
        ]:
            assert client.post(path, json=body).status_code == 409
        assert client.patch(OPEN, json={"title": "x"}).status_code == 409
        sent = client.post(f"{OPEN}/documents", files=[("files", ("a.md", b"# A"))])
        assert sent.status_code == 409
        assert client.delete(f"{API}/workspaces/hidden").status_code == 409
    assert (place.path / "open.knot").read_bytes() == before
    assert not (place.path / "open.files").exists()


def test_every_response_keeps_browsers_careful_and_is_not_kept(place):
    with open_client(place) as client:
        document = client.get(f"{API}/openapi.json").json()
        asked = [
            (method.upper(), path.replace("{workspace}", "open"))
            for path, methods in document["paths"].items()
            for method in methods
            if method != "delete"
        ]
        pages = [("GET", path) for path in ("/", "/ui", "/ui/assets/gone.js", "/docs")]
        others = [("GET", "/nowhere"), ("PUT", f"{API}/workspaces"), ("POST", "/mcp")]
        for method, path in [*pages, *others, *asked]:
            response = client.request(method, path, follow_redirects=False)
            headers = response.headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"
            assert headers["referrer-policy"] == "no-referrer"
            assert "camera=()" in headers["permissions-policy"]
            policy = headers["content-security-policy"]
            assert "frame-ancestors 'none'" in policy
            is_page = (method, path) in pages
            assert ("script-src 'self'" if is_page else "default-src 'none'") in policy
            assert "access-control-allow-origin" not in headers
            if response.status_code >= 400 or (method, path) in asked:
                assert headers["cache-control"] in {"no-store", "private, no-cache"}, path


def test_a_thing_that_is_called_just_so_is_found_first(client):
    for name in ("The Kestrel probe", "the kestrel probe ", "Kestrel", "海雾观测计划"):
        found = client.get(f"{OPEN}/entities", params={"name": name}).json()["data"]["entities"]
        assert found[0]["name"].lower() == name.strip().lower()
        assert len({thing["id"] for thing in found}) == len(found)


def test_a_thing_is_found_first_by_another_of_its_names(client):
    (thing,) = client.get(f"{OPEN}/names", params={"about": "苍鹭浮标"}).json()["data"]["things"]
    found = client.get(f"{OPEN}/entities", params={"name": "苍鹭浮标"}).json()["data"]["entities"]
    assert found[0]["name"] in thing["names"]
    assert "苍鹭浮标" in thing["names"]


def test_counts_are_by_route_and_name_no_workspace(place):
    with open_client(place) as client:
        client.post(f"{OPEN}/ask", json={"question": QUESTION})
        text = client.get("/metrics").text
    route = "/api/v1/workspaces/{workspace}/ask"
    assert f'knotwork_requests_total{{method="POST",route="{route}",status="200"}} 1.0' in text
    assert 'knotwork_questions_total{answered="true",mode="basic"} 1.0' in text
    assert "workspaces/open" not in text


def test_paths_between_two_things_are_found_with_their_passages(client):
    asked = {"names": ["Oriane Keld", "Bram Ostrand"], "limit": 3}
    paths = client.post(f"{OPEN}/paths", json=asked).json()["data"]["paths"]
    assert 1 <= len(paths) <= 3
    for path in paths:
        ends = path["hops"][0]["source_name"], path["hops"][-1]["target_name"]
        assert "Keld" in ends[0]
        assert "Ostrand" in ends[1]
        assert all(hop["chunk_id"] for hop in path["hops"])


def test_statements_only_read(client):
    def run(statement, **more):
        return client.post(f"{OPEN}/cypher", json={"statement": statement, **more})

    counted = run("MATCH (d:Document) RETURN count(d) AS n").json()["data"]
    assert (counted["columns"], counted["rows"]) == (["n"], [[22]])
    named = run("MATCH (e:Entity {name: $n}) RETURN e.name", parameters={"n": "Oriane Keld"})
    assert named.json()["data"]["rows"] == [["Oriane Keld"]]
    for statement in ("CREATE (n) RETURN n", "MATCH (n) DETACH DELETE n", "MATCH (", "CALL x()"):
        assert run(statement).status_code == 400, statement


@pytest.mark.parametrize(
    ("method", "path", "options", "status", "told"),
    [
        ("GET", f"{API}/nothing", {}, 404, f"`{API}/nothing`"),
        ("PATCH", f"{API}/workspaces", {}, 405, "Use GET"),
        ("POST", f"{API}/workspaces", {"content": b"x"}, 422, "application/json"),
        ("POST", f"{API}/workspaces", {"json": [1]}, 422, "`body`"),
        ("POST", f"{OPEN}/ask", {"json": {"q": "x"}}, 422, "`body.question`"),
    ],
)
def test_invalid_requests_are_explained_with_a_fix(client, method, path, options, status, told):
    response = client.request(method, path, **options)
    error = response.json()["error"]
    assert response.status_code == status
    assert told in f"{error['message']} {error['fix']}"
    assert error["fix"]


def test_a_search_and_an_answer_keep_to_a_filter(client):
    fields = {field["name"]: field for field in client.get(f"{OPEN}/fields").json()["data"]}
    assert fields["path"]["documents"] == 22
    assert "markdown" in fields["format"]["examples"]
    for filters in ("path = en and format = docx", {"path": "en", "format": {"in": ["docx"]}}):
        asked = {"question": QUESTION, "filters": filters, "k": 30}
        found = client.post(f"{OPEN}/search", json=asked).json()["data"]
        assert {hit["document"].rpartition("/")[2] for hit in found["hits"]} == {
            "travel-policy.docx"
        }
        assert found["filter"] == "path = 'en' and format = 'docx'"
        answer = client.post(f"{OPEN}/ask", json=asked).json()["data"]
        assert {c["document"].rpartition("/")[2] for c in answer["citations"]} == {
            "travel-policy.docx"
        }
    scored = client.post(f"{OPEN}/search", json={"question": QUESTION, "min_score": 1e9})
    assert scored.json()["data"]["hits"] == []


def test_a_wrong_filter_is_refused_with_what_is_right(client):
    for filters, code, told in (
        ("path =", "filter_error", "expected a value"),
        ({"path": {"like": "x"}}, "filter_error", "Unknown operator"),
        ("colour = red", "unknown_name", "`format`"),
    ):
        refused = client.post(f"{OPEN}/search", json={"question": QUESTION, "filters": filters})
        assert refused.status_code == 400
        error = refused.json()["error"]
        assert error["code"] == code
        assert told in error["message"] + error["fix"]
        streamed = client.post(
            f"{OPEN}/ask/stream", json={"question": QUESTION, "filters": filters}
        )
        assert (streamed.status_code, streamed.json()["error"]["code"]) == (400, code)


def test_a_statement_runs_over_what_a_search_finds(client):
    asked = {
        "question": QUESTION,
        "retrieval_query": "RETURN node.document AS document, score > $least AS kept",
        "query_params": {"least": -1},
        "k": 4,
    }
    found = client.post(f"{OPEN}/search", json=asked).json()["data"]
    rows = found["results"][-1]
    assert rows["source"] == "retrieval_query"
    assert rows["rows"] == [[hit["document_id"], True] for hit in found["hits"]]
    answer = client.post(f"{OPEN}/ask", json=asked).json()["data"]
    assert answer["results"][-1]["rows"] == rows["rows"]
    wrong = asked | {"retrieval_query": "MATCH (node) SET node.name = 1 RETURN node"}
    for route in ("search", "ask", "ask/stream"):
        refused = client.post(f"{OPEN}/{route}", json=wrong)
        assert refused.status_code == 400
        assert refused.json()["error"]["code"] == "query_refused"


def test_an_answer_says_how_sure_it_is_in_a_word(client):
    answer = client.post(f"{OPEN}/ask", json={"question": QUESTION}).json()["data"]
    assert answer["strength"] == ("strong" if answer["confidence"] >= 0.5 else "weak")
    nothing = {"question": QUESTION, "min_score": 1e9}
    assert client.post(f"{OPEN}/ask", json=nothing).json()["data"]["strength"] == "none"


def test_an_outline_has_no_confidence(client):
    asked = {"question": "Summarize the documents"}
    answer = client.post(f"{OPEN}/ask", json=asked).json()["data"]
    assert answer["answered"]
    assert (answer["confidence"], answer["strength"]) == (None, None)
