"""Recognise the blocks of plain text: headings, lists, tables, definitions, code and paragraphs.

A text with the marks of Markdown is read as Markdown, whatever the name of its file. The cells of
tables are between bars, behind tabs, or aligned in columns.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice, takewhile
from textwrap import dedent
from typing import NamedTuple

from knotwork._indexing.loaders.blocks import DEEPEST_LIST, BlockWriter
from knotwork._indexing.loaders.lines import (
    Line,
    follows,
    is_code,
    is_code_line,
    may_be_code,
    read_line,
    reads_as_prose,
    written_mark,
)
from knotwork._indexing.loaders.markdown import add_markdown
from knotwork._indexing.loaders.tables import merge_intervals
from knotwork._indexing.loaders.titles_and_captions import is_title_like, item_term
from knotwork._text.languages import is_wide, measure_width
from knotwork._text.sentences import join_lines, join_wrapped, wrapping_width
from knotwork.records import BlockKind

_BORDER = re.compile(r"(?=.*[-=]{2})[-=+|:\s]+")
_BARS = re.compile(r"(?<!\\)\|")
_CELL = re.compile(r"\S+(?: \S+)*")
_GAP = re.compile(r"\t+| {2,}|\u3000+")
_OPTION = re.compile(r"--?\w|/\w+$|<\w")
_FEWEST_ROWS = 3
_MOST_CELL = 200
_MOST_RAGGED_CELL = 40
_FILLER = "\0"
"""Stands behind a wide character, so that each has two columns."""


class TextTable(NamedTuple):
    """The rows of a table in ``lines`` lines; ``has_options`` if they are options and texts."""

    rows: Sequence[Sequence[str]]
    has_header: bool
    lines: int
    has_options: bool = False


def is_border(text: str) -> bool:
    """Return True for a line of a table without cells, such as "---|---" or "+---+"."""
    return _BORDER.fullmatch(text) is not None


def is_closed(text: str) -> bool:
    """Return True for a line that begins and ends with a bar."""
    return text.startswith("|") and text.endswith("|") and len(text) > 2


def read_bars(lines: Sequence[str]) -> TextTable | None:
    """Return the table of successive lines with bars, None if it has one column.

    Without a border, there must be two lines at least.
    """
    parts: list[list[list[str]]] = [[]]
    for line in lines:
        if is_border(line):
            parts.append([])
        else:
            parts[-1].append(_split_bars(line))
    parts = [part for part in parts if part]
    has_border = any(map(is_border, lines))
    if not parts or not (has_border or len(lines) > 1):
        return None
    if max(len(row) for part in parts for row in part) < 2:
        return None
    if len(parts) > 2:  # a border after each row: the lines of a row are joined
        rows = [_join_rows(part) for part in parts]
    else:
        rows = [row for part in parts for row in part]
    return TextTable(rows, has_border and len(rows) > 1, len(lines))


def _split_bars(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.replace("\\|", "|").strip() for cell in _BARS.split(inner)]


def _join_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    width = max(map(len, rows))
    padded = [[*row, *[""] * (width - len(row))] for row in rows]
    return [" ".join(filter(None, cells)) for cells in zip(*padded, strict=True)]


def read_aligned(lines: Iterable[str]) -> TextTable | None:
    """Return the table that successive lines begin with, None if no cells are aligned."""
    taken: list[str] = []
    for line in lines:
        if is_border(line.strip()) or has_gap(line) or (taken and _is_deep(line, taken[0])):
            taken.append(line)
        else:
            break
    cut = [line for line in taken if not is_border(line.strip())]
    if len(cut) < 2:
        return None
    rows = _tabbed(cut) or _in_columns(cut) or _ragged(cut)
    if rows is None or any(len(cell) > _MOST_CELL for row in rows for cell in row):
        return None
    has_options = all(len(row) == 2 and _OPTION.match(row[0]) for row in rows)
    places = [number for number, line in enumerate(taken) if is_border(line.strip())]
    return TextTable(rows, any(0 < n < len(taken) - 1 for n in places), len(taken), has_options)


def has_gap(line: str) -> bool:
    """Return True if a line may have several cells: there is a tab or a wide gap in it."""
    return _GAP.search(line.lstrip().rstrip(" ")) is not None


def _is_deep(line: str, first: str) -> bool:
    """Return True if a line begins below the second cell of the first line."""
    found = list(_CELL.finditer(_widened(first)))
    indent = len(line) - len(line.lstrip())
    return len(found) > 1 and indent >= found[1].start() > 0


def _tabbed(lines: Sequence[str]) -> Sequence[Sequence[str]] | None:
    """Return the cells between tabs if all lines have equally many, or at most as the first."""
    if lines[0].startswith("\t") or not all("\t" in line.strip(" ") for line in lines):
        return None
    for tab in ("\t", "\t+"):
        rows = [[cell.strip() for cell in re.split(tab, line.strip(" "))] for line in lines]
        if len({len(row) for row in rows}) == 1:
            return rows
    rows = [line.strip(" ").split("\t") for line in lines]
    return rows if all(len(row) <= len(rows[0]) for row in rows) else None


def _widened(line: str) -> str:
    wide = line.expandtabs(8).replace("\u3000", "  ")
    return wide if wide.isascii() else "".join(c + _FILLER * is_wide(c) for c in wide)


def _in_columns(lines: Sequence[str]) -> Sequence[Sequence[str]] | None:
    """Return the cells of columns that are separated by spaces in all lines.

    A line with one cell that is not in the first column continues the row above.
    """
    if len(lines) < _FEWEST_ROWS and not all(_OPTION.match(line.strip()) for line in lines):
        return None
    found = [list(_CELL.finditer(_widened(line))) for line in lines]
    columns = merge_intervals(match.span() for row in found for match in row)
    if len(columns) < 2:
        return None
    rows: list[list[str]] = []
    for matches in found:
        row = [""] * len(columns)
        for match in matches:
            place = next(n for n, (_, end) in enumerate(columns) if match.start() < end)
            row[place] = f"{row[place]} {match[0].replace(_FILLER, '')}".strip()
        if rows and not row[0] and sum(map(bool, row)) == 1:
            rows[-1] = _join_rows([rows[-1], row])
        else:
            rows.append(row)
    several = sum(sum(map(bool, row)) > 1 for row in rows)
    return rows if len(rows) > 1 and 3 * several >= 2 * len(rows) else None


def _ragged(lines: Sequence[str]) -> Sequence[Sequence[str]] | None:
    """Return the short cells between wide gaps if all lines have equally many."""
    rows = [[cell.strip() for cell in _GAP.split(line.strip())] for line in lines]
    is_table = len({len(row) for row in rows}) == 1 and all(
        len(cell) <= _MOST_RAGGED_CELL for row in rows for cell in row
    )
    return rows if is_table and len(rows) >= _FEWEST_ROWS else None


_MARKDOWN = (
    (re.compile(r"^#{2,6} +\S.*$|(?:\A|\n\n)# +\S.*(?=\n\n|\n?\Z)", re.MULTILINE), 2),
    (re.compile(r"^(?:```|~~~)", re.MULTILINE), 1),
    (re.compile(r"\]\((?:https?://|/|\.{1,2}/|#)[^)\s]{0,500}\)"), 1),
    (re.compile(r"(?<![A-Za-z0-9_*])\*\*(?=\S)[^*\n]+(?<=\S)\*\*"), 1),
)
"""Marks of Markdown and their weights; other comments than Markdown's headings begin with one #."""
_LEAST_WEIGHT = 4
_MOST_WEIGHT = 4
"""The weight of marks that shows that a text uses them, and the most that one kind adds to it."""


