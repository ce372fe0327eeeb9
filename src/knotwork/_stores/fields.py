"""Document fields for filters: their names, their values, and how a condition matches a value.

| field | values |
|---|---|
| ``uri``, ``path`` | the source; ``path`` matches any part of it that begins or ends at a ``/`` |
| ``title``, ``language`` | of the document |
| ``format`` | the media type, its second half and the suffix of the file |
| ``author``, ``date``, ``tags`` | metadata of the document under any of the usual names |
| ``file_date`` | the day of the last change of the file |
| ``known_as`` | the name of the file without its suffix, its aliases, and such as ``doi:10.1/2`` |
| ``links`` | what the document links to: see `Link.target` |
| ``page`` | labels of pages, slides and sheets; the only field of passages |

All other fields have the names of the front matter or file metadata, in lower case. If a value is a
list, each of its items is a value of the field.
"""

from __future__ import annotations

import operator
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from knotwork._stores.id_sets import IdSet
from knotwork._text.dates import DayRange, read_day_range
from knotwork._text.visible import visible_text
from knotwork.errors import FilterError, UnknownName
from knotwork.records import Comparison, Condition, Document, Filter, GraphSchema, conditions

PATH = "path"
URI = "uri"
TITLE = "title"
LANGUAGE = "language"
FORMAT = "format"
FILE_DATE = "file_date"
PAGE = "page"
KNOWN_AS = "known_as"
LINKS = "links"
DATE = "date"

BUILT_IN_FIELDS = (FILE_DATE, FORMAT, LANGUAGE, PATH, TITLE, URI)
"""Fields that every index has, whatever the metadata of its documents."""

_NOT_FROM_METADATA = frozenset({FILE_DATE, KNOWN_AS, LINKS, PAGE, PATH, URI})
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
_ALIAS_FIELDS = ("aliases", "alias")
IDENTIFIERS = ("doi", "arxiv", "message_id")
"""Fields whose values identify a document wherever it is, as links name it."""
_TAGS = ("tags", "tag", "keywords", "keyword", "categories", "category", "topics", "标签", "关键词")
_SEPARATORS = re.compile(r"[,;，；、|]")
_MAX_VALUE_CHARACTERS = 500
_MAX_ITEM_WORDS = 6
"""Words in an item of a list; with a longer part, the value is prose and not a list."""


@dataclass(frozen=True, slots=True)
class FieldInfo:
    """A field of an index: the number of documents with it, and its most frequent values."""

    name: str
    documents: int
    examples: tuple[str, ...] = ()


class Selection(NamedTuple):
    """The part of an index that passes a filter.

    ``chunks`` are the leaf and parent chunks that pass, ``documents`` those with such a chunk.
    """

    documents: IdSet
    chunks: IdSet


class EntityForm(NamedTuple):
    """An entity as some chunks have it: its name and type there, and the number of these chunks."""

    name: str
    type: str
    chunks: int


class Totals(NamedTuple):
    """What an index would hold with some chunks only: leaf chunks, entities by id, its graph."""

    leaves: int
    entities: Mapping[str, EntityForm]
    schema: GraphSchema


class FieldStore(Protocol):
    """The fields of all documents, and selections by filters on them."""

    def fields(self, among: IdSet | None = None) -> list[FieldInfo]:
        """Return the fields of all documents, or of those ``among`` these, ordered by name."""

    def select(self, wanted: Filter) -> Selection:
        """Return the documents and chunks that pass a filter.

        A chunk is on every page that it overlaps. Conditions compare as `Matcher` does. Raises
        UnknownName for a field that the index does not have.
        """

    def mentioned(self, chunks: IdSet) -> IdSet:
        """Return the ids of the entities that these chunks mention."""
        ...

    def totals(self, selection: Selection) -> Totals:
        """Return the totals of an index that would hold this selection only."""
        ...


def field_name(name: str) -> str:
    """Return the name under which a field is stored: in lower case, with aliases replaced."""
    folded = name.strip().casefold()
    return _ALIASES.get(folded, folded)


def check_fields(wanted: Filter, known: Iterable[str]) -> None:
    """Raise UnknownName for the first field of a filter that is not among ``known``."""
    names = sorted({*BUILT_IN_FIELDS, *known})
    for condition in conditions(wanted):
        if field_name(condition.field) not in names:
            raise UnknownName("field", condition.field, names, place=" in this index")


