"""Load web pages: the main text, without scripts, navigation and hidden elements."""

from __future__ import annotations

import operator
import posixpath
import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from itertools import dropwhile, islice, takewhile
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin

from knotwork._extensions.formats.grids import (
    MOST_NESTED,
    SpanningCell,
    add_grid,
    are_names,
    read_table,
    rows_on_a_line,
)
from knotwork._extensions.formats.list_numbers import written_number
from knotwork._extensions.formats.web_page import (
    BLOCKS,
    apply_style_sheets,
    attach_notes,
    classes,
    clean_page,
    name_of,
    names,
    replace,
)
from knotwork._indexing.loaders.blocks import BlockWriter, OpenBlock
from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.lines import has_items, typed_item, written_mark
from knotwork._indexing.loaders.loader import (
    Content,
    FormatLoader,
    Source,
    clean_line,
    clean_text,
    flat_metadata,
    whole_number,
)
from knotwork._indexing.loaders.titles_and_captions import is_generic_title, run_in_term
from knotwork._text.sentences import join_lines, without_wide_wraps
from knotwork.records import BlockKind, TextStyle

_DECLARED = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([\w.:-]{2,40})", re.IGNORECASE)


_BOXES = names(
    "sidebar example table figure equation note tip warning caution important admonition "
    "admonitionblock literal-block-wrapper"
)
"""Classes of DocBook and Sphinx for boxes that may have a title."""
_BOX_TITLES = names("title admonition-title caption-text")
_LONGEST_TITLE = 500
"""A longer title of a box is text, as its end tag is missing."""
_ENDS_SENTENCE = re.compile(r"[.!?:;。！？：；]['\"”’」』)）]*$")
_BOLD = names("b strong")
_STYLES = {
    **dict.fromkeys(_BOLD, TextStyle.STRONG),
    **dict.fromkeys(("em", "i", "cite", "dfn", "var"), TextStyle.EMPHASIS),
    **dict.fromkeys(("code", "kbd", "samp", "tt"), TextStyle.CODE),
}
_NO_SHEETS: Mapping[str, str] = MappingProxyType({})
_MIN_MAIN_LENGTH = 200
_META = {
    "author": "author", "date": "date", "dc.date": "date", "article:published_time": "date",
    "description": "description", "og:description": "description", "keywords": "keywords",
    "og:title": "og:title", "dc.creator": "author",
}  # fmt: skip


class HtmlLoader(FormatLoader, name="html"):
    """Reads HTML and XHTML: headings, lists, tables, definitions, code and boxes with titles."""

    def load(self, source: Source) -> Content:
        declared = _DECLARED.search(source.data[:4_096])
        text = decode_text(source, declared=declared.group(1).decode("ascii") if declared else "")
        root = parse_html(text)
        if root is None:
            return Content("", "text/html")
        writer = BlockWriter(source)
        metadata = _metadata(root)
        apply_style_sheets(root)
        if base := next(iter(root.xpath("//base/@href")), ""):
            for link in root.iterfind(".//a[@href]"):
                href = link.get("href").strip()
                link.set("href", href if href.startswith("#") else urljoin(base, href))
        attach_notes({"": root})
        _walk(writer, _main_part(root))
        open_graph_title = metadata.pop("og:title", "")
        head_title = root.find(".//head/title")
        title = _text_of(head_title) if head_title is not None else ""
        return writer.content("text/html", title=title or open_graph_title, metadata=metadata)


def parse_html(text: str) -> Any:  # noqa: ANN401 - an lxml element, which has no public type
    """Return the root element of a page, None for a blank text."""
    from lxml import etree

    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True
    )
    if not text.strip():
        return None
    return etree.fromstring(clean_text(text).encode("utf-8"), parser)


def add_html(writer: BlockWriter, text: str) -> None:
    """Append the blocks of a page, or of a part of one, to a writer."""
    add_pages(writer, {"": text})


def add_pages(
    writer: BlockWriter, texts: Mapping[str, str], sheets: Mapping[str, str] = _NO_SHEETS
) -> None:
    """Append the blocks of pages by their paths, whose notes may be on each other.

    Links between pages lead to parts of the document that they make. ``sheets`` are style sheets by
    their paths.
    """
    parsed = ((path, parse_html(text)) for path, text in texts.items())
    roots = {path: root for path, root in parsed if root is not None}
    for path, root in roots.items():
        links = (link.get("href") or "" for link in root.iter("{*}link"))
        linked = (sheets.get(_path_of(path, href), "") for href in links)
        apply_style_sheets(root, "\n".join(linked))
    attach_notes(roots)
    for path, root in roots.items():
        body = root.find(".//{*}body")
        if path:
            writer.anchor(path)
        _walk(writer, root if body is None else body, path)


