"""Rules that hold for every source file, and that no linter checks."""

import ast
import gc
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "knotwork"


@pytest.fixture(scope="module")
def trees():
    """Return the syntax tree of each module by its path."""
    gc.disable()  # it would look through the growing trees again and again
    try:
        return {
            file.relative_to(SOURCE).as_posix(): ast.parse(file.read_bytes())
            for file in sorted(SOURCE.rglob("*.py"))
        }
    finally:
        gc.enable()


TEXTS = [
    *SOURCE.rglob("*.py"),
    *(ROOT / "tests").rglob("*.py"),
    *(ROOT / "docs").rglob("*.md"),
    *ROOT.glob("*.md"),
    *ROOT.glob("*.toml"),
    *ROOT.glob("*.txt"),
]
OTHER_LOGGERS = {"psycopg", "pypdfium2"}


@cache
def names_and_calls(tree: ast.AST) -> tuple[set[str], dict[str, list[ast.Call]]]:
    """Return what `names_used` and `calls_of` return, read in one walk."""
    names, calls = set(), defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            calls[name].append(node)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names.add(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.ImportFrom):
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names, calls


def names_used(tree: ast.AST) -> set[str]:
    """Return "module.name" of each attribute that is used and each name that is imported."""
    return names_and_calls(tree)[0]


def calls_of(tree: ast.AST) -> dict[str, list[ast.Call]]:
    """Return the calls of each function by its last name, as "getLogger" of logging.getLogger."""
    return names_and_calls(tree)[1]


def test_only_the_settings_read_the_environment(trees):
    # Variables of their own say what a terminal can show and which shell runs, and the
    # telemetry of two libraries and the waits of threads can be set by one alone.
    reading = {"os.environ", "os.environb", "os.getenv", "os.getenvb"}
    found = {name for name, tree in trees.items() if names_used(tree) & reading}
    assert {name for name in found if not name.startswith("_config/")} <= {
        "_cli/terminal.py",
        "_cli/commands/setup.py",
        "_extensions/ray/cluster.py",
        "_extensions/local_models/gguf_process.py",
        "_extensions/local_models/encoder.py",
    }


def test_nothing_below_the_command_line_prints(trees):
    streams = {"sys.stdout", "sys.stderr"}
    found = {
        name
        for name, tree in trees.items()
        if names_used(tree) & streams
        or any(isinstance(call.func, ast.Name) for call in calls_of(tree)["print"])
    }
    commands = (
        "_cli/",
        "_extensions/server/commands.py",
        "_extensions/prompts/commands.py",
        "_extensions/schemas/commands.py",
        "_extensions/evaluation/",
        "_extensions/graphs/",
    )
    outside = {name for name in found if not name.startswith(commands)}
    assert {name for name in outside if not name.endswith("/commands.py")} == set()


def test_public_names_are_listed_once_and_in_order(trees):
    for name, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                listed = ast.literal_eval(node.value)
                functions = [item for item in listed if item.islower()]
                assert len(set(listed)) == len(listed), name
                assert functions == sorted(functions), name


def test_every_module_says_what_it_is(trees):
    assert [name for name, tree in trees.items() if not ast.get_docstring(tree)] == []


def test_loggers_are_named_by_area(trees):
    for name, tree in trees.items():
        for call in calls_of(tree)["getLogger"]:
            if ast.unparse(call.func) == "logging.getLogger":
                (argument,) = call.args
                logger = ast.literal_eval(argument)
                assert logger in OTHER_LOGGERS or re.fullmatch(r"knotwork(\.[a-z_]+)?", logger), (
                    name
                )


def test_modules_are_named_after_things(trees):
    banned = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}
    assert [name for name in trees if Path(name).stem in banned or "_impl" in name] == []


def test_no_file_names_a_package_index_or_a_folder_of_one_machine():
    # Written in two parts, so that this file names none either.
    banned = [
        first + second
        for first, second in [
            ("pypi", ".org"),
            ("python", "hosted"),
            ("--index", "-url"),
            ("/ro", "ot/"),
            ("/wo", "rk/"),
        ]
    ]
    for file in TEXTS:
        text = file.read_text(encoding="utf-8")
        assert not [part for part in banned if part in text], file
