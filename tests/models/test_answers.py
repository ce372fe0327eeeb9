"""Indexing and answers with a model that gets nearly everything wrong: no citation may be wrong."""

import json
import subprocess
import sys

import pytest
from tests.indexing.office_files import small_picture

import knotwork
from knotwork._indexing.loaders.loader import can_recognise

TEXT = """\
# Bridges of Tartu

The stone bridge of Tartu was opened in 1784. It was destroyed in 1941.
Peeter Varep designed the arched bridge of Tartu. Marta Ilves led its repairs in 2010.
The cables of the arched bridge are replaced every 25 years.
"""
SETTINGS = """\
[llm]
model = "gguf:{model}"
max_output_tokens = 48
context_window = 4096
[embedding]
model = "hashing:64"
[store]
path = "{store}"
"""
MODES = ("auto", "basic", "local", "global", "map-reduce", "hybrid", "drift")


@pytest.fixture(scope="module", params=["lean", "full"])
def index(request, model_file, tmp_path_factory):
    """An index of each tier, as (folder, report of the indexing)."""
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "docs").mkdir()
    (folder / "docs" / "bridges.md").write_text(TEXT)
    settings = SETTINGS.format(model=model_file, store=folder / "index.knot")
    (folder / "knotwork.toml").write_text(settings)
    report = run_command(folder, "index", "docs", "--tier", request.param)
    return folder, report, request.param


@pytest.fixture(scope="module")
def base(index):
    """The index, opened once: its model is loaded once for all modes."""
    with knotwork.open(settings=index[0] / "knotwork.toml", read_only=True) as opened:
        yield opened


def run_command(folder, *arguments, given=None, codes=(0,)):
    """Run a command and return the JSON object that it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "knotwork", *arguments, "--json"],
        cwd=folder, input=given, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in codes, done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def check_citations(answer):
    """Every citation quotes the document."""
    for citation in answer["citations"]:
        assert citation["quote"] in TEXT, citation


def test_the_report_counts_what_the_model_read(index):
    _, report, tier = index
    assert report["chunks"] >= 1
    model = report.get("model") or {}
    assert ("extract" in model.get("usage", {})) == (tier == "full"), report
    if tier == "full":
        assert model["readings"], report
    assert report["index"]["documents"] == 1


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_answers_and_cites_only_what_the_document_says(base, mode):
    answer = base.ask("Who designed the arched bridge of Tartu?", mode=mode)
    for citation in answer.citations:
        assert citation.quote in TEXT, citation
    assert 0 <= answer.confidence <= 1


def test_a_command_cites_only_what_the_document_says(index):
    folder, _, _ = index
    answer = run_command(folder, "ask", "Who led the repairs of the arched bridge?", codes=(0, 1))
    check_citations(answer)


@pytest.mark.parametrize(
    "index", [pytest.param("lean", marks=pytest.mark.nightly), "full"], indirect=True
)
def test_an_agent_ends_with_an_answer(index):
    folder, _, _ = index
    answer = run_command(folder, "agent", "Who led the repairs of the arched bridge?", codes=(0, 1))
    check_citations(answer)


@pytest.mark.parametrize("index", ["full"], indirect=True)
def test_a_conversation_goes_on_after_every_turn(index):
    folder, _, _ = index
    turns = "Who designed the arched bridge of Tartu?\nAnd who led its repairs?\n/quit\n"
    done = subprocess.run(
        [sys.executable, "-m", "knotwork", "chat", "--json"],
        cwd=folder, input=turns, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    answers = [answer for answer in answers if "citations" in answer]
    assert len(answers) == 2
    for answer in answers:
        check_citations(answer)


@pytest.mark.parametrize("index", ["full"], indirect=True)
@pytest.mark.parametrize("retriever", ["text_to_cypher"])
def test_queries_written_by_the_model_are_checked_before_they_run(index, retriever):
    folder, _, _ = index
    question = "How many people are there?"
    answer = run_command(folder, "ask", question, "--retriever", retriever, codes=(0, 1))
    check_citations(answer)
    for result in answer.get("results", []):
        assert result["statement"].strip().upper().startswith(("MATCH", "WITH", "UNWIND", "RETURN"))


@pytest.mark.nightly
@pytest.mark.parametrize("index", ["full"], indirect=True)
def test_the_trials_of_the_model_name_what_it_cannot_do(index):
    folder, _, _ = index
    done = subprocess.run(
        [sys.executable, "-m", "knotwork", "models", "measure", "--json"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    (found,) = json.loads(done.stdout)["models"]
    assert found["error"] == ""
    assert len(found["trials"]) == 4
    assert found["output_tokens_per_s"] > 0
    assert done.returncode == int(all(trial["fault"] for trial in found["trials"]))


@pytest.mark.nightly
@pytest.mark.skipif(not can_recognise(), reason="the extra `ocr` is not installed")
def test_a_model_that_does_not_see_describes_no_picture(model_file, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "pump.png").write_bytes(small_picture())
    settings = SETTINGS.format(model=model_file, store=tmp_path / "index.knot")
    (tmp_path / "knotwork.toml").write_text(f'{settings}[index]\npictures = "model"\n')
    report = run_command(tmp_path, "index", "docs", "--tier", "full")
    assert (report["added"], report["skipped"]) == (1, [])
    (note,) = [note for note in report["notes"] if "described" in note]
    assert "image input is not supported" in note
