"""Document fields for filters: which there are, their values, and how a condition matches a value.

| field | what it has |
|---|---|
| ``uri``, ``path`` | the source; ``path`` matches any part of it that ends or begins at a ``/`` |
| ``title``, ``language`` | of the document |
| ``format`` | the media type, its second half and the suffix of the file |
| ``author``, ``date``, ``tags`` | what the document says under any of the usual names |
| ``file_date`` | when the file was last changed |
| ``page`` | labels of pages, slides and sheets; the only field of passages |

All other fields are those of the front matter or the file format, under their names in lower case.
A list has each of its values.
"""

from __future__ import annotations

import operator
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, runtime_checkable

from knotwork.errors import UnknownName
from knotwork.records import Document, Filter
from knotwork.records.filters import Comparison, Condition, conditions
from knotwork.stores.id_sets import IdSet
from knotwork.text.dates import DayRange, read_day_range

PATH = "path"
URI = "uri"
TITLE = "title"
LANGUAGE = "language"
FORMAT = "format"
FILE_DATE = "file_date"
PAGE = "page"
DATE = "date"

BUILT_IN_FIELDS = (FILE_DATE, FORMAT, LANGUAGE, PATH, TITLE, URI)
"""Fields that every index has, which are not those of metadata alone."""

_NOT_FROM_METADATA = frozenset({FILE_DATE, PAGE, PATH, URI})
_ALIASES: Mapping[str, str] = {
    "authors": "author",
    "tag": "tags",
    "lang": LANGUAGE,
}
_AUTHORS = ("author", "authors", "creator", "by", "writer", "作者")
_DATES = (
    "date",
    "published",
    "publish_date",
    "publishdate",
    "pubdate",
    "date_published",
    "publication_date",
    "issued",
    "created",
    "date_created",
    "creation_date",
    "modified",
    "updated",
    "last_modified",
    "lastmod",
    "日期",
    "发布日期",
)
_TAGS = ("tags", "tag", "keywords", "keyword", "categories", "category", "topics", "标签", "关键词")
_SEPARATORS = re.compile(r"[,;，；、|]")
_LONGEST_VALUE = 500
_MOST_WORDS = 6
"""A part with more words is prose: the value that holds it is not a list."""


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """A field of an index: how many documents have it, and its most frequent values."""

    name: str
    documents: int
    examples: tuple[str, ...] = ()


class Selection(NamedTuple):
    """What a filter leaves of an index: documents with an allowed passage, and allowed passages.

    ``chunks`` has leaf and parent chunks.
    """

    documents: IdSet
    chunks: IdSet


class FieldStore(Protocol):
    """The fields of all documents, and what filters on them leave."""

    def fields(self) -> list[FieldInfo]:
        """Return the fields that the index has, by name."""

    def select(self, wanted: Filter) -> Selection:
        """Return what a filter leaves. Raises UnknownName for a field that the index lacks.

        A chunk is on every page that it touches. Conditions compare as `Matcher` does.
        """

    def mentioned(self, chunks: IdSet) -> IdSet:
        """Return the ids of the entities that any of these chunks mention."""
        ...


@runtime_checkable
class StoresFields(Protocol):
    """A store that can filter by fields of its documents."""

    @property
    def fields(self) -> FieldStore: ...


def field_name(name: str) -> str:
    """Return the name under which a field is stored: in lower case, without an alias."""
    folded = name.strip().casefold()
    return _ALIASES.get(folded, folded)


def check_fields(wanted: Filter, known: Iterable[str]) -> None:
    """Raise UnknownName for the first field of a filter that is not among ``known``."""
    names = sorted({*BUILT_IN_FIELDS, *known})
    for condition in conditions(wanted):
        if field_name(condition.field) not in names:
            raise UnknownName("field", condition.field, names, place=" in this index")


