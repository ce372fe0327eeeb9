"""Rows in the binary format of COPY: fixed numbers as arrays, everything else by value."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from knotwork._stores.postgres.adaptation import encode_text

BINARY_HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
BINARY_TRAILER = b"\xff\xff"

Field = bytes | None
"""A value as PostgreSQL stores it, or NULL."""

_BLOCK_BYTES = 1 << 18
_COUNT = struct.Struct(">h")
_LENGTH = struct.Struct(">i")
_NULL = _LENGTH.pack(-1)
_pack_int8 = struct.Struct(">q").pack
_pack_int4 = struct.Struct(">i").pack
_pack_float8 = struct.Struct(">d").pack


def int8(value: int) -> bytes:
    """Return a bigint."""
    return _pack_int8(value)


def int4(value: int | None) -> Field:
    """Return an integer."""
    return None if value is None else _pack_int4(value)


def float8(value: float) -> bytes:
    """Return a double precision."""
    return _pack_float8(value)


def text(value: str) -> bytes:
    """Return a text."""
    return encode_text(value)


def packed_rows(rows: Iterable[Sequence[Field]]) -> Iterator[bytes]:
    """Yield blocks of rows, whose fields are values as above."""
    parts: list[bytes] = []
    size = 0
    for row in rows:
        parts.append(_COUNT.pack(len(row)))
        for value in row:
            if value is None:
                parts.append(_NULL)
            else:
                parts += (_LENGTH.pack(len(value)), value)
                size += len(value)
        if size >= _BLOCK_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


def number_rows(*columns: NDArray[np.signedinteger]) -> bytes:
    """Return rows of numbers from one array for each column, of int64 or int32."""
    fields: list[tuple[str, str]] = [("fields", ">i2")]
    for place, column in enumerate(columns):
        fields += [(f"n{place}", ">i4"), (f"v{place}", f">i{column.dtype.itemsize}")]
    rows = np.empty(len(columns[0]), dtype=fields)
    rows["fields"] = len(columns)
    for place, column in enumerate(columns):
        rows[f"n{place}"] = column.dtype.itemsize
        rows[f"v{place}"] = column
    return rows.tobytes()
