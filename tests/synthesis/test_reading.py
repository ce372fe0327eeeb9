"""Passages that the reader reads, and the effect of its predictions on selected sentences."""

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._synthesis.extractive_answers import (
    MOST_READ,
    PREDICTION_GAIN,
    rank_candidates,
    read_hits,
)
from knotwork._text.sentences import split_sentences
from knotwork.records import Chunk, Evidence, Hit, Prediction, Query, Span

EMBEDDER = "local:some-model"
TEXT = "The bridge crosses the Wend. It was designed by Ilse Tarrant. The toll is two crowns."


class RecordingReader:
    """Predicts that the last sentence of every passage answers, and keeps what it was given."""

    embedder = EMBEDDER

    def __init__(self):
        self.asked = []

    def read(self, question, passages):
        for passage in passages:
            self.asked.append((question, passage))
            last = len(passage.sentences) - 1
            yield Prediction(tuple(9.0 if n == last else -9.0 for n in range(last + 1)))


def make_hit(number, text=TEXT, *, start=100, relevances=(0.8, 0.7, 0.6)):
    spans = tuple(Span(start + s.start, start + s.end) for s in split_sentences(text))
    whole = Span(start, start + len(text))
    chunk = Chunk(f"c{number}", f"d{number}", "s", 0, whole, text, spans, document_title="Bridges")
    return Hit(chunk, 1 / (1 + number), sentences=tuple(zip(spans, relevances, strict=True)))


def evidence(count, embedder=EMBEDDER):
    hits = tuple(make_hit(number) for number in range(count))
    return Evidence(Query("What is paid at the bridge?"), "auto", hits, 1.0, embedder=embedder)


def test_the_best_passages_are_read_with_their_titles_and_sentences():
    reader, found = RecordingReader(), evidence(MOST_READ + 3)
    read = read_hits(found, reader, most=3)
    assert len(reader.asked) == MOST_READ
    question, passage = reader.asked[0]
    assert (question, passage.text, passage.context) == (
        "What is paid at the bridge?",
        TEXT,
        "Bridges",
    )
    assert [TEXT[s.start : s.end] for s in passage.sentences] == [
        TEXT[s.start : s.end] for s in split_sentences(TEXT)
    ]
    assert [hit.prediction is not None for hit in read.hits] == [True] * MOST_READ + [False] * 3
    assert [hit.chunk for hit in read.hits] == [hit.chunk for hit in found.hits]


@pytest.mark.parametrize("embedder", ["", "hashing:64"])
def test_an_index_of_another_embedder_is_not_read(embedder):
    reader, found = RecordingReader(), evidence(2, embedder)
    assert read_hits(found, reader, most=3) is found
    assert not reader.asked


def test_without_a_reader_or_hits_nothing_changes():
    found, empty = evidence(2), evidence(0)
    assert read_hits(found, None, most=3) is found
    assert read_hits(empty, RecordingReader(), most=3) is empty


def test_a_sentence_that_answers_for_certain_comes_first():
    found = evidence(1)
    before = rank_candidates(found)
    assert before[0].text == "The bridge crosses the Wend."
    after = rank_candidates(read_hits(found, RecordingReader(), most=3))
    assert after[0].text == "The toll is two crowns."
    assert {item.text for item in after} == {item.text for item in before}


@given(st.lists(st.floats(-50, 50), min_size=3, max_size=3), st.booleans())
def test_a_prediction_raises_worth_by_its_share_and_never_lowers_it(odds, unread):
    found = evidence(1)
    odds = [float("-inf") if unread else value for value in odds]
    hit = dataclasses.replace(found.hits[0], prediction=Prediction(tuple(odds)))
    before = {item.text: item.worth for item in rank_candidates(found)}
    after = rank_candidates(dataclasses.replace(found, hits=(hit,)))
    for item in after:
        assert before[item.text] <= item.worth <= before[item.text] * (1 + PREDICTION_GAIN)
    order = [item.text for item in after]
    texts = [TEXT[s.start : s.end] for s in split_sentences(TEXT)]
    for one, other in itertools.pairwise(texts):
        if odds[texts.index(other)] <= odds[texts.index(one)]:
            assert order.index(one) < order.index(other)  # they stood in this order before


def test_a_passage_wider_than_its_sentences_is_quoted_as_before():
    hit = make_hit(0)
    strange = Span(hit.chunk.span.start, hit.chunk.span.start + 10)
    hit = dataclasses.replace(
        hit, sentences=((strange, 0.9),), prediction=Prediction((9.0, 9.0, 9.0))
    )
    found = dataclasses.replace(evidence(1), hits=(hit,))
    assert rank_candidates(found)[0].span == strange


def test_predictions_count_less_where_a_bridge_leads_to_the_best_passages():
    found = read_hits(evidence(1), RecordingReader(), most=3)
    worths = []
    for share in (0.0, 0.5, 1.0):
        hit = dataclasses.replace(found.hits[0], scores={"bridge": share * found.hits[0].score})
        ranked = rank_candidates(dataclasses.replace(found, hits=(hit,)))
        by_text = {item.text: item.worth for item in ranked}
        worths.append(by_text["The toll is two crowns."] / by_text["The bridge crosses the Wend."])
    assert worths == sorted(worths, reverse=True)
    assert worths[-1] < 1 < worths[0]


def test_a_passage_that_no_prediction_can_bring_into_the_answer_is_not_read():
    reader = RecordingReader()
    near, far = make_hit(0), make_hit(1, relevances=(0.15, 0.1, 0.05))
    found = dataclasses.replace(evidence(0), hits=(near, far))
    read = read_hits(found, reader, most=3)
    assert [hit.prediction is not None for hit in read.hits] == [True, False]
    assert all(
        hit.prediction is not None for hit in read_hits(found, reader, most=6).hits
    )  # more sentences are quoted, so that those of the second passage may be among them
