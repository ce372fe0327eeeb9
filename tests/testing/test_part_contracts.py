"""The contracts of splitters, extractors, loaders and retrievers catch parts that break them."""

import gzip
import io
import itertools
import os
import threading
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pickle import PicklingError

import pytest

from knotwork._indexing.loaders import Content, Source
from knotwork._indexing.loaders.markdown import MarkdownLoader
from knotwork._indexing.splitters import make_splitter
from knotwork._retrieval.retriever_builder import build_retriever
from knotwork._transform.rules import RuleExtractor
from knotwork.errors import LoadError
from knotwork.records import (
    Chunk,
    Column,
    Description,
    Frame,
    FrameKind,
    GraphPath,
    Heading,
    Hop,
    Mention,
    Page,
    Query,
    Relation,
    Section,
    Span,
    Step,
    Table,
    content_id,
)
from knotwork.testing import (
    ExtractorContract,
    LoaderContract,
    RetrieverContract,
    SplitterContract,
)
from knotwork.testing._retriever_contract import sample_store

pytestmark = pytest.mark.slow

UNSENDABLE = (PicklingError, AttributeError)


class Unsendable:
    """A part that holds what no process can send to another."""

    def __init__(self, inner):
        self.name, self.held = inner.name, lambda: None
        self.split, self.extract = getattr(inner, "split", None), getattr(inner, "extract", None)


def caught():
    return pytest.raises(AssertionError)


def broken(edits):
    """Run a test with each of these edits, which make the result of a sound part unsound."""
    return pytest.mark.parametrize("edit", edits.values(), ids=edits)


