"""Files that unfold, run or crash: each is one failed file, and all others are indexed."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import pytest
from tests.indexing import hostile_files as hostile
from tests.indexing.office_files import make_docx, simple_docx

import knotwork
from knotwork._config import IndexSettings
from knotwork._indexing import workers
from knotwork._indexing.loaders.loader_registry import (
    LIGHT_BYTES,
    LOADERS,
    ReadElsewhere,
    load_file,
    may_be_light,
)
from knotwork._indexing.prepare import WORTH_BYTES, Prepared, Preparer, Recipe, SourceFile
from knotwork._indexing.sources import select_files
from knotwork._indexing.splitters import make_splitter
from knotwork._indexing.worker_process import keeping, pickled
from knotwork._indexing.workers import ReadingLimits
from knotwork._transform.rules import RuleExtractor
from knotwork.errors import LoadError
from knotwork.plugins import Content
from knotwork.records import Document

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="it has no limits of memory"),
]

RECIPE = Recipe(make_splitter(), RuleExtractor())
MEGABYTE = 1_000_000

HOSTILE = {
    "repeated_string.xlsx": ("too_large", hostile.repeated_string_sheet),
    "far_column.xlsx": ("too_large", hostile.far_column_sheet),
    "paragraphs.docx": ("too_large|out_of_memory|too_slow", hostile.many_paragraphs),
    "slide.pptx": ("too_large|too_slow", hostile.many_slide_paragraphs),
    "pages.epub": ("too_large", hostile.long_book),
    # pdfium ends its process where memory ends.
    "stream.pdf": ("broken|crashed|out_of_memory|too_slow", hostile.inflating_pdf),
    "attributes.html": ("too_slow|out_of_memory", partial(hostile.html_attributes, count=200_000)),
    "parts.eml": ("too_slow|out_of_memory", partial(hostile.many_mail_parts, parts=25_000)),
    "nested.json": ("broken", hostile.nested_json),
    "nested.eml": ("broken", hostile.nested_mail),
    "members.docx": ("too_large", partial(hostile.many_members, members=60_000)),
    "entity.docx": ("broken|too_large", hostile.entity_text),
}
BEARABLE = {
    "page.epub": hostile.repeated_page_book,
    "nested.html": partial(hostile.nested_html, depth=200_000),
    "wide.csv": partial(hostile.wide_csv, columns=1_000_000),
}
"""Files that look alike, and need no more than their limits."""

INDEX = """
import json, resource, sys
import knotwork
from knotwork._indexing import workers
options = {
    "embedding_model": "none",
    "index_max_file_characters": 1_000_000,
    "index_max_file_memory_mb": 400,
    "index_max_file_seconds": 2,
}
with knotwork.open("memory:", **options) as kb:
    report = kb.index(sys.argv[1])
