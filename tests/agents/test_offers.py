"""Stated facts are offered; only those that ask to be remembered are stored at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.agents.chat import MOST_OFFERS, Conversation, MemoryOffer, OpenOffers
from knotwork._extensions.agents.fact_memory import FactMemory
from knotwork._extensions.agents.fact_rules import SPEAKER, is_asserted, read_offered, split_message
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork.errors import NotFound

NOW = "2024-01-01T10:00"


def converse(**options):
    memory = FactMemory()
    return Conversation(memory, now=lambda: NOW, **options), memory


def offered(text):
    return [(f.subject, f.relation, f.object) for f in read_offered(split_message(text).statement)]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        (
            "My colleague Ina works in Bergen",
            [("Ina", "works in", "Bergen"), ("Ina", "colleague of", SPEAKER)],
        ),
        (
            "我的同事伊娜在卑尔根工作。",
            [("伊娜", "工作于", "卑尔根"), ("伊娜", "同事", SPEAKER)],
        ),
        ("我住在上海。", [(SPEAKER, "住在", "上海")]),
        ("I work for Acme.", [(SPEAKER, "works for", "Acme")]),
        (
            "Our budget is 3.5 million crowns.",
            [(f"{SPEAKER}'s budget", "is", "3.5 million crowns")],
        ),
        ("I am a nurse.", [(SPEAKER, "is", "a nurse")]),
        ("The deadline is Friday.", [("The deadline", "is", "Friday")]),
        ("Ann Lee no longer lives in Oslo.", [("Ann Lee", "lives in", "Oslo")]),
        ("I prefer short answers.", [(SPEAKER, "prefers", "short answers")]),
        ("Ina lives in Bergen. Who leads the team?", [("Ina", "lives in", "Bergen")]),
    ],
)
def test_a_stated_fact_is_found(text, facts):
    assert offered(text) == facts


NOT_OFFERED = [
    *("Does Ina work in Bergen?", "Ina works in Bergen, right?", "Where does Ina work"),
    *("Who leads the team", "List all trips.", "travel policy", "Find the plan Ina works on."),
    *("Ben said Ina works in Bergen.", "According to Ben, Ina works in Bergen."),
    *("“Ina works in Bergen.”", "'Ina works in Bergen.'", "> Ina works in Bergen."),
    *("If Ina works in Bergen.", "Suppose Ina works in Bergen.", "Ina might live in Bergen."),
    *("Ina may live in Bergen.", "Perhaps Ina works in Bergen.", "I think Ina works in Bergen."),
    *("For example, Ina works in Bergen.", "I heard Ina lives in Bergen."),
    *("Imagine Ina lives in Bergen.", "In the novel Ina lives in Bergen.", "Ina would like tea."),
    *("I am tired.", "The search is slow.", "I like this answer.", "I know that.", "It is late."),
    *("I have a question about travel.", "We have a problem with the export.", "Thank you!"),
    *("Please remind Ina.", "I want a report.", "I need the plan.", "I am looking for the plan."),
    *(
        "如果伊娜住在卑尔根。",
        "听说伊娜住在卑尔根。",
        "伊娜可能住在卑尔根。",
        "王明说：“我住在上海。”",
    ),
    *(
        "伊娜住在卑尔根吗？",
        "伊娜住在哪里",
        "请查找旅行政策。",
        "假设我住在上海。",
        "我觉得他住在上海。",
    ),
    "Ann lives in Oslo. " * 40,
]


@pytest.mark.parametrize("text", NOT_OFFERED)
def test_questions_guesses_quotations_and_passing_states_are_not_offered(text):
    assert offered(text) == []


HEDGES = ["if", "maybe", "I think", "Ben says", "suppose", "according to Ben,", "如果", "听说"]


@given(st.sampled_from(HEDGES), st.booleans())
def test_no_hedged_fact_is_asserted(hedge, asks):
    assert not is_asserted(f"{hedge} Ina works in Bergen{'?' if asks else '.'}")


@given(st.text(max_size=80))
def test_any_message_is_split(text):
    parts = split_message(text)
    assert isinstance(parts.statement + parts.question, str)
    if not parts.is_explicit and text.strip().endswith("?"):
        assert offered(text) == [] or parts.question


def test_an_offer_is_stored_only_when_it_is_accepted():
    conversation, memory = converse()
    offer = conversation.offer("Ina works in Bergen.")
    assert memory.facts() == []
    assert conversation.offers == (offer,)
    update = conversation.accept(offer.id)
    assert update.learned == offer.facts == tuple(memory.facts())
    with pytest.raises(NotFound):
        conversation.accept(offer.id)
    assert conversation.undo() == offer.facts[0]


def test_a_refused_offer_is_gone():
    conversation, memory = converse()
    offer = conversation.offer("Ina works in Bergen.")
    conversation.refuse(offer.id)
    with pytest.raises(NotFound, match="No offer is open"):
        conversation.accept()
    assert memory.facts() == []


def test_known_facts_are_not_offered_again():
    conversation, _ = converse()
    conversation.tell("Ina works in Bergen.")
    assert conversation.offer("Ina works in Bergen.") is None
    assert conversation.offer("Ina works in Oslo.").facts[0].object == "Oslo"


def test_an_offer_to_end_a_fact_ends_it():
    conversation, memory = converse()
    assert conversation.offer("Ina no longer works in Bergen.") is None, "nothing is known to end"
    conversation.tell("Ina works in Bergen since 2020.")
    offer = conversation.offer("Ina no longer works in Bergen.")
    assert [fact.valid_to for fact in offer.ended] == [NOW]
    assert memory.facts()[0].valid_to is None
    assert conversation.accept(offer.id).ended == offer.ended == tuple(memory.facts())


def test_the_same_statement_is_offered_once_and_the_oldest_offers_go():
    offers = OpenOffers()
    first, second = MemoryOffer("Ina works."), MemoryOffer("Ina works.")
    offers.add(first)
    offers.add(second)
    assert offers.open() == (second,)
    for number in range(MOST_OFFERS):
        offers.add(MemoryOffer(f"Number {number}."))
    assert len(offers.open()) == MOST_OFFERS
    with pytest.raises(NotFound, match=second.id):
        offers.take(second.id)


def test_a_model_reads_a_statement_for_an_offer_and_no_guess_reaches_it():
    line = "fact | Ina | runs | Bergen office | 2023 | -"
    model = ScriptedChatModel([line, "none"])
    conversation, memory = converse(model=model)
    text = "Since 2023 the Bergen office has been run by Ina."
    offer = conversation.offer(split_message(text).statement)
    assert [fact.text for fact in offer.facts] == ["Ina runs Bergen office (since 2023)"]
    assert memory.facts() == []
    assert split_message("Perhaps the Bergen office has been run by Ina.").statement == ""
    assert conversation.offer("That went rather well in the end.") is None
    assert len(model.requests) == 2
