"""Patterns that read more, or less, than they searched: exact passages of their documents."""

import pytest
from tests.retrieval.small_index import build_index

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._retrieval.base import NO_QUESTIONS_NOTE
from knotwork._retrieval.retriever_registry import build_retriever
from knotwork._stores.urls import open_store
from knotwork._synthesis.extractive_answers import compose_answer
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ConfigError
from knotwork.records import Block, BlockKind, Document, Query, Span

TOPICS = {
    "Harbours": [
        "The harbour of Aldry has two piers.",
        "The northern pier was built of oak in 1881.",
        "Ships unload grain at the southern pier.",
        "A crane lifts the grain into silos.",
    ],
    "Bridges": [
        "The bridge of Venn crosses a gorge.",
        "Its arch is made of granite.",
        "Carts paid a toll until 1902.",
        "The toll house is a museum now.",
    ],
    "Mills": [
        "The mill of Corby grinds rye.",
        "Its wheel turns in the river Sall.",
        "The miller keeps bees behind it.",
        "Honey is sold at the door.",
    ],
}


def guide():
    text, topics = "", []
    for topic, sentences in TOPICS.items():
        start = len(text)
        text += f"{topic}\n\n"
        text += " ".join(sentences) + "\n\n"
        topics.append(Block(BlockKind.SECTION, Span(start, len(text)), topic, level=1))
    return Document(uri="guide.txt", title="Guide", text=text, blocks=tuple(topics))


def build(splitter):
    from knotwork._indexing.changes import Tiers
    from knotwork._indexing.embedding import Embedding
    from knotwork._indexing.prepare import document_source
    from knotwork._indexing.run import IndexingRun
    from knotwork._indexing.splitters import make_splitter
    from knotwork._indexing.stages import IndexingStages
    from knotwork._transform.extractor import make_extractor

    store = open_store("memory:", create=True)
    made = make_splitter(splitter, chunk_tokens=14, parent_tokens=60)
    stages = IndexingStages(made, make_extractor(), Embedding(HashingEmbedder()), Tiers("test"))
    IndexingRun(store, stages).update([document_source(guide())])
    return store


@pytest.fixture(scope="module")
def leaves():
    return build("structure")


@pytest.fixture(scope="module")
def family():
    return build("parent-child")


def found(store, name, question, k=3):
    retriever = build_retriever(name, store=store, embedder=HashingEmbedder())
    return retriever.retrieve(Query(question, k=k))


PATTERNS = [
    "sentence_window",
    "sentence_window(size=1)",
    "siblings",
    "siblings(reach=1, tokens=30)",
    "parent_child",
    "bottom_up(share=0.3)",
    "graph > sentence_window > siblings",
    "top_down > parent_child",
]


@pytest.mark.parametrize("splitter", ["leaves", "family"])
@pytest.mark.parametrize("name", PATTERNS)
def test_passages_are_exact_and_can_be_cited(request, splitter, name):
    store = request.getfixturevalue(splitter)
    evidence = found(store, name, "Which pier was built of oak?")
    text = guide().text
    assert evidence.hits
    for hit in evidence.hits:
        assert hit.chunk.text == text[hit.chunk.span.start : hit.chunk.span.end]
        assert {span for span, _ in hit.sentences} <= set(hit.chunk.sentences)
        assert store.documents.chunks([hit.chunk.id, *hit.matched]).keys() >= {hit.chunk.id}
        for span in hit.chunk.sentences:
            assert hit.chunk.span.start <= span.start
            assert span.end <= hit.chunk.span.end
    answer = compose_answer(evidence, store=store)
    assert any("oak" in citation.quote for citation in answer.citations)
    for citation in answer.citations:
        assert citation.quote == text[citation.span.start : citation.span.end]


@pytest.mark.parametrize("name", PATTERNS)
def test_no_passage_comes_twice(leaves, name):
    spans = [hit.chunk.span for hit in found(leaves, name, "pier grain toll mill", k=8).hits]
    for place, one in enumerate(spans):
        for other in spans[place + 1 :]:
            assert not (one.start <= other.start and other.end <= one.end)
            assert not (other.start <= one.start and one.end <= other.end)


