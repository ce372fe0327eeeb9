"""`knotwork serve` as a process: upload, jobs, questions, streams, keys, bound filters."""

import json
import os
import shutil
import signal
import subprocess
import sys

import httpx2
import pytest
from tests.lives.door import command_line, golden

pytestmark = pytest.mark.slow

QUESTION = "Who approves trips abroad?"
API = "/api/v1/workspaces"
SERVED = {
    "KNOTWORK_EMBEDDING_MODEL": "hashing:64",
    "KNOTWORK_SERVICE_REQUESTS_PER_MINUTE": "0",
    "KNOTWORK_INDEX_WORKERS": "1",
}


@pytest.fixture(scope="session")
def serve():
    """Start servers of a folder of indexes as Ctrl-C will stop them; return their addresses."""
    started = []

    def start(folder):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("KNOTWORK_")}
        process = subprocess.Popen(
            [sys.executable, "-m", "knotwork", "serve", str(folder), "--port", "0", "--json"],
            env=environment | SERVED, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        started.append(process)
        return json.loads(process.stdout.readline())["address"]

    yield start
    for process in started:
        process.send_signal(signal.SIGINT)
    for process in started:
        assert process.wait(60) in {0, 130}
        process.stdout.close()


def fill(index, folder):
    for path in index.parent.iterdir():
        shutil.copy(path, folder / path.name)
    return folder


@pytest.fixture(scope="session")
def client(index, serve, tmp_path_factory):
    """A client of a server without keys, with the workspace `papers`."""
    address = serve(fill(index, tmp_path_factory.mktemp("served")))
    with httpx2.Client(base_url=address, timeout=60) as opened:
        yield opened


@pytest.fixture(scope="session")
def keyed(index, serve, tmp_path_factory):
    """A client of a server with keys, and the headers of a reader, a writer, and a bound key."""
    folder = fill(index, tmp_path_factory.mktemp("keyed"))
    keys = {}
    for name, options in {
        "reader": ("--role", "read", "-w", "papers"),
        "writer": ("--role", "write", "-w", "other"),
        "admin": ("--role", "admin"),
        "bound": ("--where", "language = zh"),
    }.items():
        made = command_line("keys", "add", name, "--place", folder, *options, "--json").json
        keys[name] = {"Authorization": f"Bearer {made['key']}"}
    with httpx2.Client(base_url=serve(folder), timeout=60) as opened:
        yield opened, keys


def data(response, status=200):
    assert response.status_code == status, response.text
    return response.json()["data"]


def events(response):
    """Return name and object of the events of a stream."""
    found, name = [], "message"
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            found.append((name, json.loads(line.removeprefix("data: "))))
    return found


def test_an_upload_is_indexed_by_a_job_asked_and_deleted(client):
    data(client.post(API, json={"name": "fresh"}), 201)
    files = [
        ("files", ("notes/ship.md", b"# Ship\n\nThe ferry Halcyon sails at noon.\n")),
        ("files", ("船.txt", "渡轮太平号由王建国驾驶。\n".encode())),
        ("files", ("bad.pdf", b"%PDF-1.4 nothing")),
    ]
    job = data(client.post(f"{API}/fresh/documents", files=files), 202)["job"]
    with client.stream("GET", f"{API}/fresh/jobs/{job['id']}/events") as stream:
        told = events(stream)
    assert told[-1][0] == "end"
    assert "failure" in [name for name, _ in told]
    done = data(client.get(f"{API}/fresh/jobs/{job['id']}"))
    assert done["state"] == "finished"
    listed = data(client.get(f"{API}/fresh/documents"))
    golden("http-documents", listed, shape=True)
    asked = data(client.post(f"{API}/fresh/ask", json={"question": "When does the ferry sail?"}))
    assert "noon" in asked["answer"]
    asked = data(client.post(f"{API}/fresh/ask", json={"question": "谁驾驶太平号？"}))
    assert "王建国" in asked["answer"]
    assert client.delete(f"{API}/fresh").status_code < 300
    assert client.get(f"{API}/fresh").status_code == 404


def test_an_answer_and_a_search_have_the_keys_of_the_command_line(client, cli):
    answered = data(client.post(f"{API}/papers/ask", json={"question": QUESTION}))
    golden("http-ask", answered)
    printed = cli("ask", QUESTION, "--json").json
    assert answered["answer"] == printed["answer"]
    assert answered["citations"] == printed["citations"]
    found = data(client.post(f"{API}/papers/search", json={"question": QUESTION, "k": 2}))
    golden("http-search", found)


def test_an_answer_streams_sources_before_its_text(client):
    body = {"question": QUESTION}
    with client.stream("POST", f"{API}/papers/ask/stream", json=body) as stream:
        told = events(stream)
    names = [name for name, _ in told]
    assert names.index("sources") < names.index("text")
    assert names[-1] == "done"
    whole = data(client.post(f"{API}/papers/ask", json=body))
    assert told[-1][1]["answer"] == whole["answer"]


@pytest.mark.parametrize(
    ("name", "method", "path", "body"),
    [
        ("workspace", "GET", "", None),
        ("fields", "GET", "/fields", None),
        ("explore", "POST", "/explore", {"names": ["Oriane Keld"], "depth": 1}),
        ("paths", "POST", "/paths", {"names": ["Petra Oyelund", "Tarnby"]}),
        ("cypher", "POST", "/cypher", {"statement": "MATCH (d:Document) RETURN count(d) AS n"}),
        ("communities", "GET", "/communities", None),
        ("names", "GET", "/names", None),
        ("graph", "GET", "/graph", None),
        ("usage", "GET", "/usage", None),
    ],
)
def test_a_route_gives_an_object_of_its_shape(client, name, method, path, body):
    found = data(client.request(method, f"{API}/papers{path}", json=body))
    golden(f"http-{name}", found, shape=True)


def test_a_conversation_remembers_and_an_agent_reports_its_steps(client):
    chat = f"{API}/papers/chat"
    told = data(client.post(chat, json={"message": "Remember that Ann Lee lives in Oslo."}))
    assert told["told"]["learned"][0]["object"] == "Oslo"
    reply = data(client.post(chat, json={"message": "Where does Ann Lee live?"}))
    assert "[M1]" in reply["answer"]["answer"]
    assert len(data(client.get(f"{API}/papers/memory"))["facts"]) == 1
    client.delete(f"{API}/papers/memory")
    assert data(client.get(f"{API}/papers/memory"))["facts"] == []
    body = {"question": "Where was Oriane Keld born?", "steps": 2}
    with client.stream("POST", f"{API}/papers/agent", json=body) as stream:
        told = events(stream)
    assert [name for name, _ in told][-1] == "done"
    assert "step" in [name for name, _ in told]


def test_mistakes_have_a_code_a_message_and_a_fix(client):
    told = []
    for path, body in [
        ("/papers/search", {"question": QUESTION, "retriever": "bm26"}),
        ("/nothing/ask", {"question": QUESTION}),
        ("/papers/cypher", {"statement": "CREATE (n)"}),
        ("/papers/ask", {}),
    ]:
        response = client.post(f"{API}{path}", json=body)
        told.append({"status": response.status_code, **response.json()["error"]})
    golden("http-errors", told)


def test_programs_for_openai_get_answers_with_sources(client):
    body = {"model": "papers", "messages": [{"role": "user", "content": QUESTION}]}
    message = client.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]
    assert "Travel Office" in message["content"]
    assert message["annotations"][0]["url_citation"]["title"]
    models = client.get("/v1/models").json()["data"]
    assert "papers" in [model["id"] for model in models]
    vectors = client.post("/v1/embeddings", json={"model": "papers", "input": ["salt"]}).json()
    assert len(vectors["data"][0]["embedding"]) == 64


