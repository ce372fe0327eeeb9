"""`chat` and `memory`: questions in a conversation, and stated facts."""

import io
import json
import os
import pty
import re
import select
import sys

import pytest
from tests.cli.running import knotwork

pytestmark = pytest.mark.slow


PATIENCE_S = 120.0
"""Only a program that hangs lets this pass."""

NOTES = {
    "Silver Lantern.txt": "Silver Lantern is a 1954 film directed by Marta Ilves.",
    "Marta Ilves.txt": "Marta Ilves was an Estonian artist. She grew up in Tartu.",
}


@pytest.fixture
def index(tmp_path, monkeypatch):
    path = tmp_path / "notes.knot"
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(path))
    monkeypatch.setenv("KNOTWORK_EMBEDDING_MODEL", "none")
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, "utf-8")
    assert knotwork("index", folder).code == 0
    return path


@pytest.fixture
def say(index, monkeypatch):
    def run(*lines, options=()):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return knotwork("chat", *options)

    return run


def test_a_question_is_understood_with_the_one_before(say):
    outcome = say("Who directed Silver Lantern?", "", "Where did she grow up?")
    assert outcome.code == 0, outcome.err
    assert "She grew up in Tartu." in outcome.out
    assert "Understood as: Where did Marta Ilves grow up?" in outcome.err


def test_each_line_is_an_object_of_json(say):
    lines = [
        *("Who directed Silver Lantern?", "Where did she grow up?"),
        *("Remember that Ann Lee lives in Oslo.", "Ben Cole lives in Riga."),
    ]
    outcome = say(*lines, "/accept", options=["--json"])
    first, second, told, offered, accepted = map(json.loads, outcome.out.splitlines())
    assert [each["message"] for each in (first, second, told, offered)] == lines
    assert [fact["object"] for fact in offered["offer"]["facts"]] == ["Riga"]
    assert accepted["accepted"] == offered["offer"]["id"]
    assert [fact["object"] for fact in accepted["learned"]] == ["Riga"]
    assert second["understood"] == "Where did Marta Ilves grow up?"
    assert (second["answered"], second["remembered"]) == (True, [])
    (fact,) = told["learned"]
    assert (fact["subject"], fact["relation"], fact["object"]) == ("Ann Lee", "lives in", "Oslo")
    assert (fact["until"], told["ended"], told["note"], told["tokens"]) == (None, [], "", 0)


def test_facts_that_do_not_answer_are_shown_apart_from_the_sources(say):
    outcome = say("Marta Ilves knows Olev Raud.", "Who was Marta Ilves?", options=["--yes"])
    assert "Remembered: Marta Ilves knows Olev Raud" in outcome.out
    sources, others = outcome.out.split("Other remembered facts")
    assert "Olev Raud" in others
    assert "Olev Raud" not in sources.split("Sources")[1]


def test_facts_that_answer_come_first_and_are_sources(say):
    lines = ["Remember that Marta Ilves lives in Narva since 2020.", "Where does Marta Ilves live?"]
    outcome = say(*lines)
    answer, sources = outcome.out.split("Sources")
    assert "Narva — Marta Ilves lives in Narva (since 2020). [M1]" in answer
    assert (
        "[M1] remembered, conversation\n    “Marta Ilves lives in Narva (since 2020).”" in sources
    )
    assert "Other remembered facts" not in outcome.out
    _, asked = map(json.loads, say(*lines, options=["--json"]).out.splitlines())
    (cited,) = asked["memory"]
    assert (cited["number"], cited["object"], cited["since"]) == (1, "Narva", "2020")
    assert (cited["until"], cited["text"]) == (None, "Marta Ilves lives in Narva (since 2020).")
    assert asked["answered"]
    assert [fact["object"] for fact in asked["remembered"]] == ["Narva"]


def test_commands_show_take_back_and_forget(say):
    outcome = say(
        *("Remember that Ann Lee lives in Oslo.", "Ben Cole lives in Riga.", "/accept"),
        *("/undo", "/facts"),
        *("/forget Ann Lee", "/facts", "/new", "/help", "/quit", "never read"),
    )
    assert outcome.code == 0, outcome.err
    assert "Forgot: Ben Cole lives in Riga" in outcome.err
    assert outcome.out.count("Ann Lee lives in Oslo") == 2
    assert "Deleted 1 fact about" in outcome.err
    assert "No facts are remembered." in outcome.err
    assert "/forget NAME" in outcome.out


def test_mistakes_are_reported(say, tmp_path, monkeypatch):
    unknown = say("/fact")
    assert unknown.code == 2
    assert "`/facts`" in unknown.err
    assert "`clever`" in say("Who?", options=["--retriever", "clever"]).err
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(tmp_path / "none.knot"))
    assert say("Who?").code != 0


def test_an_end_of_input_is_the_end(say):
    assert say().code == 0


