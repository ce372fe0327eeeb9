"""The patterns over entities, on documents and on domain graphs, in both stores."""

from __future__ import annotations

import pytest
from tests.retrieval.entity.conftest import fill_with_facts

from knotwork._extensions.patterns import walk_retrievers
from knotwork._extensions.patterns.community_retrievers import NO_COMMUNITIES_NOTE
from knotwork._extensions.patterns.walk_retrievers import (
    NO_VECTORS_NOTE,
    EntityVectorRetriever,
)
from knotwork._retrieval.retriever_registry import build_retriever
from knotwork.errors import ConfigError
from knotwork.records import Query

COMMUNITIES = ("drill_down", "communities")
QUESTION = "Where was the director of Silver Lantern born?"


def ask(store, name, question=QUESTION, *, embedder=None, k=4, **options):
    retriever = build_retriever(name, store=store, embedder=embedder, options=options)
    return retriever.retrieve(Query(question, k=k))


def texts(evidence):
    return [hit.chunk.text for hit in evidence.hits]


@pytest.mark.parametrize("name", ["explore", "ontology", "graph_vector"])
def test_a_domain_graph_is_searched_over_two_hops(facts, name):
    evidence = ask(facts, name)
    assert set(texts(evidence)[:2]) == {
        "Silver Lantern directed by Marta Ilves.",
        "Marta Ilves born in Tartu.",
    }
    for hit in evidence.hits:
        assert hit.score == pytest.approx(sum(hit.scores.values()))
    assert evidence.trace


def test_entity_vectors_look_one_relation_around(facts):
    evidence = ask(facts, "entity_vectors", "Silver Lantern", k=2)
    assert texts(evidence)[0] == "Silver Lantern directed by Marta Ilves."
    assert evidence.paths[0].text == "Silver Lantern -directed by→ Marta Ilves"


@pytest.mark.parametrize("name", ["explore", "ontology"])
def test_paths_cite_the_passage_that_states_each_hop(facts, name):
    evidence = ask(facts, name)
    path = next(path for path in evidence.paths if len(path.hops) == 2)
    assert path.text == "Silver Lantern -directed by→ Marta Ilves -born in→ Tartu"
    chunks = facts.documents.chunks([hop.chunk_id for hop in path.hops])
    for hop in path.hops:
        chunk = chunks[hop.chunk_id]
        assert {hop.source_name, hop.target_name} <= {
            name for name in ("Silver Lantern", "Marta Ilves", "Tartu") if name in chunk.text
        }
        assert hop.span is not None
        document = facts.documents.documents([chunk.document_id])[chunk.document_id]
        assert hop.target_name in document.text[hop.span.start : hop.span.end]
    scores = [path.score for path in evidence.paths]
    assert scores == sorted(scores, reverse=True)


def test_a_path_is_found_where_the_graph_cites_no_stored_passage(fresh_store):
    store = fill_with_facts(fresh_store, stored=False)
    evidence = ask(store, "explore")
    assert evidence.hits == ()
    assert any(path.text.endswith("Tartu") for path in evidence.paths)


def test_direction_and_depth_of_explore(facts):
    outward = ask(facts, "explore", "Estonia", direction="out")
    assert outward.paths == ()
    inward = ask(facts, "explore", "Estonia", direction="in", depth=1)
    assert {path.hops[0].target_name for path in inward.paths} == {"Tartu", "Narva"}
    assert not any(path.hops[0].forward for path in inward.paths)
    with pytest.raises(ConfigError, match="direction"):
        ask(facts, "explore", direction="up")


@pytest.mark.parametrize("name", ["explore", "ontology", "entity_vectors"])
def test_words_lead_to_entities_that_are_not_named_in_full(facts, name):
    evidence = ask(facts, name, "Who made the lantern?", k=2)
    assert any("Silver Lantern" in text for text in texts(evidence))


