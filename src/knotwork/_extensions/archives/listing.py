"""List and read the files in ZIP and TAR archives, which are indexed as folders, within limits.

A compressed TAR file, and an archive in an archive, is unpacked once for each run into the folder
of what the run keeps, so that its files are read by their positions.

No file gets a name that an archive gives it, so that no name in it leads anywhere. What an
archive declares is checked against what it contains: `zipfile` never reads past declared sizes, and
a compressed TAR file is counted while it is decompressed.
"""

from __future__ import annotations

import bz2
import email.header
import io
import lzma
import re
import stat
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

from knotwork._cancellation import check_cancelled
from knotwork._indexing.archives import (
    ArchivedFile,
    ArchiveLimits,
    Step,
    archive_kind,
    as_text,
    write_once,
)
from knotwork._indexing.loaders.loader import (
    FREE_BYTES,
    MAX_RATIO,
    MEGABYTE,
    OLD_CHINESE,
    format_size,
)
from knotwork._indexing.loaders.loader_registry import is_document_archive
from knotwork.errors import LoadError
from knotwork.records import content_id

DEEPEST = 3
"""Archives in archives are read down to this level; the outermost one has level 1."""

_BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError)
"""What the modules raise for a file whose data is damaged."""

_LONGEST_NAME = 2_000
_DIRECTORY_BYTES = 16 * MEGABYTE
"""The most that `zipfile` and `tarfile` may read at a time while they list an archive."""
_PART_BYTES = 1 << 16
_XZ_MEMORY = 200 * MEGABYTE
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2})
_UTF_8_FLAG = 0x800
_DRIVE = re.compile(r"[A-Za-z]:")
_HAN = re.compile("[\u4e00-\u9fff]")


def read_archived(file: ArchivedFile, uri: str) -> bytes:
    """Return the bytes of a file in an archive. Raises LoadError, as `load_file` does."""
    try:
        if _stamp(file.archive) != file.stamp:
            raise LoadError(
                "unreadable",
                f"The archive of `{uri}` changed while it was read.",
                fix="Index it again.",
            )
        return _read(file)
    except _BROKEN as error:
        raise LoadError(
            "broken",
            f"`{uri}` is damaged in its archive: {error}.",
            fix="Make the archive again.",
        ) from error
    except OSError as error:
        raise LoadError(
            "unreadable",
            f"`{uri}` cannot be read: {error.strerror or error}.",
            fix="Check the permissions of the archive, and the space for temporary files.",
        ) from error


def _read(file: ArchivedFile) -> bytes:
    held = file.archive
    *outer, last = file.steps
    for depth, step in enumerate(file.steps):
        if step.kind in _COMPRESSIONS:
            held = _keep(file, file.steps[:depth], "unpacked", _unpack(held, step.kind))
        if depth < len(outer):
            held = _keep(file, file.steps[: depth + 1], "archive", _read_parts(held, step))
    return b"".join(_read_parts(held, last))


def _keep(file: ArchivedFile, steps: Sequence[Step], what: str, parts: Iterable[bytes]) -> Path:
    """Return the file of what is unpacked on the way to a file, which is made once a run."""
    assert file.kept_in, "files in archives are read from the folder of a run"
    path = Path(file.kept_in, content_id(what, str(file.archive), *file.stamp, repr(steps)))
    if not path.exists():
        write_once(path, parts)
    return path


def _unpack(held: Path, kind: str) -> Iterator[bytes]:
    with held.open("rb") as stream:
        yield from unpacked(kind, stream)


def _read_parts(held: Path, step: Step) -> Iterator[bytes]:
    if step.kind == "zip":
        archive = _opened_zip(held, _stamp(held))
        yield archive.read(archive.infolist()[step.position])
        return
    with held.open("rb") as stream:
        stream.seek(step.position)
        left = step.size
        while left > 0 and (part := stream.read(min(left, MEGABYTE))):
            left -= len(part)
            yield part


