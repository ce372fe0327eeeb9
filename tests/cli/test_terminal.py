"""Output: what is printed cannot steer the terminal, and columns fit their width."""

from __future__ import annotations

import io
import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from knotwork._cli.terminal import Terminal, write_json
from knotwork._cli.views import count_of, join_lines
from knotwork._text.visible import make_printable


@given(st.text())
def test_printable_text_holds_no_control_character(text):
    for character in make_printable(text):
        assert character in "\n\t" or unicodedata.category(character) not in {"Cc", "Cs"}
    assert "\u202e" not in make_printable(text)


@given(st.text())
def test_a_joined_text_is_one_line(text):
    assert len(join_lines(text).splitlines()) <= 1


def test_ordinary_writing_is_left_alone():
    text = "Zoë “quotes” 温青岚 שלום\n\tand a tab"
    assert make_printable(text) == text


@given(st.dictionaries(st.text(), st.text()))
def test_json_reads_back_and_holds_no_control_character(payload):
    stream = io.StringIO()
    write_json(payload, stream)
    line = stream.getvalue()
    assert json.loads(line) == payload
    assert line.endswith("\n")
    assert not {c for c in line[:-1] if unicodedata.category(c) in {"Cc", "Cs"}}


def test_json_is_ascii_for_a_stream_that_holds_nothing_else():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    write_json({"name": "温青岚"}, stream)
    stream.flush()
    assert json.loads(raw.getvalue().decode("ascii")) == {"name": "温青岚"}


def test_chinese_stays_readable_in_json():
    stream = io.StringIO()
    write_json({"name": "温青岚"}, stream)
    assert "温青岚" in stream.getvalue()


ROWS = [("short", "温青岚" * 40, "1"), ("a" * 30, "x", "22")]


def test_a_table_fits_a_terminal_and_lines_up(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal(color="always")
    terminal.table(ROWS, header=("name", "text", "count"))
    lines = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out).splitlines()
    assert len(lines) == 3
    assert all(cell_len(line) <= 60 for line in lines)
    assert "…" in lines[1]


def test_numbers_line_up_at_the_right_around_missing_ones(capsys):
    Terminal().table([("a", "9.5", ""), ("b", "", "x"), ("c", "100.0", "yes")])
    assert capsys.readouterr().out.splitlines() == ["a    9.5", "b         x", "c  100.0  yes"]


def test_wide_columns_share_the_room_and_keep_their_ends(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    row = ("papers/2024/" + "a" * 60 + "/notes.md", "7", "The title of " + "温" * 40 + " 完")
    Terminal(color="always").table([row])
    (line,) = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out).splitlines()
    assert cell_len(line) <= 60
    assert line.startswith("papers/2024/")
    assert "/notes.md  7  The title of" in line
    assert line.endswith("完")


@given(st.text(max_size=60), st.text(max_size=60), st.integers(min_value=24, max_value=80))
def test_a_table_never_exceeds_its_terminal(first, second, width):
    stream = io.StringIO()
    terminal = Terminal(color="never")
    terminal.out = Console(file=stream, force_terminal=True, color_system=None, width=width)
    terminal.table([(first, second)])
    assert all(cell_len(line) <= width for line in stream.getvalue().splitlines())
    assert len(stream.getvalue().splitlines()) == 1


@pytest.mark.parametrize(
    ("number", "many", "text"),
    [(0, "", "0 files"), (1, "", "1 file"), (2_000, "", "2,000 files"), (2, "filae", "2 filae")],
)
def test_a_count_agrees_with_its_noun(number, many, text):
    assert count_of(number, "file", many) == text


def test_a_piped_table_is_whole(capsys):
    Terminal().table(ROWS)
    out = capsys.readouterr().out
    assert "温青岚" * 40 in out
    assert "…" not in out
    assert [line.rstrip() for line in out.splitlines()] == out.splitlines()


def test_a_piped_paragraph_is_not_wrapped(capsys):
    Terminal().say("word " * 100, indent=2)
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize(
    ("color", "environment", "coloured"),
    [
        ("auto", {}, False),
        ("never", {}, False),
        ("always", {}, True),
        ("always", {"NO_COLOR": "1"}, True),
    ],
)
def test_colours_follow_the_option_then_the_environment(
    color, environment, coloured, capsys, monkeypatch
):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    terminal = Terminal(color=color)
    terminal.say("text", style="bold red")
    terminal.fail("wrong", "do right")
    captured = capsys.readouterr()
    assert ("\x1b[" in captured.out) == coloured
    assert ("\x1b[" in captured.err) == coloured


def test_quiet_leaves_the_result_and_the_errors(capsys):
    terminal = Terminal(quiet=True)
    terminal.note("aside")
    terminal.say("result")
    terminal.fail("wrong", "")
    captured = capsys.readouterr()
    assert captured.out == "result\n"
    assert captured.err == "error: wrong\n"
