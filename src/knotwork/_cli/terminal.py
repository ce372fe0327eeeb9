"""Print to the terminal: results on standard output, everything else on standard error.

A document must not drive the terminal: whatever is printed passes `make_printable`, and JSON is
escaped. Other writers to standard error, such as tracebacks, warnings and libraries, pass
`PrintableStream`. Paragraphs are wrapped in scripts with and without spaces.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from knotwork._cli.views import Line, Part, Table, fill, find, join_lines, show
from knotwork._shapes.base import fields_of
from knotwork._text.visible import escape_unsafe, make_printable
from knotwork.records import lead_gap

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from rich.console import Console
    from rich.text import Text

    Payload = Mapping[str, Any] | DataclassInstance

Cell = str | int | None
"""A text, a number to be printed with its thousands marked, or nothing."""

_WIDEST = 100
_UNLIMITED = 1_000_000
_GAP = 2
_NARROWEST = 8
_CODE_INDENT = 4

_NUMBER = re.compile(r"(?:[-+]?[\d.,]+)?")
"""A number or an empty cell."""


class PrintableStream:
    """A text stream that replaces unsafe characters in what is written to ``unfiltered``."""

    def __init__(self, unfiltered: TextIO) -> None:
        self.unfiltered = unfiltered

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  an attribute of the other stream
        return getattr(self.unfiltered, name)

    def write(self, text: str) -> int:
        """Write a text, and return its length."""
        self.unfiltered.write(make_printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write lines, which have their own line breaks."""
        for line in lines:
            self.write(line)


@contextmanager
def printable_errors() -> Iterator[None]:
    """Replace unsafe characters in what anything writes to standard error."""
    unfiltered = sys.stderr
    sys.stderr = PrintableStream(unfiltered)
    try:
        yield
    finally:
        sys.stderr = unfiltered


