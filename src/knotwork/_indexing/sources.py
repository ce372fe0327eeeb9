"""Select the sources of a run: files with their names in the index, and the pages of web sites.

`select_files` turns paths into candidates and decides which ledger entries the run covers.
`survey_sites` finds the lines that the web pages of a folder repeat, so that pages are loaded
without them. A page contributes the keys of the lines at its edges, which the ledger stores; the
repeated lines of a site follow from all its pages in any order, so a page is read again only if it
changed, or the lines removed from it did. `select_entries` finds indexed documents by name, path
or pattern.
"""

from __future__ import annotations

import glob
import json
import math
import os
import shlex
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knotwork._cancellation import checked
from knotwork._config import IndexSettings
from knotwork._indexing.archives import ArchivedFile, ArchiveLimits, enclosing_archive
from knotwork._indexing.changes import (
    LEDGER_BATCH,
    entry_path,
    has_same_times,
    is_racy,
    lies_in,
)
from knotwork._indexing.discovery import (
    UNKNOWN_TIME_NS,
    SourceFile,
    discover,
    exists,
    file_digest,
    is_folder_or_archive,
    place_of,
    source_file,
)
from knotwork._indexing.file_reading import read_files
from knotwork._indexing.loaders.html import HtmlLoader
from knotwork._indexing.loaders.loader import MEGABYTE
from knotwork._indexing.loaders.loader_registry import (
    RemoteFile,
    load_edge_keys,
    load_file,
    load_undescribed,
    may_be_light,
)
from knotwork._indexing.prepared import Candidate
from knotwork._indexing.reading_limits import PROCESS_FAILURES, ReadingLimits
from knotwork._indexing.stored_objects import (
    StoredObject,
    discover_objects,
    is_url,
    local_path,
    name_of,
    object_at,
    storage_root,
)
from knotwork._stores.base import LedgerEntry, Store
from knotwork.errors import IndexingError, LoadError, UnknownName
from knotwork.records import Document, content_id

ROOTS_META = "roots"


@dataclass(frozen=True, slots=True)
class SourceSelection:
    """The candidates of a run, and the ledger entries that it ``covers``: removed if gone.

    ``roots`` are all folders that were indexed so far, with those of this run. ``kept_in`` is the
    folder of what was downloaded and is read again in this run, until the selection is closed.
    """

    candidates: tuple[Candidate, ...]
    covers: Callable[[LedgerEntry], bool] | None
    roots: tuple[str, ...]
    kept_in: Path | None = None

    def close(self) -> None:
        """Delete what was downloaded."""
        if self.kept_in is not None:
            shutil.rmtree(self.kept_in, ignore_errors=True)


def select_files(
    store: Store, paths: Sequence[str | Path], settings: IndexSettings
) -> SourceSelection:
    """Return the files below ``paths``, which may be URLs, as candidates; close it after the run.

    A file in a folder that was indexed before keeps its name, whether ``paths`` name that folder,
    a part of it, or the file itself. The run covers the folders in ``paths``. Web pages are loaded
    without the lines that their site repeats; if these changed, more pages of the site are added.
    Raises IndexingError if a path does not exist, or a name belongs to another file already.
    """
    given = [local_path(path) for path in paths]
    urls = [path for path in given if isinstance(path, str) and is_url(path)]
    paths = [path for path in given if path not in urls]
    _check_presence(store, paths)
    known = stored_roots(store)
    objects, url_folders = _discover_urls(store, urls, settings)
    folders = [
        absolute_path(path) for path in paths if is_folder_or_archive(Path(path).expanduser())
    ]
    roots = tuple(dict.fromkeys([*known, *folders, *url_folders]))
    found = list(
        discover(
            paths,
            include=settings.include,
            exclude=settings.exclude,
            archives=ArchiveLimits.of(settings),
        )
    )
    files = [_named_by_widest_root(file, roots) for file in (*found, *objects)]
    _check_names(store, files)
    covers = _coverage(paths, [*folders, *url_folders], _listed_archives(found))
    kept_in = _folder_for_kept(files)
    if kept_in is not None:
        files = [_kept(file, kept_in) for file in files]
    selection = SourceSelection((), covers, roots, kept_in)
    try:
        survey = survey_sites(store, files, covers=covers, settings=settings)
    except BaseException:
        selection.close()
        raise
    candidates = [_candidate(file, survey, settings) for file in (*files, *survey.others)]
    return replace(selection, candidates=tuple(candidates))