# --- splitters --------------------------------------------------------------------------------


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
        span = Span(sentences[0].start, sentences[-1].end)
        parent = replace(
            leaf,
            id=content_id("parent"),
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
        "frames are missing": each_chunk(lambda c: replace(c, frames=())),
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


# --- extractors -------------------------------------------------------------------------------


EXTRACTORS = ExtractorContract()
TEXT = "Ada Lovelace wrote a program in London.\n\nCharles Babbage built an engine in Paris."


class EditedExtractor:
    """A sound extractor whose result is edited."""

    def __init__(self, edit=lambda found: found, name="edited-1"):
        self.name = name
        self._inner = RuleExtractor()
        self._edit = edit

    def extract(self, document, chunks):
        return self._edit(self._inner.extract(document, chunks))


def each_extraction(edit):
    return lambda found: [edit(extraction) for extraction in found]


def each_mention(edit):
    return each_extraction(lambda e: replace(e, mentions=tuple(edit(m) for m in e.mentions)))


def add_mention(**fields):
    """Return an edit that adds a mention with these fields."""
    return each_extraction(
        lambda e: replace(
            e, mentions=(*e.mentions, replace(Mention(e.chunk_id, "x", "X"), **fields))
        )
    )


def each_relation(edit):
    return each_extraction(lambda e: replace(e, relations=tuple(edit(r) for r in e.relations)))


def add_relation(**fields):
    """Return an edit that adds a relation of two mentioned entities, with these fields."""

    def edit(extraction):
        ends = [mention.entity_id for mention in extraction.mentions][:2]
        made = Relation(extraction.chunk_id, ends[0], "knows", ends[1])
        return replace(extraction, relations=(*extraction.relations, replace(made, **fields)))

    return each_extraction(edit)


def describe(text, form=""):
    """Return an edit that describes an entity, the first one by default."""
    return each_extraction(
        lambda e: replace(
            e, descriptions=(Description(e.chunk_id, form or e.mentions[0].normal_form, text),)
        )
    )


def check_order(extractor):
    EXTRACTORS.test_leaf_chunks_have_one_extraction_each_in_order(extractor, TEXT)


@pytest.mark.parametrize(
    "edit", [lambda found: found, add_mention(), add_relation(), describe("One.")], ids=range(4)
)
def test_sound_extractions_pass(edit):
    check_order(EditedExtractor(edit))


@broken(
    {
        "a chunk is left out": lambda found: found[1:],
        "a parent is read": lambda found: [
            *found,
            replace(found[0], chunk_id=content_id("parent")),
        ],
        "the order is lost": lambda found: found[::-1],
        "nothing is found": each_extraction(lambda e: replace(e, mentions=(), relations=())),
        "another chunk is named": add_mention(chunk_id=content_id("x")),
        "mentions repeat": each_extraction(lambda e: replace(e, mentions=e.mentions * 2)),
        "the key is not a normal form": add_mention(normal_form="The X"),
        "the key is empty": add_mention(normal_form=""),
        "the name is empty": add_mention(name=""),
        "the name has lines": add_mention(name="One\nTwo"),
        "aboutness is above 1": add_mention(about=1.5),
        "aboutness is not a number": add_mention(about=float("nan")),
        "a span is too long": add_mention(spans=(Span(0, 9_000),)),
        "a span is empty": each_mention(
            lambda m: replace(m, spans=tuple(Span(s, s) for s, _ in m.spans))
        ),
        "a span is blank": lambda found: [*add_mention(spans=(Span(3, 4),))(found[:1]), *found[1:]],
        "spans repeat": each_mention(lambda m: replace(m, spans=m.spans * 2)),
        "an end is not mentioned": add_relation(target=content_id("x")),
        "both ends are one": each_relation(lambda r: replace(r, target=r.source)),
        "a relation repeats": each_extraction(lambda e: replace(e, relations=e.relations * 2)),
        "a relation has no name": add_relation(relation=" "),
        "a relation is of another chunk": add_relation(chunk_id=content_id("x")),
        "a relation has no weight": add_relation(weight=0),
        "a relation is elsewhere": add_relation(span=Span(9_000, 9_010)),
        "a description has lines": describe("One.\nTwo."),
        "a description is of another chunk": each_extraction(
            lambda e: replace(
                e, descriptions=(Description(content_id("x"), e.mentions[0].normal_form, "One."),)
            )
        ),
        "a description is of nobody": describe("One.", form="nobody"),
    }
)
def test_unsound_extractions_are_caught(edit):
    with caught():
        check_order(EditedExtractor(edit))


class Remembers(EditedExtractor):
    """Mentions in each document how many it has read."""

    def extract(self, document, chunks):
        self.read = getattr(self, "read", 0) + 1
        return [
            replace(
                found, mentions=(*found.mentions, Mention(found.chunk_id, f"n{self.read}", "n"))
            )
            for found in super().extract(document, chunks)
        ]


class RenamesItself(EditedExtractor):
    def extract(self, document, chunks):
        self.name = f"edited-{len(chunks)}"
        return super().extract(document, chunks)


class NeedsSentences(EditedExtractor):
    def extract(self, document, chunks):
        assert all(chunk.sentences for chunk in chunks)
        return super().extract(document, chunks)


class ForgetsItsEdit(EditedExtractor):
    def __reduce__(self):
        return EditedExtractor, ()


@pytest.mark.parametrize(
    ("extractor", "check"),
    [
        (
            ForgetsItsEdit(each_extraction(lambda e: replace(e, relations=()))),
            lambda e: EXTRACTORS.test_a_worker_process_finds_the_same(e, TEXT),
        ),
        (
            ForgetsItsEdit(name="edited-2"),
            lambda e: EXTRACTORS.test_a_worker_process_finds_the_same(e, TEXT),
        ),
        (Remembers(), lambda e: EXTRACTORS.test_other_documents_change_nothing(e, TEXT)),
        (RenamesItself(), lambda e: EXTRACTORS.test_the_name_is_stable(e, TEXT)),
        (EditedExtractor(name=""), lambda e: EXTRACTORS.test_the_name_is_stable(e, TEXT)),
        (EditedExtractor(name="one\ntwo"), lambda e: EXTRACTORS.test_the_name_is_stable(e, TEXT)),
        (NeedsSentences(), lambda e: EXTRACTORS.test_a_chunk_without_sentences_is_read(e, TEXT)),
        (NeedsSentences(), lambda e: EXTRACTORS.test_any_text_is_read(e, "")),
        (
            EditedExtractor(lambda found: found or [None]),
            EXTRACTORS.test_no_chunks_have_no_extractions,
        ),
        (
            EditedExtractor(
                each_mention(lambda m: replace(m, spans=tuple(Span(s, s + 2) for s, _ in m.spans)))
            ),
            lambda e: EXTRACTORS.test_mentions_are_where_the_text_names_them(e, TEXT),
        ),
    ],
)
def test_a_careless_extractor_is_caught(extractor, check):
    check(RuleExtractor())
    with caught():
        check(extractor)


def test_an_extractor_that_cannot_be_sent_is_caught():
    with pytest.raises(UNSENDABLE):
        EXTRACTORS.test_a_worker_process_finds_the_same(Unsendable(RuleExtractor()), TEXT)


# --- loaders ----------------------------------------------------------------------------------


LOADERS = LoaderContract()
PAGE = b"# Bridge\n\nIt opened in 1784. These are kept:\n\n- arch\n- toll\n\n| a |\n|---|\n| 1 |\n"
SOURCE = Source("no such folder/page.md", PAGE)


class EditedLoader:
    """A sound loader whose result is edited."""

    name = "edited"
    suffixes = (".md",)
    signatures = ()

    def __init__(self, edit=lambda content: content):
        self._edit = edit

    def load(self, source):
        return self._edit(MarkdownLoader().load(source))


def with_fields(**fields):
    return lambda content: replace(content, **fields)


def table(*, row=("a", 1), numbers=(1,), spans=((0, 5),)):
    columns = (Column("name", "text"), Column("count", "integer"))
    lines = tuple(Span(*span) for span in spans)
    return with_fields(tables=(Table("", columns, (row,) * len(spans), numbers, lines),))


def check_read(loader):
    LOADERS.test_the_text_is_read(loader, SOURCE, "It opened in 1784.")


@pytest.mark.parametrize("edit", [lambda content: content, table()], ids=range(2))
def test_sound_content_passes(edit):
    check_read(EditedLoader(edit))


TOO_FAR = Span(0, 9_000)


@broken(
    {
        "the text is another": with_fields(text="", headings=(), frames=(), links=()),
        "line ends are kept": lambda c: replace(c, text=f"{c.text}\r\n"),
        "a NUL is kept": lambda c: replace(c, text=f"{c.text}\x00"),
        "a surrogate is kept": lambda c: replace(c, text=f"{c.text}\ud800"),
        "the media type is a word": with_fields(media_type="markdown"),
        "the title has lines": with_fields(title="One\nTwo"),
        "the title has a NUL": with_fields(title="One\x00"),
        "a value is empty": with_fields(metadata={"author": ""}),
        "a value has lines": with_fields(metadata={"author": "One\nTwo"}),
        "a heading is too long": with_fields(headings=(Heading(1, "x", TOO_FAR),)),
        "a heading is empty": with_fields(headings=(Heading(1, "", Span(0, 3)),)),
        "a heading has no level": with_fields(headings=(Heading(0, "x", Span(0, 3)),)),
        "headings overlap": with_fields(headings=(Heading(1, "x", Span(0, 3)),) * 2),
        "a page is behind the end": with_fields(pages=(Page("1", 9_000),)),
        "pages are in no order": with_fields(pages=(Page("2", 5), Page("1", 0))),
        "a page has no label": with_fields(pages=(Page("", 0),)),
        "a frame is too long": with_fields(frames=(Frame(FrameKind.TERM, TOO_FAR, "x"),)),
        "a frame is empty": with_fields(frames=(Frame(FrameKind.TERM, Span(3, 3), "x"),)),
        "a frame has no label": with_fields(frames=(Frame(FrameKind.TERM, Span(0, 3)),)),
        "a label has lines": with_fields(frames=(Frame(FrameKind.TERM, Span(0, 3), "x\ny"),)),
        "a link is too long": with_fields(links=(TOO_FAR,)),
        "a row is too long": table(row=("a", 1, 2)),
        "a cell has another type": table(row=("a", "b")),
        "a row has no number": table(numbers=()),
        "row numbers repeat": table(numbers=(1, 1), spans=(Span(0, 2), Span(2, 4))),
        "rows overlap": table(numbers=(1, 2), spans=(Span(0, 3), Span(2, 4))),
        "a row is elsewhere": table(spans=(TOO_FAR,)),
    }
)
def test_unsound_content_is_caught(edit):
    with caught():
        check_read(EditedLoader(edit))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "My Loader"),
        ("suffixes", ()),
        ("suffixes", ("md",)),
        ("suffixes", (".MD",)),
        ("suffixes", (".tar.gz",)),
        ("suffixes", (".md", ".md")),
        ("signatures", (b"",)),
        ("signatures", ("%PDF",)),
        ("signatures", (b"\n%PDF",)),
    ],
)
def test_a_loader_that_is_never_chosen_is_caught(field, value):
    loader = EditedLoader()
    LOADERS.test_name_suffixes_and_signatures_are_well_formed(loader)
    setattr(loader, field, value)
    with caught():
        LOADERS.test_name_suffixes_and_signatures_are_well_formed(loader)


