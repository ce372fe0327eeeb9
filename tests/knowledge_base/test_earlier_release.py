"""An index from before its tables were created in one step opens, answers, grows and is embedded.

`data/earlier.knot.xz` holds the documents below with the vectors of `hashing:8`, written by the
last version that created an index in steps, from `0001-first-tables` to `0015-blocks`.
"""

import lzma
from dataclasses import replace
from pathlib import Path

import pytest
from tests.indexing.snapshots import snapshot

import knotwork
from knotwork.errors import SchemaMismatch
from knotwork.records import Document

FILE = Path(__file__).parent / "data" / "earlier.knot.xz"
MODEL = "hashing:8"
TEXTS = {
    "team.md": "# The team\n\nAda Lovelace leads the Travel Office. Grace Hopper helps her.",
    "travel.md": "# Travel\n\nThe Travel Office approves travel abroad. Ask Ada Lovelace first.",
    "出差.txt": "出差到北京需要部门经理批准。部门经理是王小明。",
}
DOCUMENTS = [Document(name, text) for name, text in TEXTS.items()]


@pytest.fixture
def earlier(tmp_path):
    path = tmp_path / "earlier.knot"
    path.write_bytes(lzma.decompress(FILE.read_bytes()))
    return path


def content(kb):
    """Return what an index shows but the settings that it was made with."""
    shown = snapshot(kb.store)
    return shown | {"ledger": [replace(entry, settings="") for entry in shown["ledger"]]}


def fresh(tmp_path, model):
    with knotwork.open(tmp_path / f"{model.partition(':')[2]}.knot", embedding_model=model) as kb:
        kb.index_documents(DOCUMENTS)
        return content(kb)


@pytest.mark.parametrize("read_only", [True, False])
def test_it_holds_what_a_new_index_would(earlier, tmp_path, read_only):
    with knotwork.open(earlier, embedding_model=MODEL, read_only=read_only) as kb:
        assert content(kb) == fresh(tmp_path, MODEL)
        assert kb.store.check() == []


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("Who approves travel abroad?", "The Travel Office approves travel abroad."),
        ("部门经理是谁？", "部门经理是王小明。"),
    ],
)
def test_it_answers_with_sources(earlier, read_only, question, quote):
    with knotwork.open(earlier, embedding_model=MODEL, read_only=read_only) as kb:
        answer = kb.ask(question)
        assert answer.answered
        assert any(quote in citation.quote for citation in answer.citations)
        assert kb.search(question, retriever="dense").hits


def test_it_takes_further_documents(earlier):
    documents = [*DOCUMENTS, Document("more.md", "Alan Turing joins them.")]
    with knotwork.open(earlier, embedding_model=MODEL) as kb:
        report = kb.index_documents(documents)
        assert (report.added, report.changed, report.unchanged) == (1, 0, len(DOCUMENTS))
        again = kb.index_documents(documents)
        assert (again.added, again.changed, again.unchanged) == (0, 0, len(documents))
        assert kb.store.check() == []


def test_it_names_the_command_for_another_model(earlier):
    with knotwork.open(earlier, embedding_model="hashing:16") as kb:
        with pytest.raises(SchemaMismatch, match=MODEL) as refused:
            kb.search("Who approves travel abroad?")
        assert "knotwork embed --model hashing:16" in refused.value.fix


def test_it_is_embedded_again_in_place(earlier, tmp_path):
    with knotwork.open(earlier, embedding_model=MODEL) as kb:
        kb.embed("hashing:16")
    with knotwork.open(earlier, embedding_model="hashing:16") as kb:
        assert content(kb) == fresh(tmp_path, "hashing:16")
        assert kb.ask("Who approves travel abroad?").answered
        assert kb.store.check() == []