def _discover_urls(
    store: Store, urls: Sequence[str], settings: IndexSettings
) -> tuple[list[SourceFile], list[str]]:
    """Return the objects at and below URLs, each once, and those URLs that are folders."""
    found: dict[str, SourceFile] = {}
    folders: list[str] = []
    for url in urls:
        root = storage_root(url)
        try:
            objects, is_folder = discover_objects(
                root, include=settings.include, exclude=settings.exclude
            )
        except IndexingError:
            _check_gone(store, url, root)
            raise
        found.update((entry_path(file), file) for file in reversed(objects))
        if is_folder:
            folders.append(root)
    return sorted(found.values(), key=lambda file: file.uri), folders


def _folder_for_kept(files: Sequence[SourceFile]) -> Path | None:
    """Return a new folder for what is read more than once in a run: web pages that are downloaded,
    and archives in archives. None if there is nothing of the kind.
    """
    if any(_is_kept(file) for file in files):
        return Path(tempfile.mkdtemp(prefix="knotwork-pages-"))
    return None


def _is_kept(file: SourceFile) -> bool:
    """Return True for a file in an archive, and for a web page in a storage: its site is surveyed
    before it is loaded.
    """
    is_page = isinstance(file.path, StoredObject) and _is_page(file.uri)
    return is_page or isinstance(file.path, ArchivedFile)


def _kept(file: SourceFile, kept_in: Path) -> SourceFile:
    if isinstance(file.path, StoredObject | ArchivedFile) and _is_kept(file):
        return replace(file, path=replace(file.path, kept_in=str(kept_in)))
    return file


def _listed_archives(files: Iterable[SourceFile]) -> frozenset[Path]:
    """Return the archives whose files were found."""
    archived = (file.path for file in files if isinstance(file.path, ArchivedFile))
    return frozenset(path.archive for path in archived if path.is_listed)


def _candidate(file: SourceFile, survey: SiteSurvey, settings: IndexSettings) -> Candidate:
    page = survey.pages.get(file.uri, SitePage())
    is_too_large = file.size > settings.max_file_mb * MEGABYTE
    is_here = isinstance(file.path, Path)
    is_readable = not is_too_large and (
        bool(file.version) or (is_here and file.modified_ns != UNKNOWN_TIME_NS)
    )
    read = partial(
        load_file,
        file.path,
        uri=file.uri,
        max_file_mb=settings.max_file_mb,
        max_characters=settings.max_file_characters,
        audio_model=settings.audio_model,
        repeated=page.repeated,
    )
    failure = survey.failures.get(file.uri)
    is_light = is_here and may_be_light(file.uri, file.size)
    return Candidate(
        file.uri,
        read if failure is None else partial(_fail, failure),
        read_here=partial(read, only_light=True) if is_light else None,
        root=file.root,
        size=file.size,
        modified_ns=file.modified_ns,
        edge_keys=page.edge_keys,
        repeated=page.fingerprint,
        changed_ns=file.changed_ns,
        checked_ns=file.checked_ns,
        version=file.version,
        hash_file=partial(file_digest, file) if is_readable else None,
        read_undescribed=None
        if failure is not None or is_light
        else partial(load_undescribed, *read.args, **read.keywords),
    )


def _fail(error: LoadError) -> Document:
    raise error


def _check_presence(store: Store, paths: Iterable[str | Path]) -> None:
    """Raise IndexingError for a path that was deleted since it was indexed."""
    for path in paths:
        if exists(Path(path).expanduser()) or glob.has_magic(str(path)):
            continue
        _check_gone(store, str(path), absolute_path(path))


def _check_gone(store: Store, named: str, place: str) -> None:
    """Raise IndexingError if the index has documents of a path or URL that does not exist."""
    if any(e.root and is_inside(entry_path(e), place) for e in store.ledger.entries()):
        raise IndexingError(
            f"`{named}` no longer exists, but is in the index.",
            fix=f"Remove it with: knotwork delete {shlex.quote(named)}",
        )


def stored_roots(store: Store) -> list[str]:
    """Return the folders indexed so far."""
    roots: list[str] = json.loads(store.meta().get(ROOTS_META, "[]"))
    return roots


