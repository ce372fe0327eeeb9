"""Stated facts are stored with their time; a later fact ends the validity of an earlier one."""

import itertools
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.agents.chat import Conversation
from knotwork._extensions.agents.fact_memory import FactMemory, RememberedFact
from knotwork._extensions.agents.fact_rules import SPEAKER, StatedFact, ask_for_facts, read_facts
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork.errors import ModelUnavailable, Unparsable


def lives(place, since):
    return RememberedFact("Ann", "lives in", place, since)


def test_a_new_value_closes_the_old_fact():
    memory = FactMemory()
    memory.learn(lives("Oslo", "2020-01-01"))
    (closed,) = memory.learn(lives("Turku", "2023-05-01"))
    assert closed == RememberedFact("Ann", "lives in", "Oslo", "2020-01-01", "2023-05-01")
    assert [f.object for f in memory.about(["Ann"], at="2022-01-01")] == ["Oslo"]
    assert [f.object for f in memory.about(["ANN"], at="2024-01-01")] == ["Turku"]
    assert memory.about(["Ann"], at="2019-01-01") == []
    assert len(memory.about(["Ann"])) == 2


FACTS = [("Oslo", "2020-01-01"), ("Turku", "2021-06-01"), ("Riga", "2023-05-01")]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_order_of_telling_does_not_matter(order):
    memory = FactMemory()
    for number in order:
        memory.learn(lives(*FACTS[number]))
    history = memory.history("Ann", "lives in")
    assert [(f.object, f.valid_from, f.valid_to) for f in history] == [
        ("Oslo", "2020-01-01", "2021-06-01"),
        ("Turku", "2021-06-01", "2023-05-01"),
        ("Riga", "2023-05-01", None),
    ]


DAYS = st.integers(1, 28).map(lambda day: f"2024-01-{day:02d}")


@given(st.lists(st.tuples(st.sampled_from(["Oslo", "Turku", "Riga"]), DAYS), max_size=8))
def test_one_value_holds_at_a_time(told):
    memory = FactMemory()
    for place, day in told:
        memory.learn(lives(place, day))
    for day in range(1, 29):
        assert len(memory.about(["Ann"], at=f"2024-01-{day:02d}")) <= 1
    if told:
        first = min(day for _, day in told)
        assert len(memory.about(["Ann"], at="2024-01-31")) == 1
        assert memory.about(["Ann"], at=first)


MOMENTS = st.one_of(
    st.integers(2019, 2023).map(str),
    st.tuples(st.integers(2019, 2023), st.integers(1, 12)).map(lambda m: f"{m[0]}-{m[1]:02d}"),
    st.dates(date(2019, 1, 1), date(2023, 12, 31)).map(date.isoformat),
    st.dates(date(2019, 1, 1), date(2023, 12, 31)).map(lambda day: f"{day}T09:30"),
)


@given(st.lists(MOMENTS, unique=True, max_size=5), st.randoms(use_true_random=False))
def test_moments_of_any_precision_are_kept_and_their_order_of_telling_does_not_matter(
    moments, random
):
    told = [lives(f"Town {number}", moment) for number, moment in enumerate(moments)]
    shuffled = list(told)
    random.shuffle(shuffled)
    memory, other = FactMemory(), FactMemory()
    for one, two in zip(told, shuffled, strict=True):
        memory.learn(one)
        other.learn(two)
    history = memory.history("Ann", "lives in")
    assert history == other.history("Ann", "lives in")
    assert sorted(fact.valid_from for fact in history) == sorted(moments)
    assert [fact.valid_to for fact in history] == [*(f.valid_from for f in history[1:]), None][
        : len(history)
    ]
    for fact in history:
        assert fact.valid_from[:10] in fact.text
        day = "2024-01-01"
        assert fact.holds_at(day) is (fact.valid_to is None)