@lru_cache(maxsize=1)
def _opened_zip(path: Path, _stamp: tuple[int, int]) -> zipfile.ZipFile:
    """Return a ZIP file that stays open: reading its directory for each file takes long."""
    return zipfile.ZipFile(path)


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def list_archive(path: Path, uri: str, limits: ArchiveLimits) -> list[ArchivedFile] | None:
    """Return the files in an archive, ordered by name; None if it is a document in a ZIP file.

    Raises LoadError if it is broken, exceeds a limit, or has names that lead out of it, and OSError
    if it cannot be opened.
    """
    with path.open("rb") as stream:
        listing = _Listing(path, _stamp(path), uri, limits, _Budget(limits))
        return listing.members(archive_kind(path.name), stream, listing.stamp[0])


def check_directory(path: Path, name: str, limits: ArchiveLimits) -> bool:
    """Check the directory of a ZIP file, or the beginning of a TAR file, and return True.

    Returns False if it is a document. Raises LoadError as `list_archive`, which checks the rest.
    """
    with path.open("rb") as stream:
        stamp = _stamp(path)
        listing = _Listing(path, stamp, name, limits, _Budget(limits), is_shallow=True)
        return listing.members(archive_kind(name), stream, stamp[0]) is not None


class _Budget:
    """What may still be listed of an archive and the archives in it."""

    def __init__(self, limits: ArchiveLimits) -> None:
        self.bytes = int(limits.max_mb * MEGABYTE)
        self.files = limits.max_files


