"""Fixtures of the tests of indexing with a model."""

import pytest

import knotwork


@pytest.fixture
def opened(tmp_path):
    """Open knowledge bases by a name, without an embedder, and close them at the end."""
    bases = []

    def open_with(model=None, *, path="index.knot", **settings):
        kb = knotwork.open(tmp_path / path, chat_model=model, embedding_model="none", **settings)
        bases.append(kb)
        return kb

    yield open_with
    for kb in bases:
        kb.close()
