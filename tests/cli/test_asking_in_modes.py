"""`ask --mode`: the answer of each mode, and what is printed about it."""

from __future__ import annotations

import re
import shutil

import click
import pytest
from tests.cli.running import knotwork

from knotwork._cli.answers import describe_step
from knotwork._run import Progress, Stage
from knotwork._synthesis.ask_request import ASK_MODES
from knotwork.testing.model_server import ModelTestServer

pytestmark = pytest.mark.slow


THEMES = "What are the main themes of these documents?"
DETAIL = "Who approves trips abroad?"


@pytest.fixture
def store(sample_store, tmp_path, monkeypatch):
    """A copy of the sample's index that may be written to."""
    copied = tmp_path / "sample.knot"
    shutil.copy(sample_store, copied)
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(copied))
    return copied


def test_a_question_about_the_whole_gets_an_overview_at_no_tokens(store):
    outcome = knotwork("ask", THEMES)
    assert outcome.code == 0
    assert outcome.out.startswith("The documents have 5 main themes:\n\n1. **")
    assert "Sources" in outcome.out
    assert outcome.err.startswith("global, ")
    assert "confidence" not in outcome.err
    assert "0 model tokens" in outcome.err


def test_the_object_names_the_mode(store):
    overview = knotwork("ask", THEMES, "--json").json
    assert (overview["mode"], overview["answered"]) == ("global", True)
    assert len(overview["citations"]) > 4
    assert knotwork("ask", DETAIL, "--json").json["mode"] == "basic"
    assert knotwork("ask", DETAIL, "--json", "--mode", "local").json["mode"] == "local"


@pytest.mark.parametrize("mode", ASK_MODES)
def test_every_mode_answers_without_a_model(store, mode):
    payload = knotwork("ask", DETAIL, "--json", "--mode", mode).json
    assert payload["citations"]
    assert payload["usage"]["model_calls"] == 0


def test_an_unknown_mode_is_a_wrong_command(store):
    outcome = knotwork("ask", DETAIL, "--mode", "lokal")
    assert outcome.code == 2
    assert "Did you mean `local`?" in outcome.err


def test_an_index_that_cannot_be_written_to_answers_with_what_it_has(store):
    store.chmod(0o444)
    outcome = knotwork("ask", DETAIL, "--mode", "global", "--json")
    assert outcome.code == 0
    assert outcome.json["citations"]


def test_a_model_answers_in_a_mode_and_each_stage_has_its_cost(store, monkeypatch):
    with ModelTestServer() as server:
        monkeypatch.setenv("KNOTWORK_LLM_MODEL", "openai:knotwork-test")
        monkeypatch.setenv("KNOTWORK_LLM_BASE_URL", server.url)
        payload = knotwork("ask", THEMES, "--mode", "map-reduce", "--json").json
        told = knotwork("ask", DETAIL, "--mode", "map-reduce").err
    assert payload["model"] == "openai:knotwork-test"
    stages = payload["usage"]["stages"]
    assert {"rate", "map", "reduce"} <= stages.keys()
    spent = sum(stage["input_tokens"] + stage["output_tokens"] for stage in stages.values())
    assert spent == payload["usage"]["input_tokens"] + payload["usage"]["output_tokens"]
    assert re.search(r"in \d+ calls: .*\brate \d", told), told


def test_modes_are_completed(store):
    from knotwork._cli.commands.ask import ask_command

    mode = next(option for option in ask_command.params if option.name == "mode")
    completed = mode.shell_complete(click.Context(ask_command), "l")
    assert [item.value for item in completed] == ["local"]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (Progress(Stage.STEP, note="map", done=2, total=7), "Map, 2 of 7"),
        (Progress(Stage.STEP, note="reduce", total=1), "Reduce"),
    ],
)
def test_a_step_is_shown_with_its_progress(event, text):
    assert describe_step(event) == text
