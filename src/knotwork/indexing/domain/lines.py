"""Text files as numbered lines, streamed: their encoding is found out first, on a sample."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from knotwork.errors import IndexingError, LoadError
from knotwork.indexing.loaders.base import Source
from knotwork.indexing.loaders.decoding import decode_text

LONGEST_LINE_BYTES = 4_000_000
_SAMPLE_BYTES = 200_000
_BLOCK_BYTES = 1 << 20
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WESTERN = ("cp1252", "latin-1")
_ENCODINGS = ("utf-8-sig", "gb18030", "big5hkscs", *_WESTERN)
_HIGH_BYTES = re.compile(rb"[\x80-\xff]+")
_DOUBLE_SHARE = 0.8


class Line(NamedTuple):
    """A line without its end. ``offset`` is where the next one begins, in bytes."""

    number: int
    text: str
    offset: int
    is_damaged: bool = False


def find_encoding(path: Path) -> str:
    """Return the encoding of a text file, told from the lines that are not plain ASCII.

    Raises IndexingError for what is no text.
    """
    with path.open("rb") as file:
        head = file.read(_SAMPLE_BYTES)
        if head.startswith(_WIDE_MARKS):
            return "utf-16"
        if b"\0" in head:
            return _wide_encoding(path, head)
        file.seek(0)
        sample = _telling_lines(file)
    if not sample:
        return "utf-8-sig"
    try:
        text = decode_text(Source(path.name, sample))
    except LoadError as error:
        raise _no_text(path) from error
    for encoding in _ENCODINGS:
        if _decode(sample, encoding) == text:
            if encoding in _WESTERN and _is_double_byte(sample):
                return "gb18030"
            return encoding
    return _guessed(sample) or "utf-8-sig"


def read_lines(path: Path, encoding: str) -> Iterator[Line]:
    """Yield the lines of a file; one with bytes that are none of its encoding is marked as damaged.

    A line longer than ``LONGEST_LINE_BYTES`` is cut there.
    """
    if encoding.startswith("utf-16"):
        yield from _read_wide_lines(path, encoding)
        return
    plain = "utf-8" if encoding == "utf-8-sig" else encoding
    with path.open("rb") as file:
        offset = number = 0
        while raw := file.readline(LONGEST_LINE_BYTES):
            number += 1
            offset += len(raw)
            if number == 1:
                raw = raw.removeprefix(codecs.BOM_UTF8)
            raw = raw.rstrip(b"\r\n")
            pieces = raw.split(b"\r") if b"\r" in raw else [raw]  # as the first Macs ended lines
            for step, piece in enumerate(pieces):
                yield _line(number + step, piece, offset, plain)
            number += len(pieces) - 1


def _line(number: int, raw: bytes, offset: int, encoding: str) -> Line:
    try:
        return Line(number, raw.decode(encoding), offset)
    except UnicodeDecodeError:
        return Line(number, raw.decode(encoding, "replace"), offset, is_damaged=True)


def _read_wide_lines(path: Path, encoding: str) -> Iterator[Line]:
    with path.open(encoding=encoding, errors="replace", newline="\n") as file:
        offset = 0
        for number, text in enumerate(iter(lambda: file.readline(LONGEST_LINE_BYTES), ""), start=1):
            offset += 2 * len(text)
            bare = text.rstrip("\r\n").removeprefix("\ufeff")
            yield Line(number, bare, offset, is_damaged="\ufffd" in bare)


def _telling_lines(file: BinaryIO) -> bytes:
    """Return lines that are not plain ASCII, up to the size of a sample."""
    found: list[bytes] = []
    size = 0
    rest = b""
    while size < _SAMPLE_BYTES and (block := file.read(_BLOCK_BYTES)):
        block = rest + block
        if block.isascii():
            rest = b""
            continue
        lines = block.split(b"\n")
        rest = lines.pop() if len(lines[-1]) < _BLOCK_BYTES else b""
        for line in lines:
            if not line.isascii() and size < _SAMPLE_BYTES:
                found.append(line)
                size += len(line)
    if not rest.isascii() and size < _SAMPLE_BYTES:
        found.append(rest)
    return b"\n".join(found)


def _is_double_byte(sample: bytes) -> bool:
    """Tell Chinese names from Western ones: their bytes beyond ASCII come in pairs.

    Names alone, without the commonest characters, are not known for Chinese by these.
    """
    if _decode(sample, "gb18030") is None:
        return False
    runs = _HIGH_BYTES.findall(sample)
    return sum(len(run) > 1 for run in runs) > _DOUBLE_SHARE * len(runs)


def _wide_encoding(path: Path, head: bytes) -> str:
    """Tell UTF-16 without a mark, by decoding; else the file is no text."""
    even = head[: len(head) & ~1]
    try:
        text = decode_text(Source(path.name, even))
    except LoadError as error:
        raise _no_text(path) from error
    for encoding in ("utf-16-le", "utf-16-be"):
        if _decode(even, encoding) == text:
            return encoding
    return "utf-8-sig"


def _decode(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding, "replace" if encoding == "utf-8-sig" else "strict")
    except UnicodeDecodeError:
        return None
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")


def _guessed(sample: bytes) -> str | None:
    from charset_normalizer import from_bytes

    best = from_bytes(sample).best()
    return best.encoding if best else None


def _no_text(path: Path) -> IndexingError:
    return IndexingError(
        f"`{path}` holds binary data, not text.",
        fix="Unpack or convert it, or name its --format.",
    )
