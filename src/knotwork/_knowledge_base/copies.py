"""Copy an index to another store, such as from a file to a server, by their URLs.

Of the files beside an index, the tables of spreadsheets follow from its documents and are copied
too, if both stores are files.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from knotwork._config import StoreSettings
from knotwork._durable_files import sync_folder
from knotwork._knowledge_base.backups import copy_file, sqlite_file, verify_copy
from knotwork._sqlite_file import FILE_KINDS, TABLES_SUFFIX
from knotwork._stores.base import Store
from knotwork._stores.transfer.copying import CopyEvent, check_left_out, copy_store
from knotwork._stores.urls import index_file, open_store


def copy_index(
    source_url: str,
    target_url: str,
    *,
    without: Collection[str] = (),
    verify: bool = True,
    limits: StoreSettings | None = None,
) -> Iterator[CopyEvent]:
    """Copy the index at a URL or path to another one, and yield the steps.

    The last event has the report. ``limits`` are the pool and the time-outs of stores on a server,
    without that of an idle transaction: the one that reads the source is idle while the target is
    written. See `KnowledgeBase.copy`.
    """
    patient = replace(limits or StoreSettings(), idle_timeout_s=0)
    with closing(open_store(source_url, read_only=True, limits=patient)) as source:
        yield from copy_to(source, target_url, without=without, verify=verify, limits=limits)


def copy_to(
    source: Store,
    target_url: str,
    *,
    without: Collection[str] = (),
    verify: bool = True,
    limits: StoreSettings | None = None,
) -> Iterator[CopyEvent]:
    """Copy an open store to the one at a URL or path, which is created if it is missing."""
    check_left_out(without)
    with closing(open_store(target_url, create=True, limits=limits)) as target:
        steps = copy_store(source, target, without=without, verify=verify)
        yield next(steps)  # now the target is known to be an empty one or this copy
        yield from _copy_tables(source.url, target.url)
        for event in steps:
            if event.report is None:
                yield event
            else:
                beside = _kinds_left(source.url, target.url)
                yield replace(event, report=replace(event.report, beside=beside))


def _copy_tables(source_url: str, target_url: str) -> Iterator[CopyEvent]:
    """Copy the tables beside an index file to another one, and verify the copy."""
    source, target = _beside(source_url, TABLES_SUFFIX), _beside(target_url, TABLES_SUFFIX)
    if source is None or target is None or not source.exists():
        return
    unfinished = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
    try:
        for event in copy_file(sqlite_file(source, TABLES_SUFFIX), unfinished):
            yield CopyEvent("copying tables", event.done, event.total)
        verify_copy(sqlite_file(unfinished, TABLES_SUFFIX))
        unfinished.replace(target)
        sync_folder(target.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def _kinds_left(source_url: str, target_url: str) -> tuple[str, ...]:
    """Return the kinds of the files beside the source that the target lacks."""
    return tuple(
        kind
        for suffix, kind in FILE_KINDS.items()
        if suffix and _exists(source_url, suffix) and not _exists(target_url, suffix)
    )


def _exists(url: str, suffix: str) -> bool:
    path = _beside(url, suffix)
    return path is not None and path.exists()


def _beside(url: str, suffix: str) -> Path | None:
    """Return the path of a file beside an index file; None for a store of another kind."""
    path = index_file(url)
    return None if path is None else path.with_name(path.name + suffix)