def test_a_fact_known_more_precisely_is_not_learned_again():
    memory = FactMemory()
    memory.learn(lives("Oslo", "2021-05"))
    assert memory.learn(lives("Oslo", "2021")) == ()
    assert [fact.valid_from for fact in memory.facts()] == ["2021-05"]


def test_a_period_is_asked_for_as_a_whole():
    memory = FactMemory()
    memory.learn(lives("Oslo", "2020"))
    memory.learn(lives("Turku", "2021-05"))
    assert [f.object for f in memory.facts(at="2021")] == ["Oslo", "Turku"]
    assert [f.object for f in memory.facts(at="2021-05-03")] == ["Turku"]
    assert [f.object for f in memory.facts(at="2021-04-30")] == ["Oslo"]
    assert memory.facts(at="2019") == []


def test_many_may_be_known_at_once():
    memory = FactMemory()
    for name in ("Ben", "Cy"):
        assert memory.learn(RememberedFact("Ann", "knows", name, "2020-01-01")) == ()
    assert len(memory.about(["Ann"], at="2021-01-01")) == 2


def test_a_fact_is_remembered_once_and_can_end():
    memory = FactMemory()
    memory.learn(lives("Oslo", "2020-01-01"))
    assert memory.learn(lives("oslo", "2021-01-01")) == ()
    assert len(memory.about(["Ann"])) == 1
    assert memory.end("Ann", "lives in", "Oslo", at="2022-01-01") == 1
    assert memory.about(["Ann"], at="2022-01-01") == []


def test_facts_outlast_the_process(tmp_path):
    path = tmp_path / "memory"
    memory = FactMemory(path)
    memory.learn(lives("Oslo", "2020-01-01"))
    memory.close()
    again = FactMemory(path)
    assert [f.text for f in again.about(["Oslo"])] == ["Ann lives in Oslo (since 2020-01-01)"]
    again.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Remember that Ann Lee lives in Oslo since May 1, 2020.", ("Ann Lee", "lives in", "Oslo")),
        ("I work for Acme.", (SPEAKER, "works for", "Acme")),
        ("my manager is Ben Cole", (f"{SPEAKER}'s manager", "is", "Ben Cole")),
        ("My manager is Ben Cole.", (f"{SPEAKER}'s manager", "is", "Ben Cole")),
        ("Our budget is 40,000 crowns", (f"{SPEAKER}'s budget", "is", "40,000 crowns")),
        ("Ann Lee likes sailing.", ("Ann Lee", "likes", "sailing")),
        ("请记住：我住在上海。", (SPEAKER, "住在", "上海")),
    ],
)
def test_facts_are_read_from_messages(text, expected):
    (fact,) = read_facts(text)
    assert (fact.subject, fact.relation, fact.object) == expected


@pytest.mark.parametrize(
    "text",
    [
        "who is Ann Lee",
        "Who leads the team",
        "I am looking for the travel policy",
        "I have a question about travel.",
        "It is late.",
        "There is a ferry",
        "这是什么",
        "她住在上海。",
        "我在哪里工作",
        "",
    ],
)
def test_questions_and_messages_without_names_state_no_fact(text):
    assert read_facts(text) == []


def test_a_time_is_read_and_an_end_too():
    (fact,) = read_facts("Ann lives in Oslo since May 1, 2020.")
    assert fact.since == "2020-05-01"
    (fact,) = read_facts("Ann lives in Turku since 2021.")
    assert fact.since == "2021"
    (fact,) = read_facts("Ann lives in Turku since May 2021.")
    assert fact.since == "2021-05"
    (fact,) = read_facts("自2021年5月起，我负责采购。")
    assert fact.since == "2021-05"
    (fact,) = read_facts("Ann no longer lives in Oslo.")
    assert fact.ended
    assert read_facts("Does Ann live in Oslo?") == []


