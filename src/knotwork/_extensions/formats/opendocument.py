"""Load texts, spreadsheets and presentations in the formats of OpenDocument.

Texts and slides are turned into HTML, and read as it.
"""

from __future__ import annotations

import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

from knotwork._extensions.formats.column_types import ShownCell
from knotwork._extensions.formats.grids import read_grids
from knotwork._extensions.formats.html import add_html, inline_text
from knotwork._extensions.formats.list_numbers import written_number
from knotwork._extensions.formats.spreadsheets import DEFAULT_SHEET_NAME, add_grids, repeat_merged
from knotwork._indexing.loaders.blocks import BlockWriter
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
    parse_xml,
    whole_number,
)
from knotwork._indexing.loaders.titles_and_captions import readable_name
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
_POSITION = re.compile(r"(?:super|[1-9]\d)()|(?:sub|-[1-9]\d)")
_DEEPEST_STYLE = 50
_SPACE = re.compile(r"[ \t\r\n]+")
_MOST_CELLS = 1_024
_META = {
    "author": "creator", "subject": "subject", "keywords": "keyword", "language": "language",
    "date": "date",
}  # fmt: skip


class OpenDocumentLoader(FormatLoader, name="odf"):
    """Reads .odt, .ods and .odp, also those in one XML file."""

    def load(self, source: Source) -> Content:
        roots = _read_parts(source)
        body = next((found for root in roots for found in root.iter("{*}body")), None)
        if body is None or not len(body):
            raise broken_file_error(source, "it has no body")
        styles = _Styles()
        for root in reversed(roots):  # automatic styles of the content hide those of pages
            styles.read(root)
        writer = BlockWriter(source)
        kind = _name(body[0])
        title = readable_name(source.name) if kind == "spreadsheet" else ""
        if kind == "spreadsheet":
            _add_sheets(writer, source, body[0], styles)
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
        return [parse_xml(source.data)]
    with open_archive(source) as archive:
        names = set(archive.namelist())
        if b":encryption-data" in _member(archive, names, "META-INF/manifest.xml"):
            raise encrypted_file_error(source)
        files = ("content.xml", "styles.xml", "meta.xml")
        parts = (_member(archive, names, name) for name in files)
        return [parse_xml(data) for data in parts if data]


def _member(archive: zipfile.ZipFile, names: set[str], name: str) -> bytes:
    return archive.read(name) if name in names else b""


class _Level(NamedTuple):
    """How the items of one level of a list are counted."""

    form: str = "1"
    before: str = ""
    after: str = ""
    start: int = 1
    shown: int = 1  # levels

    @property
    def is_plain(self) -> bool:
        return self.form == "1" and self.shown == 1 and (self.before, self.after) in _PLAIN

    @classmethod
    def of(cls, element: Any) -> _Level:  # noqa: ANN401
        return cls(
            _get(element, "num-format")[0],
            _get(element, "num-prefix")[:_LONGEST_MARK],
            _get(element, "num-suffix")[:_LONGEST_MARK],
            whole_number(_get(element, "start-value")),
            _count(_get(element, "display-levels"), 10),
        )


_PLAIN = (("", ""), ("", "."), ("", ")"))
_LONGEST_MARK = 10


