"""Documents of object storage: an index of them equals that of the same files in a folder."""

import os
import shutil

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from tests.indexing.snapshots import snapshot

import knotwork
from knotwork._indexing import sources
from knotwork._indexing.changes import entry_path
from knotwork._indexing.sources import StoredObject, discover_objects
from knotwork.errors import IndexingError, LoadError, MissingExtra, UnknownName

FILES = {
    "a.md": "# Ada\n\nAda Lovelace met Charles Babbage in London.",
    "sub/b.txt": "The Analytical Engine was designed by Charles Babbage.",
    "sub/deep/c.txt": "Bo Smith lives in Vienna.",
    "broken.pdf": "%PDF-1.7 nothing more",
    "empty.txt": "",
    ".hidden/d.txt": "Hidden.",
    "node_modules/e.txt": "A package.",
    "sub/.secret": "Hidden too.",
    "drafts/f.txt": "A draft.",
    "drafts/kept.txt": "Cleo Jones leads the Vienna office.",
    ".knotignore": "drafts/*\n!drafts/kept.txt\n",
}
URL = "memory://bucket/docs"


class Storage:
    """The files of a bucket in memory, and the keys that were read from it."""

    def __init__(self, files):
        self.files = files
        self.read = []

    def put(self, name, data, *, url=URL):
        raw = data.encode() if isinstance(data, str) else data
        self.files.pipe_file(f"{url}/{name}", raw)

    def remove(self, name):
        self.files.rm_file(f"{URL}/{name}")


@pytest.fixture
def storage(monkeypatch):
    files = fsspec.filesystem("memory")
    files.store.clear()
    files.pseudo_dirs[:] = [""]
    made = Storage(files)
    cat_file = MemoryFileSystem.cat_file

    def note_read(self, path, **options):
        if not path.endswith("ignore"):
            made.read.append(path.removeprefix("/bucket/docs/"))
        return cat_file(self, path, **options)

    for name, text in FILES.items():
        made.put(name, text)
    monkeypatch.setattr(MemoryFileSystem, "cat_file", note_read)
    yield made
    files.store.clear()
    files.pseudo_dirs[:] = [""]


@pytest.fixture
def kb(tmp_path, storage):
    with open_index(tmp_path / "remote.knot") as opened:
        yield opened


def open_index(path, **options):
    # The objects in memory are those of this process.
    return knotwork.open(path, **{"embedding_model": "none", "index_workers": 0, **options})


def contents(store):
    """Return what an index holds, but for the place of each source."""
    found = snapshot(store)
    entries = found.pop("ledger")
    return found | {"sources": [(e.uri, e.chunks, e.error_reason, e.revision) for e in entries]}


def write_files(folder):
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def test_an_index_of_objects_equals_one_of_the_same_files(tmp_path, kb):
    folder = tmp_path / "docs"
    write_files(folder)
    report = kb.index(URL)
    assert {f.uri: f.reason for f in report.failures} == {
        "docs/broken.pdf": "broken",
        "docs/empty.txt": "empty",
    }
    with open_index(tmp_path / "here.knot") as here:
        here.index(folder)
        assert contents(kb.store) == contents(here.store)


def test_nothing_is_read_that_did_not_change(kb, storage):
    kb.index(URL)
    storage.read.clear()
    assert kb.index(f"{URL}/").unchanged == 4
    assert storage.read == []
    storage.put("a.md", "# Ada\n\nAda Lovelace met Mary Somerville in London.")
    report = kb.index(URL)
    assert (report.changed, report.unchanged) == (1, 3)
    assert storage.read == ["a.md"]


def test_objects_that_are_gone_are_removed(kb, storage):
    kb.index(URL)
    storage.remove("sub/b.txt")
    assert kb.index(URL).removed == ("docs/sub/b.txt",)
    assert kb.index(f"{URL}/sub").removed == ()
    storage.remove("sub/deep/c.txt")
    # An object storage has no empty folders: all of this one is gone.
    storage.files.store.pop("/bucket/docs/sub/.secret")
    storage.files.pseudo_dirs[:] = [""]
    with pytest.raises(IndexingError, match="no longer exists, but is in the index"):
        kb.index(f"{URL}/sub")
    assert kb.delete(f"{URL}/sub") == ("docs/sub/deep/c.txt",)


