"""Text that is shown can neither drive a terminal nor pass for another text."""

from __future__ import annotations

import json
import unicodedata
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._text.visible import escape_unsafe, escape_unsafe_xml, make_printable

UNSAFE = {
    "escape": "\x1b",
    "bell": "\x07",
    "backspace": "\x08",
    "carriage return": "\r",
    "delete": "\x7f",
    "next line": "\x85",
    "control sequence": "\x9b",
    "operating system command": "\x9d",
    "Arabic letter mark": "\u061c",
    "left-to-right mark": "\u200e",
    "right-to-left mark": "\u200f",
    "right-to-left embedding": "\u202b",
    "right-to-left override": "\u202e",
    "isolate": "\u2067",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "byte order mark": "\ufeff",
    "invisible operator": "\u2062",
    "Hangul filler": "\u3164",
    "tag": "\U000e0041",
    "lone surrogate": "\ud800",
}


@pytest.mark.parametrize("character", UNSAFE.values(), ids=UNSAFE)
def test_unsafe_characters_are_shown_as_such(character):
    assert make_printable(f"a{character}b 温{character}岚") == "a\ufffdb 温\ufffd岚"


@pytest.mark.parametrize("character", UNSAFE.values(), ids=UNSAFE)
def test_json_has_them_escaped_and_reads_back(character):
    payload = {"name": f"a{character}b"}
    text = escape_unsafe(json.dumps(payload, ensure_ascii=False))
    assert character not in text
    assert json.loads(text) == payload


@pytest.mark.parametrize("joiner", ["\u200b", "\u200c", "\u200d", "\u2060"])
def test_zero_width_characters_hide_in_no_latin_name(joiner):
    assert make_printable(f"re{joiner}port.pdf") == "re\ufffdport.pdf"


@pytest.mark.parametrize(
    "text", ["👩‍👩‍👧 ❤️ 1️⃣", "می‌خواهم", "क्‍ष", "ភាសា\u200bខ្មែរ", "שלום", "葛\U000e0100城", "a\tb\n"]
)
def test_scripts_and_emoji_keep_what_they_need(text):
    assert make_printable(text) == text


def test_line_breaks_and_soft_hyphens():
    assert make_printable("one\r\ntwo hy\u00adphen") == "one\ntwo hyphen"


@given(st.text())
def test_no_control_character_is_shown(text):
    shown = make_printable(text)
    assert not {c for c in shown if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}} - {
        "\n",
        "\t",
    }
    assert not {unicodedata.bidirectional(c) for c in shown} & {"RLO", "LRO", "RLE", "LRE", "PDF"}
    assert make_printable(shown) == shown


@given(st.text())
def test_json_keeps_every_text(text):
    for ascii_only in (True, False):
        assert json.loads(escape_unsafe(json.dumps(text, ensure_ascii=ascii_only))) == text


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff")))
def test_xml_keeps_every_text(text):
    shown = "".join(c for c in text if c >= " ")
    element = ET.Element("a")
    element.text = shown
    xml = escape_unsafe_xml(ET.tostring(element, encoding="unicode"))
    assert ET.fromstring(xml).text == (shown or None)
    assert make_printable(xml) == xml.replace("\u00ad", "")
