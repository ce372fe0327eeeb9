"""Documents cut into chunks for the tests of extraction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from knotwork._text.sentences import split_sentences
from knotwork._transform.rules import RuleExtractor
from knotwork.records import Chunk, Document, Extraction, Mention, Relation, Span, content_id


def cut(
    title: str, *parts: str, headings: Sequence[tuple[str, ...]] = ()
) -> tuple[Document, list[Chunk]]:
    """Return a document of one chunk a part, with the headings of each chunk."""
    text = "\n\n".join(parts)
    document = Document("test.txt", text, title)
    chunks: list[Chunk] = []
    start = 0
    for ordinal, part in enumerate(parts):
        span = Span(start, start + len(part))
        chunk = Chunk(
            id=content_id("chunk", ordinal, part),
            document_id=document.id,
            section_id="0" * 16,
            ordinal=ordinal,
            span=span,
            text=part,
            sentences=tuple(split_sentences(part, start=start)),
            document_title=title,
        )
        chunks.append(replace(chunk, headings=headings[ordinal]) if headings else chunk)
        start = span.end + 2
    return document, chunks


def extract(title: str, *parts: str, extractor: RuleExtractor | None = None) -> list[Extraction]:
    return (extractor or RuleExtractor()).extract(*cut(title, *parts))


def mentions(extraction: Extraction) -> dict[str, Mention]:
    return {mention.normal_form: mention for mention in extraction.mentions}


def forms(title: str, text: str) -> set[str]:
    """Return the normal forms that a one-chunk document mentions in its text."""
    (extraction,) = extract(title, text)
    return {mention.normal_form for mention in extraction.mentions if mention.spans}


def relations(extraction: Extraction) -> set[tuple[str, str, str]]:
    """Return the relations of an extraction between normal forms."""
    names = {mention.entity_id: mention.normal_form for mention in extraction.mentions}
    return {(names[r.source], r.relation, names[r.target]) for r in extraction.relations}


def strongest_relation(extraction: Extraction) -> Relation:
    return max(extraction.relations, key=lambda relation: relation.weight)
