"""The share of a long file that has been read is reported while it is read."""

import os
import threading

import pytest
from tests.indexing.office_files import draw_page, make_picture

from knotwork import _run
from knotwork._indexing.loaders.loader import can_recognise
from knotwork._indexing.loaders.loader_registry import load_file
from knotwork._indexing.workers import ReadingLimits, WorkerPool
from knotwork._run import FilePart, listening, phase, report_share


@pytest.fixture
def heard(monkeypatch):
    monkeypatch.setattr(_run, "_SHARE_S", 0.0)
    parts = []
    with listening(parts.append):
        yield parts


def test_shares_lie_between_none_and_all(heard):
    for done, total in ((0, 4), (1, 4), (5, 4), (-1, 4), (3, 0)):
        report_share(done, total)
    assert [part.share for part in heard] == [0.0, 0.25, 1.0, 0.0]


def test_the_steps_of_reading_share_one_measure_and_only_parts_that_have_names_are_counted(heard):
    with phase(0.0, 0.5):
        report_share(3, 6)
    with phase(0.5, 1.0):
        report_share(3, 6, counted=False)
    with phase(0.5, 1.0), phase(0.5, 1.0):
        report_share(1, 2, counted=False)
    assert heard == [FilePart(0.25, 3, 6), FilePart(0.75), FilePart(0.875)]


def test_a_listener_is_not_called_more_than_it_can_show(monkeypatch):
    times = iter((10.0, 10.1, 10.4, 10.6))
    monkeypatch.setattr(_run, "_heard_s", 0.0)
    monkeypatch.setattr(_run.time, "monotonic", lambda: next(times))
    parts = []
    with listening(parts.append):
        for done in range(4):
            report_share(done, 4)
    assert [part.done for part in parts] == [0, 3]
    report_share(1, 2)  # nobody listens


def read_half(fifo, _shared):
    report_share(1, 2)
    with open(fifo) as gate:  # noqa: PTH123
        return gate.read()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_run_sees_how_far_a_worker_process_is(tmp_path):
    fifo = tmp_path / "gate"
    os.mkfifo(fifo)
    pool = WorkerPool(dict, None, workers=1, limits=ReadingLimits())
    try:
        future = pool.submit(read_half, str(fifo), uri="a.pdf", size=1)
        assert future.part == FilePart()
        with fifo.open("w") as gate:  # opens once the task has reported and waits
            seen = threading.Event()
            while future.part != FilePart(0.5, 1, 2) and not seen.wait(0.01):
                assert not future.done()
            gate.write("the rest")
        assert future.result(timeout=60) == "the rest"
    finally:
        pool.close()


@pytest.mark.slow
@pytest.mark.skipif(not can_recognise(), reason="the extra `ocr` is not installed")
@pytest.mark.parametrize(("name", "form"), [("a.tif", "TIFF"), ("a.pdf", "PDF")])
def test_scans_report_each_page(heard, name, form):
    pages = [draw_page([(20, 30, f"Page {n} of the lease.")], size=(600, 480)) for n in range(3)]
    load_file(make_picture(*pages, form=form), uri=name)
    assert [(part.done, part.total) for part in heard[-3:]] == [(n, 3) for n in range(3)]
