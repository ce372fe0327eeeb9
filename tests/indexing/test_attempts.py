"""Files in progress when the program was killed: begun again twice, then not until they change."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import knotwork
from knotwork._indexing import changes as attempts_module
from knotwork._indexing.changes import MOST_STARTS, SUFFIX, Attempts
from knotwork._indexing.prepare import SourceFile


def source(uri="a.pdf", *, size=7, modified_ns=1):
    return SourceFile(uri, lambda: None, size=size, modified_ns=modified_ns)


@pytest.fixture(autouse=True)
def noted_immediately(monkeypatch):
    monkeypatch.setattr(attempts_module, "NOTED_AFTER_S", 0.0)


class Noting(Attempts):
    """Notes each file when it is begun."""

    def begin(self, source):
        super().begin(source)
        self.wait_for(source.uri)


def reopened(path):
    return Noting(str(path))


@pytest.fixture
def slow_run(tmp_path, monkeypatch):
    """Attempts of a run with a clock that the test sets, and the path of the index."""
    monkeypatch.setattr(attempts_module, "NOTED_AFTER_S", 2.0)
    path, now = tmp_path / "i.knot", [0.0]
    attempts = Attempts(str(path), clock=lambda: now[0])

    def wait(uri, *, until):
        attempts.wait_for(uri)
        now[0] = until
        attempts.wait_for(uri)

    def counts(*names):
        after_a_kill = Attempts(str(path))
        return [after_a_kill.count(source(name)) for name in names]

    return attempts, wait, counts


def test_only_files_on_which_a_run_waits_for_long_are_noted(tmp_path, slow_run):
    attempts, wait, counts = slow_run
    for name in ("short.pdf", "long.pdf", "behind.pdf"):
        attempts.begin(source(name))
    wait("short.pdf", until=1.5)
    wait("long.pdf", until=3.0)
    assert not list(tmp_path.iterdir())
    wait("long.pdf", until=3.5)
    assert counts("short.pdf", "long.pdf", "behind.pdf") == [0, 1, 0]
    wait("behind.pdf", until=5.0)
    attempts.end(["long.pdf"])
    assert counts("short.pdf", "long.pdf", "behind.pdf") == [0, 0, 0]


def test_a_file_of_which_parts_are_kept_is_not_counted_for_earlier_ones(tmp_path, slow_run):
    attempts, wait, counts = slow_run
    attempts.begin(source("book.pdf"))
    wait("book.pdf", until=2.5)
    assert counts("book.pdf") == [1]
    attempts.keep_part(source("book.pdf"))
    wait("book.pdf", until=4.0)
    assert counts("book.pdf") == [0]
    wait("book.pdf", until=5.0)
    assert counts("book.pdf") == [1]


def test_unfinished_attempts_count(tmp_path):
    path = tmp_path / "i.knot"
    for times in range(3):
        attempts = reopened(path)
        assert attempts.count(source()) == times
        attempts.begin(source())
        attempts.begin(source("b.pdf"))
        attempts.end(["b.pdf"])
    last = reopened(path)
    assert last.count(source()) == 3
    assert last.count(source("b.pdf")) == 0


def test_a_changed_file_counts_from_the_start(tmp_path):
    path = tmp_path / "i.knot"
    reopened(path).begin(source())
    again = reopened(path)
    assert again.count(source(size=8)) == 0
    assert again.count(source(modified_ns=2)) == 0
    assert again.count(source()) == 1


def test_an_outcome_ends_all_attempts(tmp_path):
    path = tmp_path / "i.knot"
    reopened(path).begin(source())
    attempts = reopened(path)
    attempts.begin(source())
    attempts.end(["a.pdf", "never begun"])
    assert reopened(path).count(source()) == 0
    attempts.close()
    assert not list(tmp_path.iterdir())


def test_a_run_that_ends_in_order_blames_no_file_but_keeps_earlier_counts(tmp_path):
    path = tmp_path / "i.knot"
    reopened(path).begin(source())
    attempts = reopened(path)
    attempts.begin(source())
    attempts.begin(source("b.pdf"))
    attempts.close()
    last = reopened(path)
    assert (last.count(source()), last.count(source("b.pdf"))) == (1, 0)
    assert [file.name for file in tmp_path.iterdir()] == [f"i.knot{SUFFIX}"]


def test_a_damaged_record_is_read_as_far_as_possible(tmp_path):
    path = tmp_path / "i.knot"
    reopened(path).begin(source())
    record = path.with_name(path.name + SUFFIX)
    record.write_text(record.read_text() * 2 + '[1]\n{"begun": 7}\n{"ended": ["a.p', "utf-8")
    assert reopened(path).count(source()) == 2
    record.write_bytes(b"\xff\xfe")
    assert reopened(path).count(source()) == 0


def test_an_index_that_is_not_a_file_has_no_record(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    attempts = Noting("memory:")
    attempts.begin(source())
    attempts.end(["a.pdf"])
    attempts.close()
    assert not list(tmp_path.iterdir())


def open_kb(path):
    return knotwork.open(path, embedding_model="none", index_workers=0)


def write_docs(folder):
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / f"{name}.txt").write_text(f"The pump {name} runs at 40 bar.")


def kill_while_reading(path, file, *, times):
    """Leave the record of a program that was killed while it read a file, so many times."""
    status = file.stat()
    for _ in range(times):
        begun = source(f"docs/{file.name}", size=status.st_size, modified_ns=status.st_mtime_ns)
        reopened(path).begin(begun)


def test_a_file_is_begun_three_times_and_then_fails_until_it_changes(tmp_path):
    docs, path = tmp_path / "docs", tmp_path / "i.knot"
    write_docs(docs)
    kill_while_reading(path, docs / "a.txt", times=MOST_STARTS)
    with open_kb(path) as kb:
        report = kb.index(docs)
        (failure,) = report.failures
        assert (failure.uri, failure.reason, report.added) == ("docs/a.txt", "killed", 2)
        assert "in progress 3 times when Knotwork was killed" in failure.message
        assert [f.reason for f in kb.index(docs).failures] == ["killed"]
        (docs / "a.txt").write_text("The pump a runs at 50 bar now.")
        assert kb.index(docs).added == 1
    assert not path.with_name(path.name + SUFFIX).exists()


def test_retry_begins_it_again(tmp_path):
    docs, path = tmp_path / "docs", tmp_path / "i.knot"
    write_docs(docs)
    kill_while_reading(path, docs / "a.txt", times=MOST_STARTS)
    with open_kb(path) as kb:
        assert kb.index(docs, retry=True).added == 3


def test_the_last_attempt_is_made_after_all_others_are_committed(tmp_path):
    docs, path = tmp_path / "docs", tmp_path / "i.knot"
    write_docs(docs)
    kill_while_reading(path, docs / "a.txt", times=MOST_STARTS - 1)
    with open_kb(path) as kb:
        events = list(kb.index.run(docs))
    order = [(event.stage.value, event.subject[-5:]) for event in events if event.subject]
    assert order.index(("added", "c.txt")) < order.index(("started", "a.txt"))
    assert order[-1] == ("added", "a.txt")


KILLER = """
import os, signal, sys
import knotwork
from knotwork._indexing import changes
from knotwork.plugins import Content, register