def store_roots(store: Store, roots: Sequence[str]) -> None:
    """Store the indexed folders, if they changed."""
    if list(roots) != stored_roots(store):
        store.set_meta({ROOTS_META: json.dumps(list(roots), ensure_ascii=False)})


def _named_by_widest_root(file: SourceFile, roots: Iterable[str]) -> SourceFile:
    wider = [root for root in roots if root != file.root and is_inside(file.root, root)]
    if not wider:
        return file
    widest = min(wider, key=len)
    if isinstance(file.path, StoredObject):
        inside = entry_path(file).removeprefix(widest).lstrip("/")
        return replace(file, uri=f"{name_of(widest)}/{inside}", root=widest)
    root = Path(widest)
    parts = (root.name, *Path(absolute_path(place_of(file))).relative_to(root).parts)
    # As in discovery: a name that is invalid in the file system's encoding must be storable.
    uri = os.fsencode("/".join(part for part in parts if part)).decode("utf-8", "replace")
    return replace(file, uri=uri, root=str(root))


def _check_names(store: Store, files: Sequence[SourceFile]) -> None:
    """Raise IndexingError for a file with the name of another one that still exists."""
    offered: dict[str, SourceFile] = {}
    for file in files:
        other = offered.setdefault(file.uri, file)
        if other.root != file.root and _place(other) != _place(file):
            raise _name_error(file, _place(other))
    for start in range(0, len(files), LEDGER_BATCH):
        batch = files[start : start + LEDGER_BATCH]
        known = store.ledger.get([file.uri for file in batch])
        for file in batch:
            entry = known.get(file.uri)
            if entry is None or entry.root == file.root or not entry.root:
                continue
            earlier = entry_path(entry)
            if is_url(earlier) or isinstance(file.path, StoredObject):
                is_other = earlier != _place(file)
            else:
                is_other = exists(Path(earlier)) and not _is_same(earlier, place_of(file))
            if is_other:
                raise _name_error(file, earlier)


def _place(file: SourceFile) -> str:
    return entry_path(file) if isinstance(file.path, StoredObject) else str(place_of(file))


def _name_error(file: SourceFile, earlier: str) -> IndexingError:
    return IndexingError(
        f"`{file.uri}` is already the name of `{earlier}` in this index, so `{_place(file)}` "
        "cannot have it.",
        fix="Index the folder that holds both, or use another index for this one.",
    )


def _coverage(
    paths: Sequence[str | Path], folders: Sequence[str], archives: Container[Path]
) -> Callable[[LedgerEntry], bool] | None:
    """Return the condition for a run to cover an entry; None if it covers none.

    A run covers all entries below its folders. Of those below the folder of a glob, it covers what
    is in the ``archives`` that it listed, and those whose file no longer exists.
    """
    patterns = [str(path) for path in paths if not exists(Path(path).expanduser())]
    bases = [absolute_path(base) for pattern in patterns for base in _fixed_part(pattern)]
    if not folders and not bases:
        return None

    def covers(entry: LedgerEntry) -> bool:
        if not entry.root:
            return False
        place = entry_path(entry)
        if any(is_inside(place, folder) for folder in folders):
            return True
        below = not is_url(place) and any(is_inside(place, base) for base in bases)
        return below and (enclosing_archive(Path(place)) in archives or not exists(Path(place)))

    return covers


def _fixed_part(pattern: str) -> Iterator[str]:
    """Yield the folder of a glob before its first wildcard; nothing for a plain path."""
    path = Path(pattern).expanduser()
    fixed: list[str] = []
    for part in path.parts:
        if glob.has_magic(part):
            yield str(Path(*fixed))
            return
        fixed.append(part)


def absolute_path(path: str | Path) -> str:
    """Return an absolute path; links are kept."""
    return os.path.abspath(Path(path).expanduser())  # noqa: PTH100 - resolve() would follow links


def is_inside(path: str, folder: str) -> bool:
    separator = "/" if is_url(folder) else os.sep
    return path == folder or path.startswith(folder.rstrip(separator) + separator)


def _is_same(one: str | Path, other: str | Path) -> bool:
    try:
        return Path(one) == Path(other) or Path(one).samefile(other)
    except OSError:
        return False  # as for files in archives


_NEAR_NAMES = 8
_ALIKE = 0.8
"""Least similarity of whole uris; below it, they only share their folders."""


