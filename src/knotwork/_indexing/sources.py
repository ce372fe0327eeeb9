"""Find the sources of a run: files with their names in the index, and the pages of web sites.

`select_files` turns paths into sources and decides which ledger entries the run covers. `discover`
walks through folders and archives, without what ignore rules exclude; `discover_objects` lists
object storage by URLs such as s3://bucket/docs. fsspec opens the file systems. Their credentials
come from their own settings and the environment, never from a URL, which the index stores. An
object whose version the index knows is not downloaded.

`survey_sites` finds the lines that the web pages of a folder repeat, so that pages are loaded
without them. A page contributes the keys of the lines at its edges, which the ledger stores; the
repeated lines of a site follow from all its pages in any order, so a page is read again only if it
changed, or the lines removed from it did. `select_entries` finds indexed documents by name, path
or pattern.
"""

from __future__ import annotations

import glob
import hashlib
import json
import math
import os
import re
import shlex
import shutil
import stat
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

import numpy as np
from numpy.typing import NDArray
from pathspec import GitIgnoreSpec

from knotwork._cancellation import check_cancelled, checked, run_apart
from knotwork._config import IndexSettings
from knotwork._indexing.archives import (
    ArchivedFile,
    ArchiveLimits,
    archive_kind,
    as_text,
    enclosing_archive,
    write_once,
)
from knotwork._indexing.changes import LEDGER_BATCH, entry_path, has_same_times, is_racy, lies_in
from knotwork._indexing.loaders.loader import FORMATS, MEGABYTE
from knotwork._indexing.loaders.loader_registry import (
    RemoteFile,
    load_edge_keys,
    load_file,
    load_undescribed,
    may_be_light,
    too_large_error,
)
from knotwork._indexing.prepare import UNKNOWN_TIME_NS, SourceFile, size_and_times, unread
from knotwork._indexing.workers import PROCESS_FAILURES, read_files
from knotwork._registry import PARTS
from knotwork._stores.base import LedgerEntry, Store
from knotwork.errors import IndexingError, LoadError, UnknownName, required
from knotwork.records import Document, content_id

EXTRA = "remote"
ROOTS_META = "roots"


IGNORE_FILES = (".gitignore", ".knotignore")
"""Read in every folder; the later file overrides the earlier, and a deeper folder its parents."""

_SKIPPED_FOLDERS = frozenset(["node_modules", "__pycache__", "__MACOSX", "$RECYCLE.BIN"])
_SKIPPED_FILES = GitIgnoreSpec.from_lines(
    [
        *("~$*", "Thumbs.db", "desktop.ini", "*.knot", "*.knot-wal", "*.knot-shm"),
        *("*.knot-tables*", "*.knot.calls*", "*.knot.memory*", "*.knot.begun*", "*.knot.damaged*"),
        "*.knot.map*",
    ]
)


class IgnoreRules(NamedTuple):
    """The rules in the ignore files of a folder ``depth`` levels below the root."""

    depth: int
    spec: GitIgnoreSpec


_UNFINISHED = IgnoreRules(
    0,
    GitIgnoreSpec.from_lines(
        [
            *("*~", "*.tmp", "*.swp", "\\#*#", "4913"),  # of editors; vim tries `4913`
            *("*.part", "*.partial", "*.filepart", "*.crdownload", "*.download"),
        ]
    ),
)
"""Files that programs are writing. The rules of ignore files override these."""


class _Folder(NamedTuple):
    """A folder to visit, with the rules of all folders above it, the deepest first."""

    path: Path
    parts: tuple[str, ...]
    rules: tuple[IgnoreRules, ...]


