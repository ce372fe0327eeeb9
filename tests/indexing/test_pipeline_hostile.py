"""Folders that go wrong in every way: all of it is reported, and nothing that is good is lost."""

import os
import random
import threading

import pytest
from tests.indexing.pipeline_fakes import make_stages, make_text, text_source
from tests.indexing.snapshots import snapshot

import knotwork
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.run import IndexingRun
from knotwork._run import Stage
from knotwork._stores.embedded import EmbeddedStore
from knotwork._stores.urls import open_store
from knotwork.errors import StoreBusy

pytestmark = pytest.mark.slow


SUFFIXES = (
    "pdf",
    "docx",
    "pptx",
    "xlsx",
    "epub",
    "json",
    "jsonl",
    "html",
    "csv",
    "md",
    "txt",
    "eml",
)
NAMES = (
    "a b.txt",
    "über ñandú.txt",
    "文件 一.md",
    "עברית.txt",
    "e\u0301te\u0301.txt",
    "\U0001f427.txt",
    "semi;colon 'quote'.txt",
    "percent%20[1].txt",
    "-dash.txt",
    "line\nbreak.txt",
    "x" * 200 + ".txt",
)
TEXTS = {
    "long line.txt": "Ada meets Bo. " * 4_000,
    "no breaks.txt": "a" * 300_000,
    "nulls.txt": "Ada\x00 meets\x00 Bo in the hall.",
    "right to left.txt": "\u202eAda meets Bo\u202c שלום עולם. مرحبا بالعالم.",
    "combining.txt": "Z" + "\u0300" * 500 + " meets A\u0308da.",
    "controls.txt": "".join(map(chr, range(1, 32))) + " Ada meets Bo.",
    "only marks.md": "# \n\n## \n\n---\n\n* * *\n\nAda meets Bo.",
    "ten thousand headings.md": "\n\n".join(f"# Heading {i}" for i in range(3_000)),
    "deep.json": "[" * 900 + '"Ada meets Bo"' + "]" * 900,
}


@pytest.fixture
def kb(tmp_path):
    with knotwork.open(
        tmp_path / "index.knot", embedder=HashingEmbedder(16), index_workers=1
    ) as opened:
        yield opened


