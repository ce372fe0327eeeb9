"""No document, file name or error drives the terminal, whatever prints it."""

import io
import json
import logging
import sys

import pytest
from tests.cli.running import knotwork

from knotwork._cli import main
from knotwork._cli.progress import ProgressView
from knotwork._cli.terminal import Terminal, printable_errors
from knotwork._text.visible import make_printable
from knotwork.errors import StoreError

pytestmark = pytest.mark.slow

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u200f\u202egpj.\u2066\u2028\u061cexe\x7f\r\x08"


def check(text):
    assert make_printable(text) == text


def test_nothing_raw_is_written_with_debug(monkeypatch):
    def fail(*_arguments, **_options):
        sys.stderr.write(f"careful {HOSTILE}\n")
        logging.getLogger("knotwork.test").warning("about %s", HOSTILE)
        raise StoreError(f"outer {HOSTILE}", fix=f"fix {HOSTILE}") from ValueError(
            f"inner {HOSTILE}"
        )

    monkeypatch.setattr("knotwork._cli.session.Session.open", fail)
    outcome = knotwork("graph", "stats", "--debug")
    assert outcome.code != 0
    for part in ("Traceback", "careful", "about", "inner", "outer", "fix"):
        assert part in outcome.err
    check(outcome.err)


@pytest.mark.parametrize("option", ["--json", "--debug"])
def test_arguments_are_returned_harmless(option):
    outcome = knotwork("search", "x", "--store", f"/nowhere/{HOSTILE}", option)
    assert outcome.code != 0
    check(outcome.err)
    check(outcome.out)
    if option == "--json":
        assert HOSTILE in json.loads(outcome.out)["error"]["message"]
    check(knotwork(HOSTILE).err)
    check(knotwork("graph", "stats", f"--{HOSTILE}").err)


def test_an_unknown_error_is_reported_harmlessly(monkeypatch):
    def fail(*_arguments):
        raise KeyError(HOSTILE)

    monkeypatch.setattr(main.app, "main", fail)
    check(knotwork("demo").err)


@pytest.fixture(scope="module")
def hostile_store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    source = folder / "source"
    source.mkdir()
    name = "a\x1b[2J\u202efdp.txt"
    text = f"# Title {HOSTILE}\n\nAnn {HOSTILE} Lee directed Silver {HOSTILE} Lantern in Tartu.\n"
    (source / name).write_text(text, "utf-8")
    (source / f"bad{name}").write_bytes(b"\x00\x01\x02" * 100)
    store = folder / "h.knot"
    outcome = knotwork("index", source, "--store", store, "--set", "embedding.model=none")
    check(outcome.out + outcome.err)
    return store


@pytest.mark.parametrize(
    "words",
    [
        ("documents",),
        ("search", "Silver Lantern"),
        ("ask", "Who directed Silver Lantern?"),
        ("explore", "Lantern"),
        ("graph", "stats"),
        ("graph", "export", "--format", "json"),
        ("graph", "export", "--format", "graphml"),
        ("graph", "export", "--format", "cypher"),
        ("cypher", "MATCH (n) RETURN n.name, n"),
        ("documents", "--json"),
        ("search", "Silver Lantern", "--json"),
        ("ask", "Who directed Silver Lantern?", "--json", "--explain"),
        ("cypher", "MATCH (n) RETURN n", "--json"),
    ],
    ids=" ".join,
)
def test_no_command_prints_what_drives_a_terminal(hostile_store, words):
    outcome = knotwork(*words, "--store", hostile_store, "--debug")
    check(outcome.out)
    check(outcome.err)
    if "--json" in words:
        json.loads(outcome.out)


@pytest.mark.parametrize("shown", ["bar", "plain", "json"])
def test_progress_is_harmless(hostile_store, shown):
    source = hostile_store.with_name("source")
    options = ("--progress", shown, "--full", "--color", "always")
    outcome = knotwork("index", source, "--store", hostile_store, *options)
    for mark in ("\x07", "\x9b", "\u202e", "\u200f", "\x1b]0;", "\u2066"):
        assert mark not in outcome.err + outcome.out


def test_a_bar_shows_markup_as_text(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "100")
    with ProgressView(Terminal(color="always"), "bar") as counter:
        counter.count(f"[red]x[/red]{HOSTILE}", 1, 2)
        counter._bars.refresh()
    assert "[red]x[/red]" in stream.getvalue()
    assert "\u202e" not in stream.getvalue()


def test_errors_pass_the_filter_and_colours_do_not(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with printable_errors():
        sys.stderr.write("a\x1b[31mb\n")
        sys.stderr.writelines(["\u202e", "\n"])
        Terminal(color="always").note("red", style="red")
    assert sys.stderr is stream
    assert stream.getvalue().startswith("a\ufffd[31mb\n\ufffd\n\x1b[31mred")
