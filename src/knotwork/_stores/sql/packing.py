"""Encode ids, spans, strings and texts for the columns of tables."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import wraps
from itertools import chain
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from knotwork._cancellation import checked
from knotwork._sqlite_file import DamagedValue
from knotwork._stores.id_sets import IdSet
from knotwork.records import (
    Anchor,
    Block,
    BlockKind,
    BoxedSpan,
    Document,
    Link,
    Page,
    ReadingStatus,
    Span,
    TimedSpan,
    Verdict,
    id_to_int,
    int_to_id,
)

Arguments = ParamSpec("Arguments")
T = TypeVar("T")

_ID_DIGITS = 16
_LARGEST_KEY = (1 << 63) - 1
_OFFSETS = struct.Struct("<ii")
_PACKED_BYTES = 4 << 20
"""Text that is packed between two checks for a cancellation, in about 0.2 seconds."""


_DECODING_ERRORS = (ValueError, TypeError, KeyError, IndexError, zlib.error, struct.error)


def decodes(kind: str) -> Callable[[Callable[Arguments, T]], Callable[Arguments, T]]:
    """Make a decoder raise DamagedValue, with the kind of value, for whatever it cannot decode."""

    def decorate(function: Callable[Arguments, T]) -> Callable[Arguments, T]:
        @wraps(function)
        def decode(*args: Arguments.args, **kwargs: Arguments.kwargs) -> T:
            try:
                return function(*args, **kwargs)
            except _DECODING_ERRORS as error:
                raise DamagedValue(f"{kind} cannot be decoded ({error})") from error

        return decode

    return decorate


def keys_of(ids: Collection[str]) -> Iterator[tuple[str, int]]:
    """Yield each distinct id with its key, without strings that cannot be ids."""
    for identifier in dict.fromkeys(ids):
        if len(identifier) == _ID_DIGITS:
            try:
                key = id_to_int(identifier)
            except ValueError:
                continue
            if 0 <= key <= _LARGEST_KEY:
                yield identifier, key


def key_list(ids: Collection[str]) -> list[int]:
    """Return the keys of the distinct ids that can be stored, as statements take them."""
    return [key for _, key in keys_of(ids)]


def key_array(ids: Collection[str]) -> NDArray[np.int64]:
    """Return the keys of ids as an array; that of an `IdSet` is not copied."""
    if isinstance(ids, IdSet):
        return ids.keys
    return np.array(key_list(ids), np.int64)


def optional_id(key: int | None) -> str | None:
    """Return the id of a key; None for NULL."""
    return None if key is None else int_to_id(key)


def optional_key(identifier: str | None) -> int | None:
    """Return the key of an id; NULL for None."""
    return None if identifier is None else id_to_int(identifier)


def pack_spans(spans: Sequence[Span]) -> bytes:
    """Pack spans into pairs of little-endian int32."""
    return struct.pack(f"<{2 * len(spans)}i", *chain.from_iterable(spans))


@decodes("a list of positions")
def unpack_spans(data: bytes) -> tuple[Span, ...]:
    """Return the spans that `pack_spans` packed."""
    return tuple(map(Span._make, _OFFSETS.iter_unpack(data)))


def pack_strings(strings: Sequence[str]) -> str:
    """Pack strings as JSON; an empty sequence becomes an empty string."""
    return json.dumps(strings, ensure_ascii=False) if strings else ""


@decodes("a list of texts")
def unpack_strings(data: str) -> tuple[str, ...]:
    """Return the strings that `pack_strings` packed."""
    return tuple(json.loads(data)) if data else ()


@decodes("a JSON value")
def unpack_json(data: str) -> Any:  # noqa: ANN401  the caller knows its type
    """Return a stored JSON value."""
    return json.loads(data)


unpack_status = decodes("the outcome of a reading")(ReadingStatus)
unpack_verdict = decodes("a decision")(Verdict)


def pack_text(text: str) -> bytes:
    """Compress text; a lone surrogate is preserved."""
    data = text.encode("utf-8", "surrogatepass")
    packer = zlib.compressobj()
    starts = range(0, len(data), _PACKED_BYTES)
    parts = [packer.compress(data[start : start + _PACKED_BYTES]) for start in checked(starts)]
    return b"".join([*parts, packer.flush()])


@decodes("a compressed text")
def unpack_text(data: bytes) -> str:
    """Return the text that `pack_text` compressed."""
    return zlib.decompress(data).decode("utf-8", "surrogatepass")


def pack_line(text: str) -> bytes:
    """Encode text that is too short to compress; a lone surrogate is preserved."""
    return text.encode("utf-8", "surrogatepass")


@decodes("a text")
def unpack_line(data: bytes) -> str:
    """Return the text that `pack_line` encoded."""
    return data.decode("utf-8", "surrogatepass")


Outline = tuple[
    tuple[Block, ...],
    tuple[Page, ...],
    tuple[TimedSpan, ...],
    tuple[BoxedSpan, ...],
    tuple[Link, ...],
    tuple[Anchor, ...],
]
"""What a document has beside its text."""


def pack_outline(document: Document) -> bytes:
    """Compress what a document has beside its text."""
    parts = [
        _block_rows(document.blocks),
        [[page.label, page.start] for page in document.pages],
        [[*timed.span, timed.start_s, timed.end_s] for timed in document.times],
        [[*boxed.span, *boxed[1:]] for boxed in document.boxes],
        [[*link.span, *link[1:]] for link in document.links],
        document.anchors,
    ]
    return pack_text(json.dumps({"parts": parts}, ensure_ascii=False))


@decodes("the outline of a document")
def unpack_outline(data: bytes) -> Outline:
    """Return what `pack_outline` compressed."""
    # JSON in bytes may have lone surrogates, as `pack_text` has written them.
    blocks, pages, times, boxes, links, anchors = json.loads(zlib.decompress(data))["parts"]
    return (
        _blocks(blocks),
        tuple(Page(label, start) for label, start in pages),
        tuple(TimedSpan(Span(start, end), *seconds) for start, end, *seconds in times),
        tuple(BoxedSpan(Span(start, end), *edges) for start, end, *edges in boxes),
        tuple(Link(Span(start, end), *leading) for start, end, *leading in links),
        tuple(Anchor(*anchor) for anchor in anchors),
    )


def pack_blocks(blocks: Sequence[Block]) -> bytes:
    """Pack the blocks of a chunk; no blocks become empty bytes."""
    rows = _block_rows(blocks)
    return pack_line(json.dumps(rows, ensure_ascii=False)) if rows else b""


@decodes("the blocks of a chunk")
def unpack_blocks(data: bytes) -> tuple[Block, ...]:
    """Return the blocks that `pack_blocks` packed."""
    return _blocks(json.loads(data)) if data else ()


_CODES = {kind: code for code, kind in enumerate(BlockKind)}
_KINDS = tuple(BlockKind)


def _block_rows(blocks: Sequence[Block]) -> list[list[object]]:
    """Return blocks as lists, without the empty values at their ends."""
    rows: list[list[object]] = []
    for kind, span, *named in blocks:
        while named and not named[-1]:
            named.pop()
        rows.append([_CODES[kind], *span, *named])
    return rows


def _blocks(rows: Sequence[Sequence[Any]]) -> tuple[Block, ...]:
    return tuple(Block(_KINDS[kind], Span(start, end), *named) for kind, start, end, *named in rows)
