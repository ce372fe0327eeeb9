"""SQLite's dialect: many values are bound as one JSON array, and listed by ``json_each``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from knotwork._stores.sql.dialect import Form

_FORMATS: Mapping[Form, str] = {"id": "%016x", "integer": "%d", "real": "%!.17g"}
"""Formats of SQLite; 17 digits of a real number are the number itself."""


class SqliteDialect:
    """The `Dialect` of SQLite, which flattens the subqueries of its lists into ``json_each``."""

    def keys(self, parameter: str) -> str:
        return f"(SELECT key AS place, value FROM json_each({parameter})) j"

    def texts(self, parameter: str) -> str:
        return self.keys(parameter)

    def rows(self, parameter: str, *columns: str) -> str:
        found = ", ".join(f"value ->> {place} AS {name}" for place, name in enumerate(columns))
        return f"(SELECT key AS place, {found} FROM json_each({parameter})) j"

    def joined(self, query: str, **columns: Form) -> str:
        """Return a scalar expression: the columns of all rows of ``query`` as one text.

        SQLite has no LATERAL joins, and parses the text of a query of many keys only once.
        """
        formats = " ".join(_FORMATS[form] for form in columns.values())
        row = f"format('{formats}', {', '.join(columns)})"
        return f"(SELECT group_concat({row}, ' ') FROM ({query}))"

    def bind_keys(self, keys: Iterable[int]) -> str:
        """Return the JSON array of keys."""
        return json.dumps(list(keys))

    def bind_texts(self, texts: Iterable[str]) -> str:
        """Return the JSON array of texts."""
        return json.dumps(list(texts))

    def bind_rows(self, rows: Iterable[Sequence[int]]) -> str:
        """Return the JSON array of rows."""
        return json.dumps(list(rows))


SQLITE = SqliteDialect()
