"""`train fusion`."""

import json

import pytest
from tests.cli.running import knotwork

import knotwork as package
from knotwork.records import Document

PEOPLE = ("Ada Lund", "Bo Tamm", "Cy Rebane", "Dee Saar", "Ed Mets", "Fay Kask", "Gil Org")
TOWNS = ("Narva", "Tartu", "Elva", "Paide", "Rapla", "Valga", "Haapsalu")


@pytest.fixture
def asked(tmp_path, monkeypatch):
    path = tmp_path / "index.knot"
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(path))
    monkeypatch.setenv("KNOTWORK_EMBEDDING_MODEL", "none")
    pairs = list(zip(PEOPLE, TOWNS, strict=True))
    with package.open(path) as kb:
        kb.index_documents(
            Document(f"towns/{town}.md", f"{who} built the harbour of {town}. It is old.")
            for who, town in pairs
        )
    rows = [
        {"question": f"Who built the harbour of {town}?", "gold_pids": [f"{town}.md"]}
        for _, town in pairs
    ]
    file = tmp_path / "asked.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows))
    return file


def test_weights_are_learned_and_can_be_used(asked):
    outcome = knotwork("train", "fusion", "bm25 + graph", "--questions", asked, "--json")
    assert outcome.code == 0, outcome.err
    told = outcome.json
    assert (told["questions"], told["with_gold_found"]) == (7, 7)
    assert sum(told["weights"].values()) == pytest.approx(1.0)
    assert told["recall_at_5"]["best_alone"] == 1.0
    found = knotwork("search", "Who built the harbour of Elva?", "--retriever", told["retriever"])
    assert found.code == 0, found.err
    assert "Elva" in found.out
    shown = knotwork("train", "fusion", "bm25 + graph", "--questions", asked)
    assert "do not need a fusion" in shown.out
    assert f"Learned: {told['retriever']}" in shown.out


def test_unusable_training_data_is_reported(asked, tmp_path):
    alone = knotwork("train", "fusion", "bm25", "--questions", asked)
    assert alone.code != 0
    assert "is not a sum of retrievers" in alone.err
    few = tmp_path / "few.jsonl"
    few.write_text('{"question": "Who built the harbour of Elva?", "gold_pids": ["Elva.md"]}')
    outcome = knotwork("train", "fusion", "bm25 + graph", "--questions", few)
    assert outcome.code != 0
    assert "at least 5 are required" in outcome.err
    unknown = tmp_path / "unknown.jsonl"
    unknown.write_text('{"question": "Who?", "gold_pids": ["Nowhere.md"]}')
    outcome = knotwork("train", "fusion", "bm25 + graph", "--questions", unknown)
    assert outcome.code != 0
    assert "Nowhere.md" in outcome.err
