"""Ids with few bits, so that two natural keys often have the same one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from knotwork import records
from knotwork.records import entity_id

_Cached = type(entity_id)


@contextmanager
def short_ids(bits: int) -> Iterator[None]:
    """Make all new ids have this many bits in the block; open only new stores in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "_MASK", (1 << bits) - 1)
        try:
            _forget_ids()
            yield
        finally:
            _forget_ids()


def _forget_ids() -> None:
    """Clear the caches of our functions that compute ids, which are named …_id and …_key."""
    for module in [module for name, module in sys.modules.items() if name.startswith("knotwork.")]:
        for name, value in vars(module).items():
            if name.endswith(("_id", "_key")) and isinstance(value, _Cached):
                value.cache_clear()