class CountsFiles(EditedLoader):
    count = 0

    def load(self, source):
        self.count += 1
        return replace(super().load(source), metadata={"number": str(self.count)})


class ShowsItsFolder(EditedLoader):
    def load(self, source):
        return replace(super().load(source), title=source.uri)


class Blames(EditedLoader):
    """Refuses half of the file, for a reason of its own or without naming it."""

    def __init__(self, reason, message):
        super().__init__()
        self._error = LoadError(reason, message)

    def load(self, source):
        if len(source.data) < len(PAGE):
            raise self._error
        return super().load(source)


class OpensFiles(EditedLoader):
    def load(self, source):
        with suppress(OSError), open(os.devnull, "rb"):  # noqa: PTH123
            pass
        return super().load(source)


class Prints(EditedLoader):
    def load(self, source):
        print("loading", source.name)  # noqa: T201
        return super().load(source)


def check_truncated(loader):
    LOADERS.test_a_truncated_file_is_read_or_refused(loader, SOURCE, 0.01)


@pytest.mark.parametrize(
    ("loader", "check"),
    [
        (CountsFiles(), lambda e: LOADERS.test_equal_bytes_have_equal_content(e, SOURCE)),
        (ShowsItsFolder(), lambda e: LOADERS.test_equal_bytes_have_equal_content(e, SOURCE)),
        (Blames("odd", SOURCE.uri), check_truncated),
        (Blames("broken", "It is broken."), check_truncated),
        (
            EditedLoader(with_fields(headings=(Heading(1, "Bridge", Span(0, 8)),))),
            check_truncated,
        ),
        (
            EditedLoader(lambda c: replace(c, text=c.text.replace("\n", "\r\n"))),
            lambda e: LOADERS.test_odd_characters_are_cleaned(e, SOURCE),
        ),
        (
            EditedLoader(with_fields(links=(Span(0, 60),))),
            lambda e: LOADERS.test_changed_bytes_are_read_or_refused(
                e, Source(SOURCE.uri, b"\xff" * 59)
            ),
        ),
        (
            EditedLoader(with_fields(links=(Span(0, 9_000),))),
            lambda e: LOADERS.test_random_bytes_are_read_or_refused(
                e, Source("a.md", b"x" * 16), 1
            ),
        ),
    ],
)
def test_a_careless_loader_is_caught(loader, check):
    check(EditedLoader())
    with caught():
        check(loader)


