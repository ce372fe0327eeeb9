"""Graphs that others made come in over HTTP as they do from the command line, and go again."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from tests.service.serving import API, await_job, make_settings, open_client
from tests.stores.raw_files import opened

import knotwork
from knotwork._extensions.graphs.graph_import.graph_importer import describe_graph_import
from knotwork._extensions.server import job_runner as runner_module
from knotwork._extensions.server import job_runner as work_module
from knotwork._extensions.server.server import ServerConfig

pytestmark = pytest.mark.slow


FILMS = (
    "Kismet\tdirected_by\tWilliam Dieterle\n"
    "Kismet\tstarred_actors\tMarlene Dietrich\n"
    "Faust\tdirected_by\tWilliam Dieterle\n"
    "Angel\tstarred_actors\tMarlene Dietrich\n"
    "nothing here\n"
)
GRAPHS = f"{API}/workspaces/one/graphs"


@pytest.fixture
def served(tmp_path):
    with open_client(ServerConfig(tmp_path, make_settings())) as client:
        client.post(f"{API}/workspaces", json={"name": "one"})
        yield client


def send(client, files, **fields):
    parts = [("files", (name, content)) for name, content in files.items()]
    return client.post(GRAPHS, files=parts, data=fields)


def finish(client, response):
    assert response.status_code == 202, response.text
    job = response.json()["data"].get("job") or response.json()["data"]
    return await_job(client, "one", job)


def test_a_graph_is_imported_asked_and_deleted(served, tmp_path):
    done = finish(served, send(served, {"films.tsv": FILMS}))
    assert done["state"] == "finished", done
    (tmp_path / "films.tsv").write_text(FILMS, "utf-8")
    with knotwork.open(tmp_path / "other.knot", settings=make_settings()) as base:
        expected = describe_graph_import(base.graph.import_files(tmp_path / "films.tsv"))
    assert {**done["report"], "seconds": 0} == json.loads(json.dumps({**expected, "seconds": 0}))
    (graph,) = served.get(GRAPHS).json()["data"]
    assert (graph["name"], graph["uri"], graph["property_graph"]) == ("films", "graph:films", True)
    body = {"names": ["Faust", "Angel"]}
    paths = served.post(f"{API}/workspaces/one/paths", json=body).json()["data"]["paths"]
    assert "Marlene Dietrich" in paths[0]["text"]
    count = {"statement": "MATCH (n) RETURN count(n) AS n", "graph": "films"}
    rows = served.post(f"{API}/workspaces/one/cypher", json=count).json()["data"]["rows"]
    assert rows == [[5]]
    assert not any((tmp_path / "one.files" / "graphs").iterdir())
    assert finish(served, served.delete(f"{GRAPHS}/films"))["state"] == "finished"
    assert served.get(GRAPHS).json()["data"] == []
    assert served.post(f"{API}/workspaces/one/cypher", json=count).status_code == 400
    assert served.delete(f"{GRAPHS}/films").status_code == 404


def test_one_of_the_same_name_is_replaced_and_several_files_are_one(served):
    nodes = "id,name\n1,Ada Stone\n2,Bo Finch\n"
    edges = "source,target,relation\n1,2,knows\n"
    finish(served, send(served, {"a/nodes.csv": nodes, "a/edges.csv": edges}, name="my friends"))
    done = finish(served, send(served, {"more.tsv": FILMS}, name="my / friends"))
    assert done["report"]["name"] == "my friends"
    (graph,) = served.get(GRAPHS).json()["data"]
    assert graph["name"] == "my friends"
    found = served.get(f"{API}/workspaces/one/entities", params={"name": "Ada Stone"})
    assert found.json()["data"]["entities"] == []


@pytest.mark.parametrize(
    ("files", "fields", "told"),
    [
        ({"notes.docx": b"PK\x03\x04 torn"}, {}, "notes.docx"),
        ({"graph.bin": "a b c"}, {}, "cannot be detected"),
        ({"../films.tsv": FILMS}, {}, "not a valid file name"),
        ({"films.tsv": FILMS}, {"format": "no-such"}, "format"),
    ],
)
def test_an_invalid_graph_is_refused_before_it_is_stored(served, tmp_path, files, fields, told):
    refused = send(served, files, **fields)
    assert refused.status_code == 422
    assert told in refused.json()["error"]["message"]
    assert str(tmp_path) not in refused.text
    folder = tmp_path / "one.files" / "graphs"
    assert not folder.exists() or not any(folder.iterdir())


def test_a_graph_that_cannot_be_read_fails_its_job_without_telling_where_it_lies(served, tmp_path):
    done = finish(served, send(served, {"films.graphml": "<graphml><graph></graph></graphml>"}))
    assert (done["state"], done["error"]["code"]) == ("failed", "indexing_error")
    assert "films.graphml" in done["error"]["message"]
    assert str(tmp_path) not in str(done["error"])
    again = served.post(f"{API}/workspaces/one/jobs/{done['id']}/retry").json()["data"]
    assert await_job(served, "one", again)["error"]["code"] == "indexing_error"


def test_files_wait_for_their_job_over_a_break_and_no_longer(tmp_path, monkeypatch):
    place = ServerConfig(tmp_path, make_settings())
    folder = tmp_path / "one.files" / "graphs"

    def stop(*_):
        raise KeyError("as a kill")

    with open_client(place) as client:
        client.post(f"{API}/workspaces", json={"name": "one"})
        monkeypatch.setattr(runner_module, "WORK", {**work_module.WORK, "import_graph": stop})
        job = send(client, {"films.tsv": FILMS}).json()["data"]["job"]
        assert await_job(client, "one", job)["state"] == "failed"
        lost = send(client, {"films.tsv": FILMS}, name="lost").json()["data"]["job"]
        assert await_job(client, "one", lost)["state"] == "failed"
        assert len(list(folder.iterdir())) == 2
    with closing(opened(place.records_path)) as killed:
        killed.execute("UPDATE job SET state = 'running' WHERE id = ?", (job["id"],))
    monkeypatch.undo()
    with open_client(place) as client:
        assert await_job(client, "one", job)["state"] == "finished"
        assert not any(folder.iterdir())
        assert [graph["name"] for graph in client.get(GRAPHS).json()["data"]] == ["films"]
        again = client.post(f"{API}/workspaces/one/jobs/{lost['id']}/retry").json()["data"]
        failed = await_job(client, "one", again)
        assert (failed["error"]["code"], "again" in failed["error"]["fix"]) == (
            "invalid_request",
            True,
        )