class _Entry(NamedTuple):
    """A file as its archive describes it. ``data`` are the bytes of an archive."""

    name: str
    step: Step
    version: str
    refusal: LoadError | None
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class _Listing:
    """Lists one archive in the file at ``path``; ``uri`` is its name in errors."""

    path: Path
    stamp: tuple[int, int]
    uri: str
    limits: ArchiveLimits
    budget: _Budget
    level: int = 1
    is_shallow: bool = False

    def members(self, kind: str, stream: BinaryIO, size: int) -> list[ArchivedFile] | None:
        if size > self.limits.max_mb * MEGABYTE:
            raise self._too_large(f"has {format_size(size)}")
        try:
            if kind == "zip":
                entries = self._zip_entries(stream, size)
            elif kind == "mbox":
                entries = list(self._mailbox_entries(stream)) or None  # a single message
            else:
                entries = list(self._tar_entries(kind, stream, size))
        except (LoadError, MemoryError):
            raise
        except Exception as error:
            # Damaged archives make both modules raise any exception, from KeyError to OSError.
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise self._broken(reason) from error
        if entries is None:
            return None
        latest = {self._parts(entry.name): entry for entry in entries}
        found: list[ArchivedFile] = []
        for parts, entry in sorted(latest.items()):
            found.extend(self._with_inner(parts, entry))
        return found

    def _with_inner(self, parts: tuple[str, ...], entry: _Entry) -> list[ArchivedFile]:
        """Return a file, or the files in it if it is an archive."""
        member = ArchivedFile(
            self.path, self.stamp, parts, (entry.step,), entry.version, entry.refusal
        )
        kind = archive_kind(parts[-1])
        if not kind or entry.refusal or self.is_shallow:
            return [member]
        uri = "/".join((self.uri, *parts))
        if self.level >= DEEPEST:
            what = f"is in {DEEPEST} archives; archives are read to this depth"
            fix = "Unpack it, and index its files."
            return [replace(member, refusal=self._refuse("too_large", entry.name, what, fix))]
        if entry.step.size > self.limits.max_file_mb * MEGABYTE:
            return [member]  # reading it reports the limit
        inner = replace(self, uri=uri, level=self.level + 1)
        try:
            listed = inner.members(kind, io.BytesIO(entry.data), len(entry.data))
        except LoadError as error:
            return [replace(member, refusal=error)]
        if listed is None:
            return [member]
        return [replace(m, parts=(*parts, *m.parts), steps=(entry.step, *m.steps)) for m in listed]

    def _wants_data(self, name: str, size: int) -> bool:
        """Return True if a file is an archive to be listed too."""
        is_archive = bool(archive_kind(name.rpartition("/")[2]))
        fits = size <= self.limits.max_file_mb * MEGABYTE
        return is_archive and fits and self.level < DEEPEST and not self.is_shallow

    def _zip_entries(self, stream: BinaryIO, size: int) -> list[_Entry] | None:
        guard = _GuardedFile(stream)
        with zipfile.ZipFile(guard) as archive:
            infos = archive.infolist()
            if is_document_archive(archive.namelist()):
                return None
            self._spend(0, len(infos))
            total = sum(info.file_size for info in infos)
            self._check_ratio(total, size)
            self._spend(total, 0)
            return [
                self._zip_entry(archive, position, info)
                for position, info in enumerate(infos)
                if not info.is_dir()
            ]

    def _zip_entry(self, archive: zipfile.ZipFile, position: int, info: zipfile.ZipInfo) -> _Entry:
        check_cancelled()
        name = _zip_name(info)
        mode = info.external_attr >> 16
        refusal = None
        if info.flag_bits & 1:
            refusal = self._refuse(
                "password", name, "is encrypted", "Unpack the archive with its password."
            )
        elif mode and stat.S_IFMT(mode) and not stat.S_ISREG(mode):
            refusal = self._refuse_special(name)
        elif info.compress_type not in _METHODS:
            refusal = self._refuse(
                "unsupported",
                name,
                f"is compressed by the method {info.compress_type}, which is not supported",
                "Make the archive again with the method deflate.",
            )
        version = content_id("zip", info.CRC, info.file_size, *info.date_time)
        data = b""
        if refusal is None and self._wants_data(name, info.file_size):
            try:
                data = archive.read(info)
            except _BROKEN as error:
                refusal = self._refuse(
                    "broken", name, f"is damaged: {error}", "Make the archive again."
                )
        return _Entry(name, Step("zip", position, info.file_size), version, refusal, data)

    def _mailbox_entries(self, stream: BinaryIO) -> Iterator[_Entry]:
        taken: Counter[str] = Counter()
        for start, size, version, subject in mailbox_messages(stream):
            self._spend(size, 1)
            taken[subject] += 1
            again = f" ({taken[subject]})" if taken[subject] > 1 else ""
            yield _Entry(f"{subject}{again}.eml", Step("mbox", start, size), version, None)

    def _tar_entries(self, kind: str, stream: BinaryIO, size: int) -> Iterator[_Entry]:
        parts = self._counted(unpacked(kind, stream), size)
        listed: dict[str, _Entry] = {}
        with tarfile.open(  # type: ignore[call-overload]
            fileobj=_Parts(parts),
            mode="r|",
            bufsize=_PART_BYTES,
            encoding="utf-8",
            tarinfo=_TarHeader,
        ) as archive:
            while (info := archive.next()) is not None:
                self._spend(0, 1)
                archive.members.clear()  # of an archive that is only read forward
                entry = self._tar_entry(kind, info, archive, listed)
                if entry is not None:
                    listed[entry.name] = entry._replace(data=b"")
                    yield entry
                if self.is_shallow:
                    return
        for _ in parts:
            pass  # a compressed file has its checksum at the end

    def _counted(self, parts: Iterator[bytes], packed: int) -> Iterator[bytes]:
        """Yield the parts of a TAR file. Raises LoadError if it unfolds too much."""
        made = 0
        for part in parts:
            check_cancelled()
            made += len(part)
            self._check_ratio(made, packed)
            # Names and gaps between files are not counted as files.
            if made > 2 * self.limits.max_mb * MEGABYTE + FREE_BYTES:
                raise self._too_large("unpacks to more")
            yield part

    def _tar_entry(
        self,
        kind: str,
        info: tarfile.TarInfo,
        archive: tarfile.TarFile,
        listed: dict[str, _Entry],
    ) -> _Entry | None:
        name = info.name.replace("\\", "/")
        step = Step(kind, info.offset_data, info.size)
        if info.isdir():
            return None
        is_link_to_listed = info.islnk() and info.linkname in listed
        if is_link_to_listed and not archive_kind(name.rpartition("/")[2]):
            return listed[info.linkname]._replace(name=name)
        held = archive.extractfile(info) if info.isreg() and not info.issparse() else None
        if held is None:
            mark = content_id("refused", info.name)
            return _Entry(name, step._replace(size=0), mark, self._refuse_special(name))
        self._spend(info.size, 0)
        wanted = self._wants_data(name, info.size)
        parts: list[bytes] = []
        digest = blake2b(digest_size=16)
        while not self.is_shallow and (part := held.read(_PART_BYTES)):
            digest.update(part)
            if wanted:
                parts.append(part)
        return _Entry(name, step, digest.hexdigest(), None, b"".join(parts))

    def _parts(self, name: str) -> tuple[str, ...]:
        """Return the parts of a name. Raises LoadError if it leads out of the archive."""
        named = name.replace("\\", "/")
        parts = tuple(part for part in named.split("/") if part not in {"", "."})
        if ".." in parts or named.startswith("/") or _DRIVE.match(named) or not parts:
            reason = "leads out of the archive"
        elif len(named) > _LONGEST_NAME:
            reason = f"has more than {_LONGEST_NAME:,} characters"
        else:
            return tuple(as_text(part) for part in parts)
        raise LoadError(
            "broken",
            f"`{self.uri}` has a file named {as_text(name)[:100]!r}, which {reason}.",
            fix="Such archives are not read: unpack it in a place that is safe, and index that.",
        )

    def _refuse(self, reason: str, name: str, what: str, fix: str) -> LoadError:
        return LoadError(reason, f"`{self.uri}/{as_text(name)}` {what}.", fix=fix)

    def _refuse_special(self, name: str) -> LoadError:
        what = "is a link or a device in an archive, which is not followed"
        return self._refuse("not_a_file", name, what, "Leave it out with `exclude`.")

    def _broken(self, reason: str) -> LoadError:
        return LoadError(
            "broken",
            f"`{self.uri}` is not a whole archive: {reason}.",
            fix="Make the archive again, or unpack it and index its files.",
        )

    def _spend(self, size: int, files: int) -> None:
        self.budget.bytes -= size
        self.budget.files -= files
        if self.budget.files < 0:
            raise LoadError(
                "too_large",
                f"`{self.uri}` has more than {self.limits.max_files:,} files, with the archives "
                "in it.",
                fix="Unpack it, and index the folder. Or raise `index.max_archive_files`.",
            )
        if self.budget.bytes < 0:
            raise self._too_large("unpacks to more, with the archives in it")

    def _check_ratio(self, size: int, packed: int) -> None:
        limit = max(FREE_BYTES, MAX_RATIO * packed)
        if size > limit:
            raise LoadError(
                "too_large",
                f"`{self.uri}` has {format_size(packed)} and unpacks to more than "
                f"{format_size(limit)}; {MAX_RATIO} times as much is the limit.",
                fix="If you trust it, unpack it, and index the folder.",
            )

    def _too_large(self, what: str) -> LoadError:
        return LoadError(
            "too_large",
            f"`{self.uri}` {what}; the limit is {format_size(self.limits.max_mb * MEGABYTE)}.",
            fix="Raise `index.max_archive_mb`, or unpack it, and index the folder.",
        )


