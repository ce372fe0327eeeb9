"""No modules of the package import each other."""

from benchmarks.structure.measure import find_circles


def test_there_are_no_import_circles():
    assert find_circles() == []
