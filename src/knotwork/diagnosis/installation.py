"""Checks of the machine, the installed packages and the settings.

`Check` is the result of one check.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from knotwork.config import Loaded, SecretRef, Settings, StoreSettings
from knotwork.errors import KnotworkError, UnknownName
from knotwork.graph.communities import COMMUNITY_ALGORITHMS
from knotwork.indexing.splitters import make_splitter
from knotwork.retrieval.retriever_registry import retriever_names
from knotwork.transform.extractor_registry import make_extractor


@dataclass(frozen=True, slots=True)
class Check:
    """What was checked, whether all is well, what was found, and what to do if it is not."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


def failed_check(name: str, error: KnotworkError) -> Check:
    """Return the check that an error ended."""
    return Check(name, ok=False, detail=error.message, fix=error.fix)


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
    found, missing = _installed_versions(extra="")
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
        found, missing = _installed_versions(extra=extra)
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


def _installed_versions(*, extra: str) -> tuple[list[str], list[str]]:
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


def check_settings(loaded: Loaded) -> Check:
    """Tell which settings are not at their default, and where they come from."""
    changed = [
        f"{name} = {value} ({origin})"
        for name, value, origin in loaded.rows()
        if origin != "default"
    ]
    source = f"file {loaded.file}" if loaded.file else "no settings file"
    return Check("Settings", ok=True, detail="; ".join([source, *(changed or ["all defaults"])]))


def check_components(settings: Settings) -> Check:
    """Check that splitter, extractor, its dictionary, retriever and algorithm are there."""
    index = settings.index
    retriever = settings.retrieval.retriever
    dictionary = Path(index.dictionary) if index.dictionary else None
    try:
        splitter = make_splitter(
            index.splitter,
            chunk_tokens=index.chunk_tokens,
            overlap_tokens=index.overlap_tokens,
            parent_tokens=index.parent_tokens,
        )
        extractor = make_extractor(index.extractor, dictionary=dictionary)
        if retriever not in retriever_names():
            raise UnknownName("retriever", retriever, retriever_names())
        algorithm = settings.communities.algorithm
        if algorithm not in COMMUNITY_ALGORITHMS:
            raise UnknownName("community algorithm", algorithm, COMMUNITY_ALGORITHMS)
    except KnotworkError as error:
        return failed_check("Parts", error)
    detail = f"splitter {splitter.name}, extractor {extractor.name}, retriever {retriever}"
    return Check("Parts", ok=True, detail=detail)


def check_secrets(loaded: Loaded) -> Iterator[Check]:
    """Check that the variables that hold secrets are set; the secrets are not looked at."""
    settings = loaded.settings
    secrets = [("embedding", settings.embedding.api_key), ("llm", settings.llm.api_key)]
    for section, secret in secrets:
        if not isinstance(secret, SecretRef):
            continue
        ok = secret.is_set()
        detail = f"{section}.api_key is in `{secret.env}`, which is {'set' if ok else 'not set'}"
        yield Check("Secrets", ok, detail, "" if ok else f"Set it: export {secret.env}=…")
