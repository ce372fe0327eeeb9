"""Load presentations: each slide is a page, with its title as heading and its notes at the end."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from knotwork._indexing.loaders.blocks import BULLET, BlockWriter
from knotwork._indexing.loaders.lines import read_line, written_mark
from knotwork._indexing.loaders.loader import (
    Content,
    FormatLoader,
    Source,
    check_archive,
    office_metadata,
)
from knotwork._indexing.loaders.pictures import EmbeddedPictures
from knotwork._indexing.loaders.table_rows import SpanningCell, spread_cells
from knotwork._indexing.loaders.titles_and_captions import (
    MIN_REPEATING_PAGES,
    is_monospaced_font,
    run_in_term,
)
from knotwork._text.languages import detect_language
from knotwork.records import BlockKind

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_MAX_GROUP_DEPTH = 20
_DIGITS = 5
"""Digits of the number of the first item, at most."""


class SlidesLoader(FormatLoader, name="pptx"):
    """Reads .pptx: titles, text boxes, tables, groups and notes, slide by slide."""

    def load(self, source: Source) -> Content:
        import pptx

        check_archive(source)
        presentation = pptx.Presentation(io.BytesIO(source.data))
        writer = BlockWriter(source)
        slides = list(presentation.slides)
        pictures = EmbeddedPictures(writer, source)
        deck = _Deck(writer, slides, pictures)
        for number, slide in enumerate(slides, start=1):
            writer.page(str(number))
            deck.add(slide)
        properties = presentation.core_properties
        metadata = office_metadata(properties, pages=len(slides)) | pictures.metadata
        return writer.content(MEDIA_TYPE, title=properties.title or "", metadata=metadata)


class _Deck:
    """Appends slides to a writer, without text that most slides repeat."""

    def __init__(
        self, writer: BlockWriter, slides: Sequence[Any], pictures: EmbeddedPictures
    ) -> None:
        self._writer = writer
        self._pictures = pictures
        self._furniture = _repeated_texts(slides)
        self._has_parts = any(_opens_part(slide) for slide in slides)

    def add(self, slide: Any) -> None:  # noqa: ANN401 - a python-pptx slide
        """Append a slide: title, text boxes, tables and speaker notes."""
        title = slide.shapes.title
        if title is not None and title.has_text_frame:
            below = self._has_parts and not _opens_part(slide)
            self._writer.heading(2 if below else 1, title.text_frame.text)
        for shape in _shapes(slide.shapes):
            if shape == title:
                continue
            if getattr(shape, "has_table", False) and shape.has_table:
                cells = ([c for c in row.cells if not c.is_spanned] for row in shape.table.rows)
                rows = spread_cells(map(_read_cell, row) for row in cells)
                self._writer.table(rows, header=None if shape.table.first_row else False)
            elif shape.has_text_frame and not self._is_furniture(shape):
                self._add_paragraphs(shape.text_frame.paragraphs)
            elif data := _picture_of(shape):
                self._pictures.add(data)
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        if notes is not None and notes.text.strip():
            label = "备注" if detect_language(notes.text) == "zh" else "Speaker notes"
            with self._writer.block(BlockKind.BOX, label):
                for line in notes.text.split("\n"):
                    self._writer.paragraph(line)

    def _add_paragraphs(self, paragraphs: Sequence[Any]) -> None:
        """Append the paragraphs of a text box: as code if monospaced, as a list if several."""
        filled = [p for p in paragraphs if p.text.strip()]
        if filled and all(_is_code(paragraph) for paragraph in filled):
            self._writer.code("\n".join(p.text.replace("\v", "\n") for p in filled))
            return
        numbers: dict[int, int] = {}
        for number, paragraph in enumerate(filled):
            mark, text = written_mark(read_line(" ".join(paragraph.text.split())))
            if counted := _counted(paragraph, numbers):
                mark = f"{counted}."
            term = run_in_term((run.text, bool(run.font.bold)) for run in paragraph.runs)
            is_lead = number == 0 and mark == BULLET and text.endswith((":", "："))
            if is_lead or len(filled) == 1:
                self._writer.paragraph(" ".join(paragraph.text.split()), term=term)
            else:
                self._writer.item(text, level=paragraph.level, mark=mark, term=term)
        self._writer.end_lists()

    def _is_furniture(self, shape: Any) -> bool:  # noqa: ANN401
        """Return True if a shape has the slide number, date, footer or text of most slides."""
        from pptx.enum.shapes import PP_PLACEHOLDER

        if shape.is_placeholder and shape.placeholder_format.type in (
            PP_PLACEHOLDER.SLIDE_NUMBER,
            PP_PLACEHOLDER.DATE,
            PP_PLACEHOLDER.FOOTER,
            PP_PLACEHOLDER.HEADER,
        ):
            return True
        return _without_numbers(shape.text_frame.text) in self._furniture


def _counted(paragraph: Any, numbers: dict[int, int]) -> int:  # noqa: ANN401
    """Return the number that a slide shows before a paragraph, 0 for none.

    ``numbers`` are the last ones of each level, which a paragraph of a higher level ends.
    """
    level = paragraph.level
    for deeper in [other for other in numbers if other > level]:
        del numbers[deeper]
    style = f"../a:lstStyle/a:lvl{level + 1}pPr"
    marks = paragraph._p.xpath("a:pPr/*[starts-with(name(), 'a:bu')]")  # noqa: SLF001
    marks = marks or paragraph._p.xpath(f"{style}/*[starts-with(name(), 'a:bu')]")  # noqa: SLF001
    automatic = [mark for mark in marks if mark.tag.endswith("}buAutoNum")]
    if not automatic:
        numbers.pop(level, None)
        return 0
    start = automatic[0].get("startAt") or ""
    first = int(start) if start.isascii() and start.isdecimal() and len(start) <= _DIGITS else 1
    numbers[level] = numbers.get(level, first - 1) + 1
    return numbers[level]


def _picture_of(shape: Any) -> bytes:  # noqa: ANN401
    """Return the bytes of a picture that is in the file, else b""."""
    try:
        image = getattr(shape, "image", None)
    except (KeyError, ValueError):  # it is linked, or its part is missing
        return b""
    return bytes(image.blob) if image is not None else b""


def _repeated_texts(slides: Sequence[Any]) -> frozenset[str]:
    """Return the texts that have a shape of their own on most slides, with ``#`` for numbers."""
    if len(slides) < MIN_REPEATING_PAGES:
        return frozenset()
    counts = Counter(
        text
        for slide in slides
        for text in {
            _without_numbers(shape.text_frame.text)
            for shape in _shapes(slide.shapes)
            if shape.has_text_frame and shape != slide.shapes.title
        }
    )
    return frozenset(text for text, count in counts.items() if 2 * count > len(slides))


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+", "#", " ".join(text.split()))


def _opens_part(slide: Any) -> bool:  # noqa: ANN401
    """Return True if the layout of a slide is that of a title or section header."""
    return slide.slide_layout.element.get("type") in ("secHead", "title")


def _is_code(paragraph: Any) -> bool:  # noqa: ANN401
    runs = [run for run in paragraph.runs if run.text.strip()]
    return bool(runs) and all(is_monospaced_font(run.font.name or "") for run in runs)


def _read_cell(cell: Any) -> SpanningCell:  # noqa: ANN401
    if cell.is_merge_origin:
        return SpanningCell(cell.text, cell.span_width, cell.span_height)
    return SpanningCell(cell.text)


def _shapes(shapes: Iterable[Any], depth: int = 0) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes") and depth < _MAX_GROUP_DEPTH:
            yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape
