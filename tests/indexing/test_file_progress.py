"""The share of a long file that has been read is reported while it is read."""

import os
import threading

import pytest
from tests.indexing.office_files import draw_page, make_picture

from knotwork._indexing import worker_process
from knotwork._indexing.loaders.loader import can_recognise
from knotwork._indexing.loaders.loader_registry import load_file
from knotwork._indexing.worker_process import listening, report_share
from knotwork._indexing.workers import ReadingLimits, WorkerPool


@pytest.fixture
def heard(monkeypatch):
    monkeypatch.setattr(worker_process, "_SHARE_S", 0.0)
    shares = []
    with listening(shares.append):
        yield shares


def test_shares_lie_between_none_and_all(heard):
    for done, total in ((0, 4), (1, 4), (5, 4), (-1, 4), (3, 0)):
        report_share(done, total)
    assert heard == [0.0, 0.25, 1.0, 0.0]


def test_a_listener_is_not_called_more_than_it_can_show(monkeypatch):
    times = iter((10.0, 10.1, 10.4, 10.6))
    monkeypatch.setattr(worker_process, "_heard_s", 0.0)
    monkeypatch.setattr(worker_process.time, "monotonic", lambda: next(times))
    shares = []
    with listening(shares.append):
        for done in range(4):
            report_share(done, 4)
    assert shares == [0.0, 0.75]
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
        assert future.share == 0.0
        with fifo.open("w") as gate:  # opens once the task has reported and waits
            seen = threading.Event()
            while future.share != 0.5 and not seen.wait(0.01):
                assert not future.done()
            gate.write("the rest")
        assert future.result(timeout=60) == "the rest"
    finally:
        pool.close()


@pytest.mark.slow
@pytest.mark.skipif(not can_recognise(), reason="the extra `ocr` is not installed")
@pytest.mark.parametrize(("name", "form"), [("a.tif", "TIFF"), ("a.pdf", "PDF")])
def test_scans_report_each_page(heard, name, form):
    pages = [draw_page([(20, 30, f"Page {n} of the lease.")], size=(600, 480)) for n in range(4)]
    load_file(make_picture(*pages, form=form), uri=name)
    assert heard == [0.0, 0.25, 0.5, 0.75]