def add_text(writer: BlockWriter, text: str) -> None:
    """Append the blocks of a text, which is read as Markdown if it has the marks of it."""
    if is_markdown(text):
        add_markdown(writer, text)
    elif is_code(text):
        writer.code(text)
    else:
        add_plain_text(writer, text)


def is_markdown(text: str) -> bool:
    """Return True if a text has headings, fences, links or bold words as Markdown marks them."""
    weights = (
        min(weight * sum(1 for _ in pattern.finditer(text)), _MOST_WEIGHT)
        for pattern, weight in _MARKDOWN
    )
    return sum(weights) >= _LEAST_WEIGHT


def add_plain_text(writer: BlockWriter, text: str, *, has_directives: bool = False) -> None:
    """Append the blocks of a text without markup; one of reStructuredText may have directives."""
    _Reader(writer, text.split("\n"), _Style(wrapping_width(text), has_directives)).read()


_CHAPTER = re.compile(
    r"(?P<name>chapter|part|book|appendix|section|annex)\s+(?:[IVXLC]+|\d{1,3}|[A-Z])\b"
    r"(?:[.:—–-].{0,80}|\s*)"
    r"|第[一二三四五六七八九十百零〇\d]{1,5}(?P<unit>[章回卷篇部节節])(?:[ \t\u3000:：].{0,40})?"
    r"|(?:(?:phase|stage|step)\s+\d{1,2}\s*[:：.—–-].{1,80}"
    r"|(?:阶段|步骤|階段|步驟)\s*[\d一二三四五六七八九十]{1,2}\s*[:：、].{1,40}"
    r"|第[一二三四五六七八九十\d]{1,3}步\s*[:：、，].{1,40})",
    re.IGNORECASE,
)
_CHAPTER_LEVELS = {"节": 2, "節": 2}
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,3})+)\.?\s+(?=\S)")
_BARE_NUMBER = re.compile(r"(\d{1,2})\s{1,3}(?=[A-Z\u3400-\u9fff])")
_HEADING_KINDS = ("number", "han", "han bracket")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:])\1{2,}")
_RULE = re.compile(r"([-=_*~#+.—─═])(?:\s*\1){2,}$")
_FENCE = re.compile(r"(`{3,}|~{3,})\s*([\w+#-]*)$")
_DIRECTIVE = re.compile(r"\.\. (?:[\w+.-]+:)?([\w+.-]+)::(?:\s+(\S.*))?")
_DIRECTIVE_OPTION = re.compile(r"\s*:?[\w-]+:(?:\s.*)?")
_DIRECTIVES = {
    name: kind
    for kind, names in {
        BlockKind.CODE: "code-block code sourcecode parsed-literal prompt math",
        BlockKind.TABLE: "csv-table list-table",
        BlockKind.DEFINITION: "option cmdoption envvar confval setting describe glossary function "
        "method class attribute data exception module macro type member var command signature "
        "variable",
        BlockKind.FIGURE: "figure",
        BlockKind.PARAGRAPH: "rubric versionadded versionchanged deprecated",
    }.items()
    for name in names.split()
}
"""What directives of reStructuredText are; all others are boxes."""
CODE_DIRECTIVES = tuple(name for name, kind in _DIRECTIVES.items() if kind is BlockKind.CODE)
_TITLED = ("admonition", "topic", "sidebar")
_VERSIONS = {
    "versionadded": "New in version {}:",
    "versionchanged": "Changed in version {}:",
    "deprecated": "Deprecated since version {}:",
}
_PROMPT = re.compile(r"(?:>>>|\$ [a-z./~]|[A-Z]:\\[^>]*>)")
_INTERRUPTING = (_FENCE, _RULE, _PROMPT)
_QUOTE = re.compile(r"(?:> ?)+")
_DEFINES = re.compile(r"^\s*:\s+(?=\S)")
_GOES_ON = re.compile(r"[:：→]$")
_ENDED = re.compile(r"[.!?:。！？：]$")
_NO_TITLE_END = re.compile(r"[,;:.，；：。]$")
MOST_TITLE = 60
"""The widest title of plain text, in half-width characters."""
_FEWEST_CAPITALS = 4
_DEEPEST_BORDER = 3
"""Lines of which the first border of a table is one."""
_FARTHEST = 40
"""Lines in which the next item of a list is looked for."""
_MOST_BETWEEN = 2
"""Lines without indent between two items that still belong to the first."""
_FULL = 0.7
"""Share of the width of a text from which on a line may continue in the next."""


