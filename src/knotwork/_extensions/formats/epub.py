"""Load EPUB books: all documents of the spine, in reading order."""

from __future__ import annotations

import posixpath
import zipfile
from typing import Any
from urllib.parse import unquote

from knotwork._extensions.formats.html import add_pages
from knotwork._extensions.formats.web_page import MAX_SHEET
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.loader import (
    Content,
    FormatLoader,
    Source,
    broken_file_error,
    encrypted_file_error,
    flat_metadata,
    open_archive,
    parse_xml,
)

MEDIA_TYPE = "application/epub+zip"
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_DC = "{http://purl.org/dc/elements/1.1/}"
_FONT_OBFUSCATION = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


class EpubLoader(FormatLoader, name="epub"):
    """Reads .epub; headings of the chapters are kept."""

    def load(self, source: Source) -> Content:
        with open_archive(source) as archive:
            names = set(archive.namelist())
            if _is_protected(archive, names):
                raise encrypted_file_error(source)
            package_path = _package_path(source, archive, names)
            package = parse_xml(archive.read(package_path))
            pages: dict[str, str] = {}
            for href in _spine(package):
                path = posixpath.normpath(
                    posixpath.join(posixpath.dirname(package_path), unquote(href))
                )
                if path not in names:
                    continue
                names.discard(path)  # a spine may name a document once
                page = Source(f"{source.uri}/{path}", archive.read(path))
                pages[path] = decode_text(page)
            sheets = {
                path: archive.read(path).decode("utf-8", "replace")
                for path in sorted(names)
                if path.endswith(".css") and archive.getinfo(path).file_size <= MAX_SHEET
            }
            writer = BlockWriter(source)
            add_pages(writer, pages, sheets)
            return writer.content(
                MEDIA_TYPE, title=_field(package, "title"), metadata=_metadata(package)
            )


def _is_protected(archive: zipfile.ZipFile, names: set[str]) -> bool:
    """Return True if anything but fonts is encrypted."""
    if _ENCRYPTION not in names:
        return False
    methods = parse_xml(archive.read(_ENCRYPTION)).iter("{*}EncryptionMethod")
    return any(method.get("Algorithm") not in _FONT_OBFUSCATION for method in methods)


def _package_path(source: Source, archive: zipfile.ZipFile, names: set[str]) -> str:
    """Return the path of the package document. Raises LoadError ("broken") if none exists."""
    if _CONTAINER in names:
        for root_file in parse_xml(archive.read(_CONTAINER)).iter("{*}rootfile"):
            path = root_file.get("full-path") or ""
            if path in names:
                return str(path)
    raise broken_file_error(source, "container.xml names no package document of the archive")


def _spine(package: Any) -> list[str]:  # noqa: ANN401
    """Return the relative links of the documents of the spine, in reading order."""
    hrefs = {item.get("id"): item.get("href") or "" for item in package.iter("{*}item")}
    references = [item.get("idref") for item in package.iter("{*}itemref")]
    return [hrefs[reference] for reference in references if hrefs.get(reference)]


def _field(package: Any, name: str) -> str:  # noqa: ANN401
    texts = [" ".join("".join(item.itertext()).split()) for item in package.iter(f"{_DC}{name}")]
    return ", ".join(filter(None, texts if name == "creator" else texts[:1]))


def _metadata(package: Any) -> dict[str, str]:  # noqa: ANN401
    fields = {name: _field(package, name) for name in ("date", "language", "publisher", "subject")}
    return flat_metadata({"author": _field(package, "creator"), **fields})
