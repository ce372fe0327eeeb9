"""Copy an index to another store, such as from a file to a server, by their URLs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing

from knotwork._stores.base import Store
from knotwork._stores.transfer.copying import CopyEvent, check_left_out, copy_store
from knotwork._stores.urls import open_store


def copy_index(
    source_url: str, target_url: str, *, without: Collection[str] = (), verify: bool = True
) -> Iterator[CopyEvent]:
    """Copy the index at a URL or path to another one, and yield the steps.

    The last event has the report. See `KnowledgeBase.copy`.
    """
    with closing(open_store(source_url, read_only=True)) as source:
        yield from copy_to(source, target_url, without=without, verify=verify)


def copy_to(
    source: Store, target_url: str, *, without: Collection[str] = (), verify: bool = True
) -> Iterator[CopyEvent]:
    """Copy an open store to the one at a URL or path, which is created if it is missing."""
    check_left_out(without)
    with closing(open_store(target_url, create=True)) as target:
        yield from copy_store(source, target, without=without, verify=verify)
