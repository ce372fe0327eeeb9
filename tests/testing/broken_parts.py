"""Marks and errors of broken parts, for the tests of contracts."""

from pickle import PicklingError

import pytest

UNSENDABLE = (PicklingError, AttributeError)


class Unsendable:
    """A part that holds what no process can send to another."""

    def __init__(self, inner):
        self.name, self.held = inner.name, lambda: None
        self.split, self.extract = getattr(inner, "split", None), getattr(inner, "extract", None)


def caught():
    return pytest.raises(AssertionError)


def broken(edits):
    """Run a test with each of these edits, which make the result of a sound part unsound."""
    return pytest.mark.parametrize("edit", edits.values(), ids=edits)
