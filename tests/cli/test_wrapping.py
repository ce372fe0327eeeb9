"""Paragraphs fill the lines of a terminal as their scripts ask."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from knotwork._cli.terminal import Terminal, wrap_text

TEXTS = st.text(alphabet="ab温。，“”[1] \t(.)e\u0301é🙂…\n", max_size=80)
ANSWER = (
    "国内出差由部门主管审批，应当提前三个工作日提出申请。[1]海外出差由办事处主任审批。[2] "
    "Trips within the country are approved by your manager. [3] Others (few) are not. [4]"
)


@given(TEXTS, st.integers(min_value=4, max_value=30))
def test_lines_fit_and_lose_nothing_but_space(text, width):
    lines = wrap_text(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    for line in lines:
        assert cell_len(line) <= width
        assert line == line.rstrip()


@pytest.mark.parametrize("width", range(16, 90, 3))
def test_no_line_begins_with_a_mark_or_closing_punctuation(width):
    for line in wrap_text(ANSWER, width):
        assert not re.match(r"\[\d|[。，)]", line), line


def test_words_stay_whole_and_short_texts_alone():
    assert wrap_text("one two three", 8) == ["one two", "three"]
    assert wrap_text("one  two\n\nthree", 20) == ["one  two", "", "three"]
    assert wrap_text("abcdefgh", 3) == ["abc", "def", "gh"]
    assert wrap_text("", 8) == [""]


def test_an_indented_paragraph_has_no_space_at_the_end_of_a_line(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    Terminal(color="always").say(ANSWER, style="cyan", indent=4)
    lines = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out).splitlines()
    assert len(lines) > 4
    for line in lines:
        assert line.startswith("    ")
        assert line == line.rstrip()
        assert cell_len(line) <= 30
