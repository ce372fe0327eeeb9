"""Load a file as a Document with the loader for its format.

`LOADERS` lists all loaders. The content decides the format if it has a signature, else the suffix.

A loader knows no model. It leaves a place in the text for the description of each picture, which
takes it once a model was asked.
"""

from __future__ import annotations

import logging
import pickle
import re
import stat
import warnings
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Protocol, TypedDict, Unpack

from knotwork._indexing.loaders.boilerplate import edge_line_keys, remove_boilerplate
from knotwork._indexing.loaders.links import find_links
from knotwork._indexing.loaders.loader import (
    FORMATS,
    MAX_CHARACTERS,
    MEGABYTE,
    MESSAGE_OF_MAILBOX,
    NOWHERE,
    OLE_SIGNATURE,
    UNREAD_PARTS,
    ZIP_SIGNATURE,
    Content,
    DescribablePicture,
    Loader,
    Source,
    archive_names,
    check_archive,
    flat_metadata,
    format_size,
    keep_parts,
    unread_parts,
    unrecognised_error,
)
from knotwork._indexing.loaders.titles_and_captions import choose_title
from knotwork._registry import CORE, Entry, Registry
from knotwork._text.languages import detect_language
from knotwork.errors import ConfigError, LoadError
from knotwork.records import Block, BlockKind, Document, Span

_log = logging.getLogger("knotwork.indexing")
_SUFFIX = re.compile(r"\.[^.\sA-Z/]+")

_HERE = "knotwork._indexing.loaders"
LOADERS: Registry[Loader] = Registry(
    "loaders",
    (
        Entry("text", f"{_HERE}.plain_text:TextLoader", "plain text"),
        Entry("markdown", f"{_HERE}.markdown:MarkdownLoader", "Markdown"),
    ),
    kind="loader",
    protocol=Loader,
)
_LIBXML_OUT_OF_MEMORY = 2
"""The code of an error of lxml that means what MemoryError does."""

_DRAWINGS = frozenset({".svg", ".eps", ".ps", ".drawio"})
"""Drawings stored as text: indexing them would fill the index with names of fonts."""

_FOREIGN = {
    ".msg": ("a mail of Outlook", ".eml"),
    ".pages": ("a document of Pages", ".docx"),
    ".numbers": ("a spreadsheet of Numbers", ".xlsx"),
    ".key": ("a presentation of Keynote", ".pptx"),
    ".one": ("a notebook of OneNote", ".docx"),
    ".djvu": ("a scan in DjVu", ".pdf"),
    **dict.fromkeys((".mobi", ".azw", ".azw3"), ("a book for Kindle", ".epub")),
}
"""What files of other programs are, and the suffix of a format that is read instead."""

_BY_MEMBER = {
    "word/document.xml": "docx",
    "ppt/presentation.xml": "pptx",
    "xl/workbook.xml": "xlsx",
    "META-INF/container.xml": "epub",
    "META-INF/manifest.xml": "odf",
}
"""The loaders of ZIP archives by a member that identifies the format, whatever the file's name."""

_BY_BEGINNING = {
    "eml": MESSAGE_OF_MAILBOX
    + rb"|(?:[!-9;-~]{1,80}:[^\n]*\n(?:[ \t]+[^\n]*\n)*)*(?i:MIME-Version:\s*1|Message-ID:\s*<)",
    "notebook": rb"\s*\{(?=[\s\S]*\"nbformat\"\s*:\s*\d)(?=[\s\S]*\"(?:cells|worksheets)\"\s*:)",
    "enex": rb"(?:\s*<[?!][^>]*>)*\s*<en-export\b",
}
"""What files of a format begin with, if their name says no more than `_VAGUE`."""
_VAGUE = (None, "text", "json")

_BY_SUFFIX = {suffix: name for name in FORMATS for suffix in FORMATS[name].suffixes}
"""The built-in loaders by suffix."""

