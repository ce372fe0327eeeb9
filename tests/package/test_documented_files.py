"""Files that ARCHITECTURE.md, CONTRIBUTING.md, the decisions and the pages of parts name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`((?:[\w-]+/)*[\w-]+(?:\.py|/))`")
PAGES = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    *(f"docs/{folder}" for folder in ("decisions", "parts")),
]
BUILT = "src/knotwork/_extensions/server/web"


@pytest.mark.parametrize("page", PAGES)
def test_the_files_that_a_page_names_exist(page):
    folders = ("src", "tests", "deploy", "benchmarks", "scripts", "training", "web/src")
    paths = [f"/{name}" for name in (*folders, "web", BUILT)]
    for folder in folders:
        paths += [f"/{path.relative_to(ROOT)}" for path in (ROOT / folder).rglob("*")]
    files = sorted((ROOT / page).glob("*.md")) if (ROOT / page).is_dir() else [ROOT / page]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    named = {name.rstrip("/") for name in NAMED.findall(text) if "NAME" not in name}
    assert named
    missing = {name for name in named if not any(path.endswith(f"/{name}") for path in paths)}
    assert not missing
