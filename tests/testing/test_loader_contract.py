"""The contract of loaders catches loaders that break it."""

import gzip
import io
import os
from contextlib import suppress
from dataclasses import replace

import pytest
from tests.testing.broken_parts import UNSENDABLE, broken, caught

from knotwork._indexing.loaders.loader import Content, Source
from knotwork._indexing.loaders.markdown import MarkdownLoader
from knotwork.errors import LoadError
from knotwork.records import (
    Block,
    BlockKind,
    BoxedSpan,
    Column,
    Page,
    Span,
    Table,
    TimedSpan,
)
from knotwork.testing import (
    LoaderContract,
)

pytestmark = pytest.mark.slow

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


def blocks(*found):
    """Replace the blocks by others: kind, start, end, label and level."""
    return with_fields(
        blocks=tuple(
            Block(kind, Span(start, end), label, level=level)
            for kind, start, end, label, level in (((*one, "", 0)[:5]) for one in found)
        )
    )


def check_read(loader):
    LOADERS.test_the_text_is_read(loader, SOURCE, "It opened in 1784.")


@pytest.mark.parametrize("edit", [lambda content: content, table()], ids=range(2))
def test_sound_content_passes(edit):
    check_read(EditedLoader(edit))


TOO_FAR = Span(0, 9_000)
BLANK, BAR = Span(8, 9), Span(9, 10)


@broken(
    {
        "the text is another": with_fields(text="", blocks=(), links=()),
        "line ends are kept": lambda c: replace(c, text=f"{c.text}\r\n"),
        "a NUL is kept": lambda c: replace(c, text=f"{c.text}\x00"),
        "a surrogate is kept": lambda c: replace(c, text=f"{c.text}\ud800"),
        "the media type is a word": with_fields(media_type="markdown"),
        "the title has lines": with_fields(title="One\nTwo"),
        "the title has a NUL": with_fields(title="One\x00"),
        "a value is empty": with_fields(metadata={"author": ""}),
        "a value has lines": with_fields(metadata={"author": "One\nTwo"}),
        "a heading is empty": blocks((BlockKind.SECTION, 0, 3, "", 1)),
        "a heading has no level": blocks((BlockKind.SECTION, 0, 3, "x", 0)),
        "a paragraph has a level": blocks((BlockKind.PARAGRAPH, 0, 3, "", 1)),
        "a definition has no term": blocks((BlockKind.DEFINITION, 0, 3)),
        "a block is too long": blocks((BlockKind.CODE, *TOO_FAR)),
        "a block has no text": blocks((BlockKind.CODE, 3, 3)),
        "a block is blank": blocks((BlockKind.CODE, *BLANK)),
        "a row is blank": blocks((BlockKind.TABLE, 0, 9), (BlockKind.ROW, *BAR)),
        "an item is blank": blocks((BlockKind.LIST, 0, 9), (BlockKind.ITEM, 0, 2)),
        "a label has lines": blocks((BlockKind.CODE, 0, 3, "x\ny")),
        "a lead has lines": with_fields(blocks=(Block(BlockKind.CODE, Span(0, 3), "", "x\ny"),)),
        "blocks are in no order": blocks((BlockKind.CODE, 5, 9), (BlockKind.CODE, 0, 3)),
        "the inner block is first": blocks((BlockKind.ITEM, 0, 9), (BlockKind.LIST, 0, 9)),
        "blocks cross": blocks((BlockKind.BOX, 0, 5), (BlockKind.BOX, 3, 9)),
        "an item is in no list": blocks((BlockKind.QUOTE, 0, 9), (BlockKind.ITEM, 0, 9)),
        "a row is in no table": blocks((BlockKind.ROW, 0, 9)),
        "a section is in a list": blocks((BlockKind.LIST, 0, 9), (BlockKind.SECTION, 2, 9, "x", 1)),
        "a page is behind the end": with_fields(pages=(Page("1", 9_000),)),
        "pages are in no order": with_fields(pages=(Page("2", 5), Page("1", 0))),
        "a time runs backwards": with_fields(times=(TimedSpan(Span(0, 3), 2.0, 1.0),)),
        "a time is of no text": with_fields(times=(TimedSpan(TOO_FAR, 1.0, 2.0),)),
        "a box is outside its page": with_fields(boxes=(BoxedSpan(Span(0, 3), 0, 0, 1.5, 1),)),
        "a box is upside down": with_fields(boxes=(BoxedSpan(Span(0, 3), 0, 0.9, 1, 0.2),)),
        "a page has no label": with_fields(pages=(Page("", 0),)),
        "a link is too long": with_fields(link_lines=(TOO_FAR,)),
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
            EditedLoader(blocks((BlockKind.SECTION, 0, 8, "Bridge", 1))),
            check_truncated,
        ),
        (
            EditedLoader(lambda c: replace(c, text=c.text.replace("\n", "\r\n"))),
            lambda e: LOADERS.test_odd_characters_are_cleaned(e, SOURCE),
        ),
        (
            EditedLoader(with_fields(link_lines=(Span(0, 60),))),
            lambda e: LOADERS.test_changed_bytes_are_read_or_refused(
                e, Source(SOURCE.uri, b"\xff" * 59)
            ),
        ),
        (
            EditedLoader(with_fields(link_lines=(Span(0, 9_000),))),
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