class _Rules(NamedTuple):
    """What decides which files are found, and what archives may contain."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]
    archives: ArchiveLimits
    follow_links: bool


def discover(
    paths: Iterable[str | Path],
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    archives: ArchiveLimits | None = None,
    follow_links: bool = True,
) -> Iterator[SourceFile]:
    """Yield the files below ``paths`` (files, folders or globs), in a fixed order.

    An archive is a folder, also one in ``paths``, which may name files and folders in it. One that
    cannot be read is yielded as a file, so that loading it reports the reason.

    ``include`` and ``exclude`` are .gitignore patterns relative to each folder in ``paths``; with
    ``include``, only matching files are yielded. A file in ``paths`` is always yielded. Skips
    hidden files and the folders of version control, virtual environments and packages. Follows a
    link to a folder only if the walk would not reach that folder otherwise. Without
    ``follow_links``, a link that leads out of its folder in ``paths`` is a file that cannot be
    read.

    The uri of ``old.md`` in the folder ``docs`` is ``docs/old.md``; that of a file in ``paths`` is
    its name.

    Raises IndexingError if a path does not exist, or two files would have the same uri.
    """
    seen: dict[str, Path] = {}
    rules = _Rules(tuple(include), tuple(exclude), archives or ArchiveLimits(), follow_links)
    for path in paths:
        for source in _discover_one(str(path), rules):
            place = Path(os.path.realpath(place_of(source)))
            earlier = seen.setdefault(source.uri, place)
            if earlier != place:
                raise IndexingError(
                    f"`{earlier}` and `{place}` would both be called `{source.uri}`.",
                    fix="Index the folder that holds both, or rename one.",
                )
            if earlier is place:
                yield source


def place_of(source: SourceFile) -> Path:
    """Return the path of a file of this machine; in an archive, as if that were a folder."""
    if isinstance(source.path, ArchivedFile):
        return source.path.place
    assert isinstance(source.path, Path), "a walk finds files of this machine"
    return source.path


def exists(path: Path) -> bool:
    """Return True if a path exists, or may exist in an archive."""
    return os.path.lexists(path) or enclosing_archive(path) is not None


def is_folder_or_archive(path: Path) -> bool:
    """Return True if the files below a path are documents of their own."""
    if path.is_dir():
        return True
    is_archive = bool(archive_kind(path.name)) and path.is_file()
    return is_archive or (not os.path.lexists(path) and enclosing_archive(path) is not None)


def stays_inside(file: Path, root: Path) -> bool:
    """Return True if a file is in a folder, or in one of the archives above, once links are
    followed.
    """
    real = Path(os.path.realpath(file))
    above = Path(os.path.realpath(root))
    return real.is_relative_to(above) or above.is_relative_to(real)


def _within_root(file: SourceFile) -> SourceFile:
    """Return a file, or one that cannot be read if a link leads out of the indexed folder."""
    if isinstance(file.path, StoredObject) or file.read is not unread:
        return file
    place = place_of(file)
    inside = stays_inside(place, Path(file.root))
    return file if inside else _refused_link(file.uri, place, file.root)


def _refused_link(uri: str, path: Path, root: str) -> SourceFile:
    """Return a file that is not read, since a link leads out of the folder ``root``."""
    error = LoadError(
        "unreadable",
        f"`{uri}` is a link that leads out of `{Path(root).name}`, so it is not read.",
        fix="Put the file itself there.",
    )
    return SourceFile(uri, path=path, root=root, read=partial(_fail, error))


def _discover_one(named: str, rules: _Rules) -> Iterator[SourceFile]:
    path = Path(named).expanduser()
    if path.is_dir():
        yield from _Walk(path, rules).sources()
    elif archive_kind(path.name) and path.is_file():
        yield from _Walk(path, rules).archived(path, (), (_UNFINISHED,))
    elif os.path.lexists(path):
        yield source_file(_uri("", [path.name]), path, root=_absolute(path))
    elif glob.has_magic(named):
        matches = glob.glob(str(path), recursive=True)  # noqa: PTH207 - it may be absolute
        if not matches:
            raise IndexingError(
                f"Nothing matches `{named}`.", fix="Quote the pattern, and check the folder."
            )
        yield from _matched(path, matches, rules)
    else:
        found = list(_in_archive(_absolute(path), rules))
        if not found:
            raise IndexingError(f"`{named}` does not exist.", fix="Check the spelling of the path.")
        yield from found


def _in_archive(path: Path, rules: _Rules) -> Iterator[SourceFile]:
    """Yield the file or the folder with this path in an archive, named as outside of archives."""
    archive = enclosing_archive(path)
    if archive is None:
        return
    for source in _Walk(archive, rules).archived(archive, (), (_UNFINISHED,)):
        place = place_of(source)
        if place == path or path in place.parents:
            uri = _uri(path.name, place.relative_to(path).parts)
            yield replace(source, uri=uri, root=str(path))
        elif isinstance(source.path, ArchivedFile) and not source.path.is_listed:
            yield source


def _matched(pattern: Path, matches: Iterable[str], rules: _Rules) -> Iterator[SourceFile]:
    """Yield the files of a glob; uris begin with the last folder before its first wildcard."""
    taken = {_absolute(Path(match)) for match in matches}
    for source in _Walk(_fixed_part(pattern), rules).sources():
        place = place_of(source)
        if place in taken or any(parent in taken for parent in place.parents):
            yield source


class _Walk:
    """A recursive walk through a folder, ordered by name."""

    def __init__(self, root: Path, rules: _Rules) -> None:
        self._root = _absolute(root)
        self._include = GitIgnoreSpec.from_lines(rules.include) if rules.include else None
        self._exclude = GitIgnoreSpec.from_lines(rules.exclude)
        self._archives = rules.archives
        self._follow_links = rules.follow_links
        self._real_root = os.path.realpath(root)
        self._entered = {self._real_root}

    def sources(self) -> Iterator[SourceFile]:
        waiting: list[_Folder | SourceFile] = [_Folder(self._root, (), (_UNFINISHED,))]
        while waiting:
            check_cancelled()
            item = waiting.pop()
            if isinstance(item, SourceFile):
                yield item
            else:
                waiting.extend(reversed(self._open(item)))

    def _open(self, folder: _Folder) -> list[_Folder | SourceFile]:
        try:
            with os.scandir(folder.path) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            # Yielded like a file, so that loading it reports why it cannot be opened.
            return [self._source(folder.parts, folder.path)]
        rules = (*_folder_rules(folder, entries), *folder.rules)
        found: list[_Folder | SourceFile] = []
        for entry in entries:
            name = as_text(entry.name)
            parts = (*folder.parts, name)
            path = folder.path / entry.name
            is_folder = _is_folder(entry)
            skipped = _is_skipped_folder(path) if is_folder else skips_file(name)
            if skipped or _is_ignored(parts, self._exclude, rules, is_folder=is_folder):
                continue
            leaves = not self._follow_links and entry.is_symlink()
            if leaves and not stays_inside(path, self._root):
                found.append(_refused_link(_uri(self._root.name, parts), path, str(self._root)))
            elif not is_folder and archive_kind(name) and path.is_file():
                found.extend(self.archived(path, parts, rules))
            elif not is_folder:
                if self._include is None or self._include.match_file("/".join(parts)):
                    found.append(self._source(parts, path))
            elif not entry.is_symlink() or self._enters_link(path):
                found.append(_Folder(path, parts, rules))
        return found

    def archived(
        self, path: Path, parts: tuple[str, ...], rules: Sequence[IgnoreRules]
    ) -> list[SourceFile]:
        """Return the files in an archive, which has ``parts`` below the root.

        One that cannot be listed is a file, and so is a document in a ZIP file.
        """
        itself = self._source(parts, path)
        try:
            members: list[ArchivedFile] | None = PARTS.load("list_archive")(
                _absolute(path), itself.uri, self._archives
            )
        except LoadError as error:
            return [replace(itself, path=ArchivedFile(_absolute(path), (0, 0), refusal=error))]
        except OSError:
            return [itself]  # loading it reports the reason
        if members is None:
            return [itself]
        return [
            SourceFile(
                _uri(self._root.name, name),
                path=archived,
                root=str(self._root),
                size=archived.size,
                modified_ns=itself.modified_ns,
                version=archived.version,
            )
            for archived in members
            for name in ((*parts, *archived.parts),)
            if (self._include is None or self._include.match_file("/".join(name)))
            and not _is_skipped(name, self._exclude, lambda _: rules, above=len(parts))
        ]

    def _source(self, parts: Sequence[str], path: Path) -> SourceFile:
        return source_file(_uri(self._root.name, parts), path, root=self._root)

    def _enters_link(self, path: Path) -> bool:
        """Return True if the walk reaches the target of a linked folder only through the link."""
        real = os.path.realpath(path)
        inside = real.startswith(self._real_root.rstrip(os.sep) + os.sep)
        above = self._real_root.startswith(real.rstrip(os.sep) + os.sep)
        if inside or above or real in self._entered:
            return False
        self._entered.add(real)
        return True


def _is_ignored(
    parts: Sequence[str], exclude: GitIgnoreSpec, rules: Iterable[IgnoreRules], *, is_folder: bool
) -> bool:
    """Return True if ``exclude`` or the rules of the folders above, deepest first, leave it out."""
    end = "/" if is_folder else ""
    if exclude.match_file("/".join(parts) + end):
        return True
    for depth, spec in rules:
        decided = spec.check_file("/".join(parts[depth:]) + end).include
        if decided is not None:
            return decided
    return False


def _is_skipped(
    parts: Sequence[str],
    exclude: GitIgnoreSpec,
    rules: Callable[[Sequence[str]], Iterable[IgnoreRules]],
    *,
    above: int = 0,
) -> bool:
    """Return True if a walk would not reach a file, from the folder of the ``above`` first parts.

    ``rules`` returns those of the folders above a place, the deepest first.
    """
    if any(map(skips_folder, parts[above:-1])) or skips_file(parts[-1]):
        return True
    return any(
        _is_ignored(place, exclude, rules(place), is_folder=len(place) < len(parts))
        for place in (parts[:depth] for depth in range(above + 1, len(parts) + 1))
    )


def _absolute(path: Path) -> Path:
    """Return an absolute path without `..`; links are kept, as the user knows their names."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow the links