@dataclass
class _Style:
    """How a text is written: its width if its lines are wrapped, and the ranks of its headings.

    With directives, a single term with indented text below it is a definition.
    """

    width: float
    has_directives: bool = False
    ranks: dict[str, int] = field(default_factory=dict)

    @property
    def deepest(self) -> int:
        """The level of the deepest heading so far."""
        return max(self.ranks.values(), default=0)

    def rank(self, style: str, level: int = 0) -> int:
        """Return the level of a style of heading, by default below those used so far."""
        return self.ranks.setdefault(style, level or self.deepest + 1)


class _Reader:
    """Reads lines of a text; each method reads one kind of block from a line on.

    Returns the number of the line after the block, 0 if none of its kind begins there. ``depth`` is
    0 outside of lists and quotes. In an item, all lines of a paragraph are joined.
    """

    def __init__(
        self,
        writer: BlockWriter,
        lines: Sequence[str],
        style: _Style,
        *,
        depth: int = 0,
        in_item: bool = False,
    ) -> None:
        self._writer = writer
        self._style = style
        self._depth = depth
        self._in_item = in_item
        self._unaligned = 0  # up to this line, no table has aligned cells
        self._unclosed: set[str] = set()  # fences that no line below closes
        self._nested: set[tuple[str, str]] = set()  # kinds of lists and of those in their items
        self._lines = [read_line(line) for line in lines]
        self._bare = {
            int(match[1])
            for number, line in enumerate(self._lines)
            if (match := _BARE_NUMBER.match(line.text)) and not self._at(number - 1).text
        }

    def read(self) -> None:
        readers: list[Callable[[int], int]] = [
            self._read_fence,
            *([] if self._depth else [self._read_underlined]),
            self._skip_rule,
            self._read_directive,
            self._read_code,
            self._read_bars,
            self._read_columns,
            self._read_quote,
            self._read_list,
            *([] if self._depth else [self._read_heading]),
            self._read_entries,
            self._read_terms,
            self._read_paragraph,
        ]
        number = self._next_text(0)
        while number < len(self._lines):
            number = self._next_text(next(after for read in readers if (after := read(number))))

    def _at(self, number: int) -> Line:
        return self._lines[number] if 0 <= number < len(self._lines) else _NO_LINE

    def _next_text(self, number: int) -> int:
        while number < len(self._lines) and not self._lines[number].text:
            number += 1
        return number

    def _from(self, number: int) -> Iterator[Line]:
        lines = map(self._lines.__getitem__, range(number, len(self._lines)))
        return takewhile(lambda line: line.text, lines)

    def _run(self, number: int, is_part: Callable[[Line], object]) -> Sequence[Line]:
        """Return the successive lines from one on that are not blank and pass a test."""
        return list(takewhile(is_part, self._from(number)))

    def _lead(self, number: int) -> str | None:
        """Return the line above a list, table or code if it reads like a title of it."""
        line = self._writer.last.rpartition("\n")[2]
        is_title = is_title_like(line) and measure_width(line) <= MOST_TITLE
        return line if is_title and self._at(number - 1).text.endswith(line) else None

    def _read_inside(
        self, lines: Sequence[str], *, in_item: bool = True, begins_with_mark: bool = False
    ) -> None:
        """Read the lines of an item, a definition or a quote."""
        depth = self._depth + 1
        if depth <= DEEPEST_LIST:
            inner = _Reader(self._writer, lines, self._style, depth=depth, in_item=in_item)
            if begins_with_mark:
                inner._lines[0] = Line(lines[0], lines[0], 0)
            inner.read()
        else:
            self._writer.paragraph(join_lines(lines))

    def _skip_rule(self, number: int) -> int:
        return number + 1 if _RULE.match(self._at(number).text) else 0

    def _read_underlined(self, number: int) -> int:
        """Read a heading with a line of marks below it, and maybe above it."""
        title, below = self._at(number), self._at(number + 1)
        over = _UNDERLINE.fullmatch(title.text)
        if over and _UNDERLINE.fullmatch(self._at(number + 2).text):
            title, below, number = below, self._at(number + 2), number + 1
        found = _UNDERLINE.fullmatch(below.text)
        if found is None or not any(map(str.isalnum, title.text)) or "|" in title.text:
            return 0
        columns = measure_width(title.text)
        if columns > 2 * MOST_TITLE or _NO_TITLE_END.search(title.text):
            return 0
        if len(below.text) < min(columns, len(title.text) + 3) - 2:
            return 0
        style = found[1] * (2 if over else 1)
        self._writer.heading(self._style.rank(style), title.text)
        return number + 2

    def _read_fence(self, number: int) -> int:
        opened = _FENCE.match(self._at(number).text)
        if opened is None or opened[1] in self._unclosed:
            return 0
        for after in range(number + 1, len(self._lines)):
            text = self._lines[after].text
            if text.startswith(opened[1]) and not text.strip(opened[1][0]):
                self._add_code(number, number + 1, after, language=opened[2])
                return after + 1
        self._unclosed.add(opened[1])
        return 0

    def _read_code(self, number: int) -> int:
        """Read lines with a prompt, lines that look like code, or indented ones that may be.

        Those below a line that ends in a colon are code unless they are sentences or other blocks.
        """
        above = next(
            (line.text for n in range(number - 1, -1, -1) if (line := self._at(n)).text), ""
        )
        is_led = _GOES_ON.search(above) is not None and not self._style.has_directives
        end = after = self._code_end(number, is_led=is_led)
        while after:
            end, after = after, self._code_end(self._next_text(after), is_led=is_led)
        if end:
            self._add_code(number, number, end)
        return end

    def _code_end(self, number: int, *, is_led: bool) -> int:
        """Return the end of a block of code, 0 if a line does not begin one."""
        first = self._at(number)
        if _PROMPT.match(first.text):
            return number + sum(1 for _ in self._from(number))
        if first.indent >= 4 and not self._at(number - 1).text:
            lines = self._run(number, lambda line: line.indent >= 4)
            signs = sum(may_be_code(line.text) for line in lines)
            is_code = 2 * signs >= len(lines) or (is_led and self._is_shown(number, lines))
            return number + len(lines) if is_code else 0
        if not is_code_line(first) or first.kind:
            return 0
        lines = self._run(number, lambda line: is_code_line(line) or line.indent > first.indent)
        return number + len(lines) if sum(map(is_code_line, lines)) > 1 else 0

    def _is_shown(self, number: int, lines: Sequence[Line]) -> bool:
        """Return True if indented lines are no list, no table, and mostly no words of sentences."""
        if (first := self._at(number)).kind and self._begins_list(number):
            return False
        said = sum(reads_as_prose(line.text) for line in lines)
        table = self._aligned(number) if has_gap(first.raw) else None
        return 2 * said < len(lines) and (table is None or table.lines < len(lines))

    def _add_code(self, number: int, start: int, end: int, language: str = "") -> None:
        raw = [line.raw.expandtabs(4) for line in self._lines[start:end]]
        shared = min((len(line) - len(line.lstrip()) for line in raw if line.strip()), default=0)
        code = "\n".join(line[shared:] for line in raw)
        self._writer.code(code, language, lead=self._lead(number))

    def _read_bars(self, number: int) -> int:
        near = [line.text for line in islice(self._from(number), _DEEPEST_BORDER)]
        if any(map(is_border, near)):
            lines = self._run(number, lambda line: "|" in line.text or is_border(line.text))
        else:
            lines = self._run(number, lambda line: is_closed(line.text))
        table = read_bars([line.text for line in lines])
        if table is None:
            return 0
        self._writer.table(table.rows, header=table.has_header, lead=self._lead(number))
        return number + len(lines)

    def _read_columns(self, number: int) -> int:
        """Read a table, or a list of options, whose cells are separated by tabs or aligned."""
        table = self._aligned(number)
        if table is None:
            return 0
        if table.has_options:
            for term, *body in table.rows:
                opened = self._writer.begin_definition([term])
                self._writer.paragraph(" ".join(body))
                self._writer.end(opened)
        else:
            header = table.has_header or None
            self._writer.table(table.rows, header=header, lead=self._lead(number))
        return number + table.lines

    def _aligned(self, number: int) -> TextTable | None:
        """Return the table of aligned cells that begins at a line, None without one."""
        if number < self._unaligned:
            return None
        table = read_aligned(line.raw for line in self._from(number))
        if table is None:
            self._unaligned = number + len(self._run(number, lambda line: has_gap(line.raw)))
        return table

    def _read_quote(self, number: int) -> int:
        lines = self._run(number, lambda line: line.text.startswith(">"))
        if not lines:
            return 0
        with self._writer.block(BlockKind.QUOTE):
            said = [_QUOTE.sub("", line.text, count=1) for line in lines]
            self._read_inside(said, in_item=False)
        return number + len(lines)

    def _read_list(self, number: int) -> int:
        if not self._begins_list(number):
            return 0
        after = number
        with self._writer.block(BlockKind.LIST, lead=self._lead(number)):
            while True:
                line, end = self._lines[after], self._item_end(after, len(self._lines))
                mark, text = written_mark(line)
                with self._writer.block(BlockKind.ITEM, mark=mark) as item:
                    said = [text, *self._item_lines(after, end)]
                    self._read_inside(said, begins_with_mark=text == line.text)
                    if item.start < 0:  # nothing but marks
                        self._writer.paragraph(text)
                after = self._next_text(end)
                if not _is_sibling(line, self._at(after)):
                    return end

    def _begins_list(self, number: int) -> bool:
        """Return True if the item of a line has a sibling, or is a bullet that stands alone."""
        line, before = self._at(number), self._at(number - 1).text
        if not line.kind:
            return False
        if self._in_item and {0, 1} & {*line.places}:
            return True
        if 0 in line.places and (not before or _GOES_ON.search(before)):
            return True
        end = self._item_end(number, number + _FARTHEST)
        return _is_sibling(line, self._at(self._next_text(end)))

    def _item_end(self, number: int, limit: int) -> int:
        """Return the number of the line after an item and all that belongs to it."""
        item = self._lines[number]
        after = number + 1
        while after < min(limit, len(self._lines)):
            line = self._lines[after]
            if not line.text:
                ahead = self._next_text(after)
                if self._at(ahead).indent <= item.indent or _is_sibling(item, self._at(ahead)):
                    return after
                after = ahead
            elif _is_sibling(item, line):
                return after
            elif line.indent > item.indent:
                after += 1
            elif following := self._lazy_end(number, after):
                after = following
            else:
                return after
        return after

    def _lazy_end(self, number: int, after: int) -> int:
        """Return the end of lines that belong to an item in spite of their indent, or 0."""
        item, line = self._lines[number], self._lines[after]
        if not line.kind and self._is_wrapped(after):
            return after + 1
        below = _NUMBERED.match(line.text)  # "1.1" below "1." has a line of its own
        is_below = below is not None and int(below[1].split(".")[0]) in item.places
        if is_below or line.indent < item.indent or item.kind.startswith("han"):
            return 0
        if line.kind:
            return self._inner_list_end(item, after) if {0, 1} & {*line.places} else 0
        if _GOES_ON.search(item.text) and after == number + 1:
            return after + 1
        is_apart = is_title_like(line.text) or _GOES_ON.search(line.text) is not None
        is_section = is_title_like(item.text) and measure_width(line.text) > MOST_TITLE
        ends = range(after + 1, after + 1 + _MOST_BETWEEN)
        if is_apart or (is_section and 0 not in item.places):
            return 0
        return next((end for end in ends if _is_sibling(item, self._at(end))), 0)

    def _inner_list_end(self, item: Line, start: int) -> int:
        """Return the end of a list that belongs to an item though it is not indented, or 0."""
        kinds = (item.kind, self._lines[start].kind)
        for end in range(start + 1, min(start + _FARTHEST, len(self._lines))):
            line = self._lines[end]
            if _is_sibling(item, line):
                self._nested.add(kinds)
                return end
            if line.text and not line.kind and line.indent <= item.indent:
                break
        is_led = _GOES_ON.search(self._lines[start - 1].text) is not None
        return start + 1 if is_led or kinds in self._nested else 0

    def _is_wrapped(self, number: int) -> bool:
        """Return True if a line continues the one before, as that fills the width of the text."""
        width = self._style.width
        return bool(width) and len(self._lines[number - 1].raw) >= _FULL * width

    def _item_lines(self, number: int, end: int) -> Iterator[str]:
        """Yield the lines of an item but the first, without the indent that they share."""
        item = self._lines[number]
        lines = self._lines[number + 1 : end]
        deeper = [line.indent for line in lines if line.text and line.indent > item.indent]
        shared = min([item.indent + item.mark, *deeper])
        for line in lines:
            yield line.raw.expandtabs(4)[min(line.indent, shared) :]

    def _read_heading(self, number: int) -> int:
        """Read a line that announces a chapter, has the number of a section, or is in capitals."""
        line = self._at(number)
        text = " ".join(line.text.split())
        if measure_width(text) > 2 * MOST_TITLE or self._next_text(number + 1) == len(self._lines):
            return 0
        is_apart = not self._at(number - 1).text
        if not is_apart and (self._style.width or not any(map(is_wide, text))):
            return 0
        level = self._heading_level(line, text, number)
        if level:
            self._writer.heading(level, text)
        return number + 1 if level else 0

    def _heading_level(self, line: Line, text: str, number: int) -> int:
        rank = self._style.rank
        chapter = _CHAPTER.fullmatch(text)
        if chapter:
            unit = chapter["unit"] or ("chapter" if chapter["name"] else "")
            return rank(unit or "step", _CHAPTER_LEVELS.get(unit, 1) if unit else 0)
        level = 0
        if not is_title_like(text):
            pass
        elif numbered := _NUMBERED.match(text):
            dots = numbered[1].count(".")
            level = rank("number", max(1, self._style.deepest + 1 - dots)) + dots
        elif line.kind in _HEADING_KINDS:
            level = rank(line.kind)
        elif bare := _BARE_NUMBER.match(text):
            here = int(bare[1])
            is_counted = 1 in self._bare and {here - 1, here + 1} & self._bare
            level = rank("number") if is_counted else 0
        elif text.isupper() and sum(map(str.isalpha, text)) >= _FEWEST_CAPITALS:
            below = self._at(self._next_text(number + 1)).text
            is_alone = not self._at(number + 1).text and not below.isupper()
            level = rank("capitals") if is_alone else 0
        return level

    def _read_entries(self, number: int) -> int:
        """Read lines of the form "term: text", at least two: definitions, or turns of speakers."""
        found: list[tuple[str, str]] = []
        after = end = number
        while not self._at(after).kind and (term := item_term(self._at(after).text)):
            end = self._entry_end(after)
            found.append((term, join_lines(line.text for line in self._lines[after:end])))
            after = self._next_text(end)
        if len({term for term, _ in found}) < 2:
            return 0
        self._writer.entries(found)
        return end

    def _entry_end(self, number: int) -> int:
        first = self._at(number)
        after = number + 1
        while (line := self._at(after)).text and not line.kind:
            is_wrapped = self._is_wrapped(after) and not item_term(line.text)
            if line.indent <= first.indent and not is_wrapped:
                break
            after += 1
        return after

    def _read_terms(self, number: int) -> int:
        """Read terms with what defines them below: behind colons, or indented and two of them."""
        found: list[tuple[str, int, int]] = []
        after = end = number
        fewest = 1 if self._style.has_directives else 2
        while (term := self._at(after)).text and is_title_like(term.text) and not term.kind:
            colon = _DEFINES.match(self._at(after + 1).text) and not term.text.startswith(":")
            below = self._described(after, has_colon=bool(colon))
            if not below or term.indent != self._at(number).indent:
                break
            fewest = 1 if colon else fewest
            name, end = term.text, after + 1 + len(below)
            if self._style.has_directives and not colon:
                name, end = name.partition(" : ")[0], self._indented_end(after)
            found.append((name, after + 1, end))
            after = self._next_text(end)
        if len(found) < fewest:
            return 0
        for text, start, stop in found:
            opened = self._writer.begin_definition([text])
            said = [_DEFINES.sub("", line) for line in self._item_lines(start - 1, stop)]
            self._read_inside(said)
            self._writer.end(opened)
        return end

    def _described(self, number: int, *, has_colon: bool) -> Sequence[Line]:
        """Return the lines below a term that describe it: indented ones, or those with a colon."""
        indent = self._at(number).indent
        return self._run(
            number + 1,
            lambda line: line.indent > indent or (has_colon and _DEFINES.match(line.text)),
        )

    def _read_paragraph(self, number: int) -> int:
        """Read a paragraph, and the code below it if it ends in two colons."""
        after = number + 1
        while self._at(after).text and not self._interrupts(after):
            after += 1
        lines = [line.raw.rstrip() for line in self._lines[number:after]]
        is_literal = lines[-1].endswith("::")
        if is_literal:
            lines[-1] = lines[-1][:-1]
        if any(line.strip(" :") for line in lines):
            self._add_paragraph(lines)
        return self._read_literal(after - 1) if is_literal else after

    def _read_literal(self, number: int, language: str = "") -> int:
        """Read code that is indented below a line, whatever it looks like."""
        start, end = self._next_text(number + 1), self._indented_end(number)
        if end <= start:
            return number + 1
        self._add_code(number + 1, start, end, language)
        return end

    def _indented_end(self, number: int) -> int:
        """Return the end of the lines below one that are indented from it, blank ones included."""
        above = self._lines[number]
        end = number + 1
        while (following := self._next_text(end)) < len(self._lines):
            lines = self._run(following, lambda line: line.indent > above.indent)
            if not lines:
                break
            end = following + len(lines)
        return end

    def _read_directive(self, number: int) -> int:
        found = _DIRECTIVE.fullmatch(self._at(number).text)
        if found is None or not (self._style.has_directives or found[1] in CODE_DIRECTIVES):
            return 0
        name, title = found[1], found[2] or ""
        kind = _DIRECTIVES.get(name, BlockKind.BOX)
        start, end = number + 1, self._indented_end(number)
        while start < end and _DIRECTIVE_OPTION.fullmatch(self._lines[start].text):
            start += 1
        start = self._next_text(start)
        if kind is BlockKind.CODE:
            self._add_code(number + 1, start, end, "" if name == "math" else title)
            return max(end, number + 1)
        body = dedent("\n".join(line.raw for line in self._lines[start:end])).split("\n")
        if kind is BlockKind.TABLE:
            with self._writer.block(BlockKind.BOX, title) if title else nullcontext():
                self._writer.paragraph(title)
                self._writer.table(csv.reader(body) if name == "csv-table" else _listed_rows(body))
        elif kind is BlockKind.DEFINITION and title:
            opened = self._writer.begin_definition([title])
            self._read_inside(body, in_item=False)
            self._writer.end(opened)
        elif name in _VERSIONS:
            first, _, text = title.partition(" ")
            said = [_VERSIONS[name].format(first), text, *body]
            self._read_inside(said if any(said[1:]) else [said[0].rstrip(":")])
        elif kind is BlockKind.PARAGRAPH:
            self._writer.paragraph(title)
        else:
            gap = [] if self._at(number + 1).text else [""]
            around, label, said = BlockKind.BOX, "", [title, *gap, *body]
            if kind is BlockKind.FIGURE:
                around, label, said = kind, join_lines(takewhile(str.strip, body)), body
            elif name in _TITLED:
                label, said = title, [title, "", *body]
            with self._writer.block(around, label):
                self._read_inside(said, in_item=False)
        return max(end, number + 1)

    def _add_paragraph(self, lines: Sequence[str]) -> None:
        width = self._style.width
        if self._in_item or self._style.has_directives:
            self._writer.paragraph(join_lines(lines))
            return
        text = join_wrapped("\n".join(lines), width=width)
        parts = [part.strip() for part in text.split("\n")]
        ended = sum(_ENDED.search(part) is not None for part in parts)
        is_verse = max(map(measure_width, parts)) <= MOST_TITLE and 2 * ended <= len(parts)
        for part in ["\n".join(parts)] if width or is_verse else parts:
            self._writer.paragraph(part)

    def _interrupts(self, number: int) -> bool:
        """Return True if another block begins at a line inside a paragraph."""
        line, below = self._at(number), self._at(number + 1)
        if any(pattern.match(line.text) for pattern in _INTERRUPTING):
            return True
        if has_gap(line.raw) and not has_gap(self._at(number - 1).raw):
            return self._aligned(number) is not None
        has_border = is_border(line.text) or is_border(below.text)
        if has_border and "|" in line.text + below.text:
            return True
        if line.kind and self._begins_list(number):
            return True
        if line.text.startswith(">"):  # one such line may be a comparison
            return below.text.startswith(">") or bool(_GOES_ON.search(self._at(number - 1).text))
        return not self._depth and is_title_like(line.text) and self._begins_section(line, below)

    def _begins_section(self, line: Line, below: Line) -> bool:
        """Return True if a line that may be a title is one, though text is above it."""
        if _UNDERLINE.fullmatch(below.text):
            return True
        is_heading = line.kind in _HEADING_KINDS or _CHAPTER.fullmatch(line.text)
        return bool(is_heading) and not self._style.width and any(map(is_wide, line.text))


_LISTED_CELL = re.compile(r"(?:\* |  )- ?")


def _listed_rows(lines: Sequence[str]) -> list[list[str]]:
    """Return the rows of a table that is written as a list of lists."""
    rows: list[list[str]] = []
    for line in lines:
        if line.startswith("* "):
            rows.append([])
        cell = _LISTED_CELL.match(line)
        if rows and cell:
            rows[-1].append(line[cell.end() :])
        elif rows and rows[-1]:
            rows[-1][-1] += f" {line.strip()}"
    return rows


_NO_LINE = Line("", "", 0)


def _is_sibling(item: Line, line: Line) -> bool:
    """Return True if a line is the next item of the list of an item."""
    return (
        bool(line.kind)
        and line.kind == item.kind
        and abs(line.indent - item.indent) <= (0 in item.places) ^ 1
        and follows(item, line)
    )
