import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.transform.model.mutations import HARMFUL, HARMLESS, NOISE

from knotwork._extensions.model_indexing.reply_formats import (
    Draft,
    EntityDraft,
    RelationDraft,
    plain_text,
    read_lines,
)

pytestmark = pytest.mark.slow


GRAPH = (
    "entity | Ada Lovelace | PERSON | wrote the first programme",
    "entity | Analytical Engine | PRODUCT | a machine that was never built",
    "entity | Charles Babbage | PERSON | designed engines in London",
    "entity | London | PLACE | the city of both",
    "relation | Ada Lovelace | wrote notes on | Analytical Engine | her notes hold a programme",
    "relation | Charles Babbage | designed | Analytical Engine | he drew it from 1837 on",
    "relation | Ada Lovelace | lived in | London | she lived there",
)
HAN = (
    "entity | 北京大学 | 组织 | 中国的一所大学",
    "entity | 蔡元培 | 人物 | 曾任校长",
    "entity | 北京 | 地点 | 大学所在的城市",
    "relation | 蔡元培 | 曾任校长 | 北京大学 | 他主张兼容并包",
    "relation | 北京大学 | 位于 | 北京 | 学校在那里",
)
TRIPLETS = (
    "Ada Lovelace | wrote notes on | Analytical Engine",
    "Charles Babbage | designed | Analytical Engine",
    "Ada Lovelace | lived in | London",
)


def read(*lines: str, cut: bool = False, triplets: bool = False) -> Draft:
    return read_lines("\n".join(lines), triplets=triplets, cut=cut)


def records(draft: Draft) -> set[EntityDraft | RelationDraft]:
    return {*draft.entities, *draft.relations}


def accounted(draft: Draft) -> int:
    return draft.records + len(draft.complaints) + draft.repeated + draft.idle


def test_a_clean_reply_is_read_whole() -> None:
    draft = read(*GRAPH)
    assert (len(draft.entities), len(draft.relations), draft.complaints) == (4, 3, ())
    assert draft.entities[0] == EntityDraft("Ada Lovelace", "PERSON", "wrote the first programme")
    assert draft.relations[0] == RelationDraft(
        "Ada Lovelace", "wrote notes on", "Analytical Engine", "her notes hold a programme"
    )


@pytest.mark.parametrize("lines", [GRAPH, HAN], ids=["english", "chinese"])
@pytest.mark.parametrize("mutate", HARMLESS)
def test_marks_that_models_add_cost_nothing(lines, mutate) -> None:
    draft = read("```text", *(mutate(line) for line in lines), "```")
    assert records(draft) == records(read(*lines))
    assert draft.complaints == ()


def test_kinds_may_be_chinese_or_missing() -> None:
    words = {"entity": "实体", "relation": "关系"}
    named = [words[line.split(" | ")[0]] + line[line.index(" |") :] for line in HAN]
    assert records(read(*named)) == records(read(*HAN))
    bare = [line.split(" | ", 1)[1] for line in HAN]
    assert records(read(*bare)) == records(read(*HAN))


def test_commas_part_fields_where_the_kind_says_what_they_are() -> None:
    draft = read("实体，北京，地点，中国的首都，很大", "关系：北京，是，首都，说明")
    assert draft.entities == (EntityDraft("北京", "地点", "中国的首都，很大"),)
    assert draft.relations == (RelationDraft("北京", "是", "首都", "说明"),)


def test_fields_in_another_order_are_put_right_where_only_one_reading_is_possible() -> None:
    draft = read(
        *GRAPH[:4],
        "relation | Ada Lovelace | Analytical Engine | wrote notes on | her notes",
        "relation | Charles Babbage | Analytical Engine | He designed this machine for many years.",
        "entity | Byron | a poet who was her father | PERSON",
    )
    assert draft.entities[-1] == EntityDraft("Byron", "PERSON", "a poet who was her father")
    assert draft.relations == (
        RelationDraft("Ada Lovelace", "wrote notes on", "Analytical Engine", "her notes"),
        RelationDraft(
            "Charles Babbage", "", "Analytical Engine", "He designed this machine for many years."
        ),
    )


