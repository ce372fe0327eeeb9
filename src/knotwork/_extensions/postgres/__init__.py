"""The store on a PostgreSQL server with pgvector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knotwork._config import StoreSettings
from knotwork.errors import required

if TYPE_CHECKING:
    from knotwork._extensions.postgres.store import PostgresStore


def open_postgres(
    *, url: str, read_only: bool, create: bool, limits: StoreSettings
) -> PostgresStore:
    """Open an index on a PostgreSQL server, as `open_store` does.

    Raises MissingExtra without psycopg.
    """
    with required("An index on a PostgreSQL server", "postgres"):
        from knotwork._extensions.postgres.store import PostgresStore

    return PostgresStore.open(url, read_only=read_only, create=create, limits=limits)
