"""The immutable records that all parts of Knotwork exchange.

An id is a content hash, so that the same input has the same id in every index: a 63-bit number,
written as 16 hexadecimal digits. It fits a signed 64-bit integer key. Strings and numbers have the
same order, so all stores break ties in the same way.

Extractors write *contributions*: a `Mention`, `Relation` or `Description` belongs to one chunk. A
store aggregates them (an `Entity` is the sum of its mentions, an `Edge` the sum of its relations),
so that removing a chunk removes exactly what only it supported. `ChunkReading` and `EntitySummary`
record the work of a model; `SameAs` and `Homonym` record which entities to merge or split, and
`Correction` what a person changed.

A filter is a tree of conditions on fields. Documents have the fields of their front matter or file
metadata, and some derived ones; `knotwork._stores.fields` lists them.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Literal, NamedTuple, TypeVar

__all__ = [
    "ALIAS_RELATION",
    "CO_OCCURRENCE_RELATION",
    "ENTITY_EDGES",
    "EXTRACTIVE_SOURCE",
    "GRAPH_URI",
    "KEYWORD",
    "KEYWORD_TYPES",
    "PERSON_SOURCE",
    "RETRIEVAL_QUERY",
    "RULES_SOURCE",
    "AllOf",
    "Anchor",
    "Answer",
    "AnswerPiece",
    "AnswerSpan",
    "AnyOf",
    "Block",
    "BlockKind",
    "BlockTree",
    "BoxedSpan",
    "Cell",
    "Chunk",
    "ChunkReading",
    "Citation",
    "Column",
    "Community",
    "CommunityReport",
    "Comparison",
    "Condition",
    "Conflict",
    "ConflictingClaim",
    "Correction",
    "Description",
    "Direction",
    "Document",
    "DocumentLink",
    "Edge",
    "EdgeType",
    "Entity",
    "EntitySummary",
    "EntityType",
    "Evidence",
    "Extraction",
    "Filter",
    "Finding",
    "GraphPath",
    "GraphSchema",
    "Hit",
    "Homonym",
    "Hop",
    "Label",
    "Link",
    "Member",
    "MemoryCitation",
    "Mention",
    "Node",
    "Not",
    "Page",
    "PageBox",
    "Prediction",
    "PropertyNode",
    "PropertyValue",
    "QueriedEdgeType",
    "QueriedLabel",
    "Query",
    "QueryResult",
    "ReadingStatus",
    "Relation",
    "RelationType",
    "Relationship",
    "RowSource",
    "SameAs",
    "Section",
    "Span",
    "StageUsage",
    "Step",
    "Strength",
    "StyledSpan",
    "Subgraph",
    "SubgraphSchema",
    "Support",
    "Table",
    "TextStyle",
    "TimeSpan",
    "TimedSpan",
    "Usage",
    "Verdict",
    "block_order",
    "content_id",
    "entity_id",
    "entity_label",
    "id_to_int",
    "int_to_id",
    "nest_blocks",
    "relation_edge_type",
    "value_text",
]

_MASK = (1 << 63) - 1


def content_id(*parts: str | int) -> str:
    """Return the id of a sequence of parts. Their lengths are hashed too, so that ("ab", "c") and
    ("a", "bc") have different ids.
    """
    digest = blake2b(digest_size=8)
    for part in parts:
        data = str(part).encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return f"{int.from_bytes(digest.digest(), 'big') & _MASK:016x}"


def id_to_int(identifier: str) -> int:
    """Return the integer key of an id."""
    return int(identifier, 16)


def int_to_id(key: int) -> str:
    """Return the id of an integer key."""
    return f"{key:016x}"


class Span(NamedTuple):
    """A half-open range of characters, ``text[start:end]``."""

    start: int
    end: int

    def contains(self, other: Span) -> bool:
        """Return True if no character of ``other`` is outside."""
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: Span) -> bool:
        """Return True if the spans share a character."""
        return self.start < other.end and other.start < self.end

    def distance(self, other: Span) -> int:
        """Return the number of characters between the spans."""
        return max(self.start - other.end, other.start - self.end, 0)

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: object, _handler: object) -> dict[str, object]:
        """Return the JSON schema: a list, since not all typed clients know tuples."""
        return {
            "type": "array",
            "items": {"type": "integer"},
            "minItems": 2,
            "maxItems": 2,
            "description": "From and to, in characters (code points).",
        }


@dataclass(frozen=True, slots=True)
class Page:
    """The start of a page, slide or sheet; ``label`` is its number or name for readers."""

    label: str
    start: int


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A range of a recording, in seconds from its start."""

    start_s: float
    end_s: float

    @property
    def text(self) -> str:
        """The range for readers, in whole seconds: "1:05-1:30", or "1:02:03-1:02:10"."""
        return f"{clock(self.start_s)}-{clock(self.end_s)}"


def clock(seconds: float) -> str:
    """Return a time for readers, such as "1:02:03"."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class TimedSpan(NamedTuple):
    """A part of a text that is spoken from ``start_s`` to ``end_s``, in seconds."""

    span: Span
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class PageBox:
    """A part of a page, as fractions of its width and height from the upper left corner."""

    page: str
    left: float
    top: float
    right: float
    bottom: float

    @property
    def edges(self) -> list[float]:
        """The left, top, right and bottom edge."""
        return [self.left, self.top, self.right, self.bottom]

    @property
    def text(self) -> str:
        """The box for readers, in percent of the page: "12-88 % across, 30-34 % down"."""
        left, top, right, bottom = (round(100 * edge) for edge in self.edges)
        return f"{left}-{right} % across, {top}-{bottom} % down"


class BoxedSpan(NamedTuple):
    """A part of a text and where it is on its page, as fractions of the width and height."""

    span: Span
    left: float
    top: float
    right: float
    bottom: float


class TextStyle(StrEnum):
    """How words are set apart in their line."""

    STRONG = "strong"
    EMPHASIS = "emphasis"
    CODE = "code"


class StyledSpan(NamedTuple):
    """Words that a document sets apart; its text has no marks for them."""

    span: Span
    style: TextStyle


class Link(NamedTuple):
    """Words of a document that lead to another one, or to a part of one.

    ``target`` is the uri of a document, a web address, a name in double brackets such as
    ``[[lantern array]]``, or a field and its value such as ``doi:10.1000/182``; "" is the document
    itself. ``part`` is the heading, its number or the name of an anchor there, "" without one.
    """

    span: Span
    target: str
    part: str = ""


class Anchor(NamedTuple):
    """A place in a document that has a name, for links."""

    name: str
    start: int


class BlockKind(StrEnum):
    """The kind of a block."""

    SECTION = "section"
    """A heading and what is below it; the label is the title."""
    PARAGRAPH = "paragraph"
    LIST = "list"
    ITEM = "item"
    TABLE = "table"
    """Rows, and before them the names of the columns; the label has these, separated by " | "."""
    ROW = "row"
    """The label is the cell that names the subject of the row."""
    DEFINITION = "definition"
    """A term and its description; the label is the term."""
    CODE = "code"
    """Code or program output in a fence; the label is the language."""
    QUOTE = "quote"
    FIGURE = "figure"
    """A picture: its caption, description or recognised text; the label is the caption."""
    BOX = "box"
    """A note, an example, or a table or listing with a caption; the label is the title."""
    TURN = "turn"
    """What one speaker says; the label is the speaker."""


class Block(NamedTuple):
    """A part of the text of a document with a structure of its own.

    Blocks are nested as their spans are: a list contains its items. ``label`` names the block,
    ``lead`` is the sentence or title before it that introduces it. ``level`` is that of a section,
    from 1, and 0 for other kinds.
    """

    kind: BlockKind
    span: Span
    label: str = ""
    lead: str = ""
    level: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The texts that introduce the block: its lead and its label, unless empty."""
        return tuple(filter(None, (self.lead, self.label)))


