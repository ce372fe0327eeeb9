"""Facts are shown as sentences that call the person who stated them "you"."""

import pytest

from knotwork._extensions.agents.fact_memory import RememberedFact
from knotwork._extensions.agents.fact_rules import read_facts
from knotwork._synthesis.memory_evidence import SPEAKER

NOW = "2026-11-27T10:30"


@pytest.mark.parametrize(
    ("fact", "sentence"),
    [
        (("Ina Berg", "colleague of", SPEAKER), "Ina Berg is your colleague"),
        (("Ina Berg", "is a colleague of", SPEAKER), "Ina Berg is your colleague"),
        (("Ina Berg", "was boss of", SPEAKER), "Ina Berg was your boss"),
        (("Ina Berg", "proud of", SPEAKER), "Ina Berg is proud of you"),
        (("Ina Berg", "in charge of", SPEAKER), "Ina Berg is in charge of you"),
        (("Ina Berg", "thought of", SPEAKER), "Ina Berg thought of you"),
        (("Ina Berg", "dreams of", SPEAKER), "Ina Berg dreams of you"),
        (("Ina Berg", "reports to", SPEAKER), "Ina Berg reports to you"),
        (("Ina Berg", "colleague of", "Ben"), "Ina Berg is a colleague of Ben"),
        (("Oslo", "capital of", "Norway"), "Oslo is capital of Norway"),
        ((SPEAKER, "employee of", "Acme"), "You are an employee of Acme"),
        ((SPEAKER, "works for", "Acme"), "You work for Acme"),
        ((SPEAKER, "studies at", "Bergen"), "You study at Bergen"),
        ((SPEAKER, "lies in", "bed"), "You lie in bed"),
        ((SPEAKER, "teaches", "law"), "You teach law"),
        ((SPEAKER, "discusses", "law"), "You discuss law"),
        ((SPEAKER, "has", "two sons"), "You have two sons"),
        ((SPEAKER, "was born in", "Oslo"), "You were born in Oslo"),
        ((SPEAKER, "moved to", "Oslo"), "You moved to Oslo"),
        ((f"{SPEAKER}'s budget", "is", "3 crowns"), "Your budget is 3 crowns"),
        (("Ben", "is", "my manager"), "Ben is your manager"),
        (("the deadline", "is", "Friday"), "The deadline is Friday"),
        (("iPhone", "costs", "800 euro"), "iPhone costs 800 euro"),
        (("李安", "同事", SPEAKER), "李安是你的同事"),
        ((SPEAKER, "住在", "上海"), "你住在上海"),
        (("王明", "认识", "我"), "王明认识你"),
        (("Ann Lee", "住在", "杭州"), "Ann Lee 住在杭州"),
    ],
)
def test_a_fact_reads_as_a_sentence(fact, sentence):
    assert RememberedFact(*fact, "").sentence == sentence


@pytest.mark.parametrize(
    ("statement", "sentences"),
    [
        ("My colleague Ina works in Bergen.", ["Ina works in Bergen", "Ina is your colleague"]),
        ("I am a nurse.", ["You are a nurse"]),
        ("We use the Kestrel engine.", ["You use the Kestrel engine"]),
        ("I have an old dog.", ["You have an old dog"]),
        ("Ann Lee is the head of sales.", ["Ann Lee is the head of sales"]),
        ("我的同事伊娜在卑尔根工作。", ["伊娜工作于卑尔根", "伊娜是你的同事"]),
    ],
)
def test_spoken_words_are_found_in_their_sentence(statement, sentences):
    facts = [RememberedFact(f.subject, f.relation, f.object, "") for f in read_facts(statement)]
    assert [fact.sentence for fact in facts] == sentences


@pytest.mark.parametrize(
    ("relation", "since", "until", "text"),
    [
        ("leads", "2021-05", None, "Ann leads Kestrel (since 2021-05)"),
        ("leads", NOW, None, "Ann leads Kestrel (as of 2026-11-27)"),
        ("leads", "", "2023", "Ann leads Kestrel (until 2023)"),
        ("leads", "", None, "Ann leads Kestrel"),
        ("领导", "2021", "2023", "Ann 领导 Kestrel（自2021起，至2023）"),
        ("领导", NOW, None, "Ann 领导 Kestrel（截至2026-11-27）"),
    ],
)
def test_a_sentence_has_its_times_and_a_citation_ends_as_a_sentence(relation, since, until, text):
    fact = RememberedFact("Ann", relation, "Kestrel", since, until)
    stop = "。" if relation == "领导" else "."
    assert (fact.text, fact.cite(1).text) == (text, text + stop)
