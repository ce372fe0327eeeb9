"""A working folder without settings, and an index of the bundled sample without an embedder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.running import knotwork

from knotwork.demo import open_sample


@pytest.fixture(autouse=True)
def clean_surroundings(tmp_path, monkeypatch):
    for name in list(os.environ):
        if name.startswith("KNOTWORK_") or name in {"NO_COLOR", "FORCE_COLOR", "COLUMNS"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def sample_store(tmp_path_factory) -> Path:
    """The index of the sample; tests must not write to it."""
    store = tmp_path_factory.mktemp("sample") / "sample.knot"
    with open_sample() as folder:
        outcome = knotwork("index", folder, "--store", store, "--set", "embedding.model=none")
    assert outcome.code == 0, outcome.err
    return store
