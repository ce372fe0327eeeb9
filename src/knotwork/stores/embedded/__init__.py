"""The embedded store: everything in one SQLite file, through apsw."""

from knotwork.stores.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]
