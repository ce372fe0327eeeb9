"""An edit of a file is seen, whatever its size and times say; an unchanged file is not loaded."""

import os
from pathlib import Path

import pytest
from tests.indexing.pipeline_fakes import make_stages
from tests.stores.raw_files import change

from knotwork._config import IndexSettings
from knotwork._indexing import prepare, sources
from knotwork._indexing.changes import RACY_NS
from knotwork._indexing.run import IndexingRun
from knotwork._indexing.sources import select_files
from knotwork._stores.urls import open_store

OLD, NEW = "Ada pays 100", "Ada pays 900"
SECOND = 10**9


class Folder:
    """A folder of files, the store that indexes it, and the clock of the machine."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = open_store("memory:")
        self.now_ns = 0
        self.loaded: list[str] = []
        path.mkdir()

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.write_text(text, "utf-8")
        return path

    def index(self, *, later_s: float = 3_600):
        """Index the folder some time after the last change, and return the report."""
        times = [path.stat() for path in self.path.iterdir()]
        self.now_ns = max(max(t.st_mtime_ns, t.st_ctime_ns) for t in times)
        self.now_ns += int(later_s * SECOND)
        self.loaded.clear()
        selection = select_files(self.store, [self.path], IndexSettings())
        pipeline = IndexingRun(self.store, make_stages(None))
        return pipeline.update(selection.files, covers=selection.covers)

    def text(self, name: str) -> str:
        documents = self.store.documents
        held = documents.documents(documents.document_ids()).values()
        return next(one.text for one in held if one.uri.endswith(name))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    folder = Folder(tmp_path / "docs")
    load = sources.load_file

    def load_and_note(path, **options):
        folder.loaded.append(path.name)
        return load(path, **options)

    monkeypatch.setattr(sources, "load_file", load_and_note)
    monkeypatch.setattr("time.time_ns", lambda: folder.now_ns)
    return folder


@pytest.fixture
def without_change_times(monkeypatch):
    """A file system that has steps of two seconds and no time of the last change, as FAT."""
    step = 2 * SECOND

    def size_and_times(status):
        return status.st_size, status.st_mtime_ns // step * step, 0

    for module in (prepare, sources):
        monkeypatch.setattr(module, "size_and_times", size_and_times)


def test_an_edit_of_the_same_size_whose_time_is_set_back_is_indexed(folder):
    path = folder.write("a.txt", OLD)
    folder.index()
    before = path.stat()
    folder.write("a.txt", NEW)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert folder.index().changed == 1
    assert folder.text("a.txt") == NEW


def test_a_file_moved_over_another_of_the_same_size_and_time_is_indexed(folder):
    path = folder.write("a.txt", OLD)
    folder.index()
    other = folder.write("b.txt", NEW)
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.replace(path)

    assert folder.index().changed == 1
    assert folder.text("a.txt") == NEW


@pytest.mark.usefixtures("without_change_times")
def test_an_edit_within_the_same_tick_of_a_coarse_clock_is_indexed(folder):
    path = folder.write("a.txt", OLD)
    folder.index(later_s=0.5)
    before = path.stat()
    folder.write("a.txt", NEW)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert folder.index().changed == 1
    assert folder.text("a.txt") == NEW


@pytest.mark.usefixtures("without_change_times")
def test_a_file_changed_in_the_future_is_compared_until_that_time(folder):
    """The clock of the machine was set back, or that of a file server is ahead."""
    path = folder.write("a.txt", OLD)
    ahead = path.stat().st_mtime_ns
    for text in (OLD, NEW, OLD):
        folder.write("a.txt", text)
        os.utime(path, ns=(ahead, ahead))
        folder.index(later_s=-3_600)
        assert folder.text("a.txt") == text


def test_a_file_that_changed_just_before_is_hashed_once_and_not_loaded(folder, monkeypatch):
    def fail(file):
        raise AssertionError(f"{file.uri} was hashed again")

    folder.write("a.txt", OLD)
    assert folder.index(later_s=0).added == 1

    assert folder.index().unchanged == 1
    assert folder.loaded == []
    (entry,) = folder.store.ledger.entries()
    assert entry.checked_ns > entry.changed_ns + RACY_NS

    generation = folder.store.generation()
    monkeypatch.setattr(prepare.SourceFile, "hash_bytes", fail)
    assert folder.index().unchanged == 1
    assert folder.store.generation() == generation


def test_a_file_with_other_times_and_the_same_bytes_is_not_loaded(folder):
    path = folder.write("a.txt", OLD)
    folder.index()
    path.chmod(0o600)
    os.utime(path)

    assert folder.index().unchanged == 1
    assert folder.loaded == []
    generation = folder.store.generation()
    assert folder.index().unchanged == 1
    assert folder.store.generation() == generation


def test_a_failed_file_is_read_again_when_only_the_time_of_its_change_differs(folder):
    path = folder.write("a.txt", " " * len(NEW))
    assert folder.index().failed == 1
    assert folder.loaded == ["a.txt"]
    generation = folder.store.generation()
    assert folder.index().failed == 1
    assert (folder.loaded, folder.store.generation()) == ([], generation)

    before = path.stat()
    folder.write("a.txt", NEW)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert folder.index().added == 1


def test_a_file_that_changes_while_it_is_read_is_read_by_the_next_run(folder, monkeypatch):
    path = folder.write("a.txt", OLD)
    load = sources.load_file

    def load_what_is_there_for_a_moment(place, **options):
        path.write_text(NEW, "utf-8")
        try:
            return load(place, **options)
        finally:
            path.write_text(OLD, "utf-8")

    monkeypatch.setattr(sources, "load_file", load_what_is_there_for_a_moment)
    folder.index()
    monkeypatch.setattr(sources, "load_file", load)
    folder.index()
    assert folder.text("a.txt") == OLD


def test_an_index_without_the_times_of_files_learns_them_without_loading_one(folder, tmp_path):
    for n in range(3):
        folder.write(f"{n}.txt", OLD)
    index = tmp_path / "index.knot"
    folder.store = open_store(str(index), create=True)
    folder.index()
    folder.store.close()
    change(index, "UPDATE ledger SET changed_ns = 0, checked_ns = 0, digest = ''")

    folder.store = open_store(str(index))
    assert folder.index().unchanged == 3
    assert folder.loaded == []
    generation = folder.store.generation()
    path = folder.path / "1.txt"
    before = path.stat()
    folder.write("1.txt", NEW)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert folder.index().changed == 1
    assert folder.text("1.txt") == NEW
    assert folder.index().unchanged == 3
    assert folder.store.generation() == generation + 1
    folder.store.close()