@dataclass(frozen=True, slots=True)
class BlockTree:
    """A block with the blocks inside it, in reading order."""

    block: Block
    children: tuple[BlockTree, ...] = ()

    def walk(self) -> Iterator[BlockTree]:
        """Yield this node and all nodes below it, in reading order."""
        yield self
        for child in self.children:
            yield from child.walk()


def nest_blocks(blocks: Iterable[Block]) -> tuple[BlockTree, ...]:
    """Return blocks as trees, each block below the smallest one that contains it."""
    roots: list[BlockTree] = []
    opened: list[tuple[Block, list[BlockTree]]] = []

    def close() -> None:
        block, children = opened.pop()
        node = BlockTree(block, tuple(children))
        (opened[-1][1] if opened else roots).append(node)

    for block in sorted(blocks, key=block_order):
        while opened and opened[-1][0].span.end <= block.span.start:
            close()
        opened.append((block, []))
    while opened:
        close()
    return tuple(roots)


def block_order(block: Block) -> tuple[int, int]:
    """Return a sorting key that puts blocks in reading order, outer ones first.

    Blocks with equal spans keep their order when they are sorted, so a list of blocks has the outer
    one first, as `BlockWriter` writes them: a figure may contain a quote, and a quote a figure.
    """
    return block.span.start, -block.span.end


GRAPH_URI = "graph:"
"""Prefix of the uris of documents that state an imported graph as text, one fact per line."""


