"""The Python blocks of docs/graphs.md run, in order, and print what the page shows."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "graphs.md").read_text(encoding="utf-8")
BLOCKS = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


def test_the_page_shows_what_its_code_prints():
    names, shown = {}, 0
    for code, expected in BLOCKS.findall(PAGE):
        out = StringIO()
        with redirect_stdout(out):
            exec(compile(code, "docs/graphs.md", "exec"), names)
        assert out.getvalue() == expected, code
        shown += bool(expected)
    assert shown == PAGE.count("```text") >= 7
