"""Convert values between Python and PostgreSQL.

PostgreSQL stores neither the character NUL nor a lone surrogate. Both are escaped in every text,
with U+0001 as the escape character, so that what a store returns is what it was given. The code of
NUL and U+0001 keeps the order of texts: NUL becomes 01 01, and U+0001 becomes 01 02.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray
from psycopg import adapters
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Dumper, Loader
from psycopg.pq import Format
from psycopg.types.array import ListBinaryDumper
from psycopg.types.numeric import Int8BinaryDumper

_ESCAPE = "\x01"
_SPECIAL = re.compile("[\x00\x01\ud800-\udfff]")
_ESCAPED = re.compile("\x01(\x01|\x02|\x03[0-9a-f]{4})")
_TEXT_OID, _INT8_OID = 25, 20


def encode_text(text: str) -> bytes:
    """Return a text as UTF-8, with what PostgreSQL does not store escaped."""
    if "\x00" not in text and _ESCAPE not in text:
        try:
            return text.encode()
        except UnicodeEncodeError:
            pass
    return _SPECIAL.sub(_escape, text).encode()


def decode_text(data: bytes) -> str:
    """Return the text that `encode_text` encoded."""
    text = data.decode()
    return _ESCAPED.sub(_restore, text) if _ESCAPE in text else text


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    if character == "\x00":
        return f"{_ESCAPE}\x01"
    return f"{_ESCAPE}\x02" if character == _ESCAPE else f"{_ESCAPE}\x03{ord(character):04x}"


def _restore(found: re.Match[str]) -> str:
    code = found.group(1)
    if code == "\x01":
        return "\x00"
    return _ESCAPE if code == "\x02" else chr(int(code[1:], 16))


class _TextDumper(Dumper):
    """Sends a text without a type, so that the server takes that of the column."""

    format = Format.TEXT
    oid = 0

    def dump(self, obj: str) -> bytes:
        return encode_text(obj)


class _TypedTextDumper(_TextDumper):
    """Sends a text in a list, whose elements need a type."""

    format = Format.BINARY
    oid = _TEXT_OID


class _BoolDumper(Dumper):
    """Sends a truth value as a number: columns of SQLite have no other type for it."""

    format = Format.BINARY
    oid = _INT8_OID

    def dump(self, obj: bool) -> bytes:
        return int(obj).to_bytes(8, "big")


class _TextLoader(Loader):
    def load(self, data: Buffer) -> str:
        return decode_text(bytes(data))


class _BinaryTextLoader(_TextLoader):
    format = Format.BINARY


def make_adapters() -> AdaptersMap:
    """Return the adapters of all connections.

    Whole numbers are bigint whatever their size, also in lists, so that a statement has one plan.
    """
    made = AdaptersMap(adapters)
    made.register_dumper(str, _TypedTextDumper)
    made.register_dumper(str, _TextDumper)
    made.register_dumper(int, Int8BinaryDumper)
    made.register_dumper(list, ListBinaryDumper)
    made.register_dumper(bool, _BoolDumper)
    for name in ("text", "varchar", "name"):
        made.register_loader(name, _TextLoader)
        made.register_loader(name, _BinaryTextLoader)
    return made


_HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_TRAILER = b"\xff\xff"


def number_rows(*columns: NDArray[np.signedinteger]) -> bytes:
    """Return rows for a binary COPY from one array for each column, of int64 or int32."""
    fields: list[tuple[str, str]] = [("fields", ">i2")]
    for place, column in enumerate(columns):
        fields += [(f"n{place}", ">i4"), (f"v{place}", f">i{column.dtype.itemsize}")]
    rows = np.empty(len(columns[0]), dtype=fields)
    rows["fields"] = len(columns)
    for place, column in enumerate(columns):
        rows[f"n{place}"] = column.dtype.itemsize
        rows[f"v{place}"] = column
    return _HEADER + rows.tobytes() + _TRAILER
