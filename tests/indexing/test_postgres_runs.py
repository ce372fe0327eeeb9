"""Runs in several processes at once give the index that one run gives, with its vectors."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import knotwork
from knotwork._extensions.postgres.store import PostgresStore
from knotwork._stores.base import Store
from knotwork.demo import open_sample

pytestmark = pytest.mark.slow

_RUNS = 3
_EMBEDDER = "hashing:32"


def contents(store: Store) -> dict[str, object]:
    """Return what follows from the documents, and from nothing else."""
    nodes = store.graph.find(limit=100_000)
    ids = [node.id for node in nodes]
    return {
        "nodes": nodes,
        "edges": list(store.graph.edges()),
        "vectors": {
            name: {key: rows.tobytes() for key, rows in store.vectors(name).get(ids).items()}
            for name in ("chunk", "sentence", "entity")
        },
        "names": store.texts("entity").occurrences(ids, ["storm", "kestrel", "苍鹭"]).tolist(),
        "counts": [store.texts(name).count() for name in ("chunk", "entity")],
        "sources": [entry.uri for entry in store.ledger.entries()],
    }


def test_runs_over_several_folders_at_once_give_the_index_of_one_run(
    postgres_url: str, tmp_path: Path, start_process: Callable[..., subprocess.Popen[bytes]]
) -> None:
    folders = [tmp_path / "files" / str(number) for number in range(_RUNS)]
    for folder in folders:
        folder.mkdir(parents=True)
    with open_sample() as sample:
        files = sorted(path for path in sample.rglob("*") if path.suffix in (".md", ".txt"))
        for place, path in enumerate(files):
            shutil.copy(path, folders[place % _RUNS] / path.name)
    command = [sys.executable, "-m", "knotwork", "--store", postgres_url]
    command += ["--set", f"embedding.model={_EMBEDDER}", "index", "--no-progress"]
    runs = [
        start_process([*command, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for folder in folders
    ]
    for run in runs:
        said, _ = run.communicate()
        assert run.returncode == 0, said.decode()
    with knotwork.open("memory:", embedder=_EMBEDDER) as alone:
        alone.index(folders)
        server = PostgresStore.open(postgres_url, read_only=True)
        assert contents(server) == contents(alone.store)
        assert server.check() == []
        server.close()
