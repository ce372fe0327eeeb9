"""Document fields for filters: their names and their values.

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

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from knotwork._stores.id_sets import IdSet
from knotwork._text.dates import read_day_range
from knotwork._text.visible import visible_text
from knotwork.records import Document, Filter, GraphSchema

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

    def values(self, name: str, among: IdSet | None = None) -> dict[str, tuple[str, ...]]:
        """Return the values of a field by document id, of all documents or those ``among`` these.

        A document without the field is absent. The title of a document comes before those of its
        metadata.
        """

    def select(self, wanted: Filter) -> Selection:
        """Return the documents and chunks that pass a filter.

        A chunk is on every page that it overlaps. Raises
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


def sources_of(name: str) -> tuple[str, ...]:
    """Return the names of metadata, in lower case, whose values a field has."""
    return {"author": _AUTHORS, "tags": _TAGS, DATE: _DATES}.get(name, (name,))


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


def whole_values(values: Sequence[str]) -> tuple[str, ...]:
    """Return the values of a field as the document states them, without the items of lists."""
    items = {item for value in values for item in _split_values(value)[1:]}
    return tuple(value for value in values if value not in items)


def list_items(values: Sequence[str]) -> tuple[str, ...]:
    """Return the values of a field that are not lists, ascending."""
    return tuple(sorted(value for value in values if len(_split_values(value)) == 1))


def _split_values(value: str) -> tuple[str, ...]:
    """Return the value, followed by its items if it is a list."""
    whole = " ".join(value.split())
    shortened = whole[:_MAX_VALUE_CHARACTERS]
    items = [item.strip() for item in _SEPARATORS.split(whole)]
    is_prose = any(len(item.split()) > _MAX_ITEM_WORDS for item in items)
    if len(items) == 1 or is_prose or read_day_range(whole):
        return (shortened,)
    return (shortened, *(item[:_MAX_VALUE_CHARACTERS] for item in items if item))


def fold(value: str) -> str:
    """Return a value as it is compared: without case, full width and repeated spaces."""
    return " ".join(unicodedata.normalize("NFKC", visible_text(value)).casefold().split())
