"""Small records for tests: documents with known structure, mentions and relations by name."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from knotwork.records import (
    Chunk,
    Document,
    Frame,
    FrameKind,
    Heading,
    Mention,
    Page,
    Relation,
    Section,
    Span,
    content_id,
    entity_id,
)


def sample_mention(
    chunk_id: str, name: str, *, type_: str = "", times: int = 1, about: float = 0.0
) -> Mention:
    """Return a mention of the entity whose normal form is ``name`` in lower case."""
    spans = tuple(Span(10 * index, 10 * index + 3) for index in range(times))
    return Mention(chunk_id, name.lower(), name, type_, spans, about)


def sample_relation(
    chunk_id: str, source: str, relation: str, target: str, *, weight: int = 1
) -> Relation:
    """Return a relation between two entities, given by their normal forms."""
    return Relation(chunk_id, entity_id(source), relation, entity_id(target), weight)


def sample_document(
    uri: str,
    texts: Sequence[str],
    *,
    title: str = "",
    with_parent: bool = False,
    framed: bool = False,
) -> tuple[Document, list[Section], list[Chunk]]:
    """Return a document with one chunk a text, in a section of its own below the root.

    ``with_parent`` adds a parent chunk above all of them, ``framed`` puts a frame around the text.
    """
    text = "\n".join(texts)
    headings = (Heading(1, "Part", Span(0, 4)),)
    frames = (Frame(FrameKind.TERM, Span(0, len(text)), "a Term, 术语"),) if framed else ()
    metadata, pages = {"author": "A. N. Other"}, (Page("1", 0),)
    document = Document(uri, text, title, "text/plain", "en", metadata, headings, pages, frames)
    root = Section(content_id(uri, "root"), document.id, None, 0, 0, title, Span(0, len(text)))
    part = Section(content_id(uri, "part"), document.id, root.id, 1, 1, "Part", Span(0, len(text)))
    above = content_id(uri, "parent") if with_parent else None
    starts = [0, *accumulate(len(part_text) + 1 for part_text in texts)]
    chunks = [
        Chunk(
            content_id(uri, "chunk", index),
            document.id,
            part.id,
            index,
            Span(start, start + len(chunk_text)),
            chunk_text,
            (Span(start, start + len(chunk_text)),) if chunk_text else (),
            title,
            ("Part",),
            above,
            frames=frames,
        )
        for index, (start, chunk_text) in enumerate(zip(starts, texts, strict=False))
    ]
    if above is not None:
        whole = Span(0, len(text))
        chunks.append(Chunk(above, document.id, root.id, 0, whole, text, (), title, is_parent=True))
    return document, [root, part], chunks
