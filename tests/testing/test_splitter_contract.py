"""The contract of splitters catches splitters that break it."""

import itertools
from dataclasses import replace

import pytest
from tests.testing.broken_parts import UNSENDABLE, Unsendable, broken, caught

from knotwork._indexing.splitters import make_splitter
from knotwork.records import (
    Chunk,
    Section,
    Span,
    content_id,
)
from knotwork.testing import (
    SplitterContract,
)

pytestmark = pytest.mark.slow


class SmallChunks(SplitterContract):
    chunk_tokens = 40


SPLITTERS = SmallChunks()
HANDBOOK = (
    "# Travel\n\n## Booking\n\nAsk early. Each trip needs an approval of the office.\n\n"
    "## Approval\n\n" + "The travel office approves each trip to a foreign city. " * 12 + "\n\n"
    "# Money\n\nper diem\n\nThe sum for one day. It is 40 crowns."
)


class EditedSplitter:
    """A sound splitter whose result is edited."""

    def __init__(self, edit=lambda sections, chunks: (sections, chunks), name="edited", **sizes):
        self.name = name
        self._inner = make_splitter(**{"chunk_tokens": 40, **sizes})
        self._edit = edit

    def split(self, document):
        return self._edit(*self._inner.split(document))


def each_chunk(edit):
    return lambda sections, chunks: (sections, [edit(chunk) for chunk in chunks])


def each_subsection(edit):
    return lambda sections, chunks: (
        sections[:1] + [edit(s, sections) for s in sections[1:]],
        chunks,
    )


def widen(chunk):
    """Return the chunk with three more characters than its span has."""
    return replace(chunk, text=f"{chunk.text}...")


def first_section(**fields):
    return lambda sections, chunks: ([replace(sections[0], **fields), *sections[1:]], chunks)


def with_parent(kept):
    """Return an edit that gives the last leaf a parent with these of its sentences."""

    def edit(sections, chunks):
        *others, leaf = chunks
        sentences = leaf.sentences[kept]
        start, end = leaf.span
        if sentences[0] != leaf.sentences[0]:
            start = sentences[0].start
        if sentences[-1] != leaf.sentences[-1]:
            end = sentences[-1].end
        span = Span(start, end)
        parent = replace(
            leaf,
            id=content_id("parent"),
            blocks=tuple(b for b in leaf.blocks if b.span.overlaps(span)),
            is_parent=True,
            span=span,
            text=leaf.text_at(span),
            sentences=sentences,
        )
        return sections, [*others, replace(leaf, parent_id=parent.id), parent]

    return edit


def without_second(sections, chunks):
    kept = [chunks[0], *chunks[2:]]
    return sections, [replace(chunk, ordinal=n) for n, chunk in enumerate(kept)]


def with_named_sections(sections, chunks):
    """Return sections with words for ids, to which the chunks refer."""
    names = {section.id: f"section-{section.ordinal}" for section in sections} | {None: None}
    renamed = [replace(s, id=names[s.id], parent_id=names[s.parent_id]) for s in sections]
    return renamed, [replace(chunk, section_id=names[chunk.section_id]) for chunk in chunks]


def check_exact(splitter):
    SPLITTERS.test_chunks_and_sections_are_exact(splitter, HANDBOOK)


@broken(
    {
        "text is lost": lambda sections, chunks: (sections, chunks[:-1]),
        "text is lost between chunks": without_second,
        "a parent begins late": with_parent(slice(1, None)),
        "a parent ends early": with_parent(slice(-1)),
        "the root has another title": first_section(title="Another"),
        "the root is too long": first_section(span=Span(0, 9_000)),
        "sections have words for ids": with_named_sections,
        "text is changed": each_chunk(lambda c: replace(c, text=c.text.upper())),
        "text is not at its span": each_chunk(widen),
        "chunks repeat": lambda sections, chunks: (sections, [*chunks, chunks[-1]]),
        "chunks are in no order": lambda sections, chunks: (sections, chunks[::-1]),
        "numbers begin at 1": each_chunk(lambda c: replace(c, ordinal=c.ordinal + 1)),
        "ids are numbers": each_chunk(lambda c: replace(c, id=str(c.ordinal))),
        "ids repeat": each_chunk(lambda c: replace(c, id=content_id("x"))),
        "the document is another": each_chunk(lambda c: replace(c, document_id=content_id("x"))),
        "the title is missing": each_chunk(lambda c: replace(c, document_title="")),
        "the section is unknown": each_chunk(lambda c: replace(c, section_id=content_id("x"))),
        "the parent is unknown": each_chunk(lambda c: replace(c, parent_id=content_id("x"))),
        "headings are missing": each_chunk(lambda c: replace(c, headings=())),
        "sentences are missing": each_chunk(lambda c: replace(c, sentences=())),
        "sentences lose text": each_chunk(lambda c: replace(c, sentences=c.sentences[1:])),
        "blocks are missing": each_chunk(lambda c: replace(c, blocks=())),
        "blocks are those of another chunk": lambda sections, chunks: (
            sections,
            [replace(chunk, blocks=chunks[-1].blocks) for chunk in chunks],
        ),
        "sentences have white space": each_chunk(
            lambda c: replace(
                c, sentences=(*c.sentences[:-1], c.sentences[-1]._replace(end=c.span.end + 1))
            )
        ),
        "a parent comes first": lambda sections, chunks: (
            sections,
            [replace(chunks[0], id=content_id("x"), is_parent=True), *chunks],
        ),
        "sections are flat": each_subsection(lambda s, all_: replace(s, parent_id=all_[0].id)),
        "levels are flat": each_subsection(lambda s, _: replace(s, level=1)),
        "a section is of another document": each_subsection(
            lambda s, _: replace(s, document_id=content_id("x"))
        ),
        "the section above is unknown": each_subsection(
            lambda s, _: replace(s, parent_id=content_id("x"))
        ),
        "sections end early": each_subsection(
            lambda s, _: replace(s, span=Span(s.span.start, s.span.start + 1))
        ),
        "sections overlap": each_subsection(lambda s, all_: replace(s, span=all_[0].span)),
        "sections are not numbered": each_subsection(lambda s, _: replace(s, ordinal=0)),
        "subsections are lost": lambda sections, chunks: (sections[:1], chunks),
    }
)
def test_inexact_chunks_and_sections_are_caught(edit):
    check_exact(EditedSplitter())
    check_exact(EditedSplitter(with_parent(slice(None))))
    with caught():
        check_exact(EditedSplitter(edit))


