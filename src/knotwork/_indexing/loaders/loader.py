"""Define the Loader protocol, its input and output, and what loaders share.

ZIP-based files are opened with limits on the number and the uncompressed size of their members. A
loader leaves what it could not read in the metadata of the document, which the report of a run and
`knotwork documents` say.
"""

from __future__ import annotations

import io
import re
import zipfile
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol, TypeVar

from knotwork._text.visible import visible_text
from knotwork.errors import LoadError
from knotwork.records import (
    Anchor,
    Block,
    BoxedSpan,
    Link,
    Page,
    Span,
    StyledSpan,
    Table,
    TimedSpan,
)

MEGABYTE = 1_000_000
TEXT_FACTOR = 4
"""A text may have this many characters for each byte of its file: the lines of a table repeat the
names of its columns."""
MAX_CHARACTERS = 10_000_000
"""Characters that a file may have in any case, as packed files unfold."""
NOWHERE = Span(0, 0)
PLACEHOLDER = "\ufffc"
"""Stands for the description of a picture in the text of a document that waits for it."""
_UNITS = ((1_000_000_000, "GB"), (MEGABYTE, "MB"), (1_000, "kB"))
T = TypeVar("T")
_SURROGATE = re.compile("[\ud800-\udfff]")


def format_size(size_bytes: float) -> str:
    """Return a size in the largest fitting unit with up to three decimals, as in "1.5 MB"."""
    for unit, name in _UNITS:
        if size_bytes >= unit:
            return f"{size_bytes / unit:,.3f}".rstrip("0").rstrip(".") + f" {name}"
    return f"{size_bytes:,.0f} {'byte' if size_bytes == 1 else 'bytes'}"


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of a file, with the limit and the password for reading them.

    ``max_bytes`` limits the file itself and the text of an archive after decompression. The text of
    the document may have ``max_characters``, or `TEXT_FACTOR` for each byte of the file.
    ``audio_model`` is the folder of the model that recognises speech. ``describes`` is True if a
    model describes pictures. ``depth`` is the number of files around one that is
    attached. ``left_out`` counts by their kind the parts that are not read.
    """

    uri: str
    data: bytes
    max_bytes: int = 100 * MEGABYTE
    password: str = ""
    max_characters: int = MAX_CHARACTERS
    audio_model: str = ""
    describes: bool = False
    depth: int = 0
    left_out: Counter[str] = field(default_factory=Counter, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The last part of ``uri``."""
        return self.uri.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The suffix of the name in lower case, with its dot; "" without one."""
        return "." + self.name.rpartition(".")[2].lower() if "." in self.name else ""

    @property
    def text_limit(self) -> int:
        """The most characters that the text of the document may have."""
        return max(self.max_characters, TEXT_FACTOR * len(self.data))


@dataclass(frozen=True, slots=True)
class DescribablePicture:
    """A picture as a model gets it, and the ``context`` that precedes it in its document.

    Sizes are in pixels. Equal pictures in equal contexts have the same ``key``; before the context
    is known, it is that of the pixels alone. ``place`` is that of the placeholder in the text.
    """

    key: str
    data: bytes = field(repr=False)
    media_type: str
    width: int
    height: int
    context: str = ""
    place: Span = NOWHERE


@dataclass(frozen=True, slots=True)
class Content:
    """The result of a loader; the spans of blocks, pages and tables refer to ``text``.

    ``metadata`` has keys and values of one line. Dates and numbers in it can be filtered by.
    ``link_lines`` are the spans of blocks that consist of links alone, ``times`` say when parts of
    a recording are spoken, ``boxes`` where the lines of scanned pages and pictures are.
    ``pictures`` wait for a description, which has a placeholder in the text. The targets of
    ``links`` are as the file has them, and ``styles`` say how words look.
    """

    text: str
    media_type: str
    title: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()
    pages: tuple[Page, ...] = ()
    tables: tuple[Table, ...] = ()
    link_lines: tuple[Span, ...] = ()
    times: tuple[TimedSpan, ...] = ()
    boxes: tuple[BoxedSpan, ...] = ()
    pictures: tuple[DescribablePicture, ...] = ()
    links: tuple[Link, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    styles: tuple[StyledSpan, ...] = ()


def keep_parts(content: Content, parts: Sequence[tuple[Span, str]]) -> Content:
    """Return a content of these parts of its text, each with the text that it has from now on.

    What has no text any more is left out: blocks, links, styles, pages and boxes.
    """
    written: list[str] = []
    starts, ends = [part.start for part, _ in parts], [part.end for part, _ in parts]
    moves: list[tuple[int, int]] = []
    length = 0
    for number, (part, new) in enumerate(parts):
        if number:
            between = content.text[ends[number - 1] : part.start]
            if not between.isspace():  # something is left out here
                indent = between.rpartition("\n")[2]
                between = ("\n\n" if "\n\n" in between else "\n") + indent
            written.append(between)
            length += len(between)
        written.append(new)
        moves.append((length - part.start, length + len(new) - part.end))
        length += len(new)

    def moved(items: Iterable[T], span_of: Callable[[T], Span]) -> Iterator[tuple[T, Span]]:
        """Yield the items that still have text, from their first kept character to the last."""
        for item in items:
            span = span_of(item)
            first, last = bisect_right(ends, span.start), bisect_left(starts, span.end) - 1
            if first <= last:
                start = max(span.start, starts[first]) + moves[first][0]
                end = min(span.end, ends[last]) + moves[last][1]
                if end > start:
                    yield item, Span(start, end)

    def own(item: Block | BoxedSpan | Link | StyledSpan) -> Span:
        return item.span

    def to_end(item: Page | Anchor) -> Span:
        return Span(item.start, len(content.text))

    return replace(
        content,
        text="".join(written),
        blocks=tuple(b._replace(span=span) for b, span in moved(content.blocks, own)),
        link_lines=tuple(span for _, span in moved(content.link_lines, lambda span: span)),
        links=tuple(link._replace(span=span) for link, span in moved(content.links, own)),
        anchors=tuple(a._replace(start=s.start) for a, s in moved(content.anchors, to_end)),
        styles=tuple(styled._replace(span=span) for styled, span in moved(content.styles, own)),
        pages=tuple(replace(page, start=s.start) for page, s in moved(content.pages, to_end)),
        boxes=tuple(box._replace(span=span) for box, span in moved(content.boxes, own)),
    )


class Loader(Protocol):
    """Reads one format. ``signatures`` are leading bytes that identify it, whatever its suffix."""

    @property
    def name(self) -> str: ...

    @property
    def suffixes(self) -> tuple[str, ...]: ...

    @property
    def signatures(self) -> tuple[bytes, ...]: ...

    def load(self, source: Source) -> Content:
        """Return the content of a file.

        Raises LoadError if the reason of a failure is known. Any other exception is reported as a
        broken file.
        """


class FileFormat(NamedTuple):
    """The suffixes of a format, in lower case, and the leading bytes that identify it."""

    suffixes: tuple[str, ...]
    signatures: tuple[bytes, ...] = ()


FORMATS: Mapping[str, FileFormat] = {
    "text": FileFormat((".txt", ".text", ".log", ".rst")),
    "markdown": FileFormat((".md", ".markdown", ".mdx", ".qmd")),
    "html": FileFormat(
        (".html", ".htm", ".xhtml", ".svg"),
        (b"<!doctype html", b"<html", b"<!DOCTYPE html", b"<!DOCTYPE HTML", b"<HTML"),
    ),
    "pdf": FileFormat((".pdf",), (b"%PDF-",)),
    "docx": FileFormat((".docx", ".docm", ".dotx")),
    "pptx": FileFormat((".pptx", ".pptm", ".ppsx")),
    "xlsx": FileFormat((".xlsx", ".xlsm", ".xltx")),
    "csv": FileFormat((".csv", ".tsv")),
    "json": FileFormat((".json", ".jsonl", ".ndjson")),
    "epub": FileFormat((".epub",)),
    "eml": FileFormat((".eml", ".emlx", ".mbox", ".mht", ".mhtml")),
    "notebook": FileFormat((".ipynb",)),
    "rtf": FileFormat((".rtf",), (b"{\\rtf",)),
    "odf": FileFormat((".odt", ".ott", ".ods", ".odp", ".fodt", ".fods", ".fodp")),
    "enex": FileFormat((".enex",)),
    "markup": FileFormat((".org", ".tex", ".adoc", ".asciidoc")),
    "calendar": FileFormat(
        (".ics", ".ical", ".vcf", ".vcard"), (b"BEGIN:VCALENDAR", b"BEGIN:VCARD")
    ),
    "subtitles": FileFormat((".srt", ".vtt")),
    "audio": FileFormat(
        (
            *(".wav", ".mp3", ".m4a", ".ogg", ".oga", ".opus", ".flac", ".aac"),
            *(".mp4", ".m4v", ".mov", ".webm", ".mkv"),
        ),
        (b"OggS\x00", b"fLaC\x00", b"ID3\x02", b"ID3\x03", b"ID3\x04", b"\xff\xfb", b"\xff\xf3"),
    ),
    "picture": FileFormat(
        (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp"),
        (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*"),
    ),
}
"""The formats of the built-in loaders by name, so that a file imports only the loader it needs."""


class FormatLoader:
    """Base of the built-in loaders, which have the suffixes and signatures of `FORMATS`."""

    name: str
    suffixes: tuple[str, ...]
    signatures: tuple[bytes, ...]

    def __init_subclass__(cls, *, name: str) -> None:
        cls.name, (cls.suffixes, cls.signatures) = name, FORMATS[name]


def clean_text(text: str) -> str:
    """Return text with newlines as its only line ends, as `visible_text` writes it.

    NULs and lone surrogates are left out, all other characters are kept.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return visible_text(_SURROGATE.sub("\ufffd", text.replace("\x00", "")))


