"""Indented lines below a line that ends in a colon: code, unless they are something else."""

import json

import pytest
from tests.indexing.loading import blocks, leads, load

from knotwork.records import BlockKind

SHOWN = [
    "BOW    FORWARD 2 m\nSTERN  LOOSE\nFENDER UP",
    "UF GOAL   2400 ml\nART PRESS -180 mmHg\nTEMP      36.5 C   OK",
    "PAYEE     Marlow Court TA\nSORT CODE 20-44-91\nACCOUNT   7310 5528\nDAY       3",
    "报修单 No.______\n楼栋-房号: 3-1702\n类别: 水 / 电 / 门窗",
    "程序 03\n 段1 升温 5/分\n 风门 40%\n结束",
    "RED LAMP\n\n  STOP 2",
]
SAID = [
    "1. Close the door.\n2. Hold START.",
    "• 关门\n• 按键",
    "Boat   Seats\nWren   2\nHeron  4",
    "Shall I compare thee to a summer's day?\nThou art more lovely and more temperate:\nRough wind",
    "Rain, rain,\nGo away,\nCome again.",
    "Nobody may enter the room while the kiln is hot, and the key stays with\nthe warden until 8.",
    "床前明月光\n疑是地上霜",
    "“本公约于 2023 年 5 月经业主大会通过，\n对全体业主有效。”",
]


def indented(text, indent):
    return "\n".join(indent + line if line else "" for line in text.split("\n"))


@pytest.mark.parametrize("indent", ["    ", "\t", "        "])
@pytest.mark.parametrize("text", SHOWN)
def test_indented_lines_below_a_colon_are_code(text, indent):
    whole = f"Some words.\n\nThe display shows:\n\n{indented(text, indent)}\n\nNever jump."
    for name, data in {
        "a.txt": whole,
        "a.eml": f"Subject: Jetty\nContent-Type: text/plain; charset=utf-8\n\n{whole}",
        "a.json": json.dumps({"title": "Jetty", "text": whole}),
    }.items():
        document = load(name, data)
        assert [text for *_, text in blocks(document, BlockKind.CODE)] == [f"```\n{text}\n```"]
        assert leads(document) == [("code", "The display shows:")]


@pytest.mark.parametrize("text", SAID)
def test_lists_tables_verse_and_quotations_are_no_code(text):
    document = load("a.txt", f"Some words.\n\nHe said:\n\n{indented(text, '    ')}\n\nNever jump.")
    assert not blocks(document, BlockKind.CODE)


def test_indented_lines_without_a_colon_stay_text():
    assert not blocks(load("a.txt", "He left.\n\n    RED LAMP\n    STOP 2"), BlockKind.CODE)
