"""Backups: of one commit, verified, whole or not there; and restoring them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.knowledge_base.damaged_index import ask, build, page_kinds, settings, write_documents
from tests.stores.raw_files import flip

import knotwork
from knotwork._extensions.agents.fact_memory import FactMemory, RememberedFact
from knotwork._extensions.testing.store_contract import add_document, snapshot
from knotwork._extensions.upkeep import backups
from knotwork._sqlite_file import CALLS_SUFFIX, MEMORY_SUFFIX, TABLES_SUFFIX
from knotwork._stores.embedded import EmbeddedStore
from knotwork.errors import (
    IndexDamaged,
    MissingCapability,
    StoreBusy,
    StoreError,
    StoreNotFound,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("backups")
    write_documents(folder / "docs", count=6)
    build(folder / "index.knot", folder / "docs")
    memory = FactMemory(folder / f"index.knot{MEMORY_SUFFIX}")
    memory.learn(RememberedFact("Ada", "lives in", "Port 7", "2024-01-01"))
    memory.close()
    return folder


def back_up(index: Path, target: Path, *, overwrite: bool = False) -> backups.BackupReport:
    with knotwork.open(index, settings=settings(), read_only=True) as kb:
        return kb.backup(target, overwrite=overwrite)


def test_a_backup_holds_the_index_and_what_belongs_to_it(made: Path, tmp_path: Path) -> None:
    report = back_up(made / "index.knot", tmp_path / "backup")
    assert [file.name for file in report.files] == [
        "index.knot",
        f"index.knot{TABLES_SUFFIX}",
        f"index.knot{MEMORY_SUFFIX}",
    ]
    assert report.documents == 7
    assert report.protected
    names = {file.name for file in (tmp_path / "backup").iterdir()}
    assert names == {"backup.json", *(file.name for file in report.files)}
    assert [entry.name for entry in tmp_path.iterdir()] == ["backup"]
    assert ask(tmp_path / "backup" / "index.knot") == ask(made / "index.knot")


def test_a_restored_index_is_the_one_that_was_backed_up(made: Path, tmp_path: Path) -> None:
    back_up(made / "index.knot", tmp_path / "backup")
    restored = tmp_path / "restored.knot"
    report = knotwork.restore(tmp_path / "backup", restored)
    assert report.documents == 7
    assert ask(restored) == ask(made / "index.knot")
    memory = FactMemory(restored.with_name(f"{restored.name}{MEMORY_SUFFIX}"))
    assert [fact.object for fact in memory.facts()] == ["Port 7"]
    memory.close()


def test_a_backup_during_a_write_is_the_index_at_one_commit(tmp_path: Path) -> None:
    index = tmp_path / "index.knot"
    EmbeddedStore.open(index, create=True).close()
    writer = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("backed_up_writer.py"), index],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path))},
    )
    assert writer.stdout is not None
    try:
        reports = []
        for number in range(4):
            for _ in range(5):
                assert writer.stdout.readline().strip()
            reports.append(back_up(index, tmp_path / f"backup-{number}"))
        assert writer.poll() is None, "it wrote all the time"
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()
    for number, report in enumerate(reports):
        copy = EmbeddedStore.open(tmp_path / f"backup-{number}" / "index.knot", read_only=True)
        assert copy.generation() == report.generation
        assert report.documents == int(copy.meta()["documents"])
        expected = EmbeddedStore.open(tmp_path / f"expected-{number}.knot", create=True)
        for document in range(report.documents):
            add_document(
                expected,
                f"{document:05}.md",
                [f"Person {document} meets Ada {n}." for n in range(4)],
            )
        expected.set_meta(copy.meta())
        assert copy.check() == []
        assert snapshot(copy) == snapshot(expected)
        copy.close()
        expected.close()


def test_an_existing_backup_is_replaced_only_by_force(made: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup"
    back_up(made / "index.knot", target)
    before = (target / "backup.json").read_bytes()
    with pytest.raises(StoreError, match="exists") as caught:
        back_up(made / "index.knot", target)
    assert "--force" in caught.value.fix
    assert (target / "backup.json").read_bytes() == before
    back_up(made / "index.knot", target, overwrite=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["backup"]


def test_a_folder_that_is_not_a_backup_is_never_replaced(made: Path, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"cat")
    with pytest.raises(StoreError, match="not a backup"):
        back_up(made / "index.knot", tmp_path / "photos", overwrite=True)
    assert (tmp_path / "photos" / "cat.jpg").read_bytes() == b"cat"


def test_an_interrupted_backup_leaves_nothing(made: Path, tmp_path: Path) -> None:
    with knotwork.open(made / "index.knot", settings=settings(), read_only=True) as kb:
        events = kb.backup.run(tmp_path / "backup")
        assert next(events).stage == "copying"
        events.close()
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_index_is_not_backed_up(made: Path, tmp_path: Path) -> None:
    index = tmp_path / "index.knot"
    index.write_bytes((made / "index.knot").read_bytes())
    flip(index, (page_kinds(index)["chunk"][-1] - 1) * 8_192 + 3_000)
    with pytest.raises(IndexDamaged, match="passages"):
        back_up(index, tmp_path / "backup")
    assert not [entry for entry in tmp_path.iterdir() if entry.is_dir()]


@pytest.mark.parametrize("file", ["index.knot", f"index.knot{TABLES_SUFFIX}", "backup.json"])
def test_a_damaged_backup_changes_nothing(made: Path, tmp_path: Path, file: str) -> None:
    back_up(made / "index.knot", tmp_path / "backup")
    flip(tmp_path / "backup" / file, 1 if file.endswith("json") else 9_000, 0x80)
    index = tmp_path / "index.knot"
    back_up(made / "index.knot", tmp_path / "good")
    knotwork.restore(tmp_path / "good", index)
    before = index.read_bytes()
    with pytest.raises(IndexDamaged, match="backup"):
        knotwork.restore(tmp_path / "backup", index, overwrite=True)
    assert index.read_bytes() == before
    assert not [entry for entry in tmp_path.iterdir() if entry.name.count(".") > 2]


def test_an_index_is_replaced_only_by_force(made: Path, tmp_path: Path) -> None:
    back_up(made / "index.knot", tmp_path / "backup")
    index = tmp_path / "index.knot"
    store = EmbeddedStore.open(index, create=True)
    add_document(store, "other.md", ["Something else."])
    store.close()
    calls = index.with_name(f"{index.name}{CALLS_SUFFIX}")
    calls.write_bytes(b"")
    with pytest.raises(StoreError, match="exists"):
        knotwork.restore(tmp_path / "backup", index)
    knotwork.restore(tmp_path / "backup", index, overwrite=True)
    assert ask(index) == ask(made / "index.knot")
    assert not calls.exists(), "it belonged to the index that was replaced"


def test_an_index_in_use_is_not_replaced(made: Path, tmp_path: Path) -> None:
    back_up(made / "index.knot", tmp_path / "backup")
    index = tmp_path / "index.knot"
    knotwork.restore(tmp_path / "backup", index)
    with knotwork.open(index, settings=settings()) as kb:
        kb.stats()
        with pytest.raises(StoreBusy, match="uses the index"):
            knotwork.restore(tmp_path / "backup", index, overwrite=True)
    assert ask(index) == ask(made / "index.knot")


def test_folders_that_are_not_backups_are_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreNotFound, match="not a backup"):
        knotwork.restore(tmp_path / "folder", tmp_path / "index.knot")
    (tmp_path / "folder" / "backup.json").write_text(json.dumps({"format": 99}), "utf-8")
    with pytest.raises(StoreError, match="format 99"):
        knotwork.restore(tmp_path / "folder", tmp_path / "index.knot")
    outside = {"kind": "index", "name": "../index.knot", "size": 1, "sha256": ""}
    manifest = {"format": 1, "index": "", "created": "", "generation": 1, "documents": 1}
    (tmp_path / "folder" / "backup.json").write_text(
        json.dumps({**manifest, "protected": True, "files": [outside]}), "utf-8"
    )
    with pytest.raises(IndexDamaged, match="unknown files"):
        knotwork.restore(tmp_path / "folder", tmp_path / "index.knot")


def test_an_index_in_memory_has_no_backup(tmp_path: Path) -> None:
    with (
        knotwork.open("memory:", settings=settings()) as kb,
        pytest.raises(MissingCapability, match="backups"),
    ):
        kb.backup(tmp_path / "backup")


def test_the_asynchronous_twin_backs_up(made: Path, tmp_path: Path) -> None:
    async def run() -> None:
        index = made / "index.knot"
        async with knotwork.open_async(index, settings=settings(), read_only=True) as kb:
            report = await kb.backup(tmp_path / "one")
            stages = [step.stage async for step in kb.backup.run(tmp_path / "two")]
        assert report.documents == 7
        assert stages[-1] == "verifying"

    asyncio.run(run())
    assert ask(tmp_path / "two" / "index.knot") == ask(made / "index.knot")


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_only_the_owner_can_read_a_backup(made: Path, tmp_path: Path) -> None:
    back_up(made / "index.knot", tmp_path / "backup")
    assert (tmp_path / "backup").stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "backup").iterdir()} == {0o600}
