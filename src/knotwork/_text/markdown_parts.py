"""Read the Markdown of answers: its parts for a terminal, or HTML for a notebook.

Answers consist of paragraphs, lists, tables, code and bold words. Anything else, such as HTML,
links and pictures, is text that a document happens to contain, and is shown as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

BULLET = "-"
_QUOTE_INDENT = "  "
_NOT_READ = ("reference", "html_block", "lheading", "code")
_NOT_READ_INLINE = ("image", "link", "autolink", "html_inline", "entity", "linkify")
_BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", re.DOTALL)


class PartKind(StrEnum):
    """The kind of a part."""

    TEXT = "text"
    HEADING = "heading"
    TABLE = "table"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class MarkdownPart:
    """A paragraph, heading, table or code block; ``text`` may have bold words.

    ``indent`` is the width of the list marks around it. The first part of an item has its ``mark``.
    ``rows`` of a table begin with its header, whose cells may be empty.
    """

    kind: PartKind
    text: str = ""
    indent: int = 0
    mark: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


def read_parts(text: str) -> Iterator[MarkdownPart]:
    """Yield the parts of a Markdown text in order."""
    around = _Containers()
    kind, rows = PartKind.TEXT, list[list[str]]()
    for token in _make_parser().parse(text):
        if around.take(token):
            continue
        if token.type == "heading_open":
            kind = PartKind.HEADING
        elif token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            rows[-1].append(token.content)
        elif token.type == "table_close":
            yield around.part(PartKind.TABLE, rows=tuple(map(tuple, rows)))
            rows = []
        elif token.type == "fence":
            yield around.part(PartKind.CODE, token.content.rstrip("\n"))
        elif token.type == "inline":
            yield around.part(kind, token.content)
            kind = PartKind.TEXT


class _Containers:
    """The lists, items and quotes around a part."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._marks: list[str] = []
        self._begins_item = False

    def take(self, token: Token) -> bool:
        """Begin or end what the token begins or ends; return False for any other token."""
        match token.type:
            case "bullet_list_open":
                self._numbers.append(-1)
            case "ordered_list_open":
                self._numbers.append(int(token.attrs.get("start", 1)))
            case "bullet_list_close" | "ordered_list_close":
                self._numbers.pop()
            case "list_item_open":
                number = self._numbers[-1]
                self._marks.append(f"{number}. " if number >= 0 else f"{BULLET} ")
                self._numbers[-1] += number >= 0
                self._begins_item = True
            case "blockquote_open":
                self._marks.append(_QUOTE_INDENT)
            case "list_item_close" | "blockquote_close":
                self._marks.pop()
                self._begins_item = False
            case _:
                return False
        return True

    def part(
        self, kind: PartKind, text: str = "", rows: tuple[tuple[str, ...], ...] = ()
    ) -> MarkdownPart:
        """Return the next part."""
        mark = self._marks[-1] if self._begins_item else ""
        self._begins_item = False
        return MarkdownPart(kind, text, sum(map(len, self._marks)), mark, rows)


def split_bold(text: str) -> list[tuple[str, bool]]:
    """Return the runs of a text in order, each with True if it is bold, without the marks."""
    runs: list[tuple[str, bool]] = []
    start = 0
    for match in _BOLD.finditer(text):
        runs += [(text[start : match.start()], False), (match[1], True)]
        start = match.end()
    return [(run, is_bold) for run, is_bold in (*runs, (text[start:], False)) if run]


def to_html(text: str) -> str:
    """Return a Markdown text as HTML without links, classes or ids."""
    parser = _make_parser()
    tokens = parser.parse(text)
    for token in tokens:
        token.info = ""  # the language of code would become a class
    return str(parser.renderer.render(tokens, parser.options, {}))


@cache
def _make_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table")
    return parser.disable([*_NOT_READ, *_NOT_READ_INLINE], ignoreInvalid=True)
