"""PostgreSQL's dialect: many values are bound as one array, and listed by ``unnest``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from knotwork._stores.sql.dialect import Form

_FORMATS: Mapping[Form, str] = {
    "id": "lpad(to_hex({}), 16, '0')",
    "integer": "{}::bigint::text",
    "real": "{}::double precision::text",
}
"""How columns become texts; PostgreSQL writes as many digits of a real number as it needs."""


class PostgresDialect:
    """The `Dialect` of PostgreSQL. Rows of integers are bound as one flat array."""

    def keys(self, parameter: str) -> str:
        """Return the item of FROM that lists the keys bound by `bind_keys`."""
        return _listed(f"{parameter}::bigint[]")

    def texts(self, parameter: str) -> str:
        """Return the item of FROM that lists the texts bound by `bind_texts`."""
        return _listed(f"{parameter}::text[]")

    def rows(self, parameter: str, *columns: str) -> str:
        """Return the item of FROM that lists the rows of integers bound by `bind_rows`."""
        width = len(columns)
        found = ", ".join(
            f"({parameter}::bigint[])[{width} * place + {place}] AS {name}"
            for place, name in enumerate(columns, start=1)
        )
        last = f"cardinality({parameter}::bigint[]) / {width} - 1"
        return f"(SELECT place, {found} FROM generate_series(0, {last}) AS u (place)) j"  # noqa: S608

    def joined(self, query: str, **columns: Form) -> str:
        """Return a scalar expression: the columns of all rows of ``query`` as one text."""
        row = " || ' ' || ".join(_FORMATS[form].format(name) for name, form in columns.items())
        return f"(SELECT string_agg({row}, ' ') FROM ({query}) q)"  # noqa: S608

    def bind_keys(self, keys: Iterable[int]) -> list[int]:
        """Return the array of keys."""
        return list(keys)

    def bind_texts(self, texts: Iterable[str]) -> list[str]:
        """Return the array of texts."""
        return list(texts)

    def bind_rows(self, rows: Iterable[Sequence[int]]) -> list[int]:
        """Return the array of the numbers of all rows."""
        return [number for row in rows for number in row]


def _listed(array: str) -> str:
    numbered = f"unnest({array}) WITH ORDINALITY AS u (value, place)"
    return f"(SELECT place - 1 AS place, value FROM {numbered}) j"  # noqa: S608


POSTGRES = PostgresDialect()