@given(st.lists(st.tuples(st.sampled_from(["Oslo", "Turku"]), DAYS), max_size=5), DAYS)
def test_withdrawn_facts_are_gone(told, day):
    memory = FactMemory()
    for place, since in told:
        memory.learn(lives(place, since))
    before = memory.facts()
    told_now = lives("Riga", day)
    if any(fact.valid_from == day for fact in before):
        return  # the last word of a day takes the place of the one before
    memory.learn(told_now)
    assert memory.retract(told_now)
    assert memory.facts() == before
    assert not memory.retract(told_now)


def test_a_name_is_forgotten_at_both_ends():
    memory = FactMemory()
    memory.learn(lives("Oslo", "2020-01-01"))
    memory.learn(RememberedFact("Ben", "knows", "Ann", "2020-01-01"))
    memory.learn(RememberedFact("Ben", "lives in", "Oslo", "2020-01-01"))
    assert memory.forget("ANN") == 2
    assert [fact.subject for fact in memory.facts()] == ["Ben"]
    assert memory.forget("nobody") == 0


@pytest.mark.parametrize("name", ["me", "我", "the user"])
def test_the_person_who_states_facts_has_names_too(name):
    memory = FactMemory()
    memory.learn(lives("Oslo", "2020-01-01"))
    memory.learn(RememberedFact("the user", "works for", "Acme", "2020-01-01"))
    memory.learn(RememberedFact("Ben", "is in", "ME", "2020-01-01"))
    assert [fact.object for fact in memory.about([name])] == ["Acme"]
    assert memory.forget("ME") == 1
    assert memory.forget(name) == 1
    assert [fact.object for fact in memory.facts()] == ["Oslo"]


def test_facts_are_listed_at_a_moment():
    memory = FactMemory()
    memory.learn(lives("Oslo", "2020-01-01"))
    memory.learn(lives("Turku", "2023-05-01"))
    assert [fact.object for fact in memory.facts()] == ["Oslo", "Turku"]
    assert [fact.object for fact in memory.facts(at="2021-01-01")] == ["Oslo"]


TOLD = "Since last May the Oslo office, which Ann Lee runs, has had 12 people. Cy has left it."
LINES = """fact | Ann Lee | runs | Oslo office | 2023-05-01 | -
fact | Oslo office | size | 12 people | 2023-05 | -
fact | Ann Lee | reports to | Greta Garbo | - | -
ended | Cy | works for | Oslo office | - | 2024-01-15
I hope this helps!"""


def test_a_model_reads_facts_in_words_that_were_said():
    model = ScriptedChatModel([LINES])
    assert ask_for_facts(TOLD, model, today="2024-02-01") == [
        StatedFact("Ann Lee", "runs", "Oslo office", "2023-05"),
        StatedFact("Oslo office", "size", "12 people", "2023-05"),
        StatedFact("Cy", "works for", "Oslo office", until="2024-01-15", ended=True),
    ]
    (request,) = model.requests
    assert "2024-02-01" in request.messages[0].content
    assert ask_for_facts(TOLD, ScriptedChatModel(["none"]), today="2024-02-01") == []


@pytest.mark.parametrize(
    ("line", "since", "until"),
    [
        ("fact | Ann Lee | runs | Oslo office | 2019-01-01 | 2021-05-01", "2019", "2021-05"),
        ("fact | Ann Lee | runs | Oslo office | 2019 | 2021-05", "2019", "2021-05"),
        ("fact | Ann Lee | runs | Oslo office | - | 2021-05-01", "", "2021-05"),
    ],
)
def test_a_model_cannot_make_a_time_more_precise(line, since, until):
    said = "Ann Lee ran the Oslo office from 2019 to May 2021."
    (fact,) = ask_for_facts(said, ScriptedChatModel([line]), today="2024-02-01")
    assert (fact.since, fact.until) == (since, until)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ("2019 | 2021", ("2019", "2021")),
        ("- | 2021", ("", "2021")),
        ("2021 | 2021", ("2021", "2022")),
        ("2021-05-14 | 2019", ("2021-05-14", None)),
        ("- | -", ("2024-01-01", None)),
    ],
)
def test_a_stated_end_is_kept(times, expected):
    model = ScriptedChatModel([f"fact | Ann Lee | ran | Oslo office | {times}"])
    conversation = converse(model=model)
    (fact,) = conversation.tell(
        "It was Ann Lee who, 2019 to 2021 or from 2021-05-14, ran the Oslo office."
    ).learned
    assert (fact.valid_from, fact.valid_to) == expected