def test_a_forgotten_line_break_is_seen() -> None:
    assert records(read(" ".join(GRAPH))) == records(read(*GRAPH))


def test_breaks_that_were_escaped_are_read() -> None:
    assert records(read("\\n".join(GRAPH))) == records(read(*GRAPH))


def test_a_cut_last_line_loses_only_what_is_not_whole() -> None:
    draft = read(*GRAPH[:5], "relation | Charles Babbage | designed | Analyt", cut=True)
    assert len(draft.relations) == 1
    assert [c.reason for c in draft.complaints] == ["cut off inside a name"]
    assert read(*GRAPH[:6], cut=True).complaints == ()
    assert read("entity | Charles Bab", cut=True).entities == ()


def test_a_loop_is_counted_not_kept() -> None:
    draft = read(*GRAPH, *([GRAPH[-1]] * 500))
    assert records(draft) == records(read(*GRAPH))
    assert draft.repeated == 500


def test_nothing_is_something_to_say() -> None:
    for said in ("none", "None.", "- none", "无", "没有。", "```\nnone\n```"):
        assert read(said).says_nothing, said
    assert not read("").says_nothing
    assert not read("I cannot help with that.").says_nothing


def test_the_form_said_back_is_no_record() -> None:
    draft = read("entity | NAME | TYPE | SUMMARY", "| Source | Relation | Target |", *GRAPH)
    assert records(draft) == records(read(*GRAPH))


def test_thinking_is_no_output_but_unclosed_thinking_is_read() -> None:
    assert records(read("<think>", "entity | Foo | PERSON | x", "</think>", *GRAPH)) == records(
        read(*GRAPH)
    )
    assert records(read("<think>", *GRAPH)) >= records(read(*GRAPH))


def test_triplets_need_no_kind() -> None:
    assert len(read(*TRIPLETS, triplets=True).relations) == 3
    assert read(*TRIPLETS, triplets=True).complaints == ()
    assert len(read(*TRIPLETS).complaints) == 3


def test_prose_is_a_complaint() -> None:
    draft = read("Here are the facts:", *GRAPH, "I hope this helps!")
    assert [c.line for c in draft.complaints] == ["Here are the facts:", "I hope this helps!"]


@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_mutated_replies_lose_no_other_line(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(1_000):
        triplets = chance.random() < 0.2
        lines = list(TRIPLETS if triplets else chance.choice([GRAPH, HAN]))
        # Entities are named before relations, which are put right by them: hurt relations only,
        # or look only at the entities.
        hurt = chance.sample(range(len(lines)), chance.randint(1, 3))
        whole = [line for place, line in enumerate(lines) if place not in hurt]
        for place in hurt:
            for _ in range(chance.randint(1, 3)):
                lines[place] = chance.choice(HARMFUL)(lines[place] or "x", chance)
        draft = read(*lines, triplets=triplets, cut=chance.random() < 0.2)
        raws = [line for line in plain_text("\n".join(lines)).split("\n") if line.strip()]
        assert accounted(draft) >= len(raws), lines
        if chance.random() < 0.2 or draft.cut:
            continue
        expected = records(read(*whole, triplets=triplets))
        assert expected <= records(draft), (lines, expected - records(draft))


@given(st.text(st.sampled_from(NOISE + "entityrlaonx"), max_size=200), st.booleans())
def test_no_text_makes_it_fail_or_lose_a_line(text: str, cut: bool) -> None:
    draft = read_lines(text, cut=cut)
    assert accounted(draft) >= sum(bool(line.strip()) for line in plain_text(text).split("\n"))
    assert read_lines(text, cut=cut) == draft
