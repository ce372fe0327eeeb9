"""Load presentations: each slide is a page, with its title as heading.

Its speaker notes and comments are at the end of it.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from knotwork._extensions.formats.equations import equation_text
from knotwork._extensions.formats.grids import SpanningCell, add_grid, read_table
from knotwork._extensions.formats.list_numbers import written_number
from knotwork._extensions.formats.office_markup import (
    EQUATIONS,
    A,
    Graphics,
    add_item,
    choose_alternatives,
    comment_text,
    parsed,
    picture_text,
    related,
    write_apart,
)
from knotwork._extensions.media.pictures import EmbeddedPictures
from knotwork._indexing.loaders.blocks import BULLET, BlockWriter
from knotwork._indexing.loaders.lines import read_line, written_mark
from knotwork._indexing.loaders.loader import (
    Content,
    FormatLoader,
    Source,
    check_archive,
    office_metadata,
    whole_number,
)
from knotwork._indexing.loaders.titles_and_captions import (
    MIN_REPEATING_PAGES,
    is_monospaced_font,
    run_in_term,
)
from knotwork._text.languages import detect_language
from knotwork.records import BlockKind

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_MAX_GROUP_DEPTH = 20
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_EQUATIONS = ("{http://schemas.microsoft.com/office/drawing/2010/main}m", *EQUATIONS)
_MEDIA = {f"{A}videoFile": "video", f"{A}audioFile": "sound", f"{A}wavAudioFile": "sound"}
_ENDINGS = {"ParenBoth": "({})", "ParenR": "{})", "Plain": "{}", "Minus": "{}-", "Period": "{}."}


class SlidesLoader(FormatLoader, name="pptx"):
    """Reads .pptx: titles, text boxes, tables, charts, diagrams and notes, slide by slide."""

    def load(self, source: Source) -> Content:
        import pptx

        check_archive(source)
        presentation = pptx.Presentation(io.BytesIO(source.data))
        writer = BlockWriter(source)
        slides = list(presentation.slides)
        for slide in slides:
            _reduce(slide.element)
            if slide.has_notes_slide:
                _reduce(slide.notes_slide.element)
        pictures = EmbeddedPictures(writer, source)
        authors = dict(_authors(presentation.part))
        deck = _Deck(writer, source, slides, pictures, authors)
        for number, slide in enumerate(slides, start=1):
            writer.page(str(number))
            deck.add(slide)
        properties = presentation.core_properties
        metadata = office_metadata(properties, pages=len(slides)) | pictures.metadata
        return writer.content(MEDIA_TYPE, title=properties.title or "", metadata=metadata)


class _Deck:
    """Appends slides to a writer, without text that most slides repeat."""

    def __init__(
        self,
        writer: BlockWriter,
        source: Source,
        slides: Sequence[Any],
        pictures: EmbeddedPictures,
        authors: Mapping[str, str],
    ) -> None:
        self._writer = writer
        self._pictures = pictures
        self._left_out = source.left_out
        self._graphics = Graphics(writer, source.left_out)
        self._authors = authors
        self._furniture = _repeated_texts(slides)
        self._has_parts = any(_opens_part(slide) for slide in slides)

    def add(self, slide: Any) -> None:  # noqa: ANN401 - a python-pptx slide
        """Append a slide: title, text boxes, tables, graphics, speaker notes and comments."""
        parts = {r.rId: r.target_part for r in slide.part.rels.values() if not r.is_external}
        title = slide.shapes.title
        if title is not None and title.has_text_frame:
            below = self._has_parts and not _opens_part(slide)
            self._writer.heading(2 if below else 1, title.text_frame.text)
        for shape in _shapes(slide.shapes):
            if shape == title:
                continue
            if getattr(shape, "has_table", False) and shape.has_table:
                rows = ([c for c in row.cells if not c.is_spanned] for row in shape.table.rows)
                read = [[*map(_read_cell, row)] for row in rows]
                add_grid(self._writer, read_table(read, may_have_header=shape.table.first_row))
            elif shape.has_text_frame:
                if not self._is_furniture(shape):
                    self._add_paragraphs(shape.text_frame.paragraphs)
            else:
                self._add_graphic(shape, parts)
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        if notes is not None and notes.text.strip():
            label = "备注" if detect_language(notes.text) == "zh" else "Speaker notes"
            with self._writer.block(BlockKind.BOX, label):
                for line in notes.text.split("\n"):
                    self._writer.paragraph(line)
        for author, text in _comments(slide.part):
            self._writer.paragraph(comment_text(self._authors.get(author, ""), text))

    def _add_graphic(self, shape: Any, parts: Mapping[str, Any]) -> None:  # noqa: ANN401
        """Append a picture, chart or diagram with its alternative text."""
        element = shape._element  # noqa: SLF001
        named = next(element.iter(f"{P}cNvPr"), None)
        if text := picture_text(named.get("descr") or "") if named is not None else "":
            with self._writer.block(BlockKind.FIGURE):
                self._writer.paragraph(text)
        if data := _picture_of(shape):
            self._pictures.add(data)
        for inner in element.iter():
            if self._graphics.is_graphic(inner):
                self._graphics.add(inner, parts)
            elif inner.tag in _MEDIA:
                self._left_out[_MEDIA[inner.tag]] += 1

    def _add_paragraphs(self, paragraphs: Sequence[Any]) -> None:
        """Append the paragraphs of a text box: as code if monospaced, as a list if several."""
        filled = [p for p in paragraphs if p.text.strip()]
        if filled and all(_is_code(paragraph) for paragraph in filled):
            self._writer.code("\n".join(p.text.replace("\v", "\n") for p in filled))
            return
        numbers: dict[int, tuple[str, int]] = {}
        for number, paragraph in enumerate(filled):
            mark, text = written_mark(read_line(" ".join(paragraph.text.split())))
            label = _counted(paragraph, numbers) or ("" if mark == BULLET else f"{mark} ")
            term = run_in_term((run.text, bool(run.font.bold)) for run in paragraph.runs)
            is_lead = number == 0 and not label and text.endswith((":", "："))
            if is_lead or len(filled) == 1:
                self._writer.paragraph(" ".join(paragraph.text.split()), term=term)
            else:
                level = paragraph.level
                add_item(self._writer, text, label=label, level=level, term=term)
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


def _counted(paragraph: Any, numbers: dict[int, tuple[str, int]]) -> str:  # noqa: ANN401
    """Return the number that a slide shows before a paragraph with a space, "" for none.

    ``numbers`` are the last ones of each level with their form, which a paragraph of a higher
    level or another form ends.
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
        return ""
    kind = automatic[0].get("type") or ""
    first = whole_number(automatic[0].get("startAt"))
    before, last = numbers.get(level, (kind, first - 1))
    number = last + 1 if before == kind else first
    numbers[level] = kind, number
    ending = next((end for end in _ENDINGS if kind.endswith(end)), "Period")
    return f"{_ENDINGS[ending].format(written_number(number, kind.removesuffix(ending)))} "


