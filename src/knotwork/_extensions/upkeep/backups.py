"""Back up an index with the files beside it, and restore it from a backup.

A backup is a folder with a copy of each file and a manifest with their hashes. Each file is copied
at one commit, while other processes read and write it, and is verified before the folder gets its
name: a backup that exists is complete.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

import apsw

from knotwork._config import is_server_url, shown_url
from knotwork._durable_files import sync_file, sync_folder
from knotwork._extensions.upkeep.damage import locate_damage
from knotwork._run import Progress, Steps, Verb
from knotwork._sqlite_file import (
    FILE_KINDS,
    JOURNAL_SUFFIXES,
    SqliteFile,
    open_connection,
    repair_advice,
    verify_file,
)
from knotwork._stores.base import index_file
from knotwork._stores.embedded.database import APPLICATION_ID
from knotwork.errors import IndexDamaged, MissingCapability, StoreBusy, StoreError, StoreNotFound

MANIFEST = "backup.json"
BACKUP_NAME = "index.knot"
"""The name of the index in a backup, which can be opened there for reading."""

_FORMAT = 1
_STEP_PAGES = 2_000
_EXISTS_FIX = "Choose another path, or replace it with --force (`overwrite=True` in Python)."


@dataclass(frozen=True, slots=True)
class BackupFile:
    """A file of a backup: its kind, its name there, its size in bytes and its SHA-256 hash."""

    kind: str
    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BackupReport:
    """A backup that was made or restored.

    ``backup`` is its folder, ``index`` the path of the index, ``created`` a time in UTC.
    ``generation`` numbers the commits of the index: it is that of the last one in the backup.
    ``protected`` is False if the index has no checksums.
    """

    backup: str
    index: str
    created: str
    generation: int
    documents: int
    protected: bool
    files: tuple[BackupFile, ...]


@Verb
def back_up(store_url: str, target: str | Path, *, overwrite: bool = False) -> Steps[BackupReport]:
    """Copy an index into a new folder: see `KnowledgeBase.backup`."""
    index = index_file(store_url)
    if index is None:
        fix = "Back up its database, for example with pg_dump: see docs/postgresql.md."
        raise MissingCapability(shown_url(store_url), "backups into a folder", fix=fix)
    folder = Path(target).expanduser()
    _check_target(folder, overwrite=overwrite)
    unfinished = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    unfinished.mkdir(mode=0o700)
    try:
        files: list[BackupFile] = []
        generation, documents, protected = 0, 0, False
        for suffix, kind in FILE_KINDS.items():
            source = index.with_name(index.name + suffix)
            if suffix and not source.exists():
                continue
            copy = unfinished / f"{BACKUP_NAME}{suffix}"
            file = sqlite_file(source, suffix)
            yield from _copy_file(file, copy)
            yield Progress("verifying", subject=kind)
            verify_copy(sqlite_file(copy, suffix))
            if not suffix:
                with closing(open_connection(str(copy))) as opened:
                    generation = int(opened.execute("SELECT generation FROM state").get)
                    documents = int(opened.execute("SELECT count(*) FROM document").get)
                    protected = opened.reserve_bytes("main") > 0
            files.append(BackupFile(kind, copy.name, copy.stat().st_size, _hash(copy)))
        created = datetime.now(UTC).isoformat(timespec="seconds")
        report = BackupReport(
            str(folder), str(index), created, generation, documents, protected, tuple(files)
        )
        _write_manifest(unfinished, report)
        _move_into_place(unfinished, folder)
        return report
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


@Verb
def restore(
    backup: str | Path, index: str | Path, *, overwrite: bool = False
) -> Steps[BackupReport]:
    """Restore an index, with the files beside it, from a backup that `KnowledgeBase.backup` made.

    All files are verified before anything at ``index`` changes. ``overwrite`` replaces an index
    and the files beside it. Raises StoreNotFound for a missing backup, IndexDamaged for a damaged
    one, StoreError if ``index`` exists, StoreBusy if another process uses it.
    """
    _refuse_server(str(index))
    folder, target = Path(backup).expanduser(), Path(index).expanduser()
    report = read_manifest(folder)
    if not target.parent.is_dir():
        raise StoreNotFound(f"The folder `{target.parent}` does not exist.", fix="Create it first.")
    present = [path for path in _files_of(target) if path.exists()]
    if present and not overwrite:
        raise StoreError(f"`{present[0]}` exists already.", fix=_EXISTS_FIX)
    mark = f".{secrets.token_hex(4)}"
    staged: list[tuple[Path, Path]] = []
    try:
        for file in report.files:
            source = folder / file.name
            suffix = file.name.removeprefix(BACKUP_NAME)
            final = target.with_name(target.name + suffix)
            copy = final.with_name(final.name + mark)
            staged.append((copy, final))
            yield Progress("restoring", 0, file.size, file.kind)
            _copy_bytes(source, copy)
            if (copy.stat().st_size, _hash(copy)) != (file.size, file.sha256):
                raise _damaged_backup(source, "differs from its hash in the manifest")
            yield Progress("verifying", file.size, file.size, file.kind)
            verify_copy(sqlite_file(copy, suffix))
        if present:
            require_unused(target)
        replaced = {final for _, final in staged}
        for path in _files_of(target):
            if path.name.endswith(JOURNAL_SUFFIXES) or (path in present and path not in replaced):
                path.unlink(missing_ok=True)
        for copy, final in reversed(staged):  # the index comes last
            copy.replace(final)
        sync_folder(target.parent)
    finally:
        for copy, _ in staged:
            copy.unlink(missing_ok=True)
    return report


def _refuse_server(index: str) -> None:
    if is_server_url(index):
        fix = "Restore its database, for example with pg_restore: see docs/postgresql.md."
        raise MissingCapability(shown_url(index), "backups in a folder", fix=fix)


def read_manifest(folder: Path) -> BackupReport:
    """Return the report in a backup. Raises StoreNotFound, IndexDamaged if it cannot be read."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise StoreNotFound(
            f"`{folder}` is not a backup: it has no `{MANIFEST}`.",
            fix="Give the folder that `knotwork backup` wrote.",
        ) from error
    except (OSError, ValueError) as error:
        raise _damaged_backup(folder / MANIFEST, str(error)) from error
    try:
        if found["format"] != _FORMAT:
            raise StoreError(
                f"The backup `{folder}` has the format {found['format']}; this version reads "
                f"{_FORMAT}.",
                fix="Upgrade Knotwork.",
            )
        names = {f"{BACKUP_NAME}{suffix}" for suffix in FILE_KINDS}
        files = tuple(BackupFile(**file) for file in found["files"])
        keys = ("index", "created", "generation", "documents", "protected")
        report = BackupReport(str(folder), **{key: found[key] for key in keys}, files=files)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged_backup(folder / MANIFEST, str(error)) from error
    if not {BACKUP_NAME} <= {file.name for file in files} <= names:
        raise _damaged_backup(folder / MANIFEST, "lists unknown files")
    return report


