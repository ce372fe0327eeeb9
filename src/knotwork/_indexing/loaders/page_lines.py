"""Lines of pages, as PDF files and recognised scans have them, and the marks of list items."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from knotwork._indexing.loaders.blocks import BULLET

PARAGRAPH_GAP = "\n\n"

_BULLETS = "•▪◦‣●○■□◆◇►▶➢➤✓\uf0a7\uf0b7\uf0d8\uf0fc"
_MARK = re.compile(
    rf"(?P<bullet>[{_BULLETS}·–—*]\s?|-\s)"
    r"|(?P<number>\d{1,2})[.)）、．](?!\d)\s?"
    r"|[(（]?(?:\d{1,2}|[a-z])[.)）、．](?![\da-z])\s?|[①-⑳]"
    r"|[(（](?:[一二三四五六七八九十]{1,2}|[ivx]{2,4})[)）]"
)
_SURE_MARK = re.compile(rf"[{_BULLETS}①-⑳]")


class TableRow(NamedTuple):
    """A row of a table: its cells, with line ends between their lines, and its index from 0.

    ``lefts`` are the left edges of the columns in points. ``is_header`` is True if font or a ruling
    line sets the row apart as the header.
    """

    cells: tuple[str, ...]
    place: int
    lefts: tuple[float, ...] = ()
    is_header: bool = False
    goes_on: bool = False


class PageLine(NamedTuple):
    """A line of a page, with its ends and height in points from the lower left and its font size.

    ``page`` counts from 0; it is -1 for a line without a page. ``bold`` and ``monospaced`` are True
    if the whole line is. ``term`` is a bold term at its start, ``code`` the line as monospaced type
    sets it, with all spaces. ``row`` is set if the line is a row of a table.
    """

    text: str
    page: int
    x: float = 0.0
    y: float = 0.0
    size: float = 0.0
    right: float = 0.0
    bold: bool = False
    monospaced: bool = False
    term: str = ""
    code: str = ""
    row: TableRow | None = None

    def is_below(self, other: PageLine) -> bool:
        """Return True if it is in the column of the line before it: not on another page or higher.

        Raised text is a little higher.
        """
        return self.page == other.page and self.y <= other.y + 2 * self.size


class FlowLine(NamedTuple):
    """A line in the order of reading; ``text`` is what it adds to the text, behind ``gap``.

    ``gap`` is `PARAGRAPH_GAP`, a line end, a space or nothing. ``begins_paragraph`` is True if
    place or type say that a paragraph begins, ``fits_above`` if its first word would have fitted
    into the line before. ``edges`` are the left, top, right and bottom edge of a line of a picture,
    as fractions of its page. ``behind`` appends what stands behind the line.
    """

    line: PageLine
    text: str
    gap: str
    begins_paragraph: bool = False
    fits_above: bool = False
    edges: tuple[float, float, float, float] | None = None
    behind: Callable[[], None] | None = None


def joined(lines: Iterable[FlowLine]) -> str:
    """Return the text of lines as one line."""
    text = ""
    for line in lines:
        text += (" " if line.gap.isspace() and text else "") + line.text
    return " ".join(text.split())


def is_mark(text: str) -> bool:
    """Return True if a text is the bullet or number of a list item."""
    return _MARK.fullmatch(text) is not None


def is_item(text: str) -> bool:
    """Return True if a line begins with the bullet or number of a list item."""
    match = _MARK.match(text)
    return match is not None and any(map(str.isalnum, text[match.end() :]))


def has_sure_mark(text: str) -> bool:
    """Return True if a line begins with a bullet that has no other use."""
    return _SURE_MARK.match(text) is not None


class ItemMark(NamedTuple):
    """The mark of an item in Markdown, and where the text of the item begins.

    ``style`` is equal for the marks of one list.
    """

    text: str
    end: int
    style: str


def item_mark(text: str) -> ItemMark:
    """Return the mark of an item; one that Markdown does not have stays in its text."""
    match = _MARK.match(text)
    if match is None:
        return ItemMark(BULLET, 0, "")
    style = re.sub("[a-z]", "a", re.sub(r"\d+|[①-⑳]", "1", match[0].strip()))
    if match["bullet"]:
        return ItemMark(BULLET, match.end(), style)
    if match["number"]:
        return ItemMark(f"{match['number']}.", match.end(), style)
    return ItemMark(BULLET, 0, style)
