"""Contract suite for extractors: mentions and relations that agree with their chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from knotwork._extensions.testing.worker_copy import worker_copy
from knotwork._text.names import normal_form
from knotwork._text.sentences import split_sentences
from knotwork._transform.extractor import Extractor
from knotwork.records import Chunk, Document, Extraction, Mention, Span, content_id

_TEXT = """Ada Lovelace wrote the first program in London in 1843.

Charles Babbage designed the Analytical Engine. Ada Lovelace described the Analytical Engine.

中国联通在北京大学发布人工智能平台。张伟担任中国联通总经理。"""
_OTHER_TEXT = """Ada Lovelace is a ship. It was built by Babbage & Sons in Hamburg.

London is a novel by Charles Babbage."""
_ODD_PARTS = (
    "",
    "   \n\t",
    "\x01\u202eabc \u0301\u0301 \U0001f642 ((([[[ \"\"\" ''' …",
    "WHY ALL OF THIS IS SHOUTED AND NOBODY LISTENS",
    "Mr. and Mrs. of the and of and the of",
    "《》“”（）·····",
    "| a | b |\n|---|---|\n# 1. * _x_ `y`",
    "人" * 300,
    "Anna's " * 100,
    "1,234.5 " * 100,
)


def sample_chunks(*parts: str, uri: str = "engine.md") -> tuple[Document, list[Chunk]]:
    """Return a document with one chunk for each part."""
    document = Document(uri, "\n\n".join(parts), "The Analytical Engine")
    chunks: list[Chunk] = []
    start = 0
    for ordinal, part in enumerate(parts):
        chunk = Chunk(
            content_id("chunk", document.id, ordinal),
            document.id,
            content_id("section", document.id),
            ordinal,
            Span(start, start + len(part)),
            part,
            tuple(split_sentences(part, start=start)),
            document.title,
        )
        chunks.append(chunk)
        start = chunk.span.end + 2
    return document, chunks


class ExtractorContract:
    """The behaviour of extractors that indexing and the knowledge graph rely on.

    Subclass it and define the fixture ``extractor``. The suite reads a text in English and Chinese.
    An extractor that finds nothing in it supplies a text of its own, and one that cannot be sent to
    a worker process, such as one with a model, says so::

        class TestMyExtractor(ExtractorContract):
            runs_in_workers = False  # the default is True

            @pytest.fixture
            def extractor(self):
                return MyExtractor()

            @pytest.fixture
            def text(self):
                return "Order part AX-100 and part BX-200."
    """

    runs_in_workers: bool = True

    @pytest.fixture
    def text(self) -> str:
        """A text with an entity that the extractor finds; blank lines separate its chunks."""
        return _TEXT

    def test_the_name_is_stable(self, extractor: Extractor, text: str) -> None:
        before = extractor.name
        assert before.strip() == before != ""
        assert before.isprintable()
        extractor.extract(*sample_chunks(*text.split("\n\n")))
        assert extractor.name == before

    def test_leaf_chunks_have_one_extraction_each_in_order(
        self, extractor: Extractor, text: str
    ) -> None:
        document, chunks = sample_chunks(*text.split("\n\n"))
        parent = replace(chunks[0], id=content_id("parent"), is_parent=True)
        found = extractor.extract(document, [*chunks, parent])
        check_extractions(chunks, found)
        assert any(extraction.mentions for extraction in found)

    def test_mentions_are_where_the_text_names_them(self, extractor: Extractor, text: str) -> None:
        document, chunks = sample_chunks(*text.split("\n\n"))
        found = extractor.extract(document, chunks)
        for chunk, extraction in zip(chunks, found, strict=True):
            forms = {mention.normal_form for mention in extraction.mentions}
            for mention in extraction.mentions:
                # An alias in the text counts if the chunk mentions it as well.
                named = {normal_form(chunk.text_at(span)) for span in mention.spans}
                assert named <= forms

    def test_no_chunks_have_no_extractions(self, extractor: Extractor) -> None:
        assert extractor.extract(Document("empty.md", ""), []) == []

    @pytest.mark.parametrize("part", _ODD_PARTS, ids=range(len(_ODD_PARTS)))
    def test_any_text_is_read(self, extractor: Extractor, part: str) -> None:
        for parts in ([part], ["Ada Lovelace wrote it.", part, "艾达写了它。"]):
            document, chunks = sample_chunks(*parts)
            check_extractions(chunks, extractor.extract(document, chunks))

    def test_a_chunk_without_sentences_is_read(self, extractor: Extractor, text: str) -> None:
        document, chunks = sample_chunks(*text.split("\n\n"))
        bare = [replace(chunk, sentences=()) for chunk in chunks]
        check_extractions(bare, extractor.extract(document, bare))

    def test_other_documents_change_nothing(self, extractor: Extractor, text: str) -> None:
        document, chunks = sample_chunks(*text.split("\n\n"))
        first = extractor.extract(document, chunks)
        for parts in (_OTHER_TEXT.split("\n\n"), _ODD_PARTS):
            extractor.extract(*sample_chunks(*parts, uri="other.md"))
        assert extractor.extract(document, chunks) == first

    def test_a_worker_process_finds_the_same(self, extractor: Extractor, text: str) -> None:
        if not self.runs_in_workers:
            pytest.skip("The extractor stays in one process.")
        document, chunks = sample_chunks(*text.split("\n\n"))
        sent = worker_copy(extractor)
        found = sent.extract(document, chunks)
        assert sent.name == extractor.name
        assert worker_copy(found) == extractor.extract(document, chunks)


def check_extractions(chunks: Sequence[Chunk], extractions: Sequence[Extraction]) -> None:
    """Assert that each chunk has one extraction, in order, which agrees with itself."""
    assert [found.chunk_id for found in extractions] == [chunk.id for chunk in chunks]
    for chunk, extraction in zip(chunks, extractions, strict=True):
        for mention in extraction.mentions:
            _check_mention(chunk, mention)
        mentioned = [mention.entity_id for mention in extraction.mentions]
        assert len(set(mentioned)) == len(mentioned)
        relations = [(r.source, r.relation, r.target) for r in extraction.relations]
        assert len(set(relations)) == len(relations)
        for relation in extraction.relations:
            assert relation.chunk_id == chunk.id
            assert relation.source != relation.target
            assert {relation.source, relation.target} <= set(mentioned)
            assert _is_line(relation.relation)
            assert relation.weight >= 1
            assert relation.span is None or _is_inside(relation.span, chunk)
        for description in extraction.descriptions:
            assert description.chunk_id == chunk.id
            assert description.entity_id in mentioned
            assert _is_line(description.text)


def _check_mention(chunk: Chunk, mention: Mention) -> None:
    assert mention.chunk_id == chunk.id
    assert mention.normal_form
    assert normal_form(mention.normal_form) == mention.normal_form
    assert _is_line(mention.name)
    assert 0.0 <= mention.about <= 1.0
    assert list(mention.spans) == sorted(set(mention.spans))
    for span in mention.spans:
        assert _is_inside(span, chunk)
        assert chunk.text_at(span).strip()


def _is_inside(span: Span, chunk: Chunk) -> bool:
    return chunk.span.start <= span.start < span.end <= chunk.span.end


def _is_line(text: str) -> bool:
    """Return True if a text is not empty and in one line."""
    return text == " ".join(text.split()) != ""
