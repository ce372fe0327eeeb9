"""Errors keep all that they say on their way from one process to another."""

import copy
import pickle

import pytest

from knotwork import errors
from knotwork.errors import KnotworkError

SAMPLES = {
    "UnknownName": lambda kind: kind("tier", "ful", ["full", "lean"], place=" in a file"),
    "MissingExtra": lambda kind: kind("A server", "serve"),
    "IdCollision": lambda kind: kind("00", "the document `a`", "the document `b`"),
    "MissingCapability": lambda kind: kind("memory:", "Cypher"),
    "LoadError": lambda kind: kind("password", "It is locked.", fix="Unlock it."),
    "ModelUnavailable": lambda kind: kind("Too busy.", status=429, retry_after_s=3.0, fix="Wait."),
    "ModelError": lambda kind: kind("No such model.", status=404),
    "Unparsable": lambda kind: kind("It is empty.", text="?"),
}


def kinds_below(kind):
    return [kind, *(below for one in kind.__subclasses__() for below in kinds_below(one))]


KINDS = sorted(
    {kind for kind in kinds_below(KnotworkError) if kind.__module__ == errors.__name__},
    key=lambda kind: kind.__name__,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("way", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy])
def test_an_error_arrives_as_it_left(kind, way):
    make = SAMPLES.get(kind.__name__, lambda kind: kind("It is so.", fix="Change it."))
    error = make(kind)
    arrived = way(error)
    assert type(arrived) is kind
    assert (str(arrived), arrived.args, vars(arrived)) == (str(error), error.args, vars(error))
