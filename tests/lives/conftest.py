"""One small corpus in English and Chinese, its index, and what a user has around it.

These tests walk whole lives of an index and use public names alone: they say what must stay while
modules move. Nothing here imports a module whose name begins with an underscore.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import zipfile
from pathlib import Path

import pytest
from tests.lives.door import command_line

import knotwork
from knotwork.demo import open_sample
from knotwork.testing import ModelTestServer

PAPERS_TIME = 1_720_000_000
"""When all files of the corpus were last changed, in seconds since 1970: 3 July 2024."""

MORE = {
    "Fees 2022.md": "The annual mooring fee is 30 euros.\n",
    "Fees 2024.md": "The annual mooring fee is 35 euros.\n",
    "handbook.md": (
        "---\nauthor: Dario Fenn\ndate: 2023-05-04\ntags: [finance, rules]\n---\n\n"
        "# Handbook\n\n## Approval\n\nLarge orders are approved by Dario Fenn.\n\n"
        "## Steps\n\nTo order a part:\n\n1. Ask the workshop.\n2. Fill in the blue form.\n"
        "3. Send the form to Dario Fenn.\n"
    ),
    "仪器手册.md": "# 仪器手册\n\n探头的校准周期是六个月。校准由许淑月负责。\n",
}
ZIPPED = {
    "workshop/rope-log.md": "# Rope log\n\nThe grey rope of the Heron breaks at 900 kilograms.\n",
    "workshop/tools.csv": "tool,shelf\nsplicing fid,north\nshackle key,south\n",
}


@pytest.fixture(autouse=True)
def clean_surroundings(tmp_path, monkeypatch):
    """Work in an empty folder, without settings, and without a model to load."""
    for name in list(os.environ):
        if name.startswith("KNOTWORK_") or name in {"NO_COLOR", "FORCE_COLOR", "COLUMNS"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("KNOTWORK_EMBEDDING_MODEL", "hashing:64")
    monkeypatch.setenv("KNOTWORK_INDEX_WORKERS", "0")
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def papers(tmp_path_factory) -> Path:
    """The corpus: the bundled sample, fees on which two papers disagree, an archive, a bad file."""
    folder = tmp_path_factory.mktemp("corpus") / "papers"
    with open_sample() as sample:
        shutil.copytree(sample, folder)
    (folder / "more").mkdir()
    for name, text in MORE.items():
        (folder / "more" / name).write_text(text, encoding="utf-8")
    (folder / "more" / "broken.docx").write_bytes(b"This is no Word file.")
    with zipfile.ZipFile(folder / "more" / "notes.zip", "w") as packed:
        for name, text in ZIPPED.items():
            packed.writestr(zipfile.ZipInfo(name), text)
    for path in folder.rglob("*"):
        os.utime(path, (PAPERS_TIME, PAPERS_TIME))
    return folder


@pytest.fixture(scope="session")
def index(papers, tmp_path_factory) -> Path:
    """The index of the corpus with communities; tests must not write to it."""
    path = tmp_path_factory.mktemp("index") / "papers.knot"
    with knotwork.open(path, embedder="hashing:64", index_workers=0) as base:
        base.index(papers)
        base.entities.find_aliases()
        base.communities.update()
    return path


@pytest.fixture(scope="session")
def kb(index):
    """The index of the corpus, opened to read by all tests."""
    with knotwork.open(index, read_only=True, embedder="hashing:64") as base:
        yield base


@pytest.fixture
def own_index(index, tmp_path) -> Path:
    """A copy of the index of the corpus, for tests that change it."""
    for path in index.parent.iterdir():
        shutil.copy(path, tmp_path / path.name)
    return tmp_path / index.name


@pytest.fixture
def own_papers(papers, tmp_path) -> Path:
    """A copy of a part of the corpus, for tests that change files."""
    folder = tmp_path / "papers"
    for name in ("en/about-selkwood.md", "en/oriane-keld.txt", "zh/温青岚.txt", "more/handbook.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(papers / name, folder / name)
    return folder


@pytest.fixture
def cli(index, monkeypatch):
    """Run one command line over the index of the corpus."""
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(index))
    return command_line


@pytest.fixture
def own_cli(own_index, monkeypatch):
    """Run one command line over a copy of the index."""
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(own_index))
    return command_line


@pytest.fixture
def model_server():
    with ModelTestServer() as server:
        yield server


@pytest.fixture
def with_model(model_server, monkeypatch):
    """Let the settings name a language model, with prices, on a server of this machine."""
    monkeypatch.setenv("KNOTWORK_LLM_MODEL", "openai:brain")
    monkeypatch.setenv("KNOTWORK_LLM_BASE_URL", model_server.url)
    monkeypatch.setenv("KNOTWORK_LLM_PRICES", "openai:* 0.15 0.60")
    return model_server


@pytest.fixture
def talk():
    """Run a coroutine to its end."""
    return asyncio.run
