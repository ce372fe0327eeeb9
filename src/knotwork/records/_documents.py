"""Records of documents: section tree, chunks, sentence spans, blocks and tables; and ids.

An id is a content hash, so that the same input has the same id in every index: a 63-bit number,
written as 16 hexadecimal digits. It fits a signed 64-bit integer key. Strings and numbers have the
same order, so all stores break ties in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import NamedTuple

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
    documents, and ``anchors`` are what links to this one may name.
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
        return content_id(*parts, *filter(None, (times, boxes, links, anchors)))


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
    beyond ``span``.
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
