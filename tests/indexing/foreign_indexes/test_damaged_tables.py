"""Tables with missing, odd and contradicting values give an index that is sound, or an error."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.foreign_indexes.foreign_files import current_tables, write_tables

from knotwork._extensions.graphs.foreign_indexes.index_importer import import_index
from knotwork._indexing.communities.index_reports import bring_up_to_date
from knotwork._stores.embedded import EmbeddedStore
from knotwork.errors import IndexingError

pytestmark = pytest.mark.slow


TABLES = sorted(current_tables())
ODD_TEXTS = [
    "",
    " ",
    "NONE",
    "-1",
    "ADA STONE",
    "u1",
    "e0",
    "…",
    "Ada\n\nStone",
    "[Data: Entities (x)]",
]

damages = st.lists(
    st.tuples(
        st.sampled_from(TABLES),
        st.integers(0, 9),
        st.integers(0, 11),
        st.none() | st.sampled_from(ODD_TEXTS) | st.integers(-2, 99),
    ),
    min_size=1,
    max_size=8,
)


def damage(
    tables: dict[str, list[dict[str, Any]]], table: str, row: int, column: int, value
) -> None:
    """Put another value of the same kind, or none, into a cell."""
    rows = tables[table]
    chosen = rows[row % len(rows)]
    name = list(chosen)[column % len(chosen)]
    before = chosen[name]
    if value is None:
        chosen[name] = None
    elif isinstance(before, str) and isinstance(value, str):
        chosen[name] = value
    elif isinstance(before, int | float) and isinstance(value, int):
        chosen[name] = type(before)(value)
    elif isinstance(before, list) and before and isinstance(before[0], str):
        chosen[name] = [*before, str(value)]
    elif isinstance(before, list):
        chosen[name] = []


@given(damages)
def test_damaged_tables_never_make_an_unsound_index(changes):
    tables = current_tables()
    for change in changes:
        damage(tables, *change)
    with TemporaryDirectory() as folder:
        place = write_tables(Path(folder, "p"), tables)
        store = EmbeddedStore.open(Path(folder, "index.knot"), create=True)
        fault = ""
        try:
            report = import_index(store, place)
        except IndexingError as error:
            fault = str(error)
            assert store.documents.document_count() == 0
        if fault:
            assert ".parquet" in fault
        else:
            assert report.held["entities"] == len(tables["entities"])
            assert report.brought["documents"] == store.documents.document_count()
            assert report.brought["entities"] == store.graph.entity_count()
            assert store.check() == []
            check_hierarchy(store)
            bring_up_to_date(store)
            assert store.check() == []
        store.close()


def check_hierarchy(store: EmbeddedStore) -> None:
    """Check that communities of a level share nothing, and lie within those above."""
    for level, keys in enumerate(store.communities.levels()):
        found = store.communities.communities(keys).values()
        members = [entity for community in found for entity in community.entity_ids]
        chunks = [chunk for community in found for chunk in community.chunk_ids]
        assert len(members) == len(set(members))
        assert len(chunks) == len(set(chunks))
        for community in found:
            assert community.level == level
            assert (community.parent_id is None) == (level == 0)
            if community.parent_id is not None:
                above = store.communities.communities([community.parent_id])[community.parent_id]
                assert set(community.entity_ids) <= set(above.entity_ids)
                assert set(community.chunk_ids) <= set(above.chunk_ids)
