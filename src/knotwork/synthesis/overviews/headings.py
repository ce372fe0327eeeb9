"""Citations of headings: where a title stands in its document."""

from __future__ import annotations

from knotwork.records import Chunk, Span
from knotwork.stores.base import Store
from knotwork.synthesis.overviews.outline import Part
from knotwork.synthesis.selection import Selected

_NEAR = 40
"""Characters before a heading, its marks, that may stand between it and its section's start."""


def cite_heading(store: Store, part: Part, chunks: list[Chunk] | None = None) -> Selected | None:
    """Return the heading of a part as a source; its first sentence where its text has no heading.

    None where the part has no text.
    """
    if chunks is None:
        chunks = _first_chunks(store, part)
    start = max(part.span.start, 0)
    for chunk in chunks:
        if not chunk.span.start <= start < chunk.span.end:
            continue
        place = chunk.text.find(part.title, start - chunk.span.start)
        if 0 <= place <= start - chunk.span.start + _NEAR and part.title:
            at = chunk.span.start + place
            return Selected(chunk, Span(at, at + len(part.title)), part.title, 1.0, 0)
    for chunk in chunks:
        if chunk.sentences:
            return Selected(chunk, chunk.sentences[0], chunk.sentence_text(0), 1.0, 0)
    return None


def _first_chunks(store: Store, part: Part) -> list[Chunk]:
    keys = store.documents.chunk_ids(part.document_id)
    if part.level == 0:
        keys = keys[:1]
    chunks = store.documents.chunks(keys).values()
    return sorted((c for c in chunks if c.span.end > part.span.start), key=lambda c: c.ordinal)