@pytest.mark.parametrize("reply", ["", "Sure! Here you are:", "fact | too | few", "|" * 40])
def test_a_reply_without_facts_is_of_no_use(reply):
    with pytest.raises(Unparsable):
        ask_for_facts(TOLD, ScriptedChatModel([reply]), today="2024-02-01")


@given(st.text(max_size=200))
def test_no_reply_brings_what_was_not_said(reply):
    try:
        facts = ask_for_facts("Ann lives here.", ScriptedChatModel([reply]), today="2024-02-01")
    except Unparsable:
        return
    assert facts == []


def converse(moments=("2024-01-01",), **options):
    """Return a conversation whose clock shows these times; the last one repeats."""
    left = list(moments)
    return Conversation(
        FactMemory(), now=lambda: left.pop(0) if len(left) > 1 else left[0], **options
    )


def test_a_conversation_remembers_and_recalls_at_a_time():
    conversation = converse(["2024-01-01", "2024-03-01", "2024-04-01"])
    assert conversation.tell("Ann Lee lives in Oslo.").learned
    told = conversation.tell("Ann Lee moved to Turku.")
    assert [fact.object for fact in told.learned] == ["Turku"]
    assert [(fact.object, fact.valid_to) for fact in told.ended] == [("Oslo", "2024-03-01")]
    where = "Where does Ann Lee live?"
    assert [fact.object for fact in conversation.recall(where)] == ["Turku"]
    assert [fact.object for fact in conversation.recall(where, at="2024-02-01")] == ["Oslo"]
    assert conversation.recall("Where does Ben live?") == []


def test_a_speaker_is_remembered():
    conversation = converse()
    conversation.tell("My manager is Ben Cole.")
    assert [fact.object for fact in conversation.recall("Who is my manager?")] == ["Ben Cole"]
    assert conversation.recall("Who is the manager?") == []


def test_a_statement_is_about_what_was_spoken_of():
    conversation = converse()
    conversation.add("Who is Ann Lee?", "Ann Lee leads the team.")
    (fact,) = conversation.tell("She lives in Oslo.").learned
    assert fact.text == "Ann Lee lives in Oslo (since 2024-01-01)"


def test_the_last_fact_is_undone_first():
    conversation = converse()
    conversation.tell("Ann lives in Oslo. Ben lives in Riga.")
    assert conversation.undo().subject == "Ben"
    assert conversation.undo().subject == "Ann"
    assert conversation.undo() is None


def test_a_model_reads_what_rules_cannot():
    model = ScriptedChatModel([LINES])
    conversation = converse(model=model)
    assert converse().offer(TOLD) is None
    told = conversation.tell(TOLD)
    assert [fact.subject for fact in told.learned] == ["Ann Lee", "Oslo office"]
    conversation.tell("Ann lives in Oslo.")
    assert len(model.requests) == 1, "rules read this one"


def test_nothing_is_lost_when_the_model_fails():
    model = ScriptedChatModel([], errors={1: ModelUnavailable("gone")})
    told = converse(model=model).tell(TOLD)
    assert not told.learned
    assert "gone" in told.note
    assert "Nothing to remember" in converse().tell("Remember the milk").note


def test_the_window_is_bounded():
    conversation = converse(tokens=30)
    for number in range(10):
        conversation.add(f"What about Thing {number}?", "word " * 10)
    assert 1 <= len(conversation.turns) <= 3
    assert conversation.turns[-1][0] == "What about Thing 9?"
    conversation.clear()
    assert conversation.turns == ()
