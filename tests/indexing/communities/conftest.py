"""Fixtures of the tests of reports by a model."""

import pytest
from tests.indexing.communities.written import indexed

from knotwork._extensions.model_indexing import written_reports


@pytest.fixture
def small_briefs(monkeypatch):
    """Have parents written from the reports below, though the documents are short."""
    monkeypatch.setattr(written_reports, "BRIEF_TOKENS", 150)
    monkeypatch.setattr(written_reports, "PARENT_TOKENS", 180)


@pytest.fixture(params=["memory", "file"])
def base(request, tmp_path):
    base = indexed(path="memory:" if request.param == "memory" else tmp_path / "a.knot")
    yield base
    base.close()
