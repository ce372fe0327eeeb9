"""Answers cite the exact span of each sentence, or say that there is no answer."""

import re
from dataclasses import replace

import pytest
from tests.retrieval.small_index import PASSAGES, build_index
from tests.synthesis.written import chunk_of

from knotwork._config import AnswerSettings
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._retrieval.retriever_registry import build_retriever
from knotwork._stores.urls import open_store
from knotwork._synthesis.extractive_answers import (
    DocumentBlocks,
    Grain,
    Piece,
    cite_sentences,
    compose_answer,
)
from knotwork._text.plain_text import show_sentence
from knotwork._text.statements import SelectedSentence
from knotwork.records import (
    Block,
    BlockKind,
    Document,
    Evidence,
    Page,
    Prediction,
    Query,
    Span,
    TimedSpan,
    TimeSpan,
)

ALWAYS = AnswerSettings(abstain_below=0.0)


@pytest.fixture(scope="module")
def store():
    return build_index(open_store("memory:", create=True), HashingEmbedder())


def ask(store, question, settings=ALWAYS, **changes):
    retriever = build_retriever("auto", store=store, embedder=HashingEmbedder())
    return compose_answer(
        retriever.retrieve(Query(question, **changes)), store=store, settings=settings
    )


@pytest.mark.parametrize(
    "question",
    ["Where did the director of Silver Lantern grow up?", "长江发源于哪里？", "silver birch bark"],
)
def test_every_citation_is_the_exact_text_of_its_document(store, question):
    answer = ask(store, question)
    assert answer.answered
    assert [citation.number for citation in answer.citations] == list(
        range(1, len(answer.citations) + 1)
    )
    for citation in answer.citations:
        text = PASSAGES[citation.title]
        assert text[citation.span.start : citation.span.end] == citation.quote
        assert f"[{citation.number}]" in answer.text
        assert said_of(citation.quote) in answer.text


def said_of(quote):
    """Return a sentence without the pronoun that it begins with: a name is shown in its place."""
    return re.sub(r"^(?:(?:He|She|It|They|His|Her|Its|Their)\b|[他她它])", "", show_sentence(quote))


def test_the_answer_of_a_bridge_holds_both_ends(store):
    answer = ask(store, "Where did the director of Silver Lantern grow up?")
    assert answer.text.startswith(
        "Marta Ilves was an Estonian artist. She grew up in Tartu and died in 1988. [1]"
    )
    assert {"Silver Lantern", "Marta Ilves"} <= {citation.title for citation in answer.citations}


@pytest.mark.parametrize(
    ("before", "at_end", "first"),
    [(2.0, -7.0, "Marta Ilves"), (6.0, -8.0, "Silver Lantern"), (6.0, 5.0, "Marta Ilves")],
)
def test_a_bridge_leads_no_further_than_a_passage_that_answers(store, before, at_end, first):
    """A reader is sure that the first passage answers, and that the one at the end does not."""
    retriever = build_retriever("auto", store=store, embedder=HashingEmbedder())
    found = retriever.retrieve(Query("Where did the director of Silver Lantern grow up?"))
    odds = {"Silver Lantern": before, "Marta Ilves": at_end}
    hits = tuple(
        replace(hit, prediction=Prediction((odds.get(title, -9.0),) * len(hit.chunk.sentences)))
        for hit in found.hits
        for title in [hit.chunk.document_title]
    )
    answer = compose_answer(replace(found, hits=hits), store=store, settings=ALWAYS)
    assert answer.citations[0].title == first


def test_it_says_when_there_is_no_answer(store):
    answer = ask(store, "Which parliament ratified the zebra treaty?", AnswerSettings())
    assert not answer.answered
    assert answer.reason == "low_confidence"
    assert "[1]" not in answer.text
    assert "No passage was found that clearly answers" in answer.text
    assert "没有" in ask(store, "哪个议会批准了斑马条约？", AnswerSettings(abstain_below=1.0)).text


def test_no_evidence_is_an_honest_answer(store):
    answer = compose_answer(Evidence(Query("anything"), "auto"), store=store)
    assert (answer.answered, answer.reason, answer.citations) == (False, "no_evidence", ())


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_number_of_pieces_is_bounded(store, most):
    settings = AnswerSettings(max_sentences=most, abstain_below=0.0)
    answer = ask(store, "Tell me about Tartu, Estonia and the river.", settings)
    assert 1 <= len(answer.pieces) <= most
    assert [piece.citation for piece in answer.pieces] == [c.number for c in answer.citations]


def test_sections_and_pages_are_named():
    text = "Handbook\n\n# Travel\n\nTrips abroad are approved by the Travel Office."
    document = Document(
        uri="handbook.pdf",
        title="Handbook",
        text=text,
        blocks=(Block(BlockKind.SECTION, Span(10, len(text)), "Travel", level=1),),
        pages=(Page("1", 0), Page("2", 20)),
    )
    store = build_index(
        open_store("memory:", create=True), None, documents=[document], splitter="structure"
    )
    answer = ask(store, "Who approves trips abroad?")
    (citation,) = answer.citations
    assert (citation.document, citation.section, citation.page) == ("handbook.pdf", "Travel", "2")
    assert citation.quote == "Trips abroad are approved by the Travel Office."


@pytest.mark.parametrize(
    ("grain", "odds", "page", "start_s"),
    [
        (Grain.PARAGRAPH, 2.0, "2", 9.0),
        (Grain.PARAGRAPH, -2.0, "1", 0.0),
        (Grain.LIST, 2.0, "1", 0.0),
    ],
)
def test_page_and_time_come_from_the_likely_sentence(grain, odds, page, start_s):
    text = "The museum is old. A farmer paid for it."
    sentence = Span(19, len(text))
    document = Document(
        uri="talk.wav",
        text=text,
        pages=(Page("1", 0), Page("2", 19)),
        times=(TimedSpan(Span(0, 18), 0.0, 8.0), TimedSpan(sentence, 9.0, 12.0)),
    )
    chunk = chunk_of(document)
    store = open_store("memory:", create=True)
    store.documents.put(document, [], [chunk])
    found = SelectedSentence(chunk, sentence, text[19:], 1.0, 0, odds)
    piece = Piece(grain, Span(0, len(text)), DocumentBlocks(document), parts=[found])
    (citation,) = cite_sentences([found], store, [(piece.whole, piece.place)])
    assert (citation.quote, citation.page) == (text, page)
    assert citation.time == TimeSpan(start_s, 12.0)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("- **Kestrel** is\n a probe.", "Kestrel is a probe."),
        ("## What we make", "What we make"),
        ("| a | b |", "a | b"),
        ("2 * 3 is 6.", "2 * 3 is 6."),
        ("See [the manual](https://example.org/a_(b) 'Manual').", "See the manual."),
        ("![Logo](logo.png) of [Kestrel][1] (a probe)", "Logo of [Kestrel][1] (a probe)"),
    ],
)
def test_markup_is_not_shown(text, shown):
    assert show_sentence(text) == shown


def test_the_sections_of_a_document_are_read_once(store, monkeypatch):
    (document_id, *_) = store.documents.document_ids()
    (chunk,) = store.documents.chunks(
        store.documents.chunk_ids_of([document_id])[document_id][:1]
    ).values()
    chosen = [SelectedSentence(chunk, chunk.span, chunk.text, 1.0, 0)] * 3
    read = []
    sections_of = store.documents.sections_of
    monkeypatch.setattr(
        store.documents, "sections_of", lambda ids: read.extend(ids) or sections_of(ids)
    )
    assert [c.number for c in cite_sentences(chosen, store)] == [1, 2, 3]
    assert read == [document_id]
