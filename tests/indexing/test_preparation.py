"""Documents prepared in worker processes: the same, in the same order, despite failures."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial

import pytest
from tests.indexing.pipeline_fakes import make_text
from tests.indexing.snapshots import snapshot

import knotwork
from knotwork._extensions.model_indexing.chunk_memory import recall_similar
from knotwork._indexing.loaders.loader_registry import load_file
from knotwork._indexing.prepare import (
    WORTH_BYTES,
    Prepared,
    Preparer,
    Recipe,
    SourceFile,
    prepare,
)
from knotwork._indexing.splitters import make_splitter
from knotwork._indexing.workers import end_kept
from knotwork._transform.rules import RuleExtractor
from knotwork.errors import LoadError
from knotwork.records import Document

pytestmark = pytest.mark.slow


RECIPE = Recipe(make_splitter(), RuleExtractor(), partial(recall_similar, limit_tokens=60))


def give(document):
    return document


def order(number, *, paragraphs=10, **options):
    text = make_text(random.Random(number), paragraphs=paragraphs)
    document = Document(f"{number}.txt", text)
    read = partial(give, document)
    return SourceFile(document.uri, read, size=len(document.text), read_here=read, **options)


def wait_until_up(preparer):
    """Prepare documents in this process until a worker is up."""
    while not preparer.is_up:
        preparer.begin(order(0))
        assert isinstance(preparer.take(), Prepared)


@pytest.fixture
def preparer():
    opened = Preparer(RECIPE, workers=2, total_bytes=WORTH_BYTES)
    yield opened
    opened.close()


def take_all(preparer, orders):
    made = []
    for one in orders:
        preparer.begin(one)
        while preparer.is_ready():
            made.append(preparer.take())
    while preparer.open:
        made.append(preparer.take())
    return [told(one) for one in made]


def told(made):
    """What a preparation says, but for its times; an error last, and None for no document."""
    if isinstance(made, Prepared):
        parts = (made.document, made.sections, made.chunks, made.extractions, made.descriptions)
        return (made.source.uri, *parts, dict(made.memories), None)
    error = made.error and (type(made.error), made.error.message, made.error.fix)
    return (made.source.uri, None, {}, error)


def test_other_processes_make_the_same_of_documents_in_the_same_order(preparer):
    wait_until_up(preparer)
    orders = [order(n, paragraphs=n % 20 + 1, wants_model=n % 2 == 0) for n in range(60)]
    revision = orders[5].read().revision
    orders[5] = order(5, paragraphs=6, known_revision=revision)
    found = take_all(preparer, orders)
    assert found == [told(prepare(one, RECIPE)) for one in orders]
    assert found[5] == ("5.txt", None, {}, None)
    assert any(memories for *_, memories, _ in found)


def test_this_process_goes_on_while_the_others_start(preparer):
    orders = [order(n) for n in range(3)]
    assert take_all(preparer, orders) == [told(prepare(one, RECIPE)) for one in orders]


def test_a_document_that_cannot_be_read_says_so_from_another_process(preparer, tmp_path):
    wait_until_up(preparer)
    empty = tmp_path / "empty.pdf"
    empty.write_bytes(b"")
    reads = partial(load_file, empty, uri="docs/empty.pdf")
    orders = [SourceFile("docs/empty.pdf", reads, size=1), order(1)]
    found = take_all(preparer, orders)
    kind, message, fix = found[0][-1]
    assert kind is LoadError
    assert "docs/empty.pdf" in message
    assert fix
    assert found[1][-1] is None


def test_a_document_that_kills_its_process_is_the_only_one_to_fail(preparer):
    wait_until_up(preparer)
    orders = [order(n, paragraphs=6) for n in range(30)]
    orders[7] = SourceFile("bad.pdf", lambda: os.kill(os.getpid(), signal.SIGKILL), size=9_000)
    orders[20] = SourceFile("worse.pdf", lambda: os._exit(3), size=9_000)
    found = take_all(preparer, orders)
    errors = {n: parts[-1] for n, parts in enumerate(found) if parts[-1]}
    assert {n: error[1] for n, error in errors.items()} == {
        7: "`bad.pdf` crashed the process that read it.",
        20: "`worse.pdf` crashed the process that read it.",
    }
    assert [parts[0] for n, parts in enumerate(found) if n not in errors] == [
        f"{n}.txt" for n in range(30) if n not in errors
    ]


def test_files_that_cannot_be_sent_to_a_worker_are_prepared_in_process(preparer):
    wait_until_up(preparer)
    held = threading.Lock()  # no other process can have it
    document = order(1).read()

    def read():
        with held:
            return document

    orders = [SourceFile(document.uri, read, size=1), order(2)]
    assert take_all(preparer, orders) == [told(prepare(one, RECIPE)) for one in orders]


def test_a_recipe_that_cannot_be_sent_is_followed_here_and_files_are_loaded_there(tmp_path):
    class Extractor(RuleExtractor):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

    recipe = Recipe(make_splitter(), Extractor())
    preparer = Preparer(recipe, workers=1, total_bytes=WORTH_BYTES)
    orders = [replace(order(n, paragraphs=60), read_here=None) for n in range(10)]
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 nothing more")
    orders.append(SourceFile("broken.pdf", partial(load_file, broken, uri="broken.pdf"), size=20))
    found = take_all(preparer, orders)
    assert preparer.is_up
    assert found == [told(prepare(one, recipe)) for one in orders]
    assert found[-1][-1][0] is LoadError
    preparer.close()


def test_no_process_is_started_if_settings_say_so(tmp_path):
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 nothing more")
    read = partial(load_file, broken, uri="broken.pdf")
    orders = [order(0), SourceFile("broken.pdf", read, size=20), order(1)]
    preparer = Preparer(RECIPE, workers=0, total_bytes=WORTH_BYTES)
    assert take_all(preparer, orders) == [told(prepare(one, RECIPE)) for one in orders]
    assert not preparer.processes


@pytest.mark.parametrize(("cores", "total_bytes"), [(4, WORTH_BYTES - 1), (1, 100 * WORTH_BYTES)])
def test_short_texts_are_prepared_here_if_they_are_few_or_there_is_one_core(
    monkeypatch, cores, total_bytes
):
    monkeypatch.setattr("loky.cpu_count", lambda: cores)
    preparer = Preparer(RECIPE, workers=-1, total_bytes=total_bytes)
    assert len(take_all(preparer, [order(n) for n in range(10)])) == 10
    assert not preparer.processes
    preparer.close()


MUCH_BYTES = 64 << 10


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with as much text as other processes are started for."""
    monkeypatch.setattr("knotwork._indexing.prepare.WORTH_BYTES", MUCH_BYTES)
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(12):
        text = make_text(random.Random(number), paragraphs=100)
        (folder / f"{number:02}.txt").write_text(text, "utf-8")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 nothing more")
    assert sum(file.stat().st_size for file in folder.iterdir()) > MUCH_BYTES
    return folder