def test_repeated_text_is_caught_unless_it_is_declared():
    class Overlapping(SmallChunks):
        overlaps = True

    splitter = EditedSplitter(overlap_tokens=15)
    Overlapping().test_chunks_and_sections_are_exact(splitter, HANDBOOK)
    with caught():
        check_exact(splitter)

    def repeat_last(sections, chunks):
        again = replace(chunks[-1], id=content_id("again"), ordinal=len(chunks))
        return sections, [*chunks, again]

    with caught():  # a leaf must go on beyond the one before
        Overlapping().test_chunks_and_sections_are_exact(EditedSplitter(repeat_last), HANDBOOK)


class CutsCharacters:
    """Makes a chunk of every 25 characters, of blank texts too."""

    name = "cuts"

    def split(self, document):
        end, root_id = len(document.text), content_id(document.id, "root")
        root = Section(root_id, document.id, None, 0, 0, document.title, Span(0, end))
        spans = [Span(start, min(start + 25, end)) for start in range(0, end, 25)]
        chunks = [
            Chunk(
                content_id(document.id, *span),
                document.id,
                root_id,
                ordinal,
                span,
                document.text[slice(*span)],
                (span,),
                document.title,
            )
            for ordinal, span in enumerate(spans)
        ]
        return [root], chunks


class NumbersAllChunks(EditedSplitter):
    """Gives ids by a count of all chunks so far."""

    def __init__(self):
        count = itertools.count()
        super().__init__(each_chunk(lambda c: replace(c, id=content_id(next(count)))))


class LosesItsState(EditedSplitter):
    def __reduce__(self):
        return EditedSplitter, ()


@pytest.mark.parametrize(
    ("splitter", "check"),
    [
        (EditedSplitter(chunk_tokens=80), SPLITTERS.test_leaves_keep_to_the_limit),
        (NumbersAllChunks(), SPLITTERS.test_equal_documents_are_split_alike),
        (
            EditedSplitter(each_chunk(lambda c: replace(c, id=content_id(c.ordinal)))),
            SPLITTERS.test_ids_differ_between_documents,
        ),
        (
            EditedSplitter(lambda s, c: ([replace(x, id=content_id(x.ordinal)) for x in s], c)),
            SPLITTERS.test_ids_differ_between_documents,
        ),
        (LosesItsState(chunk_tokens=80), SPLITTERS.test_a_worker_process_gets_the_same),
        (LosesItsState(name="other"), SPLITTERS.test_a_worker_process_gets_the_same),
        (
            CutsCharacters(),
            lambda s: SPLITTERS.test_no_chunk_begins_inside_a_character(s, "e\u0301"),
        ),
        (
            CutsCharacters(),
            lambda s: SPLITTERS.test_a_blank_document_has_a_root_and_no_chunks(s, " \n\t "),
        ),
        (
            EditedSplitter(lambda sections, chunks: (sections, chunks[1:])),
            lambda s: SPLITTERS.test_any_text_is_split(s, "word " * 20),
        ),
    ],
)
def test_a_careless_splitter_is_caught(splitter, check):
    check(make_splitter(chunk_tokens=40))
    with caught():
        check(splitter)


def test_a_splitter_with_a_title_for_a_name_is_caught():
    splitter = EditedSplitter()
    SPLITTERS.test_the_name_is_a_word(splitter)
    splitter.name = "My Splitter"
    with caught():
        SPLITTERS.test_the_name_is_a_word(splitter)


def test_a_splitter_that_cannot_be_sent_is_caught():
    with pytest.raises(UNSENDABLE):
        SPLITTERS.test_a_worker_process_gets_the_same(Unsendable(make_splitter()))
