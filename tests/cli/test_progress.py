"""Progress: what a run shows on a terminal, in a log and to a program."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from knotwork._cli.progress import ProgressView, describe_failure
from knotwork._cli.terminal import Terminal
from knotwork._cli.views import format_seconds
from knotwork._indexing.report import Failure, IndexReport
from knotwork._run import Counts, FilePart, Progress, Stage

BROKEN = "b\x1b[2J.pdf"
EVENTS = [
    Progress(Stage.DISCOVERED, total=3),
    Progress(Stage.STARTED, 0, 3, "a.md"),
    Progress(Stage.FAILED, 1, 3, BROKEN, "no\nPDF", value=Failure(BROKEN, "broken", "no\nPDF")),
    Progress(Stage.EMBEDDED, 1, 3, counts=Counts(40, 80, 120)),
    Progress(Stage.ADDED, 2, 3, "a.md", counts=Counts(80, 80, 80)),
    Progress(
        Stage.FINISHED,
        done=3,
        total=3,
        value=IndexReport(added=2, failures=(Failure("b.pdf", "broken", "no PDF"),)),
    ),
]


LOADING = Progress(Stage.LOADING, 0, 3, note="local:tiny", counts=Counts(0, 80, 120))


class Clock:
    """Stands at the given times while events are shown."""

    def __init__(self, *times_s):
        self.times_s = list(times_s)
        self.now_s = 0.0

    def __call__(self):
        return self.now_s

    def show(self, view, events):
        for event, now_s in zip(events, self.times_s, strict=True):
            self.now_s = now_s
            view.show(event)


def test_json_lines_hold_every_event(capsys):
    view = ProgressView(Terminal(), "json")
    with view:
        for event in EVENTS:
            view.show(event)
    captured = capsys.readouterr()
    lines = [json.loads(line) for line in captured.err.splitlines()]
    assert captured.out == ""
    assert [line["event"] for line in lines] == [str(event.stage) for event in EVENTS]
    assert lines[2]["reason"] == "broken"
    assert lines[3] == {
        "event": "embedded",
        "uri": "",
        "done": 1,
        "total": 3,
        "chunks": 40,
        "chunks_known": 80,
        "bytes": 0,
        "bytes_total": 0,
    }
    assert lines[-1]["report"]["skipped"][0]["message"] == "no PDF"


def test_plain_lines_come_now_and_then_and_hold_no_control_characters(capsys):
    clock = Clock(2, 4, 6, 8, 10, 12)
    view = ProgressView(Terminal(), "plain", clock=clock)
    with view:
        clock.show(view, EVENTS)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "3 files found"
    assert lines[1] == "skipped b\ufffd[2J.pdf: no PDF"
    assert lines[2:] == [
        "1 of 3 files, 40 chunks, 5 chunks/s, 16 s left",
    ]
    assert not any("\x1b" in line for line in lines)


def test_a_long_file_is_named_with_its_seconds_and_the_share_that_was_read(capsys, monkeypatch):
    reading = Progress(Stage.READING, 0, 1, "scan.pdf", counts=Counts(seconds=35.0))
    half = replace(reading, counts=replace(reading.counts, part=FilePart(0.5)))
    clock = Clock(6, 12)
    with ProgressView(Terminal(), "plain", clock=clock) as view:
        clock.show(view, [reading, half])
    before, after = capsys.readouterr().err.splitlines()
    assert before.endswith("reading scan.pdf for 35 s")
    assert after.endswith("reading scan.pdf for 35 s (50%)")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    clock = Clock(1)
    view = ProgressView(Terminal(color="always"), "bar", clock=clock)
    with view:
        clock.show(view, [half])
        view._bars.refresh()
    assert "scan.pdf (50%)" in capsys.readouterr().err


def test_a_log_says_that_a_model_is_loaded_and_leaves_that_time_out(capsys):
    clock = Clock(2, 4, 34, 40)
    with ProgressView(Terminal(), "plain", clock=clock) as view:
        clock.show(view, [EVENTS[0], LOADING, EVENTS[1], EVENTS[3]])
    assert capsys.readouterr().err.splitlines() == [
        "3 files found",
        "loading the model local:tiny",
        "0 of 3 files, 0 chunks",
        "1 of 3 files, 40 chunks, 4 chunks/s, 20 s left",
    ]


def test_a_bar_says_that_a_model_is_loaded_until_it_is(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    clock = Clock(1, 2)
    view = ProgressView(Terminal(color="always"), "bar", clock=clock)
    with view:
        clock.show(view, [EVENTS[0], LOADING])
        view._bars.refresh()
    assert "Loading the model" in capsys.readouterr().err
    clock = Clock(1, 2, 3)
    view = ProgressView(Terminal(color="always"), "bar", clock=clock)
    with view:
        clock.show(view, [EVENTS[0], LOADING, EVENTS[3]])
    assert "Loading the model" not in capsys.readouterr().err.split("40/80")[-1]


def test_json_names_the_model_that_is_loaded(capsys):
    ProgressView(Terminal(), "json").show(LOADING)
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["model"]) == ("loading", "local:tiny")


def test_bars_show_counts_rates_and_the_skipped_file(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    clock = Clock(1, 2, 3, 4, 5)
    view = ProgressView(Terminal(color="always"), "bar", clock=clock)
    with view:
        clock.show(view, EVENTS[:-1])
    drawn = capsys.readouterr().err
    assert "Files" in drawn
    assert "2/3" in drawn
    assert "80/80" in drawn
    assert "/s" in drawn
    assert "1 skipped" in drawn
    assert "\x1b[2J" not in drawn


STEPS = [
    Progress(Stage.ENRICHING, note="names"),
    Progress(Stage.ENRICHING, done=0, total=40, note="names"),
    Progress(Stage.ENRICHING, done=40, total=40, note="names"),
    Progress(Stage.ENRICHING, note="reports"),
    Progress(Stage.ENRICHING, done=5, total=20, note="reports"),
]


def test_plain_lines_count_what_a_model_makes_of_the_index(capsys):
    clock = Clock(1, 2, 3, 10, 20)
    with ProgressView(Terminal(), "plain", clock=clock) as view:
        clock.show(view, STEPS)
    assert capsys.readouterr().err.splitlines() == [
        "the language model processes names",
        "the language model processes reports",
        "5 of 20 reports, 30 s left",
    ]


def test_a_bar_counts_what_a_model_makes_and_leaves_the_files_alone(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    view = ProgressView(Terminal(color="always"), "bar")
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
        ("auto", False, False, "plain"),
        ("auto", True, False, "none"),
        ("auto", False, True, "none"),
        ("json", True, True, "json"),
        ("bar", False, False, "bar"),
        ("none", False, False, "none"),
    ],
)
def test_the_view_follows_the_options(wanted, hidden, quiet, kind):
    assert ProgressView(Terminal(quiet=quiet), wanted, hidden=hidden).kind == kind


def test_a_failure_names_its_file_once():
    assert describe_failure("a.pdf", "`a.pdf` is\nbroken") == "`a.pdf` is broken"
    assert describe_failure("a.pdf", "no text") == "a.pdf: no text"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.4, "59 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations_are_for_people(seconds, text):
    assert format_seconds(seconds) == text
