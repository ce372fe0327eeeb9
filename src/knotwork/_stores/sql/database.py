"""The database under the parts of a store: the language of statements and of packed values.

A statement has the parameters ``$1, $2, …``, each at first in ascending order, since SQLite numbers
names of parameters as they appear. Names of columns that are SQL words (``end``) are quoted. Texts
compare by code points: a server gives their columns the collation "C". Joins whose tables must be
read in order, keys first, are CROSS JOINs with all their conditions in WHERE: SQLite keeps that
order, and others may choose.

Engines write two things differently, and rephrase them (`rephrase`):

- ``keys($1)``, ``texts($1)`` and ``rows($1, a, b)`` are items of FROM: tables ``j`` that list the
  whole numbers, texts or tuples of numbers in a list bound to the parameter. They have the columns
  ``place``, the position of a value from 0, and ``value``, or those that are named.
- ``joined[query | id a, real b]`` is a scalar expression: the columns of all rows of the query as
  one text. Values are in the order of the query, divided by spaces: an ``id`` has 16 hexadecimal
  digits, an ``integer`` is in decimal, a ``real`` number in full. No rows are NULL. The query may
  refer to ``j``, and so have an ORDER BY and a LIMIT for each of many keys.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from inspect import isfunction
from itertools import chain
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from knotwork._cancellation import checked
from knotwork._sqlite_file import DamagedValue
from knotwork._stores.id_sets import IdSet
from knotwork.errors import IndexDamaged
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
    StyledSpan,
    TextStyle,
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
    tuple[StyledSpan, ...],
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
        [[*styled.span, _STYLES.index(styled.style)] for styled in document.styles],
    ]
    return pack_text(json.dumps({"parts": parts}, ensure_ascii=False))


@decodes("the outline of a document")
def unpack_outline(data: bytes) -> Outline:
    """Return what `pack_outline` compressed."""
    blocks, pages, times, boxes, links, anchors, styles = json.loads(zlib.decompress(data))["parts"]
    return (
        _blocks(blocks),
        tuple(Page(label, start) for label, start in pages),
        tuple(TimedSpan(Span(start, end), *seconds) for start, end, *seconds in times),
        tuple(BoxedSpan(Span(start, end), *edges) for start, end, *edges in boxes),
        tuple(Link(Span(start, end), *leading) for start, end, *leading in links),
        tuple(Anchor(*anchor) for anchor in anchors),
        tuple(StyledSpan(Span(*span), _STYLES[n]) for *span, n in styles),
    )


def pack_blocks(blocks: Sequence[Block]) -> bytes:
    """Pack the blocks of a chunk; no blocks become empty bytes."""
    rows = _block_rows(blocks)
    return json.dumps(rows, ensure_ascii=False).encode("utf-8", "surrogatepass") if rows else b""


@decodes("the blocks of a chunk")
def unpack_blocks(data: bytes) -> tuple[Block, ...]:
    """Return the blocks that `pack_blocks` packed."""
    return _blocks(json.loads(data)) if data else ()


_CODES = {kind: code for code, kind in enumerate(BlockKind)}
_KINDS = tuple(BlockKind)
_STYLES = tuple(TextStyle)


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


Part = TypeVar("Part")
Row = tuple[Any, ...]
Bindings = Sequence[Any]
"""The values of parameters, in order: numbers, text, bytes, None, and lists of many values."""

_PAGE_ROWS = 10_000
_MARK = re.compile(
    r"\b(keys|texts|rows)\((\$\d+)((?:, \w+)*)\)|\bjoined\[([^|]*)\|([^\]]*)\]", re.ASCII
)


def rephrase(
    sql: str,
    *,
    listed: Callable[[str, str, Sequence[str]], str],
    joined: Callable[[str, Mapping[str, str]], str],
) -> str:
    """Return a statement in the words of an engine.

    ``listed`` writes a list from its kind, its parameter and the names of its columns, ``joined``
    the text of a query from the form of each of its columns.
    """

    def write(found: re.Match[str]) -> str:
        kind, parameter, names, query, columns = found.groups()
        if query is None:
            return listed(kind, parameter, names.replace(",", "").split())
        forms = (column.split() for column in columns.split(","))
        return joined(query, {name: form for form, name in forms})

    return _MARK.sub(write, sql)


def insert(table: str, *columns: str) -> str:
    """Return a statement that adds a row with these columns."""
    places = ", ".join(f"${number}" for number in range(1, len(columns) + 1))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"


def insert_new(table: str, *columns: str) -> str:
    """Return a statement that adds a row unless one with its key exists."""
    return f"{insert(table, *columns)} ON CONFLICT DO NOTHING"


def upsert(table: str, *columns: str, key: Sequence[str]) -> str:
    """Return a statement that adds a row, or replaces the one with its key."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in key)
    return f"{insert(table, *columns)} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}"


def delete_keys(table: str, column: str) -> str:
    """Return a statement that deletes the rows with one of many keys in a column."""
    return f"DELETE FROM {table} WHERE {column} IN (SELECT j.value FROM keys($1))"


