import threading
from collections.abc import Iterator

import pytest

from knotwork._cancellation import sleep
from knotwork._inference.call_limits import work_ordered
from knotwork.errors import ModelUnavailable


def threads() -> int:
    return sum(t.name.startswith("knotwork-work") for t in threading.enumerate())


def test_results_come_in_order_whichever_is_done_first() -> None:
    gates = [threading.Event() for _ in range(8)]

    def work(number: int) -> int:
        if number < 7:
            assert gates[number + 1].wait(10)  # each waits for the one behind it
        gates[number].set()
        return number

    assert list(work_ordered(work, range(8), concurrency=8)) == list(range(8))
    assert threads() == 0


def test_no_more_run_at_a_time_than_allowed_and_few_are_taken_ahead() -> None:
    running, most, taken = 0, 0, 0
    lock = threading.Lock()

    def items() -> Iterator[int]:
        nonlocal taken
        for number in range(200):
            taken += 1
            yield number

    def work(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        with lock:
            running -= 1
        return number

    results = work_ordered(work, items(), concurrency=3)
    assert next(results) == 0
    assert taken <= 3 * 4 + 1
    assert list(results) == list(range(1, 200))
    assert most <= 3


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_a_stop_ends_all_threads(stop) -> None:
    begun = threading.Barrier(3)

    def work(number: int) -> int:
        if number < 3:
            begun.wait(10)
        if number == 0:
            return 0
        sleep(60)  # as a call that waits for its turn; ended by the pool
        return number

    def items() -> Iterator[int]:
        yield from range(12)
        raise stop

    def consume() -> None:
        for _ in work_ordered(work, items(), concurrency=3):
            raise stop

    with pytest.raises(stop):
        consume()
    assert threads() == 0


def test_leaving_early_ends_all_threads_and_begins_nothing_more() -> None:
    begun: list[int] = []

    def work(number: int) -> int:
        begun.append(number)
        if number:
            sleep(60)
        return number

    results = work_ordered(work, range(100), concurrency=2)
    assert next(results) == 0
    results.close()
    assert threads() == 0
    assert len(begun) <= 4


def test_faults_come_in_turn() -> None:
    def work(number: int) -> int:
        if number == 5:
            raise ModelUnavailable("gone")
        return number

    seen: list[int] = []
    with pytest.raises(ModelUnavailable, match="gone"):
        seen.extend(work_ordered(work, range(20), concurrency=4))
    assert seen == [0, 1, 2, 3, 4]
    assert threads() == 0


def test_at_least_one_thread_is_needed() -> None:
    with pytest.raises(ValueError, match="concurrency is 0"):
        next(work_ordered(str, [1], concurrency=0))
