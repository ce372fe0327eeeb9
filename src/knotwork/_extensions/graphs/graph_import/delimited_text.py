"""Stream rows of delimited text files: detect encoding and delimiter, and isolate invalid rows.

A quotation mark that is never closed would consume the rest of a file. If it yields no row with the
usual number of columns, parsing continues at the line after its first.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from knotwork._indexing.loaders.decoding import decode
from knotwork._indexing.loaders.loader import Source
from knotwork._text.visible import is_neutralized_export, restore_cell
from knotwork.errors import IndexingError, LoadError

LONGEST_LINE_BYTES = 4_000_000
_SAMPLE_BYTES = 200_000
_BLOCK_BYTES = 1 << 20
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class TextLine(NamedTuple):
    """A line without its line break. ``offset`` is the byte offset of the next line."""

    number: int
    text: str
    offset: int
    is_damaged: bool = False


def find_encoding(path: Path) -> str:
    """Return the encoding of a text file, detected from its lines that are not plain ASCII.

    Raises IndexingError for a binary file.
    """
    with path.open("rb") as file:
        head = file.read(_SAMPLE_BYTES)
        if head.startswith(_WIDE_MARKS):
            return "utf-16"
        if b"\0" in head:
            encoding = _encoding(path, head[: len(head) & ~1])
            return encoding if encoding.startswith("utf-16-") else "utf-8-sig"
        file.seek(0)
        sample = _sample_lines(file)
    if not sample:
        return "utf-8-sig"
    encoding = _encoding(path, sample)
    return "utf-8-sig" if encoding == "utf-8" else encoding


def read_lines(path: Path, encoding: str) -> Iterator[TextLine]:
    """Yield the lines of a file; a line with bytes invalid in the encoding is marked as damaged.

    A line longer than ``LONGEST_LINE_BYTES`` is split there.
    """
    if encoding.startswith("utf-16"):
        yield from _read_utf16_lines(path, encoding)
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
            pieces = raw.split(b"\r") if b"\r" in raw else [raw]  # line breaks of classic Mac OS
            for step, piece in enumerate(pieces):
                yield _line(number + step, piece, offset, plain)
            number += len(pieces) - 1


def _line(number: int, raw: bytes, offset: int, encoding: str) -> TextLine:
    try:
        return TextLine(number, raw.decode(encoding), offset)
    except UnicodeDecodeError:
        return TextLine(number, raw.decode(encoding, "replace"), offset, is_damaged=True)


def _read_utf16_lines(path: Path, encoding: str) -> Iterator[TextLine]:
    with path.open(encoding=encoding, errors="replace", newline="\n") as file:
        offset = 0
        for number, text in enumerate(iter(lambda: file.readline(LONGEST_LINE_BYTES), ""), start=1):
            offset += 2 * len(text)
            bare = text.rstrip("\r\n").removeprefix("\ufeff")
            yield TextLine(number, bare, offset, is_damaged="\ufffd" in bare)


def _sample_lines(file: BinaryIO) -> bytes:
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


def _encoding(path: Path, data: bytes) -> str:
    """Return the encoding of a text. Raises IndexingError for a binary file."""
    try:
        return decode(Source(path.name, data))[1]
    except LoadError as error:
        raise IndexingError(
            f"`{path}` is a binary file, not text.",
            fix="Unpack or convert it, or set its --format.",
        ) from error


SAMPLE_LINES = 400
DELIMITERS = ("\t", ",", ";", "|")
_MOST_ROW_LINES = 200
_FIELD_CHARACTERS = 10_000_000
_COMMENT = "#"
_DECLARED = re.compile(r'"?sep=(.)"?')
"""The optional first line by which Excel declares the delimiter."""


class TextRow(NamedTuple):
    """The trimmed fields of a row; ``fault`` is the reason if it could not be parsed."""

    line: int
    fields: list[str]
    offset: int
    text: str
    fault: str = ""
    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class TextDialect:
    """The syntax of a file. Without ``quotes`` quotation marks are ordinary characters.

    With ``neutralized``, it is an export whose cells `restore_cell` restores.
    """

    encoding: str
    delimiter: str
    quotes: bool
    width: int
    has_comments: bool = False
    neutralized: bool = False


def find_dialect(path: Path, *, delimiter: str = "") -> TextDialect:
    """Return the dialect of a file, detected from its first lines.

    Raises IndexingError for a binary file.
    """
    encoding = find_encoding(path)
    lines = [line.text for line in islice(read_lines(path, encoding), SAMPLE_LINES)]
    declared = _DECLARED.fullmatch(lines[0]) if lines else None
    if declared:
        delimiter, lines = delimiter or declared[1], lines[1:]
    has_comments = bool(lines) and lines[0].startswith((f"{_COMMENT} ", f"{_COMMENT}\t", "##"))
    texts = [text for text in lines if text.strip() and not (has_comments and text[0] == _COMMENT)]
    chosen = delimiter or _find_delimiter(texts, path)
    quotes = chosen != " " and _has_quotes(texts, chosen)
    widths = Counter(len(_split(text, chosen, quotes=quotes)) for text in texts)
    width = max(widths, key=lambda size: (widths[size], size)) if widths else 0
    neutralized = bool(lines) and is_neutralized_export(lines[0])
    return TextDialect(encoding, chosen, quotes, width, has_comments, neutralized)


def read_rows(path: Path, dialect: TextDialect) -> Iterator[TextRow]:
    """Yield the rows of a file; skip blank lines and comments."""
    csv.field_size_limit(_FIELD_CHARACTERS)
    waiting: deque[TextLine] = deque()
    source = read_lines(path, dialect.encoding)
    while True:
        line = waiting.popleft() if waiting else next(source, None)
        if line is None:
            return
        if line.number == 1 and _DECLARED.fullmatch(line.text):
            continue
        if not line.text.strip() or (dialect.has_comments and line.text.startswith(_COMMENT)):
            continue
        if dialect.quotes and line.text.count('"') % 2:
            yield _long_row(line, waiting, source, dialect)
        else:
            yield _row(line, [line.text], dialect)


def _long_row(
    first: TextLine, waiting: deque[TextLine], source: Iterable[TextLine], dialect: TextDialect
) -> TextRow:
    """Return a row that spans several lines, or a fault for its first line if it never ends."""
    taken: list[TextLine] = []
    following = iter(source)
    for _ in range(_MOST_ROW_LINES):
        line = waiting.popleft() if waiting else next(following, None)
        if line is None:
            break
        taken.append(line)
        if line.text.count('"') % 2:
            row = _row(first, [first.text, *(line.text for line in taken)], dialect)
            if len(row.fields) == dialect.width:
                return row
            break  # this mark opens another quotation
    waiting.extendleft(reversed(taken))
    return TextRow(first.number, [], first.offset, first.text, "a quotation mark is never closed")


def _row(line: TextLine, texts: Sequence[str], dialect: TextDialect) -> TextRow:
    text = "\n".join(texts)
    try:
        fields = _split(
            text, dialect.delimiter, quotes=dialect.quotes, neutralized=dialect.neutralized
        )
    except csv.Error as error:
        return TextRow(line.number, [], line.offset, text, str(error))
    return TextRow(line.number, fields, line.offset, text, is_damaged=line.is_damaged)


def _split(text: str, delimiter: str, *, quotes: bool, neutralized: bool = False) -> list[str]:
    if not quotes:
        parts = text.split() if delimiter == " " else text.split(delimiter)
        return [part.strip() for part in parts]
    pieces = text.splitlines(keepends=True) if "\n" in text else [text]
    rows = list(csv.reader(pieces, delimiter=delimiter, skipinitialspace=True))
    fields = [field for row in rows for field in row]
    return [(restore_cell(field) if neutralized else field).strip() for field in fields]


def _find_delimiter(texts: Sequence[str], path: Path) -> str:
    """Return the delimiter that occurs equally often in most lines.

    Lines of two or three words may be delimited by white space. Without any delimiter, return ",".
    """
    shares = {sign: _evenness(texts, sign) for sign in DELIMITERS}
    if path.suffix.lower() in {".tsv", ".tab"} and shares["\t"] > 0:
        return "\t"
    best = max(DELIMITERS, key=lambda sign: shares[sign])
    if shares[best] > 0.5:
        return best
    if texts and all(len(text.split()) in {2, 3} for text in texts):
        return " "
    return best if shares[best] > 0 else ","


def _evenness(texts: Sequence[str], sign: str) -> float:
    """Return the share of lines with the usual number of columns, or 0 if that is one."""
    counts = Counter(_count_outside(text, sign) for text in texts)
    usual = max(counts, key=lambda count: (counts[count], count), default=0)
    return counts[usual] / len(texts) if usual else 0.0


def _count_outside(text: str, sign: str) -> int:
    """Count a delimiter outside quotation marks."""
    if sign == "\t" or '"' not in text:
        return text.count(sign)
    return sum(part.count(sign) for part in text.split('"')[::2])


def _has_quotes(texts: Sequence[str], delimiter: str) -> bool:
    """Return True if quotation marks enclose fields rather than being part of them."""
    if delimiter != "\t":
        return True
    fields = (field.strip() for text in texts for field in text.split(delimiter))
    opened = [field for field in fields if field.startswith('"')]
    return bool(opened) and all(
        len(field) > 1 and field[-1] == '"' and field.count('"') % 2 == 0 for field in opened
    )