def test_remembered_facts_are_listed_at_a_time_and_deleted(index):
    told = knotwork("memory", "tell", "Ann Lee lives in Oslo since 2020.", "--json").json
    assert told["learned"][0]["since"] == "2020"
    moved = knotwork("memory", "tell", "Ann Lee moved to Turku since 2023.")
    assert "Remembered: Ann Lee lives in Turku" in moved.out
    assert "No longer valid: Ann Lee lives in Oslo" in moved.out
    listed = knotwork("memory", "list").out
    assert listed.split()[:6] == ["subject", "relation", "object", "since", "until", "from"]
    assert "Oslo" in listed
    then = knotwork("memory", "list", "ann lee", "--at", "2021", "--json").json["facts"]
    assert [fact["object"] for fact in then] == ["Oslo"]
    assert "`soon` is not a date" in knotwork("memory", "list", "--at", "soon").err
    assert "Nothing to remember" in knotwork("memory", "tell", "What?").err
    assert knotwork("memory", "forget", "Oslo", "--json").json == {"name": "Oslo", "deleted": 1}
    assert "Deleted 1 fact about Turku" in knotwork("memory", "forget", "Turku").err
    assert knotwork("memory", "list", "--json").json == {"facts": []}


def test_a_person_is_asked_line_by_line_and_may_go_wrong(index, start_process):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "knotwork", "chat", "--color", "never"]
    environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm"}
    running = start_process(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    shown = read_until(ours, "", "> ")
    for line, expected in [
        ("/nothing", "Valid:"),
        ("Who directed Silver Lantern?", "model tokens"),
        ("Where did she grow up?", "model tokens"),
        ("Ann Lee lives in Oslo.", "[y/N]"),
        ("y", "Remembered: Ann Lee lives in Oslo"),
        ("Ben Cole lives in Riga.", "[y/N]"),
        ("", "Not remembered."),
    ]:
        os.write(ours, f"{line}\n".encode())
        shown += read_until(ours, expected, "" if expected == "[y/N]" else "> ")
    os.write(ours, b"\x04")
    assert running.wait(timeout=60) == 0
    os.close(ours)
    assert "Tartu" in shown


def read_until(terminal, *expected):
    """Return what a terminal shows up to these texts, one behind the other."""
    shown = ""
    while not re.search(".*".join(map(re.escape, expected)), shown, re.DOTALL):
        assert select.select([terminal], [], [], PATIENCE_S)[0], f"only {shown!r} was shown"
        shown += os.read(terminal, 4_096).decode(errors="replace")
    return shown


def test_facts_that_cannot_be_saved_are_not_reported_as_remembered(index, say):
    index.with_name(f"{index.name}.memory").mkdir()
    outcome = say("Remember that Ann Lee lives in Oslo.")
    assert "Remembered until this conversation ends: Ann Lee lives in Oslo" in outcome.out
    assert "Remembered:" not in outcome.out
    assert "is a folder, not a file" in outcome.err
    assert "Use another file" in outcome.err
    assert (
        json.loads(say("Remember that Ann Lee lives in Oslo.", options=["--json"]).out)["saved"]
        is False
    )
    told = knotwork("memory", "tell", "Ann Lee lives in Oslo.")
    assert told.code != 0
    assert told.out == ""
    assert "is a folder, not a file" in told.err


def test_without_a_terminal_facts_are_offered_and_stored_only_if_accepted(say, index):
    assert "Remember “Ann Lee lives in Oslo" in say("Ann Lee lives in Oslo.").out
    assert "--yes" in say("Ann Lee lives in Oslo.").err
    assert "Not remembered" in say("Ann Lee lives in Oslo.", "/refuse").err
    assert say("/accept").code != 0
    assert "No facts are remembered." in say("/facts").err
    assert "Remembered: Ann Lee" in say("Ann Lee lives in Oslo.", "/accept").out
    assert "Remembered: Ben Cole" in say("Ben Cole lives in Riga.", options=["--yes"]).out
    both = say("Cy Dunn lives in Turku. Who directed Silver Lantern?", options=["--yes"])
    assert "Marta Ilves" in both.out
    assert "Remembered: Cy Dunn" in both.out


def test_the_answers_of_a_conversation_are_saved(say, tmp_path):
    page, data = tmp_path / "answers.md", tmp_path / "answers.json"
    again = f"/save {page}"
    result = say("Who directed Silver Lantern?", f"/save {page}", f"/save {data}", again)
    assert result.code == 2
    assert "File exists" in result.err
    text = page.read_text()
    assert text.startswith("## Who directed Silver Lantern?\n")
    assert "- [1] notes/Silver Lantern.txt" in text
    assert [item["message"] for item in json.loads(data.read_text())["messages"]] == [
        "Who directed Silver Lantern?"
    ]


def test_saving_needs_a_file(say):
    assert "/save FILE" in say("/save").err