LIGHT_BYTES = 32_000
"""Plain text up to this size is prepared in about a second at most, whatever it contains."""
MAX_FILE_MB = 100.0
"""Largest file that is read unless a setting says otherwise."""
_LIGHT_LOADERS = frozenset({"text", "markdown"})


class ReadElsewhere(Exception):
    """The file must be read in another process than this one."""


@cache
def _builtin_loader(name: str) -> Loader:
    return LOADERS.create(name)


def plugin_loaders() -> dict[str, Loader]:
    """Return the loaders of plugins by name.

    One that cannot be made, or that reads a suffix of another loader, is refused: its error is
    logged and among the faults of `LOADERS`.
    """
    return _make_plugin_loaders(LOADERS.revision)


@cache
def _make_plugin_loaders(_revision: int) -> dict[str, Loader]:
    found: dict[str, Loader] = {}
    taken = dict.fromkeys(_BY_SUFFIX, CORE)
    for name in LOADERS.names():
        entry = LOADERS.find(name)
        if not entry.is_plugin:
            continue
        try:
            loader = LOADERS.create(name)
            _check_formats(entry, loader, taken)
        except Exception as error:  # noqa: BLE001 - a plugin must not stop the run
            if not isinstance(error, ConfigError):
                error = LOADERS.fault(entry, f"{type(error).__name__}: {error}")
            LOADERS.refuse(name, error)
            _log.warning("%s", error)
            continue
        found[name] = loader
        taken.update(dict.fromkeys(loader.suffixes, entry.origin))
    return found


def _check_formats(entry: Entry, loader: Loader, taken: Mapping[str, str]) -> None:
    """Raise ConfigError for invalid suffixes or signatures, and for a suffix that is ``taken``."""
    suffixes, signatures = loader.suffixes, loader.signatures
    if not isinstance(suffixes, tuple) or not all(
        isinstance(suffix, str) and _SUFFIX.fullmatch(suffix) for suffix in suffixes
    ):
        reason = f"`suffixes` is {suffixes!r}, but must be a tuple such as ('.ini', '.cfg')"
        raise LOADERS.fault(entry, reason)
    if not isinstance(signatures, tuple) or not all(
        isinstance(signature, bytes) and signature for signature in signatures
    ):
        reason = f"`signatures` is {signatures!r}, but must be a tuple such as (b'%PDF-',)"
        raise LOADERS.fault(entry, reason)
    for suffix in suffixes:
        if suffix in taken:
            raise LOADERS.fault(
                entry,
                f"files named `*{suffix}` are read by a loader of {taken[suffix]} already",
                fix=f"Uninstall {entry.distribution}, or remove the suffix from its loader.",
            )


def supported_suffixes() -> tuple[str, ...]:
    """Return all suffixes with a loader, sorted; other files are read if they are plain text."""
    of_plugins = (loader.suffixes for loader in plugin_loaders().values())
    return tuple(sorted({*_BY_SUFFIX, *chain.from_iterable(of_plugins)}))


class RemoteFile(Protocol):
    """A file that is not on this machine; see `StoredObject`."""

    def read(self, *, uri: str, max_file_mb: float) -> bytes:
        """Return its bytes. Raises LoadError, as `load_file` does."""


class ReadOptions(TypedDict, total=False):
    """Options of `load_file`.

    ``max_file_mb`` limits the file. ``max_characters`` limits the text of a small file; a larger
    one may have 4 characters for each byte. ``audio_model`` is the folder of the model that
    recognises the speech of recordings. ``repeated`` are the keys of lines that the file's site
    repeats; they are removed. ``only_light`` raises ReadElsewhere for a file that is not a short
    plain text.
    """

    max_file_mb: float
    max_characters: int
    password: str
    audio_model: str
    repeated: Collection[int]
    only_light: bool


