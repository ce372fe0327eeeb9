"""Folders of the server that people choose from those that its administrator allows."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.service.serving import (
    API,
    add_key,
    await_job,
    make_settings,
    open_client,
    upload,
    wait_until,
)

from knotwork._extensions.server.server import ServerConfig
from knotwork._extensions.watching import watch as watching
from knotwork.errors import ConfigError

pytestmark = pytest.mark.slow

HERON = "# Heron\n\nThe heron of Ann Lee eats fish in Lund.\n"
SECRET = "# Secret\n\nThe password of Ann Lee is swordfish.\n"


@pytest.fixture(autouse=True)
def looked_at(monkeypatch):
    """Compare folders as often as files change: no test waits for events of the system."""
    changes = []

    def events(_files, **_options):
        seen = 0
        while True:
            yield {"/elsewhere"} if len(changes) > seen else set()
            seen = len(changes)
            watching.sleep(0.02)

    monkeypatch.setattr(watching, "require_extra", lambda: None)
    monkeypatch.setattr(watching, "file_events", events)
    return lambda: changes.append(1)


@pytest.fixture
def shared(tmp_path):
    """Return a folder with one document, beside one with a secret."""
    for name, text in (("shared", HERON), ("private", SECRET)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(text, encoding="utf-8")
    return tmp_path / "shared"


@pytest.fixture
def place(tmp_path, shared):
    served = tmp_path / "served"
    served.mkdir()
    return ServerConfig(served, make_settings(), allowed=[str(shared)])


def create(client, *names):
    for name in names:
        client.post(f"{API}/workspaces", json={"name": name})


def folders_of(client, workspace, **options):
    found = client.get(f"{API}/workspaces/{workspace}/folders", **options)
    assert found.status_code == 200, found.text
    return found.json()["data"]


def follow(client, workspace, name="shared", **options):
    body = {"name": name}
    return client.post(f"{API}/workspaces/{workspace}/folders", json=body, **options)


def followed(client, workspace, name="shared"):
    """Follow a folder and return the job once it has ended."""
    return await_job(client, workspace, follow(client, workspace, name).json()["data"])


def unfollowed(client, workspace, name="shared"):
    answered = client.delete(f"{API}/workspaces/{workspace}/folders/{name}")
    return await_job(client, workspace, answered.json()["data"])


def uris(client, workspace, state="ready"):
    address = f"{API}/workspaces/{workspace}/documents"
    found = client.get(address, params={"state": state}).json()["data"]
    return [item["uri"] for item in found["documents"]]


def answer(client, workspace):
    asked = {"question": "What is the password of Ann Lee?", "k": 50}
    return client.post(f"{API}/workspaces/{workspace}/search", json=asked).text


def jobs_of(client, workspace):
    return client.get(f"{API}/workspaces/{workspace}/jobs").json()["data"]


def rest(client, workspace):
    """Wait until no job is left."""
    wait_until(lambda: all(job["finished"] for job in jobs_of(client, workspace)))


def test_a_folder_is_chosen_kept_in_step_and_left(place, shared, looked_at):
    with open_client(place) as client:
        create(client, "notes", "other")
        before = {"name": "shared", "followed": False, "fixed": False, "problem": ""}
        assert folders_of(client, "notes") == [before]
        job = followed(client, "notes")
        assert (job["kind"], job["state"], job["report"]["added"]) == ("watch", "finished", 1)
        assert job["arguments"]["path"] == "shared"
        assert folders_of(client, "notes") == [{**before, "followed": True}]
        assert folders_of(client, "other") == [before]

        (shared / "b.md").write_text("# Rook\n\nRooks nest in Kiel.\n", encoding="utf-8")
        (shared / "a.md").unlink()
        looked_at()
        wait_until(lambda: uris(client, "notes") == ["shared/b.md"])

        assert unfollowed(client, "notes")["report"]["removed"] == ["shared/b.md"]
        (shared / "c.md").write_text(HERON, encoding="utf-8")
        looked_at()
        reindexed = client.post(f"{API}/workspaces/notes/documents/reindex", json={})
        await_job(client, "notes", reindexed.json()["data"])
        assert uris(client, "notes") == []
        assert folders_of(client, "notes") == [before]
        assert (shared / "b.md").is_file()


def test_choices_last_over_a_restart_and_end_with_the_permission(place, shared):
    with open_client(place) as client:
        create(client, "notes")
        followed(client, "notes")
    (shared / "b.md").write_text(HERON.replace("heron", "rook"), encoding="utf-8")
    with open_client(place) as client:
        wait_until(lambda: "shared/b.md" in uris(client, "notes"))
        rest(client, "notes")
    (shared / "c.md").write_text(SECRET, encoding="utf-8")
    with open_client(replace(place, allowed=())) as client:
        (found,) = folders_of(client, "notes")
        assert (found["followed"], found["problem"]) == (True, "not_allowed")
        for body in ({}, {"documents": ["shared/b.md"]}):
            asked = client.post(f"{API}/workspaces/notes/documents/reindex", json=body)
            await_job(client, "notes", asked.json()["data"])
        watched = [job["id"] for job in jobs_of(client, "notes") if job["kind"] == "watch"]
        again = client.post(f"{API}/workspaces/notes/jobs/{watched[0]}/retry").json()["data"]
        await_job(client, "notes", again)
        assert "swordfish" not in answer(client, "notes")
        assert uris(client, "notes") == ["shared/a.md", "shared/b.md"]
        assert unfollowed(client, "notes")["report"]["removed"] == ["shared/a.md", "shared/b.md"]
        assert folders_of(client, "notes") == []


@pytest.mark.parametrize(
    "name",
    ["private", "..", ".", "", "/", "shared/../private", "../private", "shared/", "SHARED",
     "shared\0", "/etc", "~", "*", "s3://bucket/shared", "uploads"],
)  # fmt: skip
def test_nothing_else_can_be_named(place, tmp_path, name):
    with open_client(place) as client:
        create(client, "notes")
        for given in (name, str(tmp_path / name.strip("/\0"))):
            refused = follow(client, "notes", given)
            assert refused.status_code == 400, refused.text
            error = refused.json()["error"]
            assert "Valid: `shared`." in error["message"]
            assert str(tmp_path) not in error["message"].replace(given, "")
        assert jobs_of(client, "notes") == []
        assert not any(folder["followed"] for folder in folders_of(client, "notes"))


def test_without_an_allowed_folder_the_answer_says_how_to_allow_one(place):
    with open_client(replace(place, allowed=())) as client:
        create(client, "notes")
        error = follow(client, "notes").json()["error"]
        assert "`shared`" in error["message"]
        assert "knotwork serve --allow FOLDER" in error["fix"]
        assert folders_of(client, "notes") == []


def test_links_that_lead_out_of_the_folder_are_not_read(place, shared, tmp_path, looked_at):
    private = tmp_path / "private"
    (shared / "file.md").symlink_to(private / "a.md")
    (shared / "all").symlink_to(private)
    (shared / "up").symlink_to("..")
    (shared / "inside.md").symlink_to("a.md")
    (shared / "loop").symlink_to("loop")
    (shared / "round").symlink_to(".")
    (shared / "sub").mkdir()
    (shared / "sub" / "s.md").write_text("# Rook\n\nRooks nest in Kiel.\n", encoding="utf-8")
    with open_client(place) as client:
        create(client, "notes")
        job = followed(client, "notes")
        read = ["shared/a.md", "shared/inside.md", "shared/sub/s.md"]
        assert uris(client, "notes") == read
        told = {item["uri"]: item["message"] for item in job["report"]["skipped"]}
        for refused in ("shared/file.md", "shared/all"):
            assert "leads out of `shared`" in told[refused]
        assert "swordfish" not in answer(client, "notes")

        rest(client, "notes")
        (shared / "a.md").unlink()  # what was read before becomes a link
        (shared / "a.md").symlink_to(private / "a.md")
        (shared / "sub").rename(tmp_path / "away")
        (shared / "sub").symlink_to(private)
        (private / "s.md").write_text(SECRET, encoding="utf-8")
        asked = {"documents": ["shared/a.md", "shared/sub/s.md"]}
        again = client.post(f"{API}/workspaces/notes/documents/reindex", json=asked)
        await_job(client, "notes", again.json()["data"])
        looked_at()
        await_job(
            client,
            "notes",
            client.post(f"{API}/workspaces/notes/documents/reindex", json={}).json()["data"],
        )
        assert "swordfish" not in answer(client, "notes")


def test_a_folder_that_vanishes_keeps_its_documents(place, shared, tmp_path, looked_at):
    with open_client(place) as client:
        create(client, "notes")
        followed(client, "notes")
        shared.rename(tmp_path / "away")
        looked_at()
        wait_until(lambda: jobs_of(client, "notes")[0]["state"] == "failed")
        error = jobs_of(client, "notes")[0]["error"]
        assert "no longer exists" in error["message"]
        assert str(tmp_path) not in str(error)
        assert folders_of(client, "notes")[0]["problem"] == "missing"
        assert uris(client, "notes") == ["shared/a.md"]
        shared.mkdir()
        looked_at()
        wait_until(lambda: "is empty" in str(jobs_of(client, "notes")[0]["error"]))
        assert uris(client, "notes") == ["shared/a.md"]
    with open_client(place) as client:  # it starts without the folder, too
        assert folders_of(client, "notes")[0]["followed"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every folder")
def test_an_unreadable_folder_is_a_problem_that_is_told(place, shared):
    shared.chmod(0)
    try:
        with open_client(place) as client:
            create(client, "notes")
            assert folders_of(client, "notes")[0]["problem"] == "unreadable"
    finally:
        shared.chmod(0o700)


def test_two_workspaces_follow_one_folder_apart(place, shared, looked_at):
    with open_client(place) as client:
        create(client, "notes", "other")
        followed(client, "notes")
        followed(client, "other")
        unfollowed(client, "notes")
        (shared / "b.md").write_text(HERON.replace("heron", "rook"), encoding="utf-8")
        looked_at()
        wait_until(lambda: uris(client, "other") == ["shared/a.md", "shared/b.md"])
        assert uris(client, "notes") == []
        rest(client, "other")
        assert client.delete(f"{API}/workspaces/other").status_code == 200
        looked_at()
        create(client, "other")
        assert not folders_of(client, "other")[0]["followed"]
        assert uris(client, "other") == []


def test_documents_of_a_wider_folder_stay_when_one_in_it_is_left(place, shared):
    wider = replace(place, allowed=[str(shared), str(shared / "sub")])
    (shared / "sub").mkdir()
    (shared / "sub" / "s.md").write_text("# Rook\n\nRooks nest in Kiel.\n", encoding="utf-8")
    with open_client(wider) as client:
        create(client, "notes")
        followed(client, "notes", "shared")
        followed(client, "notes", "sub")
        unfollowed(client, "notes", "sub")
        assert uris(client, "notes") == ["shared/a.md", "shared/sub/s.md"]


def test_a_queued_comparison_does_not_bring_a_left_folder_back(place):
    with open_client(place) as client:
        create(client, "notes")
        upload(client, "notes", {f"{n}.md": HERON * n for n in range(1, 20)})
        follow(client, "notes")
        unfollowed(client, "notes")
        rest(client, "notes")
        assert not [uri for uri in uris(client, "notes") if uri.startswith("shared/")]


def test_it_takes_the_rights_of_uploads(place):
    root = add_key(place, "root", "admin", "*")
    reader, writer = (add_key(place, role, role, "notes") for role in ("read", "write"))
    with open_client(place) as client:
        for name in ("notes", "other"):
            client.post(f"{API}/workspaces", json={"name": name}, headers=root)
        assert follow(client, "notes").status_code == 401
        assert follow(client, "notes", headers=reader).status_code == 403
        assert follow(client, "other", headers=writer).status_code == 404
        assert folders_of(client, "notes", headers=reader) == []  # what it could choose
        assert [f["name"] for f in folders_of(client, "notes", headers=writer)] == ["shared"]
        job = follow(client, "notes", headers=writer).json()["data"]
        await_job(client, "notes", job, headers=writer)
        assert [f["name"] for f in folders_of(client, "notes", headers=reader)] == ["shared"]
        left = f"{API}/workspaces/notes/folders/shared"
        assert client.delete(left, headers=reader).status_code == 403


def test_folders_of_the_administrator_are_listed_and_stay(place, shared, tmp_path):
    fixed = replace(place, allowed=(), watched={"notes": [str(shared)]})
    with open_client(fixed) as client:
        (found,) = folders_of(client, "notes")
        assert found == {"name": "shared", "followed": True, "fixed": True, "problem": ""}
        assert client.delete(f"{API}/workspaces/notes/folders/shared").status_code == 400
        missing = f"{API}/workspaces/notes/folders/absent"
        assert "`absent`" in client.delete(missing).json()["error"]["message"]


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        (["/"], "does not name a folder"),
        (["s3://bucket/docs"], "does not name a folder"),
        (["{here}/shared/a.md"], "does not name a folder"),
        (["{here}/uploads"], "does not name a folder"),
        (["{here}/shared", "{here}/other/shared"], "both called `shared`"),
    ],
)
def test_what_cannot_be_allowed_is_refused_at_the_start(place, tmp_path, allowed, message):
    given = [path.format(here=tmp_path) for path in allowed]
    with pytest.raises(ConfigError, match=message):
        replace(place, allowed=given).check()
    with pytest.raises(ConfigError, match="read-only"):
        replace(place, read_only=True).check()
    replace(place, allowed=[*place.allowed, *place.allowed, str(Path(tmp_path, "later"))]).check()
