"""The embedded store: a whole index in one SQLite file, through apsw."""

from __future__ import annotations

from pathlib import Path

from knotwork._stores.embedded.database import Database
from knotwork._stores.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]


def _locate_damage(path: Path) -> str:
    from knotwork._stores.embedded.damage import locate_damage

    return locate_damage(path)


Database.locate = staticmethod(_locate_damage)  # type: ignore[method-assign]
