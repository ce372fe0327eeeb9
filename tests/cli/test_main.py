"""The entry point: help, errors, exit codes, start-up."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.running import knotwork

from knotwork._cli.main import COMMANDS
from knotwork.errors import ConfigError

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[2]
SCREEN_LINES = 40
LIST_LINES = 58
"""Of the list of all commands."""


def load_docs_builder():
    spec = importlib.util.spec_from_file_location("build_docs", ROOT / "scripts" / "build_docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


docs = load_docs_builder()
COMMAND_LINES = list(docs.command_lines())


@pytest.mark.parametrize("words", COMMAND_LINES, ids=lambda words: " ".join(words) or "knotwork")
def test_help_fits_a_screen_and_shows_examples(words):
    outcome = knotwork(*words, "--help")
    lines = outcome.out.splitlines()
    assert outcome.code == 0
    assert outcome.err == ""
    assert len(lines) <= (SCREEN_LINES if words else LIST_LINES)
    assert max(map(len, lines)) <= 80
    if words not in {("graph",), ("schema",), ("config",), ("train",), ("models",), ("prompts",)}:
        examples = outcome.out.split("Examples:\n")[1].splitlines()
        assert len([line for line in examples if line.startswith("    knotwork")]) == 3
    assert outcome.out.rstrip() == docs.render_help(words)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_the_generated_parts_of_the_docs_are_current(page):
    text = page.read_text(encoding="utf-8")
    assert docs.rebuild(text) == text, "run python scripts/build_docs.py"


def test_every_command_is_documented():
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for words in COMMAND_LINES[1:]:
        assert f"### `knotwork {' '.join(words)}`" in text


def test_nothing_to_do_shows_the_help():
    assert knotwork().out == knotwork("--help").out


def test_the_version_matches_the_package():
    import knotwork as package

    assert knotwork("--version").out == f"knotwork {package.__version__}\n"


@pytest.mark.parametrize(
    ("line", "code", "message", "fix"),
    [
        (["serach", "x"], "unknown_name", "Unknown command `serach`", "Did you mean `search`?"),
        (["ask"], "usage_error", "Missing argument 'QUESTION'", "See: knotwork ask --help"),
        (["ask", "x", "--jsno"], "usage_error", "--jsno", "Did you mean `--json`?"),
        (["--stor", "x", "ask", "y"], "usage_error", "`--stor`", "Did you mean `--store`?"),
        (["index", ".", "--index", "x"], "usage_error", "`--store`, `--tier`", "index --help"),
        (["index", ".", "--quite"], "usage_error", "`--quite`", "Did you mean `--quiet`?"),
        (["init", "absent"], "config_error", "absent/knotwork.toml", "Choose an existing folder"),
        (["documents", "--set", "answer.abstain_below=7"], "config_error", "from 0 to 1", "It is"),
        (["search", "x", "-k", "0"], "usage_error", "not in the range x>=1", "See: "),
        (["explore", "x", "--direction", "bth"], "unknown_name", "`bth`", "`both`"),
        (["graph", "export", "--format", "jsn"], "unknown_name", "`jsn`", "`json`"),
        (["graph", "export", "--format", "csv"], "config_error", "--output", "--output"),
        (["index", ".", "--progress", "bra"], "unknown_name", "`bra`", "`bar`"),
        (["--color", "alway", "documents"], "unknown_name", "`alway`", "`always`"),
        (["documents", "--set", "index.chunk_token=3"], "unknown_name", "chunk_token", "_tokens"),
        (["documents", "--set", "index.chunk_tokens"], "config_error", "no value", "KEY=VALUE"),
        (["documents", "--set", "index.chunk_tokens=few"], "config_error", "`few`", ""),
        (["documents", "--config", "absent.toml"], "config_error", "absent.toml", "knotwork init"),
        (["documents", "--store", "absent.knot"], "store_not_found", "absent.knot", ""),
        (["ask", " "], "config_error", "question is empty", "knotwork ask"),
        (["ask", "x", "--store", "absent.knot"], "store_not_found", "absent.knot", ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)  # fmt: skip
def test_a_wrong_command_line_says_what_and_what_to_do(line, code, message, fix):
    outcome = knotwork(*line)
    assert outcome.code == 2
    assert outcome.out == ""
    first, *rest = outcome.err.splitlines()
    assert first.startswith("error: ")
    assert message in first
    assert fix in "\n".join(rest)
    assert all(line.startswith("fix: ") for line in rest)

    as_json = knotwork(*line, "--json")
    assert as_json.code == 2
    assert set(as_json.json) == {"error"}
    assert as_json.json["error"]["code"] == code
    assert message in as_json.json["error"]["message"]
    assert fix in as_json.json["error"]["fix"]


def test_a_broken_settings_file_is_named(tmp_path):
    Path("knotwork.toml").write_text("[store\n", encoding="utf-8")
    outcome = knotwork("config", "show")
    assert outcome.code == 2
    assert "knotwork.toml" in outcome.err


def test_an_object_about_an_export_needs_a_file_for_the_graph():
    error = knotwork("graph", "export", "--json").json["error"]
    assert error["message"] == "An export with --json requires --output."


def test_an_unknown_section_is_reported_with_its_file():
    Path("knotwork.toml").write_text("[stroe]\n", encoding="utf-8")
    outcome = knotwork("config", "show")
    assert "Unknown section `stroe` in knotwork.toml. Valid: " in outcome.err
    assert "Did you mean `store`?" in outcome.err


def test_an_unknown_variable_is_refused(monkeypatch):
    monkeypatch.setenv("KNOTWORK_STORE_PAHT", "x.knot")
    outcome = knotwork("config", "show")
    assert outcome.code == 2
    assert "KNOTWORK_STORE_PATH" in outcome.err


def test_debug_shows_the_traceback():
    plain = knotwork("documents", "--store", "absent.knot")
    debug = knotwork("documents", "--store", "absent.knot", "--debug")
    assert "Traceback" not in plain.err
    assert "Traceback" in debug.err
    assert debug.err.endswith(plain.err)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_output_that_cannot_be_written_is_reported_in_one_line(options, unbuffered, monkeypatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no device that is always full")
    command = [sys.executable, "-m", "knotwork", "config", "show", *options]
    with full.open("w") as stream:
        done = subprocess.run(
            command, stdout=stream, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first.startswith("error: ")
    assert second.startswith("fix: Free some space")


def test_an_internal_error_is_reported_as_one(monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("knotwork._config.load_settings", fail)
    outcome = knotwork("config", "show", "--json")
    assert outcome.code == 1
    assert outcome.json["error"]["code"] == "internal_error"
    assert outcome.json["error"]["message"] == "ZeroDivisionError: by zero"
    assert "Traceback" not in outcome.err
    assert "Traceback" in knotwork("config", "show", "--debug").err


def test_a_file_that_is_no_index_is_refused():
    Path("notes.txt").write_text("not an index " * 100, encoding="utf-8")
    outcome = knotwork("documents", "--store", "notes.txt")
    assert outcome.code in {1, 2}
    assert "notes.txt" in outcome.err
    assert "Traceback" not in outcome.err


def test_a_place_that_cannot_be_written_is_named():
    Path("file").write_text("", encoding="utf-8")
    outcome = knotwork("init", "file/below", "--json")
    assert outcome.code in {1, 2}
    assert "file/below" in outcome.json["error"]["message"]


HEAVY = {"numpy", "scipy", "torch", "transformers", "sentence_transformers", "lxml", "rjieba"}


RUN_AND_LIST = """
import sys
from knotwork._cli.main import run
code = run(sys.argv[1:])
print(*sys.modules, sep="\\n", file=sys.stderr)
sys.exit(code)
"""


def imported_by(*arguments: object) -> set[str]:
    """Return the modules that a command line imports in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", RUN_AND_LIST, *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["ask", "--help"], ["config", "show"]], ids=" ".join
)
def test_commands_without_an_index_import_nothing_heavy(arguments):
    modules = {name.partition(".")[0] for name in imported_by(*arguments)}
    assert "knotwork" in modules
    assert modules & HEAVY == set()


