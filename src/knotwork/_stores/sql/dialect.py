"""Write statements for several engines: what differs between them, and common statements.

A statement has the parameters ``$1, $2, …``, each at first in ascending order, since SQLite numbers
names of parameters as they appear. Names of columns that are SQL words (``end``) are quoted. Texts
compare by code points: a server gives their columns the collation "C". Joins whose tables must be
read in order, keys first, are CROSS JOINs with all their conditions in WHERE: SQLite keeps that
order, and others may choose.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol

Bound = Any
"""A value that an engine binds to one parameter, such as the JSON text or array of many keys."""


Form = Literal["id", "integer", "real"]
"""How a column is written in a text: as an id of 16 hexadecimal digits, or as a number."""


class Dialect(Protocol):
    """The fragments in which engines differ, and the values bound to them.

    The items of FROM are tables ``j`` with the columns ``place``, the position of a value from 0,
    and ``value``, or those that were named.
    """

    def keys(self, parameter: str) -> str:
        """Return the item of FROM that lists the keys bound by `bind_keys`."""

    def texts(self, parameter: str) -> str:
        """Return the item of FROM that lists the texts bound by `bind_texts`."""

    def rows(self, parameter: str, *columns: str) -> str:
        """Return the item of FROM that lists the rows of integers bound by `bind_rows`."""

    def joined(self, query: str, **columns: Form) -> str:
        """Return a scalar expression: the columns of all rows of ``query`` as one text.

        Values are in the order of the query, divided by spaces; a real number is written in full,
        and no rows are NULL. ``query`` may refer to ``j``, and so have an ORDER BY and a LIMIT for
        each of many keys.
        """

    def bind_keys(self, keys: Iterable[int]) -> Bound:
        """Return the value to bind for keys."""

    def bind_texts(self, texts: Iterable[str]) -> Bound:
        """Return the value to bind for texts."""

    def bind_rows(self, rows: Iterable[Sequence[int]]) -> Bound:
        """Return the value to bind for rows of integers."""


def insert(table: str, *columns: str) -> str:
    """Return a statement that adds a row with these columns."""
    places = ", ".join(f"${number}" for number in range(1, len(columns) + 1))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"


def insert_new(table: str, *columns: str) -> str:
    """Return a statement that adds a row unless one with its key exists."""
    return f"{insert(table, *columns)} ON CONFLICT DO NOTHING"


def upsert(table: str, *columns: str, key: Sequence[str]) -> str:
    """Return a statement that adds a row, or replaces the one with its key."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in key)
    return f"{insert(table, *columns)} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}"


def delete_keys(dialect: Dialect, table: str, column: str) -> str:
    """Return a statement that deletes the rows with one of many keys in a column."""
    return f"DELETE FROM {table} WHERE {column} IN (SELECT j.value FROM {dialect.keys('$1')})"
