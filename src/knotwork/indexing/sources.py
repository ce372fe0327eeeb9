"""From paths to what a run is offered: files with their names in the index, and what it covers."""

from __future__ import annotations

import glob
import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from knotwork.config import IndexSettings
from knotwork.errors import IndexingError
from knotwork.indexing.changes import entry_path
from knotwork.indexing.discovery import SourceFile, discover
from knotwork.indexing.loaders import load_file
from knotwork.indexing.sites import SitePage, survey_sites
from knotwork.indexing.stages import Candidate
from knotwork.stores.base import LedgerEntry, Store

ROOTS_META = "roots"
_LEDGER_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Selection:
    """The candidates of a run, and which entries of the ledger it may find gone.

    ``roots`` are the folders that were indexed so far, these ones among them.
    """

    candidates: tuple[Candidate, ...]
    covers: Callable[[LedgerEntry], bool] | None
    roots: tuple[str, ...]


def select_files(store: Store, paths: Sequence[str | Path], settings: IndexSettings) -> Selection:
    """Find the files below ``paths``.

    A file inside a folder that was indexed before keeps the name it has there, whether it is
    reached through that folder, a part of it, or by itself. A run covers the folders it is given.
    Web pages lose what their site repeats; where that has changed, further pages of it are found.
    Raises IndexingError when a path does not exist, or when a name means another file already.
    """
    _check_presence(store, paths)
    known = stored_roots(store)
    folders = [absolute_path(path) for path in paths if Path(path).expanduser().is_dir()]
    roots = tuple(dict.fromkeys([*known, *folders]))
    files = [
        _named_by_widest_root(file, roots)
        for file in discover(paths, include=settings.include, exclude=settings.exclude)
    ]
    _check_names(store, files)
    covers = _coverage(paths, folders)
    survey = survey_sites(store, files, covers=covers, max_file_mb=settings.max_file_mb)
    candidates = [
        _candidate(file, survey.pages.get(file.uri, SitePage()), settings)
        for file in (*files, *survey.others)
    ]
    return Selection(tuple(candidates), covers, roots)


def _candidate(file: SourceFile, page: SitePage, settings: IndexSettings) -> Candidate:
    return Candidate(
        file.uri,
        partial(
            load_file,
            file.path,
            uri=file.uri,
            max_file_mb=settings.max_file_mb,
            repeated=page.repeated,
        ),
        root=file.root,
        size=file.size,
        modified_ns=file.modified_ns,
        edge_keys=page.edge_keys,
        repeated=page.fingerprint,
    )


def _check_presence(store: Store, paths: Iterable[str | Path]) -> None:
    """Raise IndexingError for a path that is not there any more, though the index holds it."""
    for path in paths:
        if os.path.lexists(Path(path).expanduser()) or glob.has_magic(str(path)):
            continue
        place = absolute_path(path)
        if any(e.root and _is_inside(entry_path(e), place) for e in store.ledger.entries()):
            raise IndexingError(
                f"`{path}` does not exist any more, but is in the index.",
                fix=f"Take it out with: knotwork delete {shlex.quote(str(path))}",
            )


def stored_roots(store: Store) -> list[str]:
    """Return the folders that were indexed so far."""
    roots: list[str] = json.loads(store.meta().get(ROOTS_META, "[]"))
    return roots


def store_roots(store: Store, roots: Sequence[str]) -> None:
    """Note the folders that are indexed, if there are new ones."""
    if list(roots) != stored_roots(store):
        store.set_meta({ROOTS_META: json.dumps(list(roots), ensure_ascii=False)})


def _named_by_widest_root(file: SourceFile, roots: Iterable[str]) -> SourceFile:
    wider = [root for root in roots if root != file.root and _is_inside(file.root, root)]
    if not wider:
        return file
    root = Path(min(wider, key=len))
    parts = (root.name, *Path(absolute_path(file.path)).relative_to(root).parts)
    # As in discovery: a name that is no valid text must still be storable.
    uri = os.fsencode("/".join(part for part in parts if part)).decode("utf-8", "replace")
    return replace(file, uri=uri, root=str(root))


def _check_names(store: Store, files: Sequence[SourceFile]) -> None:
    """Raise IndexingError for a file with the name of another one that is still there."""
    for start in range(0, len(files), _LEDGER_BATCH):
        batch = files[start : start + _LEDGER_BATCH]
        known = store.ledger.get([file.uri for file in batch])
        for file in batch:
            entry = known.get(file.uri)
            if entry is None or entry.root == file.root or not entry.root:
                continue
            earlier = entry_path(entry)
            if Path(earlier).exists() and not _is_same(earlier, file.path):
                raise IndexingError(
                    f"`{file.uri}` means `{earlier}` in this index already, not `{file.path}`.",
                    fix="Index the folder that holds both, or use another index for this one.",
                )


def _coverage(
    paths: Sequence[str | Path], folders: Sequence[str]
) -> Callable[[LedgerEntry], bool] | None:
    """Return whether a run is answerable for an entry: all below a folder; what is no more, below
    the folder of a glob.
    """
    patterns = [str(path) for path in paths if not os.path.lexists(Path(path).expanduser())]
    bases = [absolute_path(base) for pattern in patterns for base in _fixed_part(pattern)]
    if not folders and not bases:
        return None

    def covers(entry: LedgerEntry) -> bool:
        if not entry.root:
            return False
        place = entry_path(entry)
        if any(_is_inside(place, folder) for folder in folders):
            return True
        below = any(_is_inside(place, base) for base in bases)
        return below and not os.path.lexists(place)

    return covers


def _fixed_part(pattern: str) -> Iterator[str]:
    """Yield the folder of a glob before its first wildcard."""
    path = Path(pattern).expanduser()
    fixed: list[str] = []
    for part in path.parts:
        if glob.has_magic(part):
            yield str(Path(*fixed))
            return
        fixed.append(part)


def absolute_path(path: str | Path) -> str:
    """Return a path from the root of the disk, links as they are."""
    return os.path.abspath(Path(path).expanduser())  # noqa: PTH100 - resolve() would follow links


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _is_same(one: str | Path, other: str | Path) -> bool:
    try:
        return Path(one).samefile(other)
    except OSError:
        return False
