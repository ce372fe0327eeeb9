"""Check the machine, the installed packages and plugins, the settings, and who can read files.

`Check` is the result of one check.
"""

from __future__ import annotations

import os
import platform
import shutil
import stat
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from knotwork import __version__
from knotwork._config import Loaded, SecretRef, Settings, StoreSettings
from knotwork._graph.communities import COMMUNITY_ALGORITHMS
from knotwork._indexing.loaders.loader_registry import plugin_loaders
from knotwork._indexing.splitters import make_splitter
from knotwork._inference.own_prompts import read_prompt_folder
from knotwork._knowledge_base.registries import GROUPS, find_registry
from knotwork._registry import PARTS, installed_plugins
from knotwork._retrieval.retriever_registry import AUTO, RETRIEVERS, STEPS
from knotwork._stores.base import index_file
from knotwork._transform.extractor import make_extractor
from knotwork.errors import ConfigError, KnotworkError, UnknownName

_OLDEST_PYTHON = (3, 11)
_LEAST_FREE_BYTES = 500_000_000
_GIGABYTE = 1_000_000_000
_DEVELOPMENT_EXTRA = "dev"


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check: its subject, whether it passed, the finding, and how to fix it."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


def failed_check(name: str, error: KnotworkError) -> Check:
    """Return the failed check for an error, with the error's message and fix."""
    return Check(name, ok=False, detail=error.message, fix=error.fix)


def check_python() -> Check:
    """Check the version of Python."""
    detail = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    oldest = ".".join(map(str, _OLDEST_PYTHON))
    ok = sys.version_info >= _OLDEST_PYTHON
    return Check("Python", ok, detail, "" if ok else f"Install Python {oldest} or newer.")


def check_libraries() -> Check:
    """Check that the default install is complete and recent enough, and list the versions."""
    own = f"knotwork {__version__}"
    try:
        found, missing = _installed_versions(extra="")
    except PackageNotFoundError:
        detail = f"{own} runs from its source, so its requirements are unknown"
        return Check("Libraries", ok=True, detail=detail)
    if missing:
        return Check(
            "Libraries",
            ok=False,
            detail=f"{own}; missing: {', '.join(missing)}",
            fix="Install them with: pip install --upgrade knotwork",
        )
    return Check("Libraries", ok=True, detail=", ".join([own, *found]))


def check_extras() -> Check:
    """List the versions of installed extras, and the extras that are not installed.

    Always passes, as extras are optional.
    """
    try:
        extras = metadata("knotwork").get_all("Provides-Extra") or []
    except PackageNotFoundError:
        return Check("Extras", ok=True, detail="unknown: knotwork runs from its source")
    listed, absent = [], []
    for extra in sorted(set(extras) - {_DEVELOPMENT_EXTRA}):
        found, missing = _installed_versions(extra=extra)
        if missing:
            absent.append(f"{extra} (needs {', '.join(missing)})")
        else:
            listed.append(f"{extra}: {', '.join(found)}")
    if absent:
        listed.append(f"not installed: {', '.join(absent)}")
    return Check("Extras", ok=True, detail="; ".join(listed))


def _installed_versions(*, extra: str) -> tuple[list[str], list[str]]:
    """Return "name version" of each installed requirement, and the requirements not met.

    With ``extra`` = "" these are the requirements of the default install. Requirements for other
    platforms are left out. Raises PackageNotFoundError if knotwork itself is not installed.
    """
    found, missing = [], []
    for line in requires("knotwork") or []:
        requirement = Requirement(line)
        if not _applies(requirement, extra=extra):
            continue
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            missing.append(requirement.name)
            continue
        if requirement.specifier.contains(installed, prereleases=True):
            found.append(f"{requirement.name} {installed}")
        else:
            missing.append(f"{requirement.name}{requirement.specifier} instead of {installed}")
    return found, missing


def _applies(requirement: Requirement, *, extra: str) -> bool:
    """Return True if an extra, or the default install if "", needs it on this platform."""
    marker = requirement.marker
    if marker is None or marker.evaluate({"extra": ""}):
        return not extra
    return bool(extra) and marker.evaluate({"extra": extra})


