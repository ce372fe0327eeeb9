"""A chat answers from documents, follows the conversation, and remembers stated facts."""

from contextlib import closing

import apsw
import pytest
from tests.stores.raw_files import opened

import knotwork
from knotwork import _sqlite_file
from knotwork._companions import companion_path
from knotwork._extensions.agents.chat import Chat
from knotwork._extensions.agents.fact_memory import FactMemory, RememberedFact
from knotwork._sqlite_file import MEMORY_SUFFIX
from knotwork.errors import StoreError, StoreReadOnly
from knotwork.records import Document
from knotwork.testing.model_server import Fault, FaultPlan, ModelTestServer

NOTES = {
    "Silver Lantern": "Silver Lantern is a 1954 film directed by Marta Ilves.",
    "Marta Ilves": "Marta Ilves was an Estonian artist. She grew up in Tartu.",
}
DAY = "2024-01-01"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "notes.knot"
    with knotwork.open(path, embedding_model="none") as opened:
        opened.index_documents(
            [Document(f"{title}.txt", text, title) for title, text in NOTES.items()]
        )
    return path


@pytest.fixture
def chat(path):
    opened = knotwork.open(path, read_only=True, embedding_model="none")
    with opened, Chat(opened, now=lambda: DAY) as chat:
        yield chat


def test_a_question_leans_on_the_answer_before_it(chat):
    assert "Marta Ilves" in chat.say("Who directed Silver Lantern?").answer.text
    reply = chat.say("Where did she grow up?")
    assert reply.evidence.query.text == "Where did Marta Ilves grow up?"
    assert "Tartu" in reply.answer.text
    chat.clear()
    assert chat.say("Where did she grow up?").evidence.query.text == "Where did she grow up?"


def test_stated_facts_appear_beside_answers_and_outlast_the_chat(path, chat):
    told = chat.say("Remember: Marta Ilves lived in Narva. Marta Ilves knows Olev Raud.").told
    assert [fact.text for fact in told.learned] == [f"Marta Ilves knows Olev Raud (since {DAY})"]
    reply = chat.say("Who was Marta Ilves?")
    assert [fact.object for fact in reply.remembered] == ["Olev Raud"]
    assert "Olev Raud" not in reply.answer.text
    assert not any("Olev" in citation.quote for citation in reply.answer.citations)
    with knotwork.open(path, embedding_model="none") as opened, Chat(opened) as later:
        assert [fact.object for fact in later.facts()] == ["Olev Raud"]
        assert later.forget("Olev Raud") == 1
    assert chat.facts() == []


def test_pronouns_refer_to_facts_just_stated(chat):
    chat.say("Ann Lee leads the team.")
    chat.accept()
    assert chat.say("Where does she live?").evidence.query.text == "Where does Ann Lee live?"
    chat.say("Remember that Ben Cole leads the workshop.")
    follows = chat.say("And Marta Ilves?").evidence.query.text
    assert follows == "Where does Marta Ilves live?", "a statement asks nothing to go on from"
    assert chat.undo().subject == "Ben Cole"
    assert chat.undo().subject == "Ann Lee"
    assert chat.facts() == []


def test_steps_come_before_the_reply(chat):
    run = chat.say.run("Who directed Silver Lantern?")
    assert [step.stage for step in run] == ["found"]
    assert run.result().answer.answered


def test_without_a_place_to_write_facts_last_as_long_as_the_chat(path):
    opened = knotwork.open(path, read_only=True, embedding_model="none")
    with opened, Chat(opened, memory=path / "nowhere") as chat:
        assert "lost when this conversation ends" in chat.notes[0]
        chat.say("Remember that Ann Lee lives in Oslo.")
        assert len(chat.facts()) == 1