class SqlDatabase(Protocol):
    """A database with the tables of an index, for any number of threads.

    All methods raise StoreError for errors of the engine. Long work is stopped by a cancellation.
    """

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run a query and return all its rows."""
        ...

    def row(self, sql: str, bindings: Bindings = ()) -> Row | None:
        """Run a query and return its first row, if any."""
        found = self.rows(sql, bindings)
        return found[0] if found else None

    @property
    def kept(self) -> dict[tuple[str, Bindings], list[Row]] | None:
        """What `rows_once` has read in the open `reading` of this thread; None outside of one."""
        ...

    def rows_once(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run a query and return all its rows; inside one `reading`, run it only once.

        The values of ``bindings`` are hashable.
        """
        kept = self.kept
        if kept is None:
            return self.rows(sql, bindings)
        if (sql, bindings) not in kept:
            kept[sql, bindings] = self.rows(sql, bindings)
        return kept[sql, bindings]

    def stream(self, sql: str, bindings: Bindings = ()) -> Iterator[Row]:
        """Yield the rows of a query as they are read; use inside `reading` or `transaction`."""
        ...

    def rows_in_pages(self, sql: str, start: Bindings) -> Iterator[Row]:
        """Yield the rows of a query in pages, without one transaction for all.

        The first columns are the sort key. The parameters of the query are the key after which a
        page begins, first ``start``, and the number of rows.
        """
        position = tuple(start)
        while True:
            rows = self.rows(sql, (*position, _PAGE_ROWS))
            yield from rows
            if len(rows) < _PAGE_ROWS:
                return
            position = rows[-1][: len(position)]

    def write(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run a statement inside the open transaction, and return the rows that it returns."""
        ...

    def write_many(self, sql: str, rows: Iterable[Bindings]) -> None:
        """Run a statement for each of many rows inside the open transaction."""

    def add_rows(self, table: str, columns: Mapping[str, str], rows: Iterable[Bindings]) -> None:
        """Add new rows inside the open transaction; ``columns`` has the type of each column."""

    @property
    def writing(self) -> bool:
        """Whether this thread is inside a write transaction."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """Read one consistent state of the index, also while others write; nested use joins it."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Commit all writes of the block or none; nested use joins the outer transaction."""
        ...

    def alone(self) -> AbstractContextManager[None]:
        """Return a transaction beside which there is no other one; a file never has two."""
        return self.transaction()

    def generation(self) -> int:
        """Return the number of committed writes."""
        ...

    def damaged(self, detail: object) -> IndexDamaged:
        """Return the error for damage, with its place."""
        ...

    def close(self) -> None:
        """Close all connections."""


def reports_damage(part: type[Part]) -> type[Part]:
    """Make all public methods of a part raise IndexDamaged for a value that cannot be decoded."""
    for name, method in list(vars(part).items()):
        if isfunction(method) and not name.startswith("_"):
            setattr(part, name, _reporting_damage(method))
    return part


def _reporting_damage(method: Callable[..., T]) -> Callable[..., T]:
    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> T:  # noqa: ANN401  any method of a part
        try:
            return method(self, *args, **options)
        except DamagedValue as error:
            raise self._database.damaged(error) from error

    return call


class SqlPart:
    """A part of a store in the tables of a database, and how it reads many rows at once.

    The first column of a query by ids is the key of an id. ``make`` gets the id and the other
    columns. Parts report damage (`reports_damage`).
    """

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self._kept: tuple[int, Any] | None = None

    def __init_subclass__(cls) -> None:
        reports_damage(cls)

    def _ids(self, sql: str, bindings: Bindings = ()) -> list[str]:
        return [int_to_id(key) for (key,) in self._database.rows(sql, bindings)]

    def _by_id(self, sql: str, ids: Collection[str], make: Callable[..., T]) -> dict[str, T]:
        """Return the value of each id that has one, in the order of the ids."""
        keys = dict(keys_of(ids))
        found = {key: columns for key, *columns in self._database.rows(sql, ([*keys.values()],))}
        known = ((i, key) for i, key in keys.items() if key in found)
        return {i: make(i, *found[key]) for i, key in checked(known)}

    def _lists(self, sql: str, ids: Collection[str], make: Callable[..., T]) -> dict[str, list[T]]:
        """Return the values of each id that has any, in the order of the ids and of the rows."""
        names = {key: identifier for identifier, key in keys_of(ids)}
        found: defaultdict[int, list[T]] = defaultdict(list)
        for key, *columns in checked(self._database.rows(sql, ([*names],))):
            found[key].append(make(names[key], *columns))
        return {identifier: found[key] for key, identifier in names.items() if key in found}

    def _write_each(self, statements: Iterable[str], keys: list[int]) -> None:
        for sql in statements:
            self._database.write(sql, (keys,))

    def _once(self, compute: Callable[[], T]) -> T:
        """Return what is computed from a state of the index, once while it stays."""
        if self._database.writing:
            return compute()
        with self._database.reading():
            generation = self._database.generation()
            if self._kept is None or self._kept[0] != generation:
                self._kept = generation, compute()
            found: T = self._kept[1]
            return found
