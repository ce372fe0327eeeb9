"""The commands take the URL of an index on a server, and never show or write its password."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.running import knotwork

pytestmark = pytest.mark.slow

_SECRET = "s3cret"


@pytest.fixture
def url(postgres_url: str) -> str:
    return postgres_url.replace("postgres@", f"postgres:{_SECRET}@")


def run(*arguments: object, code: int = 0) -> str:
    outcome = knotwork(*arguments, "--set", "embedding.model=none")
    said = outcome.out + outcome.err
    assert outcome.code == code, said
    assert _SECRET not in said
    assert not [path for path in Path().rglob("*") if _SECRET in path.name]
    return said


def test_an_index_is_built_searched_and_checked_on_a_server(url: str, tmp_path: Path) -> None:
    (tmp_path / "bridges.md").write_text("# Bridges\n\nAnn Teal designed the bridge of Corvane.\n")
    indexed = run("--store", url, "index", "bridges.md")
    assert f"in postgresql:///postgres?index={url.rpartition('=')[2]}" in indexed.replace("\n", "")
    assert "bridges.md" in run("--store", url, "search", "bridge of Corvane")
    assert "Ann Teal" in run("--store", url, "ask", "Who designed the bridge of Corvane?")
    assert "1 unchanged" in run("--store", url, "index", "bridges.md")
    checked = run("--store", url, "doctor", "--full")
    assert "1 document" in checked
    assert "postgresql://" in run("--store", url, "config", "show")
    assert "Removed bridges.md" in run("--store", url, "delete", "bridges.md")


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("backup", "URL", "copy"), "pg_dump"),
        (("repair", "URL"), "Restore a backup of its database"),
        (("restore", "copy", "URL"), "pg_restore"),
    ],
)
def test_requests_that_need_a_file_say_what_to_do(
    arguments: tuple[str, ...], advice: str, url: str
) -> None:
    said = run(*(url if word == "URL" else word for word in arguments), code=2)
    assert advice in " ".join(said.split())