def _path_of(place: str, href: str) -> str:
    """Return the path of what a page at a place refers to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(place), unquote(href)))


def inline_text(markup: str) -> str:
    """Return the text of a part of a line in HTML, with its white space."""
    root = parse_html(f"<div>{markup}</div>")
    clean_page(root)
    return "".join(root.itertext())


def _walk(writer: BlockWriter, part: Any, place: str = "") -> None:  # noqa: ANN401
    clean_page(part)
    _Walk(writer, place).walk(part)


_KINDS = {
    "ul": BlockKind.LIST,
    "ol": BlockKind.LIST,
    "menu": BlockKind.LIST,
    "li": BlockKind.ITEM,
    "blockquote": BlockKind.QUOTE,
    "figure": BlockKind.FIGURE,
}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_LISTS = ("ol", "ul", "menu")
_LIST_STYLE = re.compile(r"list-style(?:-type)?\s*:\s*([a-zA-Z-]{1,30})")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_WHOLE = (*_HEADINGS, "dt", "pre")
"""Elements whose text is one block, whatever blocks are in them."""
_NOT_IN_TERM = names("dt dl ul ol pre table")
_NOT_IN_HEADING = BLOCKS - {"div"}
"""Elements that cannot follow text in a term or heading, so that its end tag is missing."""
_LANGUAGE = re.compile(
    r"(?:language-|lang-|highlight-(?:source-)?|brush:\s*|sourceCode\s+)([\w+#-]{1,20})"
)
_NO_LANGUAGE = names("default none text plaintext plain highlighter-rouge")
_CODE_DEPTH = 3
_MOST_BESIDE_CODE = 2
"""Elements in one around a listing that may name its language: the listing and a button."""


class _Opened(NamedTuple):
    """An element whose text is in a block of its own."""

    element: Any
    block: OpenBlock


class _Numbers(NamedTuple):
    """How the items of a list are counted; one without numbers has no ``form``."""

    form: str = ""
    next: int = 1
    step: int = 1

    @classmethod
    def of(cls, element: Any, name: str) -> _Numbers:  # noqa: ANN401
        """Read the attributes of a list."""
        styled = _LIST_STYLE.search(element.get("style") or "")
        style = styled[1].lower() if styled else element.get("type") or ""
        if name != "ol" or style == "none":
            return cls()
        form = style or "decimal"
        if element.get("reversed") is None:
            return cls(form, whole_number(element.get("start"), 1))
        items = sum(name_of(item) == "li" for item in element)
        return cls(form, whole_number(element.get("start"), items), -1)


@dataclass(slots=True)
class _Terms:
    """The terms of a definition list that wait for their description, or have it already."""

    names: list[str] = field(default_factory=list)
    is_defined: bool = False


class _Walk:
    def __init__(self, writer: BlockWriter, place: str = "") -> None:
        self._writer = writer
        self._place = place
        self._linked = 0  # the part of the running text where the open link begins
        self._styled: list[int] = []  # the same of words that are set apart
        self._running: list[tuple[str, bool]] = []
        self._written = ""  # the number that begins the running text
        self._bold = 0
        self._links = 0
        self._is_linked = True
        self._whole: Any = None  # the open element of `_WHOLE`
        self._terms = [_Terms()]
        self._lists: list[_Numbers] = []
        self._open: list[_Opened] = []
        self._marks_headers = False

    def walk(self, root: Any) -> None:  # noqa: ANN401
        from lxml import etree

        self._marks_headers = any(map(_marks_header, root.iter("{*}table")))
        events = etree.iterwalk(root, events=("start", "end"))
        skipped = None
        for event, element in events:
            name = name_of(element)
            if event == "start":
                if self._is_cut_by(name):
                    self._end_whole()
                if element is not root and _is_generic_title(element):
                    skipped = element
                elif name == "table" and self._whole is None and not _is_layout(element):
                    self._flush()
                    self._add_table(element)
                    skipped = element
                else:
                    self._begin(element, name)
                    self._name_place(element, name)
                if element is skipped:
                    events.skip_subtree()
            else:
                if element is not skipped:
                    self._finish(element, name)
                if element is not root and element.tail:
                    self._run(element.tail)
        self._flush()
        self._end_terms()

    def _begin(self, element: Any, name: str) -> None:  # noqa: ANN401
        self._bold += name in _BOLD
        if name in _STYLES:
            self._styled.append(len(self._running))
        if _is_link(element, name):
            self._links += 1
            self._linked = len(self._running)
        if name == "br":
            self._running.append(("\n", False))
        elif name in BLOCKS and self._whole is not None:
            self._break_line()
        elif name in BLOCKS:
            if name not in ("p", "div") or not self._is_only_number():
                self._flush()
            self._begin_block(element, name)
        if element.text:
            self._run(element.text)

    def _name_place(self, element: Any, name: str) -> None:  # noqa: ANN401
        """Record the name of an element that links may lead to."""
        if anchor := element.get("id") or (element.get("name") if name == "a" else None):
            self._writer.anchor(f"{self._place}#{anchor}" if self._place else anchor)

    def _link(self, element: Any, words: str) -> None:  # noqa: ANN401
        href = element.get("href").strip()
        if self._place and href and not _SCHEME.match(href):
            path, _, part = href.partition("#")
            inside = _path_of(self._place, path) if href[0] != "#" else self._place
            href = f"#{inside}#{part}" if part else f"#{inside}"
        if any(map(str.isalnum, words)):
            self._writer.link(words, href)

    def _end_style(self, name: str) -> None:
        """Record the words of an element that sets them apart, but for those in code."""
        if name in _STYLES:
            start = self._styled.pop()
            if self._whole is None or name_of(self._whole) != "pre":
                texts = [text for text, _ in self._running]
                before = "".join(texts[:start])
                self._writer.style("".join(texts[start:]), _STYLES[name], after=before)

    def _begin_block(self, element: Any, name: str) -> None:  # noqa: ANN401
        if name in _WHOLE:
            self._whole = element
        if name == "dl":
            self._terms.append(_Terms())
        elif name == "dt" and self._terms[-1].is_defined:
            self._terms[-1] = _Terms()
        elif name == "dd":
            self._begin_description(element)
        elif name in _KINDS:
            mark, written = self._number(element, name)
            begun = self._writer.begin(_KINDS[name], mark=mark)
            self._open.append(_Opened(element, begun))
            self._running += [(written, False)] if written else []
            self._written = written
        elif name not in _WHOLE and classes(element) & _BOXES:
            kind = BlockKind.FIGURE if "figure" in classes(element) else BlockKind.BOX
            self._open.append(_Opened(element, self._writer.begin(kind)))

    def _number(self, element: Any, name: str) -> tuple[str, str]:  # noqa: ANN401
        """Return the mark of an item and what else of its number begins its text; count lists."""
        if name in _LISTS:
            self._lists.append(_Numbers.of(element, name))
        if name != "li" or not self._lists or not self._lists[-1].form:
            return "", ""
        numbers = self._lists[-1]
        number = whole_number(element.get("value"), numbers.next)
        self._lists[-1] = numbers._replace(next=number + numbers.step)
        mark = f"{written_number(number, numbers.form)}."
        return (mark, "") if mark[:-1].isdecimal() else ("", f"{mark} ")

    def _begin_description(self, element: Any) -> None:  # noqa: ANN401
        """Begin the description of the terms before it, which are its first line."""
        terms = self._terms[-1]
        if not terms.names:
            return
        begun = self._writer.begin_definition(terms.names, is_further=terms.is_defined)
        self._open.append(_Opened(element, begun))
        terms.is_defined = True

    def _finish(self, element: Any, name: str) -> None:  # noqa: ANN401
        self._bold -= name in _BOLD
        self._end_style(name)
        if _is_link(element, name):
            self._links -= 1
            self._link(element, "".join(text for text, _ in self._running[self._linked :]))
        if element is self._whole:
            self._end_whole()
        elif name in BLOCKS and self._whole is None:
            self._flush()
        elif name in BLOCKS and not (element.tail or "").startswith("\n"):
            self._break_line()
        if name == "dl" and len(self._terms) > 1:
            self._end_terms()
            self._terms.pop()
        if name in _LISTS and self._lists:
            self._lists.pop()
        if self._open and self._open[-1].element is element:
            self._writer.end(self._open.pop().block)
        elif self._open and (name == "figcaption" or classes(element) & _BOX_TITLES):
            block = self._open[-1].block
            if block.kind in (BlockKind.BOX, BlockKind.FIGURE) and not block.label:
                block.label = _text_of(element, _LONGEST_TITLE)

    def _end_terms(self) -> None:
        """Append the terms that have no description as a paragraph."""
        if not self._terms[-1].is_defined:
            self._writer.paragraph(", ".join(self._terms[-1].names))

    def _is_cut_by(self, name: str) -> bool:
        """Return True if a heading or term has no end tag, so that an element is not part of it."""
        whole = "" if self._whole is None else name_of(self._whole)
        if not whole or whole == "pre" or not any(text.strip() for text, _ in self._running):
            return False
        return name in (_NOT_IN_TERM if whole == "dt" else _NOT_IN_HEADING)

    def _end_whole(self) -> None:
        """Append the text of a heading or of code; keep that of a term for its description."""
        element, name = self._whole, name_of(self._whole)
        text = "".join(text for text, _ in self._running)
        self._clear()
        self._whole = None
        if name == "pre":
            self._writer.code(text, _language(element))
        elif name == "dt":
            self._terms[-1].names += filter(None, (clean_line(text),))
        elif self._names_box(element):
            self._open[-1].block.label = clean_line(text)
            self._writer.paragraph(text)
        else:
            self._writer.heading(int(name[1]), text)

    def _names_box(self, heading: Any) -> bool:  # noqa: ANN401
        """Return True if a heading is the only one of a box that begins with it."""
        if not self._open or self._open[-1].block.kind is not BlockKind.BOX:
            return False
        element, block = self._open[-1]
        headings = element.iter(*(f"{{*}}{name}" for name in _HEADINGS))
        return block.start == block.end == -1 and list(islice(headings, 2)) == [heading]

    def _run(self, text: str) -> None:
        is_kept = self._whole is not None and name_of(self._whole) == "pre"
        spaced = text if is_kept else re.sub(r"[ \t\n\r\f\v]+", " ", without_wide_wraps(text))
        self._running.append((spaced, self._bold > 0))
        self._is_linked &= self._links > 0 or not any(map(str.isalnum, text))

    def _break_line(self) -> None:
        if self._running and not self._running[-1][0].endswith("\n"):
            self._running.append(("\n", False))

    def _flush(self) -> None:
        text = "".join(text for text, _ in self._running)
        term = run_in_term(self._running) if text.strip() else ""
        is_linked = self._is_linked
        self._clear()
        if not text.strip():
            return
        text = re.sub(r" *\n *", "\n", re.sub(r" {2,}", " ", text))
        if not is_linked and has_items(text):
            self._add_items(text.split("\n"))
            return
        span = self._writer.paragraph(text, term=term)
        if is_linked:
            self._writer.link_lines.append(span)

    def _add_items(self, lines: Sequence[str]) -> None:
        """Append lines of which some have typed marks; a sentence that goes on is of its item."""
        parts: list[str] = []
        for line in filter(str.strip, lines):
            before = parts[-1] if parts and typed_item(line) is None else ""
            if before and typed_item(before) is None:
                parts[-1] = f"{before}\n{line}"
            elif before and not _ENDS_SENTENCE.search(before):
                parts[-1] = join_lines([before, line])
            else:
                parts.append(line)
        for part in parts:
            item = typed_item(part)
            if item is None:
                self._writer.paragraph(part)
            else:
                mark, text = written_mark(item)
                self._writer.item(text, mark=mark)
        self._writer.end_lists()

    def _is_only_number(self) -> bool:
        """Return True if the running text is the number of an item, whose text is in a block."""
        shown = "".join(text for text, _ in self._running[:3])
        return len(self._running) < 4 and shown.strip() == self._written.strip() != ""

    def _clear(self) -> None:
        self._written = ""
        self._running.clear()
        self._is_linked = True

    def _add_table(self, table: Any) -> None:  # noqa: ANN401
        for inner in table.iter():
            name = name_of(inner)
            self._name_place(inner, name)
            if _is_link(inner, name):
                self._link(inner, _text_of(inner))
            if name in _STYLES:
                self._writer.style(_text_of(inner), _STYLES[name])
        captions = [_text_of(caption) for caption in table.iter("{*}caption")]
        for inner in reversed([*table.iterdescendants("{*}table")]):
            lines = [[*map(_text_of, _cells(row))] for row in inner.iter("{*}tr")]
            replace(inner, f" {rows_on_a_line(lines)} ")
        rows = list(dropwhile(operator.not_, map(_cells, table.iter("{*}tr"))))
        marked = takewhile(lambda cells: cells and _is_in_head(cells[0].getparent()), rows)
        grid = read_table(
            [[*map(_read_cell, row)] for row in rows],
            marked=sum(1 for _ in marked),
            # If other tables of the page mark their header, one without a mark has none.
            may_have_header=not self._marks_headers,
        )
        captions += (" ".join(filter(None, row)) for row in grid.above)
        caption = " ".join(filter(None, captions))
        with self._writer.block(BlockKind.BOX, caption) if caption else nullcontext():
            self._writer.paragraph(caption)
            add_grid(self._writer, replaced(grid, above=()))


def _language(code: Any) -> str:  # noqa: ANN401
    """Return the language that a class of code, or of an element in or around it, names, or ""."""
    around = takewhile(lambda element: len(element) <= _MOST_BESIDE_CODE, code.iterancestors())
    near = (*code.iterchildren("{*}code"), code, *islice(around, _CODE_DEPTH))
    found = (_LANGUAGE.search(element.get("class") or "") for element in near)
    names = (match[1] for match in found if match and match[1] not in _NO_LANGUAGE)
    return next(names, "")


def _is_link(element: Any, name: str) -> bool:  # noqa: ANN401
    return name == "a" and element.get("href") is not None


def _is_generic_title(element: Any) -> bool:  # noqa: ANN401
    """Return True for the title of a box that only names its kind, such as "Note"."""
    return bool(classes(element) & _BOX_TITLES) and is_generic_title(
        _text_of(element, _LONGEST_TITLE)
    )


def _text_of(element: Any, most: float = inf) -> str:  # noqa: ANN401
    """Return the text below an element on one line.

    Stops, and returns "", once it has more than ``most`` characters and elements.
    """
    from lxml import etree

    parts: list[str] = []
    size = 0
    events = etree.iterwalk(element, events=("start", "end"))
    for event, inner in events:
        name = name_of(inner)
        if event == "start":
            parts.append(" " if name in BLOCKS or name == "br" else "")
            parts.append(inner.text or "")
        elif inner is not element:
            parts.append(inner.tail or "")
        size += 1 + len(parts[-1])
        if size > most:
            return ""
    return " ".join(without_wide_wraps("".join(parts)).split())


def _marks_header(table: Any) -> bool:  # noqa: ANN401
    """Return True if the first row of a table is in a `thead`, or its cells are marked."""
    row = next(filter(_cells, table.iter("{*}tr")), None)
    if row is None or next(row.iter("{*}table"), None) is not None:
        return False
    return _is_in_head(row) or are_names([*map(_read_cell, _cells(row))])


def _is_in_head(row: Any) -> bool:  # noqa: ANN401
    return name_of(row.getparent()) == "thead"


def _is_bold(cell: Any) -> bool:  # noqa: ANN401
    bold = "".join(_text_of(inner) for inner in cell.iter("{*}b", "{*}strong"))
    return bool(bold) and bold == _text_of(cell)


def _cells(row: Any) -> list[Any]:  # noqa: ANN401
    return [cell for cell in row if name_of(cell) in ("td", "th")]


def _read_cell(cell: Any) -> SpanningCell:  # noqa: ANN401
    text = _text_of(cell)
    is_name = name_of(cell) == "th" or (_is_bold(cell) if text else None)
    columns, rows = (whole_number(cell.get(name)) for name in ("colspan", "rowspan"))
    return SpanningCell(text, columns, rows, is_name)


def _is_layout(table: Any) -> bool:  # noqa: ANN401
    """Return True if a table only arranges content: it contains other blocks, or is a note.

    A short table in a cell of a row is a part of the row.
    """
    parent = table.getparent()
    if parent is not None and "admonitionblock" in classes(parent):
        return True
    parts = (part if name_of(part) != "tr" else [part] for part in table)
    rows = [_cells(row) for part in parts for row in part if name_of(row) == "tr"]
    is_grid = len(rows) > 1 and all(len(row) > 1 for row in rows)
    for inner in table.iterdescendants():
        name = name_of(inner)
        is_nested = name == "table" and not (is_grid and _text_of(inner, MOST_NESTED))
        if is_nested or name in ("h1", "h2", "h3", "h4", "ul", "ol", "pre"):
            return True
    return False


def _main_part(root: Any) -> Any:  # noqa: ANN401
    """Return the element marked as the main part if it has enough text, else the body."""
    for path in (".//main", ".//*[@role='main']", ".//article"):
        found = root.findall(path)
        if len(found) == 1 and len("".join(found[0].itertext()).strip()) >= _MIN_MAIN_LENGTH:
            return found[0]
    body = root.find(".//body")
    return body if body is not None else root


def _metadata(root: Any) -> dict[str, str]:  # noqa: ANN401
    found: dict[str, object] = {}
    for meta in root.iterfind(".//meta"):
        name = (meta.get("name") or meta.get("property") or "").lower()
        if name in _META and meta.get("content"):
            found.setdefault(_META[name], meta.get("content"))
    if root.get("lang"):
        found["language"] = root.get("lang")
    return flat_metadata(found)