def metadata_fields(metadata: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the field values in the metadata of a document."""
    own = {key.strip().casefold(): value for key, value in metadata.items() if value.strip()}
    found: defaultdict[str, list[str]] = defaultdict(list)
    for key, value in own.items():
        if key and key not in _NOT_FROM_METADATA:
            found[field_name(key)] += _split_values(value)
    for name, sources in (("author", _AUTHORS), ("tags", _TAGS)):
        found[name] = [v for key in sources if key in own for v in _split_values(own[key])]
    found[DATE] = [own[key] for key in _DATES if key in own and read_day_range(own[key])][:1]
    return {key: tuple(dict.fromkeys(values)) for key, values in found.items() if values}


def document_fields(document: Document) -> dict[str, tuple[str, ...]]:
    """Return the field values of a document, without those of its pages."""
    found = metadata_fields(document.metadata)
    aliases = (value for name in _ALIAS_FIELDS for value in found.get(name, ()))
    marked = (f"{name}:{value}" for name in IDENTIFIERS for value in found.get(name, ()))
    names = (fold(name) for name in (file_stem(document.uri), *aliases, *marked))
    found[KNOWN_AS] = tuple(dict.fromkeys(name[:_MAX_VALUE_CHARACTERS] for name in names if name))
    targets = dict.fromkeys(link.target[:_MAX_VALUE_CHARACTERS] for link in document.links)
    found[LINKS] = tuple(target for target in targets if target)
    return {name: values for name, values in found.items() if values}


def file_stem(uri: str) -> str:
    """Return the name of a file without its folder and suffix."""
    name = uri.rpartition("/")[2]
    return name.rpartition(".")[0] or name


def format_values(uri: str, media_type: str) -> tuple[str, ...]:
    """Return the values of ``format``: for "text/html" and "a.htm" that type, "html" and "htm"."""
    name = uri.rpartition("/")[2]
    suffix = name.rpartition(".")[2] if "." in name else ""
    values = (media_type, media_type.rpartition("/")[2], suffix)
    return tuple(dict.fromkeys(value for value in values if value))


def language_values(language: str) -> tuple[str, ...]:
    """Return the values of ``language`` for a detected language, which may be empty."""
    return (language,) if language else ()


class LinkStore(Protocol):
    """Which documents have a name, and which link to a target: exact values of two fields."""

    def known_as(self, names: Collection[str]) -> dict[str, list[str]]:
        """Return the ids of the documents that are known under each of these names (`fold`)."""

    def linking_to(self, fits: Callable[[str], bool]) -> set[str]:
        """Return the ids of the documents with a link whose target fits."""

    def linked(self) -> list[tuple[str, str]]:
        """Return the id of each document that has links with each of its targets, ascending."""


class PageSpan(NamedTuple):
    """A page: its label, and its half-open range of characters in the document."""

    label: str
    start: int
    end: int


def page_spans(document: Document) -> list[PageSpan]:
    """Return the pages of a document; each ends where the next one starts."""
    length = max(len(document.text), 1)
    starts = [page.start for page in document.pages]
    ends = [*starts[1:], length][: len(starts)]
    return [
        PageSpan(page.label, page.start, end)
        for page, end in zip(document.pages, ends, strict=True)
    ]


def _split_values(value: str) -> tuple[str, ...]:
    """Return the value, followed by its items if it is a list."""
    whole = " ".join(value.split())
    shortened = whole[:_MAX_VALUE_CHARACTERS]
    items = [item.strip() for item in _SEPARATORS.split(whole)]
    is_prose = any(len(item.split()) > _MAX_ITEM_WORDS for item in items)
    if len(items) == 1 or is_prose or read_day_range(whole):
        return (shortened,)
    return (shortened, *(item[:_MAX_VALUE_CHARACTERS] for item in items if item))


SHOWN_VALUES = 5


def summarize_field(name: str, documents: int, counts: Iterable[tuple[str, int]]) -> FieldInfo:
    """Return the summary of a field with its five most frequent values, ties by value."""
    ranked = sorted(counts, key=lambda item: (-item[1], item[0]))
    return FieldInfo(name, documents, tuple(value for value, _ in ranked[:SHOWN_VALUES]))


def file_day(modified_ns: int) -> str:
    """Return the UTC day of a timestamp in nanoseconds, as YYYY-MM-DD."""
    return datetime.fromtimestamp(modified_ns // 10**9, UTC).date().isoformat()


_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_ANY = "*"
_VALID = {
    "date": "Write a date as 2024, 2024-05, 2024-05-03, `today`, `yesterday` or `tomorrow`.",
    "number": "Write a number, such as 12 or 1.5.",
}
_ORDER: dict[Comparison, Callable[[Any, Any], bool]] = {
    Comparison.LESS: operator.lt,
    Comparison.AT_MOST: operator.le,
    Comparison.MORE: operator.gt,
    Comparison.AT_LEAST: operator.ge,
}


_COMPARE: dict[Comparison, Callable[[Any, Any], bool]] = _ORDER | {Comparison.EQUAL: operator.eq}


class _Value(NamedTuple):
    text: str
    number: float | None
    days: DayRange | None

    @property
    def is_text(self) -> bool:
        return self.number is None and self.days is None


_VERSION_FIELD = re.compile(r"(?:^|[\W_])(?:version|release|revision|firmware)(?:$|[\W_])|版本")
_VERSION = re.compile(
    r"(?:v(?:er(?:sion|\.)?)? ?)?(\d{1,9}(?:\.\d{1,9})*)(?:[-_. ]?([a-z][^+]*))?(?:\+.*)?"
)
_SURE_VERSION = re.compile(r"v ?\d+(?:\.\d+)+.*|\d+(?:\.\d+){2,}(?:[-_.+ ]?[a-z].*)?")
_Version = tuple[tuple[int, ...], bool, tuple[tuple[int, str], ...]]


def holds_versions(field: str, values: Iterable[str]) -> bool:
    """Return True if a field holds versions, by its name or by values such as 1.9.2 and v1.9.

    In versions, 1.10 is above 1.9; in other numbers, it is below.
    """
    return _VERSION_FIELD.search(field) is not None or any(
        _SURE_VERSION.fullmatch(fold(value)) and not read_day_range(value) for value in values
    )


def _read_version(text: str) -> _Version | None:
    """Return a key that orders versions, with those before a release (2.0-rc1) below it."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    numbers = [int(part) for part in match[1].split(".")]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    before = re.findall(r"(\d{1,9})|([a-z]+)", match[2] or "")
    return tuple(numbers), not before, tuple((int(n or 0), word) for n, word in before)


class Matcher:
    """Check whether values of a field meet a condition.

    Two values compare as versions if the field has ``versions``, as numbers if both are numbers, as
    dates if both are dates, and else as text, ignoring case, full width and
    repeated spaces. A date without a day or month is a range of days.
    It equals a range that contains it, and is before or after another only if all its days are.
    Text has an order only if neither side is a number or a date. A ``path`` matches as a whole,
    from any folder on, or as a folder of files.
    """

    def __init__(self, condition: Condition, *, versions: bool = False) -> None:
        self._versions = versions
        self._comparison = condition.comparison
        self._wanted = [_read(value) for value in condition.values]
        self._given = condition.values
        self._name = field_name(condition.field)
        self._is_path = self._name == PATH

    def matches(self, value: str) -> bool:
        """Return True if the value meets the condition."""
        if self._comparison is Comparison.PRESENT:
            return True
        if self._comparison is Comparison.CONTAINS:
            text = fold(value)
            return any(wanted.text in text for wanted in self._wanted)
        held = _read(value)
        if self._is_path and self._comparison is Comparison.EQUAL:
            return any(_is_on_path(held.text, wanted.text) for wanted in self._wanted)
        return any(self._fits(held, wanted) for wanted in self._wanted)

    def _fits(self, held: _Value, wanted: _Value) -> bool:
        if self._versions:
            pair = _read_version(held.text), _read_version(wanted.text)
            if None not in pair:
                return _COMPARE[self._comparison](*pair)
        if self._comparison is Comparison.EQUAL:
            return _is_equal(held, wanted)
        return _is_ordered(held, self._comparison, wanted)

    def check(self, values: Sequence[str]) -> None:
        """Raise FilterError for an order that no value of the field can have with the condition.

        The values of the field are numbers or dates, and that of the condition is not.
        """
        if self._comparison not in _ORDER or not values:
            return
        is_date = self._name in {DATE, FILE_DATE}
        for value, wanted in zip(self._given, self._wanted, strict=True):
            if (is_date and wanted.days is None) or (
                wanted.is_text and not any(_read(held).is_text for held in values)
            ):
                kind = "date" if is_date or _read(values[0]).days else "number"
                raise FilterError(
                    f"The field `{self._name}` has values such as `{values[0]}`, and `{value}` is "
                    f"not a {kind}.",
                    fix=_VALID[kind],
                )


def _is_equal(held: _Value, wanted: _Value) -> bool:
    if held.text == wanted.text:
        return True
    if held.number is not None and wanted.number is not None:
        return held.number == wanted.number
    if held.days is not None and wanted.days is not None:
        return wanted.days.start <= held.days.start and held.days.end <= wanted.days.end
    return _ANY in wanted.text and _matches_pattern(held.text, wanted.text)


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
    text = fold(value)
    number = float(text) if _NUMBER.fullmatch(text) else None
    return _Value(text, number, read_day_range(text))


def fold(value: str) -> str:
    """Return a value as it is compared: without case, full width and repeated spaces."""
    return " ".join(unicodedata.normalize("NFKC", visible_text(value)).casefold().split())


def _matches_pattern(text: str, pattern: str) -> bool:
    first, *middle, last = pattern.split(_ANY)
    if len(first) + len(last) > len(text) or not text.startswith(first) or not text.endswith(last):
        return False
    return _has_in_order(text[len(first) : len(text) - len(last)], middle)


def _is_on_path(path: str, pattern: str) -> bool:
    return _has_in_order(f"/{path.strip('/')}/", f"/{pattern.strip('/')}/".split(_ANY))


def _has_in_order(text: str, parts: Iterable[str]) -> bool:
    place = 0
    for part in parts:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True
