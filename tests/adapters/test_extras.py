"""Where a library is missing, importing its adapter says which extra brings it."""

import subprocess
import sys

import pytest

CODE = """
import sys
sys.modules["{library}"] = None
from knotwork.errors import MissingExtra
try:
    {use}
except MissingExtra as error:
    assert error.extra == "{extra}", error.extra
else:
    raise AssertionError
"""


@pytest.mark.parametrize(
    ("library", "extra", "use"),
    [
        ("langchain_core", "langchain", "import knotwork.adapters.langchain"),
        ("llama_index", "llama-index", "import knotwork.adapters.llama_index"),
        ("haystack", "haystack", "import knotwork.adapters.haystack"),
        ("mcp", "mcp", "from knotwork.mcp_server import check_sdk; check_sdk()"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(library, extra, use):
    code = CODE.format(library=library, extra=extra, use=use)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
