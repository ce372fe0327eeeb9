"""An index of the bundled sample, and how tests call the tools of a server over it."""

from __future__ import annotations

import asyncio
import os

import pytest

import knotwork
from knotwork.demo import open_sample


@pytest.fixture(autouse=True)
def clean_surroundings(tmp_path, monkeypatch):
    for name in list(os.environ):
        if name.startswith("KNOTWORK_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("KNOTWORK_EMBEDDING_MODEL", "none")
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def sample_index(tmp_path_factory):
    """The index of the sample; tests must not write to it."""
    path = tmp_path_factory.mktemp("mcp") / "sample.knot"
    with open_sample() as folder, knotwork.open(path, embedding_model="none") as kb:
        kb.index(folder)
        kb.entities.find_aliases()
        kb.communities.update()
    return path


@pytest.fixture
def talk():
    """Run a coroutine to its end."""
    return asyncio.run
