"""Answers on a terminal: lists, tables and code laid out; elsewhere Markdown as it is."""

from __future__ import annotations

import io
import re
import sys

import pytest

from knotwork._cli.answers import StreamedText, show_answer
from knotwork._cli.terminal import Terminal
from knotwork._cli.views import shorten_excerpt
from knotwork.records import Answer, Citation, Span

LIST = "Steps:\n\n1. Sound the **horn** twice and wait for the lamp.\n   - Look.\n2. Close. [1]"
TABLE = "| Item | Cost |\n| --- | --- |\n| Ship time | 900 |\n| Probe **2** | 1,100 |\n\n[2]"
CODE = "```sh\nlockctl open --gate outer --wait-for-lamp green\nls\x1b[2J | wc\n```\n[3]"
TEXT = f"{LIST}\n\n{TABLE}\n\n{CODE}"
LAID_OUT = """\
Steps:

1. Sound the horn twice and
   wait for the lamp.
   - Look.
2. Close. [1]

╭───────────┬───────╮
│ Item      │  Cost │
├───────────┼───────┤
│ Ship time │   900 │
│ Probe 2   │ 1,100 │
╰───────────┴───────╯

[2]

    lockctl open --gate outer --wait-for-lamp green
    ls\ufffd[2J | wc

[3]
"""


class Screen(io.StringIO):
    def isatty(self):
        return True


def open_screen(monkeypatch):
    """Make standard output a terminal of 30 columns; pytest replaces it before a test begins."""
    made = Screen()
    monkeypatch.setattr(sys, "stdout", made)
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("TERM", "xterm")
    return made


def test_a_terminal_shows_lists_tables_and_code(monkeypatch):
    screen = open_screen(monkeypatch)
    Terminal(color="never").markdown(TEXT)
    assert screen.getvalue() == LAID_OUT


def test_bold_words_are_bold(monkeypatch):
    screen = open_screen(monkeypatch)
    Terminal(color="always").markdown(f"{LIST}\n\n{TABLE}", lead="Horn")
    bold = re.findall(r"\x1b\[1m(.*?)\x1b\[0m", screen.getvalue())
    assert [word.strip() for word in bold if word.strip()] == ["Horn", "horn", "Item", "Cost", "2"]


def test_a_short_answer_has_a_line_of_its_own_before_a_table(monkeypatch):
    screen = open_screen(monkeypatch)
    Terminal(color="never").markdown(TABLE, lead="900")
    assert screen.getvalue().startswith("900\n\n╭")


def test_elsewhere_it_is_markdown(capsys):
    Terminal().markdown(TEXT.replace("\x1b", ""), lead="Horn")
    assert capsys.readouterr().out == f"Horn — {TEXT}\n".replace("\x1b", "")
    Terminal().markdown(TABLE, lead="900")
    assert capsys.readouterr().out == f"900\n\n{TABLE}\n"


@pytest.mark.parametrize("size", [1, 3, 7, 1_000])
def test_tables_and_code_are_laid_out_while_a_text_is_written(monkeypatch, size):
    screen = open_screen(monkeypatch)
    text = f"Fees:\n\n{TABLE} and `so` on.\n\n{CODE} The end."
    streamed = StreamedText(Terminal(color="never"))
    for start in range(0, len(text), size):
        streamed.add(text[start : start + size])
    streamed.end()
    table, code = LAID_OUT[LAID_OUT.index("╭") :].split("\n\n[2]\n\n")
    code = code.removesuffix("\n[3]\n")
    assert screen.getvalue() == f"Fees:\n\n{table}\n\n[2] and `so` on.\n\n{code}[3] The end.\n"


def test_a_text_that_is_broken_off_within_code_is_shown(monkeypatch):
    screen = open_screen(monkeypatch)
    streamed = StreamedText(Terminal(color="never"))
    streamed.add("Run:\n\n```sh\nls -l")
    assert screen.getvalue() == "Run:\n\n"
    streamed.end()
    assert screen.getvalue() == "Run:\n\n    ls -l\n"


def test_quotes_of_long_pieces_are_cut():
    rows = "\n".join(f"| row {number} | {number} |" for number in range(100))
    quote = f"| name | value |\n| --- | --- |\n{rows}"
    line = shorten_excerpt(quote)
    assert line.startswith("| name | value | | row 0 | 0 |")
    assert line.endswith(" …")
    assert len(line) < 330
    assert shorten_excerpt("```sh\nls | wc\n```") == "ls | wc"
    assert shorten_excerpt("# Title\n\n## Sub\nText of it, # 3") == "Title Sub Text of it, # 3"


def test_sources_follow_the_answer(capsys):
    cited = Citation(1, "a.md", "", "", "", Span(0, 9), "1. Sound\n2. Close", "c", 1.0)
    answer = Answer("Q", LIST, answered=True, citations=(cited,), confidence=None)
    show_answer(Terminal(), answer, needed=0.2)
    assert capsys.readouterr().out == (
        f"{LIST}\n\nSources\n[1] a.md, characters 0-9\n    “1. Sound 2. Close”\n"
    )
