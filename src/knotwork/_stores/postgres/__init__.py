"""The store on a PostgreSQL server with pgvector."""

from knotwork._stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