def test_an_index_is_the_same_with_and_without_other_processes(tmp_path, folder):
    found = []
    for workers in (0, 2):
        options = {"embedding_model": "none", "index_workers": workers}
        with knotwork.open(tmp_path / f"{workers}.knot", **options) as kb:
            report = kb.index(folder)
            assert [failure.uri for failure in report.failures] == ["docs/broken.pdf"]
            assert report.seconds["extract"] > 0
            found.append(snapshot(kb.store, times=True))
            assert kb.index(folder).unchanged == 12
    assert found[0] == found[1]


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_run_that_is_left_ends_its_processes_and_goes_on_later(tmp_path, folder, monkeypatch):
    opened = []

    def open_spied(*args, **options):
        opened.append(Preparer(*args, **options))
        return opened[-1]

    monkeypatch.setattr("knotwork._indexing.stages.Preparer", open_spied)
    with knotwork.open(tmp_path / "i.knot", embedding_model="none", index_workers=1) as kb:
        events = kb.index.run(folder)
        while not opened or not opened[0].processes:
            next(events)
        workers = opened[0].processes
        events.close()
        assert not opened[0].processes
        end_kept()
        assert not any(map(is_alive, workers))
        report = kb.index(folder)
        assert report.added + report.unchanged == 12


ORPHAN = """
import sys, time
from tests.indexing.test_preparation import RECIPE, WORTH_BYTES, Preparer, wait_until_up
preparer = Preparer(RECIPE, workers=1, total_bytes=WORTH_BYTES)
wait_until_up(preparer)
print(*preparer.processes, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes are counted as POSIX does")
def test_no_process_outlives_the_one_that_started_it(start_process):
    parent = start_process([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True)
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    for _ in range(600):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("it went on")
