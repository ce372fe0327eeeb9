"""Paths answer questions over relations, cite each hop, and keep out of others."""

import pytest
from tests.retrieval.paths.films import FILMS
from tests.retrieval.small_index import build_index

from knotwork._extensions.paths.path_retriever import PathsRetriever
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._retrieval.retriever_registry import build_retriever
from knotwork._stores.urls import open_store
from knotwork.errors import ConfigError
from knotwork.records import CO_OCCURRENCE_RELATION, Query

QUESTIONS = [
    ("who directed Silver Lantern", {"Marta Ilves"}),
    ("when was Paper Moon Boat released", {"1970"}),
    ("which films did Marta Ilves direct", {"Silver Lantern", "Copper Kettle", "Iron Anchor"}),
    ("who starred in the films directed by Jaan Tamm", {"Kersti Pihl"}),
    ("what genres are the films that share directors with Silver Lantern", {"Drama", "Comedy"}),
    ("who wrote the films directed by the director of [Iron Anchor]", {"Jaan Tamm"}),
    ("which actor of Copper Kettle also acted in Paper Moon Boat", {"Kersti Pihl"}),
]


@pytest.mark.parametrize("stages", ["coarse", "both"])
@pytest.mark.parametrize(("question", "answers"), QUESTIONS)
def test_a_path_among_the_first_three_answers(films, question, answers, stages):
    retriever = PathsRetriever(
        store=films, embedder=HashingEmbedder(), options=PathsRetriever.Options(stages=stages)
    )
    evidence = retriever.retrieve(Query(question))
    assert answers in [set(path.answers) for path in evidence.paths[:3]]


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("权德舆的儿子是谁？", {"权璩", "权珏"}),
        ("权德舆的儿子的妻子是谁？", {"李氏娘子"}),
        ("权德舆的儿子中，谁毕业于长安书院？", {"权珏"}),
    ],
)
def test_chinese_questions_are_answered(family, question, answers):
    evidence = PathsRetriever(store=family).retrieve(Query(question))
    assert answers in [set(path.answers) for path in evidence.paths[:3]]


def test_each_hop_cites_the_sentence_that_states_it(films):
    question = "who starred in the films directed by Jaan Tamm"
    evidence = PathsRetriever(store=films).retrieve(Query(question))
    path = evidence.paths[0]
    assert path.text == "Jaan Tamm ←directed_by- Paper Moon Boat -starred_actors→ Kersti Pihl"
    for hop in path.hops:
        chunk = films.documents.chunks([hop.chunk_id])[hop.chunk_id]
        stated = chunk.text[hop.span.start - chunk.span.start : hop.span.end - chunk.span.start]
        assert hop.source_name in stated
        assert hop.target_name in stated
    assert path.hops[0].target == path.hops[1].source
    assert {hop.chunk_id for hop in path.hops} == {evidence.hits[0].chunk.id}
    assert evidence.hits[0].scores["path"] > 0
    assert evidence.trace


def test_scores_order_paths_and_hits(films):
    for question, _ in QUESTIONS:
        evidence = PathsRetriever(store=films).retrieve(Query(question, k=3))
        for scored in (evidence.paths, evidence.hits):
            scores = [one.score for one in scored]
            assert scores == sorted(scores, reverse=True)
        assert len(evidence.hits) <= 3
        for path in evidence.paths:
            assert 0.0 <= path.scores["probability"] <= 1.0


@pytest.mark.parametrize("question", ["What is the bark of the birch like?", "Lantern paper", ""])
def test_a_question_that_no_path_answers_is_ranked_as_by_graph(question, tmp_path):
    store = build_index(open_store(str(tmp_path / "index.knot"), create=True), None)
    ranked = [
        [(hit.chunk.id, hit.score) for hit in build_retriever(name, store=store).retrieve(q).hits]
        for q in [Query(question)]
        for name in ("paths", "graph")
    ]
    store.close()
    assert ranked[0] == ranked[1]


class Contrary:
    """A reranker that prefers the text with the word it was told."""

    name = "contrary"

    def __init__(self, word):
        self._word = word
        self.texts = []

    def score(self, question, texts):
        self.texts += texts
        return [1_000.0 if self._word in text else 0.0 for text in texts]


def test_a_reranker_has_the_last_word(films):
    reranker = Contrary("has genre")
    retriever = PathsRetriever(store=films, reranker=reranker)
    evidence = retriever.retrieve(Query("who directed Copper Kettle"))
    assert any("Copper Kettle" in text for text in reranker.texts)
    assert "precise" in evidence.paths[0].scores


def test_without_ranking_the_enumerated_order_stands(films):
    retriever = PathsRetriever(store=films, options=PathsRetriever.Options(stages="none"))
    evidence = retriever.retrieve(Query("who directed Silver Lantern"))
    assert evidence.paths[0].answers == ("Marta Ilves",)
    assert len({hop.chunk_id for path in evidence.paths for hop in path.hops}) > 1
    assert FILMS


def test_a_model_of_another_form_is_refused(films, tmp_path):
    broken = tmp_path / "broken.model"
    broken.write_text("nothing of the kind")
    with pytest.raises(ConfigError, match="LightGBM"):
        PathsRetriever(store=films, options=PathsRetriever.Options(trees=broken))
    with pytest.raises(ConfigError, match="cannot be read"):
        PathsRetriever(
            store=films, options=PathsRetriever.Options(trees=tmp_path / "missing.model")
        )
    other = tmp_path / "other.model"
    other.write_text("tree\nfeature_names=a b\n\nTree=0\nleaf_value=1\n\nend of trees\n")
    with pytest.raises(ConfigError, match="other features"):
        PathsRetriever(store=films, options=PathsRetriever.Options(trees=other))


def test_paths_over_words_of_texts_change_no_passages(tmp_path):
    store = build_index(open_store(str(tmp_path / "index.knot"), create=True), None)
    query = Query("Where was the man who directed Copper Kettle born?", k=4)
    paths = PathsRetriever(store=store).retrieve(query)
    graph = build_retriever("graph", store=store).retrieve(query)
    store.close()
    assert [(h.chunk.id, h.score) for h in paths.hits] == [
        (h.chunk.id, h.score) for h in graph.hits
    ]
    assert paths.paths
    # Rules name the relation in the words of the text; a sentence that names both is a path too.
    assert all(path.scores.get("irregular", -1.0) < 0 for path in paths.paths)
    assert ("Copper Kettle", "directed by", "Olev Raud") in {
        (hop.source_name, hop.relation, hop.target_name) for p in paths.paths for hop in p.hops
    }
    bridge = next(p for p in paths.paths if "bridge" in p.scores)
    assert bridge.hops[0].relation == CO_OCCURRENCE_RELATION
    assert bridge.hops[0].span is not None
