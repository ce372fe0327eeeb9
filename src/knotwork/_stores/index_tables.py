"""Find the tables of an index: in a file beside it, or in its database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from knotwork._registry import PARTS
from knotwork._sqlite_file import TABLES_SUFFIX
from knotwork._stores.base import Store

if TYPE_CHECKING:
    from knotwork._extensions.tables.table_file import TableFile


def tables_path(store_url: str) -> Path | None:
    """Return the path of the table file of an index; None for an index that is not a file."""
    if store_url.startswith("memory:") or "://" in store_url:
        return None
    path = Path(store_url)
    return path.with_name(path.name + TABLES_SUFFIX)


def tables_of(store: Store) -> TableFile | None:
    """Return the tables of an index; None if it has no place for tables, as a filtered index."""
    if store.capabilities.whole is not None:
        return None
    path = tables_path(store.url)
    if path is None:
        return store.capabilities.tables
    tables: TableFile = PARTS.load("table_file")(path)
    return tables


def has_tables(store: Store) -> bool:
    """Return True if tables of an index have been written."""
    path = tables_path(store.url)
    if path is not None and not path.exists():
        return False
    tables = tables_of(store)
    return tables is not None and tables.exists()
