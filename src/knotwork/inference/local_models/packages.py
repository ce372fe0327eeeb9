"""Find files that installed packages bring, without importing these."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def find_package_file(package: str, name: str) -> Path | None:
    """Return the path of a file in a package; None if either is missing.

    ``package`` is a top-level one, so that looking for it imports nothing.
    """
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder, name)
        if path.is_file():
            return path
    return None
