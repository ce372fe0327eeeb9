"""An index of the URL ``memory:`` is new and empty each time, and leaves nothing behind."""

from __future__ import annotations

import gc
import os
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import knotwork
from knotwork._extensions.testing.store_contract import add_document, snapshot
from knotwork._stores.urls import open_store
from knotwork.errors import StoreError

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of temporary files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_each_is_new_and_empty() -> None:
    with closing(open_store("memory:")) as store, closing(open_store("memory:")) as other:
        empty = snapshot(other)
        add_document(store, "a.md", ["Ada"], link=True)
        assert store.url == other.url == "memory:"
        assert snapshot(other) == empty
        assert snapshot(store) != empty


def test_its_files_are_private_and_gone_once_it_is_closed(folder: Path) -> None:
    store = open_store("memory:")
    add_document(store, "a.md", ["Ada"])
    (held,) = folder.iterdir()
    assert stat.S_IMODE(held.stat().st_mode) == 0o700
    store.close()
    store.close()
    assert list(folder.iterdir()) == []
    with pytest.raises(StoreError, match="`memory:` is closed"):
        store.documents.document_ids()


def test_its_files_are_gone_once_nobody_uses_it(folder: Path) -> None:
    store = open_store("memory:")
    documents = store.documents
    add_document(store, "a.md", ["Ada"])
    del store
    gc.collect()
    assert len(documents.document_ids()) == 1
    del documents
    gc.collect()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("end", ["", "raise SystemExit(1)", "raise ValueError"])
def test_its_files_are_gone_once_the_process_ends(folder: Path, end: str) -> None:
    program = f"import knotwork\nkb = knotwork.open('memory:', embedding_model='none')\n{end}"
    options = {**os.environ, "TMPDIR": str(folder), "TMP": str(folder), "TEMP": str(folder)}
    subprocess.run([sys.executable, "-c", program], env=options, check=False, capture_output=True)
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_shares_it_and_leaves_it_to_its_parent(folder: Path) -> None:
    with closing(open_store("memory:")) as store:
        add_document(store, "a.md", ["Ada"])
        before = snapshot(store)
        child = os.fork()
        if child == 0:
            is_same = snapshot(store) == before
            store.close()
            os._exit(0 if is_same else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert snapshot(store) == before
    assert list(folder.iterdir()) == []


def test_it_may_be_opened_for_reading_only() -> None:
    with knotwork.open("memory:", embedding_model="none", read_only=True) as kb:
        assert kb.documents() == []
