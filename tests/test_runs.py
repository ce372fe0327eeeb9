"""A verb does its work when it is called, and a run of it step by step."""

import inspect

import pytest

from knotwork._run import Progress, Run, Verb


class Counter:
    """Counts to a number, and remembers how far it came."""

    def __init__(self):
        self.done = 0
        self.is_closed = False

    @Verb
    def count(self, total, *, breaks=False):
        """Count."""
        try:
            for self.done in range(1, total + 1):
                yield Progress("counting", self.done, total)
                if breaks:
                    raise ValueError("broken")
        finally:
            self.is_closed = True
        return f"{total} counted"


def test_a_call_does_all_of_the_work():
    counter = Counter()
    assert counter.count(3) == "3 counted"
    assert counter.done == 3


def test_a_run_does_a_step_at_a_time_and_the_rest_for_its_result():
    counter = Counter()
    run = counter.count.run(3)
    assert counter.done == 0
    assert next(run) == Progress("counting", 1, 3)
    assert counter.done == 1
    assert run.result() == run.result() == "3 counted"
    assert list(run) == []


def test_a_run_that_is_closed_or_fails_has_no_result():
    counter = Counter()
    with counter.count.run(3) as run:
        next(run)
    assert counter.is_closed
    failing = counter.count.run(3, breaks=True)
    with pytest.raises(ValueError, match="broken"):
        failing.result()
    for stopped in (run, failing):
        with pytest.raises(RuntimeError, match="stopped before its end"):
            stopped.result()


def test_a_run_that_is_left_is_closed_at_once():
    counter = Counter()
    for _ in counter.count.run(3):
        break
    assert (counter.done, counter.is_closed) == (1, True)


def test_a_run_is_work_of_another_one():
    def twice():
        first = yield from Counter().count.run(1)
        second = yield from Counter().count.run(2)
        return first, second

    run = Run(twice())
    assert [step.total for step in run] == [1, 2, 2]
    assert run.result() == ("1 counted", "2 counted")


def test_a_run_that_nobody_begins_is_warned_of():
    with pytest.warns(RuntimeWarning, match="never begun"):
        Counter().count.run(3)


def test_a_verb_has_the_signature_and_the_words_of_its_function():
    counted = Counter().count
    assert list(inspect.signature(counted).parameters) == ["total", "breaks"]
    assert (counted.__name__, counted.__doc__) == ("count", "Count.")
    with pytest.raises(TypeError, match="total"):
        counted.run()
