"""A cancellation reaches all work of its scope, and nothing else."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from knotwork._cancellation import (
    Cancellation,
    Cancelled,
    check_cancelled,
    checked,
    checks_due,
    current_cancellation,
    finishing,
    in_context,
    run_apart,
    sleep,
    wait_for,
)


@pytest.fixture
def cancellation():
    cancellation = Cancellation()
    with cancellation.scope():
        yield cancellation


def test_work_outside_a_scope_is_never_cancelled():
    future: Future[int] = Future()
    future.set_result(3)
    check_cancelled()
    assert checks_due() is False
    assert list(checked([1, 2])) == [1, 2]
    assert (wait_for(future), run_apart(lambda: 4)) == (3, 4)
    with finishing():
        check_cancelled()


def test_a_scope_ends_and_an_inner_one_hides_the_outer_one(cancellation):
    inner = Cancellation()
    with inner.scope():
        assert current_cancellation() is inner
        cancellation.cancel()
        check_cancelled()
    with pytest.raises(Cancelled):
        check_cancelled()


def test_a_loop_stops_before_the_next_item(cancellation):
    seen = []

    def work():
        for item in checked(range(5)):
            seen.append(item)
            if item == 2:
                cancellation.cancel()

    with pytest.raises(Cancelled):
        work()
    assert seen == [0, 1, 2]


def test_a_cancellation_is_no_failure_of_the_work(cancellation):
    def work():
        try:
            check_cancelled()
        except Exception:  # noqa: BLE001  as work does for a file that fails
            return "failed"
        return "done"

    assert work() == "done"
    cancellation.cancel()
    with pytest.raises(Cancelled):
        work()


def test_finishing_lets_the_block_go_on_for_its_time():
    now = [100.0]
    cancellation = Cancellation(clock=lambda: now[0])
    with cancellation.scope():
        cancellation.cancel()
        with finishing(1.0):
            check_cancelled()
            now[0] += 0.9
            with finishing(0.01):  # does not shorten the outer one
                now[0] += 0.05
                check_cancelled()
            now[0] += 0.1
            with pytest.raises(Cancelled):
                check_cancelled()
            with finishing():
                check_cancelled()
        with pytest.raises(Cancelled):
            check_cancelled()


def test_waits_end_with_the_cancellation(cancellation):
    release = threading.Event()
    threading.Timer(0.05, cancellation.cancel).start()
    with pytest.raises(Cancelled):
        wait_for(Future())
    for wait in (lambda: run_apart(release.wait), lambda: sleep(60)):
        with pytest.raises(Cancelled):
            wait()
    release.set()


def test_abandonable_and_pooled_calls_return_and_raise_as_usual(cancellation):
    with ThreadPoolExecutor(1) as pool:
        assert wait_for(pool.submit(in_context(current_cancellation))) is cancellation
        assert wait_for(pool.submit(current_cancellation)) is not cancellation
    assert run_apart(current_cancellation) is cancellation

    def fail():
        raise TimeoutError("of the work")

    with pytest.raises(TimeoutError, match="of the work"):
        run_apart(fail)
