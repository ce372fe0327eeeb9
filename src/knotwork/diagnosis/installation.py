"""Checks of the machine: Python, libraries, extras, disk space."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from knotwork.config import StoreSettings
from knotwork.diagnosis.results import Check

_OLDEST_PYTHON = (3, 11)
_LEAST_FREE_BYTES = 500_000_000
_GIGABYTE = 1_000_000_000
_SHOWN_EXTRAS = ("llm", "local", "parquet", "plot", "sentence-transformers")


def check_python() -> Check:
    """Check the version of Python."""
    detail = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    oldest = ".".join(map(str, _OLDEST_PYTHON))
    ok = sys.version_info >= _OLDEST_PYTHON
    return Check("Python", ok, detail, "" if ok else f"Install Python {oldest} or newer.")


def check_libraries() -> Check:
    """Check that the libraries of the default install are there, and tell their versions."""
    found, missing = _versions(extra="")
    own = f"knotwork {version('knotwork')}"
    if missing:
        return Check(
            "Libraries",
            ok=False,
            detail=f"{own}; missing: {', '.join(missing)}",
            fix="Install them with: pip install knotwork",
        )
    return Check("Libraries", ok=True, detail=", ".join([own, *found]))


def check_extras() -> Check:
    """Tell which extras are installed; that one is not is no fault."""
    parts = []
    for extra in _SHOWN_EXTRAS:
        found, missing = _versions(extra=extra)
        parts.append(f"{extra}: {', '.join(found)}" if not missing else f"{extra}: not installed")
    return Check("Extras", ok=True, detail="; ".join(parts))


def check_disk(settings: StoreSettings) -> Check:
    """Check that the index's folder can be written and has room."""
    folder = _nearest_folder(Path(settings.path))
    free = shutil.disk_usage(folder).free
    detail = f"{free / _GIGABYTE:.1f} GB free for `{settings.path}`"
    if not os.access(folder, os.W_OK):
        return Check(
            "Disk",
            ok=False,
            detail=f"`{folder}` may not be written; {detail}",
            fix="Name another place: store.path",
        )
    ok = free >= _LEAST_FREE_BYTES
    return Check("Disk", ok, detail, "" if ok else "Free some space, or change store.path.")


def _versions(*, extra: str) -> tuple[list[str], list[str]]:
    """Return "name version" of each requirement that is installed, and the names of the others.

    Those for other platforms are left out.
    """
    found, missing = [], []
    for line in requires("knotwork") or []:
        requirement = Requirement(line)
        if not _applies(requirement, extra=extra):
            continue
        try:
            found.append(f"{requirement.name} {version(requirement.name)}")
        except PackageNotFoundError:
            missing.append(requirement.name)
    return found, missing


def _applies(requirement: Requirement, *, extra: str) -> bool:
    """Return True if an extra, or with "" the plain package, asks for it on this platform."""
    marker = requirement.marker
    if marker is None or marker.evaluate({"extra": ""}):
        return not extra
    return bool(extra) and marker.evaluate({"extra": extra})


def _nearest_folder(path: Path) -> Path:
    """Return the first folder above a path that is there."""
    return next(parent for parent in path.absolute().parents if parent.is_dir())