workers.end_kept()
failures = {f.uri.rpartition("/")[2]: (f.reason, f.message) for f in report.failures}
# `ru_maxrss` of a process includes that of the process that started it.
(own,) = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(
    json.dumps(
        {"failures": failures, "added": report.added, "peaks": [int(own.split()[1]), workers]}
    )
)
"""


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    """Return the outcome of indexing a folder of hostile files with good ones between them."""
    folder = tmp_path_factory.mktemp("limits") / "docs"
    folder.mkdir()
    for name, (_, make) in HOSTILE.items():
        (folder / name).write_bytes(make())
    for name, make in BEARABLE.items():
        (folder / name).write_bytes(make())
    for number in range(5):
        (folder / f"{'aemrz'[number]}.txt").write_text(f"The pump {number} runs at 40 bar.")
    done = subprocess.run(
        [sys.executable, "-c", INDEX, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_beyond_its_limits_is_one_failed_file(indexed, name):
    reason, message = indexed["failures"][name]
    assert reason in HOSTILE[name][0].split("|"), message
    assert f"docs/{name}" in message


@pytest.mark.parametrize("name", BEARABLE)
def test_a_file_that_only_looks_hostile_stays_within_its_limits(indexed, name):
    assert indexed["failures"].get(name, ["empty"])[0] == "empty"


def test_all_other_files_are_indexed(indexed):
    good = 5 + sum(name not in indexed["failures"] for name in BEARABLE)
    assert indexed["added"] == good


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not say")
def test_neither_the_program_nor_a_worker_needs_much_memory(indexed):
    own, workers = indexed["peaks"]
    assert own < 200_000
    assert workers < 600_000


def spin(_source, _shared):
    while True:
        pass


def sleep(_source, _shared):
    time.sleep(600)


def allocate(_source, _shared):
    return len(bytearray(2_000 * MEGABYTE))


def crash(_source, _shared):
    os.kill(os.getpid(), signal.SIGSEGV)


held = []


def keep_model(size, _shared):
    """Keep so many bytes for later tasks, and return the process."""
    with keeping(2 * size):
        held.append(b"1" * size)
    return os.getpid()


def use_model(size, _shared):
    """Take so many bytes for good, which were allowed when nothing else was kept."""
    with keeping(0, to_use=size):
        pass
    held.append(b"1" * size)
    return os.getpid()


def keep_beyond(size, _shared):
    with keeping(size):
        held.append(b"1" * (4 * size))


def answer(source, shared):
    return source, shared


@pytest.fixture
def pool():
    limits = ReadingLimits(memory_mb=300, seconds=1)
    opened = workers.WorkerPool(dict, "shared", workers=1, limits=limits)
    yield opened
    opened.close()


def failure_of(future):
    error = future.exception(timeout=120)
    assert isinstance(error, LoadError)
    return error


def test_each_limit_has_a_reason_and_advice(pool):
    submit = partial(pool.submit, uri="a.docx", size=1_000)
    spun, allocated, crashed = (submit(task, None) for task in (spin, allocate, crash))
    after = submit(answer, 7)
    slow, large, dead = failure_of(spun), failure_of(allocated), failure_of(crashed)
    assert slow.reason == "too_slow"
    assert "longer to read than 1 seconds, the limit for a file of 1 kB" in slow.message
    assert "index.max_file_seconds" in slow.fix
    assert large.reason == "out_of_memory"
    assert "more memory than 300 MB" in large.message
    assert "index.max_file_memory_mb" in large.fix
    assert dead.reason == "crashed"
    assert after.result(timeout=60) == (7, "shared")


def test_memory_kept_by_a_process_is_not_charged_to_a_file():
    limits = ReadingLimits(memory_mb=600, seconds=10)
    pool = workers.WorkerPool(dict, "shared", workers=1, limits=limits)
    submit = partial(pool.submit, uri="a.wav", size=1_000)
    try:
        kept = submit(keep_model, 400 * MEGABYTE).result(timeout=60)
        assert submit(keep_model, 300 * MEGABYTE).result(timeout=60) == kept
        assert submit(use_model, 400 * MEGABYTE).result(timeout=60) == kept
        assert submit(answer, 7).result(timeout=60) == (7, "shared")
        assert failure_of(submit(keep_beyond, 200 * MEGABYTE)).reason == "out_of_memory"
        assert submit(answer, 7).result(timeout=60) == (7, "shared")
    finally:
        pool.close()


def test_a_recording_may_take_time_in_proportion_to_its_length():
    limits = ReadingLimits(memory_mb=100, seconds=10)
    hour_of_speech = 4 * MEGABYTE
    assert limits.clock_s(hour_of_speech, "a.mp3") > 10 * 3_600
    assert limits.clock_s(hour_of_speech, "a.docx") < 3_600
    assert limits.clock_s(900 * MEGABYTE, "a.mp4") < 21 * 24 * 3_600


def test_a_web_page_beyond_a_limit_is_read_once(tmp_path):
    page = tmp_path / "docs" / "attributes.html"
    page.parent.mkdir()
    page.write_bytes(hostile.html_attributes(count=200_000))
    settings = IndexSettings(max_file_seconds=1, max_file_memory_mb=400)
    with knotwork.open("memory:", embedding_model="none") as kb:
        (candidate,) = select_files(kb.store, [page.parent], settings).files
    page.unlink()
    sent = pickled(candidate.read)
    with pytest.raises(LoadError, match=r"longer to read|more memory"):
        pickle.loads(sent)()


def test_a_task_that_only_waits_ends_too():
    limits = ReadingLimits(memory_mb=300, seconds=0.05)
    pool = workers.WorkerPool(dict, None, workers=1, limits=limits)
    try:
        assert failure_of(pool.submit(sleep, None, uri="a", size=1)).reason == "too_slow"
    finally:
        pool.close()


def test_a_large_file_may_take_more():
    limits = ReadingLimits(memory_mb=100, seconds=10)
    assert limits.processor_s(1) == limits.processor_s(2 * MEGABYTE) == 10
    assert limits.processor_s(20 * MEGABYTE) == 100
    assert limits.memory_bytes(1) == limits.memory_bytes(10 * MEGABYTE) == 100 * MEGABYTE
    assert limits.memory_bytes(50 * MEGABYTE) == 500 * MEGABYTE


def test_closing_a_pool_ends_a_task_at_once(pool):
    future = pool.submit(sleep, None, uri="a", size=1)
    while not pool.processes:
        pool.submit(answer, 1, uri="b", size=1)
        future.exception  # noqa: B018 - the process starts
    (process,) = pool.processes
    pool.close()
    assert future.cancelled()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_an_idle_process_is_kept_for_the_next_pool_with_the_same_loaders():
    workers.end_kept()
    limits = ReadingLimits()
    found = []
    for prelude in (dict, dict, list):
        pool = workers.WorkerPool(prelude, None, workers=1, limits=limits)
        found.append(pool.submit(own_id, None, uri="a", size=1).result(timeout=60))
        pool.close()
    assert found[0] == found[1] != found[2]
    workers.end_kept()


def own_id(_source, _shared):
    return os.getpid()


class Unsendable:
    """A loader of a program that cannot be sent to another process."""

    name = "held"
    suffixes = (".held",)
    signatures = ()

    def __init__(self):
        self.lock = threading.Lock()

    def load(self, source):
        return Content(f"read in {os.getpid()}", "text/plain")


class Where:
    """A loader that says where it is used."""

    name = "where"
    suffixes = (".where",)
    signatures = ()

    def load(self, source):
        return Content(f"read in {os.getpid()}", "text/plain")


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(LOADERS, "_registered", {})
    monkeypatch.setattr(LOADERS, "_plugins", ({}, {}))

    def register(name, part):
        LOADERS.register(name, part)

    yield register
    LOADERS.revision += 1


def prepared(path, uri):
    from knotwork._indexing.loaders.loader_registry import load_file

    preparer = Preparer(RECIPE, workers=1, total_bytes=WORTH_BYTES)
    try:
        read = partial(load_file, path, uri=uri)
        preparer.begin(SourceFile(uri, read, size=path.stat().st_size))
        return preparer.take()
    finally:
        preparer.close()


def test_registered_loaders_read_in_a_worker_unless_they_cannot_be_sent(registered, tmp_path):
    held = Unsendable()
    registered("where", Where)
    registered("held", held)
    texts = {}
    for suffix in ("where", "held"):
        path = tmp_path / f"a.{suffix}"
        path.write_text("x")
        texts[suffix] = prepared(path, path.name).document.text
    assert texts["held"] == f"read in {os.getpid()}"
    assert texts["where"] != texts["held"]


def test_short_plain_text_is_read_here_and_nothing_else():
    assert may_be_light("a.txt", LIGHT_BYTES)
    assert may_be_light("docs/a.MD", 1)
    assert not may_be_light("a.txt", LIGHT_BYTES + 1)
    assert not may_be_light("a.html", 1)
    assert load_file(b"text", uri="a.txt", only_light=True).text == "text"
    for data in (b"%PDF-1.7 x", simple_docx(), b"x" * (LIGHT_BYTES + 1)):
        with pytest.raises(ReadElsewhere):
            load_file(data, uri="a.txt", only_light=True)


def test_a_text_that_turns_out_to_be_another_format_goes_to_a_worker():
    data = make_docx(lambda document: document.add_paragraph("The pump runs."))
    read = partial(load_file, data, uri="a.txt")
    preparer = Preparer(RECIPE, workers=1, total_bytes=0)
    here = partial(read, only_light=True)
    preparer.begin(SourceFile("a.txt", read, size=len(data), read_here=here))
    found = preparer.take()
    assert isinstance(found, Prepared)
    assert found.document.text == "The pump runs."
    assert preparer.is_up
    preparer.close()


def test_no_process_starts_for_a_few_short_texts():
    preparer = Preparer(RECIPE, workers=1, total_bytes=0)
    document = Document("a.txt", "The pump runs.")
    give = partial(answer, document)
    for number in range(20):
        preparer.begin(SourceFile(f"{number}", give, read_here=lambda: document, size=14))
    assert all(isinstance(preparer.take(), Prepared) for _ in range(20))
    assert not preparer.is_up
    preparer.close()