def _reduce(root: Any) -> None:  # noqa: ANN401
    """Reduce the XML of a slide to what it shows: no struck text, raised text written apart."""
    choose_alternatives(root)
    for name in [*root.iter(f"{P}cNvPr")]:
        if name.get("hidden") in ("1", "true"):
            shape = name.getparent().getparent()
            shape.getparent().remove(shape)
    for paragraph in root.iter(f"{A}p"):
        shown: list[tuple[Any, str, str]] = []
        for run in [*paragraph.iterchildren(f"{A}r", f"{A}fld", f"{A}br", *_EQUATIONS)]:
            properties = run.find(f"{A}rPr")
            if run.tag in _EQUATIONS:
                inner = run.makeelement(f"{A}r", {})
                inner.append(run.makeelement(f"{A}t", {}))
                shown.append((inner, equation_text(run), ""))
                paragraph.replace(run, inner)
                continue
            if properties is not None and properties.get("strike", "noStrike") != "noStrike":
                paragraph.remove(run)
                continue
            text = "\n" if run.tag == f"{A}br" else run.findtext(f"{A}t") or ""
            raised = properties.get("baseline", "0") if properties is not None else "0"
            place = "subscript" if raised.startswith("-") else "superscript"
            place = place if raised.strip("-0.%") else ""
            shown.append((run, text, place))
        texts = write_apart([(text, place) for _, text, place in shown])
        for (run, _, _), text in zip(shown, texts, strict=True):
            held = run.find(f"{A}t")
            if held is not None:
                held.text = text


def _authors(presentation: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """Yield the number and name of each author of comments, of both forms of comments."""
    for kind in ("commentAuthors", "authors"):
        for root in map(parsed, related(presentation, kind)):
            for author in root if root is not None else ():
                yield author.get("id") or "", author.get("name") or ""


def _comments(slide: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """Yield the number of the author and the text of each comment and reply on a slide."""
    for root in map(parsed, related(slide, "comments")):
        for element in root.iter(f"{P}text", "{*}txBody") if root is not None else ():
            if text := " ".join("".join(element.itertext()).split()):
                yield element.getparent().get("authorId") or "", text


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
