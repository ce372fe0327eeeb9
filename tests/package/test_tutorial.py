"""The commands of docs/tutorial.md run, in order, and print what the page shows."""

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.running import knotwork

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
FILES = re.compile(r"Save these lines as `(\S+)`:\n\n```text\n(.*?)```", re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MEASURED = re.compile(r"[\d.]+ (?:m?s\b|chunks/s)|\d\.\d{3}\b")
"""Times, and scores that depend on the processor."""


def commands():
    for block in CONSOLE.findall(PAGE):
        for command in block.split("$ ")[1:]:
            line, _, shown = command.partition("\n")
            yield line, shown


def squeeze(text):
    """Return a text without what a terminal shows otherwise (spaces, bold), times and scores."""
    return "".join(MEASURED.sub("<measured>", text.replace("**", "")).split())


def pattern_of(shown):
    """Return a pattern of a squeezed output, in which … stands for anything."""
    return ".*".join(re.escape(part) for part in squeeze(shown).split("…"))


def test_the_tutorial_does_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "src").symlink_to(ROOT / "src")
    for name, text in FILES.findall(PAGE):
        (tmp_path / name).write_text(text, encoding="utf-8")
    ran = 0
    for line, shown in commands():
        program, *arguments = shlex.split(line)
        assert program == "knotwork"
        done = knotwork(*arguments)
        assert done.code == 0, (line, done.err)
        printed = squeeze(done.out), squeeze(done.out + "".join(done.err.splitlines()[-1:]))
        assert any(re.fullmatch(pattern_of(shown), text) for text in printed), (line, printed)
        ran += 1
    assert ran >= 18
