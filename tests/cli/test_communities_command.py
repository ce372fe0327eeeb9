"""`communities`: what the sample is about, with passages, kept up to date with the documents."""

from __future__ import annotations

import re
import shutil

import pytest
from tests.cli.running import knotwork

from knotwork._stores.urls import open_store

pytestmark = pytest.mark.slow


MARKDOWN_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


@pytest.fixture
def store(sample_store, tmp_path, monkeypatch):
    copied = tmp_path / "copied.knot"
    shutil.copy(sample_store, copied)
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(copied))
    return copied


def test_the_topmost_communities_are_reported_with_their_sentences(store):
    outcome = knotwork("communities", "-n", "3")
    assert outcome.code == 0
    assert "level 0, " in outcome.out
    assert outcome.out.count("\n  • ") >= 3
    assert "sample/" in outcome.out
    assert "Building communities" in outcome.err
    assert "Finding communities" not in knotwork("communities", "-n", "3").err


def test_the_object_leads_back_to_the_documents(store):
    payload = knotwork("communities", "travel", "-n", "2", "--json").json
    assert 1 <= len(payload["communities"]) <= 2
    opened = open_store(str(store), read_only=True)
    found = opened.documents.documents(opened.documents.document_ids())
    texts = {document.uri: document.text for document in found.values()}
    opened.close()
    assert any(community["members"] for community in payload["communities"])
    for community in payload["communities"]:
        assert community["size"] >= len(community["members"])
        assert community["score"] > 0
        assert community["source"] == "extractive"
        for finding in community["findings"]:
            for support in finding["supports"]:
                start, end = support["span"]
                source = " ".join(texts[support["document"]][start:end].split())
                assert finding["text"] in MARKDOWN_LINK.sub(r"\1", source)


def test_deleted_documents_appear_in_no_report(store):
    before = knotwork("communities", "出差", "--json").json["communities"]
    assert any(
        "差旅管理办法.md" in s["document"]
        for c in before
        for f in c["findings"]
        for s in f["supports"]
    )
    assert knotwork("delete", "*差旅管理办法.md").code == 0
    after = knotwork("communities", "-n", "100", "--json").json["communities"]
    assert after
    assert not any(
        "差旅管理办法.md" in s["document"]
        for c in after
        for f in c["findings"]
        for s in f["supports"]
    )


def test_a_level_that_is_not_there_is_named_with_those_that_are(store):
    outcome = knotwork("communities", "--level", "9")
    assert outcome.code == 2
    assert "level 9" in outcome.err
    assert "0 (the topmost)" in outcome.err


def test_an_index_that_is_not_there_is_not_made(tmp_path):
    outcome = knotwork("communities", "--store", tmp_path / "none.knot")
    assert outcome.code == 2
    assert not (tmp_path / "none.knot").exists()
