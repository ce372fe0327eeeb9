"""Show marked text as prose: without links and marks, the cells of a row with their names.

It also reads the numbers of headings.
"""

from __future__ import annotations

import re

from knotwork._text.languages import HAN_AND_KANA

CITATION_MARK = re.compile(r"\s*\[(\d+)\]")
"""A citation mark such as "[1]", with the white space before it."""
_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s[^()]*)?\)")


_NOTE_MARK = re.compile(r"\s?\[\^[^\]\s]{1,12}\]")


def strip_links(text: str) -> str:
    """Replace Markdown links and images with their text: "[report](storm.md)" becomes "report".

    The marks of notes, as in "30 [^1]", are left out.
    """
    return _LINK.sub(r"\1", _NOTE_MARK.sub("", text))


_MARKUP = re.compile(r"^(?:[#>\-*+•]+\s+|\d+[.)]\s+)+|[*_`]{2,}|\s*\|\s*$|^\s*\|\s*")
_SPACES = re.compile(r"\s+")
# Both scripts use curly quotes: the text inside them decides.
_WIDE = rf"{HAN_AND_KANA}\u3001-\u303f\uff01-\uff0f\uff1a-\uff1f\uff3b-\uff65"
_WIDE_BREAK = re.compile(rf"(?<=[{_WIDE}])[ \t]*\r?\n\s*(?=[{_WIDE}])")
_WIDE_START = re.compile(rf"[“‘…—\d]*[{_WIDE}]")
_WIDE_END = re.compile(rf"[{_WIDE}][”’…—]*$")


def gap_between(before: str, after: str) -> str:
    """Return the separator of two sentences: a space, or "" between wide characters."""
    return "" if _WIDE_END.search(before) and _WIDE_START.match(after) else " "


def gap_before_mark(text: str) -> str:
    """Return the separator of a text and the citation mark after it."""
    return "" if _WIDE_END.search(text) else " "


def show_sentence(text: str) -> str:
    """Return a sentence as prose, without the marks of lists, tables and links."""
    bare = _WIDE_BREAK.sub("", _MARKUP.sub("", strip_links(text.strip())))
    return _SPACES.sub(" ", bare).strip()


_HEADING_WORD = r"(?:chapter|section|part|appendix|annex|article)"
_HEADING_NUMBERS = (
    re.compile(
        rf"{_HEADING_WORD}\s+(\d{{1,3}}(?:\.\d{{1,3}})*|(?-i:[IVXLC]+)|[A-Z](?:\.\d{{1,3}})*)(?:[.:)]|\b)\s*",
        re.IGNORECASE,
    ),
    re.compile(r"§\s*(\d{1,3}(?:\.\d{1,3})*)[.:)]?\s*"),
    re.compile(r"(\d{1,3}(?:\.\d{1,3})+)(?:[.:)]\s*|\s+|$)"),
    re.compile(r"(\d{1,3})[.:)]\s+"),
    re.compile(r"([A-Z](?:\.\d{1,3})*)[.:)]\s+"),
    re.compile(r"第\s*([\d一二三四五六七八九十百]+)\s*(?:部分|[章节節部篇条條回])\s*"),
    re.compile(r"([一二三四五六七八九十]{1,3})、\s*"),
    re.compile(r"[（(]([一二三四五六七八九十]{1,3})[)）]\s*"),
    re.compile(r"(?:附录|附錄)\s*([A-Z]|[\d一二三四五六七八九十]+)(?:[.:：、]\s*|\s+)"),
)


def split_number(title: str) -> tuple[str, str]:
    """Split a heading into its number, such as "14.7" or "二", and the rest; "" without a number.

    A simple number needs a stop after it: "100 years" has none. If nothing follows the number, the
    rest is the whole heading.
    """
    for form in _HEADING_NUMBERS:
        if found := form.match(title):
            return found[1].upper(), title[found.end() :].strip(" \t—–-:：、") or title
    return "", title


_BAR = re.compile(r"(?<!\\)\|")


def split_row(row: str) -> tuple[str, ...]:
    """Return the cells of a row of a Markdown table; an escaped bar is part of its cell."""
    return tuple(cell.strip() for cell in _BAR.split(row.strip().strip("|")))


def name_cells(row: str, columns: str) -> str:
    """Return a table row, with bars between its cells, as "Column: cell; Column: cell".

    ``columns`` are the column names, separated by " | ". Text that is not a row of at most as many
    cells is returned unchanged.
    """
    cells = split_row(row)
    names = columns.split(" | ")
    if not 1 < len(cells) <= len(names):
        return row
    pairs = ((name.strip(" :："), cell) for name, cell in zip(names, cells, strict=False) if cell)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs)
