"""Find and read documents in object storage and other file systems, by URLs such as s3://bucket/docs.

fsspec opens the file systems. Their credentials come from their own settings and the environment,
never from a URL, which the index stores. A listing says of each object its size and version; an
object whose version the index knows is not downloaded.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pathspec import GitIgnoreSpec

from knotwork._cancellation import checked, run_apart
from knotwork._indexing.archives import as_text
from knotwork._indexing.discovery import (
    IGNORE_FILES,
    UNKNOWN_TIME_NS,
    IgnoreRules,
    SourceFile,
    is_ignored,
    skips_file,
    skips_folder,
)
from knotwork._indexing.loaders.loader import MEGABYTE
from knotwork._indexing.loaders.loader_registry import too_large_error
from knotwork.errors import IndexingError, LoadError, required
from knotwork.records import content_id

EXTRA = "remote"

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
            _keep(kept, data)
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


def _keep(path: Path, data: bytes) -> None:
    """Write a file for later readers, none of which sees a part of it."""
    with suppress(OSError):  # it is downloaded again
        path.parent.mkdir(mode=0o700, exist_ok=True)
        part = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        part.write_bytes(data)
        part.replace(path)


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
    rules = _ignore_rules(files, parts_of, listed)
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
    place = StoredObject(root, key, size)
    version = "" if stored is None else content_id("object", str(stored), str(size))
    return SourceFile(uri, place, root, size or 0, _nanoseconds(time), version=version)


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
    """Return the file system of a URL, and the key of the object or folder there."""
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
    """Return the information on all objects below a folder, or on the object there, by key."""
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


def _ignore_rules(
    files: Any,  # noqa: ANN401
    parts_of: Mapping[tuple[str, ...], str],
    listed: Mapping[str, Mapping[str, Any]],
) -> dict[tuple[str, ...], list[IgnoreRules]]:
    """Return the rules of the ignore files by folder, the later file of a folder first."""
    rules: dict[tuple[str, ...], list[str]] = {}
    for name in IGNORE_FILES:
        for parts, key in parts_of.items():
            if parts[-1] == name and (listed[key].get("size") or 0):
                with suppress(Exception):  # unreadable: no rules
                    data = files.cat_file(key, start=0, end=_IGNORE_FILE_BYTES)
                    lines = bytes(data).decode("utf-8", "replace").splitlines()
                    rules.setdefault(parts[:-1], []).extend(lines)
    return {
        folder: [IgnoreRules(len(folder), GitIgnoreSpec.from_lines(lines))]
        for folder, lines in rules.items()
    }


def _is_skipped(
    parts: tuple[str, ...],
    exclude: GitIgnoreSpec,
    rules: Mapping[tuple[str, ...], Iterable[IgnoreRules]],
) -> bool:
    """Return True if a walk through the folders would not reach the object."""
    if any(map(skips_folder, parts[:-1])) or skips_file(parts[-1]):
        return True
    return any(
        is_ignored(parts[:depth], exclude, list(_above(parts[:depth], rules)), is_folder=is_folder)
        for depth in range(1, len(parts) + 1)
        for is_folder in (depth < len(parts),)
    )


def _above(
    parts: tuple[str, ...], rules: Mapping[tuple[str, ...], Iterable[IgnoreRules]]
) -> Iterator[IgnoreRules]:
    """Yield the rules of the folders above a place, the deepest first."""
    for depth in range(len(parts) - 1, -1, -1):
        yield from rules.get(parts[:depth], ())


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())[:200].rstrip(".")
    return text or type(error).__name__
