"""Load a file as a Document with the loader for its format.

`LOADERS` lists all loaders. The content decides the format if it has a signature, else the suffix.
"""

from __future__ import annotations

import stat
import warnings
import zipfile
from collections.abc import Collection
from io import BytesIO
from pathlib import Path

from knotwork._indexing.loaders.archives import OLE_SIGNATURE, ZIP_SIGNATURE, check_archive
from knotwork._indexing.loaders.boilerplate import edge_line_keys, remove_boilerplate
from knotwork._indexing.loaders.docx import WordLoader
from knotwork._indexing.loaders.epub import EpubLoader
from knotwork._indexing.loaders.html import HtmlLoader
from knotwork._indexing.loaders.json_records import JsonLoader
from knotwork._indexing.loaders.loader import MEGABYTE, Content, Loader, Source, format_size
from knotwork._indexing.loaders.mail import MailLoader
from knotwork._indexing.loaders.markdown import MarkdownLoader
from knotwork._indexing.loaders.pdf import PdfLoader
from knotwork._indexing.loaders.plain_text import TextLoader
from knotwork._indexing.loaders.pptx import SlidesLoader
from knotwork._indexing.loaders.spreadsheets import DelimitedLoader, SheetsLoader
from knotwork._indexing.loaders.titles_and_captions import choose_title
from knotwork._text.languages import detect_language
from knotwork.errors import LoadError
from knotwork.records import Document

_TEXT = TextLoader()
_EPUB, _WORD, _SLIDES, _SHEETS = EpubLoader(), WordLoader(), SlidesLoader(), SheetsLoader()
LOADERS: tuple[Loader, ...] = (
    _TEXT,
    MarkdownLoader(),
    HtmlLoader(),
    PdfLoader(),
    _WORD,
    _SLIDES,
    _SHEETS,
    DelimitedLoader(),
    JsonLoader(),
    _EPUB,
    MailLoader(),
)
_DRAWINGS = frozenset({".svg", ".eps", ".ps", ".drawio"})
"""Drawings stored as text: indexing them would fill the index with names of fonts."""

_BY_SUFFIX = {suffix: loader for loader in LOADERS for suffix in loader.suffixes}
# The members of a ZIP archive identify its format, whatever the name of the file.
_BY_MEMBER: dict[str, Loader] = {
    "word/document.xml": _WORD,
    "ppt/presentation.xml": _SLIDES,
    "xl/workbook.xml": _SHEETS,
    "META-INF/container.xml": _EPUB,
}


def supported_suffixes() -> tuple[str, ...]:
    """Return all suffixes with a loader, sorted; other files are read if they are plain text."""
    return tuple(sorted(_BY_SUFFIX))


def load_file(
    path: Path,
    *,
    uri: str,
    max_file_mb: float = 100.0,
    password: str = "",
    repeated: Collection[int] = (),
) -> Document:
    """Return a file as a document.

    ``uri`` is the document's name in the index and in errors. ``repeated`` are the keys of lines
    that the file's site repeats; they are removed.

    Raises LoadError, whose ``reason`` is "missing", "unreadable", "not_a_file", "too_large",
    "empty", "binary", "encoding", "password", "no_text", "broken" or "unsupported".
    """
    data = _read_file(path, uri=uri, max_file_mb=max_file_mb)
    return load_document(
        data, uri=uri, max_file_mb=max_file_mb, password=password, repeated=repeated
    )


def load_edge_keys(path: Path, *, uri: str, max_file_mb: float = 100.0) -> list[int]:
    """Return the keys of the lines of a web page that its site may repeat: see `edge_line_keys`.

    Raises LoadError, as `load_file` does.
    """
    data = _read_file(path, uri=uri, max_file_mb=max_file_mb)
    return edge_line_keys(_load_content(Source(uri, data, max_bytes=int(max_file_mb * MEGABYTE))))