@dataclass(slots=True)
class _Styles:
    """What the names of styles mean: the ones they are made of, their look, numbered lists."""

    above: dict[str, str] = field(default_factory=dict)
    looks: dict[str, dict[str, str]] = field(default_factory=dict)
    levels: dict[str, dict[int, _Level]] = field(default_factory=dict)

    def read(self, root: Any) -> None:  # noqa: ANN401
        for style in root.iter("{*}style"):
            name = _get(style, "name")
            self.above[name] = _get(style, "parent-style-name")
            looks = (look.attrib.items() for look in style.iterfind("{*}text-properties"))
            self.looks[name] = {key.rpartition("}")[2]: v for look in looks for key, v in look}
        for style in root.iter("{*}list-style"):
            self.levels[_get(style, "name")] = {
                _count(_get(level, "level"), 10): _Level.of(level)
                for level in style.iterfind("{*}list-level-style-number")
                if _get(level, "num-format")
            }

    def look(self, names: str) -> dict[str, str]:
        """Return the properties of text by the names of its style, see `names_of`."""
        found: dict[str, str] = {}
        for name in reversed(names.split()):
            found |= self.looks.get(name, {})
        return found

    def names_of(self, element: Any) -> str:  # noqa: ANN401
        """Return the names of the style of an element, and of those that it is made of."""
        name = _get(element, "style-name")
        names = [name]
        while (name := self.above.get(name, "")) and len(names) < _DEEPEST_STYLE:
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
        self._counts: dict[int, int] = {}  # the last number of each level of a list
        self._counts_of: dict[str, dict[int, int]] = {}  # by the style and the id of a list
        self._number = ""
        self._is_code = False
        self._notes: list[str] = []

    def convert(self, root: Any) -> Iterator[str]:  # noqa: ANN401
        from lxml import etree

        ends: dict[Any, str] = {}
        events = etree.iterwalk(root, events=("start", "end"))
        for event, element in events:
            name = _name(element)
            if event == "start":
                if element is not root and self._is_left_out(element, name):
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

    def _is_left_out(self, element: Any, name: str) -> bool:  # noqa: ANN401
        if not name or _LEFT_OUT.fullmatch(name) or _get(element, "is-hidden") == "true":
            return True
        marks = element.iterchildren("{*}hidden-paragraph") if name in ("p", "h") else ()
        if any(_get(mark, "is-hidden") == "true" for mark in marks):
            return True
        is_styled = name in ("p", "h", "span")
        look = self._styles.look(self._styles.names_of(element)) if is_styled else {}
        return "none" in (look.get("display"), name == "section" and _get(element, "display"))

    def _tags(self, element: Any, name: str) -> tuple[str, str]:  # noqa: ANN401
        """Return what stands before and behind the text of an element."""
        if name in _UNREAD and not self._is_note:
            self._source.left_out[_UNREAD[name]] += 1
        style = self._styles.names_of(element) if name in ("p", "h", "span") else ""
        is_code = name == "p" and _CODE.search(style) is not None
        edge = number = ""
        if name in ("p", "h"):
            number, self._number = escape(self._number), ""
        if name in ("p", "h", "list", "table") and is_code != self._is_code:
            self._is_code, edge = is_code, "<pre>" if is_code else "</pre>"
        if is_code:
            return edge + number, "\n"
        begin, end = self._plain_tags(element, name, style)
        marks = _marks(self._styles.look(style), name) if style else []
        opened = "".join(f"<{mark}>" for mark in marks)
        closed = "".join(f"</{mark}>" for mark in reversed(marks))
        return f"{edge}{begin}{opened}{number}", closed + end

    def _plain_tags(self, element: Any, name: str, style: str) -> tuple[str, str]:  # noqa: ANN401
        tag = _TAGS.get(name, "")
        more = after = ""
        if name == "h" or (name == "p" and "Title" in style.split()):
            tag = f"h{_count(_get(element, 'outline-level'), 6)}"
        elif name == "p":
            tag = "blockquote" if "Quotations" in style.split() else "p"
        elif name == "list":
            tag = self._begin_list(element)
        elif name == "list-item":
            more = self._count_item(element)
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

    def _begin_list(self, element: Any) -> str:  # noqa: ANN401
        style = _get(element, "style-name") or (self._lists or [""])[-1]
        self._lists.append(style)
        goes_on = _get(element, "continue-numbering") == "true"
        if len(self._lists) == 1:
            before = _get(element, "continue-list") or (style if goes_on else "")
            self._counts = self._counts_of.get(before, {}) if before else {}
            self._counts_of[style] = self._counts_of[_get(element, "id")] = self._counts
        elif not goes_on:
            self._counts.pop(len(self._lists), None)
        level = self._styles.levels.get(style, {}).get(len(self._lists))
        return "ol" if level is not None and level.is_plain else "ul"

    def _count_item(self, element: Any) -> str:  # noqa: ANN401
        """Count an item that has text; its number is an attribute, or begins its text."""
        levels = self._styles.levels.get((self._lists or [""])[-1], {})
        place = len(self._lists)
        if place not in levels or (element.find("{*}p") is None and element.find("{*}h") is None):
            return ""
        level = levels[place]
        following = self._counts.get(place, level.start - 1) + 1
        self._counts[place] = number = whole_number(_get(element, "start-value"), following)
        if level.is_plain:
            return f' value="{number}"'
        shown = (
            written_number(self._counts.get(above, levels[above].start), levels[above].form)
            for above in range(max(1, place - level.shown + 1), place + 1)
            if above in levels
        )
        self._number = f"{level.before}{'.'.join(shown)}{level.after}".strip() + " "
        return ""