def test_a_loader_that_opens_files_is_caught(monkeypatch):
    LOADERS.test_only_the_given_bytes_are_read(EditedLoader(), SOURCE, monkeypatch)
    with caught():
        LOADERS.test_only_the_given_bytes_are_read(OpensFiles(), SOURCE, monkeypatch)


def test_a_loader_that_prints_is_caught(capfd):
    LOADERS.test_nothing_is_printed(EditedLoader(), SOURCE, capfd)
    with caught():
        LOADERS.test_nothing_is_printed(Prints(), SOURCE, capfd)


class BecomesAnother(EditedLoader):
    def __reduce__(self):
        return MarkdownLoader, ()


def test_a_loader_that_cannot_be_sent_is_caught():
    LOADERS.test_a_worker_process_reads_the_same(MarkdownLoader(), SOURCE)
    with pytest.raises(UNSENDABLE):
        LOADERS.test_a_worker_process_reads_the_same(EditedLoader(lambda c: c), SOURCE)
    with caught():
        LOADERS.test_a_worker_process_reads_the_same(
            BecomesAnother(with_fields(title="Bridges")), SOURCE
        )


class PackedLoader:
    """Unpacks a text, up to the limit if it is careful."""

    name, suffixes, signatures = "gzip", (".gz",), (b"\x1f\x8b",)

    def __init__(self, *, careful=True, reason="too_large"):
        self._careful, self._reason = careful, reason

    def load(self, source):
        with gzip.open(io.BytesIO(source.data)) as packed:
            data = packed.read(source.max_bytes + 1 if self._careful else -1)
        if self._careful and len(data) > source.max_bytes:
            raise LoadError(self._reason, f"`{source.uri}` is too large.")
        return Content(data.decode(), "text/plain")


