"""A file that failed is read again only when its bytes change, or if that is asked for."""

import os

import pytest

import knotwork
from knotwork._config import load_settings
from knotwork._indexing import sources

BROKEN = b"%PDF-1.4\n1 0 obj\nnothing follows\n%%EOF\n"


@pytest.fixture
def reading(tmp_path, monkeypatch):
    """An index, its folder with a broken file, and the names of the files that were loaded."""
    loaded = []
    load = sources.load_file

    def load_and_note(path, **options):
        loaded.append(options["uri"])
        return load(path, **options)

    monkeypatch.setattr(sources, "load_file", load_and_note)
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "broken.pdf").write_bytes(BROKEN)
    given = {"embedding.model": "none", "index.workers": 0}
    settings = load_settings(overrides=given, environ={}).settings
    with knotwork.open(tmp_path / "a.knot", settings=settings) as kb:
        yield kb, folder, loaded


def test_equal_bytes_are_not_read_again(reading):
    kb, folder, loaded = reading
    assert kb.index(folder).failures[0].reason == "broken"
    (folder / "new.md").write_text("Otters swim.", encoding="utf-8")
    os.utime(folder / "broken.pdf", (1, 1))  # only the time has changed
    report = kb.index(folder)
    assert (report.added, report.failed) == (1, 1)
    assert loaded.count("docs/broken.pdf") == 1
    kb.index(folder, retry=True)
    assert loaded.count("docs/broken.pdf") == 2
    (folder / "broken.pdf").write_bytes(BROKEN + b"\n")
    assert kb.index(folder).failed == 1
    assert loaded.count("docs/broken.pdf") == 3
