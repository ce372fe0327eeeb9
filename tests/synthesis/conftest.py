"""Fixtures: the bundled sample, indexed with communities, and models to ask about it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.synthesis.asked import SampleIndex, make_valleys

import knotwork
from knotwork.demo import open_sample


@pytest.fixture(scope="session")
def sample_path(tmp_path_factory):
    """The index of the sample with communities and extractive reports; read-only."""
    path = tmp_path_factory.mktemp("sample") / "sample.knot"
    with open_sample() as folder, knotwork.open(path, embedding_model="none") as opened:
        opened.index(folder)
        opened.communities.update()
    return path


@pytest.fixture(scope="session")
def large_path(tmp_path_factory):
    """An index of long documents, for which a model writes reports."""
    path = tmp_path_factory.mktemp("large") / "large.knot"
    with knotwork.open(path, embedding_model="none", index_chunk_tokens=240) as opened:
        opened.index_documents(make_valleys())
        opened.communities.update()
    return path


@pytest.fixture
def large(large_path, tmp_path) -> Iterator[SampleIndex]:
    """A copy of the index of valleys that a test may write to."""
    copy = tmp_path / "large.knot"
    shutil.copy(large_path, copy)
    with ExitStack() as opened:
        yield SampleIndex(copy, opened)


@pytest.fixture
def sample(sample_path, tmp_path) -> Iterator[SampleIndex]:
    """A copy of the sample's index that a test may write to."""
    copy = tmp_path / "sample.knot"
    shutil.copy(sample_path, copy)
    with ExitStack() as opened:
        yield SampleIndex(copy, opened)