def _uri(name: str, parts: Sequence[str]) -> str:
    return as_text("/".join([name, *parts] if name else parts))


def source_file(uri: str, path: Path, *, root: Path) -> SourceFile:
    """Return a file with its current size and times."""
    file = SourceFile(uri, path=path, root=str(root))
    checked_ns = time.time_ns()  # before the file is read, so that a later change is later
    try:
        status = path.stat()
    except OSError:
        return file
    if not stat.S_ISREG(status.st_mode):
        return file
    size, modified_ns, changed_ns = size_and_times(status)
    return replace(
        file, size=size, modified_ns=modified_ns, changed_ns=changed_ns, checked_ns=checked_ns
    )


def _folder_rules(folder: _Folder, entries: Iterable[os.DirEntry[str]]) -> list[IgnoreRules]:
    present = {entry.name for entry in entries}
    lines: list[str] = []
    for name in IGNORE_FILES:
        if name in present:
            try:
                text = (folder.path / name).read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue  # unreadable, or a folder: no rules
            lines.extend(text.splitlines())
    return [IgnoreRules(len(folder.parts), GitIgnoreSpec.from_lines(lines))] if lines else []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_skipped_folder(path: Path) -> bool:
    return skips_folder(path.name) or (path / "pyvenv.cfg").exists()