def metadata_fields(metadata: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the values of each field that the metadata of a document gives it."""
    own = {key.strip().casefold(): value for key, value in metadata.items() if value.strip()}
    found: defaultdict[str, list[str]] = defaultdict(list)
    for key, value in own.items():
        if key and key not in _NOT_FROM_METADATA:
            found[field_name(key)] += _split_values(value)
    for name, sources in (("author", _AUTHORS), ("tags", _TAGS)):
        found[name] = [value for key in sources for value in _split_values(own.get(key, ""))]
    found[DATE] = [own[key] for key in _DATES if read_day_range(own.get(key, ""))][:1]
    return {key: tuple(dict.fromkeys(values)) for key, values in found.items() if values}


def format_values(uri: str, media_type: str) -> tuple[str, ...]:
    """Return the values of ``format``, as of "text/html" in "a.htm": that, "html" and "htm"."""
    name = uri.rpartition("/")[2]
    suffix = name.rpartition(".")[2] if "." in name else ""
    values = (media_type, media_type.rpartition("/")[2], suffix)
    return tuple(dict.fromkeys(value for value in values if value))


def language_values(language: str) -> tuple[str, ...]:
    """Return the values of ``language`` that the detected language of a document gives it."""
    return (language,) if language else ()


class PageSpan(NamedTuple):
    """A page: its label, and the characters of the document from ``start`` up to ``end``."""

    label: str
    start: int
    end: int


def page_spans(document: Document) -> list[PageSpan]:
    """Return the pages of a document, each up to the next one."""
    length = max(len(document.text), 1)
    starts = [page.start for page in document.pages]
    ends = [*starts[1:], length][: len(starts)]
    return [
        PageSpan(page.label, page.start, end)
        for page, end in zip(document.pages, ends, strict=True)
    ]


def _split_values(value: str) -> tuple[str, ...]:
    """Return a value, and the parts of one that is a list."""
    whole = " ".join(value.split())
    if not whole:
        return ()
    shortened = whole[:_LONGEST_VALUE]
    if read_day_range(whole):
        return (shortened,)
    parts = [part.strip() for part in _SEPARATORS.split(whole)]
    if len(parts) == 1 or any(len(part.split()) > _MOST_WORDS for part in parts):
        return (shortened,)
    return (shortened, *(part[:_LONGEST_VALUE] for part in parts if part))


def summarize_field(
    name: str, documents: int, counts: Iterable[tuple[str, int]], *, most: int = 5
) -> FieldInfo:
    """Return the summary of a field, its most frequent values first, ties by value."""
    ranked = sorted(counts, key=lambda item: (-item[1], item[0]))
    return FieldInfo(name, documents, tuple(value for value, _ in ranked[:most]))


def file_day(modified_ns: int) -> str:
    """Return the day of a time in nanoseconds, in UTC, as ISO text."""
    return datetime.fromtimestamp(modified_ns // 10**9, UTC).date().isoformat()


_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_ANY = "*"
_ORDER: dict[Comparison, Callable[[Any, Any], bool]] = {
    Comparison.LESS: operator.lt,
    Comparison.AT_MOST: operator.le,
    Comparison.MORE: operator.gt,
    Comparison.AT_LEAST: operator.ge,
}


class _Value(NamedTuple):
    text: str
    number: float | None
    days: DayRange | None


class Matcher:
    """Decides whether values of a field fulfil a condition.

    Two values are compared as numbers if both are numbers, else as dates if both are dates, else as
    text without case, full width or repeated spaces. A date without a day or a month is the range
    of all its days: it equals a wider one that holds all of it, and is before or after another only
    if all its days are. Text is less or more only where neither side is a number or a date. A
    ``path`` is matched as a whole, from any folder on, or as a folder of files.
    """

    def __init__(self, condition: Condition) -> None:
        self._comparison = condition.comparison
        self._wanted = [_read(value) for value in condition.values]
        self._is_path = field_name(condition.field) == PATH

    def matches(self, value: str) -> bool:
        """Return whether a value fulfils the condition."""
        if self._comparison is Comparison.PRESENT:
            return True
        if self._comparison is Comparison.CONTAINS:
            text = _fold(value)
            return any(wanted.text in text for wanted in self._wanted)
        held = _read(value)
        if self._comparison is Comparison.EQUAL:
            if self._is_path:
                return any(_is_on_path(held.text, wanted.text) for wanted in self._wanted)
            return any(_is_equal(held, wanted) for wanted in self._wanted)
        return any(_is_ordered(held, self._comparison, wanted) for wanted in self._wanted)

    def matches_any(self, values: Iterable[str]) -> bool:
        """Return whether any value fulfils the condition."""
        return any(map(self.matches, values))


def _is_equal(held: _Value, wanted: _Value) -> bool:
    if held.text == wanted.text:
        return True
    if held.number is not None and wanted.number is not None:
        return held.number == wanted.number
    if held.days is not None and wanted.days is not None:
        return wanted.days.start <= held.days.start and held.days.end <= wanted.days.end
    return _ANY in wanted.text and _fits(held.text, wanted.text)


def _is_ordered(held: _Value, comparison: Comparison, wanted: _Value) -> bool:
    compare = _ORDER[comparison]
    if held.number is not None and wanted.number is not None:
        return compare(held.number, wanted.number)
    if held.days is not None and wanted.days is not None:
        return {
            Comparison.LESS: held.days.end <= wanted.days.start,
            Comparison.AT_MOST: held.days.end <= wanted.days.end,
            Comparison.MORE: held.days.start >= wanted.days.end,
            Comparison.AT_LEAST: held.days.start >= wanted.days.start,
        }[comparison]
    if any(side.number is not None or side.days is not None for side in (held, wanted)):
        return False
    return compare(held.text, wanted.text)


@lru_cache(maxsize=65_536)
def _read(value: str) -> _Value:
    text = _fold(value)
    number = float(text) if _NUMBER.fullmatch(text) else None
    return _Value(text, number, read_day_range(text))


def _fold(value: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", value).casefold().split())


def _fits(text: str, pattern: str) -> bool:
    """Return whether a text fits a pattern with ``*`` for any text; linear in both."""
    first, *middle, last = pattern.split(_ANY)
    if len(first) + len(last) > len(text) or not text.startswith(first) or not text.endswith(last):
        return False
    return _has_in_order(text[len(first) : len(text) - len(last)], middle)


def _is_on_path(path: str, pattern: str) -> bool:
    """Return whether whole parts of a path, next to each other, fit a pattern."""
    return _has_in_order(f"/{path.strip('/')}/", f"/{pattern.strip('/')}/".split(_ANY))


def _has_in_order(text: str, parts: Iterable[str]) -> bool:
    place = 0
    for part in parts:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True