def sqlite_file(path: Path, suffix: str) -> SqliteFile:
    """Return a file of an index, of the kind that the suffix names in `FILE_KINDS`."""
    if suffix:
        index = path.with_name(path.name.removesuffix(suffix))
        return SqliteFile(str(path), FILE_KINDS[suffix], 0, repair=repair_advice(index))
    return SqliteFile(
        str(path),
        FILE_KINDS[suffix],
        APPLICATION_ID,
        repair=repair_advice(path),
        locate=partial(locate_damage, path),
    )


def _check_target(folder: Path, *, overwrite: bool) -> None:
    if not folder.name or not folder.parent.is_dir():
        raise StoreNotFound(f"The folder `{folder.parent}` does not exist.", fix="Create it first.")
    if not os.path.lexists(folder):
        return
    if not overwrite:
        raise StoreError(f"`{folder}` exists already.", fix=_EXISTS_FIX)
    if not (folder / MANIFEST).is_file():
        raise StoreError(
            f"`{folder}` is not a backup, so it is not replaced.", fix="Choose another path."
        )


def _copy_file(file: SqliteFile, copy: Path) -> Iterator[Progress]:
    """Copy a file at its last commit. The read transaction keeps that commit until the end."""
    file.require(create=False)
    with file.translated_errors():
        source = file.connect(flags=apsw.SQLITE_OPEN_READONLY)
        with closing(source):
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            target = open_connection(str(copy))
            with closing(target), target.backup("main", source, "main") as running:
                while not running.done:
                    running.step(_STEP_PAGES)
                    done = running.page_count - running.remaining
                    yield Progress("copying", done, running.page_count, file.kind)
    copy.chmod(0o600)
    sync_file(copy)


def verify_copy(file: SqliteFile) -> None:
    """Read a whole copy. Raises IndexDamaged if it is not intact."""
    if faults := verify_file(file):
        raise file.damaged(faults[0])
    for journal in JOURNAL_SUFFIXES:  # left by opening a file in WAL mode
        Path(f"{file.path}{journal}").unlink(missing_ok=True)


def _write_manifest(folder: Path, report: BackupReport) -> None:
    content = {
        "format": _FORMAT,
        "knotwork": version("knotwork"),
        **{name: value for name, value in asdict(report).items() if name != "backup"},
    }
    path = folder / MANIFEST
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    path.chmod(0o600)
    sync_file(path)


def _move_into_place(unfinished: Path, folder: Path) -> None:
    """Give a finished backup its name; one that it replaces is deleted only afterwards."""
    sync_folder(unfinished)
    replaced = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    if folder.exists():
        folder.rename(replaced)
    try:
        unfinished.rename(folder)
    except OSError:
        if replaced.exists():
            replaced.rename(folder)
        raise
    sync_folder(folder.parent)
    shutil.rmtree(replaced, ignore_errors=True)


def _files_of(index: Path) -> list[Path]:
    return [
        index.with_name(f"{index.name}{suffix}{journal}")
        for suffix in FILE_KINDS
        for journal in ("", *JOURNAL_SUFFIXES)
    ]


def require_unused(index: Path) -> None:
    """Raise StoreBusy if another process has an index open. One that cannot be read is unused."""
    if not index.exists():
        return
    try:
        opened = open_connection(str(index), flags=apsw.SQLITE_OPEN_READWRITE)
        with closing(opened) as connection:
            connection.pragma("locking_mode", "exclusive")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("ROLLBACK")
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(
            f"Another process uses the index `{index}`.", fix="Stop it first, then try again."
        ) from error
    except apsw.Error:
        return


def _copy_bytes(source: Path, copy: Path) -> None:
    try:
        shutil.copyfile(source, copy)
    except FileNotFoundError as error:
        raise _damaged_backup(source, "is missing") from error
    copy.chmod(0o600)
    sync_file(copy)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _damaged_backup(path: Path, detail: str) -> IndexDamaged:
    return IndexDamaged(
        f"The backup is damaged: `{path}` {detail}.",
        path=str(path),
        place=path.name,
        fix="Use another backup, or rebuild the index from the documents: knotwork index FOLDER",
    )