def _zip_name(info: zipfile.ZipInfo) -> str:
    """Return the name of a file in a ZIP file; programs write UTF-8 or GB 18030 without saying so.

    `zipfile` reads names without the mark of UTF-8 as code page 437.
    """
    if info.flag_bits & _UTF_8_FLAG or info.filename.isascii():
        return info.filename
    try:
        data = info.filename.encode("cp437")
    except UnicodeEncodeError:
        return info.filename
    for encoding in ("utf-8", "gb18030"):
        try:
            name = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if encoding == "utf-8" or _HAN.search(name):
            return name
    return info.filename


class _GuardedFile:
    """A file that refuses to read much at a time, as the directory of a hostile file may ask."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        if size > _DIRECTORY_BYTES:
            raise ValueError(f"its directory has {format_size(size)}")
        return self._stream.read(_DIRECTORY_BYTES if size < 0 else size)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of the stream
        return getattr(self._stream, name)


_UNPACKERS: dict[str, Callable[[], Any]] = {
    "gz": partial(zlib.decompressobj, 31),
    "bz2": bz2.BZ2Decompressor,
    "xz": partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=_XZ_MEMORY),
}
_COMPRESSIONS = frozenset(_UNPACKERS)
"""Kinds of archives that are compressed as a whole."""


def unpacked(kind: str, stream: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of a TAR file, in parts of at most 64 kB. Raises EOFError if it is cut off.

    A compressed file may consist of several streams.
    """
    if kind == "tar":
        while data := stream.read(_PART_BYTES):
            yield data
        return
    waiting = stream.read(_PART_BYTES)
    while waiting.strip(b"\0"):  # zeros may follow the last stream
        unpacker = _UNPACKERS[kind]()
        while not unpacker.eof:
            # `zlib` returns the input that it has not used, the others keep it.
            if not waiting and getattr(unpacker, "needs_input", True):
                waiting = stream.read(_PART_BYTES)
                if not waiting:
                    raise EOFError("it is cut off")
            part = unpacker.decompress(waiting, _PART_BYTES)
            waiting = getattr(unpacker, "unconsumed_tail", b"")
            if part:
                yield part
        waiting = unpacker.unused_data or stream.read(_PART_BYTES)


