"""What the server says is translated: each message has an entry in the catalogue of the pages."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import knotwork
from knotwork import errors

SOURCE = Path(knotwork.__file__).parent
WEB = Path(__file__).parents[2] / "web"
CATALOGUE = json.loads((WEB / "zh.json").read_text("utf-8"))["server"]

KINDS = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.KnotworkError)
}
ELSEWHERE = {
    *("commands.py", "connections.py", "keys.py", "private_files.py", "server.py"),
    *("mcp_endpoint.py", "openai.py", "operations.py"),
}
"""Modules of the server whose errors end its start, or answer programs."""

PLACES = {
    "the server": (["_extensions/server"], set(KINDS)),
    "files": (
        [
            *("_indexing", "_extensions/archives", "_extensions/formats"),
            *("_extensions/media", "_extensions/pdf"),
        ],
        {"LoadError", "broken_file_error"},
    ),
    "filters": (["_extensions/filters", "_retrieval/filters.py"], {"FilterError"}),
    "metadata": (["_indexing/metadata_edits.py"], {"InvalidRequest"}),
    "corrections": (["_extensions/graphs/corrections.py"], {"ConfigError"}),
}
UNSAID = {"{}: {}"}
"""Errors of the program itself, which are said by their reason."""


def template(node: ast.expr) -> str | None:
    """Return a text with its parameters as `{}`; None for what is no text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
        return "".join(map(str, parts))
    return None


def messages(path: Path, kinds: set[str]) -> Iterator[str]:
    """Yield the texts of the errors that a module raises, and what they advise."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        if node.func.id in kinds:
            given = [*node.args, *(k.value for k in node.keywords if k.arg == "fix")]
            for one in given:
                either = [one.body, one.orelse] if isinstance(one, ast.IfExp) else [one]
                yield from (t for t in map(template, either) if t and " " in t)


@pytest.mark.parametrize("name", PLACES)
def test_every_message_of_the_server_has_a_translation(name):
    folders, kinds = PLACES[name]
    found = [SOURCE / folder for folder in folders]
    files = [f for at in found for f in ([at] if at.is_file() else sorted(at.rglob("*.py")))]
    missing = {
        text: file.name
        for file in files
        if name != "the server" or file.name not in ELSEWHERE
        for text in messages(file, kinds)
        if text not in CATALOGUE and text not in UNSAID
    }
    assert not missing, "add these to web/zh.json"


def test_every_code_of_an_error_has_a_translation():
    codes = {kind.code for kind in KINDS.values()} | {"internal_error"}
    assert {f"#{code}" for code in codes} <= CATALOGUE.keys()


def test_translations_have_no_other_parameters_than_their_messages():
    for text, translation in CATALOGUE.items():
        used = {int(n) for n in re.findall(r"\{(\d)\}", translation)}
        assert used <= set(range(text.count("{}"))), text


def test_every_reason_of_a_failure_is_named_by_the_pages():
    reasons = {
        call.args[0].value
        for file in SOURCE.rglob("*.py")
        for call in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "LoadError"
        and isinstance(call.args[0], ast.Constant)
        and " " not in call.args[0].value
    }
    attention = (WEB / "src" / "pages" / "library" / "Attention.tsx").read_text("utf-8")
    named = re.search(r"\nconst REASONS\b.*?\{\n(.*?)\n\}", attention, re.DOTALL)
    assert named
    assert reasons <= set(re.findall(r"(\w+): \[", named[1]))
