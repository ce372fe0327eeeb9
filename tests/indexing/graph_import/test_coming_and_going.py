"""A graph that was imported and deleted, changed or broken off leaves what a fresh build holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.graph_import.graph_files import write
from tests.indexing.snapshots import snapshot

from knotwork._extensions.graphs.graph_import import graph_importer
from knotwork._extensions.graphs.graph_import.graph_importer import import_graph
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.embedding import Embedding
from knotwork._knowledge_base import KnowledgeBase
from knotwork._stores.urls import open_store

PEOPLE = ("Ada Stone", "ada stone", "Bo Finch", "Cy (elder)", "Cy (younger)", "李明", "Room 7")
FACTS = st.lists(
    st.tuples(
        st.sampled_from(PEOPLE), st.sampled_from(["meets", "helps"]), st.sampled_from(PEOPLE)
    ),
    min_size=1,
    max_size=12,
)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(graph_importer, "PART_CHUNKS", 2)
    monkeypatch.setattr(graph_importer, "CHUNK_TOKENS", 12)


def put(store, folder, name, facts):
    path = folder / f"{name}.tsv"
    path.write_text("".join("\t".join(fact) + "\n" for fact in facts), "utf-8")
    return import_graph(store, [path], embedding=Embedding(HashingEmbedder()))


@given(first=FACTS, second=FACTS, third=FACTS)
def test_added_and_deleted_documents_leave_no_trace(tmp_path_factory, first, second, third):
    folder = tmp_path_factory.mktemp("graphs")
    grown, fresh = open_store("memory:"), open_store("memory:")
    put(grown, folder, "one", first)
    put(grown, folder, "two", second)
    put(grown, folder, "one", third)
    KnowledgeBase(grown, embedder=HashingEmbedder()).delete("graph:two")
    put(fresh, folder, "one", third)
    assert snapshot(grown) == snapshot(fresh)
    assert grown.property_graphs.names() == ["one"]


def test_both_stores_hold_the_same(opened, tmp_path):
    facts = "".join(f"Person {n}\tknows\tPerson {n % 3}\n" for n in range(9))
    path = write(tmp_path, facts + "李明\t儿子\t李华\n李 明\t职业\t医生 (外科)\n", "people.tsv")
    kb, memory = opened(), open_store("memory:")
    for store in (kb.store, memory):
        import_graph(store, [path])
    assert snapshot(kb.store) == snapshot(memory)
    statement = "MATCH (a)-[r:knows]->(b) RETURN a.name, b.name ORDER BY a.name"
    assert kb.store.cypher(statement, graph="people").rows[3] == ("Person 3", "Person 0")


def test_deleting_a_graph_of_several_documents_empties_the_index(opened, tmp_path):
    kb = opened()
    facts = "".join(f"Person {n}\tknows\tPerson {n + 1}\n" for n in range(20))
    report = kb.graph.import_files(write(tmp_path, facts, "people.tsv"))
    assert report.documents == 10
    assert kb.store.property_graphs.names() == ["people"]
    assert len(kb.delete("graph:people")) == 10
    assert (kb.stats().documents, kb.store.graph.entity_count()) == (0, 0)
    assert kb.store.property_graphs.names() == []


def test_the_property_graph_stays_while_a_document_does(opened, tmp_path):
    kb = opened()
    facts = "".join(f"Person {n}\tknows\tPerson {n + 1}\n" for n in range(20))
    path = write(tmp_path, facts, "people.tsv")
    kb.graph.import_files(path)
    kb.delete("graph:people/2")
    assert kb.store.property_graphs.names() == ["people"]
    assert not kb.graph.import_files(path).unchanged
    assert len(kb.documents()) == 10


def test_a_graph_that_shrank_loses_its_last_documents(opened, tmp_path):
    kb = opened()
    lines = [f"Person {n}\tknows\tPerson {n + 1}\n" for n in range(20)]
    kb.graph.import_files(write(tmp_path, "".join(lines), "people.tsv"))
    report = kb.graph.import_files(write(tmp_path, "".join(lines[:2]), "people.tsv"))
    assert len(report.removed) == 10
    assert [entry.uri for entry in kb.documents()] == ["graph:people"]


def test_an_import_that_was_broken_off_is_finished_by_the_next(tmp_path):
    facts = "".join(f"Person {n}\tknows\tPerson {n + 1}\n" for n in range(20))
    path = write(tmp_path, facts, "people.tsv")
    broken, whole = open_store("memory:"), open_store("memory:")
    steps = import_graph.run(broken, [path])
    for step in steps:
        if step.stage == "write" and step.done > 4:
            steps.close()
            break
    assert 0 < broken.documents.document_count() < 10
    for store in (broken, whole):
        assert not import_graph(store, [path]).unchanged
    assert snapshot(broken) == snapshot(whole)
    assert import_graph(broken, [path]).unchanged


def test_without_vectors_only_names_have_some(tmp_path):
    path = write(tmp_path, "Ada\tmeets\tBo\nCy\tmeets\tBo\n", "people.tsv")
    for vectors in (True, False):
        store = open_store("memory:")
        import_graph(store, [path], vectors=vectors, embedding=Embedding(HashingEmbedder()))
        assert (store.vectors("chunk").count() > 0) is vectors
        assert store.vectors("entity").count() == 1
    assert KnowledgeBase(store, embedder=HashingEmbedder()).search("Who meets Bo?").hits


def test_a_big_graph_gets_vectors_only_when_it_is_told_to(tmp_path, monkeypatch):
    monkeypatch.setattr(graph_importer, "MOST_EMBEDDED_THINGS", 4)
    facts = "".join(f"Person {n}\tknows\tPerson {n + 1}\n" for n in range(5))
    path = write(tmp_path, facts, "people.tsv")
    for vectors, count, notes in ((None, 0, 1), (True, 5, 0), (False, 0, 0)):
        store = open_store("memory:")
        using = Embedding(HashingEmbedder())
        report = import_graph(store, [path], vectors=vectors, embedding=using)
        assert (store.vectors("chunk").count(), len(report.notes)) == (count, notes)


def test_a_folder_around_the_file_does_not_take_it_out(opened, tmp_path):
    kb = opened()
    folder = tmp_path / "data"
    folder.mkdir()
    kb.graph.import_files(write(folder, "Ada\tmeets\tBo\n", "people.tsv"))
    (folder / "note.md").write_text("Ada sings.", "utf-8")
    kb.index(folder)
    assert "graph:people" in {entry.uri for entry in kb.documents()}


def test_the_same_graph_under_two_names_is_there_twice(opened, tmp_path):
    kb = opened()
    path = write(tmp_path, "Ada Stone\tmeets\tBo Finch\n", "people.tsv")
    kb.graph.import_files(path, name="one")
    kb.graph.import_files(path, name="two")
    assert [entry.uri for entry in kb.documents()] == ["graph:one", "graph:two"]
    (edge,) = kb.store.graph.edges(types=["RELATES"])
    assert edge.weight == 2
    kb.delete("graph:one")
    (edge,) = kb.store.graph.edges(types=["RELATES"])
    assert edge.weight == 1
