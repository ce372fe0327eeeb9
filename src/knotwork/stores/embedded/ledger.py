"""The ledger and the settings of an index, in tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import astuple, fields
from types import MappingProxyType

from knotwork.stores.base import LedgerEntry
from knotwork.stores.embedded.database import Database
from knotwork.stores.embedded.scans import paged

_COLUMNS = ", ".join(column.name for column in fields(LedgerEntry))
_PLACES = ", ".join("?" for _ in fields(LedgerEntry))
_PUT = f"INSERT OR REPLACE INTO ledger ({_COLUMNS}) VALUES ({_PLACES})"  # noqa: S608
_GET = f"SELECT {_COLUMNS} FROM ledger WHERE uri = ?"  # noqa: S608
_FOLLOWING = f"SELECT {_COLUMNS} FROM ledger WHERE uri > ? ORDER BY uri LIMIT ?"  # noqa: S608


class EmbeddedLedger:
    """The `Ledger` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, entries: Iterable[LedgerEntry]) -> None:
        """Add or replace entries."""
        with self._database.transaction():
            self._database.write_many(_PUT, map(astuple, entries))

    def get(self, uris: Collection[str]) -> dict[str, LedgerEntry]:
        """Return the entries of these sources."""
        distinct = list(dict.fromkeys(uris))
        with self._database.reading():
            found = self._database.rows_of_each(_GET, distinct)
            return {
                u: LedgerEntry(*rows[0]) for u, rows in zip(distinct, found, strict=True) if rows
            }

    def entries(self) -> Iterator[LedgerEntry]:
        """Yield all entries ordered by uri."""
        for row in self._database.rows(_GET, ("",)):
            yield LedgerEntry(*row)
        for row in paged(self._database, _FOLLOWING, ("",)):
            yield LedgerEntry(*row)

    def remove(self, uris: Collection[str]) -> None:
        """Remove entries."""
        with self._database.transaction():
            self._database.write_many("DELETE FROM ledger WHERE uri = ?", ((uri,) for uri in uris))


def read_meta(database: Database) -> Mapping[str, str]:
    """Return all settings stored with the index."""
    return MappingProxyType(dict(database.rows("SELECT key, value FROM meta ORDER BY key")))


def write_meta(database: Database, values: Mapping[str, str]) -> None:
    """Add or replace settings."""
    with database.transaction():
        database.write_many("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())
