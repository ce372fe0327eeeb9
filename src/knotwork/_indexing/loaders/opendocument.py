"""Load texts, spreadsheets and presentations in the formats of OpenDocument.

Texts and slides are turned into HTML, and read as it.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.column_types import ShownCell
from knotwork._indexing.loaders.grids import read_grids
from knotwork._indexing.loaders.html import add_html
from knotwork._indexing.loaders.loader import (
    ZIP_SIGNATURE,
    Content,
    FormatLoader,
    Source,
    TextMeter,
    broken_file_error,
    encrypted_file_error,
    flat_metadata,
    open_archive,
)
from knotwork._indexing.loaders.path_names import readable_name
from knotwork._indexing.loaders.spreadsheets import DEFAULT_SHEET_NAME, add_grids
from knotwork._indexing.loaders.table_rows import MAX_HEADER_LENGTH
from knotwork.records import BlockKind

_LEFT_OUT = re.compile(
    r"tracked-changes|table-of-content|\w+-index|annotation(?:-end)?|sequence-decls|forms|title|desc"
    r"|notes|covered-table-cell|header|footer|page-number|event-listeners|settings"
)
_TAGS = {
    "list-item": "li", "list-header": "li", "table": "table", "table-row": "tr", "table-cell": "td",
    "table-header-rows": "thead", "line-break": "br", "text-box": "div", "section": "div",
    "custom-shape": "div",
}  # fmt: skip
_UNREAD = {"image": "picture", "object": "embedded object", "object-ole": "embedded object"}
_CODE = re.compile(r"Preformatted|Source.?(?:Code|Text)", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n]+")
_MOST_CELLS = 1_024
_META = {
    "author": "creator",
    "subject": "subject",
    "keywords": "keyword",
    "language": "language",
    "date": "date",
}


class OpenDocumentLoader(FormatLoader, name="odf"):
    """Reads .odt, .ods and .odp, also those in one XML file."""

    def load(self, source: Source) -> Content:
        roots = _read_parts(source)
        body = next((found for root in roots for found in root.iter("{*}body")), None)
        if body is None or not len(body):
            raise broken_file_error(source, "it has no body")
        styles = _Styles()
        for root in roots:
            styles.read(root)
        writer = BlockWriter(source)
        kind = _name(body[0])
        title = "" if kind != "spreadsheet" else readable_name(source.name)
        if kind == "spreadsheet":
            _add_sheets(writer, source, body[0])
        elif kind == "presentation":
            for number, page in enumerate(body[0].iterfind("{*}page"), start=1):
                writer.page(str(number))
                add_html(writer, _as_html(source, page, styles))
                notes = page.find("{*}notes")
                if notes is not None and (said := _as_html(source, notes, styles)).strip():
                    with writer.block(BlockKind.BOX, "Speaker notes"):
                        add_html(writer, said)
        else:
            add_html(writer, _as_html(source, body[0], styles))
        found = {
            _name(e): e.text for root in roots for e in root.iterfind(".//{*}meta/*") if e.text
        }
        metadata = flat_metadata({name: found.get(key) for name, key in _META.items()})
        media_type = f"application/vnd.oasis.opendocument.{kind}"
        return writer.content(media_type, title=found.get("title") or title, metadata=metadata)


def _name(element: Any) -> str:  # noqa: ANN401 - an lxml element
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _get(element: Any, name: str) -> str:  # noqa: ANN401
    """Return an attribute by its name without the namespace."""
    return next((v for key, v in element.attrib.items() if key.rpartition("}")[2] == name), "")


def _read_parts(source: Source) -> list[Any]:
    """Return the roots of the content, the styles and the metadata of a file."""
    if not source.data.startswith(ZIP_SIGNATURE):
        return [_parse(source.data)]
    with open_archive(source) as archive:
        names = set(archive.namelist())
        if b":encryption-data" in _member(archive, names, "META-INF/manifest.xml"):
            raise encrypted_file_error(source)
        parts = (
            _member(archive, names, name) for name in ("content.xml", "styles.xml", "meta.xml")
        )
        return [_parse(data) for data in parts if data]


def _member(archive: zipfile.ZipFile, names: set[str], name: str) -> bytes:
    return archive.read(name) if name in names else b""


def _parse(data: bytes) -> Any:  # noqa: ANN401
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True
    )
    return etree.parse(io.BytesIO(data), parser).getroot()


@dataclass(slots=True)
class _Styles:
    """What the names of styles mean: the ones they are made of, bold ones, numbered lists."""

    above: dict[str, str] = field(default_factory=dict)
    bold: set[str] = field(default_factory=set)
    numbered: dict[str, set[int]] = field(default_factory=dict)

    def read(self, root: Any) -> None:  # noqa: ANN401
        for style in root.iter("{*}style"):
            name = _get(style, "name")
            self.above[name] = _get(style, "parent-style-name")
            properties = style.find("{*}text-properties")
            if properties is not None and _get(properties, "font-weight") == "bold":
                self.bold.add(name)
        for style in root.iter("{*}list-style"):
            levels = style.iterfind("{*}list-level-style-number")
            numbers = {
                int(_get(level, "level") or 1) for level in levels if _get(level, "num-format")
            }
            self.numbered[_get(style, "name")] = numbers

    def names_of(self, element: Any) -> str:  # noqa: ANN401
        """Return the names of the style of an element, and of those that it is made of."""
        name = _get(element, "style-name")
        names = [name]
        while (name := self.above.get(name, "")) and name not in names:
            names.append(name)
        return " ".join(names)


def _as_html(source: Source, root: Any, styles: _Styles) -> str:  # noqa: ANN401
    """Return a part of a text or a presentation as HTML."""
    return "".join(_Converter(source, styles, _name(root) == "notes").convert(root))


class _Converter:
    def __init__(self, source: Source, styles: _Styles, is_note: bool) -> None:
        self._source = source
        self._styles = styles
        self._is_note = is_note
        self._lists: list[str] = []
        self._is_code = False
        self._notes: list[str] = []

    def convert(self, root: Any) -> Iterator[str]:  # noqa: ANN401
        from lxml import etree

        ends: dict[Any, str] = {}
        events = etree.iterwalk(root, events=("start", "end"))
        for event, element in events:
            name = _name(element)
            if event == "start":
                if element is not root and (not name or _LEFT_OUT.fullmatch(name)):
                    events.skip_subtree()
                    ends[element] = ""
                    continue
                if name == "note":
                    mark = f"[^{element.findtext('{*}note-citation') or '*'}]"
                    said = " ".join("".join(element.find("{*}note-body").itertext()).split())
                    self._notes.append(f"<p>{escape(f'{mark} {said}')}</p>")
                    events.skip_subtree()
                    ends[element] = mark
                    continue
                begin, ends[element] = self._tags(element, name)
                yield begin
                text = _SPACE.sub(" ", element.text or "")
                yield escape(text.lstrip() if name in ("p", "h") else text)
            else:
                yield ends.pop(element)
                if name in ("p", "h") and not self._is_code:
                    yield from self._notes
                    self._notes.clear()
                if name == "list":
                    self._lists.pop()
                if element is not root and not (self._is_code and name == "p"):
                    yield escape(_SPACE.sub(" ", element.tail or ""))
        if self._is_code:
            yield "</pre>"

    def _tags(self, element: Any, name: str) -> tuple[str, str]:  # noqa: ANN401
        """Return what stands before and behind the text of an element."""
        if name in _UNREAD and not self._is_note:
            self._source.left_out[_UNREAD[name]] += 1
        style = self._styles.names_of(element) if name in ("p", "h", "span") else ""
        is_code = name == "p" and _CODE.search(style) is not None
        edge = ""
        if name in ("p", "h", "list", "table") and is_code != self._is_code:
            self._is_code, edge = is_code, "<pre>" if is_code else "</pre>"
        if is_code:
            return edge, "\n"
        begin, end = self._plain_tags(element, name, style)
        return edge + begin, end

    def _plain_tags(self, element: Any, name: str, style: str) -> tuple[str, str]:  # noqa: ANN401
        tag = _TAGS.get(name, "")
        more = after = ""
        if name == "h" or (name == "p" and "Title" in style.split()):
            tag = f"h{_count(_get(element, 'outline-level'), 6)}"
        elif name == "p":
            tag = "blockquote" if "Quotations" in style.split() else "p"
        elif name == "span":
            tag = "" if self._styles.bold.isdisjoint(style.split()) else "b"
        elif name == "list":
            self._lists.append(_get(element, "style-name") or (self._lists or [""])[-1])
            is_numbered = len(self._lists) in self._styles.numbered.get(self._lists[-1], ())
            tag = "ol" if is_numbered else "ul"
        elif name == "table-cell":
            spans = ((html, _count(_get(element, key), 1_000)) for html, key in _SPANS)
            more = "".join(f' {html}="{count}"' for html, count in spans)
            after = "<td></td>" * (_count(_get(element, "number-columns-repeated"), 50) - 1)
        elif name in ("s", "tab"):
            after = " " * _count(_get(element, "c"), 100)
        elif name == "frame":
            tag = {"title": "h1", "subtitle": "h2"}.get(_get(element, "class"), "div")
        end = f"</{tag}>" if tag != "br" else ""
        return (f"<{tag}{more}>", end + after) if tag else ("", after)


_SPANS = (("colspan", "number-columns-spanned"), ("rowspan", "number-rows-spanned"))


def _count(value: str, most: int) -> int:
    return min(int(value), most) if value.isdecimal() and len(value) < 9 and int(value) else 1


def _add_sheets(writer: BlockWriter, source: Source, body: Any) -> None:  # noqa: ANN401
    meter = TextMeter(source)
    for number, sheet in enumerate(body.iterfind("{*}table"), start=1):
        name = _get(sheet, "name") or str(number)
        writer.page(name)
        if not DEFAULT_SHEET_NAME.fullmatch(name):
            writer.heading(1, name)
        wide: dict[int, list[tuple[int, int]]] = {}
        rows = list(enumerate(_rows(sheet, wide), start=1))
        add_grids(writer, read_grids(rows, meter, wide=wide), name=name)
        unread = sum(1 for _ in sheet.iter("{*}image")), sum(1 for _ in sheet.iter("{*}object"))
        source.left_out.update(
            {k: n for k, n in zip(("picture", "embedded object"), unread, strict=True) if n}
        )


def _rows(sheet: Any, wide: dict[int, list[tuple[int, int]]]) -> Iterator[list[str]]:  # noqa: ANN401
    """Yield the rows of a sheet; a short text of a merged cell is in each row that it spans.

    ``wide`` gets the columns of each cell that spans several, by the number of its row.
    """
    number = 0
    reaching: dict[int, tuple[str, int]] = {}
    for row in sheet.iter("{*}table-row"):
        cells: list[str] = []
        for cell in row.iterchildren("{*}table-cell", "{*}covered-table-cell"):
            again = _count(_get(cell, "number-columns-repeated"), _MOST_CELLS)
            text, place = _value(cell), len(cells)
            width = _count(_get(cell, "number-columns-spanned"), _MOST_CELLS)
            if text and width > 1:
                wide.setdefault(number + 1, []).append((place, place + width - 1))
            rows = _count(_get(cell, "number-rows-spanned"), 100_000)
            if text and rows > 1 and len(text) <= MAX_HEADER_LENGTH:
                reaching[place] = text, rows - 1
            elif not text and place in reaching:
                text, left = reaching.pop(place)
                if left > 1:
                    reaching[place] = text, left - 1
            cells += [text] * min(again, max(0, _MOST_CELLS - len(cells)))
        while cells and not cells[-1]:
            cells.pop()
        for _ in range(_count(_get(row, "number-rows-repeated"), 1_000_000) if cells else 1):
            number += 1
            yield cells


def _value(cell: Any) -> str:  # noqa: ANN401
    """Return the text that a cell shows; numbers and dates have their value as well."""
    kind = _get(cell, "value-type")
    paragraphs = ("".join(p.itertext()) for p in cell.iterfind("{*}p"))
    shown = " ".join(filter(None, paragraphs))
    if kind == "date":
        return _get(cell, "date-value").replace("T", " ").removesuffix(":00")
    value = _get(cell, "value")
    if kind not in ("float", "currency", "percentage") or not _NUMBER.fullmatch(value):
        return shown or value
    number = float(value)
    stored = int(number) if number.is_integer() else number
    return ShownCell(shown or value.removesuffix(".0"), stored)


_NUMBER = re.compile(r"[+-]?\d{1,300}(?:\.\d{1,300})?(?:[eE][+-]?\d{1,2})?")
