"""What to call a document: its first heading or line, or else the name of its file."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knotwork.indexing.loaders.base import Content
from knotwork.records import Heading

LONGEST_TITLE = 120
_FIRST_LINE = re.compile(r"\s*([^\n]{2,200})(?:\n|$)")
_ENDS_LIKE_TEXT = re.compile(r"[.。!！,，;；:：…]['\"”’」』)）]*$")
_STARTS_LIKE_TEXT = re.compile(r"[-*+•>|\[{<=~`#/\\(]|\d{4}-\d\d|---")
_NO_TITLE = re.compile(
    r"(?:untitled.*|microsoft (?:word|powerpoint|excel).*|document ?\d*|powerpoint presentation"
    r"|slide ?\d*|presentation ?\d*|title|.*\.(?:docx?|pptx?|xlsx?|pdf|dvi|tex|indd|qxd)"
    r"|新建.*|未命名.*|演示文稿\d*|文档\d*)",
    re.IGNORECASE,
)


def choose_title(content: Content, file_name: str) -> str:
    """Return the title of the metadata, else a heading at the top, a title-like line, the name."""
    title = content.title.strip()
    if title and len(title) <= 2 * LONGEST_TITLE and not _NO_TITLE.fullmatch(title):
        return title
    heading = _top_heading(content.headings, content.text)
    if heading:
        return heading
    line = _FIRST_LINE.match(content.text)
    if line and _is_title_like(line.group(1).strip(), content.text[line.end() :]):
        return line.group(1).strip()
    return readable_name(file_name)


def readable_name(file_name: str) -> str:
    """Return the name of a file without its suffix, its words parted by spaces."""
    stem = file_name.rpartition(".")[0] or file_name
    return " ".join(re.sub(r"[_\-.+]+|%20", " ", stem).split()) or file_name


def _top_heading(headings: Sequence[Heading], text: str) -> str:
    """Return the first heading, when the text begins with it or it is above all others."""
    if not headings:
        return ""
    top = headings[0]
    first = not text[: top.span.start].strip()
    alone = all(heading.level > top.level for heading in headings[1:])
    near = top.span.start <= 2_000
    return top.title if (first or (alone and near)) and len(top.title) <= LONGEST_TITLE else ""


def _is_title_like(line: str, rest: str) -> bool:
    longest = LONGEST_TITLE if line.isascii() else LONGEST_TITLE // 2
    return (
        len(line) <= longest
        and bool(rest.strip())
        and any(character.isalpha() for character in line)
        and not line[0].islower()
        and not _ENDS_LIKE_TEXT.search(line)
        and not _STARTS_LIKE_TEXT.match(line)
        and len(line.split()) <= 16
    )
