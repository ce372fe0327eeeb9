"""Clean the text of documents that a program gives, with the offsets into it."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, pairwise

from knotwork._text.visible import visible_text
from knotwork.records import Document, Span


def visible_document(document: Document) -> Document:
    """Return the document with its text as `visible_text` writes it, and offsets into that.

    A document whose text is clean is returned itself.
    """
    if visible_text(document.text) == document.text:
        return document
    tables = document.tables
    spans = chain(
        (block.span for block in document.blocks),
        (timed.span for timed in document.times),
        (boxed.span for boxed in document.boxes),
        *(table.spans for table in tables),
    )
    length = len(document.text)
    offsets = {0, length, *chain.from_iterable((span.start, span.end) for span in spans)}
    offsets.update(page.start for page in document.pages)
    inside = sorted(offset for offset in offsets if 0 <= offset <= length)
    moved, parts, end = {0: 0}, [], 0
    for start, stop in pairwise(inside):
        parts.append(visible_text(document.text[start:stop]))
        end += len(parts[-1])
        moved[stop] = end

    def move(span: Span) -> Span:
        return Span(moved.get(span.start, span.start), moved.get(span.end, span.end))

    return replace(
        document,
        text="".join(parts),
        blocks=tuple(block._replace(span=move(block.span)) for block in document.blocks),
        pages=tuple(replace(p, start=moved.get(p.start, p.start)) for p in document.pages),
        tables=tuple(replace(t, spans=tuple(map(move, t.spans))) for t in tables),
        times=tuple(timed._replace(span=move(timed.span)) for timed in document.times),
        boxes=tuple(boxed._replace(span=move(boxed.span)) for boxed in document.boxes),
    )
