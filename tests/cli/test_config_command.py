"""`config show` and `init`: the settings in force, with their origin."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tests.cli.running import knotwork


def test_every_origin_is_reported(monkeypatch):
    Path("knotwork.toml").write_text("[index]\nchunk_tokens = 150\n", encoding="utf-8")
    monkeypatch.setenv("KNOTWORK_RETRIEVAL_K", "7")
    outcome = knotwork(
        "config", "show", "--store", "x.knot", "--set", "answer.max_sentences=2", "--json"
    )
    settings = outcome.json["settings"]
    assert outcome.json["file"] == "knotwork.toml"
    assert settings["index.chunk_tokens"] == {"value": 150, "origin": "file knotwork.toml"}
    assert settings["retrieval.k"] == {"value": 7, "origin": "environment KNOTWORK_RETRIEVAL_K"}
    assert settings["store.path"] == {"value": "x.knot", "origin": "argument"}
    assert settings["answer.max_sentences"] == {"value": 2, "origin": "argument"}
    assert settings["index.overlap_tokens"]["origin"] == "default"
    assert settings["index.exclude"]["value"] == []
    assert isinstance(settings["answer.abstain_below"]["value"], float)


def test_one_word_names_the_option_that_set_a_value():
    wrong = knotwork("config", "show", "--set", "answer.max_sentences=0")
    assert "(argument)" in wrong.err
    assert "--set" not in wrong.err


def test_common_options_stand_anywhere():
    for line in (
        ["--json", "config", "show", "--store", "x.knot"],
        ["config", "--json", "--store", "x.knot", "show"],
        ["config", "--store", "y.knot", "show", "--json", "--store", "x.knot"],
    ):
        settings = knotwork(*line).json["settings"]
        assert settings["store.path"] == {"value": "x.knot", "origin": "argument"}


def test_lines_line_up_and_show_the_origin_on_demand():
    plain = knotwork("config", "show").out.splitlines()
    assert len({line.index("=") for line in plain}) == 1
    assert "default" in knotwork("config", "show", "--origin").out
    assert "default" not in knotwork("config", "show").out


def test_a_secret_is_never_shown(monkeypatch):
    monkeypatch.setenv("KNOTWORK_EMBEDDING_API_KEY", "sk-very-secret")
    for line in (["config", "show", "--origin"], ["config", "show", "--json"]):
        outcome = knotwork(*line)
        assert outcome.code == 0
        assert "sk-very-secret" not in outcome.out + outcome.err
        assert "KNOTWORK_EMBEDDING_API_KEY" in outcome.out


def test_init_writes_a_file_that_loads_and_keeps_one_that_exists():
    assert knotwork("init", "--json").json == {"path": "knotwork.toml"}
    text = Path("knotwork.toml").read_text(encoding="utf-8")
    assert set(tomllib.loads(text)) >= {"store", "embedding", "index"}
    again = knotwork("init")
    assert again.code == 2
    assert "already exists" in again.err
    Path("knotwork.toml").write_text("[store]\npath = 'other.knot'\n", encoding="utf-8")
    assert knotwork("init", "--force").code == 0
    assert Path("knotwork.toml").read_text(encoding="utf-8") == text


def test_an_option_between_a_group_and_its_command_is_taken(sample_store):
    counted = knotwork("graph", "--json", "stats", "--store", sample_store)
    assert counted.json == knotwork("graph", "stats", "--json", "--store", sample_store).json