def _read_file(path: Path, *, uri: str, max_file_mb: float) -> bytes:
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            next(path.iterdir(), None)  # raises OSError if the folder cannot be listed
        if not stat.S_ISREG(status.st_mode):
            raise LoadError(
                "not_a_file", f"`{uri}` is not a regular file.", fix="Leave it out with `exclude`."
            )
        if status.st_size > max_file_mb * MEGABYTE:
            raise _too_large(uri, status.st_size, max_file_mb)
        return path.read_bytes()
    except FileNotFoundError as error:
        raise LoadError("missing", f"`{uri}` no longer exists.") from error
    except OSError as error:
        raise LoadError(
            "unreadable",
            f"`{uri}` cannot be opened: {error.strerror or error}.",
            fix="Check its permissions.",
        ) from error


def load_document(
    data: bytes,
    *,
    uri: str,
    max_file_mb: float = 100.0,
    password: str = "",
    repeated: Collection[int] = (),
) -> Document:
    """Return the bytes of a file as a document; the name and suffix are those of ``uri``.

    ``repeated`` and the errors are those of `load_file`.
    """
    if len(data) > max_file_mb * MEGABYTE:
        raise _too_large(uri, len(data), max_file_mb)
    source = Source(uri, data, max_bytes=int(max_file_mb * MEGABYTE), password=password)
    content = _load_content(source)
    if repeated:
        content = remove_boilerplate(content, repeated)
    return Document(
        uri=uri,
        text=content.text,
        title=choose_title(content, source.name),
        media_type=content.media_type,
        language=detect_language(content.text),
        metadata=dict(content.metadata),
        headings=content.headings,
        pages=content.pages,
        frames=content.frames,
        tables=content.tables,
    )


def _load_content(source: Source) -> Content:
    if not source.data.strip():
        raise _empty(source.uri)
    loader = _choose_loader(source)
    try:
        with warnings.catch_warnings():
            # Parsers warn about sloppy files; the user only needs to know if one cannot be read.
            warnings.simplefilter("ignore")
            content = loader.load(source)
    except LoadError:
        raise
    except Exception as error:
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
    return content


def _choose_loader(source: Source) -> Loader:
    """Return the loader for the signature of the content, else for the suffix.

    Raises LoadError ("unsupported", "password") if no loader can read the file.
    """
    if source.suffix in _DRAWINGS:
        raise LoadError(
            "unsupported",
            f"`{source.uri}` is a drawing, which has no text to index.",
            fix="Leave it out with `exclude`.",
        )
    by_suffix = _BY_SUFFIX.get(source.suffix)
    if source.data.startswith(ZIP_SIGNATURE):
        archive_loader = _archive_loader(source) or by_suffix
        if archive_loader is None:
            raise _unsupported(source)
        return archive_loader
    if source.data.startswith(OLE_SIGNATURE):
        check_archive(source)
    start = source.data[:1_024].lstrip()
    for loader in LOADERS:
        if start.startswith(loader.signatures) and loader.signatures:
            # A text about HTML may begin with a tag, so that a known suffix outweighs it.
            return by_suffix if by_suffix is not None and loader.name == "html" else loader
    if by_suffix is not None:
        return by_suffix
    try:
        _TEXT.load(source)
    except LoadError as error:
        raise _unsupported(source) from error
    return _TEXT


def _archive_loader(source: Source) -> Loader | None:
    """Return the loader for the members of a ZIP archive, None if they are of no known format."""
    try:
        with zipfile.ZipFile(BytesIO(source.data)) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return None
    return next((loader for member, loader in _BY_MEMBER.items() if member in names), None)


def _unsupported(source: Source) -> LoadError:
    suffixes = ", ".join(supported_suffixes())
    return LoadError(
        "unsupported",
        f"`{source.uri}` is neither text nor in a supported format ({suffixes}).",
        fix="Convert it, or leave it out with `exclude`.",
    )


def _empty(uri: str) -> LoadError:
    return LoadError("empty", f"`{uri}` contains no text.", fix="Leave it out with `exclude`.")


def _too_large(uri: str, size: int, max_file_mb: float) -> LoadError:
    return LoadError(
        "too_large",
        f"`{uri}` is {format_size(size)} large; the limit is "
        f"{format_size(max_file_mb * MEGABYTE)}.",
        fix="Raise `index.max_file_mb`, or split the file.",
    )