def clean_line(text: str) -> str:
    """Return text cleaned by `clean_text`, in one line."""
    return " ".join(clean_text(text).split())


def whole_number(text: str | None, default: int = 1) -> int:
    """Return the number that an attribute states in at most nine digits, else the default."""
    return int(text) if text and re.fullmatch(r"\s*[-+]?[0-9]{1,9}\s*", text) else default


class TextMeter:
    """Counts the characters that are taken from a file, while they are taken."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._limit = source.text_limit
        self._count = 0

    def add(self, characters: int) -> None:
        """Count characters, or cells. Raises LoadError ("too_large") beyond the limit."""
        self._count += characters
        if self._count > self._limit:
            raise LoadError(
                "too_large",
                f"`{self._source.uri}` has {format_size(len(self._source.data))} and unfolds to "
                f"more than {self._limit:,} characters.",
                fix="Raise `index.max_file_characters` if you trust the file.",
            )


def broken_file_error(source: Source, reason: str) -> LoadError:
    """Return the error for a file that violates its format; ``reason`` follows a colon."""
    return LoadError(
        "broken",
        f"`{source.uri}` is broken: {reason}.",
        fix="Open it in the program that made it, and save it again.",
    )


def unrecognised_error(uri: str) -> LoadError:
    """Return the error for a picture with no text."""
    return LoadError(
        "no_text",
        f"No text was recognised in `{uri}`.",
        fix="Leave it out with `exclude`, or scan it with more dots per inch.",
    )


def parse_xml(data: bytes) -> Any:  # noqa: ANN401 - an lxml element, which has no public type
    """Return the root element of the XML of a file, without comments.

    As defusedxml recommends, no entity is resolved, no DTD loaded, and no network used. Raises
    `lxml.etree.XMLSyntaxError` if it is broken.
    """
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True
    )
    return etree.fromstring(data, parser)


def flat_metadata(pairs: Mapping[str, object]) -> dict[str, str]:
    """Return the entries that are not empty, as one-line strings."""
    flat = {clean_line(key): clean_line(str(value)) for key, value in pairs.items() if value}
    return {key: value for key, value in flat.items() if key and value}


def text_leaves(
    value: object, scalar: Callable[[object], str], path: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield the dotted path and the text of every value in mappings and lists.

    Single values of a list are joined by commas. Empty mappings and lists have the text "", so that
    a caller can stop aliases in YAML that expand to many of them.
    """
    if isinstance(value, Mapping | list) and not value:
        yield path, ""
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from text_leaves(inner, scalar, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        if any(isinstance(item, list | dict) for item in value):
            for item in value:
                yield from text_leaves(item, scalar, path)
        else:
            yield path, ", ".join(filter(None, map(scalar, value)))
    else:
        yield path, scalar(value)


def office_metadata(properties: Any, **more: object) -> dict[str, str]:  # noqa: ANN401
    """Return the metadata of a Word or PowerPoint file by its core properties."""
    names = ("author", "subject", "keywords", "language")
    known = {name: getattr(properties, name) for name in names}
    return flat_metadata({**known, "date": properties.modified or properties.created, **more})


OCR = "ocr"
"""The extra that recognises text in pictures."""
INSTALL_OCR = f"pip install 'knotwork[{OCR}]', then index with `--retry`."
_OCR_PACKAGES = ("rapidocr", "onnxruntime", "PIL")


def can_recognise() -> bool:
    """Return True if text in pictures can be recognised: the packages of the extra are there."""
    return all(find_spec(package) is not None for package in _OCR_PACKAGES)


UNREAD_PARTS = "unread"
"""The key of the metadata that says which parts are not in the text, as in "2 charts, 1 shape"."""
UNREAD_PAGES = "pages_without_text"
"""The key of the metadata that says which pages are pictures that were not read."""
UNREAD_PICTURES = "pictures_without_text"
"""The key of the metadata that says how many pictures were not read."""
MOST_PICTURES = 200
"""Pictures of a document that are read."""
DURATION, DECLARED = "duration", "declared_duration"
"""Keys of the metadata: where the sound of a recording ends, and where it should end if that is
much later."""
_ADVICE = {
    "uncalculated formula": "Open the workbook in a spreadsheet program and save it.",
    "hidden sheet": "Unhide sheets that should be read.",
}


def unread_parts(counts: Mapping[str, int]) -> dict[str, str]:
    """Return the metadata of a document, given how many parts of each kind are not in its text.

    A kind is a noun in the singular that takes an "s", such as "chart". Returns {} without any.
    """
    held = [f"{n:,} {kind}{'s' * (n > 1)}" for kind, n in counts.items() if n]
    return {UNREAD_PARTS: ", ".join(held)} if held else {}


def unread_notes(uri: str, metadata: Mapping[str, str]) -> list[str]:
    """Return what a report says of a document that was read in part, but for its pictures."""
    notes = []
    if DECLARED in metadata:
        notes.append(
            f"`{uri}` was read up to {metadata[DURATION]}, but its length should be "
            f"{metadata[DECLARED]}. It was cut off or is damaged."
        )
    if pages := metadata.get(UNREAD_PAGES):
        missing = f"Install text recognition with: {INSTALL_OCR}"
        advice = "They could not be rendered." if can_recognise() else missing
        notes.append(
            f"`{uri}` has scanned or garbled pages whose text was not read: {pages}. {advice}"
        )
    if parts := metadata.get(UNREAD_PARTS):
        about = [text for kind, text in _ADVICE.items() if kind in parts]
        notes.append(" ".join([f"`{uri}` has parts that were not read: {parts}.", *about]))
    return notes


def unread_pictures(metadata: Mapping[str, str]) -> list[int]:
    """Return the number of pictures that were not read in a document, if there are any."""
    return [int(metadata[UNREAD_PICTURES])] if UNREAD_PICTURES in metadata else []


def unread_pictures_note(unread: Sequence[int]) -> str:
    """Return the note of a report on the numbers of pictures that documents have unread, or ""."""
    pictures, documents = sum(unread), len(unread)
    if not documents:
        return ""
    held = "1 picture" if pictures == 1 else f"{pictures:,} pictures"
    where = "a document" if documents == 1 else f"{documents:,} documents"
    verb = "was" if pictures == 1 else "were"
    limit = f": {MOST_PICTURES} are, of each."
    why = limit if can_recognise() else f". Install text recognition with: {INSTALL_OCR}"
    return f"The text of {held} in {where} {verb} not read{why}"


def document_notes(uri: str, metadata: Mapping[str, str]) -> list[str]:
    """Return everything that is said of one document that was read in part."""
    notes = [*unread_notes(uri, metadata), unread_pictures_note(unread_pictures(metadata))]
    return [note for note in notes if note]


MESSAGE_OF_MAILBOX = rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]*\n(?=>?[!-9;-~]{1,80}:|>From )"
"""The line above a message of a mailbox."""
OLD_CHINESE = re.compile(r"=\?gb(?:2312|k)(?=\?)", re.IGNORECASE)
"""The encoding that fields of mails name for what is GB 18030."""
ZIP_SIGNATURE = b"PK\x03\x04"
OLE_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
MAX_MEMBERS = 50_000
MAX_RATIO = 200
"""Text of an archive may be this many times as large as the archive, or `FREE_BYTES` large."""
FREE_BYTES = 20 * MEGABYTE
MEDIA_FACTOR = 4
"""All members together, images included, may be this many times as large as the text limit."""
_MEMBER_SIGNATURE = b"PK\x01\x02"
"""Precedes each member in the directory of an archive."""
_MARKUP = (".xml", ".rels", ".html", ".xhtml", ".htm", ".opf", ".ncx", ".vml")


