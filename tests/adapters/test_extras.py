"""Importing an adapter without its library names the extra that installs it."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


CODE = """
import importlib, sys
for name in ("langchain_core", "llama_index", "haystack", "mcp"):
    sys.modules[name] = None
from knotwork.errors import MissingExtra
from knotwork.mcp_server import check_sdk

uses = {
    "langchain": lambda: importlib.import_module("knotwork.adapters.langchain"),
    "llama-index": lambda: importlib.import_module("knotwork.adapters.llama_index"),
    "haystack": lambda: importlib.import_module("knotwork.adapters.haystack"),
    "mcp": check_sdk,
}
for extra, use in uses.items():
    try:
        use()
    except MissingExtra as error:
        assert error.extra == extra, error.extra
    else:
        raise AssertionError(extra)
"""


def test_a_missing_library_is_named_with_its_extra():
    subprocess.run([sys.executable, "-c", CODE], check=True, timeout=60)