def test_a_folder_and_an_object_keep_the_names_of_the_widest_folder(kb, storage):
    kb.index(URL)
    storage.put("sub/new.txt", "Dai Evans came to London.")
    assert kb.index(f"{URL}/sub").added == 1
    storage.put("sub/new.txt", "Dai Evans came to Vienna.")
    assert kb.index(f"{URL}/sub/new.txt").changed == 1
    assert "docs/sub/new.txt" in {entry.uri for entry in kb.store.ledger.entries()}
    entry = kb.store.ledger.get(["docs/sub/new.txt"])["docs/sub/new.txt"]
    assert entry_path(entry) == f"{URL}/sub/new.txt"


def test_a_single_object_has_its_own_name(kb):
    assert kb.index(f"{URL}/a.md").added == 1
    assert [entry.uri for entry in kb.store.ledger.entries()] == ["a.md"]
    with pytest.raises(UnknownName):
        kb.delete(f"{URL}/sub")
    assert kb.delete(f"{URL}/a.md") == ("a.md",)


def test_patterns_choose_objects(tmp_path, storage):
    options = {"index_include": ["*.txt"], "index_exclude": ["sub/deep/"]}
    with open_index(tmp_path / "i.knot", **options) as kb:
        kb.index(URL)
        found = [entry.uri for entry in kb.store.ledger.entries()]
    assert found == ["docs/drafts/kept.txt", "docs/empty.txt", "docs/sub/b.txt"]


def test_a_large_object_is_not_downloaded(tmp_path, storage):
    storage.put("large.txt", "word " * 400)
    with open_index(tmp_path / "i.knot", index_max_file_mb=0.001) as kb:
        failures = {f.uri: f.reason for f in kb.index(URL).failures}
    assert failures["docs/large.txt"] == "too_large"
    assert "large.txt" not in storage.read


def test_no_more_than_the_limit_is_read_of_an_object_that_grew(storage):
    storage.put("grown.txt", "x" * 5_000)
    stale = StoredObject(URL, "/bucket/docs/grown.txt", 10)
    with pytest.raises(LoadError) as caught:
        stale.read(uri="grown.txt", max_file_mb=0.001)
    assert caught.value.reason == "too_large"


def test_an_object_that_cannot_be_read_is_one_failed_file(kb, monkeypatch):
    read = MemoryFileSystem.cat_file

    def refuse(self, path, **options):
        if path.endswith("a.md"):
            raise PermissionError("Access Denied")
        if path.endswith("b.txt"):
            raise FileNotFoundError(path)
        return read(self, path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(MemoryFileSystem, "cat_file", refuse)
        report = kb.index(URL)
    failures = {failure.uri: (failure.reason, failure.message) for failure in report.failures}
    assert failures["docs/a.md"][0] == "unreadable"
    assert "Access Denied" in failures["docs/a.md"][1]
    assert failures["docs/sub/b.txt"][0] == "missing"
    assert kb.index(URL).added == 2


HIDDEN = ("../../etc/passwd.txt", "./c.txt")
"""Folders whose names begin with a dot, as those of hidden ones do."""

HOSTILE = (
    "a//b.txt",
    "line\nbreak.txt",
    "tab\t\x1b[31m.txt",
    'con|<>:"?*.txt',
    "100%41.txt",
    "name?versionId=7.txt",
    "it's #1.txt",
    "\u202etxt.exe.txt",
    "文件.txt",
    "x" * 900 + ".txt",
)


def test_any_name_of_an_object_is_a_name_of_a_document(kb, storage):
    for key in list(storage.files.store):
        del storage.files.store[key]
    for number, name in enumerate((*HOSTILE, *HIDDEN)):
        key = f"/bucket/docs/{name}"
        storage.files.store[key] = file = fsspec.implementations.memory.MemoryFile(
            storage.files, key, f"Ada Smith wrote text {number}.".encode()
        )
        file.commit()
    report = kb.index(URL)
    assert (report.added, report.failures) == (len(HOSTILE), ())
    assert kb.index(URL).unchanged == len(HOSTILE)
    found = {entry.uri for entry in kb.store.ledger.entries()}
    assert found == {f"docs/{name}" for name in HOSTILE}
    for name in HOSTILE:
        del storage.files.store[f"/bucket/docs/{name}"]
    storage.put("last.txt", "Bo Smith stays.")
    assert set(kb.index(URL).removed) == found


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("memory://bucket/nowhere", "does not exist"),
        ("memory://bucket/docs/*.md", "does not exist"),
        ("unknown://bucket/docs", "cannot be opened"),
        ("sftp://user:secret@host/docs", "has a password"),
        ("http://host/docs?token=secret", "has a password or parameters"),
        ("simplecache::memory://bucket/docs", "combines file systems"),
        ("memory://", "names no folder"),
        ("http://[broken", "not a valid URL"),
        ("file://server/share", "names the machine `server`"),
    ],
)
def test_an_unlistable_location_is_refused_without_its_secrets(kb, url, message):
    with pytest.raises(IndexingError, match=message) as caught:
        kb.index(url)
    assert "secret" not in str(caught.value)
    assert kb.store.documents.document_count() == 0


