"""Test which pieces of documents answer, and how they are written."""

from __future__ import annotations

import pytest
from tests.synthesis.asked import check_citations

import knotwork
from knotwork._synthesis.extractive_answers import LONGEST_PROSE
from knotwork.records import Document

MANUAL = """\
# Pump manual

## Overview

The pump moves brine from the tank to the filter. It was built by Nordmark in 2014.

## Stages of a wash

A wash runs in four stages:

1. Rinse: cold water removes the salt.
2. Soak: warm water loosens the scale.
3. Drain: the valve opens for two minutes.
4. Dry: air is blown through the pipes.

## Spare parts

Order these parts from the depot:

| Part | Number | Price |
| --- | --- | --- |
| Gasket | G-17 | 4 crowns |
| Impeller | I-3 | 61 crowns |
| Fuse | F-9 | 2 crowns |

## Restarting the controller

The controller restarts with this command:

```sh
pumpctl restart --wait
pumpctl status
```

## Options

- flow: litres that pass in a minute, 40 by default
- guard: seconds until the guard stops the motor
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pieces")
    (folder / "manual.md").write_text(MANUAL, encoding="utf-8")
    options = {"embedding_model": "none", "answer_abstain_below": 0.0}
    with knotwork.open(folder / "index.knot", **options) as kb:
        kb.index(folder / "manual.md")
        yield kb


def first_piece(base, question):
    answer = base.ask(question)
    check_citations(base, answer)
    assert answer.text == "\n\n".join(piece.markdown for piece in answer.pieces)
    return answer.pieces[0]


def test_a_list_is_printed_whole_with_its_lead_in(base):
    piece = first_piece(base, "What are the stages of a wash?")
    assert piece.kind == "list"
    assert piece.markdown.startswith("A wash runs in four stages:\n\n1. Rinse: cold water")
    assert piece.markdown.endswith("4. Dry: air is blown through the pipes. [1]")


def test_code_is_printed_in_its_fence(base):
    piece = first_piece(base, "Show the command that restarts the controller")
    assert piece.kind == "code"
    assert "```sh\npumpctl restart --wait\npumpctl status\n```" in piece.markdown


def test_a_row_is_printed_with_the_header_of_its_table(base):
    piece = first_piece(base, "What does the impeller cost?")
    assert piece.kind in {"row", "table"}
    lines = piece.markdown.split("\n")
    assert lines.index("| Part | Number | Price |") < lines.index("| Impeller | I-3 | 61 crowns |")


def test_an_entry_is_printed_with_its_term(base):
    piece = first_piece(base, "What does guard mean?")
    assert "guard: seconds until the guard stops the motor" in piece.markdown


def test_a_fact_is_printed_in_its_paragraph(base):
    piece = first_piece(base, "Who built the pump?")
    assert piece.kind == "paragraph"
    assert piece.markdown == (
        "The pump moves brine from the tank to the filter. It was built by Nordmark in 2014. [1]"
    )


def test_of_a_long_paragraph_the_part_with_the_answer_is_printed(tmp_path):
    shed = "The shed holds tools, hoses and spare belts for the summer season. "
    text = f"# Pump\n\n{shed * 8}The valve was cast in Lund. {shed}"
    (tmp_path / "pump.md").write_text(text, encoding="utf-8")
    with knotwork.open(tmp_path / "index.knot", embedding_model="none") as base:
        base.index(tmp_path / "pump.md")
        piece, *_ = base.ask("Where was the valve cast?").pieces
        assert "The valve was cast in Lund." in piece.markdown
        assert len(piece.markdown) <= LONGEST_PROSE + len(" [1]")
        assert piece.markdown.startswith("The shed holds tools")


PUMPS = """\
# Two pumps

## Choice

The Orlund is bolted to the floor of the hall, and each spring the Vestby is carried outside.

The Orlund is a pump for wells.

The Vestby is a pump for tanks.

## Storage

Before winter the pumps are emptied and greased with what the depot sends. For example:

