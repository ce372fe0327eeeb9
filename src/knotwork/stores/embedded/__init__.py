"""The embedded store: a whole index in one SQLite file, through apsw."""

from knotwork.stores.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]
