"""Documents that ask the question themselves: what answers it is what follows."""

import pytest
from tests.faults.small_files import index_of

OTHER = (
    "# Boats\n\nThe Grey Heron is a ship of the harbour. A berth is a place for a boat. "
    "The office of the harbour master is in the east.\n"
)
MAIL = """From: Bo <bo@x.org>
To: Ann <ann@x.org>
Subject: Re: Questions
Date: Mon, 4 May 2026 10:00:00 +0000
Content-Type: text/plain

> How much is a berth?

Forty crowns a night.

> When does the office open?

At eight in the morning.
"""
FILES = {
    "headings.md": "## How much is a berth?\n\nForty crowns a night.\n\n"
    "## When does the office open?\n\nAt eight in the morning.\n",
    "bold.md": "**How much is a berth?**\nForty crowns a night.\n\n"
    "**When does the office open?**\nAt eight in the morning.\n",
    "letters.txt": "Q: How much is a berth?\nA: Forty crowns a night.\n\n"
    "Q: When does the office open?\nA: At eight in the morning.\n",
    "plain.txt": "How much is a berth?\nForty crowns a night.\n\n"
    "When does the office open?\nAt eight in the morning.\n",
    "reply.eml": MAIL,
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("How much is a berth?", "Forty"),
        ("When does the office open?", "At eight in the morning"),
    ],
)
def test_a_question_in_a_document_is_answered_by_what_follows_it(tmp_path, name, question, short):
    with index_of(tmp_path, {name: FILES[name], "boats.md": OTHER}) as kb:
        answer = kb.ask(question)
    assert answer.short.startswith(short)
    assert "A berth is a place" not in answer.text


def test_a_question_in_chinese_is_answered_by_what_follows_it(tmp_path):
    text = "问：泊位多少钱？\n答：每晚四十元。\n\n问：办公室几点开门？\n答：早上八点。\n"
    with index_of(tmp_path, {"问答.txt": text}) as kb:
        answer = kb.ask("办公室几点开门？")
    assert "早上八点" in answer.short


def test_questions_that_nothing_answers_are_found(tmp_path):
    text = "# Audit\n\nThe auditor asks:\n\n- Who checks the brakes?\n- Who signs the log?\n"
    with index_of(tmp_path, {"audit.md": text}) as kb:
        answer = kb.ask("What does the auditor ask of the log?")
    assert "Who signs the log?" in answer.text
