"""An index that went out as tables of GraphRAG and came in again is the same."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.foreign_indexes.foreign_files import NO_EMBEDDER, current_tables, write_tables
from tests.indexing.foreign_indexes.reading_back import shape

from knotwork._extensions.graphs.foreign_indexes.graphrag_export import export_graphrag
from knotwork._extensions.graphs.foreign_indexes.index_importer import import_index
from knotwork._indexing.communities.index_reports import bring_up_to_date, is_current
from knotwork._knowledge_base import KnowledgeBase
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
from knotwork.errors import StoreBusy
from knotwork.records import ChunkReading, Description, Document, EdgeType, ReadingStatus, Relation

pytestmark = pytest.mark.slow


NAMES = ("Ada Stone", "Bo Finch", "Night Squad", "Harbour Base", "Cleo Marsh", "Dora Quill")
VERBS = ("leads", "repaired", "wrote to", "is a member of", "met")

TEXTS, NUMBERS = pa.list_(pa.string()), pa.list_(pa.int64())
FINDINGS = pa.list_(pa.struct([("explanation", pa.string()), ("summary", pa.string())]))
REAL_COLUMNS = {  # as GraphRAG 3 wrote them for its own tests
    "documents": {
        "id": pa.string(), "human_readable_id": pa.int64(), "title": pa.string(),
        "text": pa.string(), "text_unit_ids": TEXTS, "creation_date": pa.string(),
        "raw_data": pa.string(),
    },
    "text_units": {
        "id": pa.string(), "human_readable_id": pa.int64(), "text": pa.string(),
        "n_tokens": pa.int64(), "document_id": pa.string(), "entity_ids": TEXTS,
        "relationship_ids": TEXTS, "covariate_ids": TEXTS,
    },
    "entities": {
        "id": pa.string(), "human_readable_id": pa.int64(), "title": pa.string(),
        "type": pa.string(), "description": pa.string(), "text_unit_ids": TEXTS,
        "frequency": pa.int64(), "degree": pa.int64(),
    },
    "relationships": {
        "id": pa.string(), "human_readable_id": pa.int64(), "source": pa.string(),
        "target": pa.string(), "description": pa.string(), "weight": pa.float64(),
        "combined_degree": pa.int64(), "text_unit_ids": TEXTS,
    },
    "communities": {
        "id": pa.string(), "human_readable_id": pa.int64(), "community": pa.int64(),
        "level": pa.int64(), "parent": pa.int64(), "children": NUMBERS, "title": pa.string(),
        "entity_ids": TEXTS, "relationship_ids": TEXTS, "text_unit_ids": TEXTS,
        "period": pa.string(), "size": pa.int64(),
    },
    "community_reports": {
        "id": pa.string(), "human_readable_id": pa.int64(), "community": pa.int64(),
        "level": pa.int64(), "parent": pa.int64(), "children": NUMBERS, "title": pa.string(),
        "summary": pa.string(), "full_content": pa.string(), "rank": pa.float64(),
        "rating_explanation": pa.string(), "findings": FINDINGS,
        "full_content_json": pa.string(), "period": pa.string(), "size": pa.int64(),
    },
}  # fmt: skip


def make_index(seed: int) -> Store:
    """Index random documents by rules, with descriptions of entities and relations."""
    chance = random.Random(seed)
    documents = []
    for number in range(chance.randint(1, 3)):
        sentences = [
            f"{chance.choice(NAMES)} {chance.choice(VERBS)} {chance.choice(NAMES)} near the river."
            for _ in range(chance.randint(2, 30))
        ]
        documents.append(Document(f"notes/{number}.txt", " ".join(sentences), f"Note {number}"))
    store = open_store("memory:")
    KnowledgeBase(store, settings=NO_EMBEDDER).index_documents(documents)
    held = store.documents.chunk_ids_of(store.documents.document_ids())
    chunks = [chunk for ids in held.values() for chunk in ids]
    mentions = store.graph.mentions(chunks)
    store.readings.put(
        [ChunkReading(chunk, "model", ReadingStatus.OK) for chunk in mentions],
        [
            Description(chunk, m.normal_form, f"{m.name} stands in {chance.choice(VERBS)}.")
            for chunk, held in mentions.items()
            for m in held
            if chance.random() < 0.4
        ],
    )
    relations = [r for held in store.graph.relations(chunks).values() for r in held]
    store.graph.upsert(
        relations=[
            Relation(r.chunk_id, r.source, r.relation, r.target, r.weight, r.span, "Stated: so.")
            for r in relations
            if chance.random() < 0.5
        ]
    )
    bring_up_to_date(store)
    return store


def seen(store) -> dict[str, object]:
    """Return all that the layout holds, by names and texts instead of ids."""
    documents = store.documents.documents(store.documents.document_ids())
    chunks = store.documents.chunks(
        [c for ids in store.documents.chunk_ids_of(documents).values() for c in ids]
    )
    place = {key: (documents[c.document_id].text, c.span) for key, c in chunks.items()}
    links = defaultdict(set)
    for edge in store.graph.edges(types=[EdgeType.MENTIONS]):
        links[edge.target].add(place[edge.source])
    entities = store.graph.entities(links)
    forms = {key: entity.normal_form for key, entity in entities.items()}
    described = store.readings.descriptions(entities)
    related = defaultdict(set)
    for held in store.graph.relations(chunks).values():
        for r in held:
            related[forms[r.source], r.relation, forms[r.target]] |= parts([r.description])
    return {
        "texts": {(d.title, d.text) for d in documents.values()},
        "chunks": {(c.text, c.span) for c in chunks.values()},
        "entities": {
            (entity.name, entity.normal_form, entity.type, frozenset(links[key]))
            for key, entity in entities.items()
        },
        "descriptions": {
            forms[key]: parts(d.text for d in given) for key, given in described.items()
        },
        "relations": {
            (
                forms[e.source],
                e.relation,
                forms[e.target],
                e.weight,
                frozenset(map(place.get, e.chunks)),
            )
            for e in store.graph.edges(types=[EdgeType.RELATES])
        },
        "relation descriptions": dict(related),
        "communities": {(level, members) for level, members, _ in shape(store)},
        "reports": reports(store, place),
    }


def parts(texts: Iterable[str]) -> set[str]:
    """Return the sentences of descriptions: GraphRAG has one description where we have several."""
    return {part.rstrip(".") for text in texts for part in text.split(". ")} - {""}


def reports(store, place) -> set[object]:
    keys = [key for level in store.communities.levels() for key in level]
    found = store.communities.communities(keys)
    return {
        (
            found[key].level,
            frozenset(found[key].entity_ids),
            report.title,
            report.summary,
            report.rating,
            tuple(
                (f.text, frozenset((place[s.chunk_id], s.span) for s in f.supports))
                for f in report.findings
            ),
        )
        for key, report in store.communities.reports(keys).items()
    }


@given(st.integers(0, 10_000))
def test_out_and_in_again_gives_the_same(seed):
    store, other = make_index(seed), open_store("memory:")
    with TemporaryDirectory() as folder:
        written = export_graphrag(store, Path(folder))
        report = import_index(other, Path(folder))
    assert report.dropped == ()
    before, after = seen(store), seen(other)
    for part, value in before.items():
        assert after[part] == value, part
    mentioned = {edge.target for edge in other.graph.edges(types=[EdgeType.MENTIONS])}
    assert written[Path(folder, "entities.parquet")] == len(mentioned)  # keywords among them
    assert store.graph.entity_count() == other.graph.entity_count()
    assert is_current(other)


def test_imported_graphs_are_exported_unchanged(tmp_path):
    store, other = open_store("memory:"), open_store("memory:")
    import_index(store, write_tables(tmp_path / "in", current_tables()))
    export_graphrag(store, tmp_path / "out")
    again = import_index(other, tmp_path / "out")
    assert again.dropped == ()
    before, after = seen(store), seen(other)
    for part in before:
        assert after[part] == before[part], part
    export_graphrag(other, tmp_path / "twice")
    once, twice = (tmp_path / "out", tmp_path / "twice")
    for name in REAL_COLUMNS:
        rows = [pq.read_table(f / f"{name}.parquet").num_rows for f in (once, twice)]
        assert rows[0] == rows[1]


def test_columns_and_kinds_of_ids_match_graphrag(tmp_path):
    export_graphrag(make_index(7), tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == set(REAL_COLUMNS)
    for name, columns in REAL_COLUMNS.items():
        table = pq.read_table(tmp_path / f"{name}.parquet")
        assert table.column_names == list(columns)
        for column, kind in columns.items():
            assert table.schema.field(column).type.equals(kind), (name, column)
        ids = table["id"].to_pylist()
        assert len(ids) == len(set(ids)) > 0
        length = {"documents": 128, "text_units": 128, "community_reports": 32}.get(name, 36)
        assert {len(key) for key in ids} == {length}
        assert table["human_readable_id"].to_pylist() == list(range(len(ids)))


def test_the_tables_refer_to_each_other(tmp_path):
    export_graphrag(make_index(7), tmp_path)
    rows = {name: pq.read_table(tmp_path / f"{name}.parquet").to_pylist() for name in REAL_COLUMNS}
    ids = {name: {row["id"] for row in table} for name, table in rows.items()}
    titles = {row["title"]: row for row in rows["entities"]}
    for row in rows["relationships"]:
        degrees = [titles[row[end]]["degree"] for end in ("source", "target")]
        assert row["combined_degree"] == sum(degrees)
        assert set(row["text_unit_ids"]) <= ids["text_units"]
    for row in rows["entities"]:
        assert row["frequency"] == len(row["text_unit_ids"]) > 0
    by_unit = {row["id"]: row for row in rows["text_units"]}
    for row in rows["entities"]:
        assert all(row["id"] in by_unit[unit]["entity_ids"] for unit in row["text_unit_ids"])
    by_number = {row["community"]: row for row in rows["communities"]}
    for row in rows["communities"]:
        assert set(row["entity_ids"]) <= ids["entities"]
        assert set(row["relationship_ids"]) <= ids["relationships"]
        for child in row["children"]:
            assert by_number[child]["parent"] == row["community"]
            assert set(by_number[child]["entity_ids"]) <= set(row["entity_ids"])
    assert {row["community"] for row in rows["community_reports"]} == set(by_number)


def test_equal_indexes_give_equal_files(tmp_path):
    for name in ("one", "two"):
        export_graphrag(make_index(3), tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_an_index_that_changes_meanwhile_is_not_exported(tmp_path, monkeypatch):
    store = make_index(3)
    numbers = iter(range(9))
    monkeypatch.setattr(store, "generation", lambda: next(numbers), raising=False)
    with pytest.raises(StoreBusy):
        export_graphrag(store, tmp_path)
    assert list(tmp_path.iterdir()) == []
