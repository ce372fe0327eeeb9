"""Views: what templates show of a result, and the views of results that need a server."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace

import pytest
from tests.cli.running import knotwork

from knotwork._cli.terminal import Terminal
from knotwork._cli.views import Line, Table, each, fill, note
from knotwork._extensions.graphs.servers.mirror import MirrorPart, MirrorReport
from knotwork._run import Run

RESULT = {
    "name": "a\x1b[2J\nb",
    "pages": 1_200,
    "none": 0,
    "share": 0.0,
    "words": ["x", "y", "z"],
    "stages": {"read": 1.0, "write": 100.0},
    "inner": SimpleNamespace(time=None, rows=((1, "one"),)),
    "money": Decimal("1.5"),
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{name}: {pages:#page}[, {none} removed]", "a\ufffd[2J b: 1,200 pages"),
        ("{none} removed, {words:#entity/entities}", "0 removed, 3 entities"),
        ("{words:.2}; {words}; {words:#}", "x, y and 1 more; x, y, z; 3"),
        ("[{share:.0%}][{none:!} none][{none:?} some]", "0% none"),
        ("[{words:?}{none} of {pages}][{inner.time.text}]", "0 of 1,200"),
        ("[{words:?}{none:?}both][ [{none:!}inner]]", " inner"),
        ("{stages:time}, {money:,.4f}, [[1]", "read 1.0 s, write 1 min 40 s, 1.5000, [1]"),
    ],
)
def test_a_template_shows_what_is_there(template, text):
    assert fill(template, RESULT) == text


@pytest.mark.parametrize("template", ["{absent}", "[{inner.absent}]", "[{none:!}{absent}]"])
def test_a_wrong_field_is_an_error_even_where_nothing_is_shown(template):
    with pytest.raises((KeyError, AttributeError)):
        fill(template, RESULT)


def test_lists_are_lines_and_tables(capsys):
    Terminal().show(
        RESULT,
        each("words", Line("{#}. {}", indent=2), most=2, more="and {} more"),
        Table("inner.rows", "0 1"),
        Table("inner.rows", "number=0 word=1"),
        note("[{none}]"),
        note("{pages} seen"),
    )
    shown = capsys.readouterr()
    assert shown.out == "  1. x\n  2. y\nand 1 more\n1  one\nnumber  word\n     1  one\n"
    assert shown.err == "1,200 seen\n"


def finish(report):
    yield from ()
    return report


PARTS = (
    MirrorPart("nodes", "Entity", 3, 3, "aa", "aa"),
    MirrorPart("nodes", "Chunk", 2, 1, "bb", "cc", ("missing: c1",)),
)


def test_the_mirror_is_shown(monkeypatch):
    updated = MirrorReport("bolt://h", 7, is_current=True, written=1_000, removed=2)
    differs = MirrorReport("bolt://h", 7, is_current=False, parts=PARTS)
    graph = SimpleNamespace(
        mirror=SimpleNamespace(run=lambda **_: Run(finish(updated))),
        verify_mirror=SimpleNamespace(run=lambda: Run(finish(differs))),
    )
    monkeypatch.setattr(
        "knotwork._cli.session.Session.open", lambda *_, **__: SimpleNamespace(graph=graph)
    )
    assert "1,000 nodes and edges written, 2 removed." in knotwork("graph", "mirror").out
    outcome = knotwork("graph", "verify")
    assert outcome.code == 1
    assert "DIFFERENT" in outcome.out
    assert "missing: c1" in outcome.out
    assert outcome.out.endswith("The mirror at bolt://h differs in 1 part.\n")
    assert knotwork("graph", "verify", "--json").json["parts"][0]["name"] == "Entity"