@pytest.fixture
def docs(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    return docs


def outcomes(report):
    return report.added + report.changed + report.unchanged + report.failed


def test_broken_files_of_every_format_are_reported_and_the_good_ones_indexed(kb, docs):
    for suffix in SUFFIXES:
        (docs / f"empty.{suffix}").write_bytes(b"")
        (docs / f"noise.{suffix}").write_bytes(bytes(range(256)) * 8)
        (docs / f"zip.{suffix}").write_bytes(b"PK\x03\x04" + b"\xff" * 64)
        (docs / f"cut.{suffix}").write_bytes(b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog")
    (docs / "good.txt").write_text("Ada meets Bo.", "utf-8")
    report = kb.index(docs)

    assert outcomes(report) == 4 * len(SUFFIXES) + 1
    assert "docs/good.txt" in [e.uri for e in kb.documents() if not e.error]
    assert {f"docs/empty.{suffix}" for suffix in SUFFIXES} <= {f.uri for f in report.failures}
    assert all(failure.reason and failure.message for failure in report.failures)
    assert len(kb.documents()) == outcomes(report)
    assert outcomes(kb.index(docs)) == outcomes(report)


def test_odd_texts_are_kept_to_the_character(kb, docs):
    for name, text in TEXTS.items():
        (docs / name).write_bytes(text.encode())
    report = kb.index(docs)

    assert outcomes(report) == len(TEXTS)
    documents = kb.store.documents
    for document in documents.documents(documents.document_ids()).values():
        covered = bytearray(len(document.text))
        for chunk in documents.chunks(documents.chunk_ids_of([document.id])[document.id]).values():
            start, end = chunk.span
            assert document.text[start:end] == chunk.text
            covered[start:end] = b"\x01" * (end - start)
        lost = [c for c, kept in zip(document.text, covered, strict=True) if not kept]
        assert not "".join(lost).strip()
    assert kb.search("Ada meets Bo").hits


def test_odd_names_are_indexed_found_again_and_deleted(kb, docs):
    for name in NAMES:
        (docs / name).write_text(f"Ada meets Bo in {name}.", "utf-8")
    assert kb.index(docs).added == len(NAMES)
    assert kb.index(docs).unchanged == len(NAMES)
    for name in NAMES:
        assert kb.delete(f"docs/{name}") == (f"docs/{name}",)
    assert kb.stats().entities == 0


def test_a_name_that_is_no_text_is_indexed_all_the_same(kb, docs):
    try:
        with open(os.fsencode(docs) + b"/bad\xff.txt", "wb") as file:  # noqa: PTH123
            file.write(b"Ada meets Bo.")
    except OSError:
        pytest.skip("this file system takes no such names")
    assert kb.index(docs).added == 1
    assert kb.index(docs).unchanged == 1
    assert len(kb.delete("docs")) == 1


def test_links_that_go_round_end(kb, docs):
    (docs / "good.txt").write_text("Ada meets Bo.", "utf-8")
    (docs / "self").symlink_to(docs)
    (docs / "up").symlink_to(docs.parent)
    (docs / "loop").symlink_to(docs / "loop")
    (docs / "nowhere.txt").symlink_to(docs / "nothing.txt")
    report = kb.index(docs)
    assert report.added == 1
    assert {failure.uri for failure in report.failures} <= {"docs/loop", "docs/nowhere.txt"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_special_files_are_reported_and_not_waited_for(kb, docs):
    os.mkfifo(docs / "pipe.txt")
    report = kb.index(docs)
    assert [(f.uri, f.reason) for f in report.failures] == [("docs/pipe.txt", "not_a_file")]


class Locked:
    """Makes a folder unreadable, for everybody: permissions do not stop an administrator."""

    def __init__(self, monkeypatch, folder):
        self._scandir = os.scandir
        self._folder = os.fspath(folder)
        monkeypatch.setattr(os, "scandir", self)

    def __call__(self, path="."):
        if os.fspath(path) == self._folder:
            raise PermissionError(13, "Permission denied", self._folder)
        return self._scandir(path)


def test_a_folder_that_cannot_be_looked_into_keeps_what_was_indexed_of_it(kb, docs, monkeypatch):
    (docs / "locked").mkdir()
    (docs / "locked" / "secret.txt").write_text("Ada meets Bo.", "utf-8")
    (docs / "open.txt").write_text("Cleo meets Dai.", "utf-8")
    kb.index(docs)
    with monkeypatch.context() as patch:
        Locked(patch, docs / "locked")
        report = kb.index(docs)
    assert [failure.uri for failure in report.failures] == ["docs/locked"]
    assert report.removed == ()
    assert kb.search("Ada meets Bo").hits

    report = kb.index(docs)
    assert (report.unchanged, report.failed, report.removed) == (2, 0, ())
    assert [entry.uri for entry in kb.documents()] == ["docs/locked/secret.txt", "docs/open.txt"]


def test_a_file_that_vanishes_during_the_run_is_reported(kb, docs):
    for name in ("a.txt", "b.txt"):
        (docs / name).write_text(f"Ada meets {name}.", "utf-8")
    events = kb.index.run(docs)
    for event in events:
        if event.stage is Stage.STARTED and event.subject == "docs/a.txt":
            (docs / "b.txt").unlink()
        report = event.value
    assert [(f.uri, f.reason) for f in report.failures] == [("docs/b.txt", "missing")]
    assert kb.index(docs).failed == 0
    assert [entry.uri for entry in kb.documents()] == ["docs/a.txt"]


def test_too_large_a_file_is_indexed_once_the_limit_allows_it(tmp_path, docs):
    (docs / "large.txt").write_text("Ada meets Bo.\n" * 200, "utf-8")
    path = tmp_path / "limited.knot"
    with knotwork.open(path, embedding_model="none", index_max_file_mb=0.001) as kb:
        assert [failure.reason for failure in kb.index(docs).failures] == ["too_large"]
    with knotwork.open(path, embedding_model="none") as kb:
        assert kb.index(docs).added == 1


def test_a_second_writer_learns_that_the_index_is_busy(tmp_path):
    path = tmp_path / "index.knot"
    first = open_store(str(path), create=True)
    second = EmbeddedStore.open(path, busy_timeout_s=0.05)
    sources = [text_source("a", make_text(random.Random(1)))]
    with first.transaction():
        first.set_meta({"held": "yes"})
        with pytest.raises(StoreBusy, match="Another process is writing"):
            list(IndexingRun(second, make_stages(HashingEmbedder(16))).update.run(sources))
    last = IndexingRun(second, make_stages(HashingEmbedder(16))).update(sources)
    assert last.added == 1
    first.close()
    second.close()


def test_two_runs_at_a_time_leave_the_index_of_one(tmp_path):
    random_ = random.Random(3)
    texts = {f"d{i}": make_text(random_) for i in range(12)}
    path = tmp_path / "index.knot"
    open_store(str(path), create=True).close()
    failures = []

    def run(order):
        store = open_store(str(path))
        sources = [text_source(uri, texts[uri]) for uri in order]
        try:
            list(
                IndexingRun(store, make_stages(HashingEmbedder(16)), batch_chunks=4).update.run(
                    sources
                )
            )
        except BaseException as error:
            failures.append(error)
            raise
        finally:
            store.close()

    runs = [
        threading.Thread(target=run, args=[order]) for order in (list(texts), list(texts)[::-1])
    ]
    for thread in runs:
        thread.start()
    for thread in runs:
        thread.join()
    assert failures == []
    store = open_store(str(path))
    fresh = open_store("memory:")
    stages = make_stages(HashingEmbedder(16))
    list(
        IndexingRun(fresh, stages).update.run(
            [text_source(uri, text) for uri, text in texts.items()]
        )
    )
    assert snapshot(store) == snapshot(fresh)
    store.close()