def select_entries(store: Store, names: Sequence[str]) -> list[LedgerEntry]:
    """Return the ledger entries with these names, ordered by uri.

    A name is a uri or a path, of a file or a folder, or a pattern with ``*`` for either. Raises
    UnknownName with the nearest uris if a name matches nothing.
    """
    exact = store.ledger.get(names)
    chosen = dict(exact)
    others = [name for name in names if name not in exact]
    if others:
        entries = list(store.ledger.entries())
        for name in others:
            found = [entry for entry in entries if _is_meant(entry, name)]
            if not found:
                near = _near(name, (entry.uri for entry in entries))
                raise UnknownName("document", name, nearest=near)
            chosen.update((entry.uri, entry) for entry in found)
    return sorted(chosen.values(), key=lambda entry: entry.uri)


def find_entry(store: Store, name: str) -> LedgerEntry:
    """Return the ledger entry of one document, by its uri or the path of its file.

    Raises UnknownName with the nearest uris.
    """
    exact = store.ledger.get([name])
    if name in exact:
        return exact[name]
    entries = list(store.ledger.entries())
    path = name if is_url(name) else absolute_path(name)
    for entry in entries:
        if entry.root and entry_path(entry) == path:
            return entry
    raise UnknownName("document", name, nearest=_near(name, (entry.uri for entry in entries)))


def _is_meant(entry: LedgerEntry, name: str) -> bool:
    place = entry_path(entry) if entry.root else entry.uri
    path = name.rstrip("/") if is_url(name) else absolute_path(name)
    if glob.has_magic(name):
        return fnmatchcase(entry.uri, name) or fnmatchcase(place, path)
    folder = name.rstrip("/")
    return is_inside(place, path) or bool(folder and entry.uri.startswith(folder + "/"))


def _near(name: str, uris: Iterable[str]) -> list[str]:
    """Return the uris that contain a name, or whose last part or whole is similar to it."""
    known = list(uris)
    near = [uri for uri in known if name and name.casefold() in uri.casefold()]
    by_last: dict[str, list[str]] = {}
    for uri in known:
        by_last.setdefault(uri.rpartition("/")[2], []).append(uri)
    for last in get_close_matches(Path(name).name, by_last, n=_NEAR_NAMES):
        near.extend(by_last[last])
    near.extend(get_close_matches(name, known, n=_NEAR_NAMES, cutoff=_ALIKE))
    return list(dict.fromkeys(near))[:_NEAR_NAMES]


FEWEST_PAGES = 5
"""A repeated line is on at least this many pages of a folder."""

LEAST_SHARE = 0.8
"""A repeated line is on at least this share of the pages of a folder."""

_PAGE_SUFFIXES = HtmlLoader.suffixes
_KEY_TYPE = np.dtype("<u8")

LineKeys = NDArray[np.uint64]
_NO_KEYS: LineKeys = np.zeros(0, _KEY_TYPE)


@dataclass(frozen=True, slots=True)
class SitePage:
    """The line keys that a page contributes to its site, and those that it is loaded without.

    See `LedgerEntry` for ``edge_keys``; ``fingerprint`` is its ``repeated``.
    """

    edge_keys: bytes = b""
    repeated: frozenset[int] = frozenset()
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class SiteSurvey:
    """The web pages of a run by uri, and unchanged files that it must read again.

    ``failures`` are the errors of pages that ended their worker process: they are not read again.
    """

    pages: Mapping[str, SitePage]
    others: tuple[SourceFile, ...] = ()
    failures: Mapping[str, LoadError] = field(default_factory=dict)


def survey_sites(
    store: Store,
    files: Sequence[SourceFile],
    *,
    covers: Callable[[LedgerEntry], bool] | None,
    settings: IndexSettings,
) -> SiteSurvey:
    """Find the repeated lines of the sites that the pages in ``files`` belong to.

    Reads new and changed pages; a page that cannot be read counts as before. A page of the ledger
    that the run ``covers`` and that is not in ``files`` is gone.
    """
    offered = {file.uri: file for file in files}
    if covers is None and not any(map(_is_page, offered)):
        return SiteSurvey({})
    entries = {e.uri: e for e in store.ledger.entries() if _is_page(e.uri) and e.root}
    contributions, failures = _edge_keys(
        {uri: file for uri, file in offered.items() if _is_page(uri)}, entries, settings
    )
    left = [e for e in entries.values() if e.uri not in offered]
    if covers is not None:
        left = [e for e in left if not covers(e) or lies_in(e.uri, offered)]
    contributions |= {entry.uri: entry.edge_keys for entry in left}
    pages = _pages(contributions)
    outdated = [e for e in left if not e.error and pages[e.uri].fingerprint != e.repeated]
    others = [file for file in map(_file_of, outdated) if file is not None]
    return SiteSurvey(
        pages,
        tuple(file for file in others if has_same_times(file, entries[file.uri])),
        failures,
    )


