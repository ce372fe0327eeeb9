"""Check who can read the index and the files beside it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from knotwork._config import StoreSettings
from knotwork._extensions.diagnosis.installation import Check
from knotwork._stores.urls import index_file

_SHOWN_FILES = 3
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_permissions(settings: StoreSettings) -> Iterator[Check]:
    """Yield a check that names the files of the index that other users can read; none is needed
    without an index file, or on Windows.

    Such files pass: they may be shared on purpose.
    """
    path = index_file(settings.path)
    if os.name != "posix" or path is None or not path.exists():
        return
    open_files = [file for file in _files_of(path) if file.stat().st_mode & _OTHERS]
    if not open_files:
        yield Check("Permissions", ok=True, detail="only you can read the index and its files")
        return
    shown = ", ".join(f"`{file}`" for file in open_files[:_SHOWN_FILES])
    more = len(open_files) - _SHOWN_FILES
    yield Check(
        "Permissions",
        ok=True,
        detail=f"other users can read {shown}{f' and {more:,} more' if more > 0 else ''}",
        fix=f"Unless you share them on purpose: chmod -R go= {path}*",
    )


def _files_of(path: Path) -> Iterator[Path]:
    """Yield an index, the files beside it, and the folder of its uploads."""
    yield path
    yield from sorted(path.parent.glob(f"{path.name}[.-]*"))
    folder = path.with_name(f"{path.stem}.files")
    if folder.is_dir():
        yield folder
