"""One writer, many readers: threads, processes, and a second writer that has to wait."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tests.stores.reading_process import check_once

from knotwork._extensions.testing.store_contract import add_document
from knotwork._stores.embedded import EmbeddedStore
from knotwork.errors import StoreBusy, StoreError

pytestmark = pytest.mark.slow


NAMES = ["Ada", "Bob", "Cy"]
_DOCUMENTS = 25


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.knot"


@pytest.fixture
def store(path: Path) -> Iterator[EmbeddedStore]:
    opened = EmbeddedStore.open(path, create=True)
    yield opened
    opened.close()


def write_documents(store: EmbeddedStore) -> int:
    """Add and remove documents, one transaction each; return the chunks at the end."""
    for number in range(_DOCUMENTS):
        gone = add_document(store, f"{number}.md", NAMES, link=True)
        if number % 4 == 3:
            store.remove_documents([gone])
    return store.documents.chunk_count()


def test_threads_read_while_one_writes(store: EmbeddedStore) -> None:
    done = threading.Event()

    def read() -> int:
        reads = 0
        while not done.is_set():
            check_once(store)
            reads += 1
        return check_once(store) if reads else -1

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        try:
            chunks = write_documents(store)
        finally:
            done.set()
        assert {reader.result() for reader in readers} <= {chunks, -1}


def test_processes_read_while_one_writes(
    store: EmbeddedStore,
    path: Path,
    tmp_path: Path,
    start_process: Callable[..., subprocess.Popen[bytes]],
) -> None:
    stop = tmp_path / "stop"
    script = str(Path(__file__).with_name("reading_process.py"))
    readers = [
        start_process([sys.executable, script, str(path), str(stop)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    chunks = write_documents(store)
    stop.with_suffix(".new").write_text(str(chunks))
    stop.with_suffix(".new").rename(stop)
    for reader in readers:
        output, _ = reader.communicate()
        assert reader.returncode == 0
        assert int(output) >= 0


def test_threads_write_in_turn(store: EmbeddedStore) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: add_document(store, f"{n}.md", NAMES, link=True), range(12)))
    assert check_once(store) == 36
    assert store.graph.lookup(["hub"])["hub"].chunk_count == 12


def test_a_second_writer_learns_who_holds_the_lock(store: EmbeddedStore, path: Path) -> None:
    other = EmbeddedStore.open(path, busy_timeout_s=0.01)
    with store.transaction():
        store.set_meta({"a": "1"})
        with pytest.raises(StoreBusy, match=r"index\.knot") as caught:
            other.set_meta({"b": "2"})
        assert "try again" in caught.value.fix
        assert dict(other.meta()) == {}
    other.set_meta({"b": "2"})
    assert dict(store.meta()) == {"a": "1", "b": "2"}
    other.close()


def test_vectors_follow_another_writer(store: EmbeddedStore, path: Path) -> None:
    rows = np.eye(8, dtype=np.float32)
    ids = [f"{n:016x}" for n in range(8)]
    other = EmbeddedStore.open(path)
    for n in range(8):
        other.vectors("chunk").put([(ids[n], "key", rows[n])])
        assert store.vectors("chunk").search(rows[n], k=1)[0].id == ids[n]
    other.vectors("chunk").remove(ids[:4])
    found = store.vectors("chunk").search(rows.sum(axis=0), k=8)
    assert [scored.id for scored in found] == ids[4:]
    other.vectors("chunk").remove(ids)
    other.vectors("chunk").put([(ids[0], "key", np.ones(3, dtype=np.float32))])
    assert [s.score for s in store.vectors("chunk").search(np.ones(3, dtype=np.float32), k=8)] == [
        3.0
    ]
    other.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_opens_its_own_connection(store: EmbeddedStore) -> None:
    add_document(store, "a.md", NAMES)
    child = os.fork()
    if child == 0:
        try:
            store.set_meta({"child": str(store.documents.chunk_count())})
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert dict(store.meta()) == {"child": "3"}


def test_a_closed_store_is_reported(path: Path) -> None:
    store = EmbeddedStore.open(path, create=True)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.meta()
