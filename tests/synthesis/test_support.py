"""The support of a statement is the best sentence of its passage, or two neighbours."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.synthesis.written import chunk_of, make_evidence

from knotwork._synthesis.answer_writer import find_support
from knotwork._synthesis.prompt_context import pack_evidence
from knotwork._text.terms import content_terms
from knotwork.records import Document, Evidence, Hit, Query

TRAVEL, TEAM, CHINESE = pack_evidence(make_evidence()[0], budget_tokens=1_000)


def test_a_statement_in_another_language_has_the_sentence_nearest_to_the_question():
    passage = replace(CHINESE, best=CHINESE.spans[1])
    support = find_support("The director approves trips abroad.", passage)
    assert (support.text, support.worth) == ("主任是温青岚。", 0.0)


def test_sentences_that_are_no_neighbours_are_not_joined():
    text = "Ada leads the office. Nothing happens here at all. Grace runs the harbour."
    chunk = chunk_of(Document(uri="a", title="A", text=text))
    evidence = Evidence(Query("q"), "auto", (Hit(chunk, 1.0),), 1.0)
    (passage,) = pack_evidence(evidence, budget_tokens=100)
    apart = replace(passage, spans=(passage.spans[0], passage.spans[2]))
    support = find_support("Ada leads the office, and Grace runs the harbour.", apart)
    assert support.text == "Ada leads the office."


WORDS = ["Ada", "Lovelace", "leads", "London", "tea", "trips", "温青岚", "abroad"]


@given(st.lists(st.sampled_from(WORDS)))
def test_no_single_sentence_covers_a_statement_better(words):
    statement = " ".join(words)
    asked = set(content_terms(statement))
    for passage in (TRAVEL, TEAM, CHINESE):
        support = find_support(statement, passage)
        start, end = support.span
        assert passage.chunk.text[start:end] == support.text
        shares = [
            len(asked & set(content_terms(passage.chunk.text[a:b]))) / max(len(asked), 1)
            for a, b in passage.spans
        ]
        assert support.worth >= max(shares)
        assert 0 <= support.worth <= 1