def skips_folder(name: str) -> bool:
    """Return True for the name of a hidden folder, or one of packages or version control."""
    return name.startswith(".") or name in _SKIPPED_FOLDERS


def skips_file(name: str) -> bool:
    """Return True for the name of a hidden file, or one of an index or a program."""
    return name.startswith(".") or _SKIPPED_FILES.match_file(name)


_URL = re.compile(r"([a-z][a-z0-9+.-]*::)*[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_VERSION_KEYS = (
    "ETag",
    "etag",
    "md5Hash",
    "generation",
    "content_md5",
    "checksum",
    "mtime",
    "LastModified",
    "last_modified",
    "updated",
    "modified",
    "created",
)
"""What file systems call the version of an object, the surest ones first."""

_TIME_KEYS = ("mtime", "LastModified", "last_modified", "updated", "modified", "created")
_IGNORE_FILE_BYTES = 1 << 20


def is_url(path: str | Path) -> bool:
    """Return True if a source is a URL and not a path of this machine."""
    return isinstance(path, str) and _URL.match(path) is not None


def local_path(path: str | Path) -> str | Path:
    """Return the path of a file:// URL; all else unchanged."""
    if isinstance(path, str) and path[:7].lower() == "file://":
        parts = urlsplit(path)
        if parts.netloc not in {"", "localhost"}:
            raise IndexingError(
                f"`{path}` names the machine `{parts.netloc}`.",
                fix="Write file:///PATH, with three slashes, for a path of this machine.",
            )
        return url2pathname(parts.path)
    return path


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object below the folder ``root``, a URL, by the ``key`` that its file system uses.

    ``size`` is in bytes, None if the file system does not say. If ``kept_in`` is a folder, the
    first read leaves the bytes there for the next one, on the same machine.
    """

    root: str
    key: str
    size: int | None
    kept_in: str = ""

    def read(self, *, uri: str, max_file_mb: float) -> bytes:
        """Return the bytes of the object. Raises LoadError, as `load_file` does."""
        limit = int(max_file_mb * MEGABYTE)
        if self.size is not None and self.size > limit:
            raise too_large_error(uri, self.size, max_file_mb)
        kept = self._kept_file()
        if kept is not None:
            with suppress(OSError):
                return kept.read_bytes()
        data = self._download(uri, limit)
        if len(data) > limit:
            raise too_large_error(uri, len(data), max_file_mb)
        if kept is not None:
            with suppress(OSError):  # it is downloaded again
                write_once(kept, [data])
        return data

    def _download(self, uri: str, limit: int) -> bytes:
        if self.size == 0:
            return b""  # a range of an empty object is an error of S3
        try:
            files, _ = _open_files(self.root)
            return bytes(files.cat_file(self.key, start=0, end=limit + 1))
        except FileNotFoundError as error:
            raise LoadError("missing", f"`{uri}` no longer exists.") from error
        except MemoryError:
            raise
        except Exception as error:  # each file system has errors of its own
            raise LoadError(
                "unreadable",
                f"`{uri}` cannot be read: {_reason(error)}.",
                fix="Check the permissions and the connection.",
            ) from error

    def _kept_file(self) -> Path | None:
        if not self.kept_in:
            return None
        return Path(self.kept_in, hashlib.blake2b(self.key.encode(errors="replace")).hexdigest())


def storage_root(url: str) -> str:
    """Return the name of a folder of documents in the index: its URL without a slash at its end.

    Raises IndexingError for a URL with a password, or one of several file systems.
    """
    try:
        parts = urlsplit(url)
        has_secret = parts.password is not None or bool(parts.query)
    except ValueError as error:
        raise IndexingError(f"`{url}` is not a valid URL: {error}.") from error
    if "::" in url:
        raise IndexingError(
            f"`{url}` combines file systems.", fix="Use a URL of one, such as s3://BUCKET/FOLDER."
        )
    if has_secret:
        shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        raise IndexingError(
            f"The URL of `{shown}` has a password or parameters, which the index would store.",
            fix="Set credentials in the environment or the configuration of fsspec.",
        )
    if not parts.path.strip("/") and not parts.netloc:
        raise IndexingError(f"`{url}` names no folder.", fix="For example: s3://BUCKET/FOLDER")
    return url.rstrip("/")


def discover_objects(
    url: str, *, include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> tuple[list[SourceFile], bool]:
    """Return the objects below a URL in a fixed order, and True if the URL is a folder.

    Patterns, ignore files and hidden names are those of `discover`. Raises IndexingError if nothing
    is there or it cannot be listed, MissingExtra if fsspec is not installed.
    """
    root = storage_root(url)
    files, base = _open_files(root)
    listed = _list(files, base, root)
    below = base.rstrip("/") + "/"
    found = {key.removeprefix(below): key for key in listed if key.startswith(below)}
    found.pop("", None)
    if not found and base in listed:
        return [_source(name_of(root), root, base, listed[base])], False
    if not found:
        raise IndexingError(
            f"`{url}` does not exist, or has no objects.",
            fix="Check its spelling. Patterns of names belong in index.include.",
        )
    included = GitIgnoreSpec.from_lines(include) if include else None
    excluded = GitIgnoreSpec.from_lines(exclude)
    parts_of = {tuple(as_text(name).split("/")): key for name, key in found.items()}
    rules = _object_rules(files, parts_of, listed)
    chosen = [
        _source("/".join((name_of(root), *parts)), root, key, listed[key])
        for parts, key in checked(sorted(parts_of.items()))
        if parts[-1]  # the mark of an empty folder has no name
        and not _is_skipped(parts, excluded, rules)
        and (included is None or included.match_file("/".join(parts)))
    ]
    return chosen, True


def object_at(url: str, uri: str, root: str) -> SourceFile | None:
    """Return the object at a URL as it is now; None if it cannot be found."""
    try:
        files, key = _open_files(url)
        info = run_apart(lambda: files.info(key))
    except (OSError, IndexingError):
        return None
    return _source(uri, root, key, info)


def name_of(root: str) -> str:
    """Return the name of a folder: the last part of its URL."""
    return root.rstrip("/").rpartition("/")[2]


def _source(uri: str, root: str, key: str, info: Mapping[str, Any]) -> SourceFile:
    size = info.get("size")
    stored = next((info[k] for k in _VERSION_KEYS if info.get(k) not in {None, ""}), None)
    time = next((info[k] for k in _TIME_KEYS if info.get(k)), None)
    version = "" if stored is None else content_id("object", str(stored), str(size))
    return SourceFile(
        uri,
        path=StoredObject(root, key, size),
        root=root,
        size=size or 0,
        modified_ns=_nanoseconds(time),
        version=version,
    )


def _nanoseconds(time: object) -> int:
    """Return a time as file systems state it in nanoseconds since the epoch."""
    if isinstance(time, int | float):
        return int(time * 1e9)
    if isinstance(time, str):
        with suppress(ValueError):
            time = datetime.fromisoformat(time)
    if isinstance(time, datetime):
        moment = time if time.tzinfo else time.replace(tzinfo=UTC)
        return int(moment.timestamp() * 1e9)
    return UNKNOWN_TIME_NS


def _open_files(url: str) -> tuple[Any, str]:
    with required(f"Reading `{url}`", EXTRA):
        from fsspec.core import url_to_fs
    try:
        files, key = url_to_fs(url)  # of one connection for each process
    except Exception as error:
        raise IndexingError(
            f"`{url}` cannot be opened: {_reason(error)}.",
            fix="Install the package of fsspec for this kind of storage, such as s3fs or gcsfs.",
        ) from error
    return files, str(key)


def _list(files: Any, base: str, root: str) -> dict[str, dict[str, Any]]:  # noqa: ANN401
    try:
        files.invalidate_cache()
        found: dict[str, dict[str, Any]] = run_apart(lambda: files.find(base, detail=True))
    except FileNotFoundError:
        return {}
    except Exception as error:
        raise IndexingError(
            f"`{root}` cannot be listed: {_reason(error)}.",
            fix="Check the credentials and the connection.",
        ) from error
    return found


def _object_rules(
    files: Any,  # noqa: ANN401
    parts_of: Mapping[tuple[str, ...], str],
    listed: Mapping[str, Mapping[str, Any]],
) -> Callable[[Sequence[str]], list[IgnoreRules]]:
    """Return a function that returns the rules of the folders above a place, the deepest first."""
    lines: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in IGNORE_FILES:
        for parts, key in parts_of.items():
            if parts[-1] == name and (listed[key].get("size") or 0):
                with suppress(Exception):  # unreadable: no rules
                    data = files.cat_file(key, start=0, end=_IGNORE_FILE_BYTES)
                    lines[parts[:-1]] += bytes(data).decode("utf-8", "replace").splitlines()
    rules = {
        folder: IgnoreRules(len(folder), GitIgnoreSpec.from_lines(found))
        for folder, found in lines.items()
    }

    def above(place: Sequence[str]) -> list[IgnoreRules]:
        folders = (tuple(place[:depth]) for depth in range(len(place) - 1, -1, -1))
        return [rules[folder] for folder in folders if folder in rules]

    return above


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())[:200].rstrip(".")
    return text or type(error).__name__


@dataclass(frozen=True, slots=True)
class SourceSelection:
    """The sources of a run, and the ledger entries that it ``covers``: removed if gone.

    ``roots`` are all folders that were indexed so far, with those of this run. ``kept_in`` is the
    folder of what was downloaded and is read again in this run, until the selection is closed.
    """

    files: tuple[SourceFile, ...]
    covers: Callable[[LedgerEntry], bool] | None = None
    roots: tuple[str, ...] = ()
    kept_in: Path | None = None

    def close(self) -> None:
        """Delete what was downloaded."""
        if self.kept_in is not None:
            shutil.rmtree(self.kept_in, ignore_errors=True)


def select_files(
    store: Store, paths: Sequence[str | Path], settings: IndexSettings
) -> SourceSelection:
    """Return the files below ``paths``, which may be URLs; close it after the run.

    A file in a folder that was indexed before keeps its name, whether ``paths`` name that folder,
    a part of it, or the file itself. The run covers the folders in ``paths``. Web pages are loaded
    without the lines that their site repeats; if these changed, more pages of the site are added.
    Raises IndexingError if a path does not exist, or a name belongs to another file already.
    """
    given = [local_path(path) for path in paths]
    urls = [path for path in given if isinstance(path, str) and is_url(path)]
    paths = [path for path in given if path not in urls]
    for path in paths:
        if not exists(Path(path).expanduser()) and not glob.has_magic(str(path)):
            _check_gone(store, str(path), absolute_path(path))
    known = stored_roots(store)
    objects, url_folders = _discover_urls(store, urls, settings) if urls else ([], [])
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
            follow_links=settings.follow_links,
        )
    )
    files = [_named_by_widest_root(file, roots) for file in (*found, *objects)]
    if not settings.follow_links:
        files = [_within_root(file) for file in files]
    _check_names(store, files)
    listed = (file.path for file in found if isinstance(file.path, ArchivedFile))
    archives = {path.archive for path in listed if path.is_listed}
    covers = _coverage(paths, [*folders, *url_folders], archives)
    kept_in = None
    if any(map(_is_read_again, files)):
        kept_in = Path(tempfile.mkdtemp(prefix="knotwork-pages-"))
        files = [_kept(file, kept_in) for file in files]
    selection = SourceSelection((), covers, roots, kept_in)
    try:
        files, lines = survey_sites(store, files, covers=covers, settings=settings)
    except BaseException:
        selection.close()
        raise
    loaded = [_as_loaded(file, lines.get(file.uri, frozenset()), settings) for file in files]
    return replace(selection, files=tuple(loaded))


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


def _is_read_again(file: SourceFile) -> bool:
    """Return True if what is read for a file is kept for the run.

    An archive in an archive is unpacked once, and the site of a web page in a storage is surveyed
    before the page is loaded.
    """
    is_page = isinstance(file.path, StoredObject) and _is_page(file.uri)
    return is_page or isinstance(file.path, ArchivedFile)


def _kept(file: SourceFile, kept_in: Path) -> SourceFile:
    if isinstance(file.path, StoredObject | ArchivedFile) and _is_read_again(file):
        return replace(file, path=replace(file.path, kept_in=str(kept_in)))
    return file


def _as_loaded(file: SourceFile, lines: frozenset[int], settings: IndexSettings) -> SourceFile:
    """Return a file with the functions that load it, without these lines of its site."""
    is_here = isinstance(file.path, Path)
    is_known = bool(file.version) or (is_here and file.modified_ns != UNKNOWN_TIME_NS)
    file = replace(file, is_hashed=is_known and file.size <= settings.max_file_mb * MEGABYTE)
    if file.read is not unread:
        return file  # what surveyed its site could not read it
    options: dict[str, Any] = {
        "uri": file.uri,
        "max_file_mb": settings.max_file_mb,
        "max_characters": settings.max_file_characters,
        "audio_model": settings.audio_model,
        "repeated": lines,
    }
    read = partial(load_file, _path(file), **options)
    file = replace(file, read=read)
    if is_here and may_be_light(file.uri, file.size):
        return replace(file, read_here=partial(read, only_light=True))
    return replace(file, read_undescribed=partial(load_undescribed, _path(file), **options))


def _fail(error: LoadError) -> Document:
    raise error


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
    given = [Path(path).expanduser() for path in paths]
    patterns = [path for path in given if glob.has_magic(str(path)) and not exists(path)]
    bases = [absolute_path(_fixed_part(path)) for path in patterns]
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


def _fixed_part(pattern: Path) -> Path:
    """Return the folder of a glob before its first wildcard."""
    return Path(*takewhile(lambda part: not glob.has_magic(part), pattern.parts[:-1]))


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

_PAGE_SUFFIXES = FORMATS["html"].suffixes
_KEY_TYPE = np.dtype("<u8")

LineKeys = NDArray[np.uint64]
_NO_KEYS: LineKeys = np.zeros(0, _KEY_TYPE)


def survey_sites(
    store: Store,
    files: Sequence[SourceFile],
    *,
    covers: Callable[[LedgerEntry], bool] | None,
    settings: IndexSettings,
) -> tuple[list[SourceFile], Mapping[str, frozenset[int]]]:
    """Find the repeated lines of the sites that the pages in ``files`` belong to.

    Returns the files with what the ledger stores of their sites, and unchanged pages that must be
    read again; and the keys of lines by the uri of the page that is loaded without them. Reads new
    and changed pages; a page that cannot be read counts as before, and one that ended its worker
    process is not read again. A page of the ledger that the run ``covers`` and that is not in
    ``files`` is gone.
    """
    offered = {file.uri: file for file in files}
    if covers is None and not any(map(_is_page, offered)):
        return list(files), {}
    entries = {e.uri: e for e in store.ledger.entries() if _is_page(e.uri) and e.root}
    found = [*_with_edge_keys(files, entries, settings)]
    left = [e for e in entries.values() if e.uri not in offered]
    if covers is not None:
        left = [e for e in left if not covers(e) or lies_in(e.uri, offered)]
    removed = _repeated_lines(
        {file.uri: file.edge_keys for file in found}
        | {entry.uri: entry.edge_keys for entry in left}
    )
    marks = {
        uri: content_id(keys.tobytes().hex()) if len(keys) else "" for uri, keys in removed.items()
    }
    lines = {marks[uri]: frozenset(keys.tolist()) for uri, keys in removed.items()}
    for entry in left:
        if not entry.error and marks[entry.uri] != entry.repeated:
            place = entry_path(entry)
            file = (
                object_at(place, entry.uri, entry.root)
                if is_url(entry.root)
                else source_file(entry.uri, Path(place), root=Path(entry.root))
            )
            if file is not None and has_same_times(file, entry):
                found.append(replace(file, edge_keys=entry.edge_keys))
    pages = [replace(file, repeated=marks[file.uri]) for file in found]
    return pages, {page.uri: lines[page.repeated] for page in pages}


def _is_page(uri: str) -> bool:
    return "/" in uri and uri.lower().endswith(_PAGE_SUFFIXES)


def _with_edge_keys(
    files: Sequence[SourceFile], entries: Mapping[str, LedgerEntry], settings: IndexSettings
) -> Iterator[SourceFile]:
    """Yield files with the line keys of pages: of unchanged ones from the ledger."""
    known: dict[str, bytes] = {}
    for file in checked(files):
        entry = entries.get(file.uri)
        if not _is_page(file.uri) or file.read is not unread:
            known[file.uri] = b""
        elif entry and entry.edge_keys and not is_racy(entry) and has_same_times(file, entry):
            known[file.uri] = entry.edge_keys
    load = partial(
        load_edge_keys,
        max_file_mb=settings.max_file_mb,
        max_characters=settings.max_file_characters,
    )
    results = read_files(
        (
            (partial(load, _path(file), uri=file.uri), file.uri, file.size)
            for file in files
            if file.uri not in known
        ),
        settings=settings,
    )
    for file in files:
        if file.uri in known:
            yield replace(file, edge_keys=known[file.uri])
            continue
        read = next(results)
        try:
            yield replace(file, edge_keys=np.array(read(), _KEY_TYPE).tobytes())
        except LoadError as error:
            entry = entries.get(file.uri)
            keys = entry.edge_keys if entry is not None and entry.chunks else b""
            is_failed = error.reason in PROCESS_FAILURES
            yield replace(
                file, edge_keys=keys, read=partial(_fail, error) if is_failed else file.read
            )


def _path(file: SourceFile) -> Path | RemoteFile:
    assert file.path is not None, "a walk finds files"
    return file.path


def _repeated_lines(contributions: Mapping[str, bytes]) -> dict[str, LineKeys]:
    """Return the keys of the lines to load each page without, by uri, ascending."""
    keys = {uri: np.frombuffer(data, _KEY_TYPE) for uri, data in contributions.items()}
    by_folder: defaultdict[str, list[LineKeys]] = defaultdict(list)
    for uri, own in keys.items():
        if len(own):
            for folder in _folders(uri):
                by_folder[folder].append(own)
    repeated = {folder: _repeated(pages) for folder, pages in by_folder.items()}
    return {
        uri: np.unique(
            np.concatenate(
                [
                    _NO_KEYS,
                    *(np.intersect1d(own, repeated[f]) for f in _folders(uri) if len(own)),
                ]
            )
        )
        for uri, own in keys.items()
    }


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
