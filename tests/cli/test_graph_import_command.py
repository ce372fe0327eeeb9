"""`graph import`."""

from __future__ import annotations

import sys

import pytest
from tests.cli.running import knotwork

from knotwork._extensions.graphs.commands import AUTO_FORMAT
from knotwork._extensions.graphs.commands import GRAPH_FORMATS as OFFERED
from knotwork._extensions.graphs.graph_import.formats import FORMATS

FILMS = (
    "Kismet\tdirected_by\tWilliam Dieterle\n"
    "Kismet\tstarred_actors\tMarlene Dietrich\n"
    "Faust\tdirected_by\tWilliam Dieterle\n"
    "Angel\tstarred_actors\tMarlene Dietrich\n"
    "nothing here\n"
)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(tmp_path / "index.knot"))
    monkeypatch.setenv("KNOTWORK_EMBEDDING_MODEL", "none")
    return tmp_path / "index.knot"


@pytest.fixture
def films(tmp_path):
    path = tmp_path / "films.tsv"
    path.write_text(FILMS, "utf-8")
    return path


def test_imported_and_skipped_parts_are_reported(store, films):
    outcome = knotwork("graph", "import", films)
    assert outcome.code == 0, outcome.err
    assert "Imported the graph films" in outcome.out
    assert "4 facts, of 2 relations" in outcome.out
    assert "1 line could not be read" in outcome.out
    assert "expected 3 columns, found 1" in outcome.out
    assert "films.tsv:5  nothing here" in outcome.out
    assert "knotwork delete graph:films" in outcome.out
    again = knotwork("graph", "import", films)
    assert "is unchanged" in again.out


def test_the_object_holds_all_counts(store, films):
    payload = knotwork("graph", "import", films, "--name", "cinema", "--json").json
    assert (payload["name"], payload["uri"]) == ("cinema", "graph:cinema")
    assert (payload["things"], payload["facts"], payload["relations"]) == (5, 4, 2)
    assert payload["bad_lines"] == {"expected 3 columns, found 1": 1}
    assert payload["examples"][0]["line"] == 5
    assert payload["property_graph"] is True
    assert knotwork("graph", "import", films, "--name", "cinema", "--json").json["unchanged"]


def test_the_graph_is_used_like_any_index(store, films):
    assert knotwork("graph", "import", films).code == 0
    assert "Faust" in knotwork("explore", "William Dieterle").out
    assert "Kismet" in knotwork("search", "Who directed Kismet?").out
    assert "William Dieterle" in knotwork("ask", "Who directed Kismet?").out
    assert "directed by" in knotwork("graph", "stats").out
    assert "Dietrich" in knotwork("communities").out
    assert "Removed graph:films" in knotwork("delete", "graph:films").out
    assert knotwork("documents", "--json").json["documents"] == []


def test_columns_and_delimiters_may_be_named(store, tmp_path):
    path = tmp_path / "facts.txt"
    path.write_text("Dieterle~Kismet~directed\n", "utf-8")
    options = ("--delimiter", "~", "--columns", "source, target, relation")
    payload = knotwork("graph", "import", path, *options, "--json").json
    assert payload["facts"] == 1
    assert "Dieterle directed Kismet." in knotwork("search", "Kismet").out


def test_wrong_use_is_reported_and_makes_no_index(store, films, tmp_path):
    outcome = knotwork("graph", "import", tmp_path / "none.tsv")
    assert outcome.code != 0
    assert "does not exist" in outcome.err
    wrong = knotwork("graph", "import", films, "--format", "turtel")
    assert "`turtle`" in wrong.err
    assert not store.exists()


def test_rdf_without_its_library_names_the_extra(store, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    path = tmp_path / "films.ttl"
    path.write_text("<http://e/x> <http://e/knows> <http://e/y> .", "utf-8")
    outcome = knotwork("graph", "import", path)
    assert outcome.code == 2
    assert "knotwork[rdf]" in outcome.err


def test_all_formats_are_offered():
    assert (AUTO_FORMAT, *FORMATS) == OFFERED