@dataclass(frozen=True, slots=True)
class Document:
    """One source text. ``uri`` identifies it within an index, so a new text keeps the id.

    ``blocks`` are in reading order, outer ones first; text that no block covers is a paragraph.
    ``tables`` are those that a loader read; they are stored beside the index, not in it. ``times``
    say when the parts of a recording are spoken, in the order of the text. ``boxes`` say where the
    lines of scanned pages and pictures are, in the order of the text. ``links`` lead to other
    documents, ``anchors`` are what links to this one may name, and ``styles`` say how words look.
    """

    uri: str
    text: str
    title: str = ""
    media_type: str = "text/plain"
    language: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()
    pages: tuple[Page, ...] = ()
    tables: tuple[Table, ...] = field(default=(), compare=False, repr=False)
    times: tuple[TimedSpan, ...] = ()
    boxes: tuple[BoxedSpan, ...] = ()
    links: tuple[Link, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    styles: tuple[StyledSpan, ...] = ()

    @property
    def id(self) -> str:
        return content_id("document", self.uri)

    @property
    def tree(self) -> tuple[BlockTree, ...]:
        """The blocks, each below the smallest one that contains it."""
        return nest_blocks(self.blocks)

    def page_at(self, offset: int) -> str:
        """Return the label of the page at an offset; "" for a document without pages."""
        before = [page.label for page in self.pages if page.start <= offset]
        return before[-1] if before else ""

    def time_of(self, span: Span) -> TimeSpan | None:
        """Return when a part of a recording is spoken; None for other text."""
        spoken = [timed for timed in self.times if timed.span.overlaps(span)]
        if not spoken:
            return None
        return TimeSpan(min(t.start_s for t in spoken), max(t.end_s for t in spoken))

    def box_of(self, span: Span) -> PageBox | None:
        """Return where a part of a scanned page or picture is; None for other text.

        If the part continues on another page, the box is that of its beginning.
        """
        found = [boxed for boxed in self.boxes if boxed.span.overlaps(span)]
        if not found:
            return None
        page = self.page_at(found[0].span.start)
        same = [boxed for boxed in found if self.page_at(boxed.span.start) == page]
        return PageBox(
            page,
            min(boxed.left for boxed in same),
            min(boxed.top for boxed in same),
            max(boxed.right for boxed in same),
            max(boxed.bottom for boxed in same),
        )

    @property
    def revision(self) -> str:
        """A hash that changes with anything that is indexed."""
        pages = "\n".join(f"{p.start} {p.label}" for p in self.pages)
        metadata = "\n".join(f"{key}={self.metadata[key]}" for key in sorted(self.metadata))
        blocks = "\n".join(
            f"{b.kind} {b.span.start} {b.span.end} {b.level} {b.label} {b.lead}"
            for b in self.blocks
        )
        parts = (self.title, self.text, self.media_type, metadata, blocks, pages)
        times = "\n".join(f"{t.span.start} {t.start_s} {t.end_s}" for t in self.times)
        boxes = "\n".join(f"{b.span.start} {b[1:]}" for b in self.boxes)
        links = "\n".join(f"{link.span.start} {link[1:]}" for link in self.links)
        anchors = "\n".join(f"{anchor.start} {anchor.name}" for anchor in self.anchors)
        styles = "\n".join(f"{s.span.start} {s.span.end} {s.style}" for s in self.styles)
        return content_id(*parts, *filter(None, (times, boxes, links, anchors, styles)))


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLink:
    """A link as it is resolved: ``words`` of the document ``source`` lead to another one.

    ``target`` and ``part`` are what the link names (`Link`). ``document`` is the uri of the
    document that it leads to, "" if it is not in the index, and ``title`` its title. ``start`` is
    where the part begins there, in the section of the title ``section``; it is None without a
    part, and if the document does not have it.
    """

    source: str
    span: Span
    words: str
    target: str
    part: str
    document: str
    title: str
    section: str
    start: int | None


@dataclass(frozen=True, slots=True)
class ConflictingClaim:
    """A value that a document states, at ``span``, in the sentence ``quote``.

    ``date`` is YYYY, YYYY-MM or YYYY-MM-DD, "" if it is unknown: since when the value holds by the
    sentence, else the date of the document, or the last change of its file if ``is_of_file``.
    """

    value: str
    date: str
    document: str
    title: str
    span: Span
    quote: str
    is_of_file: bool = False


@dataclass(frozen=True, slots=True)
class Conflict:
    """Claims of documents that give different values for one thing, the newest first."""

    claims: tuple[ConflictingClaim, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A node of a document's heading tree; the root (level 0) spans the whole text."""

    id: str
    document_id: str
    parent_id: str | None
    ordinal: int
    level: int
    title: str
    span: Span


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage that is indexed and retrieved as one unit.

    ``ordinal`` numbers the leaf chunks of a document from 0, in ``NEXT`` order. A parent chunk
    (``is_parent``) is never searched, only returned instead of its children. ``sentences`` are
    document spans inside ``span``, in order. ``blocks`` are those that share a character with it,
    in reading order, outer ones first, without the sections around it; their spans may extend
    beyond ``span``. ``headings`` are the titles of the sections that contain all of it, outermost
    first.
    """

    id: str
    document_id: str
    section_id: str
    ordinal: int
    span: Span
    text: str
    sentences: tuple[Span, ...] = ()
    document_title: str = ""
    headings: tuple[str, ...] = ()
    parent_id: str | None = None
    is_parent: bool = False
    blocks: tuple[Block, ...] = ()

    @property
    def context(self) -> str:
        """The titles above the chunk, and what introduces the blocks that begin before it,
        outermost first.
        """
        opened = (n for b in self.blocks if b.span.start < self.span.start for n in b.names)
        labels = (self.document_title, *self.headings, *opened)
        return ". ".join(dict.fromkeys(label for label in labels if label))

    @property
    def searched_text(self) -> str:
        """The text that the full-text index has of a chunk: its context and its text."""
        return f"{self.context}\n{self.text}"

    def sentence_text(self, index: int) -> str:
        """Return the text of a sentence, by its position in ``sentences``."""
        return self.text_at(self.sentences[index])

    def text_at(self, span: Span) -> str:
        """Return the text of a document span that is inside the chunk."""
        return self.text[span.start - self.span.start : span.end - self.span.start]

    def blocks_around(self, span: Span) -> tuple[Block, ...]:
        """Return the blocks around a document span, outermost first."""
        return tuple(block for block in self.blocks if block.span.contains(span))


Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its original header, and the type of all its values.

    ``type`` is "text", "integer", "number" or "date". Dates are stored as YYYY-MM-DD, followed by a
    space and the time if there is one.
    """

    label: str
    type: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a document; ``name`` is that of its sheet, empty if the file has no sheets.

    ``rows`` are the rows below the header, without rows of totals. ``numbers`` are their row
    numbers in the file or sheet, from 1, and ``spans`` their lines in the text of the document.
    """

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numbers: tuple[int, ...]
    spans: tuple[Span, ...]


class Comparison(StrEnum):
    """How a condition compares a field with its values."""

    EQUAL = "="
    """Any value of the field equals any value of the condition; ``*`` matches any text."""
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    CONTAINS = "contains"
    """Any value of the field contains any value of the condition as a substring."""
    PRESENT = "is set"
    """The field has a value."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of a field with values; with several values, it holds if it holds for any.

    Values are texts; those that are numbers or dates are compared as such.
    """

    field: str
    comparison: Comparison
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.comparison is Comparison.PRESENT:
            return f"{self.field} is set"
        shown = [_quote(value) for value in self.values]
        if len(shown) == 1:
            return f"{self.field} {self.comparison} {shown[0]}"
        if self.comparison is Comparison.EQUAL:
            return f"{self.field} in ({', '.join(shown)})"
        either = " or ".join(f"{self.field} {self.comparison} {value}" for value in shown)
        return f"({either})"


@dataclass(frozen=True, slots=True)
class AllOf:
    """True if every part holds."""

    parts: tuple[Filter, ...]

    def __str__(self) -> str:
        return " and ".join(
            f"({part})" if isinstance(part, AnyOf) else str(part) for part in self.parts
        )


@dataclass(frozen=True, slots=True)
class AnyOf:
    """True if at least one part holds."""

    parts: tuple[Filter, ...]

    def __str__(self) -> str:
        return " or ".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class Not:
    """True if the part does not hold, also for documents without the field."""

    part: Filter

    def __str__(self) -> str:
        return f"not {self.part}" if isinstance(self.part, Condition) else f"not ({self.part})"


Filter = Condition | AllOf | AnyOf | Not


def conditions(wanted: Filter) -> tuple[Condition, ...]:
    """Return the conditions of a filter, from left to right."""
    if isinstance(wanted, Condition):
        return (wanted,)
    parts = (wanted.part,) if isinstance(wanted, Not) else wanted.parts
    return tuple(condition for part in parts for condition in conditions(part))


def _quote(value: str) -> str:
    quote = '"' if "'" in value else "'"
    return f"{quote}{value}{quote}"


PropertyValue = Any
"""None, a bool, int, float or str, a list of these, or a mapping of str to them. Nodes,
relationships and paths of a graph are mappings."""

RETRIEVAL_QUERY = "retrieval_query"
"""The ``source`` of the results of a user's own statement over the hits of a search."""

_NO_SPAN = Span(0, 0)


def value_text(value: PropertyValue) -> str:
    """Return a value as text on one line; "" for None and empty values."""
    if value is None or isinstance(value, str):
        return " ".join((value or "").split())
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if math.isfinite(value) and value.is_integer() else repr(value)
    if isinstance(value, Sequence):
        return ", ".join(filter(None, map(value_text, value)))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {value_text(item)}" for key, item in value.items())
    return str(value)


@dataclass(frozen=True, slots=True)
class PropertyNode:
    """A node of an imported graph."""

    id: str
    labels: tuple[str, ...] = ()
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Relationship:
    """A directed edge of an imported graph, between two nodes (by id)."""

    id: str
    type: str
    source: str
    target: str
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowSource:
    """A row of a file that a result was computed from.

    ``document`` is the uri of a document, or the path of a file that is not indexed. ``row`` is the
    row number in the file or sheet, from 1 with the header. ``span`` is the line of the row in the
    text of the document, empty without one. For a line of an imported graph, ``table`` is empty and
    ``row`` is the row of the result that the line supports, from 1.
    """

    document: str
    table: str
    row: int
    span: Span = _NO_SPAN


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of a statement: rows with one value per column.

    ``truncated`` is True if there were more rows than the limit. ``language`` is "cypher" or "sql",
    ``source`` the retriever or the person that wrote the statement, ``place`` the graph or tables
    that it read. ``confidence`` in [0, 1] is the estimated probability that the statement expresses
    the question; it is 0 for the statement of a person. ``row_count`` is the number of rows of
    files that the result was computed from, None if unknown, and ``row_sources`` are the first of
    them. If ``is_listing`` is True, each row of the result is the row source at the same position.
    ``notes`` name the labels, types and properties of the statement that the graph lacks.
    """

    language: str
    statement: str
    columns: tuple[str, ...]
    rows: tuple[tuple[PropertyValue, ...], ...]
    parameters: Mapping[str, PropertyValue] = field(default_factory=dict)
    truncated: bool = False
    seconds: float = 0.0
    source: str = ""
    place: str = ""
    confidence: float = 0.0
    row_sources: tuple[RowSource, ...] = ()
    row_count: int | None = None
    is_listing: bool = False
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if there are no rows, or only one row of nulls, zeros and empty lists."""
        if not self.rows:
            return True
        return len(self.rows) == 1 and all(value in (None, 0, []) for value in self.rows[0])


EXTRACTIVE_SOURCE = "extractive"
"""The source of a report made of sentences of the documents, without a model."""


class Member(NamedTuple):
    """An entity of a community. The importances of all members add up to 1."""

    entity_id: str
    importance: float


@dataclass(frozen=True, slots=True)
class Community:
    """A group of closely linked entities and chunks.

    Level 0 is the topmost. ``members`` are ordered by importance, then id, ``chunk_ids`` by id. A
    parent has all members and chunks of its children; children share no members but homonyms. A
    community that only relations link has no chunks.
    """

    id: str
    level: int
    parent_id: str | None
    members: tuple[Member, ...]
    chunk_ids: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of member entities."""
        return len(self.members)

    @property
    def entity_ids(self) -> tuple[str, ...]:
        """The ids of the members, the most important first."""
        return tuple(member.entity_id for member in self.members)


@dataclass(frozen=True, slots=True)
class Support:
    """The source of a finding: a document span inside a chunk."""

    chunk_id: str
    span: Span


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement of a report, and the spans that support it."""

    text: str
    supports: tuple[Support, ...] = ()


@dataclass(frozen=True, slots=True)
class CommunityReport:
    """A report on the topics of a community.

    ``rating`` in [0, 10] is the share of the index that it covers, ``language`` an ISO 639-1 code.
    ``source`` is "extractive" or the name of the model that wrote it. ``content_key`` changes with
    anything that the report is written from.
    """

    community_id: str
    title: str
    summary: str
    findings: tuple[Finding, ...]
    rating: float
    language: str
    source: str
    content_key: str

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        """The ids of the chunks it cites, ascending."""
        cited = {support.chunk_id for finding in self.findings for support in finding.supports}
        return tuple(sorted(cited))

    @property
    def text(self) -> str:
        """Title, summary and findings as plain text, one line each."""
        return "\n".join((self.title, self.summary, *(finding.text for finding in self.findings)))


_BLOCK_START = re.compile(r"(?:[-*+]|\d{1,9}[.)]|#{1,6}) |```|~~~|[|>]")
"""The start of a Markdown text that begins with a list, heading, table, code or quote."""
_STRONG_CONFIDENCE = 0.5
"""The confidence from which an answer is more likely right than wrong."""


@dataclass(frozen=True, slots=True)
class Query:
    """A question, and the number of chunks to return.

    ``filter`` and ``min_score`` record the restrictions of the search. Retrievers can ignore both,
    as they search an index that is filtered already.
    """

    text: str
    k: int = 10
    filter: Filter | None = None
    min_score: float | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an evidence path: from a sentence, over an entity, to a chunk."""

    chunk_id: str
    sentence: Span
    sentence_text: str
    entity_id: str
    entity_name: str
    score: float


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """The most likely short answer in a sentence, as offsets into the text of its passage.

    ``probability`` in [0, 1] is that of exactly these words, given that the sentence answers.
    """

    span: Span
    probability: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predictions of a reader model for a passage.

    ``sentences`` has one number per sentence of the passage, in order: the log odds that the answer
    is in this sentence rather than in none. ``answers`` has the best short answer of each sentence,
    None for a sentence without words; it is empty if the reader does not predict short answers.
    """

    sentences: tuple[float, ...]
    answers: tuple[AnswerSpan | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved chunk, with its score and the reasons for it.

    ``scores`` are the named parts of ``score``, and its summands if the retriever adds them.
    ``seeds`` are the names of the entities in the question that led to the chunk, ``path`` the
    evidence path, if any. ``sentences`` are (document span, relevance in [0, 1]) of its sentences,
    the most relevant first. ``matched`` are the ids of the chunks that matched, if the retriever
    returns a wider or narrower passage of the same document. That passage is then ``chunk``, with
    the id of the parent chunk that it is, or else of the best match. ``prediction`` is set if a
    reader model read the chunk.
    """

    chunk: Chunk
    score: float
    scores: dict[str, float] = field(default_factory=dict)
    seeds: tuple[str, ...] = ()
    path: tuple[Step, ...] = ()
    sentences: tuple[tuple[Span, float], ...] = ()
    matched: tuple[str, ...] = ()
    prediction: Prediction | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The hits for a query, best first (score descending, then chunk id).

    ``further`` are hits after these, which only fill the prompt of a language model. ``confidence``
    in [0, 1] is the estimated probability that the hits contain an answer; it is 1 for an outline
    or a count. ``embedder`` is the name of the model whose vectors were used, empty
    if none were. ``paths`` in the graph, best first, and ``results`` of statements come from
    retrievers that return them. ``trace`` describes the steps of a retriever.
    """

    query: Query
    retriever: str
    hits: tuple[Hit, ...] = ()
    confidence: float = 0.0
    notes: tuple[str, ...] = ()
    paths: tuple[GraphPath, ...] = ()
    results: tuple[QueryResult, ...] = ()
    trace: tuple[str, ...] = ()
    embedder: str = ""
    further: tuple[Hit, ...] = ()

    def with_found(self, found: Iterable[Hit]) -> Evidence:
        """Return the evidence with ``found`` as its hits, ranked; those past its number go on.

        It keeps as many as it has, or ``query.k`` if that is more. The others come before
        ``further``.
        """
        ranked = sorted(found, key=lambda hit: (-hit.score, hit.chunk.id))
        shown = max(self.query.k, len(self.hits))
        further = (*ranked[shown:], *self.further)
        return replace(self, hits=tuple(ranked[:shown]), further=further)


@dataclass(frozen=True, slots=True)
class Citation:
    """The source of a sentence of an answer: ``document.text[span.start:span.end] == quote``."""

    number: int
    document: str
    title: str
    section: str
    page: str
    span: Span
    quote: str
    chunk_id: str
    score: float
    time: TimeSpan | None = None
    """When the sentence is spoken, in a recording or subtitles."""
    box: PageBox | None = None
    """Where the sentence is on its page, in a scan or picture."""


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """A part of a document that answers, as it is shown.

    ``kind`` is a kind of block, such as "paragraph", "list" or "table"; in an overview also
    "document", "section" or "theme", for a line about one. ``markdown`` is its text with its
    citation marks; ``citation`` is the number of the first one.
    """

    kind: str
    markdown: str
    citation: int


@dataclass(frozen=True, slots=True)
class MemoryCitation:
    """A fact that somebody stated in a conversation, as the source of a statement, such as [M1].

    It holds from ``since`` ("" if unknown) until before ``until`` (None: until now), in ISO format
    with the precision that was stated. ``text`` is the fact as a sentence, ``source`` is where it
    was stated.
    """

    number: int
    subject: str
    relation: str
    object: str
    since: str
    until: str | None
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class StageUsage:
    """The language model usage of one stage of an operation, such as "answer"."""

    stage: str
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    reused_calls: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of an operation.

    ``reused_calls`` were answered from the cache, without tokens. ``cached_tokens`` are input
    tokens that the server of the model had cached, at a lower price. ``money`` is in the currency
    of the configured prices, None if a price is unknown. ``stages`` is the language model usage by
    stage, ordered by name.
    """

    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    embedded_texts: int = 0
    seconds: float = 0.0
    reused_calls: int = 0
    money: Decimal | None = None
    stages: tuple[StageUsage, ...] = ()
    cached_tokens: int = 0


class Strength(StrEnum):
    """The confidence in an answer as a word."""

    STRONG = "strong"
    """The answer is more likely right than wrong."""
    WEAK = "weak"
    NONE = "none"
    """There is no answer."""


def rate_strength(confidence: float | None, *, answered: bool) -> Strength | None:
    """Return the strength of an answer; None for an answer without a confidence."""
    if not answered:
        return Strength.NONE
    if confidence is None:
        return None
    return Strength.STRONG if confidence >= _STRONG_CONFIDENCE else Strength.WEAK


def lead_gap(text: str) -> str:
    """Return what separates a short answer from the Markdown text that follows it: a dash, or a
    blank line if the text begins with a list, a table or code.
    """
    return "\n\n" if _BLOCK_START.match(text) else " — "


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer whose ``text`` marks its sources as [1], [2], … in the order of ``citations``.

    In a conversation, remembered facts are sources too: [M1], [M2], … in the order of ``memory``.

    If the sources contain no answer, ``answered`` is False, ``reason`` and ``text`` say so, and
    ``citations`` are the most relevant passages. ``short`` is the short answer, a few words of the
    text, if it is certain enough.

    ``model`` is the name of the model that wrote the text, empty for quoted sentences. ``notes``
    list problems of the model's text, or the reason why a configured model was not used. ``mode``
    is the answer mode, such as "basic" or "global". ``confidence`` in [0, 1] is the estimated
    probability that quoted sentences answer the question correctly; it is None for a count or an
    outline, which only state the contents of the index, and if only remembered facts answer.
    ``pieces`` are the parts of documents that ``text`` consists of, empty if a model wrote it.
    ``results`` are the rows of the statement that answers the question, if any, and of the user's
    own statement over the hits.
    """

    question: str
    text: str
    answered: bool
    citations: tuple[Citation, ...] = ()
    reason: str = ""
    confidence: float | None = 0.0
    retriever: str = ""
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    notes: tuple[str, ...] = ()
    mode: str = "basic"
    results: tuple[QueryResult, ...] = ()
    short: str = ""
    memory: tuple[MemoryCitation, ...] = ()
    pieces: tuple[AnswerPiece, ...] = ()

    @property
    def lead(self) -> str:
        """The short answer as the start of a Markdown text; empty without one."""
        if not self.short:
            return ""
        return f"**{self.short}**{lead_gap(self.text)}"

    @property
    def strength(self) -> Strength | None:
        """The confidence as a word; None for an answer without a confidence."""
        return rate_strength(self.confidence, answered=self.answered)


@dataclass(frozen=True, slots=True)
class Hop:
    """One relation of a path, followed from ``source`` to ``target`` (entity ids).

    ``forward`` is True if the relation has this direction. ``chunk_id`` is a chunk that states the
    relation, at ``span`` of its document if that is known.
    """

    source: str
    source_name: str
    relation: str
    target: str
    target_name: str
    forward: bool
    chunk_id: str
    span: Span | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class GraphPath:
    """Consecutive hops; ``scores`` are the named parts of ``score``.

    ``answers`` are the names of the entities that paths over the same relations lead to, that of
    this path first: the last entity, or the one in between if the path ends at another entity of
    the question. ``walks`` are the paths to the further answers, in their order, as far as cited.
    """

    hops: tuple[Hop, ...]
    score: float
    scores: dict[str, float] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    walks: tuple[tuple[Hop, ...], ...] = ()

    @property
    def entity_ids(self) -> tuple[str, ...]:
        """The entities on the path, in order."""
        return (self.hops[0].source, *(hop.target for hop in self.hops)) if self.hops else ()

    @property
    def text(self) -> str:
        """The path as text: ``A -relation→ B ←relation- C``."""
        if not self.hops:
            return ""
        parts = [self.hops[0].source_name]
        for hop in self.hops:
            arrow = f"-{hop.relation}→" if hop.forward else f"←{hop.relation}-"
            parts += [arrow, hop.target_name]
        return " ".join(parts)


Direction = Literal["both", "in", "out"]


class Label(StrEnum):
    """Node labels of the property graph; the same on every store."""

    DOCUMENT = "Document"
    SECTION = "Section"
    CHUNK = "Chunk"
    ENTITY = "Entity"
    KEYWORD = "Keyword"


class EdgeType(StrEnum):
    """Edge types of the property graph; the same names and directions on every store."""

    HAS_SECTION = "HAS_SECTION"
    HAS_CHUNK = "HAS_CHUNK"
    NEXT = "NEXT"
    HAS_CHILD = "HAS_CHILD"
    MENTIONS = "MENTIONS"
    ABOUT = "ABOUT"
    RELATES = "RELATES"
    CO_OCCURS = "CO_OCCURS"


class QueriedLabel(StrEnum):
    """Labels of nodes that exist only in Cypher: records that are not part of the graph store."""

    COMMUNITY = "Community"
    QUESTION = "Question"


class QueriedEdgeType(StrEnum):
    """Types of edges that exist only in Cypher; communities also have `EdgeType.HAS_CHILD`."""

    ANSWERS = "ANSWERS"
    IN_COMMUNITY = "IN_COMMUNITY"
    LINKS_TO = "LINKS_TO"


ALIAS_RELATION = "also known as"
"""The relation of an alias or abbreviation to the full name of the same entity."""

CO_OCCURRENCE_RELATION = "co-occurs with"
"""The relation of two entities in one sentence without a stated relation."""

KEYWORD = "KEYWORD"
"""The type of an entity that is only a keyword."""

KEYWORD_TYPES = frozenset({KEYWORD, "NUMBER"})
"""Types of search terms that name no entity: headings, repeated phrases, numbers."""


ENTITY_EDGES: frozenset[str] = frozenset({EdgeType.RELATES, EdgeType.CO_OCCURS})
"""Types of the edges between entities."""


_INDEX_PROPERTIES = frozenset({"type", "normal_form", "chunk_count"})


def relation_edge_type(relation: str) -> EdgeType:
    """Return the type of the edges with this relation."""
    return EdgeType.CO_OCCURS if relation == CO_OCCURRENCE_RELATION else EdgeType.RELATES


def entity_label(type_: str) -> Label:
    """Return the node label of an entity of this type: `Label.KEYWORD` for keywords."""
    return Label.KEYWORD if type_ in KEYWORD_TYPES else Label.ENTITY


@lru_cache(maxsize=1 << 16)
def entity_id(normal_form: str) -> str:
    """Return the id of the entity with this normal form."""
    return content_id("entity", normal_form)


@dataclass(frozen=True, slots=True)
class Mention:
    """All occurrences of one entity in one chunk.

    ``name`` is the most frequent surface form in the chunk. ``about`` in [0, 1] is how much the
    chunk is about the entity: 1 if the entity is its title, less for headings, subjects and
    salience. ``spans`` (document offsets, ascending) are empty if only the title names the entity.
    """

    chunk_id: str
    normal_form: str
    name: str
    type: str = ""
    spans: tuple[Span, ...] = ()
    about: float = 0.0

    @property
    def entity_id(self) -> str:
        return entity_id(self.normal_form)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between two entities (by id), as one chunk states it."""

    chunk_id: str
    source: str
    relation: str
    target: str
    weight: int = 1
    span: Span | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Description:
    """A one-line description of an entity, from one chunk."""

    chunk_id: str
    normal_form: str
    text: str

    @property
    def entity_id(self) -> str:
        return entity_id(self.normal_form)


@dataclass(frozen=True, slots=True)
class Extraction:
    """The contributions that an extractor found in one chunk."""

    chunk_id: str
    mentions: tuple[Mention, ...] = ()
    relations: tuple[Relation, ...] = ()
    descriptions: tuple[Description, ...] = ()


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity, aggregated from its mentions.

    ``name`` and ``type`` are the most frequent ones (ties: the smallest string; a type takes
    precedence over none). An entity is a keyword only if all its mentions are keywords.
    ``chunk_count`` is the number of chunks that mention it.
    """

    id: str
    name: str
    normal_form: str
    type: str
    chunk_count: int

    @property
    def is_keyword(self) -> bool:
        """True if it is only a search term, which lists of entities do not show."""
        return self.type in KEYWORD_TYPES


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the property graph; the same properties on every store."""

    id: str
    label: str
    name: str
    properties: Mapping[str, PropertyValue] = field(default_factory=dict)

    @property
    def type(self) -> str:
        """The type of an entity; the label if it has none, and for other nodes."""
        return str(self.properties.get("type") or self.label)

    @property
    def own_properties(self) -> dict[str, PropertyValue]:
        """The properties without the type and what an index computes for entities."""
        return {k: v for k, v in self.properties.items() if k not in _INDEX_PROPERTIES}


@dataclass(frozen=True, slots=True)
class Edge:
    """An aggregated edge with its supporting chunks; RELATES and CO_OCCURS have a ``relation``.

    Only relations of a `knotwork.Graph` have ``properties``.
    """

    source: str
    type: str
    target: str
    weight: float = 1.0
    relation: str = ""
    chunks: tuple[str, ...] = ()
    properties: Mapping[str, PropertyValue] = field(default_factory=dict, hash=False)

    @property
    def name(self) -> str:
        """The relation, or else the type."""
        return self.relation or self.type


@dataclass(frozen=True, slots=True)
class GraphSchema:
    """Counts of nodes by label, of edges by type, and of RELATES edges by relation (most first)."""

    labels: Mapping[str, int]
    edge_types: Mapping[str, int]
    relations: Mapping[str, int]


class ReadingStatus(StrEnum):
    """How much of a model's reply about a chunk could be used."""

    OK = "ok"
    """All of it."""
    PARTIAL = "partial"
    """Some of it; the complaints list the rest."""
    QUARANTINED = "quarantined"
    """None of it: the chunk has only the findings of the rules, and can be read again."""


@dataclass(frozen=True, slots=True)
class ChunkReading:
    """The outcome of reading one chunk with a model.

    ``source`` is the name of the model. ``complaints`` describe the unused parts of the reply. A
    quarantined reading has a ``reason``, and the reply, if there was one, in ``raw``.
    """

    chunk_id: str
    source: str
    status: ReadingStatus
    reason: str = ""
    raw: str = ""
    complaints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EntitySummary:
    """A summary of all descriptions of an entity.

    ``source`` is the name of the model that wrote it. ``content_key`` changes with any of the
    descriptions.
    """

    entity_id: str
    text: str
    source: str
    content_key: str


RULES_SOURCE = "rules"
"""The source of a decision that rules made, without a model."""

PERSON_SOURCE = "person"
"""The source of a manual decision, which no indexing run replaces."""


class Verdict(StrEnum):
    """The outcome of a decision about two entities."""

    SAME = "same"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class SameAs:
    """A decision whether two entities are the same; it does not change the entities.

    ``first`` < ``second`` are entity ids. ``source`` is "rules", "person" or the name of a model.
    ``reason`` is a short explanation, ``score`` in [0, 1] the confidence. ``content_key`` changes
    with anything that the decision depends on, so that a model is not called again for a pair with
    the same key.
    """

    first: str
    second: str
    verdict: Verdict
    source: str
    reason: str = ""
    score: float = 1.0
    content_key: str = ""

    def __post_init__(self) -> None:
        if not self.first < self.second:
            raise ValueError(
                f"The ids of a pair must be in ascending order, got {self.first}, {self.second}."
            )

    @property
    def pair(self) -> tuple[str, str]:
        """The two entity ids, ascending."""
        return self.first, self.second

    @property
    def joins(self) -> bool:
        """True if the decision merges the two entities."""
        return self.verdict is Verdict.SAME

    @property
    def by_person(self) -> bool:
        """True if a person made the decision."""
        return self.source == PERSON_SOURCE


@dataclass(frozen=True, slots=True)
class Correction:
    """A change that a person made to the graph, recorded by names.

    ``kind`` is "rename", "merge", "split", "divide", "retype", "hide", "pin", "add_relation" or
    "remove_relation". It is about ``entity``, and in a merge, a split or a relation about
    ``other``, the end of the ``relation``. A rename gives the ``name``, a retype the ``type``, and
    ``was`` is what the documents say instead. A divide gives the ``name`` of what ``documents``
    (uris) mean by the entity. ``made`` is a time in UTC, as in "2026-03-01T12:00:00Z". ``forms``
    and ``other_forms`` are the normal forms of the entities, the named one first, then those that
    were merged with it. So a correction applies to whatever the documents say of them later.
    """

    id: str
    kind: str
    entity: str
    other: str = ""
    relation: str = ""
    name: str = ""
    type: str = ""
    was: str = ""
    author: str = ""
    made: str = ""
    forms: tuple[str, ...] = ()
    other_forms: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()

    @property
    def entity_ids(self) -> tuple[str, ...]:
        """The ids of the entities, the named one first."""
        return tuple(map(entity_id, self.forms))

    @property
    def other_ids(self) -> tuple[str, ...]:
        """The ids of the other entities, the named one first."""
        return tuple(map(entity_id, self.other_forms))


@dataclass(frozen=True, slots=True)
class Homonym:
    """An entity whose name has several meanings.

    ``senses`` are the chunks of each meaning, the largest group first. A chunk whose meaning is
    unknown is in none of them.
    """

    entity_id: str
    senses: tuple[tuple[str, ...], ...]
    reason: str


_MOST_CHARACTERS = 500
"""A longer name or value is cut, so that a single one cannot fill the text."""

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that break a line, change its direction or cannot be encoded."""

_TAG_START = re.compile(r"<(?=[A-Za-z/!?|｜])")

_Type = TypeVar("_Type", str, tuple[str, str, str])


class _Labels(NamedTuple):
    """The words of a language; ``counted`` has the one and the many of each section."""

    entities: str = "Entities:"
    relations: str = "Relations:"
    co_occurrences: str = "Co-occurrences:"
    entity_types: str = "Entity types:"
    relation_types: str = "Relation types:"
    weight: str = " (weight {})"
    type: str = " ({})"
    colon: str = ": "
    comma: str = ", "
    semicolon: str = "; "
    not_shown: str = "(Not shown: {})"
    counted: tuple[tuple[str, str], ...] = (
        ("{} entity", "{} entities"),
        ("{} relation", "{} relations"),
        ("{} co-occurrence", "{} co-occurrences"),
    )


_LABELS = {
    "en": _Labels(),
    "zh": _Labels(
        *("实体：", "关系：", "共现：", "实体类型：", "关系类型："),
        *("（权重 {}）", "（{}）", "：", "、", "；", "（未列出：{}）"),
        (("{} 个实体",) * 2, ("{} 条关系",) * 2, ("{} 条共现",) * 2),
    ),
}


@dataclass(frozen=True, slots=True)
class EntityType:
    """A type of entities, with their number and the names of their properties, ascending."""

    name: str
    count: int
    properties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RelationType:
    """A relation between entities of two types, with its number and its properties, ascending."""

    source: str
    relation: str
    target: str
    count: int
    properties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubgraphSchema:
    """The types of entities and relations of a subgraph, the most frequent first, then by name."""

    entity_types: tuple[EntityType, ...] = ()
    relation_types: tuple[RelationType, ...] = ()

    def __str__(self) -> str:
        return self.format()

    def format(self, *, language: str = "en") -> str:
        """Return a line for each type, with English labels, or Chinese ones for "zh"."""
        labels = _labels_in(language)
        entities = [
            f"- {_one_line(item.name)}{labels.colon}{item.count}{_listed(item.properties, labels)}"
            for item in self.entity_types
        ]
        relations = [
            f"- {_arrow(_one_line(item.source), item.relation, _one_line(item.target))}"
            f"{labels.colon}{item.count}{_listed(item.properties, labels)}"
            for item in self.relation_types
        ]
        return _join_sections(((labels.entity_types, entities), (labels.relation_types, relations)))


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Nodes and edges, the most important first: in the order of a walk.

    ``nodes`` has both ends of every edge.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()

    def __str__(self) -> str:
        return self.format()

    def schema(self) -> SubgraphSchema:
        """Return the types of the entities and relations, with counts and properties."""
        types = {node.id: node.type for node in self.nodes}
        entities: defaultdict[str, list[Iterable[str]]] = defaultdict(list)
        for node in self.nodes:
            entities[node.type].append(node.own_properties)
        relations: defaultdict[tuple[str, str, str], list[Iterable[str]]] = defaultdict(list)
        for edge in self.edges:
            key = types[edge.source], edge.name, types[edge.target]
            relations[key].append(edge.properties)
        return SubgraphSchema(
            tuple(EntityType(name, n, names) for name, n, names in _count_types(entities)),
            tuple(RelationType(*key, n, names) for key, n, names in _count_types(relations)),
        )

    def format(
        self,
        *,
        budget: int | None = None,
        count: Callable[[str], int] = len,
        language: str = "en",
    ) -> str:
        """Return the graph as text: a line for each entity, relation and co-occurrence.

        Entities have their type, description and properties; one without any of them has a line
        only if it has no relation. Relations have a weight other than 1, description and
        properties. Names and values are on one line without control characters, cannot open a tag,
        and are cut after 500 characters.

        The text has at most ``budget`` units, as counted by ``count``: characters, or tokens if it
        is a tokenizer. Relations that do not fit are left out, the last of the subgraph first, but
        co-occurrences before them and entities without a relation before these; a last line says
        how many. A budget that is too small even for that line gives "". Labels are English, or
        Chinese for the ``language`` "zh".
        """
        text = _SubgraphText(self, _labels_in(language))
        whole = text.of_first(text.size)
        if budget is None or count(whole) <= budget:
            return whole
        low, high = 0, text.size
        while low < high - 1:
            middle = (low + high) // 2
            low, high = (middle, high) if count(text.of_first(middle)) <= budget else (low, middle)
        shown = text.of_first(low)
        return shown if count(shown) <= budget else ""


class _SubgraphText:
    """The lines of a subgraph. Its items are relations, co-occurrences, then entities without."""

    def __init__(self, subgraph: Subgraph, labels: _Labels) -> None:
        self._labels = labels
        self._edges = sorted(subgraph.edges, key=_is_co_occurrence)
        self._stated = sum(not _is_co_occurrence(edge) for edge in self._edges)
        names = {node.id: _one_line(node.name) or node.id for node in subgraph.nodes}
        self._edge_lines = [_edge_line(edge, names, labels) for edge in self._edges]
        related = _ends(self._edges)
        self._alone = [key for key in names if key not in related]
        self._entity_lines: dict[str, str] = {}
        for node in subgraph.nodes:
            known = _type_of(node, labels) + _details(node.own_properties, labels)
            if known or node.id not in related:
                self._entity_lines[node.id] = f"- {names[node.id]}{known}"
        self._entities = len(names)
        self.size = len(self._edges) + len(self._alone)

    def of_first(self, items: int) -> str:
        """Return the text of the first items, with the entities of each relation."""
        labels = self._labels
        edges = self._edges[:items]
        shown = _ends(edges) | {*self._alone[: max(items - len(self._edges), 0)]}
        stated = min(len(edges), self._stated)
        text = _join_sections(
            (
                (labels.entities, [v for k, v in self._entity_lines.items() if k in shown]),
                (labels.relations, self._edge_lines[:stated]),
                (labels.co_occurrences, self._edge_lines[stated : len(edges)]),
            )
        )
        missing = (
            self._entities - len(shown),
            self._stated - stated,
            len(self._edges) - self._stated - (len(edges) - stated),
        )
        listed = labels.comma.join(
            words[number != 1].format(number)
            for words, number in zip(labels.counted, missing, strict=True)
            if number
        )
        notice = labels.not_shown.format(listed) if listed else ""
        return "\n".join(filter(None, (text, notice)))


def _ends(edges: Iterable[Edge]) -> set[str]:
    return {end for edge in edges for end in (edge.source, edge.target)}


def _count_types(
    found: Mapping[_Type, list[Iterable[str]]],
) -> list[tuple[_Type, int, tuple[str, ...]]]:
    """Return each type with its number and its properties, the most frequent first."""
    counted = [
        (key, len(items), tuple(sorted({name for names in items for name in names})))
        for key, items in found.items()
    ]
    return sorted(counted, key=lambda item: (-item[1], item[0]))


def _type_of(node: Node, labels: _Labels) -> str:
    return labels.type.format(_one_line(node.type)) if node.type != Label.ENTITY else ""


def _edge_line(edge: Edge, names: Mapping[str, str], labels: _Labels) -> str:
    source, target = names[edge.source], names[edge.target]
    pair = f"{source}{labels.comma}{target}"
    line = pair if _is_co_occurrence(edge) else _arrow(source, edge.name, target)
    weight = labels.weight.format(f"{edge.weight:g}") if edge.weight != 1 else ""
    return f"- {line}{weight}{_details(edge.properties, labels)}"


def _details(properties: Mapping[str, PropertyValue], labels: _Labels) -> str:
    """Return ": DESCRIPTION; NAME: VALUE; …", or ""."""
    texts = {name: _one_line(value_text(value)) for name, value in properties.items()}
    parts = [texts.pop("description", "")]
    parts += [f"{_one_line(name)}{labels.colon}{text}" for name, text in texts.items() if text]
    listed = labels.semicolon.join(filter(None, parts))
    return f"{labels.colon}{listed}" if listed else ""


def _listed(properties: Iterable[str], labels: _Labels) -> str:
    names = labels.comma.join(map(_one_line, properties))
    return labels.type.format(names) if names else ""


def _arrow(source: str, relation: str, target: str) -> str:
    return f"{source} -{_one_line(relation)}→ {target}"


def _is_co_occurrence(edge: Edge) -> bool:
    return edge.type == EdgeType.CO_OCCURS


def _one_line(text: str) -> str:
    if not text.isprintable():
        text = "".join(" " if unicodedata.category(c) in _INVISIBLE else c for c in text)
    line = _TAG_START.sub("‹", " ".join(text.split()))
    return line if len(line) <= _MOST_CHARACTERS else f"{line[: _MOST_CHARACTERS - 1].rstrip()}…"


def _join_sections(sections: Iterable[tuple[str, list[str]]]) -> str:
    return "\n".join("\n".join((title, *lines)) for title, lines in sections if lines)


def _labels_in(language: str) -> _Labels:
    return _LABELS.get(language, _LABELS["en"])
