"""A power failure costs no commit; in an index that does not wait for the disk, only the last ones.

The disk is a VFS that keeps each file as it was last synced. SQLite syncs the directory with the
first sync of a new journal or log, and with a deletion if it is asked to.
"""

import shutil
from functools import partial
from pathlib import Path

import apsw
import pytest

from knotwork._extensions.agents.fact_memory import FactMemory, RememberedFact
from knotwork._extensions.server.job_store import JobState, JobStore
from knotwork._extensions.tables.table_file import TableFile
from knotwork._extensions.testing.store_contract import add_document
from knotwork._inference.call_cache import CallCache
from knotwork._stores.embedded import EmbeddedStore
from knotwork._stores.urls import open_store
from knotwork.errors import UnknownName

COMMITS = 12


class Disk(apsw.VFS):
    """The files of a folder as they are after a power failure."""

    def __init__(self, base: str) -> None:
        super().__init__("disk", base)
        self.base = base
        self.synced: dict[str, bytes] = {}
        self.deleted: set[str] = set()

    def xOpen(self, name, flags):  # noqa: N802  a name of SQLite
        return SyncedFile(self, name, flags)

    def xDelete(self, name, sync_directory):  # noqa: N802
        super().xDelete(name, sync_directory)
        self.deleted.add(name)
        if sync_directory:
            self.sync_directory()

    def sync_directory(self):
        for name in self.deleted:
            self.synced.pop(name, None)
        self.deleted.clear()

    def fail(self, folder: Path) -> None:
        """Put what is on the disk into a folder."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, content in self.synced.items():
            (folder / Path(name).name).write_bytes(content)


class SyncedFile(apsw.VFSFile):
    def __init__(self, disk, name, flags):
        super().__init__(disk.base, name, flags)
        self.disk = disk
        self.path = Path(name.filename() if isinstance(name, apsw.URIFilename) else name)
        self.is_new = self.path.name.endswith(("-wal", "-journal"))

    def xSync(self, flags):  # noqa: N802
        super().xSync(flags)
        if self.is_new:
            self.disk.sync_directory()
            self.is_new = False
        self.disk.deleted.discard(str(self.path))
        self.disk.synced[str(self.path)] = self.path.read_bytes()


@pytest.fixture
def disk(monkeypatch):
    def exclude_others(connection):
        if not connection.db_filename("main").endswith("journal"):
            connection.pragma("locking_mode", "exclusive")  # the VFS has no shared memory

    disk = Disk(apsw.vfs_names()[0])
    monkeypatch.setattr(apsw, "connection_hooks", [exclude_others])
    opened = partial(apsw.Connection, vfs="disk")
    monkeypatch.setattr(apsw, "Connection", opened)
    # The checksum VFS has a base of its own.
    monkeypatch.setattr("knotwork._sqlite_file._checksum_vfs", lambda: "")
    monkeypatch.setattr(
        "knotwork._sqlite_file.open_connection", lambda name, flags: opened(name, flags=flags)
    )
    yield disk
    disk.unregister()


def write_index(path, number):
    store = EmbeddedStore.open(path, create=True)
    for n in range(number):
        add_document(store, f"{n}.md", ["Ada"], link=True)
    return store


def read_index(path):
    store = EmbeddedStore.open(path)
    assert store.check() == []
    return store.documents.document_count()


def write_calls(path, number):
    database = CallCache(path)
    row = "INSERT INTO spent VALUES ($1, '', '', 1, 0, 0, 0, 0, 0, 0)"
    for n in range(number):
        database.write(lambda tables, n=n: tables.change(row, (str(n),)))
    return database


def read_calls(path):
    return len(CallCache(path).rows("SELECT * FROM spent"))


def write_tables(path, number):
    for n in range(number):
        TableFile(path).put(f"t{n}", [("a", "integer")], [[n]])


def read_tables(path):
    return len(TableFile(path).tables())


def write_facts(path, number):
    memory = FactMemory(path)
    for n in range(number):
        memory.learn(RememberedFact(f"Ada {n}", "lives in", "Oslo", "2024-01-01"))
    return memory


def read_facts(path):
    return len(FactMemory(path).facts())


def write_jobs(path, number):
    jobs = JobStore.open(path)
    for n in range(number):
        job = jobs.add("w", "index", {"n": n})
        jobs.add_event(job.id, "progress", {"done": n})
        jobs.set_state(job.id, JobState.RUNNING)
        jobs.set_state(job.id, JobState.FINISHED)
    return jobs


def read_jobs(path):
    return JobStore.open(path).counts()[JobState.FINISHED]


@pytest.mark.parametrize(
    ("name", "write", "read"),
    [
        ("index with a log", write_index, read_index),
        ("calls with a log", write_calls, read_calls),
        ("jobs with a log", write_jobs, read_jobs),
        ("tables with a journal", write_tables, read_tables),
        ("facts with a journal", write_facts, read_facts),
    ],
)
def test_a_power_failure_costs_no_commit(disk, tmp_path, name, write, read):
    folder = tmp_path / "before"
    folder.mkdir()
    held = write(folder / name, COMMITS)
    disk.fail(tmp_path / "after")
    assert read(tmp_path / "after" / name) == COMMITS
    del held


def test_an_index_that_does_not_wait_for_the_disk_loses_only_the_last_commits(disk, tmp_path):
    folder = tmp_path / "before"
    folder.mkdir()
    write_index(folder / "file", 3).close()
    store = open_store(str(folder / "file"), synchronous="normal")
    for n in range(3, COMMITS):
        add_document(store, f"{n}.md", ["Ada"], link=True)
    disk.fail(tmp_path / "after")
    assert 3 <= read_index(tmp_path / "after" / "file") < COMMITS
    store.close()


def test_another_value_is_refused(tmp_path):
    with pytest.raises(UnknownName, match=r"store\.synchronous.*off"):
        open_store(str(tmp_path / "a.knot"), create=True, synchronous="off")