class Loader:
    name, suffixes, signatures = "deadly", (".deadly",), ()

    def load(self, source):
        os.kill(int(source.data), signal.SIGKILL)  # the program, not the worker
        return Content("never", "text/plain")

if __name__ == "__main__":
    changes.NOTED_AFTER_S = 0.0
    register("loaders", "deadly", Loader)
    docs, index = sys.argv[1:]
    with open(docs + "/b.deadly", "w") as file:
        file.write(str(os.getpid()).zfill(12))
    os.utime(docs + "/b.deadly", (1, 1))
    with knotwork.open(index, embedding_model="none") as kb:
        report = kb.index(docs)
        print(report.added + report.unchanged, *(f.reason for f in report.failures))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_a_file_that_kills_the_program_does_so_three_times_at_most(tmp_path):
    docs, index = tmp_path / "docs", tmp_path / "i.knot"
    write_docs(docs)
    outcomes = []
    for _ in range(MOST_STARTS + 1):
        line = [sys.executable, "-c", KILLER, str(docs), str(index)]
        done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)
        outcomes.append((done.returncode, done.stdout.strip()))
    assert outcomes == [(-9, "")] * MOST_STARTS + [(0, "3 killed")]


def test_a_record_names_files_and_nothing_of_their_content(tmp_path):
    path = tmp_path / "i.knot"
    reopened(path).begin(replace(source("docs/ä.pdf")))
    record = Path(f"{path}{SUFFIX}")
    assert json.loads(record.read_text()) == {"begun": ["docs/ä.pdf", 7, 1]}
    assert record.stat().st_mode & 0o077 == 0