def test_one_command_does_not_import_the_others():
    modules = imported_by("config", "show")
    commands = {name for name in modules if name.startswith("knotwork._cli.commands.")}
    assert commands == {"knotwork._cli.commands.setup"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["explore", "Heron buoy"],
        ["graph", "stats"],
        ["documents"],
        ["search", "salt layer", "--retriever", "bm25"],
    ],
    ids=" ".join,
)
def test_work_without_an_embedder_imports_none(arguments, sample_store):
    modules = {name.partition(".")[0] for name in imported_by(*arguments, "--store", sample_store)}
    assert "knotwork" in modules
    assert modules & {"torch", "transformers", "sentence_transformers", "scipy", "docx"} == set()


UNUSED_BY_A_QUESTION = {
    "docx",
    "lxml",
    "markdown_it",
    "openpyxl",
    "pptx",
    "pypdfium2",
    "rjieba",
    "scipy",
    "sentence_transformers",
    "sklearn",
    "torch",
    "transformers",
    "http.client",
    "knotwork._extensions.cypher.language",
    "knotwork._indexing.loaders",
    "knotwork._extensions.served_models.http",
    "knotwork._extensions.paths",
    "knotwork._transform",
}


@pytest.mark.parametrize("command", ["ask", "search"])
def test_a_question_without_a_model_imports_only_what_finds_passages(command):
    text = "Ada Brook designed the Heron buoy. Trips abroad are approved by the Travel Office."
    Path("note.txt").write_text(text, encoding="utf-8")
    assert knotwork("index", "note.txt").code == 0  # by the default embedder, if installed
    modules = imported_by(command, "Who designed the Heron buoy?")
    assert "knotwork._stores.embedded" in modules
    assert modules & UNUSED_BY_A_QUESTION == set()


def test_output_that_nobody_reads_is_no_error(sample_store):
    command = [sys.executable, "-m", "knotwork", "graph", "export", "--store", str(sample_store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(10)
        process.stdout.close()
        err = process.stderr.read()
        process.wait(timeout=60)
    assert err == b""


def test_a_pipe_gets_no_control_codes(sample_store):
    done = subprocess.run(
        [sys.executable, "-m", "knotwork", "ask", "Who designed it?", "--store", sample_store],
        capture_output=True,
        check=True,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    assert b"\x1b" not in done.stdout + done.stderr


def test_options_may_stand_before_the_command(sample_store):
    before = knotwork("--json", "--store", sample_store, "graph", "stats")
    after = knotwork("graph", "stats", "--store", sample_store, "--json")
    assert json.loads(before.out) == json.loads(after.out)
    assert "graph" in COMMANDS.names()


def test_an_error_in_a_line_of_text_is_two_sentences():
    assert str(ConfigError("The key is wrong", fix="Check it.")) == "The key is wrong. Check it."
    assert str(ConfigError("It is wrong.", fix="Check it.")) == "It is wrong. Check it."
    assert str(ConfigError("It is wrong")) == "It is wrong"


def test_an_index_in_a_place_that_is_no_folder_says_what_to_name(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    outcome = knotwork("index", str(tmp_path), "--store", str(tmp_path / "file" / "a.knot"))
    assert outcome.code != 0
    assert "fix:" in outcome.err
