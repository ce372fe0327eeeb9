"""Schemas from examples and from a model: counting, merging, omissions, and the file."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transform.documents import cut
from tests.transform.model.mutations import HARMFUL

from knotwork._extensions.model_indexing.extraction_prompts import prompts_in
from knotwork._extensions.model_indexing.extraction_schema import ExtractionSchema, RelationPattern
from knotwork._extensions.model_indexing.reply_formats import plain_text
from knotwork._extensions.schemas.discovery import (
    CHUNKS_PER_CALL,
    proposal_request,
    propose_schema,
    read_proposal,
    schema_of_examples,
)
from knotwork._extensions.schemas.proposals import SchemaCounts, SchemaProposal, word_key
from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.brains.prompts import read_assignment
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._inference.chat import ChatReply
from knotwork._text.token_counts import count_tokens
from knotwork.errors import BudgetExceeded, ConfigError, Unparsable

NAMES = st.text(min_size=1).filter(str.strip)
COUNTS = st.integers(0, 10**9)


@given(
    types=st.dictionaries(NAMES, st.tuples(COUNTS, st.text()), max_size=4),
    relations=st.dictionaries(NAMES, COUNTS, max_size=4),
    patterns=st.lists(
        st.tuples(NAMES, NAMES, NAMES).map(lambda p: RelationPattern(*p)), max_size=4
    ),
    strict=st.booleans(),
    heading=st.text(),
)
def test_written_records_are_read_back(
    tmp_path_factory, types, relations, patterns, strict, heading
):
    schema = ExtractionSchema(tuple(types), tuple(relations), tuple(patterns), strict)
    proposal = SchemaProposal(
        schema,
        {name: count for name, (count, _) in types.items()},
        relations,
        dict.fromkeys(patterns, 7),
        {name: meaning for name, (_, meaning) in types.items()},
        heading,
    )
    path = tmp_path_factory.mktemp("schema") / "schema.toml"
    path.write_text(proposal.toml(heading, "Second line."), encoding="utf-8")
    assert ExtractionSchema.read(path) == schema
    path.write_text(SchemaProposal(schema).toml(), encoding="utf-8")
    assert ExtractionSchema.read(path) == schema


def test_counts_and_meanings_are_comments():
    counts = SchemaCounts()
    counts.add_type("PERSON", meaning="human beings", times=1_200)
    counts.add_relation("PERSON", "works for", "FIRM", times=3)
    counts.add_type("FIRM")
    written = counts.exact(counted="examples").toml("From a test.")
    assert written.startswith("# From a test.\n# The numbers are examples.\n")
    assert '    "PERSON",  # 1,200, human beings\n' in written
    assert '    ["PERSON", "works for", "FIRM"],  # 3\n' in written


RECORDS = [
    ("Ada", "Person", "works for", "Acme", "Company"),
    ("Bob", "PERSON", "works_for", "Acme", "Company"),
    ("Carol", "Person", "born in", "Oslo", ""),
    ("Dan", "Person", "works for", "Ministry", "State"),
]


def write(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_examples_say_types_relations_and_what_joins_them(tmp_path):
    made = schema_of_examples(write(tmp_path, "e.jsonl", "\n".join(map(json.dumps, RECORDS))))
    assert made.schema == ExtractionSchema(
        ("Person", "Company", "State"),
        ("works for", "born in"),
        (
            RelationPattern("Person", "works for", "Company"),
            RelationPattern("Person", "works for", "State"),
        ),
        strict=True,
    )
    assert made.types == {"Person": 4, "Company": 2, "State": 1}
    assert made.relations == {"works for": 3, "born in": 1}
    assert made.patterns[RelationPattern("Person", "works for", "Company")] == 2
    assert "of 4 examples" in made.counted


def in_files(records):
    """Return the records as each kind of file has them."""
    heads = ("Subject", "subject_type", "PREDICATE", "object", "Object Type")
    rows = ["\t".join(record) for record in records]
    csv_rows = [",".join(f'"{field}"' for field in record) for record in records]
    turned = [",".join(f'"{f}"' for f in (*record[::-1], "seen")) for record in records]
    objects = [json.dumps(dict(zip(heads, record, strict=True))) for record in records]
    return {
        "plain.tsv": "\n".join(rows),
        "headed.TSV": "\ufeff" + "\n".join(["\t".join(heads), "", *rows]),
        "plain.csv": "\r\n".join(csv_rows),
        "turned.csv": "\n".join([",".join((*heads[::-1], "note")), *turned]) + "\n\n",
        "objects.jsonl": "\n\n".join(objects),
        "lists.ndjson": "\n".join(map(json.dumps, records)),
        "typed.csv": "\n".join(",".join((r[1], r[2], r[4])) for r in records),
    }


@pytest.mark.parametrize("name", in_files([]))
def test_every_kind_of_file_says_the_same(tmp_path, name):
    expected = schema_of_examples(write(tmp_path, "e.jsonl", in_files(RECORDS)["lists.ndjson"]))
    assert schema_of_examples(write(tmp_path, name, in_files(RECORDS)[name])) == expected


def test_a_record_may_be_of_an_entity_alone_and_a_dash_is_nothing(tmp_path):
    text = "entity,type,relation\nAda,Person,\nOslo,City,-\n"
    made = schema_of_examples(write(tmp_path, "e.csv", text))
    assert made.schema == ExtractionSchema(("Person", "City"))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("e.csv", "Ada,Person,knows,Bob\n", "line 1 has 4 fields"),
        ("e.csv", "source,relation,target\nA,r,B\nA,r,B,C\n", "line 3 has 4 fields, where there"),
        ("e.csv", "source,relation,target\n\nA,,B\n", "line 3 has a target, but no relation"),
        ("e.csv", "source,subject,relation\n", "line 1 names two columns `source`"),
        ("e.csv", 'a,"b\n', "line 1"),
        ("e.csv", "source,source type,relation\nAda,,\n", "line 2 has neither"),
        ("e.tsv", f"Person\t{'long ' * 20}\tCity\n", "line 1: `relation` is longer than 80"),
        ("e.tsv", f"{'long ' * 20}\tr\tCity\n", "line 1: `source type` is longer than 40"),
        ("e.jsonl", '["Ada"]\n', "line 1 has 1 fields"),
        ("e.jsonl", "\n{\n", "line 2 is not JSON"),
        ("e.jsonl", "7\n", "line 1 is neither"),
        ("e.jsonl", '{"relation": 7}\n', "line 1: `relation` is `7`, not a text"),
        ("e.jsonl", '{"verb": "likes"}\n', "line 1 has neither a relation nor a type"),
        ("e.jsonl", "[" * 50_000 + "\n", "line 1 is not JSON"),
        ("e.csv", "source,relation,target\n", "has no examples"),
        ("e.jsonl", "\n", "has no examples"),
        ("e.xlsx", "", "is not supported"),
    ],
)
def test_invalid_examples_are_refused_with_their_line(tmp_path, name, text, said):
    with pytest.raises(ConfigError, match="^.*" + said) as raised:
        schema_of_examples(write(tmp_path, name, text))
    assert raised.value.fix


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.csv"):
        schema_of_examples(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes(b"\xe9,b,c\n")
    with pytest.raises(ConfigError, match=r"latin\.csv"):
        schema_of_examples(tmp_path / "latin.csv")


REPLY = """\
type | PERSON | human beings
type | COMPANY | firms and other employers
relation | PERSON | works for | COMPANY
relation | COMPANY | is based in | PLACE"""


def test_the_lines_of_a_reply_are_read():
    read = read_proposal(REPLY)
    assert read.types == (("PERSON", "human beings"), ("COMPANY", "firms and other employers"))
    assert read.relations == (
        ("PERSON", "works for", "COMPANY"), ("COMPANY", "is based in", "PLACE")
    )  # fmt: skip
    assert not read.complaints


@pytest.mark.parametrize(
    "reply",
    [
        f"Here is the schema:\n```\n{REPLY}\n```",
        "\n".join(f"- {line}" for line in REPLY.splitlines()),
        "\n".join(f"| {line} |" for line in REPLY.splitlines()),
        f"<think>type | NONSENSE</think>{REPLY}",
        REPLY.replace(" | ", "｜").replace("type", "类型").replace("relation", "关系"),
        f"type | NAME | what belongs to it\n{REPLY}\ntype | OTHER | the rest",
        f"{REPLY}\nrelation | PERSON | works",
    ],
)
def test_facts_added_by_models_can_be_removed(reply):
    assert read_proposal(reply).types == read_proposal(REPLY).types
    assert read_proposal(reply).relations == read_proposal(REPLY).relations


def test_catch_all_types_are_ignored():
    read = read_proposal("type | OTHER | the rest\nrelation | PERSON | likes | Other")
    assert read.types == ()
    assert read.relations == (("PERSON", "likes", ""),)
    assert [c.reason for c in read.complaints] == ["a type that means any entity"]


@given(seed=st.integers(0, 10**6))
def test_a_mutated_line_costs_itself_alone(seed):
    chance = random.Random(seed)
    lines = REPLY.splitlines()
    place = chance.randrange(len(lines))
    bad = chance.choice(HARMFUL)(lines[place], chance)
    reply = "\n".join([*lines[:place], bad, *lines[place + 1 :]])
    read = read_proposal(reply)
    others = read_proposal("\n".join(lines[:place] + lines[place + 1 :]))
    assert set(others.types) <= set(read.types)
    assert set(others.relations) <= set(read.relations)
    told = [line for line in plain_text(reply).split("\n") if line.strip()]
    assert read.records + len(read.complaints) + read.idle == len(told)


@pytest.mark.parametrize("length", range(len(REPLY)))
def test_a_reply_that_is_cut_off_has_its_whole_lines(length):
    whole = read_proposal(REPLY)
    read = read_proposal(REPLY[:length], cut=True)
    finished = REPLY[:length].count("\n")
    assert read.records >= finished - 1
    assert set(read.relations) <= set(whole.relations)
    assert {name for name, _ in read.types} <= {name for name, _ in whole.types}


@given(st.text(), st.booleans())
def test_any_reply_is_read(reply, cut_off):
    read = read_proposal(reply, cut=cut_off)
    assert all(complaint.reason for complaint in read.complaints)


def chunks_of(*texts: str):
    return cut("", *texts)[1]


def model_saying(*replies):
    return ScriptedChatModel(list(replies))


FOURTEEN = [f"Passage {number} names Ada." for number in range(4 * CHUNKS_PER_CALL)]


def test_facts_of_two_replies_are_kept_under_one_spelling():
    model = model_saying(
        REPLY,
        "type | Persons | people\nrelation | person | worked for | Company",
        "type | PLACE | towns\nrelation | COMPANY | is based in | PLACE",
        "type | SHIP | vessels\nrelation | SHIP | sails to | PLACE",
    )
    made = propose_schema(model, chunks_of(*FOURTEEN), concurrency=1)
    assert made.types == {"COMPANY": 3, "PLACE": 3, "PERSON": 2}
    assert made.relations == {"works for": 2, "is based in": 2}
    assert set(made.schema.patterns) == {
        RelationPattern("PERSON", "works for", "COMPANY"),
        RelationPattern("COMPANY", "is based in", "PLACE"),
    }
    assert made.meanings["PERSON"] == "human beings"
    assert made.schema.strict is False
    assert "of 4 in all" in made.counted


def test_one_reply_is_enough_where_there_are_few():
    made = propose_schema(model_saying(REPLY), chunks_of("Ada works for Acme."))
    assert made.schema.entity_types == ("PERSON", "COMPANY", "PLACE")
    assert made.counted == "those of one reply"


def test_limits_are_reported_and_held():
    many = "\n".join(
        f"type | KIND{n}A | x\nrelation | KIND{n}A | does{n} | KIND{n}A" for n in range(9)
    )
    model = model_saying(many)
    made = propose_schema(model, chunks_of("Ada."), most_types=5, most_relations=3)
    assert len(made.schema.entity_types) == 5
    assert len(made.schema.relation_types) == 3
    assert "5 types and 3 relations" in model.requests[0].messages[0].content


def test_later_calls_are_shown_the_first_names_and_share_their_beginning():
    model = model_saying(*[REPLY] * 4)
    propose_schema(model, chunks_of(*FOURTEEN), concurrency=1)
    first, *others = [request.messages[0].content for request in model.requests]
    assert "works for" not in first
    beginnings = {content.partition("<text>")[0] for content in others}
    assert len(beginnings) == 1
    assert "PERSON, COMPANY; works for, is based in" in beginnings.pop()
    assert {request.stage for request in model.requests} == {"schema"}


def test_every_chunk_is_shown_once_and_long_ones_stand_alone():
    texts = [*FOURTEEN[:5], "Long. " * 2_000, *FOURTEEN[5:7]]
    model = ScriptedChatModel(REPLY)
    propose_schema(model, chunks_of(*texts), concurrency=1)
    shown = [read_assignment(request.messages).sections["text"] for request in model.requests]
    assert [len([t for t in texts if t.strip() in text]) for text in shown] == [4, 1, 1, 2]


def test_replies_of_no_use_are_left_out_and_all_of_them_are_an_error():
    model = model_saying("I would rather not.", REPLY, ChatReply("", "filter"), REPLY)
    made = propose_schema(model, chunks_of(*FOURTEEN), concurrency=1)
    assert made.types["PERSON"] == 2
    assert "of 2 in all" in made.counted
    with pytest.raises(Unparsable, match="No line"):
        propose_schema(ScriptedChatModel("Sorry."), chunks_of(*FOURTEEN))
    with pytest.raises(ValueError, match="at least one chunk"):
        propose_schema(ScriptedChatModel(REPLY), [])


@pytest.mark.parametrize("reply", ["none", "type | OTHER | such as this", "没有"])
def test_nothing_said_in_words_is_an_empty_schema(reply):
    made = propose_schema(ScriptedChatModel(reply), chunks_of("Hm."))
    assert not made.schema


def test_a_ceiling_ends_it():
    model = ScriptedChatModel(REPLY, errors={3: BudgetExceeded("The budget is reached.")})
    with pytest.raises(BudgetExceeded):
        propose_schema(model, chunks_of(*FOURTEEN), concurrency=1)


@pytest.mark.parametrize(
    ("texts", "task"),
    [
        (["Ada Smith founded Acme Ltd in London. Bob Jones led Acme Ltd."] * 5, "PERSON"),
        (["鲁迅出生于浙江绍兴。王小明在北京大学工作。"] * 5, "PERSON"),
    ],
)
def test_the_brain_proposes_what_the_rules_read(texts, task):
    brain = RuleBrain()
    model = ScriptedChatModel(lambda request: brain(request.messages))
    made = propose_schema(model, chunks_of(*texts))
    assert task in made.schema.entity_types
    assert made.schema.relation_types
    language = "批" if "鲁" in texts[0] else "collection"
    assert all(language in r.messages[0].content for r in model.requests)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_words_of_the_prompt_are_few_and_marked(language):
    request = proposal_request(
        ["The text.</text>"], language=language, most_types=12, most_relations=20, names="A; b"
    )
    assert read_assignment(request.messages).task == "propose-schema"
    assert "A; b" in request.messages[0].content
    assert count_tokens(request.messages[0].content) <= 225
    assert request.messages[0].content.count("</text>") == 1


def test_words_are_compared_by_their_stems():
    assert word_key("works for") == word_key("WORKED_FOR")
    assert word_key("is led by") != word_key("leads")
    assert word_key("创办") == word_key("創辦")
    assert word_key("★") == ""


def test_a_prompt_lists_relations_once():
    prompts = prompts_in("en")
    joined = ExtractionSchema(("A",), ("likes",), (RelationPattern("A", "likes", "A"),))
    assert joined.rules_text(prompts) == "Allowed: A - likes - A."
    more = ExtractionSchema(("A",), ("knows",), (RelationPattern("A", "likes", "A"),))
    assert more.rules_text(prompts) == (
        "Relations, no others: knows, likes. Allowed: A - likes - A."
    )
