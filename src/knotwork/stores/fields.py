"""The fields of documents that filters compare, and the power of a store to filter by them.

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

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, Protocol, runtime_checkable

from knotwork.errors import UnknownName
from knotwork.records import Document, Filter
from knotwork.records.filters import conditions
from knotwork.stores.id_sets import IdSet
from knotwork.text.dates import read_day_range

PATH = "path"
URI = "uri"
TITLE = "title"
LANGUAGE = "language"
FORMAT = "format"
FILE_DATE = "file_date"
PAGE = "page"
DATE = "date"

BUILT_IN = (FILE_DATE, FORMAT, LANGUAGE, PATH, TITLE, URI)
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
    names = sorted({*BUILT_IN, *known})
    for condition in conditions(wanted):
        if field_name(condition.field) not in names:
            raise UnknownName("field", condition.field, names, place=" in this index")


def metadata_fields(metadata: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the values of each field that the metadata of a document gives it."""
    own = {key.strip().casefold(): value for key, value in metadata.items() if value.strip()}
    found: defaultdict[str, list[str]] = defaultdict(list)
    for key, value in own.items():
        if key and key not in _NOT_FROM_METADATA:
            found[field_name(key)] += _values(value)
    for name, sources in (("author", _AUTHORS), ("tags", _TAGS)):
        found[name] = [value for key in sources for value in _values(own.get(key, ""))]
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


def _values(value: str) -> tuple[str, ...]:
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
