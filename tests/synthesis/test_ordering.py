"""The sentence that names the bridge precedes the sentence that the bridge leads to."""

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.retrieval.small_index import build_index

from knotwork._config import AnswerSettings
from knotwork._retrieval.retriever_builder import build_retriever
from knotwork._stores.urls import open_store
from knotwork._synthesis.extractive_answers import compose_answer, order_sentences
from knotwork._synthesis.sentence_selection import (
    SelectedSentence,
    rank_candidates,
    select_sentences,
)
from knotwork.records import Chunk, Evidence, Hit, Query, Span, Step
from knotwork.testing._embedders import HashingEmbedder


def make_step(chunk_id):
    return Step(chunk_id, Span(0, 4), "text", "e", "Entity", 1.0)


def make_hit(name, *, path=(), at=0, score=1.0):
    """Make a hit of one chunk; its document is the name up to the dot."""
    document = name.partition(".")[0]
    text = f"Sentence of {name} itself."
    span = Span(at, at + len(text))
    chunk = Chunk(name, document, "section", 0, span, text, (span,))
    return Hit(chunk, score, path=tuple(map(make_step, path)), sentences=((span, 1.0),))


def order(*hits):
    """Return the order of sentences behind the first one, which is of another document."""
    evidence = Evidence(Query("question"), "auto", hits)
    chosen = [
        SelectedSentence(hit.chunk, hit.chunk.span, hit.chunk.text, 1.0, rank)
        for rank, hit in enumerate(hits)
    ]
    first = make_hit("0").chunk
    answer = SelectedSentence(first, first.span, first.text, 1.0, len(hits))
    orders = {
        tuple(item.chunk.id for item in order_sentences([answer, *mixed], evidence)[1:])
        for mixed in permutations(chosen)
    }
    assert len(orders) == 1, "the order in which sentences were chosen does not count"
    return "".join(orders.pop())


def test_what_answers_best_stands_first():
    hits = [make_hit("s"), make_hit("t", path="s")]
    chosen = [
        SelectedSentence(h.chunk, h.chunk.span, h.chunk.text, 1.0, n) for n, h in enumerate(hits)
    ]
    ordered = order_sentences(chosen[::-1], Evidence(Query("question"), "auto", tuple(hits)))
    assert [item.chunk.id for item in ordered] == ["t", "s"]


def test_without_bridges_documents_come_by_rank():
    assert order(make_hit("b"), make_hit("a"), make_hit("c")) == "bac"


def test_a_bridge_puts_its_start_right_before_its_end():
    assert order(make_hit("t", path="s"), make_hit("x"), make_hit("s")) == "stx"
    assert order(make_hit("s"), make_hit("x"), make_hit("t", path="s")) == "sxt"


def test_a_bridge_of_several_steps_is_told_from_its_start():
    assert order(make_hit("c", path="ab"), make_hit("b"), make_hit("a")) == "abc"
    assert order(make_hit("c", path="b"), make_hit("b", path="a"), make_hit("a")) == "abc"
    # The middle of the way need not be among the hits.
    assert order(make_hit("c", path="ab"), make_hit("a")) == "ac"


def test_two_bridges_from_one_passage_share_their_start():
    assert order(make_hit("t", path="s"), make_hit("u", path="s"), make_hit("s")) == "stu"


def test_bridges_in_a_circle_change_nothing():
    assert order(make_hit("a", path="b"), make_hit("b", path="a")) == "ab"
    assert order(make_hit("a", path="c"), make_hit("b", path="a"), make_hit("c", path="b")) == "abc"
    assert order(make_hit("a", path="a"), make_hit("b")) == "ab"


def test_one_document_is_told_by_position_whatever_leads_where():
    late, early = make_hit("d.2", at=90), make_hit("d.1", at=0, path=["d.2"])
    assert order(early, late) == "d.1d.2"


NAMES = "abcde"
WAYS = st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=2))


@given(st.permutations(NAMES[:4]), WAYS)
def test_every_bridge_outside_a_circle_is_told_from_its_start(names, ways):
    told = order(*(make_hit(name, path=ways.get(name, ())) for name in names))
    assert sorted(told) == sorted(names)
    whole = [[*(s for s in ways.get(t, ()) if s in names), t] for t in names]
    leads = {pair for way in whole for pair in combinations(way, 2)}
    reach = set(leads)
    for middle in NAMES:  # Warshall's closure, an independent account of what leads where
        reach |= {(s, t) for s, m in reach if m == middle for n, t in reach if n == middle}
    for source, target in leads:
        if (target, source) not in reach:
            assert told.index(source) < told.index(target)


@pytest.fixture(scope="module")
def store():
    return build_index(open_store("memory:", create=True), HashingEmbedder())


def test_an_answer_over_a_bridge_tells_what_answers_and_where_the_bridge_begins(store):
    retriever = build_retriever("auto", store=store, embedder=HashingEmbedder())
    evidence = retriever.retrieve(Query("Where did the director of Silver Lantern grow up?"))
    settings = AnswerSettings(abstain_below=0.0)
    chosen = select_sentences(rank_candidates(evidence), most=settings.max_sentences)
    answer = compose_answer(evidence, store=store, settings=settings)
    assert {"Silver Lantern", "Marta Ilves"} <= {citation.title for citation in answer.citations}
    assert answer.citations[0].span == chosen[0].span
    assert {c.span for c in answer.citations} == {item.span for item in chosen}
