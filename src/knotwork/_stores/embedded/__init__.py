"""The embedded store: a whole index in one SQLite file, through apsw."""

from __future__ import annotations

from knotwork._stores.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]
