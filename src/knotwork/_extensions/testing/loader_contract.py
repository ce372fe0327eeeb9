"""Contract suite for loaders: normalised text, exact spans, and safe with hostile files."""

from __future__ import annotations

import builtins
import io
import os
import random
import re
import socket
import warnings
from itertools import pairwise
from typing import NoReturn

import pytest

from knotwork._extensions.testing.worker_copy import worker_copy
from knotwork._indexing.loaders.loader import MEGABYTE, Content, Loader, Source, clean_text
from knotwork.errors import LoadError
from knotwork.records import BlockKind, BlockTree, Span, Table, block_order, nest_blocks

_CELL_TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "date": (str,),
    "integer": (int,),
    "number": (int, float),
}
_REASONS = frozenset(
    {"binary", "broken", "empty", "encoding", "no_text", "password", "too_large", "unsupported"}
)
_LABELLED = (BlockKind.SECTION, BlockKind.DEFINITION)
_INSIDE = {BlockKind.ITEM: BlockKind.LIST, BlockKind.ROW: BlockKind.TABLE}
"""Kinds of blocks that are parts of one other kind."""
_INK = re.compile(r"\S")
_FILLED = {BlockKind.ITEM: re.compile(r"\S\s+\S"), BlockKind.ROW: re.compile(r"[^\s|]")}
"""What has more than marks: a list item its text behind its mark, a row at least one cell."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SNIFFED_BYTES = 1_024
"""A signature is looked for in this many bytes, after white space."""


class LoaderContract:
    """The behaviour of loaders that indexing and citations rely on.

    Subclass it and define three fixtures. The sample should have what the format can have:
    headings, lists, a table, code, pages. If the text can be far longer than its file, because the
    format is compressed or repeats parts, the suite also needs a file that shows it::

        class TestMyLoader(LoaderContract):
            @pytest.fixture
            def loader(self):
                return MyLoader()

            @pytest.fixture
            def sample(self):       # the bytes of a small file
                return b"..."

            @pytest.fixture
            def sample_text(self):  # a sentence that its text must contain
                return "The bridge opened in 1784."

            @pytest.fixture
            def oversized(self):    # less than 1 MB, with a text of more than 4 MB
                return make_bomb(5_000_000)
    """

    @pytest.fixture
    def oversized(self) -> bytes | None:
        """A file of less than 1 MB with a text of more than 4 MB; None if none exists."""
        return None

    @pytest.fixture
    def source(self, loader: Loader, sample: bytes) -> Source:
        suffix = loader.suffixes[0] if loader.suffixes else ""
        return Source(f"no such folder/sample{suffix}", sample)

    def test_name_suffixes_and_signatures_are_well_formed(self, loader: Loader) -> None:
        assert re.fullmatch(r"[a-z][a-z0-9._-]*", loader.name)
        assert loader.suffixes or loader.signatures
        for suffix in loader.suffixes:
            assert Source(f"name{suffix}", b"").suffix == suffix != ""
        for signature in loader.signatures:
            assert isinstance(signature, bytes)
            assert 0 < len(signature) <= _SNIFFED_BYTES
            assert signature == signature.lstrip()
        assert len(set(loader.suffixes)) == len(loader.suffixes)

    def test_the_text_is_read(self, loader: Loader, source: Source, sample_text: str) -> None:
        content = loader.load(source)
        check_content(content)
        assert sample_text in content.text

    def test_equal_bytes_have_equal_content(self, loader: Loader, source: Source) -> None:
        first = loader.load(source)
        for damaged in (source.data[: len(source.data) // 2], b"\x00\xff" * 50):
            _load(loader, Source(source.uri, damaged))
        for uri in (source.uri, f"other/{source.name}"):
            assert loader.load(Source(uri, source.data)) == first

    @pytest.mark.parametrize("part", [0.0, 0.001, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999])
    def test_a_truncated_file_is_read_or_refused(
        self, loader: Loader, source: Source, part: float
    ) -> None:
        _load(loader, Source(source.uri, source.data[: int(len(source.data) * part)]))

    @pytest.mark.parametrize("size", [1, 100, 5_000])
    def test_random_bytes_are_read_or_refused(
        self, loader: Loader, source: Source, size: int
    ) -> None:
        chance = random.Random(size)  # noqa: S311 - the same bytes in each run
        _load(loader, Source(source.uri, chance.randbytes(size)))
        _load(loader, Source(source.uri, source.data[:16] + chance.randbytes(size)))

    def test_changed_bytes_are_read_or_refused(self, loader: Loader, source: Source) -> None:
        chance = random.Random(7)  # noqa: S311 - the same bytes in each run
        for _ in range(12):
            data = bytearray(source.data)
            for _ in range(1 + len(data) // 300):
                data[chance.randrange(len(data))] = chance.randrange(256)
            _load(loader, Source(source.uri, bytes(data)))

    def test_odd_characters_are_cleaned(self, loader: Loader, source: Source) -> None:
        for odd in (b"\r\n", b"\r", b"\x00", b"\xef\xbb\xbf", b"\xed\xa0\x80"):
            _load(loader, Source(source.uri, odd + source.data))
            _load(loader, Source(source.uri, source.data.replace(b" ", odd)))

    def test_an_expanding_file_is_refused(
        self, loader: Loader, source: Source, oversized: bytes | None
    ) -> None:
        if oversized is None:
            pytest.skip("The text is not longer than its file.")
        assert len(oversized) < MEGABYTE
        with pytest.raises(LoadError) as caught:
            loader.load(Source(source.uri, oversized, max_bytes=MEGABYTE, max_characters=MEGABYTE))
        assert caught.value.reason == "too_large"

    def test_only_the_given_bytes_are_read(
        self, loader: Loader, source: Source, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        loader.load(source)  # imports what it needs
        opened: list[str] = []

        def refuse(*arguments: object, **_: object) -> NoReturn:
            opened.append(repr(arguments))
            raise PermissionError("A loader reads its bytes only.")

        with monkeypatch.context() as patch:
            for module, name in ((builtins, "open"), (io, "open"), (os, "open")):
                patch.setattr(module, name, refuse)
            for name in ("connect", "connect_ex"):
                patch.setattr(socket.socket, name, refuse)
            loader.load(source)
        assert opened == []

    def test_nothing_is_printed(
        self, loader: Loader, source: Source, capfd: pytest.CaptureFixture[str]
    ) -> None:
        loader.load(source)
        _load(loader, Source(source.uri, source.data[: len(source.data) // 2]))
        assert capfd.readouterr() == ("", "")

    def test_a_worker_process_reads_the_same(self, loader: Loader, source: Source) -> None:
        sent = worker_copy(loader)
        assert worker_copy(sent.load(source)) == loader.load(source)


def _load(loader: Loader, source: Source) -> None:
    """Load a file that may be broken, and check the content or the error."""
    error: LoadError | None = None
    content: Content | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # parsers warn about broken files
        try:
            content = loader.load(source)
        except LoadError as raised:
            error = raised
        except Exception:  # noqa: BLE001 - the registry reports it as a broken file
            return
    if content is not None:
        check_content(content)
    if error is not None:
        assert error.reason in _REASONS
        assert source.uri in error.message


def check_content(content: Content) -> None:
    """Assert that the text is normalised, and that everything recorded about it lies in it."""
    text = content.text
    assert text == clean_text(text)
    assert re.fullmatch(r"[a-z]+/[a-z0-9.+-]+", content.media_type)
    assert _is_line(content.title)
    for key, value in content.metadata.items():
        assert all(map(_is_filled_line, (key, value)))
    check_blocks(content)
    assert all(_is_filled_line(page.label) for page in content.pages)
    starts = [page.start for page in content.pages]
    assert starts == sorted(starts)
    assert all(0 <= start < max(1, len(text)) for start in starts)
    for table in content.tables:
        _check_table(table, text)
    for timed in content.times:
        _check_span(timed.span, text)
        assert 0 <= timed.start_s <= timed.end_s
    for boxed in content.boxes:
        _check_span(boxed.span, text)
        assert 0 <= boxed.left <= boxed.right <= 1
        assert 0 <= boxed.top <= boxed.bottom <= 1
    for line in content.link_lines if isinstance(content, Content) else ():
        _check_span(line, text)
    for link in content.links:
        _check_span(link.span, text)
    assert all(0 <= anchor.start <= len(text) for anchor in content.anchors)
    assert all(text[span.start : span.end].strip() for span, _ in content.styles)


def check_blocks(content: Content) -> None:
    """Assert that blocks are nested in reading order, each with text of its own."""
    assert list(content.blocks) == sorted(content.blocks, key=block_order)
    for block in content.blocks:
        _check_span(block.span, content.text)
        assert _FILLED.get(block.kind, _INK).search(content.text[slice(*block.span)]) is not None
        assert _is_line(block.label)
        assert _is_line(block.lead)
        assert block.label or block.kind not in _LABELLED
        assert (block.level > 0) == (block.kind is BlockKind.SECTION)
    for tree in nest_blocks(content.blocks):
        assert tree.block.kind not in _INSIDE
        for node in tree.walk():
            _check_children(node)


def _check_children(node: BlockTree) -> None:
    kind, span = node.block.kind, node.block.span
    inside = [child.block for child in node.children]
    assert all(span.contains(block.span) for block in inside)
    assert all(one.span.end <= other.span.start for one, other in pairwise(inside))
    assert all(_INSIDE.get(block.kind, kind) is kind for block in inside)
    assert kind is BlockKind.SECTION or all(not block.level for block in inside)


def _check_span(span: Span, text: str) -> None:
    assert 0 <= span.start < span.end <= len(text)


def _check_table(table: Table, text: str) -> None:
    assert len(table.rows) == len(table.numbers) == len(table.spans)
    assert all(one < other for one, other in pairwise((0, *table.numbers)))
    assert all(one.end <= other.start for one, other in pairwise(table.spans))
    for span in table.spans:
        _check_span(span, text)
    for row in table.rows:
        assert len(row) == len(table.columns)
        for column, cell in zip(table.columns, row, strict=True):
            assert cell is None or isinstance(cell, _CELL_TYPES[column.type])


def _is_filled_line(text: str) -> bool:
    return bool(text) and _is_line(text)


def _is_line(text: str) -> bool:
    """Return True if a text is one line that can be stored, possibly an empty one."""
    return text == " ".join(text.split()) and _UNSTORABLE.search(text) is None
