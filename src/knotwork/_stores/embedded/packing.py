"""Encode values for the columns of the index file, and keys for ``json_each``."""

from __future__ import annotations

import json
from collections.abc import Iterable

from knotwork._stores.sql.packing import (
    decodes,
    key_array,
    keys_of,
    pack_frames,
    pack_line,
    pack_outline,
    pack_spans,
    pack_strings,
    pack_text,
    unpack_frames,
    unpack_json,
    unpack_line,
    unpack_outline,
    unpack_spans,
    unpack_status,
    unpack_strings,
    unpack_text,
)

__all__ = [
    "decodes",
    "key_array",
    "keys_of",
    "pack_frames",
    "pack_keys",
    "pack_line",
    "pack_outline",
    "pack_spans",
    "pack_strings",
    "pack_text",
    "unpack_frames",
    "unpack_json",
    "unpack_line",
    "unpack_outline",
    "unpack_spans",
    "unpack_status",
    "unpack_strings",
    "unpack_text",
]


def pack_keys(keys: Iterable[object]) -> str:
    """Pack keys, or rows of keys, as the parameter of ``json_each`` in one statement for all.

    The statements add tables with CROSS JOIN, so that SQLite keeps their order, keys first.
    """
    return json.dumps(list(keys))
