"""Questions with slips of the keyboard find what the question without them finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.retrieval.small_index import build_index

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._retrieval.question import correct_spelling
from knotwork._retrieval.retriever_registry import build_retriever, retriever_names
from knotwork._stores.urls import open_store
from knotwork.records import Document, Query

MANUAL = {
    "Locks": "A restartpoint waits for no lock. The collector checks for deadlocks every second.",
    "Recovery": "A restartpoint writes all pages. Recovery reads the column of states.",
    "Logging": "The collector writes the column names of each database into a file.",
    "Database": "A database has tables. The database is backed up by Oscar Brown.",
    "Brown": "Oscar Brown designed the database, and British engineers built it.",
}


@pytest.fixture(scope="module", params=["memory", "embedded"])
def manual(request, tmp_path_factory):
    url = "memory:"
    if request.param == "embedded":
        url = str(tmp_path_factory.mktemp("manual") / "index.knot")
    store = build_index(open_store(url, create=True), None, MANUAL)
    yield store
    store.close()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("restartpoitn", "restartpoint"),  # in no dictionary, but in the documents
        ("collecotr", "collector"),
        ("cloumn", "column"),
        ("databse", "database"),
        ("databbase", "database"),
        ("datobase", "database"),
        ("Databse", "Database"),
    ],
)
def test_a_word_one_slip_away_is_meant(manual, written, meant):
    text, corrections = correct_spelling(f"{written} of the states", manual)
    assert text == f"{meant} of the states"
    assert corrections == {written: meant}


@pytest.mark.parametrize(
    "question",
    [
        "what is a restartpoint?",  # in the documents
        "how are tokens rewound?",  # words, though in no document
        "what does Coltum say?",  # a name
        "what does a PgCloumn say?",  # a name of software
        "where doesn't it wait?",
        "which lokc?",  # too short to be sure
        "what is the chekcsum?",  # nothing near it is in the documents
        "wie heißt die Dtenbank und was ist das?",  # of no word that is there
        "数据库是什么",
        "12345 cloumn2 67",
        "",
    ],
)
def test_all_else_is_left_as_it_is(manual, question):
    assert correct_spelling(question, manual) == (question, {})


@given(st.text(max_size=60))
def test_only_words_that_no_document_has_are_replaced(manual, text):
    corrected, corrections = correct_spelling(text, manual)
    for written, meant in corrections.items():
        assert written in text
        assert meant in corrected
    if not corrections:
        assert corrected == text


@pytest.mark.parametrize("name", sorted(set(retriever_names()) - {"dense"}))
def test_every_retriever_reads_what_is_meant(manual, name):
    retriever = build_retriever(name, store=manual, embedder=None)
    right = retriever.retrieve(Query("what does the collector write?"))
    slipped = retriever.retrieve(Query("what does the collecotr write?"))
    assert [hit.chunk.id for hit in slipped.hits] == [hit.chunk.id for hit in right.hits]
    if slipped.hits:
        assert "“collecotr”: searched for “collector”" in "".join(slipped.notes)


def test_the_vector_matches_the_question_that_is_meant():
    embedder = HashingEmbedder(64)
    store = build_index(open_store("memory:", create=True), embedder, MANUAL)
    dense = build_retriever("dense", store=store, embedder=embedder)
    right, slipped = (
        dense.retrieve(Query(f"what does the {word} write?")) for word in ("collector", "collecotr")
    )
    assert [(h.chunk.id, h.score) for h in slipped.hits] == [
        (h.chunk.id, h.score) for h in right.hits
    ]


def test_an_empty_index_corrects_nothing():
    store = open_store("memory:", create=True)
    assert correct_spelling("what is a cloumn?", store) == ("what is a cloumn?", {})


def test_a_slip_in_a_document_is_no_word(manual):
    store = build_index(
        open_store("memory:", create=True),
        None,
        documents=[Document(uri="a.txt", title="a", text="The colunm is here, once.")],
    )
    assert correct_spelling("which colmunn?", store)[1] == {}
