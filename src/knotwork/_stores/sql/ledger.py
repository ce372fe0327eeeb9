"""Store the ledger of sources in tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import astuple, fields

from knotwork._cancellation import checked
from knotwork._stores.base import LedgerEntry
from knotwork._stores.sql.database import SqlDatabase, reports_damage
from knotwork._stores.sql.dialect import Dialect, upsert

_COLUMNS = tuple(column.name for column in fields(LedgerEntry))


class LedgerStatements:
    """The statements of `SqlLedger` in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        columns = ", ".join(f"l.{name}" for name in _COLUMNS)
        texts = dialect.texts("$1")
        self.entries = f"SELECT {columns} FROM {texts} CROSS JOIN ledger l WHERE l.uri = j.value"
        self.next_entries = f"""
            SELECT {columns} FROM ledger l WHERE l.uri > $1 ORDER BY l.uri LIMIT $2
        """
        self.settings_counts = """
            SELECT settings, count(*) FROM ledger WHERE error_reason = '' GROUP BY settings
        """
        self.put = upsert("ledger", *_COLUMNS, key=["uri"])
        self.remove = f"DELETE FROM ledger WHERE uri IN (SELECT j.value FROM {texts})"


@reports_damage
class SqlLedger:
    """The `Ledger` of stores in SQL databases."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self._bind = database.dialect.bind_texts
        self._sql = LedgerStatements(database.dialect)

    def put(self, entries: Iterable[LedgerEntry]) -> None:
        """Add or replace entries."""
        with self._database.transaction():
            self._database.write_many(self._sql.put, map(astuple, entries))

    def get(self, uris: Collection[str]) -> dict[str, LedgerEntry]:
        """Return the entries of these sources."""
        distinct = dict.fromkeys(uris)
        rows = self._database.rows(self._sql.entries, (self._bind(distinct),))
        found = {row[0]: LedgerEntry(*row) for row in checked(rows)}
        return {uri: found[uri] for uri in distinct if uri in found}

    def entries(self) -> Iterator[LedgerEntry]:
        """Yield all entries ordered by uri."""
        yield from self.get([""]).values()
        for row in self._database.rows_in_pages(self._sql.next_entries, ("",)):
            yield LedgerEntry(*row)

    def settings_counts(self) -> dict[str, int]:
        """Return the number of entries without an error, by their settings."""
        return dict(self._database.rows(self._sql.settings_counts))

    def remove(self, uris: Collection[str]) -> None:
        """Remove entries."""
        with self._database.transaction():
            self._database.write(self._sql.remove, (self._bind(uris),))
