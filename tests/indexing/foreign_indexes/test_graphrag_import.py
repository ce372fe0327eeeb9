"""The tables of Microsoft GraphRAG come in whole: texts, graph, communities and reports."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.indexing.foreign_indexes.foreign_files import (
    ESSAY,
    LETTER,
    NO_EMBEDDER,
    current_tables,
    older_tables,
    unit_texts,
    write_tables,
)
from tests.indexing.foreign_indexes.reading_back import chunks_of, dropped, edges_of, shape

from knotwork._extensions.graphs.foreign_indexes.index_importer import import_index
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.commit import remove_sources
from knotwork._indexing.communities.index_reports import find_topics, is_current, refresh_reports
from knotwork._indexing.embedding import Embedding
from knotwork._knowledge_base import KnowledgeBase
from knotwork._stores.base import Store
from knotwork._stores.embedded import EmbeddedStore
from knotwork._stores.urls import open_store
from knotwork.errors import IndexingError, UnknownName
from knotwork.records import ReadingStatus, entity_id


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tables(tmp_path / "ragtest" / "output", current_tables())


@pytest.fixture
def store() -> Store:
    return open_store("memory:")


def test_text_units_are_chunks_with_their_exact_spans(store, folder):
    import_index(store, folder)
    chunks = chunks_of(store, "graphrag:ragtest/squad.txt")
    assert [chunk.text for chunk in chunks] == unit_texts()
    for chunk in chunks:
        assert ESSAY[chunk.span.start : chunk.span.end] == chunk.text
        for start, end in chunk.sentences:
            assert chunk.span.start <= start < end <= chunk.span.end
    (letter,) = chunks_of(store, "graphrag:ragtest/letter.txt")
    assert letter.text == LETTER  # without the line that was put before it


def test_links_become_mentions_where_the_name_stands(store, folder):
    report = import_index(store, folder)
    first, second, third = chunks_of(store, "graphrag:ragtest/squad.txt")
    mentions = {m.normal_form: m for m in store.graph.mentions([first.id])[first.id]}
    assert mentions.keys() == {"ada stone", "night squad", "harbour base", "bo finch"}
    for mention in mentions.values():
        for start, end in mention.spans:
            assert ESSAY[start:end].casefold() == mention.normal_form
    assert mentions["ada stone"].name == "Ada Stone"
    assert mentions["harbour base"].type == "PLACE"
    assert mentions["night squad"].about > 0
    late = {m.normal_form: m for m in store.graph.mentions([third.id])[third.id]}
    assert late["cosmic silence"].spans == ()
    assert late["cosmic silence"].about == 0
    assert report.brought["mentions whose name is not in the text"] == 1
    assert {m.normal_form for m in store.graph.mentions([second.id])[second.id]} == {
        "bo finch",
        "radio",
        "signal",
    }


def test_relations_keep_weight_and_description_and_take_their_name_from_it(store, folder):
    report = import_index(store, folder)
    edges = edges_of(store)
    assert edges["Ada Stone", "leads", "Night Squad"] == 17
    assert edges["Ada Stone", "related to", "Bo Finch"] == 8
    assert edges["Bo Finch", "repaired", "radio"] == 2
    assert edges["Ada Stone", "mentorship", "Bo Finch"] == 1
    first = chunks_of(store, "graphrag:ragtest/squad.txt")[0]
    found = {
        relation.relation: relation for relation in store.graph.relations([first.id])[first.id]
    }
    assert found["related to"].description == "She taught him all she knew"
    assert found["leads"].description == "Ada Stone leads the Night Squad."
    spans = [ESSAY[slice(*relation.span)] for relation in found.values()]
    assert "Ada Stone leads the Night Squad from Harbour Base." in spans
    # an end that no table lists comes in where the text has it, and only there
    assert ("radio", "caught", "signal") in edges
    assert report.brought["entities added for ends of relations"] == 1
    reason = "an end of the relation is neither an entity nor in the text"
    assert dropped(report)["relations", reason] == 1
    reading = store.readings.readings([first.id])[first.id]
    assert reading.source == "graphrag"
    assert reading.status is ReadingStatus.PARTIAL
    assert reading.complaints == (f"ADA STONE | EMPEROR OF MARS: {reason}",)


def test_descriptions_and_claims_occur_once_per_document(store, folder):
    report = import_index(store, folder)
    ada = store.readings.descriptions([entity_id("ada stone")])[entity_id("ada stone")]
    texts = sorted(description.text for description in ada)
    assert texts == [
        "Ada Stone leads the squad.",
        "Ada Stone leads the squad.",
        "Ada read the signal.",
    ]
    documents = {
        chunk.document_id for chunk in store.documents.chunks([d.chunk_id for d in ada]).values()
    }
    assert len(documents) == 2
    assert report.brought["claims as relations"] == 1
    assert report.brought["claims as descriptions"] == 1
    assert dropped(report)["claims", "it is marked as false"] == 1
    assert dropped(report)["claims", "its subject is not an entity"] == 1


def test_every_row_is_accounted_for(store, folder):
    report = import_index(store, folder)
    assert report.held == {
        "documents": 2,
        "text units": 4,
        "entities": 6,
        "relations": 5,
        "claims": 4,
        "communities": 3,
        "reports": 2,
    }
    lost = {kind: sum(n for k, _, n in report.dropped if k == kind) for kind in report.held}
    brought = report.brought
    assert brought["documents"] + lost["documents"] == 2
    assert brought["text units"] + lost["text units"] == 4
    assert brought["relations"] + lost["relations"] == 5
    assert brought["entities"] == 6 + brought["entities added for ends of relations"]
    claims = brought["claims as relations"] + brought["claims as descriptions"]
    assert claims + lost["claims"] == 4
    assert brought["communities"] == len(shape(store)) == 3
    assert brought["reports"] == 2
    assert brought["reports put together for communities without one"] == 1


def test_communities_keep_their_levels_and_hold_chunks(store, folder):
    import_index(store, folder)
    top, below = store.communities.levels()
    assert (len(top), len(below)) == (2, 1)
    found = store.communities.communities([*top, *below])
    child = found[below[0]]
    parent = found[child.parent_id]
    assert set(child.entity_ids) == {entity_id("ada stone"), entity_id("night squad")}
    assert set(child.entity_ids) < set(parent.entity_ids)
    assert set(child.chunk_ids) <= set(parent.chunk_ids)
    held = [chunk for key in top for chunk in found[key].chunk_ids]
    assert len(held) == len(set(held)) == 4
    for community in found.values():
        assert sum(member.importance for member in community.members) == pytest.approx(1, abs=1e-4)


def test_reports_cite_passages_instead_of_rows(store, folder):
    report = import_index(store, folder)
    topics = {topic.report.title: topic.report for topic in find_topics(store, level=0)}
    squad = topics["The squad"]
    assert (squad.rating, squad.source, squad.language) == (8.5, "graphrag", "en")
    leads, rest = squad.findings
    assert leads.text == "Leadership\nAda leads."
    assert rest.text == "Rest\nNobody slept. More"
    chunks = store.documents.chunks(squad.chunk_ids)
    for finding in squad.findings:
        for support in finding.supports:
            assert support.span in chunks[support.chunk_id].sentences
    cited = [slice(*support.span) for support in leads.supports]
    assert "Ada Stone leads the Night Squad from Harbour Base." in [ESSAY[s] for s in cited]
    third = chunks_of(store, "graphrag:ragtest/squad.txt")[2]
    assert [s.chunk_id for s in rest.supports] == [third.id]
    (below,) = find_topics(store, level=1)
    assert below.report.summary == "Two of them."
    assert [finding.text for finding in below.report.findings] == ["One"]
    assert report.brought["references that lead to no text unit"] == 1
    (best, *_) = store.texts("report").search("slept squad", k=1)
    (topic,) = find_topics(store, ranked=[best])
    assert topic.report.title == "The squad"


def test_imported_reports_stay_until_their_documents_change(store, folder):
    import_index(store, folder)
    assert is_current(store)
    before = store.communities.reports(
        [key for level in store.communities.levels() for key in level]
    )
    refresh_reports(store)
    after = store.communities.reports(before)
    assert {r.title for r in before.values()} == {r.title for r in after.values()}
    entry = store.ledger.get(["graphrag:ragtest/letter.txt"])
    remove_sources(store, list(entry.values()))
    assert not is_current(store)


def test_the_older_layout_is_imported_alike(store, folder, tmp_path):
    older = write_tables(
        tmp_path / "ragtest" / "old" / "output" / "20240708-1" / "artifacts",
        older_tables(),
        "create_final_",
    )
    now, then = import_index(store, folder), import_index(other := open_store("memory:"), older)
    assert other.graph.entity_count() == store.graph.entity_count()
    assert edges_of(other) == edges_of(store)
    assert dict(then.held) == dict(now.held)
    assert dict(then.brought) == dict(now.brought)
    assert then.dropped == now.dropped
    assert shape(other) == shape(store)


def test_a_project_is_found_by_its_folder(store, folder):
    report = import_index(store, folder.parent)
    assert (report.format, report.name) == ("graphrag", "ragtest")
    with pytest.raises(IndexingError, match="neither the tables"):
        import_index(store, folder.parent.parent / "..")


def test_vectors_are_made_anew_and_kept_by_a_second_import(tmp_path, folder):
    store = EmbeddedStore.open(tmp_path / "index.knot", create=True)
    run = import_index.run(store, folder, embedding=Embedding(HashingEmbedder()))
    steps = list(run)
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert steps[-1].done == steps[-1].total == 4
    assert run.result().embedder == HashingEmbedder().name
    assert store.vectors("chunk").count() == 4
    assert store.vectors("entity").count() > 0
    assert store.vectors("report").count() == 3
    again = Embedding(HashingEmbedder())
    import_index(store, folder, embedding=again)
    assert again.reused >= 4
    assert store.documents.document_count() == 2
    assert store.check() == []
    store.close()


def test_a_second_import_replaces_the_first(store, folder):
    import_index(store, folder)
    tables = current_tables()
    tables["documents"] = tables["documents"][:1]
    tables["text_units"] = tables["text_units"][:3]
    write_tables(folder, tables)
    report = import_index(store, folder)
    assert report.removed == ("graphrag:ragtest/letter.txt",)
    fresh = open_store("memory:")
    import_index(fresh, folder)
    assert edges_of(fresh) == edges_of(store)
    assert shape(fresh) == shape(store)


def test_two_indexes_of_one_folder_name_stay_apart_by_name(store, folder):
    import_index(store, folder)
    again = import_index(store, folder, name="other")
    assert again.name == "other"
    assert again.removed == ()
    assert store.documents.document_count() == 4
    uris = [entry.uri for entry in store.ledger.entries()]
    assert "graphrag:other/squad.txt" in uris


def test_all_of_it_answers_and_leaves_again(tmp_path, folder):
    store = EmbeddedStore.open(tmp_path / "index.knot", create=True)
    import_index(store, folder)
    with KnowledgeBase(store, settings=NO_EMBEDDER) as base:
        assert base.search("Who repaired the radio?").hits[0].chunk.text.find("radio") > 0
        assert "Ada Stone" in base.ask("Who leads the Night Squad?").text
        assert {t.report.title for t in base.communities.list(level=0)} >= {"The squad"}
        names = {node.name for node in base.graph.explore("Ada Stone").nodes}
        assert {"Bo Finch", "Night Squad"} <= names
        notes = tmp_path / "notes"
        notes.mkdir()
        (notes / "a.md").write_text("The harbour was quiet.", "utf-8")
        assert base.index(notes).removed == ()
        assert len(base.documents()) == 3
        assert set(base.delete("graphrag:ragtest/")) == {
            "graphrag:ragtest/letter.txt",
            "graphrag:ragtest/squad.txt",
        }
        assert [entry.uri for entry in base.documents()] == ["notes/a.md"]
        assert store.graph.lookup(["ada stone", "radio"]) == {}
        assert store.readings.described() == []
        assert store.check() == []


def test_beside_other_documents_nothing_of_theirs_is_lost(tmp_path, folder):
    with KnowledgeBase(open_store("memory:"), settings=NO_EMBEDDER) as base:
        notes = tmp_path / "notes"
        notes.mkdir()
        (notes / "a.md").write_text("Ada Stone and Dora Quill met Clem Moss in Lund.", "utf-8")
        base.index(notes)
        base.communities.update()
        report = import_index(base.store, folder)
        assert not base.communities.is_current()
        reason = "already in a community of this index"
        assert dropped(report)["members of communities", reason] >= 1
        titles = {topic.report.title for topic in base.communities.list(level=0)}
        assert base.communities.is_current()
        assert titles


def test_a_unit_without_a_document_becomes_one(store, tmp_path):
    tables = current_tables()
    tables["text_units"][2]["text"] = "Another wording. Ada Stone slept."
    report = import_index(store, write_tables(tmp_path / "p", tables))
    assert report.brought["text units as documents of their own"] == 1
    (chunk,) = chunks_of(store, "graphrag:p/squad.txt #2")
    assert chunk.text == "Another wording. Ada Stone slept."
    assert any(m.normal_form == "ada stone" for m in store.graph.mentions([chunk.id])[chunk.id])


def test_without_communities_they_are_found_on_first_use(store, tmp_path):
    tables = current_tables()
    del tables["communities"], tables["community_reports"]
    report = import_index(store, write_tables(tmp_path / "p", tables))
    assert "communities" in " ".join(report.notes)
    assert not is_current(store)


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda f: (f / "text_units.parquet").unlink(), "text_units.parquet"),
        (lambda f: (f / "relationships.parquet").write_bytes(b"PAR1 no"), "relationships.parquet"),
        (lambda f: (f / "documents.parquet").write_bytes(b""), "documents.parquet"),
        (
            lambda f: pq.write_table(pa.table({"id": ["e0"]}), f / "entities.parquet"),
            "no column `title` (nor `name`); it has `id`",
        ),
    ],
)
def test_broken_files_are_named_and_nothing_is_written(store, folder, break_it, message):
    break_it(folder)
    with pytest.raises(IndexingError) as caught:
        import_index(store, folder, format="graphrag")
    assert message in str(caught.value)
    assert store.documents.document_count() == 0


def test_places_and_formats_that_are_not_there_are_named(store, tmp_path):
    with pytest.raises(UnknownName, match="graphrga"):
        import_index(store, tmp_path, format="graphrga")
    with pytest.raises(IndexingError, match="not a folder"):
        import_index(store, tmp_path / "absent")


def test_odd_rows_are_dropped_and_counted(store, tmp_path):
    tables = current_tables()
    tables["entities"] += [
        {**tables["entities"][0], "id": "e7", "title": None},
        {**tables["entities"][0], "id": "e8", "title": "The Ada Stone"},
        {**tables["entities"][0], "id": "e9", "title": "GONE", "text_unit_ids": ["nowhere"]},
    ]
    tables["relationships"] += [
        {**tables["relationships"][0], "id": "r7", "target": "ADA STONE"},
        {**tables["relationships"][0], "id": "r8", "source": None},
    ]
    tables["communities"][1]["entity_ids"] += ["e0", "e9"]
    tables["communities"].append(
        {**tables["communities"][0], "community": 9, "parent": 77, "level": 1}
    )
    tables["community_reports"].append({**tables["community_reports"][0], "community": 9})
    report = import_index(store, write_tables(tmp_path / "p", tables))
    lost = dropped(report)
    assert lost["entities", "without a name"] == 1
    assert lost["entities", "none of its text units was imported"] == 1
    assert report.brought["entities that share a name with another"] == 1
    assert lost["relations", "the relation links an entity to itself"] == 1
    assert lost["relations", "an end has no name"] == 1
    assert lost["members of communities", "in another community of that level"] == 1
    assert lost["members of communities", "the entity was not imported"] == 1
    assert lost["communities", "its parent is missing"] == 1
    assert lost["reports", "its community was not imported"] == 1
