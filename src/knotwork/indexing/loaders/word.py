"""Word documents: paragraphs, headings by their style, lists and tables."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

from knotwork.indexing.loaders.archives import check_archive
from knotwork.indexing.loaders.base import Content, Source, TextBuilder, flat_metadata
from knotwork.indexing.loaders.rows import row_lines

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_HEADING_STYLE = re.compile(r"(?:heading|überschrift|titre|标题|標題)\s*(\d)", re.IGNORECASE)
_BLANKS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}


class WordLoader:
    """Reads .docx; deleted text of tracked changes is left out, inserted text kept."""

    name = "docx"
    suffixes = (".docx", ".docm", ".dotx")
    signatures: tuple[bytes, ...] = ()

    def load(self, source: Source) -> Content:
        import docx

        check_archive(source)
        document = docx.Document(io.BytesIO(source.data))
        builder = TextBuilder()
        _Body(builder, _heading_levels(document)).add(document.element.body)
        properties = document.core_properties
        metadata = flat_metadata(
            {
                "author": properties.author,
                "subject": properties.subject,
                "keywords": properties.keywords,
                "language": properties.language,
                "date": properties.modified or properties.created,
            }
        )
        return builder.content(MEDIA_TYPE, title=properties.title or "", metadata=metadata)


def _heading_levels(document: Any) -> dict[str, int]:  # noqa: ANN401 - a python-docx document
    """Return the heading level of each style that has one, by the style's id."""
    levels: dict[str, int] = {}
    for style in document.styles.element.iter(f"{_W}style"):
        identity = style.get(f"{_W}styleId") or ""
        name = style.find(f"{_W}name")
        label = (name.get(f"{_W}val") or "") if name is not None else ""
        outline = style.find(f"{_W}pPr/{_W}outlineLvl")
        match = _HEADING_STYLE.fullmatch(label.strip())
        if label.lower() == "title":
            levels[identity] = 1
        elif match:
            levels[identity] = int(match.group(1))
        elif outline is not None and outline.get(f"{_W}val", "9") in "012345678":
            levels[identity] = int(outline.get(f"{_W}val")) + 1
    return levels


class _Body:
    def __init__(self, builder: TextBuilder, levels: dict[str, int]) -> None:
        self._builder = builder
        self._levels = levels
        self._after_item = False

    def add(self, parent: Any) -> None:  # noqa: ANN401
        for element in parent:
            if element.tag == f"{_W}p":
                self._add_paragraph(element)
            elif element.tag == f"{_W}tbl":
                self._add_table(element)
            elif element.tag in (f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}customXml"):
                self.add(element)

    def _add_paragraph(self, paragraph: Any) -> None:  # noqa: ANN401
        text = _text_of(paragraph)
        if not text.strip():
            return
        level = self._level(paragraph)
        if level:
            self._builder.heading(level, text)
            self._after_item = False
            return
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        is_item = paragraph.find(f"{_W}pPr/{_W}numPr") is not None or (
            style is not None and (style.get(f"{_W}val") or "").startswith("List")
        )
        gap = "\n" if is_item and self._after_item else "\n\n"
        self._builder.add(f"- {text.strip()}" if is_item else text, gap=gap)
        self._after_item = is_item

    def _level(self, paragraph: Any) -> int:  # noqa: ANN401
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        level = self._levels.get(style.get(f"{_W}val") or "", 0) if style is not None else 0
        outline = paragraph.find(f"{_W}pPr/{_W}outlineLvl")
        if not level and outline is not None and outline.get(f"{_W}val", "9") in "012345678":
            level = int(outline.get(f"{_W}val")) + 1
        return level

    def _add_table(self, table: Any) -> None:  # noqa: ANN401
        rows = ([_text_of(cell) for cell in _cells(row)] for row in table.iterchildren(f"{_W}tr"))
        for number, line in enumerate(row_lines(rows)):
            self._builder.add(line, gap="\n\n" if number == 0 else "\n")
        self._after_item = False


def _cells(row: Any) -> Iterator[Any]:  # noqa: ANN401
    for element in row:
        if element.tag == f"{_W}tc":
            yield element
        elif element.tag == f"{_W}sdt":
            yield from element.iter(f"{_W}tc")


def _text_of(element: Any) -> str:  # noqa: ANN401
    """Return the text of all runs below an element, paragraphs parted by line ends."""
    parts: list[str] = []
    # A text box is written twice: the second time for programs of before 2010.
    doubled = {id(inner) for fallback in element.iter(_FALLBACK) for inner in fallback.iter()}
    for inner in element.iter():
        if doubled and id(inner) in doubled:
            continue
        if inner.tag == f"{_W}t":
            parts.append(inner.text or "")
        elif inner.tag in _BLANKS:
            parts.append(_BLANKS[inner.tag])
        elif inner.tag == f"{_W}p" and parts:
            parts.append("\n")
    return "".join(parts)
