"""The small index, in both stores."""

from __future__ import annotations

import pytest
from tests.retrieval.small_index import build_index

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._stores.urls import open_store


@pytest.fixture(scope="session", params=["memory", "embedded"])
def index(request, tmp_path_factory):
    url = "memory:"
    if request.param == "embedded":
        url = str(tmp_path_factory.mktemp("index") / "index.knot")
    store = build_index(open_store(url, create=True), HashingEmbedder())
    yield store
    store.close()


@pytest.fixture(scope="session")
def embedder():
    return HashingEmbedder()
