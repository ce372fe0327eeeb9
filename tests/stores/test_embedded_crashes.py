"""A writer that is killed, and a disk that is full, leave the index as it was after a commit."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.stores.crashing_writer import names_of

from knotwork._extensions.testing.store_contract import add_document, snapshot
from knotwork._extensions.upkeep.verification import find_faults
from knotwork._stores.base import Store
from knotwork._stores.embedded import EmbeddedStore
from knotwork._stores.urls import open_store
from knotwork.errors import StoreError

pytestmark = pytest.mark.slow


def run_and_kill(writer: subprocess.Popen[bytes], path: Path, lines: int, bytes_more: int) -> int:
    """Kill a writer somewhere after it acknowledged ``lines`` commits; return the last of them."""
    assert writer.stdout is not None
    acknowledged = [int(writer.stdout.readline()) for _ in range(lines)]
    wal = path.with_name(path.name + "-wal")
    size = wal.stat().st_size + bytes_more
    while wal.stat().st_size < size and writer.poll() is None and bytes_more:
        pass
    writer.send_signal(signal.SIGKILL)
    rest, _ = writer.communicate()
    return max([*acknowledged, *map(int, rest.split(b"\n")[:-1])])


def expected_after(documents: int) -> Store:
    store = open_store("memory:")
    final = {number: number for number in range(documents)}
    for number in range(4, documents, 5):
        final[number - 2] = number
    for number, names in final.items():
        add_document(store, f"{number}.md", names_of(names), link=True)
    return store


@pytest.mark.parametrize("kills", [3, pytest.param(6, marks=pytest.mark.nightly)])
def test_killed_writers_lose_nothing_they_acknowledged(
    kills: int, tmp_path: Path, start_process: Callable[..., subprocess.Popen[bytes]]
) -> None:
    path = tmp_path / "index.knot"
    chance = random.Random(5)
    command = [sys.executable, str(Path(__file__).with_name("crashing_writer.py")), str(path)]
    for _ in range(kills):
        writer = start_process(command, stdout=subprocess.PIPE)
        last = run_and_kill(writer, path, chance.randint(1, 9), chance.choice([0, 1, 30_000]))
        reader = EmbeddedStore.open(path, read_only=True)
        documents = reader.documents.document_count()
        assert documents in (last + 1, last + 2)
        found = snapshot(reader)
        reader.close()
        store = EmbeddedStore.open(path)
        assert find_faults(store._database) == []
        assert snapshot(store) == found
        store.close()
        expected = snapshot(expected_after(documents))
        for part in ("texts", "about", "near"):
            expected.pop(part)
            found.pop(part)
        assert found == expected


@pytest.fixture
def full_store(tmp_path: Path) -> EmbeddedStore:
    store = EmbeddedStore.open(tmp_path / "index.knot", create=True)
    add_document(store, "first.md", ["Ada"], link=True)
    pages = store._database.connection().pragma("page_count")
    store._database.connection().pragma("max_page_count", pages + 3)
    return store


def test_nothing_is_written_after_the_disk_was_full(full_store: EmbeddedStore) -> None:
    before = snapshot(full_store)

    def go_on_regardless() -> None:
        with full_store.transaction():
            with suppress(StoreError):
                add_document(full_store, "large.md", [f"Name {number}" for number in range(200)])
            full_store.set_meta({"a": "1"})

    with pytest.raises(StoreError):
        go_on_regardless()
    assert snapshot(full_store) == before
    full_store.close()


def test_a_full_disk_is_reported_and_harms_nothing(full_store: EmbeddedStore) -> None:
    before = snapshot(full_store)
    with pytest.raises(StoreError, match="disk is full") as caught:
        add_document(full_store, "large.md", [f"Name {number}" for number in range(200)])
    assert "index.knot" in str(caught.value)
    assert "Free some disk space" in caught.value.fix
    assert snapshot(full_store) == before
    assert find_faults(full_store._database) == []
    full_store._database.connection().pragma("max_page_count", 1 << 30)
    add_document(full_store, "later.md", ["Bob"])
    full_store.close()
