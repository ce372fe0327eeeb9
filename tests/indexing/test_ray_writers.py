"""Many writers on a real cluster and a real server give the index of one writer in a file."""

import os
import signal
import sys
from dataclasses import dataclass

import pytest
from tests.indexing.ray_parts import (
    built,
    is_below_ray,
    is_first,
    kill_a_run,
    open_index,
    two_processors,
    write_documents,
)
from tests.indexing.snapshots import snapshot

from knotwork._config import StoreSettings
from knotwork._extensions.postgres.store import PostgresStore
from knotwork.errors import IndexingError

ray = pytest.importorskip("ray", reason="needs the extra `ray`")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="kills processes by signals"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    with two_processors() as ray:
        yield ray


@pytest.fixture
def folder(tmp_path):
    return write_documents(tmp_path / "docs")


@dataclass(frozen=True)
class NotingOpener:
    """Opens the store in an actor, and leaves a file that is named for its process.

    With ``deadly``, the first process to commit dies in the middle of it, with ``always`` each one.
    """

    url: str
    limits: StoreSettings
    folder: str
    deadly: bool = False
    always: bool = False

    def __call__(self):
        store = PostgresStore.open(self.url, limits=self.limits)
        if is_below_ray():
            with open(f"{self.folder}/{os.getpid()}", "w", encoding="utf-8"):  # noqa: PTH123
                pass
        if self.deadly:
            put = store.ledger.put

            def die(entries):
                put(entries)
                if self.always or is_first(f"{self.folder}/died"):
                    os.kill(os.getpid(), signal.SIGKILL)

            store.ledger.put = die
        return store


@pytest.fixture
def noted(tmp_path, monkeypatch):
    """Return a function that notes the processes that write, and may have them die."""
    folder = tmp_path / "writers"
    folder.mkdir()

    def note(**options):
        plain = PostgresStore.open.__func__

        def opened(cls, url, *, limits=None, **how):
            store = plain(cls, url, limits=limits, **how)
            store._opener = NotingOpener(url, limits, str(folder), **options)
            return store

        monkeypatch.setattr(PostgresStore, "open", classmethod(opened))
        return folder

    return note


def test_an_index_of_many_writers_equals_one_by_a_single_writer(
    cluster, tmp_path, folder, noted, postgres_url
):
    writers = noted()
    on_ray = built(postgres_url, folder)
    here = built(tmp_path / "here.knot", folder, compute="processes")
    assert on_ray == here
    assert len(list(writers.iterdir())) > 1


def test_a_commit_of_a_killed_writer_is_made_again(cluster, tmp_path, folder, noted, postgres_url):
    writers = noted(deadly=True)
    on_ray = built(postgres_url, folder)
    assert (writers / "died").exists()
    assert on_ray == built(tmp_path / "here.knot", folder, compute="processes")


def test_a_commit_that_always_costs_its_writer_stops_the_run(
    cluster, tmp_path, folder, noted, postgres_url
):
    noted(deadly=True, always=True)
    with (
        open_index(postgres_url) as kb,
        pytest.raises(IndexingError, match="stores documents died 4 times"),
    ):
        kb.index(folder)


def test_the_run_goes_on_after_its_process_was_killed(cluster, tmp_path, folder, postgres_url):
    kill_a_run(postgres_url, folder)
    with open_index(postgres_url) as kb:
        kb.index(folder)
        resumed = snapshot(kb.store)
    assert resumed == built(tmp_path / "here.knot", folder, compute="processes")[0]
