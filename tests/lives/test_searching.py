"""Passages are found by each retriever, by specifications, and within filters."""

import pytest

import knotwork

pytestmark = pytest.mark.slow

QUESTION = "Who designed the Kestrel probe?"


@pytest.mark.parametrize(
    "retriever",
    [
        "auto", "bm25", "dense", "hybrid",
        "sentence_window(size=1)", "siblings(reach=1)", "parent_child", "bottom_up(bm25)",
        "top_down", "summaries",
        "graph", "pagerank", "paths", "explore", "entity_vectors", "graph_vector", "ontology",
        "communities", "drill_down",
    ],
)  # fmt: skip
def test_each_retriever_finds_passages_with_scores_and_places(kb, retriever):
    evidence = kb.search(QUESTION, retriever=retriever, k=4)
    assert evidence.hits
    assert len(evidence.hits) <= 4
    scores = [hit.score for hit in evidence.hits]
    assert scores == sorted(scores, reverse=True)
    for hit in evidence.hits:
        start, end = hit.chunk.span
        documents = {e.document_id: e.uri for e in kb.documents()}
        text = kb.document(documents[hit.chunk.document_id]).text
        assert start < end <= len(text)


@pytest.mark.parametrize("retriever", ["bm25", "hybrid", "graph", "pagerank", "graph_vector"])
@pytest.mark.parametrize(
    ("question", "title"),
    [(QUESTION, "The Kestrel probe"), ("海外出差由谁审批？", "差旅管理办法")],
)
def test_the_best_passage_is_from_the_document_that_answers(kb, retriever, question, title):
    best = kb.search(question, retriever=retriever, k=3).hits[0]
    assert best.chunk.document_title == title


def test_paths_lead_from_a_name_over_relations_to_an_answer(kb):
    evidence = kb.search("Where was the designer of the Kestrel probe born?", retriever="paths")
    best = evidence.paths[0]
    assert best.hops[0].chunk_id
    assert "Oriane Keld" in best.text
    assert all(hop.source_name and hop.relation and hop.target_name for hop in best.hops)


def test_rows_of_tables_are_found_by_a_query_in_sql(kb):
    evidence = kb.search("Which buoys were moored at Lake Ashmere?", retriever="text_to_sql")
    (result,) = evidence.results
    assert result.language == "sql"
    assert "deployments" in result.statement
    assert result.rows


def test_rows_of_the_graph_are_found_by_a_query_in_cypher(kb):
    evidence = kb.search("Who designed the Kestrel probe?", retriever="dynamic_cypher")
    assert evidence.retriever.startswith("dynamic_cypher")
    for result in evidence.results:
        assert result.language == "cypher"
        assert result.statement.startswith("MATCH")


def test_steps_and_sums_compose_in_one_specification(kb):
    evidence = kb.search(
        "please tell me who desinged the Kestrel probe",
        retriever="rewrite > 2 * graph + bm25 > diversify > prune > budget(tokens=200)",
        k=5,
    )
    assert evidence.hits[0].chunk.document_title == "The Kestrel probe"
    assert {"bm25", "graph"} <= set(evidence.hits[0].scores)
    assert sum(len(hit.chunk.text.split()) for hit in evidence.hits) <= 200


@pytest.mark.parametrize("step", ["expand", "decompose", "rewrite"])
def test_a_step_before_a_retriever_keeps_the_answer(kb, step):
    evidence = kb.search(QUESTION, retriever=f"{step} > bm25", k=5)
    assert "The Kestrel probe" in [hit.chunk.document_title for hit in evidence.hits]


@pytest.mark.parametrize("step", ["rerank", "diversify", "prune"])
def test_a_step_after_a_retriever_keeps_the_answer(kb, step):
    evidence = kb.search(QUESTION, retriever=f"hybrid > {step}", k=5)
    assert evidence.hits[0].chunk.document_title == "The Kestrel probe"


@pytest.mark.parametrize(
    ("specification", "words"),
    [
        ("bm26", "bm25"),
        ("bm25 > nothing", "nothing"),
        ("sentence_window(sizes=1)", "size"),
        ("bm25 + ", "retriever"),
    ],
)
def test_a_wrong_specification_is_refused_with_what_is_right(kb, specification, words):
    with pytest.raises(knotwork.KnotworkError, match=words):
        kb.search(QUESTION, retriever=specification)


@pytest.mark.parametrize(
    ("filters", "documents"),
    [
        ("author = 'Dario Fenn'", {"papers/more/handbook.md"}),
        ("tags = finance and date >= 2023", {"papers/more/handbook.md"}),
        ({"tags": ["finance", "nothing"]}, {"papers/more/handbook.md"}),
        ({"$or": [{"author": "Dario Fenn"}, {"path": "Fees*"}]},
         {"papers/more/handbook.md", "papers/more/Fees 2022.md", "papers/more/Fees 2024.md"}),
    ],
)  # fmt: skip
def test_a_filter_admits_only_its_documents_in_every_family(kb, filters, documents):
    names = {entry.document_id: entry.uri for entry in kb.documents()}
    for retriever in ("bm25", "dense", "graph", "pagerank", "communities", "top_down"):
        hits = kb.search("Who is Dario Fenn?", retriever=retriever, filters=filters, k=20).hits
        assert {names[hit.chunk.document_id] for hit in hits} <= documents, retriever
    assert kb.search("Dario Fenn", retriever="bm25", filters="language = zh").hits == ()


def test_a_filter_reaches_answers_counts_and_the_graph(kb):
    answer = kb.ask("Who approves trips abroad?", filters="language = zh")
    assert "Travel Office" not in answer.text
    listed = kb.ask("List all documents", filters="language = zh")
    assert listed.text.startswith("7 documents:")
    with pytest.raises(knotwork.KnotworkError, match="author"):
        kb.search("anything", filters="autor = Ann")


def test_fields_are_listed_with_examples(kb):
    fields = {field.name: field for field in kb.fields()}
    assert {"author", "date", "tags", "file_date"} <= set(fields)
    assert fields["tags"].documents >= 1
    assert "2024-07-03" in fields["file_date"].examples


def test_passages_below_a_score_are_left_out(kb):
    scores = [hit.score for hit in kb.search(QUESTION, k=5).hits]
    kept = kb.search(QUESTION, k=5, min_score=scores[1]).hits
    assert [hit.score for hit in kept] == scores[:2]


@pytest.mark.parametrize("splitter", ["structure", "parent-child", "whole"])
def test_each_way_of_splitting_documents_keeps_answers_and_places(own_papers, tmp_path, splitter):
    with knotwork.open(tmp_path / "a.knot", splitter=splitter) as base:
        base.index(own_papers)
        answer = base.ask("Who approves large orders?")
        assert "Dario Fenn" in answer.text
        start, end = answer.citations[0].span
        assert base.document(answer.citations[0].document).text[start:end] in answer.text
        assert base.search("Who approves large orders?", retriever="parent_child").hits


def test_questions_that_rules_foresee_find_their_passage(own_papers, tmp_path):
    with knotwork.open(tmp_path / "a.knot", index_questions="rules") as base:
        base.index(own_papers)
        hits = base.search("Where was Oriane Keld born?", retriever="questions", k=3).hits
        assert any("Tarnby" in hit.chunk.text for hit in hits)