def load_file(
    path: Path | RemoteFile | bytes, *, uri: str, **options: Unpack[ReadOptions]
) -> Document:
    """Return a file, or the bytes of one, as a document.

    ``uri`` is its name in the index and in errors, and has its suffix.

    Raises LoadError, whose ``reason`` is "missing", "unreadable", "not_a_file", "too_large",
    "empty", "binary", "encoding", "password", "no_text", "broken" or "unsupported".
    """
    return _make_document(uri, _load_bytes(_read_file(path, uri, options), uri, options))


@dataclass(frozen=True, slots=True)
class UndescribedDocument:
    """A document that waits for the descriptions of ``pictures``.

    ``rest`` is all else, which `describe` reads, and a process passes on as it is.
    """

    pictures: tuple[DescribablePicture, ...]
    rest: bytes = field(repr=False)


def load_undescribed(
    path: Path | RemoteFile, *, uri: str, **options: Unpack[ReadOptions]
) -> Document | UndescribedDocument:
    """Return what `load_file` does, or a document that waits for descriptions of its pictures."""
    content = _load_bytes(_read_file(path, uri, options), uri, options, describes=True)
    if not content.pictures:
        return _make_document(uri, content)
    without_data = tuple(replace(picture, data=b"") for picture in content.pictures)
    rest = pickle.dumps((uri, replace(content, pictures=without_data)), protocol=5)
    pictures = {picture.key: picture for picture in content.pictures}
    return UndescribedDocument(tuple(pictures.values()), rest)


def describe(rest: bytes, descriptions: Mapping[str, str]) -> Document:
    """Return a document with descriptions of its pictures; ``rest`` is `UndescribedDocument.rest`.

    Raises LoadError ("no_text") if it has no text beside them and there are none.
    """
    uri, content = pickle.loads(rest)  # noqa: S301  from a worker of this run
    content = _with_descriptions(content, descriptions)
    if not content.text:
        raise unrecognised_error(uri)
    return _make_document(uri, content)


_WORDS = {
    "en": ("Picture", "Picture, described by a model: {description}"),
    "zh": ("图片", "图片（模型描述）：{description}"),
}


def _with_descriptions(content: Content, descriptions: Mapping[str, str]) -> Content:
    """Return a content with the descriptions of its pictures, by key, which say whose words they
    are. A picture without one leaves no trace; a figure without a label gets one.
    """
    parts: list[tuple[Span, str]] = []
    labels: dict[int, str] = {}
    end = len(content.text)
    places = [(picture.place, picture.key) for picture in content.pictures]
    for (before, _), (place, key) in pairwise([(NOWHERE, ""), *places, (Span(end, end), "")]):
        between = content.text[before.end : place.start]
        if text := between.strip():
            start = before.end + between.index(text)
            parts.append((Span(start, start + len(text)), text))
        if description := descriptions.get(key):
            label, words = _WORDS.get(detect_language(description), _WORDS["en"])
            parts.append((place, words.format(description=description)))
            labels[place.start] = label

    def labelled(block: Block) -> Block:
        if block.kind is not BlockKind.FIGURE or block.label:
            return block
        inside = (label for place, label in labels.items() if place in range(*block.span))
        return block._replace(label=next(inside, ""))

    blocks = tuple(map(labelled, content.blocks))
    return replace(keep_parts(replace(content, blocks=blocks), parts), pictures=())


def load_edge_keys(
    path: Path | RemoteFile, *, uri: str, **options: Unpack[ReadOptions]
) -> list[int]:
    """Return the keys of the lines of a web page that its site may repeat: see `edge_line_keys`.

    Raises LoadError, as `load_file` does.
    """
    return edge_line_keys(_load_bytes(_read_file(path, uri, options), uri, options))


def may_be_light(uri: str, size: int) -> bool:
    """Return True if a file of this name and size in bytes may be a short plain text."""
    suffix = Source(uri, b"").suffix
    return size <= LIGHT_BYTES and _BY_SUFFIX.get(suffix) in _LIGHT_LOADERS


