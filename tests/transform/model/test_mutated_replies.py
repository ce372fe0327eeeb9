"""10,000 mutated replies in four forms: reading never fails or loses a word silently."""

import json
import random
import re
from collections.abc import Callable
from functools import partial

import pytest
from benchmarks.extraction.tuples import TupleReader
from tests.transform.documents import cut as cut_document
from tests.transform.model.mutations import HARMFUL

from knotwork._extensions.model_indexing.extraction_method import ExtractionMethod
from knotwork._extensions.model_indexing.reply_formats import (
    Draft,
    plain_text,
    read_json,
    read_lines,
)
from knotwork._extensions.model_indexing.reply_grounding import assemble
from knotwork.records import Extraction

pytestmark = pytest.mark.slow


TEXT = (
    "Ada Lovelace wrote notes on the Analytical Engine. Charles Babbage designed the engine in "
    "London from 1837. Lovelace lived in London as well. 蔡元培曾任北京大学校长。"
)
ENTITIES = (
    ("Ada Lovelace", "PERSON", "wrote the first programme"),
    ("Analytical Engine", "PRODUCT", "a machine that was never built"),
    ("Charles Babbage", "PERSON", "designed engines in London"),
    ("北京大学", "组织", "中国的一所大学"),
    ("蔡元培", "人物", "曾任校长"),
)
RELATIONS = (
    ("Ada Lovelace", "wrote notes on", "Analytical Engine", "her notes hold a programme"),
    ("Charles Babbage", "designed", "Analytical Engine", "he drew it from 1837 onwards"),
    ("蔡元培", "曾任校长", "北京大学", "他主张兼容并包"),
)
EXPECTED = frozenset(
    word.casefold()
    for record in (*ENTITIES, *RELATIONS)
    for field in record
    for word in re.findall(r"[^\W\d_]{2,}", field)
)
"""Words of what the replies say: none may vanish. Marks and keys of a form are no such words."""


def graph_lines() -> list[str]:
    lines = [" | ".join(("entity", *record)) for record in ENTITIES]
    return lines + [" | ".join(("relation", *record)) for record in RELATIONS]


def triplet_lines() -> list[str]:
    return [" | ".join(record[:3]) for record in RELATIONS]


def tuple_lines() -> list[str]:
    records = [("entity", *record) for record in ENTITIES]
    records += [("relationship", r[0], r[2], f"{r[1]} {r[3]}", "7") for r in RELATIONS]
    quoted = ["<|>".join(f'"{field}"' for field in record) for record in records]
    return [f"({record})##" for record in quoted[:-1]] + [f"({quoted[-1]})<|COMPLETE|>"]


def json_lines() -> list[str]:
    entities = [dict(zip(("name", "type", "summary"), r, strict=True)) for r in ENTITIES]
    keys = ("source", "relation", "target", "description")
    relations = [dict(zip(keys, r, strict=True)) for r in RELATIONS]
    said = {"entities": entities, "relations": relations}
    return json.dumps(said, ensure_ascii=False, indent=1).split("\n")


FORMS: dict[str, tuple[Callable[[], list[str]], Callable[..., Draft]]] = {
    "lines": (graph_lines, ExtractionMethod().read),
    "triplets": (triplet_lines, partial(read_lines, triplets=True)),
    "tuples": (tuple_lines, TupleReader().read),
    "json": (json_lines, ExtractionMethod().read),
}


def mutate_reply(lines: list[str], chance: random.Random) -> str:
    """Hurt a few lines, then what stands between and around them."""
    lines = list(lines)
    for _ in range(chance.randint(1, 4)):
        place = chance.randrange(len(lines))
        lines[place] = chance.choice(HARMFUL)(lines[place] or "x", chance)
    kind = chance.randrange(8)
    if kind == 0:
        chance.shuffle(lines)
    elif kind == 1:
        lines.insert(chance.randrange(len(lines)), chance.choice(lines))
    elif kind == 2:
        del lines[chance.randrange(len(lines))]
    reply = chance.choice(["\n", "\n", "\n\n", "\r\n", " "]).join(lines)
    if kind == 3:
        reply = f"```\n{reply}\n```"
    elif kind == 4:
        reply = reply[: chance.randrange(len(reply) + 1)]
    elif kind == 5:
        reply = f"{reply}\n\n{reply}"
    return reply


def words(text: str) -> set[str]:
    return {word.casefold() for word in re.findall(r"[^\W\d_]{2,}", text)}


def told_by(draft: Draft) -> str:
    """Return all words that a draft keeps or complains of."""
    entities = [(e.name, e.type, e.summary) for e in draft.entities]
    relations = [(r.source, r.relation, r.target, r.summary) for r in draft.relations]
    said = [" ".join(record) for record in (*entities, *relations)]
    return "\n".join([*said, *(c.line for c in draft.complaints)])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(5))
def test_five_hundred_mutated_replies_fail_nowhere_and_lose_no_word(form: str, seed: int) -> None:
    make, read = FORMS[form]
    chance = random.Random(f"{form} {seed}")
    _, chunks = cut_document("", TEXT)
    whole = make()
    for number in range(500):
        reply = mutate_reply(whole, chance)
        if form == "json":
            reply = reply.replace("\\", "")  # "\\the" is a tab and "he"
        is_cut = chance.random() < 0.2
        draft = read(reply, cut=is_cut)
        lost = (words(plain_text(reply)) & EXPECTED) - words(told_by(draft))
        assert not lost, (reply, draft)
        if number % 10 == 0:
            made = assemble(draft, chunks[0], Extraction(chunks[0].id))
            assert made.kept + len(made.complaints) == draft.records


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ('{"name": "Ada", "type": "PERSON", "born_in": "London"}', "London"),
        ('{"name": "Ada", "aliases": ["Countess of Lovelace", 7]}', "Countess of Lovelace"),
        ('{"name": "Ada", "name": "Babbage"}', "Babbage"),
        ('{"name": "Ada", "Name": "Babbage"}', "Babbage"),
        ('{"source": "Ada", "relation": "met", "target": "Bob", "place": "Paris"}', "Paris"),
    ],
)
def test_extra_json_beside_a_record_is_a_complaint(reply: str, told: str) -> None:
    draft = read_json(reply)
    assert draft.records == 1
    (complaint,) = draft.complaints
    assert told in complaint.line
    assert complaint.reason == "an unknown field"


def test_records_inside_a_record_are_read_and_numbers_beside_it_are_no_fault() -> None:
    inner = [{"source": "Ada", "relation": "met", "target": "Bob", "id": "r1", "weight": 0.5}]
    reply = json.dumps({"name": "Ada", "type": "PERSON", "relations": inner, "score": 9})
    draft = read_json(reply)
    assert [e.name for e in draft.entities] == ["Ada"]
    assert [r.relation for r in draft.relations] == ["met"]
    assert draft.complaints == ()