def test_the_cost_of_reading_a_statement_is_recorded(path):
    with ModelTestServer() as server:
        settings = {"llm_model": "openai:knotwork-test", "llm_base_url": server.url}
        with (
            knotwork.open(path, embedding_model="none", **settings) as opened,
            Chat(opened, now=lambda: DAY) as chat,
        ):
            by_rules = chat.say("Ann Lee lives in Oslo.")
            by_model = chat.say("Marta Ilves taught Olev Raud to paint.")
            spent = server.traffic.totals
    assert (by_rules.tokens, by_rules.offer.facts[0].object) == (0, "Oslo")
    assert [fact.subject for fact in by_model.offer.facts] == ["Marta Ilves"]
    assert by_model.tokens == spent.input_tokens + spent.output_tokens > 0


@pytest.mark.parametrize("fails", [False, True])
def test_a_model_takes_part_and_may_fail(path, fails):
    faults = FaultPlan({Fault.GARBAGE: 1.0} if fails else {})
    with ModelTestServer(faults=faults) as server:
        settings = {"llm_model": "openai:knotwork-test", "llm_base_url": server.url}
        with (
            knotwork.open(path, embedding_model="none", **settings) as opened,
            Chat(opened, now=lambda: DAY) as chat,
        ):
            chat.say("Who directed Silver Lantern?")
            reply = chat.say("When was it made?")
    assert "1954" in reply.answer.text
    assert reply.evidence.query.text == "When was Silver Lantern made?"
    assert any("by rules" in note for note in reply.answer.notes) is fails


@pytest.fixture
def read_only_memory(path, monkeypatch):
    """A file of facts with one fact, which SQLite opens as it does on a read-only disk."""
    with closing(FactMemory(companion_path(str(path), MEMORY_SUFFIX))) as memory:
        memory.learn(RememberedFact("Ann Lee", "lives in", "Oslo", DAY))
    writable = _sqlite_file.open_connection

    def open_file(name, *, flags):
        is_fixed = name.endswith(".memory")
        return writable(name, flags=apsw.SQLITE_OPEN_READONLY if is_fixed else flags)

    monkeypatch.setattr(_sqlite_file, "open_connection", open_file)
    return companion_path(str(path), MEMORY_SUFFIX)


def test_on_a_read_only_disk_a_chat_says_that_facts_are_not_saved(path, read_only_memory):
    opened = knotwork.open(path, read_only=True, embedding_model="none")
    with opened, Chat(opened, now=lambda: DAY) as chat:
        assert isinstance(chat.unsaved, StoreReadOnly)
        assert read_only_memory in chat.notes[0]
        assert "permissions" in chat.notes[0]
        told = chat.say("Remember that Ben Cole leads the team.").told
        assert not told.saved
        assert read_only_memory in told.note
        assert [fact.subject for fact in told.learned] == ["Ben Cole"]
        assert [fact.subject for fact in chat.facts()] == ["Ann Lee", "Ben Cole"]
        with pytest.raises(StoreReadOnly):
            chat.forget("Ann Lee")
    with closing(FactMemory(read_only_memory)) as memory:
        assert [fact.subject for fact in memory.facts()] == ["Ann Lee"]
        with pytest.raises(StoreReadOnly, match="not writable"):
            memory.learn(RememberedFact("Ben Cole", "leads", "the team", DAY))


def test_a_failed_write_remembers_nothing_and_is_reported(path, chat):
    chat.say("Remember that Ann Lee lives in Oslo.")
    with closing(opened(companion_path(str(path), MEMORY_SUFFIX))) as other:
        other.execute(
            "CREATE TRIGGER full BEFORE INSERT ON fact WHEN NEW.object = 'Cy Dunn'"
            " BEGIN SELECT RAISE(ABORT, 'no more'); END"
        )
    with pytest.raises(StoreError, match="no more"):
        chat.say("Remember: Ann Lee knows Ben Cole. Ann Lee knows Cy Dunn.")
    chat.say("Ann Lee knows Ben Cole. Ann Lee knows Cy Dunn.")
    with pytest.raises(StoreError, match="no more"):
        chat.accept()
    assert len(chat.offers) == 1, "an offer that could not be stored stays open"
    assert [fact.object for fact in chat.facts()] == ["Oslo"]
    assert chat.undo().object == "Oslo"