def _read_file(path: Path | RemoteFile | bytes, uri: str, options: ReadOptions) -> bytes:
    if isinstance(path, bytes):
        return path
    max_file_mb = options.get("max_file_mb", MAX_FILE_MB)
    if not isinstance(path, Path):
        return path.read(uri=uri, max_file_mb=max_file_mb)
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            next(path.iterdir(), None)  # raises OSError if the folder cannot be listed
        if not stat.S_ISREG(status.st_mode):
            raise LoadError(
                "not_a_file", f"`{uri}` is not a regular file.", fix="Leave it out with `exclude`."
            )
        if status.st_size > max_file_mb * MEGABYTE:
            raise too_large_error(uri, status.st_size, max_file_mb)
        return path.read_bytes()
    except FileNotFoundError as error:
        raise LoadError("missing", f"`{uri}` no longer exists.") from error
    except OSError as error:
        raise LoadError(
            "unreadable",
            f"`{uri}` cannot be opened: {error.strerror or error}.",
            fix="Check its permissions.",
        ) from error


def _load_bytes(data: bytes, uri: str, options: ReadOptions, *, describes: bool = False) -> Content:
    max_file_mb = options.get("max_file_mb", MAX_FILE_MB)
    if len(data) > max_file_mb * MEGABYTE:
        raise too_large_error(uri, len(data), max_file_mb)
    repeated = options.get("repeated", ())
    source = Source(
        uri,
        data,
        max_bytes=int(max_file_mb * MEGABYTE),
        password=options.get("password", ""),
        max_characters=options.get("max_characters", MAX_CHARACTERS),
        audio_model=options.get("audio_model", ""),
        describes=describes,
    )
    content = load_content(source, only_light=options.get("only_light", False))
    return remove_boilerplate(content, repeated) if repeated else content


def _make_document(uri: str, content: Content) -> Document:
    return Document(
        uri=uri,
        text=content.text,
        title=choose_title(content, uri),
        media_type=content.media_type,
        language=detect_language(content.text),
        metadata=dict(content.metadata),
        blocks=content.blocks,
        pages=content.pages,
        tables=content.tables,
        times=content.times,
        boxes=content.boxes,
        links=find_links(uri, content),
        anchors=content.anchors,
        styles=content.styles,
    )


def load_content(source: Source, *, only_light: bool = False) -> Content:
    """Return what the loader of a file reads. Raises LoadError, as `load_file` does."""
    if not source.data.strip():
        raise _empty(source.uri)
    loader = _choose_loader(source)
    source.left_out.clear()  # the choice may have read it
    if only_light and (len(source.data) > LIGHT_BYTES or loader.name not in _LIGHT_LOADERS):
        raise ReadElsewhere
    try:
        with warnings.catch_warnings():
            # Parsers warn about sloppy files; the user only needs to know if one cannot be read.
            warnings.simplefilter("ignore")
            content = loader.load(source)
        if not isinstance(content, Content):
            raise TypeError(f"it returned {type(content).__name__}, not Content")  # noqa: TRY301
        metadata = flat_metadata(content.metadata)
    except (LoadError, MemoryError, ReadElsewhere):
        raise
    except Exception as error:
        if getattr(error, "code", None) == _LIBXML_OUT_OF_MEMORY:
            raise MemoryError from error
        # Hostile or damaged bytes make parsers raise any exception, from KeyError to
        # RecursionError. It concerns this one file, so it is reported as an error of the file.
        reason = " ".join(str(error).split())[:200] or "no reason given"
        raise LoadError(
            "broken",
            f"`{source.uri}` is broken or in another format than its name says: the "
            f"{loader.name} loader failed with {type(error).__name__}: {reason}.",
            fix="Open it in the program that made it, and save it again.",
        ) from error
    if not content.text.strip():
        raise _empty(source.uri)
    parts = unread_parts(source.left_out)
    if parts and UNREAD_PARTS in metadata:
        parts[UNREAD_PARTS] = f"{metadata[UNREAD_PARTS]}, {parts[UNREAD_PARTS]}"
    return replace(content, metadata={**metadata, **parts})


