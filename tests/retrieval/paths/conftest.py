"""The graph of films, and that of a family, in both stores."""

from __future__ import annotations

import pytest
from tests.retrieval.paths.films import FAMILY, FILMS, put_triples

from knotwork._stores.urls import open_store


@pytest.fixture(scope="session", params=["memory", "embedded"])
def films(request, tmp_path_factory):
    yield from _open(request.param, tmp_path_factory, FILMS)


@pytest.fixture(scope="session", params=["memory", "embedded"])
def family(request, tmp_path_factory):
    yield from _open(request.param, tmp_path_factory, FAMILY)


def _open(kind, folders, triples):
    url = "memory:" if kind == "memory" else str(folders.mktemp("paths") / "graph.knot")
    store = put_triples(open_store(url, create=True), triples)
    yield store
    store.close()