@contextmanager
def open_archive(source: Source) -> Iterator[zipfile.ZipFile]:
    """Open a ZIP archive after checking its directory.

    Checking the declared sizes is enough, because `zipfile` never reads past them.

    Raises LoadError if the archive is encrypted ("password"), too large when decompressed
    ("too_large"), in the binary Office format ("unsupported") or not a ZIP archive ("broken").
    """
    if source.data.startswith(OLE_SIGNATURE):
        # Word, PowerPoint and Excel wrap encrypted files in the container of the old format.
        if "EncryptedPackage".encode("utf-16-le") in source.data:
            raise encrypted_file_error(source)
        raise LoadError(
            "unsupported",
            f"`{source.uri}` is in the binary Office format used before 2007.",
            fix="Save it as .docx, .pptx or .xlsx.",
        )
    with _open_zip(source) as archive:
        members = archive.infolist()
        if any(member.flag_bits & 1 for member in members):
            raise encrypted_file_error(source)
        total = sum(member.file_size for member in members)
        markup = sum(m.file_size for m in members if m.filename.lower().endswith(_MARKUP))
        limit = min(source.max_bytes, max(FREE_BYTES, MAX_RATIO * len(source.data)))
        if markup > limit or total > MEDIA_FACTOR * source.max_bytes:
            raise LoadError(
                "too_large",
                f"`{source.uri}` decompresses to {format_size(total)}, of which "
                f"{format_size(markup)} are text; the limit for an archive of "
                f"{format_size(len(source.data))} is {format_size(limit)} of text.",
                fix="Open it in the program that made it, and save its parts as files of their "
                "own. Raise `index.max_file_mb` if the archive itself is large.",
            )
        yield archive


def archive_names(source: Source) -> set[str]:
    """Return the names of the members of an archive.

    Raises LoadError if it has too many ("too_large") or is not a ZIP archive ("broken").
    """
    with _open_zip(source) as archive:
        return set(archive.namelist())


def _open_zip(source: Source) -> zipfile.ZipFile:
    # Count before opening: `zipfile` makes an object for each member.
    members = source.data.count(_MEMBER_SIGNATURE)
    if members > MAX_MEMBERS:
        raise LoadError(
            "too_large",
            f"`{source.uri}` is an archive of {members:,} members; the limit is {MAX_MEMBERS:,}.",
            fix="Leave it out with `exclude`, or unpack it.",
        )
    try:
        return zipfile.ZipFile(io.BytesIO(source.data))
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise broken_file_error(source, f"not a whole ZIP archive ({error})") from error


def check_archive(source: Source) -> None:
    """Raise LoadError if `open_archive` refuses the file."""
    with open_archive(source):
        pass


def encrypted_file_error(source: Source) -> LoadError:
    """Return the error for an encrypted file."""
    return LoadError(
        "password",
        f"`{source.uri}` is password-protected.",
        fix="Save a copy without the password.",
    )
