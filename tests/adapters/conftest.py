"""An index of the bundled sample for the adapters; nothing is sent to anybody."""

from __future__ import annotations

import os

import pytest

import knotwork
from knotwork.demo import open_sample

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # before it is imported
os.environ["LANGSMITH_TRACING"] = "false"


@pytest.fixture(scope="session")
def index(tmp_path_factory):
    path = tmp_path_factory.mktemp("adapters") / "sample.knot"
    with open_sample() as folder, knotwork.open(path, embedding_model="none") as kb:
        kb.index(folder)
    return path


@pytest.fixture
def kb(index):
    with knotwork.open(index, read_only=True, embedding_model="none") as opened:
        yield opened


@pytest.fixture
def people():
    """Cypher over hits, with a parameter: entities of the passages found."""
    return (
        "MATCH (node)-[:MENTIONS]->(e:Entity) WHERE e.name STARTS WITH $start "
        "RETURN DISTINCT e.name AS name ORDER BY name"
    )


@pytest.fixture
def check_place(kb):
    """Check that a text is at the place that its metadata gives."""

    def check(text, place):
        document = kb.store.documents.documents([knotwork.Document(place["document"], "").id])
        (found,) = document.values()
        assert found.text[place["start"] : place["end"]] == text
        assert place["section"] is not None
        assert kb.store.documents.chunks([place["chunk_id"]])

    return check
