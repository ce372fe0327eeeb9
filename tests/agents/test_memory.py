"""What is told is remembered with its time; what is told later closes what held before."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knotwork.agents.memory import Conversation, FactMemory, RememberedFact
from knotwork.agents.memory.told import SPEAKER, read_told
from knotwork.records import Evidence, Query


class Searcher:
    """Finds nothing, and keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def retrieve(self, query: Query) -> Evidence:
        self.asked.append(query.text)
        return Evidence(query, "none")


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


@settings(max_examples=40, deadline=None)
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


def test_many_may_be_known_at_once():
    memory = FactMemory()
    for name in ("Ben", "Cy"):
        assert memory.learn(RememberedFact("Ann", "knows", name, "2020-01-01")) == ()
    assert len(memory.about(["Ann"], at="2021-01-01")) == 2


def test_what_holds_is_learned_once_and_can_end():
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
        ("请记住：我住在上海。", (SPEAKER, "住在", "上海")),
    ],
)
def test_facts_are_read_from_what_is_told(text, expected):
    (fact,) = read_told(text)
    assert (fact.subject, fact.relation, fact.object) == expected


def test_a_time_is_read_and_an_end_too():
    (fact,) = read_told("Ann lives in Oslo since May 1, 2020.")
    assert fact.since == "2020-05-01"
    (fact,) = read_told("Ann lives in Turku since 2021.")
    assert fact.since == "2021-01-01"
    (fact,) = read_told("Ann no longer lives in Oslo.")
    assert fact.ended
    assert read_told("Does Ann live in Oslo?") == []


def test_a_conversation_tells_and_recalls_at_a_time():
    memory, searcher = FactMemory(), Searcher()
    moment = iter(["2024-01-01", "2024-03-01", *["2024-04-01"] * 9])
    conversation = Conversation(searcher, memory, now=lambda: next(moment))
    conversation.tell("Ann Lee lives in Oslo.")
    conversation.tell("Ann Lee moved to Turku.")
    now = conversation.ask("Where does Ann Lee live?")
    assert any("Turku" in note for note in now.notes)
    assert not any("Oslo" in note for note in now.notes)
    then = conversation.ask("Where does Ann Lee live?", at="2024-02-01")
    assert any("Oslo" in note for note in then.notes)


def test_a_pronoun_means_what_was_spoken_of():
    searcher = Searcher()
    conversation = Conversation(searcher, FactMemory(), now=lambda: "2024-01-01")
    conversation.ask("Who directed Silver Lantern?")
    conversation.ask("When was it made?")
    conversation.ask("and in colour?")
    assert searcher.asked[1] == "When was Silver Lantern made?"
    assert "in colour" in searcher.asked[2]
    assert "Silver Lantern" in searcher.asked[2]


def test_the_window_is_bounded():
    conversation = Conversation(
        Searcher(), FactMemory(), now=lambda: "2024-01-01", turns=3, tokens=30
    )
    for number in range(10):
        conversation.ask(f"What about Thing {number}?")
        conversation.answer("word " * 10)
    assert 1 <= len(conversation.turns) <= 3
    assert conversation.turns[-1].question == "What about Thing 9?"
