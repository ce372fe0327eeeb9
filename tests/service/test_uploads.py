"""Uploads: accepted once, indexed by a job, refused if they are not documents."""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service.serving import (
    API,
    await_job,
    make_settings,
    open_client,
    upload,
)

from knotwork._extensions.server.server import ServerConfig
from knotwork._extensions.server.uploads import parse_upload_name
from knotwork.errors import LoadError

pytestmark = pytest.mark.slow


NEW = f"{API}/workspaces/new"
TEXT = "# Lanterns\n\nLanterns are lit by Ivo Brandt at dusk. Ivo Brandt lives in Marrow."


@pytest.fixture
def new(tmp_path):
    """A client of a server with one empty workspace, `new`."""
    with open_client(ServerConfig(tmp_path, make_settings())) as client:
        assert client.post(f"{API}/workspaces", json={"name": "new"}).status_code == 201
        yield client


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """A client and the folder of a server whose workspace `new` must stay without files."""
    folder = tmp_path_factory.mktemp("outside") / "strict"
    folder.mkdir()
    with open_client(ServerConfig(folder, make_settings())) as client:
        assert client.post(f"{API}/workspaces", json={"name": "new"}).status_code == 201
        yield client, folder


def bomb() -> bytes:
    """Return a small archive that declares gigabytes of text."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("word/document.xml", bytes(150_000_000))
    return packed.getvalue()


def archive_of(name: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, b"x")
    return packed.getvalue()


def test_uploads_are_indexed_found_and_removed(new, tmp_path):
    sent = upload(new, "new", {"lamps/lanterns.md": TEXT, "名单.txt": "海外出差由行政部审批。"})
    assert sent.status_code == 202
    data = sent.json()["data"]
    assert [file["uri"] for file in data["files"]] == [
        "uploads/lamps/lanterns.md",
        "uploads/名单.txt",
    ]
    job = await_job(new, "new", data["job"])
    assert (job["state"], job["report"]["added"]) == ("finished", 2)
    answer = new.post(f"{NEW}/ask", json={"question": "Who lights the lanterns?"}).json()["data"]
    assert "Ivo Brandt" in answer["answer"]
    communities = new.get(f"{NEW}/communities").json()["data"]
    assert communities["is_current"]

    identifier = data["files"][0]["document_id"]
    assert new.get(f"{NEW}/documents/{identifier}").json()["data"]["text"].startswith("# Lanterns")
    gone = new.delete(f"{NEW}/documents/{identifier}")
    assert gone.status_code == 202
    assert await_job(new, "new", gone.json()["data"])["report"] == {
        "removed": ["uploads/lamps/lanterns.md"]
    }
    assert new.get(f"{NEW}/documents/{identifier}").status_code == 404
    assert not (tmp_path / "new.files/uploads/lamps/lanterns.md").exists()
    again = new.post(f"{NEW}/index", json={}).json()["data"]
    assert await_job(new, "new", again)["report"]["unchanged"] == 1


def test_an_archive_is_a_folder_that_is_deleted_as_a_whole(new, tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("lanterns.md", TEXT)
        archive.writestr("deep/note.txt", "The quay is closed in winter.")
    data = upload(new, "new", {"docs.zip": packed.getvalue()}).json()["data"]
    assert await_job(new, "new", data["job"])["report"]["added"] == 2
    answer = new.post(f"{NEW}/ask", json={"question": "Who lights the lanterns?"}).json()["data"]
    assert answer["citations"][0]["document"] == "uploads/docs.zip/lanterns.md"
    listed = new.get(f"{NEW}/documents").json()["data"]["documents"]
    assert [(d["uri"], d["uploaded"]) for d in listed] == [
        ("uploads/docs.zip/deep/note.txt", True),
        ("uploads/docs.zip/lanterns.md", True),
    ]
    one = new.delete(f"{NEW}/documents/{listed[0]['id']}")
    assert one.status_code == 422
    assert "one by one" in one.json()["error"]["message"]
    uris = [d["uri"] for d in listed]
    again = new.post(f"{NEW}/documents/reindex", json={"documents": uris}).json()["data"]
    assert await_job(new, "new", again)["report"]["unchanged"] == 2
    gone = new.post(f"{NEW}/documents/delete", json={"documents": uris}).json()["data"]
    assert await_job(new, "new", gone)["report"] == {"removed": uris}
    assert not list((tmp_path / "new.files/uploads").rglob("*"))


def test_a_file_of_the_same_name_replaces_the_one_before(new):
    for text in (TEXT, TEXT.replace("Ivo Brandt", "Una Hale")):
        job = upload(new, "new", {"lanterns.md": text}).json()["data"]["job"]
        report = await_job(new, "new", job)["report"]
    assert (report["changed"], report["index"]["documents"]) == (1, 1)
    answer = new.post(f"{NEW}/ask", json={"question": "Who lights the lanterns?"}).json()["data"]
    assert "Una Hale" in answer["answer"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("evil.pdf", b"MZ\x90\x00" + b"\x00" * 100, "does not contain PDF data"),
        ("evil.docx", b"hello", "does not contain docx data"),
        ("evil.md", b"\x7fELF\x00\x00\x01", "neither text"),
        ("evil.txt", b"SQLite format 3\x00" + b"\x01" * 50, "neither text"),
        ("evil.zip", archive_of("../../etc/passwd"), "leads out of the archive"),
        ("evil.tar.gz", b"\x1f\x8b" + b"\x00" * 100, "not a whole archive"),
        ("evil.tar", archive_of("other"), "not a whole archive"),
        ("evil.docx", archive_of("other"), "an archive"),
        ("empty.md", b" \n", "empty"),
        ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600, "before 2007"),
        ("bomb.docx", bomb(), "decompresses to"),
        ("cut.docx", archive_of("word/document.xml")[:40], "not a whole ZIP"),
    ],
    ids=range(12),
)
def test_files_that_are_not_documents_are_refused_whatever_their_name(
    strict, name, content, reason
):
    client, folder = strict
    refused = upload(client, "new", {name: content})
    assert refused.status_code == 422
    assert reason in refused.json()["error"]["message"]
    left = [path.name for path in (folder / "new.files").rglob("*")]
    assert left == ["attention.json"]


def test_a_recording_is_accepted_and_its_failure_says_what_is_missing(new):
    recordings = {
        "talk.m4a": b"\x00\x00\x00\x1cftypM4A \x00",
        "call.wav": b"RIFF\x00\x00\x00\x00WAVE",
    }
    job = upload(new, "new", {**recordings, "a.md": TEXT}).json()
    skipped = await_job(new, "new", job["data"]["job"])["report"]["skipped"]
    assert sorted(item["uri"] for item in skipped) == ["uploads/call.wav", "uploads/talk.m4a"]
    listed = new.get(f"{NEW}/documents", params={"state": "failed"}).json()["data"]["documents"]
    assert all("is a recording" in document["error"] for document in listed)


@pytest.mark.parametrize(
    "name",
    [
        "../up.md",
        "..\\up.md",
        "/etc/passwd",
        "a/../../up.md",
        "C:/up.md",
        "a//b.md",
        ".hidden",
        "a/.gitignore",
        "con.txt",
        "trailing ",
        "dot.",
        "index.knot",
        "a\u202etxt.exe",
        "x" * 300,
        "/".join("abcdefghij"),
    ],
    ids=range(15),
)
def test_a_name_that_could_lead_elsewhere_is_refused(strict, name):
    client, folder = strict
    refused = upload(client, "new", {name: TEXT})
    assert refused.status_code == 422, refused.text
    assert not [file for file in folder.parent.rglob("*") if file.suffix in (".md", ".txt")]


@given(st.text(max_size=60) | st.from_regex(r"(\.\.|[/\\]|[a-z]|~|:|\0|%2e| ){1,12}"))
def test_no_name_leads_out_of_the_folder_of_uploads(name):
    place = None
    with suppress(LoadError):
        place = parse_upload_name(name)
    if place is not None:
        assert not place.is_absolute()
        assert place == PurePosixPath(*place.parts)
        assert not any(part.startswith((".", " ")) or "\x00" in part for part in place.parts)


def test_the_second_of_two_files_of_one_name_is_refused(new):
    files = [("files", ("a/x.md", text.encode())) for text in (TEXT, "# Other\n\nOther text.")]
    data = new.post(f"{NEW}/documents", files=files).json()["data"]
    assert [file["name"] for file in data["files"]] == ["a/x.md"]
    (refused,) = data["refused"]
    assert (refused["reason"], refused["message"]) == (
        "name",
        "The upload has two files named `a/x.md`.",
    )
    await_job(new, "new", data["job"])
    (listed,) = new.get(f"{NEW}/documents").json()["data"]["documents"]
    assert (listed["state"], listed["title"]) == ("ready", "Lanterns")


def test_good_files_are_taken_beside_bad_ones(new):
    sent = upload(new, "new", {"good.md": TEXT, "../bad.md": TEXT, "bad.pdf": "no"})
    data = sent.json()["data"]
    assert [file["name"] for file in data["files"]] == ["good.md"]
    assert [(item["name"], item["reason"]) for item in data["refused"]] == [
        ("../bad.md", "name"),
        ("bad.pdf", "broken"),
    ]
    assert await_job(new, "new", data["job"])["state"] == "finished"


def test_a_file_that_cannot_be_read_after_all_is_listed_with_the_reason(new):
    job = upload(new, "new", {"torn.pdf": b"%PDF-1.7\nnothing follows", "a.md": TEXT}).json()
    done = await_job(new, "new", job["data"]["job"])
    assert done["state"] == "finished"
    assert [item["uri"] for item in done["report"]["skipped"]] == ["uploads/torn.pdf"]
    listed = new.get(f"{NEW}/documents", params={"state": "failed"}).json()["data"]["documents"]
    assert [(d["uri"], d["uploaded"]) for d in listed] == [("uploads/torn.pdf", True)]
    assert listed[0]["error"]
    gone = new.delete(f"{NEW}/documents/{listed[0]['id']}").json()["data"]
    assert await_job(new, "new", gone)["state"] == "finished"


def test_an_upload_that_is_too_large_is_refused_before_it_is_kept(tmp_path):
    small = ServerConfig(tmp_path, make_settings(max_upload_mb=0.1))
    with open_client(small) as client:
        client.post(f"{API}/workspaces", json={"name": "new"})
        refused = upload(client, "new", {"a.md": "x " * 200_000})
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_large")
    assert not list(tmp_path.rglob("a.md"))


def test_a_folder_in_the_way_of_a_file_is_reported(new):
    upload(new, "new", {"a/b.md": TEXT})
    refused = upload(new, "new", {"a": TEXT})
    assert refused.status_code == 422
    assert "conflicts with" in refused.json()["error"]["message"]


def test_files_may_be_kept_without_a_job_and_indexed_later(new):
    sent = upload(new, "new", {"lanterns.md": TEXT}, data={"index": "false"}).json()["data"]
    assert sent["job"] is None
    assert new.get(f"{NEW}/jobs").json()["data"] == []
    assert new.post(f"{NEW}/estimate", json={}).json()["data"]["chunks"] == 0  # there is no model
    job = new.post(f"{NEW}/index", json={}).json()["data"]
    await_job(new, "new", job)
    assert new.get(f"{NEW}/documents").json()["data"]["total"] == 1