def test_a_loader_that_unpacks_without_limit_is_caught():
    def check(loader, oversized):
        LOADERS.test_an_expanding_file_is_refused(loader, Source("a.gz", b""), oversized)

    bomb = gzip.compress(b" x" * 2_500_000)
    check(PackedLoader(), bomb)
    with pytest.raises(pytest.fail.Exception):
        check(PackedLoader(careful=False), bomb)
    with caught():
        check(PackedLoader(reason="broken"), bomb)
    with caught():  # a file that is large itself shows nothing
        check(PackedLoader(), bytes(2_000_000))


# --- retrievers -------------------------------------------------------------------------------


RETRIEVERS = RetrieverContract()
STORE = sample_store()
QUESTION = "Which river flows through Tartu?"


class EditedRetriever:
    """A sound retriever whose evidence is edited."""

    name = "edited"

    def __init__(self, *, store=STORE, embedder=None, edit=lambda evidence: evidence):
        self._store = store
        self._inner = build_retriever("bm25", store=store, embedder=embedder)
        self._edit = edit

    def retrieve(self, query):
        return replace(self._edit(self._inner.retrieve(query)), retriever=self.name)


def each_hit(edit):
    return lambda evidence: replace(evidence, hits=tuple(edit(hit) for hit in evidence.hits))


def each_passage(**fields):
    return each_hit(lambda hit: replace(hit, chunk=replace(hit.chunk, **fields)))


def by_reversed_id(evidence):
    """Return the evidence with hits of equal scores in descending order of ids."""
    hits = sorted(evidence.hits, key=lambda hit: hit.chunk.id, reverse=True)
    return replace(evidence, hits=tuple(sorted(hits, key=lambda hit: -hit.score)))


def path(score, chunk_id):
    hop = Hop(content_id("a"), "A", "knows", content_id("b"), "B", True, chunk_id)
    return GraphPath((hop,), score)


def check_hits(retriever):
    RETRIEVERS.test_at_most_k_hits_are_in_order(retriever, STORE, 3)


ABSENT = content_id("absent")
STEP = Step(ABSENT, Span(0, 3), "The", content_id("a"), "A", 1.0)


@broken(
    {
        "the query is another": lambda e: replace(e, query=Query("Who?")),
        "the confidence is above 1": lambda e: replace(e, confidence=1.5),
        "the confidence is not a number": lambda e: replace(e, confidence=float("nan")),
        "a note is not a text": lambda e: replace(e, notes=(None,)),
        "a note is blank": lambda e: replace(e, notes=(" ",)),
        "the trace can be changed": lambda e: replace(e, trace=["Searched."]),
        "the hits can be changed": lambda e: replace(e, hits=list(e.hits)),
        "the worst is first": lambda e: replace(e, hits=e.hits[::-1]),
        "ties are in no order": by_reversed_id,
        "a hit repeats": lambda e: replace(e, hits=e.hits[:1] * 2),
        "a score is not a number": each_hit(lambda h: replace(h, score=float("nan"))),
        "a score is endless": each_hit(lambda h: replace(h, score=float("inf"))),
        "a part is not a number": each_hit(lambda h: replace(h, scores={"bm25": float("nan")})),
        "a passage is unknown": each_passage(id=ABSENT),
        "a passage is changed": each_passage(text="The Narva flows through it."),
        "a match is unknown": each_hit(lambda h: replace(h, matched=(ABSENT,))),
        "a wider passage is changed": each_hit(
            lambda h: replace(h, matched=(h.chunk.id,), chunk=replace(h.chunk, text="Narva."))
        ),
        "a sentence is elsewhere": each_hit(lambda h: replace(h, sentences=((Span(0, 1), 1.0),))),
        "a relevance is above 1": each_hit(
            lambda h: replace(h, sentences=((h.chunk.sentences[0], 2.0),))
        ),
        "a step is unknown": each_hit(lambda h: replace(h, path=(STEP,))),
        "a path is unknown": lambda e: replace(e, paths=(path(1.0, ABSENT),)),
        "a path has no score": lambda e: replace(e, paths=(path(float("nan"), ABSENT),)),
        "the worst path is first": lambda e: replace(
            e, paths=tuple(path(n, hit.chunk.id) for n, hit in enumerate(e.hits))
        ),
    }
)
def test_unsound_evidence_is_caught(edit):
    check_hits(EditedRetriever())
    with caught():
        check_hits(EditedRetriever(edit=edit))


class ReturnsTooMany(EditedRetriever):
    def retrieve(self, query):
        return replace(super().retrieve(replace(query, k=query.k + 1)), query=query)


