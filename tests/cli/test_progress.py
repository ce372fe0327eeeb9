"""Progress: what a run shows on a terminal, in a log and to a program."""

from __future__ import annotations

import json

import pytest

from knotwork.cli.progress import (
    BarView,
    JsonView,
    PlainView,
    Share,
    SilentView,
    choose_view,
    format_seconds,
    tell_failure,
)
from knotwork.cli.terminal import Terminal
from knotwork.indexing.report import EventKind, Failure, IndexEvent, IndexReport

EVENTS = [
    IndexEvent(EventKind.DISCOVERED, total=3),
    IndexEvent(EventKind.STARTED, "a.md", 0, 3),
    IndexEvent(EventKind.FAILED, "b\x1b[2J.pdf", 1, 3, reason="broken", message="no\nPDF"),
    IndexEvent(EventKind.EMBEDDED, "", 1, 3, 40, 80),
    IndexEvent(EventKind.ADDED, "a.md", 2, 3, 80, 80),
    IndexEvent(
        EventKind.FINISHED,
        done=3,
        total=3,
        report=IndexReport(added=2, failures=(Failure("b.pdf", "broken", "no PDF"),)),
    ),
]


def test_json_lines_hold_every_event(capsys):
    view = JsonView()
    with view:
        for event in EVENTS:
            view.show(event)
    captured = capsys.readouterr()
    lines = [json.loads(line) for line in captured.err.splitlines()]
    assert captured.out == ""
    assert [line["event"] for line in lines] == [str(event.kind) for event in EVENTS]
    assert lines[2]["reason"] == "broken"
    assert lines[3] == {
        "event": "embedded",
        "uri": "",
        "done": 1,
        "total": 3,
        "chunks": 40,
        "chunks_known": 80,
    }
    assert lines[-1]["report"]["skipped"][0]["message"] == "no PDF"


def test_plain_lines_come_now_and_then_and_hold_no_control_characters(capsys):
    now = iter(range(0, 100, 2))
    view = PlainView(Terminal(), clock=lambda: float(next(now)))
    with view:
        for event in EVENTS:
            view.show(event)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "3 files found"
    assert lines[1] == "skipped b\ufffd[2J.pdf: no PDF"
    assert lines[2:] == [
        "1 of 3 files, 40 chunks, 5 chunks/s, 16 s left",
    ]
    assert not any("\x1b" in line for line in lines)


def test_files_that_are_read_count_by_their_chunks_until_they_are_written():
    share = Share()
    assert share.add(IndexEvent(EventKind.DISCOVERED, total=10)) == 0
    for number in range(5):
        share.add(IndexEvent(EventKind.STARTED, f"{number}.md", 0, 10, 0, 20 * number))
    assert share.add(IndexEvent(EventKind.EMBEDDED, "", 0, 10, 40, 100)) == pytest.approx(0.2)
    assert share.add(IndexEvent(EventKind.ADDED, "0.md", 5, 10, 100, 100)) == pytest.approx(0.5)


def test_unchanged_files_count_once_whether_read_or_not():
    share = Share()
    share.add(IndexEvent(EventKind.UNCHANGED, "a.md", 1, 4))
    share.add(IndexEvent(EventKind.STARTED, "b.md", 1, 4))
    share.add(IndexEvent(EventKind.UNCHANGED, "b.md", 2, 4))
    share.add(IndexEvent(EventKind.STARTED, "c.md", 2, 4))
    assert share.add(IndexEvent(EventKind.EMBEDDED, "", 2, 4, 9, 10)) == pytest.approx(0.675)


def test_bars_show_counts_rates_and_the_skipped_file(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    view = BarView(Terminal(color="always"))
    with view:
        for event in EVENTS[:-1]:
            view.show(event)
    drawn = capsys.readouterr().err
    assert "Files" in drawn
    assert "2/3" in drawn
    assert "80/80" in drawn
    assert "/s" in drawn
    assert "1 skipped" in drawn
    assert "\x1b[2J" not in drawn


STEPS = [
    IndexEvent(EventKind.ENRICHING, message="names"),
    IndexEvent(EventKind.ENRICHING, done=0, total=40, message="names"),
    IndexEvent(EventKind.ENRICHING, done=40, total=40, message="names"),
    IndexEvent(EventKind.ENRICHING, message="reports"),
    IndexEvent(EventKind.ENRICHING, done=5, total=20, message="reports"),
]


def test_plain_lines_count_what_a_model_makes_of_the_index(capsys):
    now = iter([0, 1, 2, 3, 10, 20])
    view = PlainView(Terminal(), clock=lambda: float(next(now)))
    with view:
        for event in STEPS:
            view.show(event)
    assert capsys.readouterr().err.splitlines() == [
        "a model works on names",
        "a model works on reports",
        "5 of 20 reports, 30 s left",
    ]


def test_a_bar_counts_what_a_model_makes_and_leaves_the_files_alone(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    view = BarView(Terminal(color="always"))
    with view:
        for event in [*EVENTS[:-1], *STEPS]:
            view.show(event)
    drawn = capsys.readouterr().err
    assert "2/3" in drawn
    assert "40/40" in drawn
    assert "Reports" in drawn
    assert "5/20" in drawn


@pytest.mark.parametrize(
    ("wanted", "hidden", "quiet", "kind"),
    [
        ("auto", False, False, PlainView),
        ("auto", True, False, SilentView),
        ("auto", False, True, SilentView),
        ("json", True, True, JsonView),
        ("bar", False, False, BarView),
        ("none", False, False, SilentView),
    ],
)
def test_the_view_follows_the_options(wanted, hidden, quiet, kind):
    assert type(choose_view(Terminal(quiet=quiet), wanted, hidden=hidden)) is kind


def test_a_failure_names_its_file_once():
    assert tell_failure("a.pdf", "`a.pdf` is\nbroken") == "`a.pdf` is broken"
    assert tell_failure("a.pdf", "no text") == "a.pdf: no text"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.4, "59 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations_are_for_people(seconds, text):
    assert format_seconds(seconds) == text
