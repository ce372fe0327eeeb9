"""Facts around a question where entities are one thing under several names."""

import pytest

import knotwork
from knotwork._retrieval import chunk_entities
from knotwork._retrieval.base import Bm25Retriever
from knotwork._retrieval.chunk_entities import MergedEntities
from knotwork._retrieval.entity_lookup import MOST_ENTITIES, read_local_context
from knotwork._stores.resolutions import read_groups
from knotwork._text.names import normal_form
from knotwork.records import (
    ChunkReading,
    Description,
    Document,
    EntitySummary,
    Query,
    ReadingStatus,
    Relation,
    entity_id,
)

FULL = "World Health Organization"
TEXTS = (
    f"The {FULL} (WHO) sent help to Kenya. The {FULL} has its seat in Geneva.",
    "Later the WHO thanked Kenya. Nurses in Nairobi liked the WHO.",
    f"In Kenya the WHO opened an office. The {FULL} trains nurses in Nairobi.",
)
QUESTION = "What did the WHO do in Kenya?"


def idof(name):
    return entity_id(normal_form(name))


@pytest.fixture(params=["memory:", "index.knot"])
def base(request, tmp_path):
    path = request.param if request.param == "memory:" else tmp_path / request.param
    with knotwork.open(path, embedding_model="none") as made:
        made.index_documents([Document(f"{n}.txt", text) for n, text in enumerate(TEXTS)])
        yield made


def read(base, question=QUESTION):
    evidence = Bm25Retriever(store=base.store).retrieve(Query(question))
    return read_local_context(question, evidence, store=base.store)


def about(around):
    return [fact for fact in around.facts if " — " not in fact.text]


def chunk_ids(base):
    return sorted(
        chunk
        for ids in base.store.documents.chunk_ids_of(base.store.documents.document_ids()).values()
        for chunk in ids
    )


def describe(base, *told):
    """Have a model say something of names in the chunks of these numbers."""
    chunks = chunk_ids(base)
    with base.store.transaction():
        base.store.readings.put(
            [ChunkReading(chunk, "m", ReadingStatus.OK) for chunk in chunks],
            [Description(chunks[n], normal_form(name), text) for n, name, text in told],
        )


def check_supports(base, facts):
    for fact in facts:
        (support,) = fact.supports
        chunk = base.store.documents.chunks([support.chunk_id])[support.chunk_id]
        assert chunk.span.start <= support.span.start < support.span.end <= chunk.span.end


def test_merged_entities_know_their_members():
    merged = MergedEntities({"a": "b", "b": "b", "c": "b"})
    assert merged.canonical("a") == merged.canonical("b") == "b"
    assert merged.canonical("z") == "z"
    assert merged.members("b") == merged.members("c") == ("b", "a", "c")
    assert merged.members("z") == ("z",)


def test_names_of_one_thing_are_one_entity_with_one_line_of_all_its_names(base):
    apart = read(base)
    assert {"WHO", FULL} <= {entity.name for entity in apart.entities}
    assert about(apart) == []
    base.graph.correct("merge", "WHO", other=FULL)
    around = read(base)
    standing = base.store.resolutions.groups()[idof("WHO")]
    assert [entity.id for entity in around.entities].count(standing) == 1
    assert len({"WHO", FULL} & {entity.name for entity in around.entities}) == 1
    assert len(around.entities) <= MOST_ENTITIES
    (line,) = about(around)
    assert line.text.split(" (")[0] in {f"WHO / {FULL}", f"{FULL} / WHO"}
    check_supports(base, around.facts)
    base.graph.correct("split", "WHO", other=FULL)
    assert read(base) == apart


def test_facts_under_any_alias_are_stated_once_for_the_entity(base):
    said = ((0, FULL, "an agency of the UN"), (1, "WHO", "it thanked Kenya"))
    describe(base, *said, (1, FULL, "it thanked Kenya"))
    assert len([fact for fact in about(read(base)) if "UN" in fact.text or "it" in fact.text]) == 2
    base.graph.correct("merge", "WHO", other=FULL)
    around = read(base)
    (line,) = about(around)
    assert "WHO" in line.text
    assert FULL in line.text
    assert line.text.count("an agency of the UN") == line.text.count("it thanked Kenya") == 1
    check_supports(base, around.facts)


