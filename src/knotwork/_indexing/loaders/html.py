"""Load web pages: the main text, without scripts, navigation and hidden elements."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from knotwork._indexing.loaders.loader import (
    FORMATS,
    Content,
    Source,
    TextBuilder,
    clean_text,
    flat_metadata,
)
from knotwork._indexing.loaders.plain_text import decode_text
from knotwork._indexing.loaders.tables_and_lists import SpanningCell, add_table, spread_cells
from knotwork._indexing.loaders.titles_and_captions import is_generic_title, run_in_term
from knotwork.records import FrameKind

_DECLARED = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([\w.:-]{2,40})", re.IGNORECASE)


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_LEFT_OUT = _names(
    "script style noscript template svg math canvas iframe object nav aside head button "
    "select input textarea audio video dialog"
)
_BLOCKS = _names(
    "address article blockquote body center dd details div dl dt fieldset figcaption figure "
    "footer form header hr html legend li main ol p pre section summary table tbody td tfoot "
    "th thead tr ul caption h1 h2 h3 h4 h5 h6"
)
_FURNITURE = _names(
    "navheader navfooter docnav toc headerlink sphinxsidebar related breadcrumb breadcrumbs navbar "
    "nav-links edit-this-page edit-link edit-page skip-link footer-nav pagination prev-next-area"
)
"""Classes and ids that documentation generators give to navigation."""
_FURNITURE_IDS = _FURNITURE | _names("banner footer navigation table-of-contents")
_BOXES = _names(
    "sidebar example table figure equation note tip warning caution important admonition "
    "admonitionblock"
)
"""Classes of DocBook and Sphinx for boxes that may have a title."""
_BOX_TITLES = _names("title admonition-title caption-text")
_BOLD = _names("b strong")
_HIDDEN_ROLES = _names("navigation banner search contentinfo menu complementary")
_MIN_MAIN_LENGTH = 200
_META = {
    "author": "author", "date": "date", "dc.date": "date", "article:published_time": "date",
    "description": "description", "og:description": "description", "keywords": "keywords",
    "og:title": "og:title", "dc.creator": "author",
}  # fmt: skip


class HtmlLoader:
    """Reads HTML and XHTML: headings, lists, tables, definitions, code and boxes with titles.

    Frames mark definitions with their terms, lists with their lead-in, and boxes with their titles.
    """

    name = "html"
    suffixes, signatures = FORMATS["html"]

    def load(self, source: Source) -> Content:
        declared = _DECLARED.search(source.data[:4_096])
        text = decode_text(source, declared=declared.group(1).decode("ascii") if declared else "")
        root = parse_html(text)
        if root is None:
            return Content("", "text/html")
        builder = TextBuilder(source)
        add_html(builder, _main_part(root))
        metadata = _metadata(root)
        open_graph_title = metadata.pop("og:title", "")
        head_title = root.find(".//head/title")
        title = _text_of(head_title) if head_title is not None else ""
        return builder.content("text/html", title=title or open_graph_title, metadata=metadata)


def parse_html(text: str) -> Any:  # noqa: ANN401 - an lxml element, which has no public type
    """Return the root element of a page, None for a blank text."""
    from lxml import etree

    parser = etree.HTMLParser(
        encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True
    )
    if not text.strip():
        return None
    return etree.fromstring(clean_text(text).encode("utf-8"), parser)


def add_html(builder: TextBuilder, root: Any) -> None:  # noqa: ANN401
    """Append the text below an element to a builder."""
    _Walk(builder).walk(root)


class _Walk:
    """Walks over a tree of elements and gathers running text into blocks."""

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._running: list[tuple[str, bool]] = []
        self._bold = 0
        self._links = 0
        self._is_linked = True
        self._preformatted = 0
        self._lists: list[int | None] = []
        self._item = ""
        self._after_item = False
        self._terms: list[str] = []
        self._is_defined = False
        self._open: list[_OpenFrame] = []
        self._marks_headers = False

    def walk(self, root: Any) -> None:  # noqa: ANN401
        from lxml import etree

        self._marks_headers = any(map(_has_header, root.iter("{*}table")))
        events = etree.iterwalk(root, events=("start", "end"))
        skipped = None
        for event, element in events:
            tag = element.tag if isinstance(element.tag, str) else ""
            name = tag.rpartition("}")[2].lower()
            if event == "start":
                if element is not root and _is_left_out(element, name):
                    skipped = element
                elif name == "table" and not _is_layout(element):
                    self._flush()
                    self._add_table(element)
                    skipped = element
                elif _is_generic_title(element):
                    skipped = element
                else:
                    self._bold += name in _BOLD
                    self._links += _is_link(element, name)
                    self._begin(element, name)
                if element is skipped:
                    events.skip_subtree()
            else:
                if element is not skipped:
                    self._bold -= name in _BOLD
                    self._links -= _is_link(element, name)
                    self._finish(element, name)
                if element is not root and element.tail:
                    self._run(element.tail)
        self._flush()

    def _begin(self, element: Any, name: str) -> None:  # noqa: ANN401
        if name in _BLOCKS:
            self._flush()
        if name == "br":
            self._running.append(("\n", False))
        elif name == "pre":
            self._preformatted += 1
            self._open_frame(element, FrameKind.CODE)
        elif name in ("ul", "ol"):
            self._lists.append(0 if name == "ol" else None)
            self._open_frame(element, FrameKind.LEAD, self._builder.lead())
        elif name == "li":
            self._item = self._bullet()
        elif name == "dt" and self._is_defined:
            self._terms, self._is_defined = [], False
        elif name == "dd":
            self._open_frame(element, FrameKind.TERM, ", ".join(self._terms))
            self._is_defined = True
        elif _classes(element) & _BOXES:
            self._open_frame(element, FrameKind.TITLE)
        if element.text:
            self._run(element.text)

    def _finish(self, element: Any, name: str) -> None:  # noqa: ANN401
        if len(name) == 2 and name[0] == "h" and name[1] in "123456":
            title = "".join(text for text, _ in self._running)
            self._clear()
            self._builder.heading(int(name[1]), title)
            self._after_item = False
            return
        if name in _BLOCKS:
            self._flush()
        if name == "pre":
            self._preformatted -= 1
        elif name == "li":
            self._item = ""  # the bullet of an empty item must not mark the next block
        elif name in ("ul", "ol") and self._lists:
            self._lists.pop()
            self._after_item = False if not self._lists else self._after_item
        elif name == "dt":
            self._terms.append(self._builder.tail)
        if self._open and self._open[-1].element is element:
            opened = self._open.pop()
            self._builder.frame(opened.kind, opened.start, opened.label)
        elif self._open and _classes(element) & _BOX_TITLES and not self._open[-1].label:
            self._open[-1] = self._open[-1]._replace(label=self._builder.tail)

    def _open_frame(self, element: Any, kind: FrameKind, label: str = "") -> None:  # noqa: ANN401
        self._open.append(_OpenFrame(element, kind, self._builder.length, label))

    def _bullet(self) -> str:
        """Return the marker of the next item: its number in an ordered list, else a dash."""
        if not self._lists or self._lists[-1] is None:
            return "- "
        self._lists[-1] += 1
        return f"{self._lists[-1]}. "

    def _run(self, text: str) -> None:
        """Add a piece of running text to the block."""
        spaced = text if self._preformatted else re.sub(r"[ \t\n\r\f\v]+", " ", text)
        self._running.append((spaced, self._bold > 0))
        self._is_linked &= self._links > 0 or not any(map(str.isalnum, text))

    def _flush(self) -> None:
        """Append the running text as a block, with the marker of its list item."""
        text = "".join(text for text, _ in self._running)
        term = "" if self._preformatted or not text.strip() else run_in_term(self._running)
        is_linked = self._is_linked
        self._clear()
        if not text.strip():
            return
        if not self._preformatted:
            text = re.sub(r" *\n *", "\n", re.sub(r" {2,}", " ", text))
        is_item = bool(self._item)
        gap = "\n" if is_item and self._after_item else "\n\n"
        span = self._builder.add(self._item + text.strip() if is_item else text, gap=gap)
        self._builder.frame(FrameKind.TERM, span.start, term)
        if is_linked:
            self._builder.links.append(span)
        self._after_item = is_item
        self._item = ""

    def _clear(self) -> None:
        self._running.clear()
        self._is_linked = True

    def _add_table(self, table: Any) -> None:  # noqa: ANN401
        title = ""
        for caption in table.iter("{*}caption"):
            title = _text_of(caption)
            self._builder.add(title)
        rows = [_cells(row) for row in table.iter("{*}tr")]
        add_table(
            self._builder,
            spread_cells([_read_cell(cell) for cell in row] for row in rows),
            # If other tables of the page mark their header, a table without a mark has no header.
            header=_has_header(table) or (False if self._marks_headers else None),
            keyed=all(_is_keyed(row) for row in rows if row),
            title=title,
        )
        self._after_item = False


class _OpenFrame(NamedTuple):
    element: Any
    kind: FrameKind
    start: int
    label: str


def _classes(element: Any) -> frozenset[str]:  # noqa: ANN401
    return frozenset((element.get("class") or "").split())


def _is_link(element: Any, name: str) -> bool:  # noqa: ANN401
    return name == "a" and element.get("href") is not None


def _is_generic_title(element: Any) -> bool:  # noqa: ANN401
    """Return True for the title of a box that only names its kind, such as "Note"."""
    return bool(_classes(element) & _BOX_TITLES) and is_generic_title(_text_of(element))


def _name_of(element: Any) -> str:  # noqa: ANN401
    return element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else ""


def _text_of(element: Any) -> str:  # noqa: ANN401
    """Return the text below an element on one line, without scripts and style sheets."""
    from lxml import etree

    parts: list[str] = []
    events = etree.iterwalk(element, events=("start", "end"))
    for event, inner in events:
        name = _name_of(inner)
        if event == "start":
            if name in ("script", "style"):
                events.skip_subtree()
                continue
            parts.append(" " if name in _BLOCKS or name == "br" else "")
            parts.append(inner.text or "")
        elif inner is not element:
            parts.append(inner.tail or "")
    return " ".join("".join(parts).split())


def _has_header(table: Any) -> bool:  # noqa: ANN401
    """Return True if the first row of a table is marked as its header.

    It is in a `thead`, or all its cells except an empty corner are `th` elements or bold.
    """
    first = next((row for row in table.iter("{*}tr") if _cells(row)), None)
    if first is None:
        return False
    if _name_of(first.getparent()) == "thead":
        return True
    corner, *others = _cells(first)
    named = others if others and not _text_of(corner) else [corner, *others]
    return all(_name_of(cell) == "th" or _is_bold(cell) for cell in named)


def _is_bold(cell: Any) -> bool:  # noqa: ANN401
    """Return True if all text of a cell is bold."""
    bold = "".join(_text_of(inner) for inner in cell.iter("{*}b", "{*}strong"))
    return bool(bold) and bold == _text_of(cell)


def _cells(row: Any) -> list[Any]:  # noqa: ANN401
    return [cell for cell in row if _name_of(cell) in ("td", "th")]


def _is_keyed(row: list[Any]) -> bool:
    """Return True if the first cell of a row is a `th` element and no other cell is."""
    first, *others = map(_name_of, row)
    return first == "th" and bool(others) and "th" not in others


def _read_cell(cell: Any) -> SpanningCell:  # noqa: ANN401
    return SpanningCell(_text_of(cell), _count(cell.get("colspan")), _count(cell.get("rowspan")))


def _count(spanned: str | None) -> int:
    """Return the value of a colspan or rowspan attribute, 1 if it is missing or invalid."""
    return int(spanned) if spanned and re.fullmatch(r"[1-9]\d{0,4}", spanned) else 1


def _is_left_out(element: Any, name: str) -> bool:  # noqa: ANN401
    """Return True for hidden elements, navigation and elements without text of the page."""
    if not name or name in _LEFT_OUT or element.get("hidden") is not None:
        return True
    if element.get("aria-hidden") == "true" or element.get("role") in _HIDDEN_ROLES:
        return True
    if _classes(element) & _FURNITURE or element.get("id") in _FURNITURE_IDS:
        return True
    if name in ("header", "footer"):
        # Only those of the page: the header and footer of an article hold its title and notes.
        return _name_of(element.getparent()) == "body" and not any(True for _ in element.iter("h1"))
    style = element.get("style")
    return bool(style) and "display:none" in style.replace(" ", "").lower()


def _is_layout(table: Any) -> bool:  # noqa: ANN401
    """Return True if a table only arranges content: it contains other blocks, or is a note."""
    parent = table.getparent()
    if parent is not None and "admonitionblock" in _classes(parent):
        return True
    inside = (_name_of(element) for element in table.iterdescendants())
    return any(name in ("table", "h1", "h2", "h3", "h4", "ul", "ol", "pre") for name in inside)


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
