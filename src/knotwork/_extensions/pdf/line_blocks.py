"""Write lines of pages as blocks: tables, definitions, code, lists and paragraphs.

Position, font style, numbers and bullets of the lines decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from knotwork._indexing.loaders.blocks import DEEPEST_LIST, BlockWriter, OpenBlock, lead_in_sentence
from knotwork._indexing.loaders.lines import (
    PARAGRAPH_GAP,
    FlowLine,
    PageLine,
    has_sure_mark,
    joined,
    page_item,
    read_line,
    written_mark,
)
from knotwork._indexing.loaders.loader import clean_text
from knotwork._indexing.loaders.titles_and_captions import (
    MAX_TITLE_LENGTH,
    is_caption,
    is_table_caption,
    item_term,
)
from knotwork.records import BlockKind, BoxedSpan, Page, Span

_MIN_ITEMS = 2
_SHIFTED_ITEM = 8.0
"""Indent of a definition from its term, in points."""
_NESTED_ITEM = 5.0
"""Indent of an item in a list from the items around it; numbers may be aligned at their ends."""
_MAX_TERMS = 6
_MOST_OF_ONE_TERM = 50
"""Lines in a row that begin with the same term, before another one makes them entries."""
_INDENTED = 1.0
"""Smallest difference of the left edges of two lines that counts as an indent, in points."""
_MOST_INDENTED = 500
"""Lines of a definition, or of a list without bullets, at most."""
_DEEPEST = 8
"""Definitions and lists within each other, at most."""
_WIDEST_INDENT = 100
_STOPS = tuple(".!?:;。！？：；")

_Lines = Sequence[FlowLine]
_Found = tuple[int, Callable[[_Lines, int], None]]
"""Where a block ends, and what writes it; it gets the lines and their depth."""


class LineWriter:
    """Appends lines to a document as blocks; ``has_code`` is False if monospaced type is no code.

    Pages begin with their first line.
    """

    def __init__(self, writer: BlockWriter, *, has_code: bool = True) -> None:
        self._writer = writer
        self._has_code = has_code
        self._page = -1

    def heading(self, level: int, title: str, lines: _Lines) -> None:
        """Append a heading, which has these lines."""
        if lines:
            self._begin_page(lines[0])
        self._writer.heading(level, title)
        _add_behind(lines)

    def add(self, lines: _Lines, depth: int = 0) -> None:
        """Append the blocks of the lines below a heading, or of a part of them."""
        index = 0
        while index < len(lines):
            index = self._add_next(lines, index, depth)

    def _add_next(self, lines: _Lines, index: int, depth: int) -> int:
        found = self._find(lines, index, depth)
        if found is not None:
            after, add = found
            add(lines[index:after], depth)
            return after
        after = self._end_of_paragraph(lines, index, depth)
        own = lines[index:after]
        if after == len(lines) or not _is_caption(own) or _is_caption(lines[after : after + 1]):
            self._add_paragraphs(own)
            return after
        with self._writer.block(BlockKind.BOX, joined(own)):
            self._add_paragraphs(own)
            return self._add_next(lines, after, depth)

    def _find(self, lines: _Lines, index: int, depth: int) -> _Found | None:
        """Return the block that begins at a line, None for a paragraph."""
        if lines[index].line.row is not None:
            return _end_of_table(lines, index), self._add_table
        if depth < _DEEPEST:
            if (after := self._end_of_list(lines, index)) > index:
                return after, self._add_list
            if (after := end_of_definition(lines, index)) > index:
                return after, self._add_definition
        if (after := self._end_of_code(lines, index)) > index:
            return after, self._add_code
        if depth < _DEEPEST and (after := _end_of_bare_list(lines, index)) > index:
            return after, self._add_bare_list
        entries = _entries(lines, index)
        return (entries[-1], self._add_entries) if entries else None

    def _end_of_paragraph(self, lines: _Lines, index: int, depth: int) -> int:
        after = index + 1
        while (
            after < len(lines)
            and not lines[after].begins_paragraph
            and self._find(lines, after, depth) is None
        ):
            after += 1
        return after

    def _end_of_code(self, lines: _Lines, start: int) -> int:
        """Return the index after the code that begins at ``start``, or ``start`` if none does."""
        after = start
        while self._has_code and after < len(lines) and lines[after].line.monospaced:
            after += 1
        if after == start + 1 and start and not lines[start].begins_paragraph:
            # One line of a paragraph may consist of a name in monospaced type.
            before = lines[start - 1].line
            is_aligned = abs(lines[start].line.x - before.x) <= _INDENTED
            if is_aligned and not before.text.rstrip().endswith(_STOPS):
                return start
        return after

    def _end_of_list(self, lines: _Lines, start: int) -> int:
        """Return the index after the list that begins at ``start``, or ``start`` if none does.

        Lines that are indented from the bullets belong to the items.
        """
        first = lines[start].line
        items = 0
        are_apart = True
        after = start
        while after < len(lines):
            line, begins = lines[after].line, lines[after].begins_paragraph
            if self._is_item(lines[after]):
                items += 1
                are_apart &= begins
            else:
                is_placed = first.size and after and line.page == lines[after - 1].line.page
                is_indented = is_placed and line.x > first.x + _INDENTED
                goes_on = not begins and (are_apart or not is_placed)
                if not items or not (is_indented or goes_on):
                    break
            after += 1
        is_list = items >= _MIN_ITEMS or (items and has_sure_mark(lines[start].text))
        return after if is_list else start

    def _is_item(self, line: FlowLine) -> bool:
        is_code = line.line.monospaced and self._has_code
        return line.line.row is None and not is_code and page_item(line.text) is not None

    def _add_list(self, lines: _Lines, depth: int) -> None:
        starts = [number for number, line in enumerate(lines) if self._is_item(line)]
        opened: list[tuple[OpenBlock, OpenBlock]] = []
        levels = _item_levels([lines[number] for number in starts])
        for level, (start, after) in zip(levels, pairwise([*starts, len(lines)]), strict=True):
            mark, text = written_mark(read_line(lines[start].text))
            while len(opened) > level + 1:
                self._writer.end(opened.pop()[0])
            around = None
            if len(opened) > level:
                # Where numbers follow bullets, or bullets numbers, another list begins.
                before, item = opened.pop()
                goes_on = item.mark[:1].isdigit() == mark[:1].isdigit()
                self._writer.end(item if goes_on else before)
                around = before if goes_on else None
            around = around or self._writer.begin(BlockKind.LIST)
            opened.append((around, self._writer.begin(BlockKind.ITEM, mark=mark)))
            content = lines[start:after]
            head = self._end_of_paragraph(content, 0, depth + 1)
            self._add_paragraphs(content[:head], skipped=lines[start].text.index(text))
            self.add(content[head:], depth + 1)
        self._writer.end(opened[0][0])

    def _add_bare_list(self, lines: _Lines, _depth: int) -> None:
        with self._writer.block(BlockKind.LIST):
            for start, after in pairwise([*_bare_items(lines), len(lines)]):
                with self._writer.block(BlockKind.ITEM):
                    self._add_paragraphs(lines[start:after], skipped=0)

    def _add_entries(self, lines: _Lines, _depth: int) -> None:
        """Append entries as definitions, or as turns of speakers who speak again."""
        parts = [lines[start:after] for start, after in pairwise(_entries(lines, 0))]
        terms = [item_term(part[0].text) for part in parts]
        kind = BlockKind.TURN if len(set(terms)) < len(terms) else BlockKind.DEFINITION
        for term, part in zip(terms, parts, strict=True):
            with self._writer.block(kind, term):
                self._add_paragraphs(part, skipped=0)

    def _add_definition(self, lines: _Lines, depth: int) -> None:
        terms = _terms_at(lines, 0)
        label = ", ".join(term.line.text.strip() for term in terms)
        with self._writer.block(BlockKind.DEFINITION, label):
            self._begin_page(lines[0])
            self._writer.term(label)
            _add_behind(terms)
            self.add(lines[len(terms) :], depth + 1)

    def _add_code(self, lines: _Lines, _depth: int) -> None:
        """Append code with its indents and blank lines; a page may begin inside."""
        self._begin_page(lines[0])
        texts = list(_code_lines(lines))
        span = self._writer.code("\n".join(texts))
        # In an item, the writer indents all lines but the first and blank ones.
        added = span.end - span.start - len("\n".join(texts))
        indent = added // max(1, len(texts) - 1)
        place = span.start
        for line, text in zip(lines, texts, strict=True):
            self._begin_page(line, place)
            place += len(text) + 1 + indent
        _add_behind(lines)

    def _add_table(self, lines: _Lines, _depth: int) -> None:
        rows = [(line, line.line.row.cells) for line in lines if line.line.row is not None]
        rows = [(line, cells) for line, cells in rows if any(map(str.strip, cells))]
        first = lines[0].line.row
        self._begin_page(lines[0])
        start = self._writer.length + (len(PARAGRAPH_GAP) if self._writer.length else 0)
        spans = self._writer.table(
            [cells for _, cells in rows], header=first is not None and first.is_header
        )
        if len(spans) < len(rows):
            spans = [Span(start, spans[0].start), *spans]
        for (line, _), span in zip(rows, spans, strict=True):
            self._begin_page(line, span.start)
            self._add_box(line, span)
        _add_behind(lines)

    def _add_paragraphs(self, lines: _Lines, *, skipped: int = -1) -> None:
        """Append lines as running text; the first ``skipped`` characters are those of an item."""
        term = lines[0].line.term
        is_defined = bool(term) and skipped < 0
        opened = self._writer.begin(BlockKind.DEFINITION, term) if is_defined else None
        for line, gap, text in _runs(lines, max(0, skipped)):
            self._begin_page(line)
            if gap == PARAGRAPH_GAP:
                span = self._writer.paragraph(text, term="" if is_defined else term)
                is_defined = True
            else:
                span = self._writer.extend(text, gap=gap)
            self._add_box(line, span)
        if opened is not None:
            self._writer.end(opened)
        for line in lines:
            if not line.text:
                self._begin_page(line)
        _add_behind(lines)

    def _add_box(self, line: FlowLine, span: Span) -> None:
        if line.edges is not None and span.end > span.start:
            self._writer.boxes.append(BoxedSpan(span, *line.edges))

    def _begin_page(self, line: FlowLine, start: int = -1) -> None:
        """Begin the page of a line that is written next, or was from ``start`` on."""
        if line.line.page == self._page:
            return
        self._page = line.line.page
        if start < 0:
            self._writer.page(str(self._page + 1))
        else:
            self._writer.pages.append(Page(str(self._page + 1), start))


def _add_behind(lines: _Lines) -> None:
    for line in lines:
        if line.behind is not None:
            line.behind()


def _runs(lines: _Lines, skipped: int) -> Iterator[tuple[FlowLine, str, str]]:
    """Yield the first line, the gap before it and the text of lines that are written together.

    A page begins with a run, and lines with a box are runs of their own.
    """
    first, gap, text = lines[0], PARAGRAPH_GAP, lines[0].text[skipped:]
    for line in lines[1:]:
        is_apart = line.edges is not None or line.line.page != first.line.page
        if is_apart or line.gap == PARAGRAPH_GAP:
            if text.strip():
                yield first, gap, text
                gap = line.gap
            first, text = line, line.text
        else:
            text += line.gap + line.text
    if text.strip():
        yield first, gap, text


def _is_caption(lines: _Lines) -> bool:
    text = joined(lines)
    return is_table_caption(text) and is_caption(text)


def _end_of_table(lines: _Lines, start: int) -> int:
    for number in range(start + 1, len(lines)):
        row = lines[number].line.row
        if row is None or not row.place:
            return number
    return len(lines)


def _entries(lines: _Lines, start: int) -> list[int]:
    """Return where lines of the form "term: text" begin, and where the last one ends.

    Returns [] if fewer than two terms follow each other from ``start`` on.
    """
    found: list[int] = []
    terms: set[str] = set()
    after = start
    while after < len(lines) and lines[after].line.row is None and not lines[after].line.term:
        term = item_term(lines[after].text)
        if (after and lines[after].gap in ("", " ")) or not term:
            break
        terms.add(term)
        found.append(after)
        if len(terms) == 1 and len(found) > _MOST_OF_ONE_TERM:
            return []
        after += 1
        while after < len(lines) and lines[after].gap in ("", " "):
            after += 1
    return [*found, after] if len(terms) > 1 else []


def end_of_definition(lines: _Lines, start: int) -> int:
    """Return the index after the definition that begins at ``start``, or ``start`` if none does."""
    below = start + len(_terms_at(lines, start))
    right = lines[start].line.x + _SHIFTED_ITEM
    after = _end_of_indented(lines, below, right=right) if below > start else below
    return after if after > below else start


def _terms_at(lines: _Lines, start: int) -> _Lines:
    """Return the short monospaced or bold lines from ``start`` on with the same left edge."""
    first = lines[start].line
    after = start
    while after < len(lines) and after - start < _MAX_TERMS:
        line = lines[after].line
        if (
            not first.size
            or not (line.monospaced or line.bold)
            or line.row is not None
            or abs(line.x - first.x) > _INDENTED
            or len(line.text) > MAX_TITLE_LENGTH
            or (after > start and lines[after].begins_paragraph)
        ):
            break
        after += 1
    return lines[start:after]


def _end_of_indented(lines: _Lines, begins: int, *, right: float) -> int:
    """Return the index after the lines from ``begins`` on that start right of ``right``.

    Returns ``begins`` without such lines, if they are only the indented first line of a paragraph,
    or if they end in a colon.
    """
    ends = begins
    last = min(len(lines), begins + _MOST_INDENTED)
    while ends < last and lines[ends].line.x > right:
        ends += 1
    if ends == begins or lines[begins].line.monospaced:
        return begins
    is_indented = (
        ends < len(lines)
        and not lines[ends].begins_paragraph
        and not (lines[ends].line.bold or lines[ends].line.monospaced)
    )
    introduces = lines[ends - 1].line.text.rstrip().endswith((":", "："))
    return begins if is_indented or introduces else ends


def _end_of_bare_list(lines: _Lines, start: int) -> int:
    """Return the index after a list that only its indent shows: bullets are often drawn.

    Returns ``start`` if none begins there.
    """
    if not start or not lead_in_sentence(lines[start - 1].text):
        return start
    right = lines[start - 1].line.x + _SHIFTED_ITEM
    after = _end_of_indented(lines, start, right=right)
    others = (n for n in range(start, after) if lines[n].line.row or lines[n].line.monospaced)
    after = next(others, after)
    inside = range(start + 1, after)
    if any(lines[n].fits_above and not lines[n].begins_paragraph for n in inside):
        # The items are not apart, so that they end at a gap.
        gaps = (n for n in inside if lines[n].begins_paragraph)
        after = next((n for n in gaps if lines[n].line.is_below(lines[n - 1].line)), after)
    return after if len(_bare_items(lines[start:after])) >= _MIN_ITEMS else start


def _bare_items(lines: _Lines) -> list[int]:
    """Return where the items begin; if all are sentences, so are those that fill their line."""
    starts = [n for n, line in enumerate(lines) if line.begins_paragraph or line.fits_above]
    ended = [
        n
        for n in range(1, len(lines))
        if lines[n - 1].line.text.rstrip().endswith(_STOPS) and not lines[n].text[:1].islower()
    ]
    return sorted({0, *starts, *(ended if {*starts} - {0} <= {*ended} else ())})


def _item_levels(items: _Lines) -> Iterator[int]:
    """Yield the level of each item of a list, from 0, by their left edges.

    In another column or page, an item is on the level of the last one with the same kind of mark.
    """
    levels: list[tuple[float, str]] = []
    before: PageLine | None = None
    for item in items:
        line, style = item.line, read_line(item.text).kind
        if before is not None and not line.is_below(before):
            same = [x for x, other in levels if other == style]
            shift = line.x - (same or [x for x, _ in levels])[-1]
            levels = [(x + shift, other) for x, other in levels]
        while len(levels) > 1 and line.x < levels[-1][0] - _NESTED_ITEM:
            levels.pop()
        if not levels or (line.x > levels[-1][0] + _NESTED_ITEM and len(levels) < DEEPEST_LIST):
            levels.append((line.x, style))
        else:
            levels[-1] = line.x, style
        yield len(levels) - 1
        before = line


def _code_lines(lines: _Lines) -> Iterator[str]:
    """Yield lines of code with their indents, and with a line end before those below a gap."""
    widths = ((line.line.right - line.line.x) / len(line.line.code) for line in lines)
    width = max(median(widths), 0.1)
    columns: list[list[FlowLine]] = []
    for line in lines:
        if not columns or not line.line.is_below(columns[-1][-1].line):
            columns.append([])
        columns[-1].append(line)
    for column in columns:
        left = min(line.line.x for line in column)
        for number, line in enumerate(column):
            indent = min(_WIDEST_INDENT, round((line.line.x - left) / width))
            gap = "\n" if number and line.begins_paragraph else ""
            yield gap + " " * indent + clean_text(line.line.code).rstrip()