class _Parts:
    """A file for `tarfile` over parts that are made one after the other."""

    def __init__(self, parts: Iterator[bytes]) -> None:
        self._parts = parts

    def read(self, _size: int) -> bytes:
        return next(self._parts, b"")


class _TarHeader(tarfile.TarInfo):
    """A header that is whole, and for a long name or the like of a moderate size."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            found = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if buf.strip(b"\0"):  # `tarfile` takes what follows a damaged header for the end
                raise ValueError(f"a damaged header: {error}") from error
            raise
        if found.type in _LONG_HEADERS and found.size > _DIRECTORY_BYTES:
            raise ValueError(f"a header of {found.size:,} bytes")
        return found


_LONG_HEADERS = frozenset(
    {
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
    }
)
"""The types of headers that `tarfile` reads into memory."""


_FIELD = re.compile(rb">?[!-9;-~]{1,80}:|>From ")
_SUBJECT = re.compile(rb"(?im)^subject:((?:.*\n?)(?:[ \t].*\n?)*)")
_UNSAFE = re.compile(r"[\x00-\x1f/\\\\:*?\"<>|]+")
_LONGEST_SUBJECT = 80
_HEAD_BYTES = 20_000


class Message(NamedTuple):
    """A message: its place in the mailbox, a hash of its bytes, and its subject as a file name."""

    start: int
    size: int
    version: str
    subject: str


def mailbox_messages(stream: BinaryIO) -> Iterator[Message]:
    """Yield the messages of a mailbox. Nothing if it does not begin with one."""
    start = place = 0
    head = bytearray()
    digest = blake2b(digest_size=16)
    waiting = b""  # a line that begins a message if the next one is a field
    is_line = is_blank = True
    while line := stream.readline(_PART_BYTES):
        if waiting and _FIELD.match(line):
            if start:
                yield _message(start, place - len(waiting), digest.hexdigest(), bytes(head))
            start, head, digest = place, bytearray(), blake2b(digest_size=16)
        elif waiting:
            digest.update(waiting)
        if not start and not waiting and place:
            return
        check_cancelled()
        begins = is_line and is_blank and line.startswith(b"From ")
        waiting = line if begins else b""
        if not begins:
            digest.update(line)
            head += line if len(head) < _HEAD_BYTES else b""
        is_blank = is_line and not line.strip()
        is_line = line.endswith(b"\n")
        place += len(line)
    if start:
        yield _message(start, place, digest.hexdigest(), bytes(head))


def _message(start: int, end: int, version: str, head: bytes) -> Message:
    found = _SUBJECT.search(head.partition(b"\n\n")[0].partition(b"\r\n\r\n")[0])
    raw = found[1].decode("utf-8", "replace") if found else ""
    try:
        subject = str(
            email.header.make_header(
                email.header.decode_header(OLD_CHINESE.sub("=?gb18030", raw.strip()))
            )
        )
    except (LookupError, ValueError):
        subject = raw
    name = " ".join(_UNSAFE.sub(" ", subject).split())[:_LONGEST_SUBJECT].strip(" .")
    return Message(start, end - start, version, name or "message")
