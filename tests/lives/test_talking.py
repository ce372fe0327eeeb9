"""Conversations follow what was said and remember facts; agents search step by step."""

import json

import pytest

import knotwork
from knotwork.agents import Chat, ask_agent
from knotwork.testing import ScriptedChatModel

pytestmark = pytest.mark.slow


@pytest.fixture
def base(own_index):
    with knotwork.open(own_index, read_only=True) as opened:
        yield opened


def test_a_follow_up_is_about_what_was_asked_before(base):
    with Chat(base) as chat:
        assert "Oriane Keld" in chat.say("Who designed the Kestrel probe?").answer.text
        reply = chat.say("Where was she born?")
        assert reply.evidence.query.text == "Where was Oriane Keld born?"
        assert "Tarnby" in reply.answer.text
        chat.clear()
        assert chat.say("Where was she born?").evidence.query.text == "Where was she born?"


def test_a_chinese_follow_up_is_understood(base):
    with Chat(base) as chat:
        chat.say("温青岚出生在哪里？")
        reply = chat.say("她收集什么？")
        assert "温青岚" in reply.evidence.query.text
        assert "海图" in reply.answer.text


def test_facts_are_remembered_with_their_times_and_answer_first(base):
    with Chat(base, now=lambda: "2024-05-01") as chat:
        told = chat.say("Remember that Ann Lee lives in Oslo since 2021.").told
        assert [fact.text for fact in told.learned] == ["Ann Lee lives in Oslo (since 2021)"]
        reply = chat.say("Where does Ann Lee live?")
        assert "Oslo" in reply.answer.text
        assert "[M1]" in reply.answer.text
        assert reply.answer.memory[0].number == 1
        assert not base.ask("Where does Ann Lee live?").answered
        offer = chat.say("Ann Lee moved to Turku.").offer
        chat.accept(offer.id)
        assert [fact.text for fact in chat.facts()] == [
            "Ann Lee lives in Oslo (since 2021 until 2024-05-01)",
            "Ann Lee lives in Turku (since 2024-05-01)",
        ]
        assert "Oslo" in chat.say("Where did Ann Lee live in 2022?").answer.text
    with Chat(base) as later:
        assert len(later.facts()) == 2
        assert later.forget("Ann Lee") == 2
        assert later.facts() == []


def test_an_offer_may_be_refused_and_a_fact_undone(base):
    with Chat(base, now=lambda: "2024-05-01") as chat:
        offer = chat.say("My colleague Ina works in Bergen.").offer
        assert chat.refuse(offer.id).id == offer.id
        assert chat.facts() == []
        chat.tell("Ben Cole leads the workshop.")
        assert chat.undo().object == "the workshop"
        assert chat.facts() == []


def test_chat_and_memory_on_the_command_line_are_objects(own_cli):
    lines = (
        "Who designed the Kestrel probe?\nWhere was she born?\nBen Cole lives in Riga.\n/accept\n"
    )
    outcome = own_cli("chat", "--json", stdin=lines)
    assert outcome.code == 0, outcome.err
    first, second, stated, accepted = map(json.loads, outcome.out.splitlines())
    assert first["understood"] == "Who designed the Kestrel probe?"
    assert second["understood"] == "Where was Oriane Keld born?"
    assert "Tarnby" in second["answer"]
    assert stated["offer"]["facts"][0]["object"] == "Riga"
    assert accepted["learned"][0]["subject"] == "Ben Cole"
    told = own_cli("memory", "tell", "Ann Lee lives in Oslo since 2021.", "--json").json
    assert told["saved"]
    listed = own_cli("memory", "list", "--json").json["facts"]
    assert {fact["subject"] for fact in listed} == {"Ann Lee", "Ben Cole"}
    assert own_cli("memory", "list", "Ann Lee", "--json").json["facts"][0]["since"] == "2021"
    gone = own_cli("memory", "forget", "Ann Lee", "--json").json
    assert gone == {"name": "Ann Lee", "deleted": 1}


@pytest.mark.parametrize("kind", ["iterative", "corrective", "reasoning", "revising"])
def test_each_agent_answers_step_by_step(kb, kind):
    answer, evidence = ask_agent(kb, "Where was Oriane Keld born?", kind=kind, steps=3)
    assert "Tarnby" in answer.text
    assert answer.citations
    assert evidence.trace[0].startswith("1. ")
    assert evidence.trace[-1].startswith("Took ")
    if kind == "reasoning":
        assert evidence.paths[0].text == "Oriane Keld -born in→ Tarnby"


def test_a_corrective_agent_refuses_what_it_does_not_find(kb):
    answer, evidence = ask_agent(kb, "Who approves travel to Mars?", kind="corrective")
    assert not answer.answered
    assert sum(step[:1].isdigit() for step in "\n".join(evidence.trace).splitlines()) > 1


def test_an_agent_reports_its_steps_as_it_goes(kb):
    run = ask_agent.run(kb, "Where was Oriane Keld born?", steps=2)
    assert all(step.value.question for step in run)
    answer, _ = run.result()
    assert "Tarnby" in answer.text


@pytest.mark.parametrize("kind", ["iterative", "reasoning", "revising"])
def test_an_agent_plans_with_a_model_within_its_tokens(with_model, own_index, kind):
    with knotwork.open(own_index) as base:
        answer, evidence = ask_agent(
            base, "Where was the designer of the Kestrel probe born?", kind=kind, tokens=6000
        )
    assert evidence.hits
    assert answer.citations or not answer.answered
    assert answer.model
    assert with_model.traffic.totals.calls == answer.usage.model_calls
    planning = [stage for stage in answer.usage.stages if stage.stage != "answer"]
    assert planning
    assert sum(stage.input_tokens + stage.output_tokens for stage in planning) <= 6500


def test_an_agent_that_abstains_asks_no_model_for_an_answer(with_model, own_index):
    with knotwork.open(own_index) as base:
        answer, _ = ask_agent(
            base, "How many zebras does a quantum volcano sell?", kind="corrective"
        )
    assert not answer.answered
    assert with_model.traffic.totals.calls == 0


def test_an_agent_is_answered_by_the_model_that_a_program_gives(own_index):
    model = ScriptedChatModel("Oriane Keld was born in Tarnby. [1]")
    with knotwork.open(own_index, chat_model=model) as base:
        answer, _ = ask_agent(base, "Where was Oriane Keld born?", kind="corrective")
    assert (answer.model, answer.text) == (model.name, "Oriane Keld was born in Tarnby. [1]")