def check_settings(loaded: Loaded) -> Check:
    """List the settings that differ from their defaults, with their origins."""
    changed = [
        f"{name} = {value} ({origin})"
        for name, value, origin in loaded.rows()
        if origin != "default"
    ]
    source = f"file {loaded.file}" if loaded.file else "no settings file"
    return Check("Settings", ok=True, detail="; ".join([source, *(changed or ["all defaults"])]))


def check_components(settings: Settings) -> Check:
    """Check that the splitter, extractor, dictionary, retriever and community algorithm exist."""
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
        prompts = read_prompt_folder(settings.prompts.dir)
        PARTS.load("extraction_plan")(settings.extraction).method()
        if retriever != AUTO:
            RETRIEVERS.load(retriever)
        algorithm = settings.communities.algorithm
        if algorithm not in COMMUNITY_ALGORITHMS:
            raise UnknownName("community algorithm", algorithm, COMMUNITY_ALGORITHMS)
    except KnotworkError as error:
        return failed_check("Parts", error)
    detail = f"splitter {splitter.name}, extractor {extractor.name}, retriever {retriever}"
    if prompts:
        detail += f", prompts {prompts.version} of {prompts.folder}"
    return Check("Parts", ok=True, detail=detail)


def check_secrets(loaded: Loaded) -> Iterator[Check]:
    """Check that the environment variables of secrets are set, without reading their values."""
    settings = loaded.settings
    sections = {"embedding": settings.embedding, "llm": settings.llm}
    for name, secret in (
        found for section, values in sections.items() for found in find_secrets(section, values)
    ):
        ok = secret.is_set()
        detail = f"{name} is in `{secret.env}`, which is {'set' if ok else 'not set'}"
        yield Check("Secrets", ok, detail, "" if ok else f"Set it: export {secret.env}=…")


def find_secrets(name: str, value: object) -> Iterator[tuple[str, SecretRef]]:
    """Yield the secrets of a section or table by the name of their setting."""
    if isinstance(value, SecretRef):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from find_secrets(f"{name}.{key}", item)
    elif is_dataclass(value):
        for entry in fields(value):
            yield from find_secrets(f"{name}.{entry.name}", getattr(value, entry.name))


def check_disk(settings: StoreSettings) -> Check:
    """Check that the folder of the index is writable and has at least 0.5 GB free."""
    path = index_file(settings.path)
    if path is None:
        return Check("Disk", ok=True, detail=f"`{settings.shown_path}` is not a file")
    folder = next(parent for parent in path.absolute().parents if parent.is_dir())
    free = shutil.disk_usage(folder).free
    detail = f"{free / _GIGABYTE:.1f} GB free for `{path}`"
    if not os.access(folder, os.W_OK):
        return Check(
            "Disk",
            ok=False,
            detail=f"`{folder}` is not writable; {detail}",
            fix="Change its permissions, or set store.path to another place.",
        )
    ok = free >= _LEAST_FREE_BYTES
    return Check("Disk", ok, detail, "" if ok else "Free some space, or change store.path.")


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


def check_plugins() -> Iterator[Check]:
    """List the plugins by distribution, and yield a failed check for each that cannot be used.

    Imports all plugins. Nothing is yielded if none is installed.
    """
    plugin_loaders()  # a loader may be refused for its suffixes
    registries = [find_registry(group) for group in GROUPS]
    parts: defaultdict[str, list[str]] = defaultdict(list)
    for registry in registries:
        for entry in registry.entries():
            if entry.is_plugin:
                parts[entry.origin].append(f"{registry.kind} `{entry.name}`")
    for origin, names in sorted(parts.items()):
        yield Check("Plugins", ok=True, detail=f"{origin}: {', '.join(names)}")
    for registry in registries:
        for fault in registry.faults():
            yield failed_check("Plugins", fault)
    for name in sorted(set(RETRIEVERS.names()) & set(STEPS.names())):
        both = f"{RETRIEVERS.find(name).origin} and {STEPS.find(name).origin}"
        yield Check(
            "Plugins",
            ok=False,
            detail=f"`{name}` is a retriever and a step, of {both}; compositions use the step",
            fix="Uninstall one of them.",
        )
    groups = {registry.group for registry in registries}
    for group, entries in installed_plugins().items():
        if group not in groups:
            known = ", ".join(sorted(groups))
            yield failed_check(
                "Plugins",
                ConfigError(
                    f"{entries[0].origin} has entry points in the unknown group `{group}`.",
                    fix=f"Valid groups: {known}.",
                ),
            )
