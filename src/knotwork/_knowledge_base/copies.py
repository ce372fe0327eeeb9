"""Copy an index to another store, such as from a file to a server, by their URLs.

The tables of spreadsheets and the cached replies of models are copied with it. Facts of
conversations are not: they may be personal, and a server may have many users.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import replace

from knotwork._config import StoreSettings
from knotwork._inference.call_cache import CALLS, copy_calls
from knotwork._run import Progress, Steps, Verb
from knotwork._sqlite_file import FILE_KINDS, MEMORY_SUFFIX
from knotwork._stores.base import Store, companions_of, index_file, tables_of
from knotwork._stores.copying import CopyReport, check_left_out, copy_store
from knotwork._stores.urls import open_store
from knotwork.errors import StoreError, StoreReadOnly


@Verb
def copy_index(
    source_url: str,
    target_url: str,
    *,
    without: Collection[str] = (),
    verify: bool = True,
    limits: StoreSettings | None = None,
) -> Steps[CopyReport]:
    """Copy the index at a URL or path to another one, and return the report.

    ``limits`` are the pool and the time-outs of stores on a server,
    without that of an idle transaction: the one that reads the source is idle while the target is
    written. See `KnowledgeBase.copy`.
    """
    patient = replace(limits or StoreSettings(), idle_timeout_s=0)
    with closing(open_store(source_url, read_only=True, limits=patient)) as source:
        return (
            yield from copy_to(source, target_url, without=without, verify=verify, limits=limits)
        )


def copy_to(
    source: Store,
    target_url: str,
    *,
    without: Collection[str] = (),
    verify: bool = True,
    limits: StoreSettings | None = None,
) -> Steps[CopyReport]:
    """Copy an open store to the one at a URL or path, which is created if it is missing."""
    check_left_out(without)
    with closing(open_store(target_url, create=True, limits=limits)) as target:
        run = copy_store.run(source, target, without=without, verify=verify)
        yield next(run)  # now the target is known to be an empty one or this copy
        yield from _copy_tables(source, target)
        yield from _copy_calls(source, target)
        report = yield from run
        return replace(report, beside=_kinds_left(source, target))


def _copy_tables(source: Store, target: Store) -> Iterator[Progress]:
    tables, copied = tables_of(source), tables_of(target)
    if tables is None or copied is None:
        return
    shapes = tables.tables()
    for done, shape in enumerate(shapes, start=1):
        data = tables.packed(shape.name)
        copied.put_packed(shape.name, data)
        if copied.packed(shape.name) != data:
            raise StoreError(
                f"The table `{shape.name}` differs in the copy.", fix="Repeat the copy."
            )
        yield Progress("copying tables", done, len(shapes))


def _copy_calls(source: Store, target: Store) -> Iterator[Progress]:
    companions = companions_of(source)
    if not companions.has(CALLS):
        return
    try:
        opened = companions.open(CALLS)
    except StoreReadOnly:  # of a server whose user may only read
        return
    with closing(opened) as calls:
        if not calls.rows("SELECT 1 FROM spent LIMIT 1"):
            return
        with closing(companions_of(target).open(CALLS)) as copied:
            for done in copy_calls(calls, copied):
                yield Progress("copying replies of models", done)


def _kinds_left(source: Store, target: Store) -> tuple[str, ...]:
    left = []
    tables = tables_of(source)
    if tables is not None and tables.exists() and tables_of(target) is None:
        left.append("tables")
    path = index_file(source.url)
    if path is not None and path.with_name(path.name + MEMORY_SUFFIX).exists():
        left.append(FILE_KINDS[MEMORY_SUFFIX])
    return tuple(left)