def test_the_summary_of_a_thing_is_its_text(base):
    describe(base, (0, FULL, "an agency of the UN"), (1, "WHO", "it thanked Kenya"))
    base.graph.correct("merge", "WHO", other=FULL)
    standing = base.store.resolutions.groups()[idof("WHO")]
    with base.store.transaction():
        base.store.readings.put_summaries([EntitySummary(standing, "all in one", "m", "k")])
    (line,) = about(read(base))
    assert line.text.endswith(": all in one")


def test_relations_of_names_become_one_and_those_among_names_go(base):
    chunks = chunk_ids(base)
    with base.store.transaction():
        base.store.graph.upsert(
            relations=[
                Relation(chunks[0], idof(FULL), "supports", idof("Kenya")),
                Relation(chunks[1], idof("WHO"), "supports", idof("Kenya")),
                Relation(chunks[0], idof("WHO"), "is short for", idof(FULL)),
            ]
        )
    apart = [fact.text for fact in read(base).facts]
    assert {f"{FULL} — supports → Kenya", "WHO — supports → Kenya"} <= set(apart)
    assert f"WHO — is short for → {FULL}" in apart
    base.graph.correct("merge", "WHO", other=FULL)
    around = read(base)
    texts = [fact.text for fact in around.facts]
    name = next(entity.name for entity in around.entities if entity.name in {"WHO", FULL})
    assert texts.count(f"{name} — supports → Kenya") == 1
    assert sum("supports" in text for text in texts) == 1
    assert not any("is short for" in text for text in texts)
    assert len(set(texts)) == len(texts)
    check_supports(base, around.facts)


def test_exploring_from_one_name_starts_at_all_names_of_the_thing(tmp_path):
    texts = ("Ada met Bob in Paris.", "Countess Lovelace wrote to Cleo in Rome.")
    with knotwork.open(tmp_path / "i.knot", embedding_model="none") as base:
        base.index_documents([Document(f"{n}.txt", text) for n, text in enumerate(texts)])
        before = {node.name for node in base.graph.explore("Ada").nodes}
        assert "Cleo" not in before
        base.graph.correct("merge", "Ada", other="Countess Lovelace")
        after = {node.name for node in base.graph.explore("Ada").nodes}
        assert before | {"Countess Lovelace", "Cleo", "Rome"} <= after
        base.graph.correct("split", "Ada", other="Countess Lovelace")
        assert {node.name for node in base.graph.explore("Ada").nodes} == before


def test_a_question_with_one_name_finds_what_is_about_the_other(tmp_path):
    pages = {
        "Zorvex Holdings": "Zorvex Holdings is a maker of clocks. Zorvex Holdings has a seat.",
        "Blue Larch": "Blue Larch is a maker of clocks. Blue Larch has a seat.",
        **{f"Company {n}": f"Company {n} is a maker of clocks. It has a seat." for n in range(30)},
    }
    with knotwork.open(tmp_path / "i.knot", embedding_model="none") as base:
        base.index_documents([Document(f"{t}.txt", text, title=t) for t, text in pages.items()])

        def rank():
            hits = base.search("Which clocks does Blue Larch make?", k=32).hits
            return [hit.chunk.document_title for hit in hits].index("Zorvex Holdings")

        assert rank() > 1
        base.graph.correct("merge", "Zorvex Holdings", other="Blue Larch")
        assert rank() == 1


def test_merged_entities_are_read_once_for_each_state_of_the_index(base, monkeypatch):
    base.graph.correct("merge", "WHO", other=FULL)
    calls = []

    def counted(store):
        calls.append(store)
        return read_groups(store)

    monkeypatch.setattr(chunk_entities, "read_groups", counted)
    before = [read(base) for _ in range(3)]
    assert before[0] == before[1] == before[2]
    assert base.search(QUESTION).hits
    assert len(calls) == 1
    base.graph.correct("split", "WHO", other=FULL)
    assert read(base) != before[0]
    assert len(calls) == 2
