"""Ids with few bits, so that two natural keys often have the same one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from knotwork._stores.sql.graph_tables import relation_key
from knotwork.records import _documents, entity_id


@contextmanager
def short_ids(bits: int) -> Iterator[None]:
    """Make all new ids have this many bits in the block; open only new stores in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_documents, "_MASK", (1 << bits) - 1)
        try:
            _forget_ids()
            yield
        finally:
            _forget_ids()


def _forget_ids() -> None:
    entity_id.cache_clear()
    relation_key.cache_clear()
