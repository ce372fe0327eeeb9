"""Find the files below paths and globs, without those that ignore rules exclude."""

from __future__ import annotations

import glob
import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from pathspec import GitIgnoreSpec

from knotwork._cancellation import check_cancelled
from knotwork._indexing.archives import (
    ArchivedFile,
    ArchiveLimits,
    archive_kind,
    as_text,
    enclosing_archive,
    list_archive,
)
from knotwork._indexing.loaders.loader_registry import RemoteFile
from knotwork.errors import IndexingError, LoadError

IGNORE_FILES = (".gitignore", ".knotignore")
"""Read in every folder; the later file overrides the earlier, and a deeper folder its parents."""

UNKNOWN_TIME_NS = -1
"""The modification time of a source without one: it is read to see whether it changed."""

_SKIPPED_FOLDERS = frozenset(["node_modules", "__pycache__", "__MACOSX", "$RECYCLE.BIN"])
_SKIPPED_FILES = GitIgnoreSpec.from_lines(
    [
        *("~$*", "Thumbs.db", "desktop.ini", "*.knot", "*.knot-wal", "*.knot-shm"),
        *("*.knot-tables*", "*.knot.calls*", "*.knot.memory*", "*.knot.begun*", "*.knot.damaged*"),
        "*.knot.map*",
    ]
)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to index, with its name in the index, which does not depend on the path of ``root``.

    ``size`` is in bytes, the times are those of `LedgerEntry`. An inaccessible file has size 0 and
    ``UNKNOWN_TIME_NS``: it is included, so that loading it reports the reason. ``version`` is what
    a storage states of its object, and changes whenever the bytes do; a file has none.
    """

    uri: str
    path: Path | RemoteFile
    root: str
    size: int
    modified_ns: int
    changed_ns: int = 0
    checked_ns: int = 0
    version: str = ""


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


def discover(
    paths: Iterable[str | Path],
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    archives: ArchiveLimits | None = None,
) -> Iterator[SourceFile]:
    """Yield the files below ``paths`` (files, folders or globs), in a fixed order.

    An archive is a folder, also one in ``paths``, which may name files and folders in it. One that
    cannot be read is yielded as a file, so that loading it reports the reason.

    ``include`` and ``exclude`` are .gitignore patterns relative to each folder in ``paths``; with
    ``include``, only matching files are yielded. A file in ``paths`` is always yielded. Skips
    hidden files and the folders of version control, virtual environments and packages. Follows a
    link to a folder only if the walk would not reach that folder otherwise.

    The uri of ``old.md`` in the folder ``docs`` is ``docs/old.md``; that of a file in ``paths`` is
    its name.

    Raises IndexingError if a path does not exist, or two files would have the same uri.
    """
    seen: dict[str, Path] = {}
    rules = _Rules(tuple(include), tuple(exclude), archives or ArchiveLimits())
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
    fixed = takewhile(lambda part: not glob.has_magic(part), pattern.parts[:-1])
    taken = {_absolute(Path(match)) for match in matches}
    for source in _Walk(Path(*fixed), rules).sources():
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
        rules = (*_ignore_rules(folder, entries), *folder.rules)
        found: list[_Folder | SourceFile] = []
        for entry in entries:
            name = as_text(entry.name)
            parts = (*folder.parts, name)
            path = folder.path / entry.name
            is_folder = _is_folder(entry)
            skipped = _is_skipped_folder(path) if is_folder else skips_file(name)
            if skipped or is_ignored(parts, self._exclude, rules, is_folder=is_folder):
                continue
            if not is_folder and archive_kind(name) and path.is_file():
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
            members = list_archive(_absolute(path), itself.uri, self._archives)
        except LoadError as error:
            return [replace(itself, path=ArchivedFile(_absolute(path), (0, 0), refusal=error))]
        except OSError:
            return [itself]  # loading it reports the reason
        if members is None:
            return [itself]
        found: list[SourceFile] = []
        for archived in members:
            name = (*parts, *archived.parts)
            is_wanted = self._include is None or self._include.match_file("/".join(name))
            if is_wanted and not self._is_skipped(name, len(parts), rules):
                uri = _uri(self._root.name, name)
                time_ns = itself.modified_ns
                found.append(
                    SourceFile(
                        uri,
                        archived,
                        str(self._root),
                        archived.size,
                        time_ns,
                        version=archived.version,
                    )
                )
        return found

    def _is_skipped(self, parts: tuple[str, ...], above: int, rules: Sequence[IgnoreRules]) -> bool:
        """Return True if a walk would not reach a file in an archive that has ``above`` parts."""
        if any(map(skips_folder, parts[above:-1])) or skips_file(parts[-1]):
            return True
        return any(
            is_ignored(parts[:depth], self._exclude, rules, is_folder=depth < len(parts))
            for depth in range(above + 1, len(parts) + 1)
        )

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


def is_ignored(
    parts: Sequence[str],
    exclude: GitIgnoreSpec,
    rules: Sequence[IgnoreRules],
    *,
    is_folder: bool,
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


def _absolute(path: Path) -> Path:
    """Return an absolute path without `..`; links are kept, as the user knows their names."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow the links


def _uri(name: str, parts: Sequence[str]) -> str:
    return as_text("/".join([name, *parts] if name else parts))


def source_file(uri: str, path: Path, *, root: Path) -> SourceFile:
    """Return a file with its current size and times."""
    checked_ns = time.time_ns()  # before the file is read, so that a later change is later
    try:
        status = path.stat()
    except OSError:
        return SourceFile(uri, path, str(root), 0, UNKNOWN_TIME_NS)
    if not stat.S_ISREG(status.st_mode):
        return SourceFile(uri, path, str(root), 0, UNKNOWN_TIME_NS)
    return SourceFile(uri, path, str(root), *_size_and_times(status), checked_ns)


def _size_and_times(status: os.stat_result) -> tuple[int, int, int]:
    changed_ns = 0 if os.name == "nt" else status.st_ctime_ns  # on Windows, that of its creation
    return status.st_size, status.st_mtime_ns, changed_ns


def file_digest(file: SourceFile) -> str:
    """Return a hash of the bytes of a file; the version of an object, which is not read.

    It is empty if the file cannot be read, or changed since it was found: then what was read before
    may be other bytes.
    """
    if not isinstance(file.path, Path):
        return file.version
    try:
        with file.path.open("rb") as stream:
            digest = hashlib.file_digest(stream, partial(hashlib.blake2b, digest_size=16))
            found = _size_and_times(os.fstat(stream.fileno()))
    except OSError:
        return ""  # loading it reports the reason
    unchanged = found == (file.size, file.modified_ns, file.changed_ns)
    return digest.hexdigest() if unchanged else ""


def _ignore_rules(folder: _Folder, entries: Iterable[os.DirEntry[str]]) -> list[IgnoreRules]:
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
