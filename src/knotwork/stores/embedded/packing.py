"""How values are packed into the columns of the index file."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

from knotwork.records import Document, Heading, Page, Span, id_to_int

_ID_DIGITS = 16
_LARGEST_KEY = (1 << 63) - 1
_OFFSETS = struct.Struct("<ii")


def keys_of(ids: Collection[str]) -> Iterator[tuple[str, int]]:
    """Yield each distinct id with its key; what cannot be an id is left out."""
    for identifier in dict.fromkeys(ids):
        if len(identifier) == _ID_DIGITS:
            try:
                key = id_to_int(identifier)
            except ValueError:
                continue
            if 0 <= key <= _LARGEST_KEY:
                yield identifier, key


def pack_keys(keys: Iterable[object]) -> str:
    """Pack keys, or rows of keys, for ``json_each``: one statement then serves them all.

    Tables are added with CROSS JOIN, which for SQLite means: in this order, keys first.
    """
    return json.dumps(list(keys))


def pack_spans(spans: Sequence[Span]) -> bytes:
    """Pack spans into pairs of little-endian int32."""
    return struct.pack(f"<{2 * len(spans)}i", *chain.from_iterable(spans))


def unpack_spans(data: bytes) -> tuple[Span, ...]:
    """Return the spans that `pack_spans` packed."""
    return tuple(map(Span._make, _OFFSETS.iter_unpack(data)))


def pack_strings(strings: Sequence[str]) -> str:
    """Pack strings into one; no strings into an empty one."""
    return json.dumps(strings, ensure_ascii=False) if strings else ""


def unpack_strings(data: str) -> tuple[str, ...]:
    """Return the strings that `pack_strings` packed."""
    return tuple(json.loads(data)) if data else ()


def pack_text(text: str) -> bytes:
    """Compress text; half a surrogate pair is kept as it is."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"))


def unpack_text(data: bytes) -> str:
    """Return the text that `pack_text` compressed."""
    return zlib.decompress(data).decode("utf-8", "surrogatepass")


def pack_line(text: str) -> bytes:
    """Encode text that is too short to compress; half a surrogate pair is kept as it is."""
    return text.encode("utf-8", "surrogatepass")


def unpack_line(data: bytes) -> str:
    """Return the text that `pack_line` encoded."""
    return data.decode("utf-8", "surrogatepass")


def pack_outline(document: Document) -> bytes:
    """Compress the headings and pages of a document."""
    headings = [[h.level, h.title, *h.span] for h in document.headings]
    pages = [[page.label, page.start] for page in document.pages]
    return pack_text(json.dumps([headings, pages], ensure_ascii=False))


def unpack_outline(data: bytes) -> tuple[tuple[Heading, ...], tuple[Page, ...]]:
    """Return the headings and pages that `pack_outline` compressed."""
    headings, pages = json.loads(unpack_text(data))
    return (
        tuple(Heading(level, title, Span(start, end)) for level, title, start, end in headings),
        tuple(Page(label, start) for label, start in pages),
    )