class Terminal:
    """Prints the results, notes and errors of a command."""

    def __init__(self, *, color: str = "auto", json: bool = False, quiet: bool = False) -> None:
        self.color = color
        self.json = json
        self.quiet = quiet

    @cached_property
    def out(self) -> Console:
        """Standard output. Lines are wrapped only if it is a terminal."""
        return self._make_console(sys.stdout)

    @cached_property
    def err(self) -> Console:
        """Standard error. Its own codes, such as colours, are not filtered."""
        return self._make_console(getattr(sys.stderr, "unfiltered", sys.stderr))

    @property
    def is_interactive(self) -> bool:
        """Whether standard error is a terminal that can redraw."""
        return self.err.is_terminal and os.environ.get("TERM") != "dumb"

    def emit(self, payload: Payload) -> None:
        """Print one JSON object on standard output; it may be a record, or have records in it."""
        write_json(payload, sys.stdout)

    def show(self, result: object, *parts: Part, number: int = 0) -> None:
        """Print a result as a view describes it (`views`); it may have a number in its list."""
        for part in parts:
            line = Line(part) if isinstance(part, str) else part
            if isinstance(line, Line):
                text = fill(line.text, result, number)
                if line.note and text:
                    self.note(text, style=line.style)
                elif text or not line.text:
                    self.say(text, style=line.style, indent=line.indent)
                continue
            found = find(result, line.items) or ()
            items = list(found.items() if isinstance(found, Mapping) else found)
            if isinstance(line, Table):
                self._show_rows(items, line)
                continue
            shown = items[: line.most]
            for place, item in enumerate(shown, start=1):
                self.show(item, *line.parts, number=place)
            if line.more and len(items) > len(shown):
                self.show(len(items) - len(shown), line.more)

    def _show_rows(self, items: Sequence[object], part: Table) -> None:
        cells = part.cells()
        rows = [[fill(template, item) for template in cells.values()] for item in items]
        names = ["" if name[:1].isdigit() or name[:1] == " " else name for name in cells]
        self.table(rows, header=names if any(names) else (), indent=part.indent)

    def say(self, text: str = "", *, lead: str = "", style: str = "", indent: int = 0) -> None:
        """Print a paragraph of the result, after a ``lead`` in bold unless it is empty."""
        whole = f"{lead}{lead_gap(text)}{text}" if lead else text
        self._print(self.out, whole, style, indent, bold=[(0, len(make_printable(lead)))])

    def markdown(self, text: str, *, lead: str = "", style: str = "", indent: int = 0) -> None:
        """Print a Markdown text as `say` does; on a terminal, lay out its lists, tables and code.

        A ``lead`` is printed before it in bold.
        """
        if self.out.width == _UNLIMITED:
            self.say(text, lead=lead, style=style, indent=indent)
            return
        from knotwork._text.markdown_parts import PartKind, read_parts

        if lead and lead_gap(text).isspace():
            self.say(lead, style="bold", indent=indent)
            self.say()
            lead = ""
        is_first, is_item_before = True, False
        for part in read_parts(make_printable(text)):
            is_item = bool(part.mark)
            if not is_first and not (is_item and is_item_before):
                self.say()
            margin = indent + part.indent
            if part.kind is PartKind.TABLE:
                self._print_grid(part.rows, margin)
            elif part.kind is PartKind.CODE:
                self._print_code(part.text, margin)
            else:
                shown = style or ("bold" if part.kind is PartKind.HEADING else "")
                self._print_runs(part.text, lead, shown, margin, part.mark)
            lead = ""
            is_first, is_item_before = False, is_item

    def _print_runs(self, text: str, lead: str, style: str, indent: int, mark: str) -> None:
        """Print a paragraph with bold words, after the mark of its item."""
        from knotwork._text.markdown_parts import split_bold

        whole, bold = "", []
        for run, is_bold in [(lead, True), (" — " if lead else "", False), *split_bold(text)]:
            bold += [(len(whole), len(whole) + len(run))] if is_bold else []
            whole += run
        self._print(self.out, whole, style, indent, bold=bold, mark=mark)

    def _print_grid(self, rows: Sequence[Sequence[str]], indent: int) -> None:
        """Print a table with lines around it; long cells are wrapped."""
        from rich import box
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        header, *body = [[join_lines(cell) for cell in row] for row in rows]
        ascii_only = self.out.options.ascii_only
        grid = Table(box=box.ASCII if ascii_only else box.ROUNDED, show_header=any(header))
        for number, name in enumerate(header):
            cells = [row[number] for row in body if number < len(row)]
            is_numeric = bool(cells) and all(_NUMBER.fullmatch(cell) for cell in cells)
            grid.add_column(Text(name), justify="right" if is_numeric else "left", overflow="fold")
        for row in body:
            grid.add_row(*(_join_runs(cell) for cell in row))
        self.out.print(Padding(grid, (0, 0, 0, indent), expand=False))

    def _print_code(self, text: str, indent: int) -> None:
        """Print lines of code as they are; the terminal breaks those that are too long."""
        from rich.text import Text

        margin = " " * (indent + _CODE_INDENT)
        for line in text.expandtabs().split("\n"):
            self.out.print(Text.assemble(margin, (line, "cyan")), soft_wrap=True)

    def note(self, text: str, *, style: str = "") -> None:
        """Print a paragraph on standard error, unless quiet."""
        if not self.quiet:
            self._print(self.err, text, style, 0)

    def fail(self, message: str, fix: str) -> None:
        """Print an error and its fix on standard error."""
        for word, style, given in (("error", "bold red", message), ("fix", "bold cyan", fix)):
            text = join_lines(given)
            if not text:
                continue
            if self.err.width == _UNLIMITED:
                self.err.file.write(f"{word}: {text}\n")
            else:
                from rich.text import Text

                self.err.print(Text.assemble((f"{word}:", style), f" {text}"))

    def table(
        self, rows: Iterable[Sequence[Cell]], *, header: Sequence[str] = (), indent: int = 0
    ) -> None:
        """Print rows in columns, with columns of numbers aligned right.

        If the columns do not fit the terminal, the widest cells are shortened in the middle.
        """
        from rich.cells import cell_len

        table = [[show(cell) for cell in row] for row in rows]
        to_right = [
            all(_NUMBER.fullmatch(cell) for cell in column) for column in zip(*table, strict=True)
        ]
        if header and table:
            table.insert(0, [join_lines(name) for name in header])
        if not table:
            return
        widths = [max(cell_len(cell) for cell in column) for column in zip(*table, strict=True)]
        widths = _narrow(widths, self.out.width - indent - _GAP * (len(widths) - 1))
        for number, row in enumerate(table):
            line = (" " * _GAP).join(map(_fit, row, widths, to_right)).rstrip()
            self._print(self.out, line, "bold" if header and number == 0 else "", indent)

    def _make_console(self, stream: TextIO) -> Console:
        from rich.console import Console

        plain = self.color == "never" or (self.color == "auto" and "NO_COLOR" in os.environ)
        console = Console(
            file=stream,
            force_terminal=True if self.color == "always" else None,
            color_system=None if plain else "auto",
            no_color=False if self.color == "always" else None,
            highlight=False,
            markup=False,
            emoji=False,
        )
        if not console.is_terminal:
            console.width = _UNLIMITED
        elif console.width > _WIDEST:
            console.width = _WIDEST
        return console

    def _print(
        self,
        console: Console,
        text: str,
        style: str,
        indent: int,
        *,
        bold: Sequence[tuple[int, int]] = (),
        mark: str = "",
    ) -> None:
        """Print a paragraph whose parts ``bold`` are bold; ``mark`` ends the first margin."""
        shown = make_printable(text)
        margin = " " * indent
        if console.width == _UNLIMITED:
            lines = shown.split("\n")
            console.file.write("".join(f"{margin}{line}".rstrip() + "\n" for line in lines))
            return
        from rich.text import Text

        paragraph = Text(shown, style)
        for start, end in bold:
            paragraph.stylize("bold", start, end)
        paragraph.expand_tabs(8)
        first = margin[: indent - len(mark)] + mark
        for start, end in _line_spans(paragraph.plain, max(console.width - indent, _NARROWEST)):
            line = paragraph[start:end]
            console.print(Text.assemble(first if line else "", line), soft_wrap=True)
            first = margin