def test_the_routes_are_those_that_programs_know(client):
    described = client.get("/api/v1/openapi.json").json()
    golden("http-routes", {path: sorted(ways) for path, ways in described["paths"].items()})
    assert client.get("/health/live").status_code == 200
    assert client.get("/health/ready").status_code == 200
    assert "knotwork" in client.get("/metrics").text


def test_a_key_opens_its_workspaces_and_roles_and_nothing_else(keyed):
    client, keys = keyed
    assert client.get(API).status_code == 401
    ask = f"{API}/papers/ask"
    assert client.post(ask, json={"question": QUESTION}).status_code == 401
    assert data(client.post(ask, json={"question": QUESTION}, headers=keys["reader"]))["answered"]
    assert client.post(ask, json={"question": QUESTION}, headers=keys["writer"]).status_code == 404
    files = [("files", ("a.txt", b"New."))]
    refused = client.post(f"{API}/papers/documents", files=files, headers=keys["reader"])
    assert refused.status_code == 403
    assert client.post(API, json={"name": "new"}, headers=keys["reader"]).status_code == 404
    assert client.post(API, json={"name": "new"}, headers=keys["admin"]).status_code == 201


def test_a_key_with_a_filter_sees_only_its_documents(keyed):
    client, keys = keyed
    bound = keys["bound"]
    answer = data(client.post(f"{API}/papers/ask", json={"question": QUESTION}, headers=bound))
    assert "Travel Office" not in json.dumps(answer)
    answer = data(
        client.post(f"{API}/papers/ask", json={"question": "海外出差由谁审批？"}, headers=bound)
    )
    assert "办事处主任" in answer["answer"]
    listed = data(client.get(f"{API}/papers/documents", headers=bound))
    assert len(listed["documents"]) == 7
    statement = {"statement": "MATCH (d:Document) RETURN count(d) AS n"}
    rows = data(client.post(f"{API}/papers/cypher", json=statement, headers=bound))["rows"]
    assert rows == [[7]]
    assert "Tarnby" not in client.get(f"{API}/papers/graph", headers=bound).text
    files = [("files", ("a.txt", b"New."))]
    refused = client.post(f"{API}/papers/documents", files=files, headers=bound)
    assert refused.status_code == 403
