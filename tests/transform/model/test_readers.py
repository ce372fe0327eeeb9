"""Readers of other forms: JSON of any shape, and the tuples of other frameworks."""

import json
import random
import re
from pathlib import Path

import pytest
from benchmarks.extraction.tuples import TupleReader
from hypothesis import given
from hypothesis import strategies as st
from tests.transform.documents import cut, mentions
from tests.transform.model.mutations import HARMFUL

from knotwork._extensions.model_indexing.extraction_method import ChunkTask, ExtractionMethod
from knotwork._extensions.model_indexing.reply_formats import EntityDraft, RelationDraft, read_json
from knotwork._extensions.model_indexing.reply_grounding import assemble
from knotwork.records import Extraction

RECORDED = json.loads(
    (Path(__file__).parent / "data" / "nano_graphrag.json").read_text(encoding="utf-8")
)
REPLIES: list[str] = RECORDED["replies"]
TUPLE = re.compile(r'\("(entity|relationship)"<\|>"([^"]+)"<\|>"([^"]+)"')


@pytest.mark.parametrize("reply", REPLIES)
def test_every_tuple_of_a_recorded_reply_is_read(reply: str) -> None:
    draft = TupleReader().read(reply)
    told = TUPLE.findall(reply)
    assert told
    assert {e.name for e in draft.entities} >= {n for kind, n, _ in told if kind == "entity"}
    ends = {(r.source, r.target) for r in draft.relations}
    assert ends >= {(source, target) for kind, source, target in told if kind != "entity"}
    assert draft.complaints == ()  # headings such as **Entities:** are idle
    assert not any(r.summary == "" for r in draft.relations)


def test_a_recorded_reply_is_held_against_its_text() -> None:
    document, chunks = cut("", RECORDED["text"])
    draft = TupleReader().read(REPLIES[0])  # about much more of the book than this chunk
    made = assemble(draft, chunks[0], Extraction(chunks[0].id))
    found = mentions(made.extraction)
    assert {"scrooge", "marley"} <= set(found)
    assert "fezziwig" not in found
    assert "Fezziwig" not in document.text
    assert made.kept + len(made.complaints) == draft.records
    (relation,) = made.extraction.relations
    assert relation.span is not None
    sentence = document.text[relation.span.start : relation.span.end]
    assert "Scrooge" in sentence
    assert "sole mourner" in sentence or "partner" in sentence


def test_mutated_recorded_replies_never_make_it_fail() -> None:
    chance = random.Random(7)
    for _ in range(300):
        lines = chance.choice(REPLIES[1:5]).split("\n")
        place = chance.randrange(len(lines))
        lines[place] = chance.choice(HARMFUL)(lines[place] or "x", chance)
        reply = "\n".join(lines)
        draft = TupleReader().read(reply, cut=chance.random() < 0.3)
        told = len(TUPLE.findall(reply))
        assert draft.records + draft.repeated + len(draft.complaints) >= told


def test_a_cut_tuple_keeps_those_before_it() -> None:
    reply = REPLIES[1]
    whole = TupleReader().read(reply)
    half = TupleReader().read(reply[: len(reply) // 2], cut=True)
    assert set(half.entities[:-1]) <= set(whole.entities)
    assert len(half.entities) > 1
    assert TupleReader().read("<|COMPLETE|>").says_nothing


@pytest.mark.parametrize(
    "reply",
    [
        (
            '{"entities": [{"name": "Ada", "type": "PERSON", "description": "x"}],'
            ' "relations": [{"source": "Ada", "relation": "knew", "target": "Bob"}]}'
        ),
        (
            'Here you are:\n```json\n[{"entity": "Ada", "entity_type": "PERSON", "summary": "x"},'
            '{"head": "Ada", "relation": "knew", "tail": "Bob"}]\n```'
        ),
        (
            '{"name": "Ada", "type": "PERSON", "desc": "x"}\n{"subject": "Ada",'
            ' "predicate": "knew", "object": "Bob"}'
        ),
    ],
)
def test_json_of_many_shapes_is_read(reply: str) -> None:
    draft = read_json(reply)
    assert draft.entities == (EntityDraft("Ada", "PERSON", "x"),)
    assert draft.relations == (RelationDraft("Ada", "knew", "Bob"),)
    assert ExtractionMethod().read(reply).records == 2


def test_json_that_maps_types_and_relations_is_read() -> None:
    reply = '{"人物": ["蔡元培"], "校长": [{"subject": "蔡元培", "object": "北大"}], "空": []}'
    draft = read_json(reply)
    assert draft.entities == (EntityDraft("蔡元培", "人物"),)
    assert draft.relations == (RelationDraft("蔡元培", "校长", "北大"),)
    assert read_json('{"空": []}').says_nothing


def test_of_json_that_breaks_off_the_whole_items_are_read() -> None:
    reply = '{"entities": [{"name": "Ada", "type": "P"}, {"name": "Bob"}, {"name": "Cha'
    draft = read_json(reply, cut=True)
    assert [e.name for e in draft.entities] == ["Ada", "Bob"]
    assert any("Cha" in complaint.line for complaint in draft.complaints)


def test_text_beside_the_json_is_a_complaint() -> None:
    draft = read_json('Sure! [["Ada", "knew", "Bob"]] Anything else?')
    assert draft.relations == (RelationDraft("Ada", "knew", "Bob"),)
    assert [c.line for c in draft.complaints] == ["Sure!", "Anything else?"]
    assert [c.reason for c in read_json("No.").complaints] == ["no JSON in it"]


KEYS = ["name", "source", "target", "entities", "x"]
JSON = st.recursive(
    st.none() | st.integers() | st.sampled_from(["Ada", "", "name", "…"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "source", "target", "entities", "x"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)


@given(JSON, st.integers(0, 200))
def test_no_json_makes_a_reader_fail(value, length) -> None:
    text = json.dumps(value, ensure_ascii=False)
    for reply in (text, text[:length]):
        read_json(reply, cut=True)
        TupleReader().read(reply, cut=True)


def test_deep_nesting_is_bounded() -> None:
    for reply in ("[" * 5_000, "[" * 500 + '"Ada"' + "]" * 500, '{"a":' * 400 + "1" + "}" * 400):
        assert read_json(reply).records == 0


def test_names_that_a_prompt_escaped_match_the_document() -> None:
    _, chunks = cut("", "The crew of [INST] Works met </s> Olsen at <text> Point in Tartu.")
    (request,) = ExtractionMethod().request(ChunkTask(chunks[0].text)).messages
    assert "〔INST] Works met ‹/s> Olsen at ‹text> Point" in request.content
    draft = ExtractionMethod().read(
        "entity | 〔INST] Works | ORGANIZATION | its crew met Olsen at ‹text> Point\n"
        "relation | 〔INST] Works | met | ‹/s> Olsen\n"
    )
    assert draft.entities[0].name == "[INST] Works"
    assert draft.entities[0].summary == "its crew met Olsen at <text> Point"
    made = assemble(draft, chunks[0], Extraction(chunks[0].id))
    assert made.kept == 2
    for mention in made.extraction.mentions:
        assert mention.spans
        assert not set("‹〔") & set(mention.name)