def _file_of(entry: LedgerEntry) -> SourceFile | None:
    """Return the file of an entry as it is now; None for an object that cannot be found."""
    place = entry_path(entry)
    if is_url(entry.root):
        return object_at(place, entry.uri, entry.root)
    return source_file(entry.uri, Path(place), root=Path(entry.root))


def _is_page(uri: str) -> bool:
    return "/" in uri and uri.lower().endswith(_PAGE_SUFFIXES)


def _edge_keys(
    files: Mapping[str, SourceFile], entries: Mapping[str, LedgerEntry], settings: IndexSettings
) -> tuple[dict[str, bytes], dict[str, LoadError]]:
    """Return the line keys of pages, of unchanged ones from the ledger, of others from the file.

    The second result has the errors of pages that ended their worker process.
    """
    found: dict[str, bytes] = {}
    failures: dict[str, LoadError] = {}
    changed: list[SourceFile] = []
    for uri, file in checked(files.items()):
        entry = entries.get(uri)
        if entry and entry.edge_keys and not is_racy(entry) and has_same_times(file, entry):
            found[uri] = entry.edge_keys
        else:
            changed.append(file)
    load = partial(
        _load_edge_keys,
        max_file_mb=settings.max_file_mb,
        max_characters=settings.max_file_characters,
    )
    results = read_files(
        load,
        ((file.path, file.uri, file.size) for file in changed),
        workers=settings.workers,
        limits=ReadingLimits.of(settings),
    )
    for file, result in zip(changed, results, strict=True):
        entry = entries.get(file.uri)
        try:
            found[file.uri] = np.array(result(), _KEY_TYPE).tobytes()
        except LoadError as error:
            if error.reason in PROCESS_FAILURES:
                failures[file.uri] = error
            found[file.uri] = entry.edge_keys if entry is not None and entry.chunks else b""
    return {uri: found[uri] for uri in files}, failures


def _load_edge_keys(path: Path | RemoteFile, uri: str, **options: Any) -> list[int]:  # noqa: ANN401
    return load_edge_keys(path, uri=uri, **options)


def _pages(contributions: Mapping[str, bytes]) -> dict[str, SitePage]:
    """Return all pages by uri, each with the lines to load it without."""
    keys = {uri: np.frombuffer(data, _KEY_TYPE) for uri, data in contributions.items() if data}
    by_folder: defaultdict[str, list[LineKeys]] = defaultdict(list)
    for uri, own in keys.items():
        for folder in _folders(uri):
            by_folder[folder].append(own)
    repeated = {folder: _repeated(pages) for folder, pages in by_folder.items()}
    known: dict[str, SitePage] = {}
    pages: dict[str, SitePage] = {}
    for uri, data in contributions.items():
        own = keys.get(uri, _NO_KEYS)
        found = [
            np.intersect1d(keys[uri], repeated[folder]) for folder in _folders(uri) if uri in keys
        ]
        removed = np.unique(np.concatenate([_NO_KEYS, *found]))
        mark = content_id(removed.tobytes().hex()) if len(removed) else ""
        pages[uri] = replace(
            known.setdefault(mark, SitePage(b"", frozenset(removed.tolist()), mark)), edge_keys=data
        )
    return pages


def _folders(uri: str) -> Iterator[str]:
    """Return the folders above a page, the topmost first."""
    parts = uri.split("/")
    return ("/".join(parts[:depth]) for depth in range(1, len(parts)))


def _repeated(pages: Sequence[LineKeys]) -> LineKeys:
    """Return the keys that most of the pages have, ascending."""
    fewest = max(FEWEST_PAGES, math.ceil(LEAST_SHARE * len(pages)))
    if len(pages) < fewest:
        return _NO_KEYS
    found, counts = np.unique(np.concatenate(pages), return_counts=True)
    return found[counts >= fewest]
