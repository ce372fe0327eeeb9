"""Indexing with a strict schema, and without the rules."""

import json

import pytest
from tests.indexing.brained import brained, documents_of

from knotwork._shapes.indexing import describe_report
from knotwork.errors import ConfigError
from knotwork.records import ENTITY_EDGES, Label

TEXTS = {
    "firms.txt": "Ada Smith founded Acme London in 1900.\n\nBob Jones led Acme London from Vienna.",
    "boats.txt": "Carol White sailed from Oslo to Bergen with Bob Jones.",
    "travel.txt": "王小明在北京大学工作。他与李华一起创办了长江公司。",
}
LINES = (
    "entity | Ada Smith | PERSON | a founder\n"
    "entity | Acme London | COMPANY | a firm\n"
    "entity | Vienna | PLACE | a city\n"
    "relation | Ada Smith | founded | Acme London\n"
    "relation | Bob Jones | led | Acme London"
)


def entities(kb):
    ids = [node.id for node in kb.store.graph.find(label=Label.ENTITY, limit=1_000)]
    return {entity.name: entity.type for entity in kb.store.graph.entities(ids).values()}


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text('strict = false\nentity_types = ["PERSON"]\nrelation_types = ["met"]\n')
    return str(path)


def test_rules_too_write_only_what_a_strict_schema_lists(opened, schema):
    kb = opened(extraction_schema=schema, extraction_strict=True)
    report = kb.index_documents(documents_of(TEXTS))
    assert set(entities(kb).values()) == {"PERSON"}
    assert not list(kb.store.graph.edges(types=ENTITY_EDGES))
    assert report.left_out.entities.total() > 0
    (note,) = [note for note in report.notes if "strict schema" in note]
    assert "mentions of entities" in note
    shape = json.loads(json.dumps(describe_report(report)))["left_out"]
    assert sum(shape["entities"].values()) == report.left_out.entities.total()


def test_without_a_strict_schema_nothing_is_left_out(opened, schema):
    kb = opened(extraction_schema=schema)
    report = kb.index_documents(documents_of(TEXTS))
    assert "PLACE" in entities(kb).values()
    assert not report.left_out
    assert "left_out" not in describe_report(report)


def test_switching_strictness_reads_documents_again_from_cached_replies(opened, schema):
    model = brained()
    loose = opened(model, llm_tier="full", extraction_schema=schema)
    loose.index_documents(documents_of(TEXTS))
    calls = len(model.requests)
    loose.close()
    strict = opened(model, llm_tier="full", extraction_schema=schema, extraction_strict=True)
    report = strict.index_documents(documents_of(TEXTS))
    assert (report.changed, len(model.requests)) == (3, calls)
    assert set(entities(strict).values()) == {"PERSON"}
    assert strict.index_documents(documents_of(TEXTS)).unchanged == 3


def test_without_rules_the_graph_is_what_the_model_says(opened):
    model = brained(
        lambda request, reply: LINES if "Acme" in request.messages[0].content else "none"
    )
    kb = opened(model, llm_tier="full", extraction_rules=False)
    report = kb.index_documents(documents_of(TEXTS))
    assert entities(kb) == {
        "Ada Smith": "PERSON",
        "Acme London": "COMPANY",
        "Vienna": "PLACE",
        "Bob Jones": "",
    }
    assert report.documents == 3
    assert not any("<memory>" in r.messages[0].content for r in model.requests)


def test_without_rules_a_chunk_without_a_usable_reply_is_still_found(opened):
    kb = opened(brained(lambda _request, _reply: "%%%"), llm_tier="full", extraction_rules=False)
    report = kb.index_documents(documents_of(TEXTS))
    assert entities(kb) == {}
    assert sum(report.readings.values()) == report.chunks
    assert kb.search("Who sailed to Bergen?").hits[0].chunk.text == TEXTS["boats.txt"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"extraction_rules": False}, ("extraction.rules", "llm.tier", '"lean"')),
        ({"extraction_rules": False, "index_dictionary": "terms.txt"}, ("index.dictionary",)),
        ({"extraction_strict": True}, ("extraction.strict", "extraction.schema")),
    ],
)
def test_settings_that_contradict_each_other_are_named(opened, settings, words):
    kb = opened(brained(), **settings)
    with pytest.raises(ConfigError) as caught:
        kb.index_documents(documents_of(TEXTS))
    for word in words:
        assert word in str(caught.value)
    assert kb.store.documents.document_count() == 0


def test_a_strict_schema_must_list_something(opened, tmp_path):
    path = tmp_path / "empty.toml"
    path.write_text("strict = true\n")
    kb = opened(extraction_schema=str(path), extraction_strict=True)
    with pytest.raises(ConfigError, match=r"empty\.toml"):
        kb.index_documents(documents_of(TEXTS))


def test_a_recording_fills_the_graph_without_rules_in_any_tier(opened, tmp_path):
    path = tmp_path / "recording.jsonl"
    row = {"uri": "boats.txt", "triples": [["Carol White", "sailed to", "Bergen"]]}
    path.write_text(json.dumps(row), encoding="utf-8")
    kb = opened(extraction_rules=False, index_recording=str(path))
    kb.index_documents(documents_of(TEXTS))
    assert set(entities(kb)) == {"Carol White", "Bergen"}
