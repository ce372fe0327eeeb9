"""A folder of two workspaces: `open` and `hidden`, each with an index of the sample."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.service.serving import copy_index, make_settings, open_client

import knotwork
from knotwork._extensions.server.server import ServerConfig
from knotwork.demo import open_sample


@pytest.fixture(scope="session")
def sample_index(tmp_path_factory) -> Path:
    """An index of the sample; tests must not write to it."""
    path = tmp_path_factory.mktemp("served") / "sample.knot"
    with open_sample() as folder, knotwork.open(path, settings=make_settings()) as base:
        base.index(folder)
        base.entities.find_aliases()
        base.communities.update()
    return path


@pytest.fixture
def place(sample_index, tmp_path) -> ServerConfig:
    return fill(sample_index, tmp_path)


@pytest.fixture(scope="module")
def client(sample_index, tmp_path_factory):
    """A client for a whole file; its workspaces stay as they are."""
    with open_client(fill(sample_index, tmp_path_factory.mktemp("place"))) as opened:
        yield opened


def fill(sample: Path, folder: Path) -> ServerConfig:
    copy_index(sample, folder / "open.knot")
    copy_index(sample, folder / "hidden.knot")
    return ServerConfig(folder, make_settings())
