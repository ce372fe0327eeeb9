"""Asking about pairs: what is sent, what is read of replies, and what it may cost."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.resolution.worlds import make_index
from tests.transform.model.mutations import HARMFUL, HARMLESS

from knotwork._extensions.model_indexing.judge import (
    DESCRIPTION_TOKENS,
    Judge,
    choose_questions,
    describe_entities,
    judge_request,
    read_verdicts,
)
from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._indexing.resolution.name_evidence import make_profile, read_profiles
from knotwork._indexing.resolution.pairs import PairQuestion
from knotwork._inference.chat import ChatReply
from knotwork._text.token_counts import count_tokens
from knotwork.errors import Unparsable
from knotwork.records import (
    ChunkReading,
    Description,
    Entity,
    EntitySummary,
    ReadingStatus,
    Verdict,
    entity_id,
)

SAME, DIFFERENT = Verdict.SAME, Verdict.DIFFERENT
VERDICTS = {n: SAME if n % 3 else DIFFERENT for n in range(1, 9)}
LINES = [f"{number} | {verdict}" for number, verdict in VERDICTS.items()]


def question(number, first, second, worth=1.0):
    return PairQuestion((f"{number:016x}", f"{number + 999:016x}"), first, second, "alike", worth)


def read(text, count=8):
    return read_verdicts(ChatReply(text), count)


def test_a_reply_in_the_form_is_read_whole():
    assert read("\n".join(LINES)) == VERDICTS


@pytest.mark.parametrize("form", HARMLESS)
def test_harmless_changes_cost_nothing(form):
    assert read("\n".join(form(line) for line in LINES)) == VERDICTS


@pytest.mark.parametrize(
    "line", ["1: same", "1. same", "(1) same", "1 - same", '"1": "same",', "1｜相同"]
)
def test_other_ways_to_say_it_are_understood(line):
    assert read(line) == {1: SAME}


@given(st.integers(0, 2**32), st.sampled_from(HARMFUL), st.sampled_from(range(8)))
def test_a_broken_line_costs_itself_alone(seed, harm, place):
    broken = [*LINES]
    broken[place] = harm(broken[place], random.Random(seed)).replace("\n", " ")
    verdicts = read("\n".join(broken))
    untouched = {n: verdict for n, verdict in VERDICTS.items() if n != place + 1}
    changed = {n for n in untouched if verdicts.get(n) != untouched[n]}
    # A digit of the broken line may be another's number: then that one is in doubt, and no more.
    assert len(changed) <= 1
    assert all(n not in verdicts for n in changed)


def test_a_number_with_two_verdicts_has_none():
    assert read("1 | same\n1 | different\n2 | same\n2 | same") == {2: SAME}
    with pytest.raises(Unparsable):
        read("9 | same\n0 | same\nyes\n")


@given(st.text(max_size=200))
def test_no_reply_is_a_fault(text):
    try:
        verdicts = read(text)
    except Unparsable:
        return
    assert verdicts
    assert set(verdicts) <= set(range(1, 9))


def test_the_brain_of_the_test_server_answers_the_prompt():
    asked = [
        question(1, "WHO: ORGANIZATION, sent help", "World Health Organization: in Geneva"),
        question(2, "Paris: PLACE", "Leeds: PLACE"),
    ]
    brain = RuleBrain()
    verdicts = read(brain(judge_request(asked).messages), 2)
    assert verdicts == {1: SAME, 2: DIFFERENT}
    chinese = judge_request([question(1, "北大: 位于北京", "北京大学: 位于北京市海淀区")])
    assert "编号" in chinese.messages[0].content
    assert read(brain(chinese.messages), 1) == {1: SAME}


@pytest.mark.parametrize("ceiling", [0, 200, 600, 2_000, 50_000])
def test_requests_stay_below_the_limit(ceiling):
    chance = random.Random(ceiling)
    asked = [
        question(
            n, f"Name {n}: " + "some words " * chance.randint(0, 9), f"名称{n}: 一些说明", n % 7
        )
        for n in range(120)
    ]
    spent = []
    brain = RuleBrain()

    def reply(request):
        said = brain(request.messages)
        spent.append(sum(count_tokens(m.content) for m in request.messages) + count_tokens(said))
        return said

    judge = Judge(ScriptedChatModel(reply), ceiling_tokens=ceiling)
    chosen = choose_questions(asked, judge)
    judged = [pair for reply in judge.ask(chosen) for pair in reply]
    assert len(judged) == len(chosen)
    assert sum(spent) <= ceiling
    assert sum(spent) >= ceiling * 0.5 or len(chosen) in {0, 120}
    assert min((q.worth for q in chosen), default=0) >= max(
        (q.worth for q in asked if q not in chosen), default=9
    ) or len(chosen) in {0, 120}


def test_a_description_is_one_short_line_that_ends_no_section():
    text = (
        "Zorblax || Industries <pairs> makes\n\nglass for windows and for very many other uses "
        "in all of the towns of the northern coast since the year of the flood."
    )
    base = make_index(["z.txt"], texts={"z.txt": text})
    profiles = read_profiles(base.store)
    lines = describe_entities(base.store, list(profiles.values()))
    assert lines.keys() == profiles.keys()
    for entity, line in lines.items():
        name = profiles[entity].entity.name
        assert not any(mark in line for mark in ("||", "\n", "<pairs>"))
        assert count_tokens(line) <= count_tokens(name) + DESCRIPTION_TOKENS + 8


def test_a_models_description_is_shown_and_its_summary_changes_no_question():
    base = make_index(["z.txt"], texts={"z.txt": "Zorblax Industries makes glass in Leeds."})
    store = base.store
    profiles = list(read_profiles(store).values())
    document = store.documents.document_ids()[0]
    chunk = store.documents.chunk_ids_of([document])[document][0]
    key = next(p.id for p in profiles if p.entity.name == "Zorblax Industries")
    store.readings.put(
        [ChunkReading(chunk, "model", ReadingStatus.OK)],
        [Description(chunk, "zorblax industries", "a maker of panes")],
    )
    before = describe_entities(store, profiles)
    assert before[key].endswith(": ORGANIZATION, a maker of panes")
    store.readings.put_summaries([EntitySummary(key, "It makes all kinds of glass.", "model", "k")])
    assert describe_entities(store, profiles) == before


def test_a_colon_in_a_name_does_not_end_it():
    base = make_index(["a.txt"], texts={"a.txt": "Nothing of note."})
    profile = make_profile(Entity(entity_id("x y"), "Dune: Part Two", "x y", "WORK", 1))
    assert describe_entities(base.store, [profile]) == {profile.id: "Dune Part Two: WORK"}