def test_a_window_is_the_sentences_around_the_best(leaves):
    (hit,) = found(leaves, "sentence_window(bm25, size=1)", "granite arch", k=1).hits
    assert hit.chunk.text == " ".join(TOPICS["Bridges"][:3])
    (alone,) = found(leaves, "sentence_window(bm25, size=0)", "granite arch", k=1).hits
    assert alone.chunk.text == TOPICS["Bridges"][1]


def test_siblings_stay_in_their_section_and_below_their_tokens(leaves):
    (hit,) = found(leaves, "siblings(bm25, reach=9)", "bees", k=1).hits
    assert "Honey" in hit.chunk.text
    assert "grinds rye" in hit.chunk.text
    assert "toll" not in hit.chunk.text
    (small,) = found(leaves, "siblings(bm25, reach=9, tokens=25)", "bees", k=1).hits
    assert count_tokens(small.chunk.text) <= 25


def test_a_parent_replaces_its_children(family):
    evidence = found(family, "parent_child(bm25)", "bees honey rye", k=3)
    parents = [hit for hit in evidence.hits if hit.chunk.is_parent]
    assert parents
    assert "grinds rye" in parents[0].chunk.text
    assert len(parents[0].matched) >= 2
    children = family.documents.chunks(parents[0].matched)
    assert {child.parent_id for child in children.values()} == {parents[0].chunk.id}


def test_a_section_of_which_most_was_found_is_read_whole(leaves):
    evidence = found(leaves, "bottom_up(bm25, share=0.6)", "bees honey rye wheel miller", k=5)
    whole = evidence.hits[0].chunk
    assert all(sentence in whole.text for sentence in TOPICS["Mills"])
    assert len(evidence.hits[0].matched) >= 2
    assert any("became" in line for line in evidence.trace)
    apart = found(leaves, "bottom_up(bm25, share=1.0, tokens=20)", "bees honey rye wheel", k=5)
    assert all(not hit.matched for hit in apart.hits)


def test_the_section_that_gathers_evidence_comes_first():
    scattered = {f"Note {n}": f"A note on item {n}. The lamp is lit." for n in range(6)} | {
        "Lamps": "The lamp of Orr burns oil. The lamp of Orr was lit daily."
    }
    store = build_index(open_store("memory:", create=True), HashingEmbedder(), scattered)
    evidence = found(store, "top_down(bm25, lift=0.5)", "lamp lit", k=3)
    assert all("sections" in hit.scores for hit in evidence.hits)
    assert evidence.trace


def test_passages_outside_the_best_sections_gain_nothing(leaves):
    evidence = found(leaves, "top_down(bm25, sections=1)", "pier grain toll", k=9)
    inside = [hit for hit in evidence.hits if hit.scores["sections"] > 0]
    outside = [hit for hit in evidence.hits if hit.scores["sections"] == 0]
    assert inside
    assert outside
    assert len({hit.chunk.section_id for hit in inside}) == 1


def test_summaries_of_sections_lift_their_passages(leaves):
    evidence = found(leaves, "summaries(hybrid, source=sections)", "river wheel of the mill", k=3)
    assert evidence.hits[0].chunk.headings == ("Mills",)
    assert evidence.hits[0].scores["summary"] > 0


def test_an_index_without_questions_is_reported(leaves):
    evidence = found(leaves, "questions", "Who keeps bees?")
    assert NO_QUESTIONS_NOTE in evidence.notes
    assert evidence.hits[0].chunk.text.count("bees") == 1


@pytest.mark.parametrize(
    "name",
    [
        "sentence_window(size=-1)",
        "siblings(tokens=0)",
        "bottom_up(share=0)",
        "top_down(sections=0)",
    ],
)
def test_options_out_of_range_are_refused(leaves, name):
    with pytest.raises(ConfigError, match="must be"):
        build_retriever(name, store=leaves, embedder=None)
