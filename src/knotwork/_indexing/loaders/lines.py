"""Lines of texts and pages: their marks, and the signs of code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

from knotwork._indexing.loaders.blocks import BULLET
from knotwork._text.languages import is_wide
from knotwork._text.numbers import read_chinese

_BULLETS = "•▪◦‣●○■□◆◇►▶➢➤✓\uf0a7\uf0b7\uf0d8\uf0fc"
_SURE_MARK = re.compile(rf"[{_BULLETS}①-⑳]")
_NUMERALS = "一二三四五六七八九十"
_MARKS = (
    ("bullet", re.compile(rf"(?:[-*+–—](?=\s)|[·{_BULLETS}])\s*(?=\S)")),
    ("number", re.compile(r"(?P<n>\d{1,3})(?:[.)．）](?!\d)\s*|、\s*)(?=\S)")),
    ("bracket", re.compile(r"[(（](?P<n>\d{1,3})[)）]\s*(?=\S)")),
    ("circle", re.compile(r"(?P<c>[①-⑳])\s*(?=\S)")),
    ("letter", re.compile(r"(?P<l>[a-zA-Z])(?:[.)]\s+|）\s*)(?=\S)")),
    ("lettered", re.compile(r"[(（](?P<l>[a-z]|[ivx]{1,5})[)）]\s*(?=\S)")),
    ("han", re.compile(rf"(?P<h>[{_NUMERALS}]{{1,3}})、\s*(?=\S)")),
    ("han bracket", re.compile(rf"[(（](?P<h>[{_NUMERALS}]{{1,3}})[)）]\s*(?=\S)")),
)
_MARKED = re.compile(
    rf"[-*+–—]\s|[·{_BULLETS}①-⑳(（]|\d{{1,3}}[.)．）、]|[a-zA-Z][.)）]|[{_NUMERALS}]{{1,3}}、"
)
_ROMAN = {n: v for v, n in enumerate(("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"), 1)}
_MOST_SKIPPED = 2
"""Numbers that may be missing between two items."""


class Line(NamedTuple):
    """A line, with and without its indent.

    ``kind`` is that of the mark of an item, which has ``mark`` characters. ``places`` are the
    numbers that the mark may mean: 0 for a bullet, 1 or 9 for "i".
    """

    raw: str
    text: str
    indent: int
    kind: str = ""
    places: tuple[int, ...] = ()
    mark: int = 0


def read_line(raw: str) -> Line:
    """Return a line with the mark of the item that it begins."""
    text = raw.strip()
    wide = raw.expandtabs(4)
    indent = len(wide) - len(wide.lstrip())
    for kind, pattern in _MARKS if _MARKED.match(text) else ():
        match = pattern.match(text)
        if match is not None:
            name = text[0] if kind == "bullet" else kind
            return Line(raw, text, indent, name, _places(match), match.end())
    return Line(raw, text, indent)


def _places(match: re.Match[str]) -> tuple[int, ...]:
    found = match.groupdict()
    if "n" in found:
        return (int(found["n"]),)
    if "c" in found:
        return (ord(found["c"]) - ord("①") + 1,)
    if "h" in found:
        return (int(read_chinese(found["h"]) or 0),)
    if "l" not in found:
        return (0,)
    letters = found["l"].lower()
    letter = (ord(letters) - ord("a") + 1,) if len(letters) == 1 else ()
    return (*letter, *filter(None, (_ROMAN.get(letters),)))


def follows(item: Line, line: Line) -> bool:
    """Return True if the mark of a line may come after that of an item in the same list."""
    return any(
        0 < b - a <= _MOST_SKIPPED or a == b in (0, 1) for a in item.places for b in line.places
    )


def written_mark(line: Line) -> tuple[str, str]:
    """Return the mark of an item in Markdown, and its text with any other mark that it has."""
    text = line.text[line.mark :]
    if line.kind == "number":
        return f"{line.places[0]}.", text
    if 0 in line.places:
        return BULLET, text
    return BULLET, line.text


_CODE_LINE = re.compile(
    r"""
      (?:def|class|if|elif|for|while|with|except|async|switch|catch)\b.*[:{]\s*$
    | (?:else|try|finally|do|then|fi|done|end|esac|pass|break|continue)\s*[:;{]?\s*$
    | import\ [\w.*{]+(?:\ as\ \w+|.*[;"'])?\s*$ | from\ [\w.]+\ import\b
    | return\b(?!\ \w+\ \w+\ \w+) | @\w[\w.]*(?:\(.*)?$
    | \#\s?(?:include|define|ifdef|ifndef|endif|pragma)\b | \#! | // | /\*
    | (?:const|let|var|export|public|private|protected|static|void|using|namespace)\b.*[({;=]
    | (?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP)\ .*(?:[;,(]\s*$|\b(?:FROM|INTO|TABLE|SET)\b)
    | [\w.\[\]"'$*&]+\s*(?:[-+*/|&:%]?=(?!=)|=>|->|:=|\+\+|<<)\s*\S*.*$
    | (?:await\ |new\ )?[\w.]+\(.*\)\s*[:;,]?\s*$
    | </?\w[^<>]*>.*</?\w+[^<>]*>\s*$ | </?[\w:!?-][^<>]*>\s*$
    | .*[{};]\s*$ | [)}\]]+[,;.)]*\s*$
    | (?:sudo|apt|apt-get|pip|npm|yarn|git|docker|kubectl|curl|wget|mkdir|chmod|cd)
      \ [\w./-]+(?:\ \S+){0,6}$
    """,
    re.VERBOSE,
)
_KEY = re.compile(r"(?:- )?[\w.\"'-]+:(?:\s.*)?$")
_COMMENT = re.compile(r"#|//|--|;|/?\*|%")
_SIGNS = re.compile(
    r"[{}<>;=$|\\]|--?\w|\(\)|\w\.\w+\(|^\s*(?:def|class|import|from|if|for|while|return|select"
    r"|insert|update|create|sudo|apt|pip|npm|git|cd|docker|curl)\b",
    re.IGNORECASE,
)
_SMALL_WORD = re.compile(r"\W*(?:I|A|[A-Z]?[a-zß-ÿ'’-]+)\W*")
_PROSE_END = re.compile(r"[,.;!?，。；！？、…—]['\"”’」』)）]*$")
_PROSE_WORDS = 4
_SHARE = 0.7


def is_code_line(line: Line) -> bool:
    """Return True if a line is most probably one of a program or a command."""
    return _CODE_LINE.match(line.text) is not None


def may_be_code(text: str) -> bool:
    """Return True if a line has a sign of code, which prose rarely has."""
    return _SIGNS.search(text) is not None


def reads_as_prose(text: str) -> bool:
    """Return True for a line of small words, four of them or with a mark behind them.

    In Chinese it has no figures, letters or signs, or ends a sentence.
    """
    is_ended = _PROSE_END.search(text) is not None
    if any(map(is_wide, text)):
        return is_ended or not any(character.isascii() for character in "".join(text.split()))
    words = text.split()
    small = sum(_SMALL_WORD.fullmatch(word) is not None for word in words)
    return small >= _SHARE * len(words) and (is_ended or len(words) >= _PROSE_WORDS)


def is_code(text: str) -> bool:
    """Return True if a whole text is a program or a configuration."""
    lines = [line for raw in text.split("\n") if (line := read_line(raw)).text]
    said = [line for line in lines if not _COMMENT.match(line.text)]
    count = sum(
        is_code_line(line)
        or (_KEY.fullmatch(line.text) is not None and (line.indent > 0 or line.text.endswith(":")))
        for line in said
    )
    return len(said) > 2 and any(line.indent for line in said) and count >= _SHARE * len(said)


PARAGRAPH_GAP = "\n\n"


class TableRow(NamedTuple):
    """A row of a table: its cells, with line ends between their lines, and its index from 0.

    ``columns`` are the left and right edges of the columns in points. ``is_header`` is True if font
    or a ruling line sets the row apart as the header. One that ``goes_on`` is a row only if the
    table of the page before continues in it.
    """

    cells: tuple[str, ...]
    place: int
    columns: tuple[tuple[float, float], ...] = ()
    is_header: bool = False
    goes_on: bool = False


class PageLine(NamedTuple):
    """A line of a page, with its ends and height in points from the lower left and its font size.

    ``reach`` is the right edge of its column, 0 if only its neighbours show how long it may be.
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
    reach: float = 0.0
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
    return text not in ("-", "+") and read_line(f"{text} x").mark == len(text) + 1


def page_item(text: str) -> Line | None:
    """Return a line of a page if it begins with the mark of an item.

    A capital with a stop is the initial of a name, and 一、 the number of a heading.
    """
    line = read_line(text)
    if not line.kind or line.kind == "han" or "A" <= line.text[0] <= "Z":
        return None
    return line if any(map(str.isalnum, line.text[line.mark :])) else None


def typed_item(text: str) -> Line | None:
    """Return a line if it begins with the mark of an item; a capital may be an initial."""
    line = read_line(text)
    return line if line.kind and not "A" <= line.text[0] <= "Z" else None


def has_items(text: str) -> bool:
    """Return True if two neighbouring lines begin with marks that follow each other."""
    lines = list(map(typed_item, text.split("\n"))) if "\n" in text else []
    return any(a and b and a.kind == b.kind and follows(a, b) for a, b in pairwise(lines))


def has_sure_mark(text: str) -> bool:
    """Return True if a line begins with a bullet that has no other use."""
    return _SURE_MARK.match(text) is not None
