"""Conversations search the memory first: facts that answer come before the documents."""

import pytest

import knotwork
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork.agents import Chat
from knotwork.records import Document

NOW = "2024-01-01T10:00"
NOTES = {
    "Silver Lantern": "Silver Lantern is a 1954 film directed by Marta Ilves.",
    "Marta Ilves": "Marta Ilves was an Estonian artist. Marta Ilves lived in Rome.",
}


def open_index(**options):
    opened = knotwork.open("memory:", embedding_model="none", **options)
    opened.index_documents([Document(f"{title}.txt", text, title) for title, text in NOTES.items()])
    return opened


@pytest.fixture
def chat():
    with open_index() as opened, Chat(opened, now=lambda: NOW) as chat:
        yield chat


def test_a_fact_answers_what_no_document_says(chat):
    assert not chat.say("Where does Ann Lee live?").answer.answered
    chat.say("Remember that Ann Lee lives in Oslo since May 2020.")
    reply = chat.say("Where does Ann Lee live?")
    assert reply.answer.text == "Ann Lee lives in Oslo (since 2020-05). [M1]"
    assert (reply.answer.answered, reply.answer.citations) == (True, ())
    (cited,) = reply.answer.memory
    assert (cited.since, cited.source) == ("2020-05", "conversation")


def test_a_follow_up_searches_the_memory_too(chat):
    chat.say("Remember that Ann Lee leads the Kestrel team. Ann Lee lives in Oslo.")
    assert chat.say("Who leads the Kestrel team?").answer.short == "Ann Lee"
    reply = chat.say("Where does she live?")
    assert reply.evidence.query.text == "Where does Ann Lee live?"
    assert reply.answer.short == "Oslo"


def test_a_fact_comes_before_documents_that_say_otherwise(chat):
    chat.say("Remember that Marta Ilves lives in Narva.")
    answer = chat.say("Where did Marta Ilves live?").answer
    assert answer.text.startswith("Marta Ilves lives in Narva (as of 2024-01-01). [M1] ")
    assert "Marta Ilves lived in Rome. [1]" in answer.text
    assert "Rome" in answer.citations[0].quote


def test_a_fact_of_another_time_is_no_answer(chat):
    chat.say("Remember that Ann Lee lives in Oslo since 2020.")
    chat.say("Remember that Ann Lee lives in Turku since 2023.")
    assert chat.say("Where did Ann Lee live in 2021?").answer.short == "Oslo"
    assert chat.say("Where does Ann Lee live?").answer.short == "Turku"
    assert not chat.say("Where did Ann Lee live in 2019?").answer.answered


def test_a_name_that_is_described_is_looked_up(chat):
    chat.say("Remember that my manager is Ben Cole. Ben Cole lives in Riga. I live in Oslo.")
    answer = chat.say("Where does my manager live?").answer
    assert [fact.object for fact in answer.memory] == ["Ben Cole", "Riga"]
    assert answer.short == "Riga"
    chat.say("Remember that my colleague Ina works in Bergen.")
    assert chat.say("Where does my colleague work?").answer.short == "Bergen"


def test_an_offer_is_no_evidence_before_it_is_accepted(chat):
    chat.say("Ann Lee lives in Oslo.")
    assert not chat.say("Where does Ann Lee live?").answer.answered
    chat.accept()
    assert chat.say("Where does Ann Lee live?").answer.answered


def test_other_questions_stay_with_the_documents(chat):
    chat.say("Remember that Marta Ilves knows Olev Raud.")
    reply = chat.say("Who directed Silver Lantern?")
    assert reply.answer.memory == ()
    assert reply.answer.citations
    assert "Olev" not in reply.answer.text


def test_asking_alone_never_reads_the_memory():
    with open_index() as opened:
        with Chat(opened, now=lambda: NOW) as chat:
            chat.say("Remember that Ann Lee lives in Oslo.")
        assert not opened.ask("Where does Ann Lee live?").answered


def test_a_fact_that_a_model_leaves_out_is_added_to_its_answer():
    model = ScriptedChatModel(lambda _request: "Marta Ilves lived in Rome [1].")
    knowledge = open_index()
    base = knotwork.KnowledgeBase(knowledge.store, knowledge.settings, chat_model=model)
    with knowledge, Chat(base, now=lambda: NOW) as chat:
        chat.say("Remember that Marta Ilves lives in Narva.")
        run = chat.say.run("Where did Marta Ilves live?")
        steps = list(run)
    answer = run.result().answer
    assert answer.text == (
        "Marta Ilves lived in Rome [1]. Marta Ilves lives in Narva (as of 2024-01-01). [M1]"
    )
    assert "".join(step.note for step in steps if step.stage == "text") == answer.text
    assert [fact.object for fact in answer.memory] == ["Narva"]
    assert answer.model == model.name


@pytest.mark.parametrize("mode", ["basic", "local", "hybrid", "global"])
def test_a_model_answers_from_the_memory_in_every_mode(mode):
    model = ScriptedChatModel(lambda _request: "Ann Lee lives in Oslo [M1].")
    knowledge = open_index()
    base = knotwork.KnowledgeBase(knowledge.store, knowledge.settings, chat_model=model)
    with knowledge, Chat(base, now=lambda: NOW, mode=mode) as chat:
        chat.say("Remember that Ann Lee lives in Oslo.")
        answer = chat.say("Where does Ann Lee live, says Marta Ilves?").answer
    assert answer.text == "Ann Lee lives in Oslo [M1]."
    assert [fact.object for fact in answer.memory] == ["Oslo"]
    assert answer.model == model.name
    assert any("<memory>" in m.content for r in model.requests for m in r.messages)
