"""The component for Haystack, in a real pipeline."""

import pytest
from haystack import Pipeline
from haystack.components.builders import PromptBuilder

from knotwork.adapters.haystack import KnotworkRetriever
from knotwork.errors import FilterError, QueryRefused, StoreNotFound

QUESTION = "Who approves trips abroad?"
TEMPLATE = "{% for d in documents %}{{ d.meta.document }}: {{ d.content }}\n{% endfor %}{{ query }}"


@pytest.fixture(autouse=True)
def without_vectors(monkeypatch):
    monkeypatch.setenv("KNOTWORK_EMBEDDING_MODEL", "none")


@pytest.fixture
def component(index):
    made = KnotworkRetriever(str(index), retriever="bm25", top_k=3)
    yield made
    made.close()


def test_documents_are_the_hits_and_say_where_they_stand(component, kb, check_place):
    found = component.run(QUESTION)
    evidence = kb.search(QUESTION, retriever="bm25", k=3)
    assert [d.id for d in found["documents"]] == [hit.chunk.id for hit in evidence.hits]
    assert found["confidence"] == evidence.confidence
    for document in found["documents"]:
        check_place(document.content, document.meta)
        assert document.score == document.meta["score"]
    assert len(component.run(QUESTION, top_k=1)["documents"]) == 1


def test_a_pipeline_is_saved_loaded_and_run(component):
    pipeline = Pipeline()
    pipeline.add_component("find", component)
    pipeline.add_component("write", PromptBuilder(TEMPLATE, required_variables="*"))
    pipeline.connect("find.documents", "write.documents")
    loaded = Pipeline.loads(pipeline.dumps(), allowed_modules=[KnotworkRetriever.__module__])
    given = {"find": {"query": QUESTION}, "write": {"query": QUESTION}}
    try:
        prompt = loaded.run(given)["write"]["prompt"]
    finally:
        loaded.get_component("find").close()
    assert "sample/en/travel-policy.docx: " in prompt
    assert prompt == pipeline.run(given)["write"]["prompt"]


def test_it_opens_again_after_it_was_closed(component):
    before = component.run(QUESTION)
    component.close()
    component.close()
    assert component.run(QUESTION) == before


def test_an_index_that_is_not_there_is_reported(tmp_path):
    with pytest.raises(StoreNotFound):
        KnotworkRetriever(str(tmp_path / "none.knot")).run(QUESTION)


def test_filters_of_haystack_and_our_own_are_kept(component):
    own = component.run(QUESTION, top_k=30, filters={"path": "sample/en", "format": {"ne": "docx"}})
    native = {
        "operator": "AND",
        "conditions": [
            {"field": "meta.path", "operator": "==", "value": "sample/en"},
            {
                "operator": "NOT",
                "conditions": [{"field": "meta.format", "operator": "in", "value": ["docx"]}],
            },
        ],
    }
    found = component.run(QUESTION, top_k=30, filters=native)
    assert found["documents"] == own["documents"]
    uris = {document.meta["document"] for document in found["documents"]}
    assert uris
    assert all(uri.startswith("sample/en/") and not uri.endswith(".docx") for uri in uris)
    with pytest.raises(FilterError, match="like"):
        component.run(QUESTION, filters={"field": "path", "operator": "like", "value": "x"})


def test_a_saved_component_has_its_filters(index):
    made = KnotworkRetriever(str(index), filters={"path": "sample/zh"}, min_score=0.1)
    loaded = KnotworkRetriever.from_dict(made.to_dict())
    assert (loaded.filters, loaded.min_score) == ({"path": "sample/zh"}, 0.1)


def test_the_rows_of_a_retrieval_query_are_an_output_of_their_own(index, kb, people):
    given = {"retrieval_query": people, "query_params": {"start": "Travel Off"}}
    made = KnotworkRetriever(str(index), "bm25", top_k=3, **given)
    loaded = KnotworkRetriever.from_dict(made.to_dict())
    try:
        found = loaded.run(QUESTION)
        other = loaded.run(QUESTION, query_params={"start": "Ж"})
    finally:
        loaded.close()
    evidence = kb.search(QUESTION, retriever="bm25", k=3, **given)
    assert [d.id for d in found["documents"]] == [hit.chunk.id for hit in evidence.hits]
    (rows,) = found["results"]
    assert (rows["source"], rows["columns"]) == ("retrieval_query", ["name"])
    assert rows["rows"] == [["Travel Office"]]
    assert [result["rows"] for result in other["results"]] == [[]]


def test_a_pipeline_passes_the_rows_on(index, people):
    pipeline = Pipeline()
    find = KnotworkRetriever(str(index), top_k=3, retrieval_query=people)
    pipeline.add_component("find", find)
    template = "{% for result in results %}{{ result.rows }}{% endfor %}"
    pipeline.add_component("write", PromptBuilder(template, required_variables="*"))
    pipeline.connect("find.results", "write.results")
    try:
        given = {"find": {"query": QUESTION, "query_params": {"start": "Travel Off"}}}
        assert "Travel Office" in pipeline.run(given)["write"]["prompt"]
    finally:
        find.close()


def test_a_retrieval_query_that_writes_is_refused(index):
    made = KnotworkRetriever(str(index), retrieval_query="SET node.name = 'x' RETURN node")
    with pytest.raises(QueryRefused, match="SET"):
        made.run(QUESTION)
    made.close()
