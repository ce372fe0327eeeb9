"""Load presentations: each slide is a page, with its title as heading and its notes at the end."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from knotwork._indexing.loaders.embedded_pictures import EmbeddedPictures
from knotwork._indexing.loaders.loader import (
    FORMATS,
    Content,
    Source,
    TextBuilder,
    check_archive,
    flat_metadata,
)
from knotwork._indexing.loaders.tables_and_lists import (
    ListWriter,
    SpanningCell,
    add_table,
    spread_cells,
)
from knotwork._indexing.loaders.titles_and_captions import (
    MIN_REPEATING_PAGES,
    is_monospaced_font,
    run_in_term,
)
from knotwork._text.languages import detect_language
from knotwork.records import FrameKind

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_MAX_GROUP_DEPTH = 20


class SlidesLoader:
    """Reads .pptx: titles, text boxes, tables, groups and notes, slide by slide."""

    name = "pptx"
    suffixes, signatures = FORMATS["pptx"]

    def load(self, source: Source) -> Content:
        import pptx

        check_archive(source)
        presentation = pptx.Presentation(io.BytesIO(source.data))
        builder = TextBuilder(source)
        slides = list(presentation.slides)
        pictures = EmbeddedPictures(builder, source)
        deck = _Deck(builder, slides, pictures)
        for number, slide in enumerate(slides, start=1):
            builder.page(str(number))
            deck.add(slide)
        properties = presentation.core_properties
        metadata = flat_metadata(
            {
                "author": properties.author,
                "subject": properties.subject,
                "keywords": properties.keywords,
                "language": properties.language,
                "date": properties.modified or properties.created,
                "pages": len(slides),
            }
        )
        metadata |= pictures.metadata
        return builder.content(MEDIA_TYPE, title=properties.title or "", metadata=metadata)


class _Deck:
    """Appends slides to a builder, without text that most slides repeat."""

    def __init__(
        self, builder: TextBuilder, slides: Sequence[Any], pictures: EmbeddedPictures
    ) -> None:
        self._builder = builder
        self._pictures = pictures
        self._furniture = _repeated_texts(slides)
        self._has_parts = any(_opens_part(slide) for slide in slides)

    def add(self, slide: Any) -> None:  # noqa: ANN401 - a python-pptx slide
        """Append a slide: title, text boxes, tables and speaker notes."""
        title = slide.shapes.title
        if title is not None and title.has_text_frame:
            below = self._has_parts and not _opens_part(slide)
            self._builder.heading(2 if below else 1, title.text_frame.text)
        for shape in _shapes(slide.shapes):
            if title is not None and shape.shape_id == title.shape_id:
                continue
            if getattr(shape, "has_table", False) and shape.has_table:
                self._add_table(shape.table)
            elif shape.has_text_frame and not self._is_furniture(shape):
                self._add_paragraphs(shape.text_frame.paragraphs)
            elif data := _picture_of(shape):
                self._pictures.add(data)
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        if notes is not None and notes.text.strip():
            start = self._builder.length
            self._builder.add(notes.text)
            label = "备注" if detect_language(notes.text) == "zh" else "Speaker notes"
            self._builder.frame(FrameKind.TITLE, start, label)

    def _add_table(self, table: Any) -> None:  # noqa: ANN401
        rows = [
            [_read_cell(cell) for cell in row.cells if not cell.is_spanned] for row in table.rows
        ]
        add_table(self._builder, spread_cells(rows), header=None if table.first_row else False)

    def _add_paragraphs(self, paragraphs: Sequence[Any]) -> None:
        """Append the paragraphs of a text box: as code if monospaced, as a list if several."""
        filled = [p for p in paragraphs if p.text.strip()]
        if filled and all(_is_code(paragraph) for paragraph in filled):
            start = self._builder.length
            self._builder.add("\n".join(p.text.replace("\v", "\n") for p in filled))
            self._builder.frame(FrameKind.CODE, start)
            return
        lists = ListWriter(self._builder)
        for number, paragraph in enumerate(filled):
            text = " ".join(paragraph.text.split())
            start = self._builder.length
            if len(filled) == 1 or (number == 0 and text.endswith((":", "："))):
                self._builder.add(text)
            else:
                lists.add(text, level=paragraph.level)
            runs = ((run.text, bool(run.font.bold)) for run in paragraph.runs)
            self._builder.frame(FrameKind.TERM, start, run_in_term(runs))
        lists.close()

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
            if shape.has_text_frame and not _is_title(shape)
        }
    )
    return frozenset(text for text, count in counts.items() if 2 * count > len(slides))


def _without_numbers(text: str) -> str:
    """Return a text on one line with ``#`` in place of numbers."""
    return re.sub(r"\d+", "#", " ".join(text.split()))


def _is_title(shape: Any) -> bool:  # noqa: ANN401
    from pptx.enum.shapes import PP_PLACEHOLDER

    titles = (PP_PLACEHOLDER.TITLE, PP_PLACEHOLDER.CENTER_TITLE, PP_PLACEHOLDER.VERTICAL_TITLE)
    return bool(shape.is_placeholder) and shape.placeholder_format.type in titles


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