def _marks(look: dict[str, str], name: str) -> list[str]:
    """Return the elements of HTML for the look of a paragraph or a part of it."""
    marks = ["s"] if look.get("text-line-through-style", "none") != "none" else []
    if name == "span":
        marks += ["b"] if look.get("font-weight") == "bold" else []
        lifted = _POSITION.match(look.get("text-position", ""))
        marks += [] if lifted is None else ["sub" if lifted[1] is None else "sup"]
    return marks


_SPANS = (("colspan", "number-columns-spanned"), ("rowspan", "number-rows-spanned"))


def _count(value: str, most: int) -> int:
    return max(1, min(whole_number(value), most))


def _add_sheets(writer: BlockWriter, source: Source, body: Any, styles: _Styles) -> None:  # noqa: ANN401
    meter = TextMeter(source)

    def shown(paragraph: Any) -> str:  # noqa: ANN401
        if not len(paragraph):
            return paragraph.text or ""
        html = "".join(_Converter(source, styles, is_note=True).convert(paragraph))
        return inline_text(html.replace("<br>", " "))

    for number, sheet in enumerate(body.iterfind("{*}table"), start=1):
        name = _get(sheet, "name") or str(number)
        writer.page(name)
        if not DEFAULT_SHEET_NAME.fullmatch(name):
            writer.heading(1, name)
        areas: list[tuple[int, int, int, int]] = []
        wide: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        rows = list(enumerate(_rows(sheet, areas, shown), start=1))
        repeat_merged(rows, areas, wide, meter)
        add_grids(writer, read_grids(rows, meter, wide=wide), name=name)
        source.left_out.update(_UNREAD[_name(part)] for part in sheet.iter("{*}image", "{*}object"))


def _rows(
    sheet: Any,  # noqa: ANN401
    areas: list[tuple[int, int, int, int]],
    shown: Callable[[Any], str],
) -> Iterator[list[str]]:
    """Yield the rows of a sheet, and add its merged cells to ``areas``, see `repeat_merged`.

    ``shown`` returns the text of a paragraph.
    """
    number = 0
    for row in sheet.iter("{*}table-row"):
        cells: list[str] = []
        for cell in row.iterchildren("{*}table-cell", "{*}covered-table-cell"):
            again = _count(_get(cell, "number-columns-repeated"), _MOST_CELLS)
            width = _count(_get(cell, "number-columns-spanned"), _MOST_CELLS)
            height = _count(_get(cell, "number-rows-spanned"), 100_000)
            if width + height > 2:
                areas.append((len(cells) + 1, number + 1, len(cells) + width, number + height))
            cells += [_value(cell, shown)] * min(again, max(0, _MOST_CELLS - len(cells)))
        while cells and not cells[-1]:
            cells.pop()
        for _ in range(_count(_get(row, "number-rows-repeated"), 1_000_000) if cells else 1):
            number += 1
            yield cells


def _value(cell: Any, shown_text: Callable[[Any], str]) -> str:  # noqa: ANN401
    """Return the text that a cell shows; numbers and dates have their value as well."""
    kind = _get(cell, "value-type")
    shown = " ".join(filter(None, map(shown_text, cell.iterfind("{*}p"))))
    if kind == "date":
        return _get(cell, "date-value").replace("T", " ").removesuffix(":00")
    value = _get(cell, "value")
    if kind not in ("float", "currency", "percentage") or not _NUMBER.fullmatch(value):
        return shown or value
    number = round(float(value) * (100 if kind == "percentage" else 1), 12)
    stored = int(number) if number.is_integer() else number
    return ShownCell(shown or value.removesuffix(".0"), stored)


_NUMBER = re.compile(r"[+-]?\d{1,300}(?:\.\d{1,300})?(?:[eE][+-]?\d{1,2})?")