- valves: the white grease
- belts: the talc in the green tin
"""


@pytest.fixture
def pumps(tmp_path):
    (tmp_path / "pumps.md").write_text(PUMPS, encoding="utf-8")
    with knotwork.open(tmp_path / "index.knot", embedding_model="none") as base:
        base.index(tmp_path / "pumps.md")
        yield base


def test_two_things_are_compared_by_a_piece_that_names_both(pumps):
    piece = first_piece(pumps, "What is the difference between the Orlund and the Vestby?")
    assert piece.markdown.startswith("The Orlund is bolted to the floor of the hall, and")


def test_an_announced_list_is_printed_and_cited_with_its_paragraph(pumps):
    question = "When are the pumps emptied and greased?"
    piece = first_piece(pumps, question)
    assert piece.kind == "paragraph"
    assert piece.markdown.endswith(
        "- valves: the white grease\n- belts: the talc in the green tin [1]"
    )
    assert pumps.ask(question).citations[0].quote.endswith("the talc in the green tin")


@pytest.mark.parametrize(
    ("text", "question", "shown"),
    [
        (
            (
                "A normal day at the depot runs like this:\n\nAt eight the gate opens. At nine the "
                "vans leave.\n\nThe depot closes at five."
            ),
            "What does a normal day at the depot look like?",
            (
                "A normal day at the depot runs like this:\n\n"
                "At eight the gate opens. At nine the vans leave. [1]"
            ),
        ),
        (
            "码头的一天是这样安排的：\n\n八点开门，九点发车。\n\n码头五点关门。",
            "码头的一天是怎样安排的？",
            "码头的一天是这样安排的：\n\n八点开门，九点发车。[1]",
        ),
    ],
)
def test_a_paragraph_that_another_announces_is_printed_behind_it(text, question, shown):
    with knotwork.open("memory:", embedding_model="none", answer_abstain_below=0.0) as base:
        base.index_documents([Document("depot.md", text)])
        answer = base.ask(question)
    assert answer.pieces[0].markdown == shown
    assert answer.citations[0].quote in text


@pytest.mark.parametrize(("items", "shown"), [(12, 12), (15, 15), (16, 12), (40, 12)])
def test_a_long_list_is_cut_and_counted_unless_few_items_are_left(tmp_path, items, shown):
    ropes = "\n".join(f"- rope {number}" for number in range(items))
    (tmp_path / "shed.md").write_text(f"These ropes are kept in the shed:\n\n{ropes}", "utf-8")
    with knotwork.open("memory:", embedding_model="none", answer_abstain_below=0.0) as base:
        base.index(tmp_path / "shed.md")
        piece, *_ = base.ask("Which ropes are kept in the shed?").pieces
    assert piece.markdown.count("- rope") == shown
    assert (f"{items - shown} more" in piece.markdown) == (items > shown)


def test_a_list_in_a_text_without_known_blocks_keeps_its_lines():
    text = "These ropes are kept in the shed:\n\n- the long one\n- the short one"
    with knotwork.open("memory:", embedding_model="none", answer_abstain_below=0.0) as base:
        base.index_documents([Document("shed.md", text)])
        piece, *_ = base.ask("Which ropes are kept in the shed?").pieces
    assert piece.markdown == f"{text} [1]"


def test_the_items_of_nested_lists_do_not_count_as_items_of_a_long_list(tmp_path):
    parts = "\n".join(f"   - part {number}" for number in range(1, 14))
    steps = f"1. Open the lid.\n2. Wash:\n{parts}\n3. Dry it."
    text = f"# Pump\n\nThe pump is cleaned in three steps:\n\n{steps}"
    (tmp_path / "pump.md").write_text(text, encoding="utf-8")
    with knotwork.open(tmp_path / "index.knot", embedding_model="none") as base:
        base.index(tmp_path / "pump.md")
        piece, *_ = base.ask("In which steps is the pump cleaned?").pieces
        assert piece.kind == "list"
        assert piece.markdown.endswith(f"{steps} [1]")


def test_entries_that_a_sentence_announces_are_a_list(tmp_path):
    entries = "Mild: for glass and tin.\n\nSharp: for cast iron.\n\nDull: for the belts."
    text = f"Soap\n\nThe depot has three kinds of soap:\n\n{entries}\n\nIt is kept in the shed."
    (tmp_path / "soap.txt").write_text(text, encoding="utf-8")
    with knotwork.open(tmp_path / "index.knot", embedding_model="none") as base:
        base.index(tmp_path / "soap.txt")
        piece, *_ = base.ask("Which kinds of soap does the depot have?").pieces
        assert piece.kind == "list"
        for line in ("The depot has three kinds of soap:", "Mild", "Sharp", "for the belts."):
            assert line in piece.markdown


def test_copies_of_a_passage_are_shown_once(tmp_path):
    text = "The pump moves brine from the tank to the filter."
    other = "The pump of the garden moves rain water. The filter of the tank is made of brass."
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    for folder, names in (("one", "a"), ("two", "abc")):
        for name in names:
            (tmp_path / folder / f"{name}.md").write_text(f"# Pump {name}\n\n{text}\n", "utf-8")
        (tmp_path / folder / "z.md").write_text(f"# Garden\n\n{other}\n", "utf-8")
    found = []
    for folder in ("one", "two"):
        options = {"embedding_model": "none", "answer_abstain_below": 0.0}
        with knotwork.open(tmp_path / f"{folder}.knot", **options) as kb:
            kb.index(tmp_path / folder)
            answer = kb.ask("What does the pump move from the tank to the filter?")
        found.append([piece.markdown for piece in answer.pieces if text in piece.markdown])
    assert [len(pieces) for pieces in found] == [1, 1]
