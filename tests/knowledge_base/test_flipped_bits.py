"""An index with a flipped bit gives the right answers or says that it is damaged.

`benchmarks/integrity/measure.py` does the same with 60 indexes of real documents.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from tests.knowledge_base.damaged_index import (
    PAGE_BYTES,
    ask,
    build,
    damaged_bits,
    page_kinds,
    rebuild_communities,
    settings,
    write_documents,
)
from tests.stores.raw_files import flip

import knotwork
from knotwork._config import StoreSettings
from knotwork._extensions.diagnosis.index import check_index
from knotwork.errors import IndexDamaged

pytestmark = pytest.mark.slow

FLIPS = 24
ONLY_IN_BACKUPS = (
    "sqlite_schema",
    "correction",
    "same_as",
    "same_as_by_second",
    "homonym",
    "sense",
    "entity_summary",
    "property_graph",
    "property_node",
    "property_relationship",
    "sqlite_autoindex_property_graph_1",
)
"""Tables and indexes that no document restores."""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flips")
    write_documents(folder / "docs")
    build(folder / "index.knot", folder / "docs")
    return folder / "index.knot"


@pytest.fixture(scope="module")
def right(index: Path) -> list[object]:
    return ask(index)


def cases(index: Path) -> list[tuple[int, int]]:
    return list(damaged_bits(index, count=FLIPS, seed=28))


@pytest.mark.parametrize("number", range(FLIPS))
def test_a_flipped_bit_is_reported_or_changes_no_answer(
    index: Path, right: list[object], number: int
) -> None:
    intact = index.read_bytes()
    offset, mask = cases(index)[number]
    try:
        flip(index, offset, mask)
        with suppress(IndexDamaged):
            assert ask(index) == right
        checks = check_index(StoreSettings(path=str(index)), full=True).checks
        assert not all(check.ok for check in checks)
    finally:
        index.write_bytes(intact)


def test_repair_brings_flipped_bits_back(index: Path, right: list[object], tmp_path: Path) -> None:
    """Several at once, each on a page of another kind that the documents bring back."""
    copy = tmp_path / "index.knot"
    copy.write_bytes(index.read_bytes())
    tables = index.with_name(f"{index.name}-tables")
    tables_copy = copy.with_name(f"{copy.name}-tables")
    tables_copy.write_bytes(tables.read_bytes())
    kinds = page_kinds(index)
    only_in_backups = {page for kind in ONLY_IN_BACKUPS for page in kinds.get(kind, ())}
    for offset, mask in cases(index):
        if offset // PAGE_BYTES + 1 not in only_in_backups:
            flip(copy, offset, mask)
    report = knotwork.repair(copy, settings=settings())
    assert report.changed
    assert report.lost == []
    rebuild_communities(copy)
    assert ask(copy) == right
    checks = check_index(StoreSettings(path=str(copy)), full=True).checks
    assert [check for check in checks if not check.ok] == []


@pytest.mark.parametrize(("table", "what"), [("same_as", "aliases"), ("homonym", "homonyms")])
def test_unrestorable_parts_are_named(index: Path, tmp_path: Path, table: str, what: str) -> None:
    copy = tmp_path / "index.knot"
    copy.write_bytes(index.read_bytes())
    flip(copy, page_kinds(index)[table][0] * PAGE_BYTES - 1_000)
    report = knotwork.repair(copy, settings=settings())
    assert report.lost == [f"some decisions about {what}"]


def test_documents_keep_their_names_where_the_indexed_folders_are_forgotten(
    index: Path, right: list[object], tmp_path: Path
) -> None:
    copy = tmp_path / "index.knot"
    copy.write_bytes(index.read_bytes())
    tables = index.with_name(f"{index.name}-tables")
    copy.with_name(f"{copy.name}-tables").write_bytes(tables.read_bytes())
    kinds = page_kinds(index)
    for kind in ("meta", "relation", "entity", "section", "chunk_reading", "document_field"):
        flip(copy, kinds[kind][0] * PAGE_BYTES - 1_000)
    report = knotwork.repair(copy, settings=settings())
    assert report.from_text == []
    rebuild_communities(copy)
    assert ask(copy) == right