@pytest.mark.parametrize("name", ["explore", "ontology"])
def test_nothing_known_is_no_evidence(facts, name):
    evidence = ask(facts, name, "xyzzy plugh")
    assert evidence.hits == ()
    assert evidence.notes


def test_entity_vectors_are_used_where_there_are_any(index, embedder, monkeypatch):
    monkeypatch.setattr(walk_retrievers, "LEAST_SIMILARITY", -1.0)
    retriever = EntityVectorRetriever(store=index, embedder=embedder)
    evidence = retriever.retrieve(Query(QUESTION, k=4))
    assert NO_VECTORS_NOTE not in evidence.notes
    assert "vector" in evidence.trace[0]
    without = ask(index, "entity_vectors")
    assert NO_VECTORS_NOTE in without.notes
    assert without.hits


@pytest.mark.parametrize("name", ["graph_vector", "explore", "entity_vectors", "ontology"])
def test_the_graph_brings_the_passage_that_shares_no_word(index, embedder, name):
    question = "Where did the director of Silver Lantern grow up?"
    evidence = ask(index, name, question, embedder=embedder, k=3)
    titles = [hit.chunk.document_title for hit in evidence.hits]
    assert {"Silver Lantern", "Marta Ilves"} <= set(titles)
    found = next(hit for hit in evidence.hits if hit.chunk.document_title == "Marta Ilves")
    assert found.scores["graph"] > 0
    assert found.seeds


@pytest.mark.parametrize("name", COMMUNITIES)
def test_without_communities_the_note_says_how_to_make_them(index, embedder, name):
    evidence = ask(index, name, embedder=embedder)
    assert evidence.retriever == name
    assert NO_COMMUNITIES_NOTE in evidence.notes
    assert evidence.hits


@pytest.mark.parametrize("with_embedder", [True, False])
@pytest.mark.parametrize("name", COMMUNITIES)
def test_communities_lead_to_their_passages(grouped, embedder, name, with_embedder):
    evidence = ask(
        grouped,
        name,
        "Which film did Marta Ilves direct?",
        embedder=embedder if with_embedder else None,
    )
    assert evidence.notes == ()
    titles = [hit.chunk.document_title for hit in evidence.hits]
    assert "Silver Lantern" in titles
    reports = grouped.communities.reports(
        [i for level in grouped.communities.levels() for i in level]
    )
    known = {report.title for report in reports.values()}
    for hit in evidence.hits:
        assert set(hit.seeds) <= known
        assert hit.seeds
        assert hit.score == pytest.approx(sum(hit.scores.values()))


def test_reports_lead_to_passages_that_they_cite(grouped, embedder):
    levels = grouped.communities.levels()
    evidence = ask(grouped, "communities", "Marta Ilves", embedder=embedder, level=0, k=50)
    cited = {
        chunk
        for report in grouped.communities.reports(levels[0]).values()
        for chunk in report.chunk_ids
    }
    assert {hit.chunk.id for hit in evidence.hits} <= cited
    assert all(line.startswith(("Level 0:", "And ")) for line in evidence.trace)
    with pytest.raises(ConfigError, match="level"):
        ask(grouped, "communities", level=-1)


def test_a_question_about_the_whole_gets_the_largest_communities(grouped):
    evidence = ask(grouped, "communities", "What are the main themes of the documents?", k=50)
    assert len({hit.chunk.document_id for hit in evidence.hits}) > 3


def test_the_descent_stays_within_the_chosen_communities(grouped, embedder):
    wide = ask(grouped, "drill_down", "Marta Ilves", embedder=embedder, k=50)
    narrow = ask(grouped, "drill_down", "Marta Ilves", embedder=embedder, beam=1, k=50)
    assert {hit.chunk.id for hit in narrow.hits} < {hit.chunk.id for hit in wide.hits}
    assert narrow.trace[0].startswith("Level 0: 1 of")
    top = ask(grouped, "drill_down", "Marta Ilves", embedder=embedder, beam=1, level=0, k=50)
    assert len(top.hits) >= len(narrow.hits)
