"""Folders that a server watches: their changes are jobs."""

import queue
from dataclasses import replace

import pytest
from tests.service.serving import API, await_job, make_settings, open_client, wait_until

from knotwork._extensions.server.server import ServerConfig
from knotwork._extensions.watching import watch as watching
from knotwork.errors import ConfigError

pytestmark = pytest.mark.slow


@pytest.fixture
def papers(tmp_path):
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "a.md").write_text("# Heron\n\nThe heron of Ann Lee eats fish.\n", encoding="utf-8")
    return papers


@pytest.fixture
def changed(monkeypatch):
    """Report that files changed."""
    changes = queue.Queue()

    def events(_files, **_options):
        while True:
            try:
                yield changes.get(timeout=0.02)
            except queue.Empty:
                yield set()

    monkeypatch.setattr(watching, "require_extra", lambda: None)
    monkeypatch.setattr(watching, "file_events", events)
    return lambda: changes.put({"/elsewhere"})


@pytest.fixture
def place(tmp_path, papers):
    served = tmp_path / "served"
    served.mkdir()
    return ServerConfig(served, make_settings(), watched={"notes": [str(papers)]})


def jobs_of(client, number):
    """Return the ended jobs, newest first, when there are so many."""

    def listed():
        return client.get(f"{API}/workspaces/notes/jobs").json()["data"]

    wait_until(lambda: len(listed()) >= number)
    return [await_job(client, "notes", job) for job in listed()]


def documents_of(client):
    found = client.get(f"{API}/workspaces/notes/documents").json()["data"]
    return sorted(item["uri"] for item in found["documents"])


def test_changes_are_jobs_and_problems_of_files_are_in_them(place, papers, changed):
    with open_client(place) as client:
        (first,) = jobs_of(client, 1)
        assert (first["kind"], first["state"]) == ("watch", "finished")
        assert first["report"]["added"] == 1
        assert first["arguments"]["path"] == "papers"
        (papers / "empty.txt").write_bytes(b"")
        (papers / "a.md").rename(papers / "b.md")
        changed()
        second = jobs_of(client, 2)[0]
        assert [item["uri"] for item in second["report"]["skipped"]] == ["papers/empty.txt"]
        assert second["report"]["removed"] == ["papers/a.md"]
        address = f"{API}/workspaces/notes/jobs/{second['id']}/events"
        with client.stream("GET", address) as events:
            assert any("empty.txt" in line for line in events.iter_lines())
        assert documents_of(client) == ["papers/b.md", "papers/empty.txt"]


def test_a_missing_folder_is_a_failed_job_and_keeps_its_documents(place, papers, changed, tmp_path):
    with open_client(place) as client:
        jobs_of(client, 1)
        papers.rename(tmp_path / "away")
        changed()
        failed = jobs_of(client, 2)[0]
        assert failed["state"] == "failed"
        assert "no longer exists" in failed["error"]["message"]
        assert str(tmp_path) not in str(failed)
        papers.mkdir()  # the empty place of a disk
        changed()
        assert "is empty" in jobs_of(client, 3)[0]["error"]["message"]
        assert documents_of(client) == ["papers/a.md"]
    with open_client(place) as client:
        assert "is empty" in jobs_of(client, 4)[0]["error"]["message"]
        assert documents_of(client) == ["papers/a.md"]


def test_changes_made_while_the_server_was_stopped_are_indexed_at_its_start(place, papers, changed):
    with open_client(place) as client:
        jobs_of(client, 1)
    (papers / "b.md").write_text("# Rook\n\nRooks nest in Lund.\n", encoding="utf-8")
    with open_client(place) as client:
        assert jobs_of(client, 2)[0]["report"]["added"] == 1


def test_a_read_only_server_watches_nothing(place):
    with pytest.raises(ConfigError, match="read-only"):
        replace(place, read_only=True).check()
