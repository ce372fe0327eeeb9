"""Find the tables of an index: in a file beside it, or in its database."""

from __future__ import annotations

from pathlib import Path

from knotwork._config import shown_url
from knotwork._sqlite_file import TABLES_SUFFIX
from knotwork._stores.base import Store
from knotwork._stores.table_file import TableFile
from knotwork.errors import ConfigError


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
    return TableFile(path) if path is not None else store.capabilities.tables


def require_tables(store: Store) -> TableFile:
    """Return the tables of an index. Raises ConfigError if it has no place for tables."""
    tables = tables_of(store)
    if store.capabilities.whole is not None:
        raise ConfigError("The tables of an index cannot be filtered.", fix="Ask the whole index.")
    if tables is None:
        raise ConfigError(
            f"The index `{shown_url(store.url)}` has no place for tables.",
            fix="Use an index file, such as --store docs.knot, or one on a PostgreSQL server.",
        )
    return tables
