"""Answers from paths of an imported graph."""

import pytest
from tests.retrieval.paths.films import FAMILY, FILMS, put_triples

import knotwork
from knotwork._retrieval.retriever_registry import build_retriever
from knotwork._stores.urls import open_store
from knotwork._synthesis.extractive_answers import LOW_CONFIDENCE, compose_answer
from knotwork.records import Document, Query


@pytest.fixture(params=["memory:", "index.knot"])
def kb(request, tmp_path):
    """Return an index of two imported graphs and a document beside them."""
    place = request.param if request.param == "memory:" else tmp_path / request.param
    with knotwork.open(place, embedding_model="none") as opened:
        for name, triples in (("films", FILMS), ("family", FAMILY)):
            file = tmp_path / f"{name}.tsv"
            rows = ["\t".join((s, r.replace("_", " "), o)) for s, r, o in triples]
            file.write_text("\n".join(rows), encoding="utf-8")
            opened.graph.import_files(file, name=name)
        text = "The harbour of Narva was built by Ada Lund in 1842. It is of stone."
        opened.index_documents([Document("harbour.md", text)])
        yield opened


def test_path_answers_cite_the_lines_of_their_hops(kb):
    answer = kb.ask("Which films were directed by Marta Ilves?", retriever="paths")
    assert answer.answered
    assert answer.retriever == "paths"
    for film in ("Silver Lantern", "Copper Kettle", "Iron Anchor"):
        assert f"{film} [" in answer.text
    assert "Paper Moon Boat" not in answer.text
    assert len(answer.citations) == 3
    documents = kb.store.documents.documents(
        {Document(c.document, "").id for c in answer.citations}
    )
    by_uri = {document.uri: document for document in documents.values()}
    for citation in answer.citations:
        assert "Marta Ilves" in citation.quote
        text = by_uri[citation.document].text
        assert text[citation.span.start : citation.span.end] == citation.quote
        assert f"[{citation.number}]" in answer.text


def test_each_answer_has_the_marks_of_its_own_hops(kb):
    answer = kb.ask("Who starred in the films directed by Jaan Tamm?", retriever="paths")
    assert answer.text == "Kersti Pihl [1][2]"
    assert [c.quote for c in answer.citations] == [
        "Paper Moon Boat directed by Jaan Tamm.",
        "Paper Moon Boat starred actors Kersti Pihl.",
    ]
    assert answer.confidence >= 0.5


def test_chinese_answers_have_chinese_marks(kb):
    answer = kb.ask("权德舆的儿子是谁？", retriever="paths")
    assert answer.answered
    assert "权璩[" in answer.text
    assert "、" in answer.text
    assert "权珏[" in answer.text


@pytest.mark.parametrize(
    "question",
    ["Who composed the music of Silver Lantern?", "Which films did Nobody Atall direct?"],
)
def test_where_no_path_leads_lines_of_the_graph_are_no_answer(kb, question):
    answer = kb.ask(question)
    assert not answer.answered
    assert answer.reason == LOW_CONFIDENCE
    assert answer.confidence < 0.5


def test_documents_beside_the_graph_answer_as_before(kb):
    answer = kb.ask("Who built the harbour of Narva?")
    assert answer.answered
    assert answer.citations[0].document == "harbour.md"
    assert "Ada Lund" in answer.text


def test_relations_of_texts_are_no_answer_by_themselves():
    store = put_triples(open_store("memory:"), FILMS)
    found = build_retriever("paths", store=store).retrieve(
        Query("Which films were directed by Marta Ilves?")
    )
    assert found.paths[0].scores["probability"] > 0.5
    answer = compose_answer(found, store=store)
    assert "; over the same relations" not in answer.text
    assert {piece.kind for piece in answer.pieces} == {"paragraph"}


def test_answers_beyond_the_cited_ones_are_distinguished(tmp_path):
    rows = [f"Film {n}\tdirected by\tAda Lund" for n in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
    file = tmp_path / "many.tsv"
    file.write_text("\n".join(rows))
    with knotwork.open("memory:", embedding_model="none", answer_max_sentences=2) as kb:
        kb.graph.import_files(file, name="many")
        answer = kb.ask("Which films were directed by Ada Lund?", retriever="paths")
    assert len(answer.citations) == 4
    cited, others = answer.text.split("; over the same relations also ")
    assert cited.count("[") == 4
    names = others.split(" and ")[0].split(", ")
    assert len(names) == 16
    assert others.endswith(" and 6 more")