class NeedsWords(EditedRetriever):
    def retrieve(self, query):
        assert query.text.split()
        return super().retrieve(query)


class CountsItsQuestions(EditedRetriever):
    asked = 0

    def retrieve(self, query):
        self.asked += 1
        return replace(super().retrieve(query), trace=(f"Question {self.asked}.",))


class SharesItsQuery(EditedRetriever):
    """Keeps the query in the retriever; two threads at once search for the same."""

    def __init__(self, **options):
        super().__init__(**options)
        self._barrier = threading.Barrier(2)

    def retrieve(self, query):
        self._query = query
        if threading.current_thread() is not threading.main_thread():
            self._barrier.wait()
        return super().retrieve(self._query)


class WritesToTheIndex(EditedRetriever):
    def retrieve(self, query):
        with self._store.transaction():
            self._store.set_meta({"asked": query.text})
        return super().retrieve(query)


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (ReturnsTooMany, check_hits),
        (NeedsWords, lambda r: RETRIEVERS.test_any_question_may_be_asked(r, STORE, " ")),
        (
            CountsItsQuestions,
            lambda r: RETRIEVERS.test_the_same_question_finds_the_same(
                EditedRetriever, r, STORE, QUESTION
            ),
        ),
        (SharesItsQuery, RETRIEVERS.test_threads_find_the_same),
        (WritesToTheIndex, lambda r: RETRIEVERS.test_the_index_is_only_read(r, STORE)),
        (
            partial(EditedRetriever, edit=lambda e: replace(e, hits=())),
            lambda r: RETRIEVERS.test_a_question_finds_passages(r, STORE, QUESTION),
        ),
    ],
)
def test_a_careless_retriever_is_caught(kind, check):
    check(EditedRetriever())
    with caught():
        check(kind())


@pytest.mark.parametrize(("name", "named"), [("", ""), (" ", " "), ("other", "edited")])
def test_evidence_of_another_name_is_caught(name, named):
    class Renamed(EditedRetriever):
        def retrieve(self, query):
            return replace(super().retrieve(query), retriever=named)

    RETRIEVERS.test_the_evidence_has_the_name(EditedRetriever(), QUESTION)
    retriever = Renamed()
    retriever.name = name
    with caught():
        RETRIEVERS.test_the_evidence_has_the_name(retriever, QUESTION)


class SearchesEverything(EditedRetriever):
    """Ignores the filter of the store."""

    def __init__(self, *, store, embedder):
        super().__init__(store=getattr(store, "_store", store), embedder=embedder)


class ListsAllTitles(EditedRetriever):
    """Names every document of the index in its trace, whatever the filter."""

    def retrieve(self, query):
        documents = getattr(self._store, "_store", self._store).documents
        titles = [d.title for d in documents.documents(documents.document_ids()).values()]
        return replace(super().retrieve(query), trace=(f"Searched {', '.join(titles)}.",))


@pytest.mark.parametrize("kind", [SearchesEverything, ListsAllTitles])
def test_a_leak_is_caught(kind):
    RETRIEVERS.test_excluded_documents_do_not_leak(EditedRetriever, STORE, QUESTION)
    with caught():
        RETRIEVERS.test_excluded_documents_do_not_leak(kind, STORE, QUESTION)


class KeepsItsEvidence(EditedRetriever):
    """Keeps the evidence of each question for ever."""

    def __init__(self, *, store, embedder):
        super().__init__(store=store, embedder=embedder)
        self._kept = {}

    def retrieve(self, query):
        if query not in self._kept:
            self._kept[query] = super().retrieve(query)
        return self._kept[query]


def test_evidence_of_an_earlier_index_is_caught():
    RETRIEVERS.test_the_retriever_follows_the_index(EditedRetriever, QUESTION)
    with caught():
        RETRIEVERS.test_the_retriever_follows_the_index(KeepsItsEvidence, QUESTION)


class FindsTheSample(EditedRetriever):
    """Finds passages of the sample in every index."""

    def __init__(self, *, store, embedder):
        super().__init__(store=STORE, embedder=embedder)


def test_evidence_of_another_index_is_caught():
    RETRIEVERS.test_an_empty_index_has_no_evidence(EditedRetriever, QUESTION)
    with caught():
        RETRIEVERS.test_an_empty_index_has_no_evidence(FindsTheSample, QUESTION)
