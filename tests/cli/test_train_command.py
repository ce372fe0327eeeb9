"""`train paths`."""

import json
from importlib.util import find_spec

import pytest
from tests.cli.running import knotwork
from tests.retrieval.paths.films import FILMS, put_triples

from knotwork._stores.urls import open_store

# The library takes seconds to import: each worker collects this module, and few run it.
pytestmark = pytest.mark.skipif(find_spec("lightgbm") is None, reason="needs the library")


@pytest.fixture
def films(tmp_path, monkeypatch):
    path = tmp_path / "films.knot"
    put_triples(open_store(str(path), create=True), FILMS).close()
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(path))
    monkeypatch.setenv("KNOTWORK_EMBEDDING_MODEL", "none")
    return path


def test_a_ranker_is_trained_on_labelled_and_made_questions(films, tmp_path):
    asked = tmp_path / "asked.jsonl"
    rows = [{"question": f"who directed {film}", "answers": [who]} for film, r, who in FILMS
            if r == "directed_by"]  # fmt: skip
    asked.write_text("\n".join(json.dumps(row) for row in rows))
    model = tmp_path / "paths.model"
    arguments = ["train", "paths", "--questions", asked, "--made", 30, "-o", model]
    outcome = knotwork(*arguments, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["questions"] > len(rows)
    assert 0.0 <= outcome.json["right_at_3"] <= 1.0
    assert "feature_names=hops" in model.read_text()
    again = knotwork(*arguments)
    assert again.code != 0
    assert "exists already" in again.err
    forced = knotwork(*arguments, "--force")
    assert forced.code == 0, forced.err
    assert "held back" in forced.out


def test_questions_without_paths_are_refused(films, tmp_path):
    asked = tmp_path / "asked.jsonl"
    asked.write_text('{"question": "who is Nobody", "answers": ["Else"]}')
    outcome = knotwork(
        "train", "paths", "--questions", asked, "--made", 0, "-o", tmp_path / "no.model"
    )
    assert outcome.code != 0
    assert not (tmp_path / "no.model").exists()