def test_the_errors_of_a_storage_have_their_reason(kb, monkeypatch):
    def refuse(self, path, **options):
        raise PermissionError("Access Denied")

    monkeypatch.setattr(MemoryFileSystem, "find", refuse)
    with pytest.raises(IndexingError, match="cannot be listed: Access Denied"):
        kb.index(URL)


def test_two_documents_of_one_name_are_refused(tmp_path, kb, storage):
    folder = tmp_path / "docs"
    write_files(folder)
    with pytest.raises(IndexingError, match="already the name of"):
        kb.index([folder, URL])
    kb.index(folder)
    with pytest.raises(IndexingError, match="already the name of"):
        kb.index(URL)


def test_a_file_url_is_a_path_of_this_machine(tmp_path, kb):
    folder = tmp_path / "docs"
    write_files(folder)
    assert kb.index(folder.as_uri()).added == 4
    assert kb.index(folder).unchanged == 4


def test_fsspec_is_an_extra(kb, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(MissingExtra, match=r"knotwork\[remote\]"):
        kb.index(URL)


def page(number):
    return (
        f"<html><body><p>Home of the Example Works</p><h1>Page {number}</h1>"
        f"<p>Person Number{number} wrote about machine {number} in London.</p>"
        "<p>All rights reserved by Example Works</p></body></html>"
    )


def test_web_pages_lose_repeated_lines_and_are_downloaded_once(tmp_path, kb, storage, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "temporary").mkdir()
    folder = tmp_path / "site"
    folder.mkdir()
    for number in range(8):
        storage.put(f"{number}.html", page(number), url="memory://bucket/site")
        (folder / f"{number}.html").write_text(page(number), "utf-8")
    kb.index("memory://bucket/site")
    assert len(storage.read) == 8
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not kb.search("rights reserved").hits
    with open_index(tmp_path / "here.knot") as here:
        here.index(folder)
        assert contents(kb.store) == contents(here.store)


def test_a_part_of_a_site_updates_the_rest(kb, storage):
    for number in range(8):
        storage.put(f"{number}.html", page(number), url="memory://bucket/site")
    for number in range(4):
        kb.index(f"memory://bucket/site/{number}.html")
    kb.index("memory://bucket/site")
    assert not kb.search("rights reserved").hits


@pytest.mark.slow
def test_workers_read_objects_themselves(tmp_path):
    # `local` is a file system of fsspec like any other, which worker processes see, too.
    folder = tmp_path / "docs"
    write_files(folder)
    url = f"local://{folder}"
    with open_index(tmp_path / "i.knot", index_workers=2) as kb:
        assert kb.index(url).added == 4
        assert kb.index(url).unchanged == 4
        os.utime(folder / "a.md", ns=(1, 1))
        assert kb.index(url).unchanged == 4
        with open_index(tmp_path / "here.knot", index_workers=2) as here:
            here.index(folder)
            assert contents(kb.store) == contents(here.store)
        shutil.rmtree(folder / "sub")
        assert len(kb.index(url).removed) == 2


def test_a_version_is_the_surest_that_a_storage_states(storage):
    def version(**info):
        return sources._source("a", URL, "/a", {"size": 3, **info}).version

    assert version(ETag="x", LastModified="2026-01-01T00:00:00Z") == version(ETag="x")
    assert version(ETag="x") != version(ETag="y")
    assert version(mtime=1.0) != version(mtime=2.0)
    assert version() == ""
    (first, *_), is_folder = discover_objects(URL)
    assert (is_folder, first.uri, bool(first.version)) == (True, "docs/a.md", True)