def find_plugin_loader(suffix: str, start: bytes) -> Loader | None:
    """Return the plugin that loads files of a suffix, or whose content starts with ``start``.

    Plugins are looked at only if no built-in loader reads the suffix.
    """
    if suffix in _BY_SUFFIX:
        return None
    loaders = plugin_loaders().values()
    by_suffix = next((loader for loader in loaders if suffix in loader.suffixes), None)
    signed = (loader for loader in loaders if _is_signed(start, loader.signatures))
    return by_suffix or next(signed, None)


def _is_signed(start: bytes, signatures: tuple[bytes, ...]) -> bool:
    return bool(signatures) and start[:1_024].lstrip().startswith(signatures)


def _choose_loader(source: Source) -> Loader:
    """Return the loader for the signature of the content, else for the suffix.

    Raises LoadError ("unsupported", "password") if no loader can read the file.
    """
    plugin = find_plugin_loader(source.suffix, source.data)
    if plugin is not None:
        return plugin
    if source.suffix in _DRAWINGS and b"<text" not in source.data:
        raise LoadError(
            "unsupported",
            f"`{source.uri}` is a drawing, which has no text to index.",
            fix="Leave it out with `exclude`.",
        )
    by_suffix = _BY_SUFFIX.get(source.suffix)
    if source.data.startswith(ZIP_SIGNATURE):
        archived = _archive_format(source) or by_suffix
        if archived is None:
            raise _unsupported(source)
        return _builtin_loader(archived)
    if source.data.startswith(OLE_SIGNATURE) and source.suffix not in _FOREIGN:
        check_archive(source)
    for name, form in FORMATS.items():
        if _is_signed(source.data, form.signatures):
            # A text about HTML may begin with a tag, so that a known suffix outweighs it.
            return _builtin_loader(by_suffix if by_suffix and name == "html" else name)
    begun = (name for name, beginning in _BY_BEGINNING.items() if re.match(beginning, source.data))
    if begun_as := next(begun, by_suffix) if by_suffix in _VAGUE else by_suffix:
        return _builtin_loader(begun_as)
    text_loader = _builtin_loader("text")
    try:
        text_loader.load(source)
    except LoadError as error:
        raise _unsupported(source) from error
    return text_loader


def _archive_format(source: Source) -> str | None:
    """Return the loader that reads the members of a ZIP archive, None for an unknown format."""
    try:
        names = archive_names(source)
    except LoadError as error:
        if error.reason == "too_large":
            raise
        return None
    return next((_BY_MEMBER[name] for name in _BY_MEMBER if name in names), None)


def is_document_archive(names: Iterable[str]) -> bool:
    """Return True if a ZIP archive with members of these names is a document."""
    return not _BY_MEMBER.keys().isdisjoint(names)


def _unsupported(source: Source) -> LoadError:
    if source.suffix in _FOREIGN:
        what, suffix = _FOREIGN[source.suffix]
        return LoadError(
            "unsupported",
            f"`{source.uri}` is {what}, which Knotwork cannot read.",
            fix=f"Save it as {suffix}, or leave it out with `exclude`.",
        )
    suffixes = ", ".join(supported_suffixes())
    return LoadError(
        "unsupported",
        f"`{source.uri}` is neither text nor in a supported format ({suffixes}).",
        fix="Convert it, or leave it out with `exclude`.",
    )


def _empty(uri: str) -> LoadError:
    return LoadError("empty", f"`{uri}` contains no text.", fix="Leave it out with `exclude`.")


def too_large_error(uri: str, size: int, max_file_mb: float) -> LoadError:
    """Return the error for a file of more bytes than its limit."""
    return LoadError(
        "too_large",
        f"`{uri}` is {format_size(size)} large; the limit is "
        f"{format_size(max_file_mb * MEGABYTE)}.",
        fix="Raise `index.max_file_mb`, or split the file.",
    )