def write_json(payload: Payload, stream: TextIO) -> None:
    """Write a JSON object on one line, with unsafe characters escaped."""
    ascii_only = (stream.encoding or "utf-8").lower().replace("-", "") != "utf8"
    text = json.dumps(payload, ensure_ascii=ascii_only, allow_nan=False, default=_as_json)
    stream.write(escape_unsafe(text) + "\n")


def _as_json(value: Any) -> object:  # noqa: ANN401  what a payload may have in it
    """Return the fields of a record, and a path as a text."""
    return str(value) if isinstance(value, Path) else fields_of(value)


def _join_runs(cell: str) -> Text:
    """Return a cell with its bold words."""
    from rich.text import Text

    from knotwork._text.markdown_parts import split_bold

    return Text.assemble(*((run, "bold" if is_bold else "") for run, is_bold in split_bold(cell)))


def _narrow(widths: Sequence[int], room: int) -> list[int]:
    """Narrow the widest columns until all fit into ``room``, but none below 8 cells."""
    narrowed = list(widths)
    while sum(narrowed) > room and max(narrowed) > _NARROWEST:
        narrowed[narrowed.index(max(narrowed))] -= 1
    return narrowed


def _fit(cell: str, width: int, to_right: bool) -> str:
    """Pad or shorten a cell to exactly ``width`` columns of the terminal."""
    from rich.cells import cell_len, set_cell_size

    padding = " " * (width - cell_len(cell))
    if cell_len(cell) <= width:
        return padding + cell if to_right else cell + padding
    head = set_cell_size(cell, width // 2)
    tail = set_cell_size(cell[::-1], width - 1 - width // 2)[::-1]
    return f"{head}…{tail}"


_OPENING_MARKS = "“‘（《〈「『【〔［｛"
_CLOSING_MARKS = "”’）》〉」』】〕］｝。，、；：！？…·,.;:!?)"
_BEGUN_MARK = re.compile(r" ?\[\d*$")


@cache
def _piece_pattern() -> re.Pattern[str]:
    """Return the pattern of a word or one wide character, with the marks that stay on its line.

    It is compiled when a text is first wrapped: most commands wrap none.
    """
    from knotwork._text.languages import HAN_AND_KANA as WIDE

    return re.compile(
        rf"\s*[{_OPENING_MARKS}]*(?:[{WIDE}]|[^\s{WIDE}{_OPENING_MARKS}]+|[{_OPENING_MARKS}]+)"
        rf"[{re.escape(_CLOSING_MARKS)}]*(?: ?\[\d+\])*"
    )


def wrap_text(text: str, width: int) -> list[str]:
    """Wrap a text into lines of at most ``width`` cells without trailing spaces.

    Lines break at white space and next to Chinese and Japanese characters, but not before closing
    punctuation or a citation mark, nor after opening punctuation. A longer word is cut.
    """
    return [text[start:end] for start, end in _line_spans(text, width)]


def settled_length(text: str) -> int:
    """Return the length of a streamed text that can be wrapped for good: all but its last word.

    An incomplete citation mark counts as part of the word before it.
    """
    begun = _BEGUN_MARK.search(text)
    end = begun.start() if begun else len(text)
    start = text.rfind("\n", 0, end) + 1
    for match in _piece_pattern().finditer(text, start, end):
        start = match.start()
    return start


def _line_spans(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each line of a wrapped text."""
    from rich.cells import cell_len

    first = 0
    for paragraph in text.split("\n"):
        start = end = first
        for match in _piece_pattern().finditer(text, first, first + len(paragraph.rstrip())):
            if cell_len(text[start : match.end()]) <= width:
                end = match.end()
                continue
            if end > start:
                yield start, end
                start = match.start() + len(match[0]) - len(match[0].lstrip())
            for end in range(start + 1, match.end() + 1):
                if cell_len(text[start:end]) > width and end - 1 > start:
                    yield start, start + len(text[start : end - 1].rstrip())
                    start = end - 1
            end = match.end()
        yield start, end
        first += len(paragraph) + 1
