"""Presentations: a page for each slide, its title as a heading, its notes at the end."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

from knotwork.indexing.loaders.archives import check_archive
from knotwork.indexing.loaders.base import Content, Source, TextBuilder, flat_metadata
from knotwork.indexing.loaders.rows import row_lines

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_DEEPEST_GROUP = 20


class SlidesLoader:
    """Reads .pptx: text boxes, tables, groups and notes, slide by slide."""

    name = "pptx"
    suffixes = (".pptx", ".pptm", ".ppsx")
    signatures: tuple[bytes, ...] = ()

    def load(self, source: Source) -> Content:
        import pptx

        check_archive(source)
        presentation = pptx.Presentation(io.BytesIO(source.data))
        builder = TextBuilder()
        for number, slide in enumerate(presentation.slides, start=1):
            builder.page(str(number))
            _add_slide(builder, slide)
        properties = presentation.core_properties
        metadata = flat_metadata(
            {
                "author": properties.author,
                "subject": properties.subject,
                "keywords": properties.keywords,
                "language": properties.language,
                "date": properties.modified or properties.created,
                "pages": len(presentation.slides),
            }
        )
        return builder.content(MEDIA_TYPE, title=properties.title or "", metadata=metadata)


def _add_slide(builder: TextBuilder, slide: Any) -> None:  # noqa: ANN401 - a python-pptx slide
    title = slide.shapes.title
    if title is not None and title.has_text_frame:
        builder.heading(1, title.text_frame.text)
    for shape in _shapes(slide.shapes):
        if title is not None and shape.shape_id == title.shape_id:
            continue
        if getattr(shape, "has_table", False) and shape.has_table:
            rows = ([cell.text for cell in row.cells] for row in shape.table.rows)
            for number, line in enumerate(row_lines(rows)):
                builder.add(line, gap="\n\n" if number == 0 else "\n")
        elif shape.has_text_frame and not _is_slide_number(shape):
            _add_paragraphs(builder, [p.text for p in shape.text_frame.paragraphs])
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        builder.add(slide.notes_slide.notes_text_frame.text)


def _add_paragraphs(builder: TextBuilder, paragraphs: list[str]) -> None:
    """Append the paragraphs of a text box, as a list where they are several short ones."""
    texts = [" ".join(text.split()) for text in paragraphs if text.strip()]
    is_list = len(texts) > 1
    for number, text in enumerate(texts):
        builder.add(f"- {text}" if is_list else text, gap="\n" if number else "\n\n")


def _shapes(shapes: Iterable[Any], depth: int = 0) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes") and depth < _DEEPEST_GROUP:
            yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape


def _is_slide_number(shape: Any) -> bool:  # noqa: ANN401
    from pptx.enum.shapes import PP_PLACEHOLDER

    left_out = (PP_PLACEHOLDER.SLIDE_NUMBER, PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER)
    return bool(shape.is_placeholder) and shape.placeholder_format.type in left_out
