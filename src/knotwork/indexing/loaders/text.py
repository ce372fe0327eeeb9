"""Plain text, logs and reStructuredText."""

from __future__ import annotations

import re

from knotwork.indexing.loaders.base import Content, Source
from knotwork.indexing.loaders.decoding import decode_text
from knotwork.records import Heading, Span

_UNDERLINE = re.compile(
    r"(?:(?<=\n)|\A)([^\s][^\n]{0,200})\n(([=\-~^\"'`#*+.:_])\3{2,})[ \t]*(?=\n|\Z)"
)
# A line of its own that says of itself that a part begins.
_CHAPTER = re.compile(
    r"(?:(?<=\n\n)|\A)[ \t\u3000]*("
    r"(?:(?i:chapter|part|book|appendix)[ ]+(?:[IVXLC]+|\d{1,3}|[A-Z])\b"
    r"(?:[.:—–-][^\n]{0,80}|[ ]*))"
    r"|第[一二三四五六七八九十百零〇\d]{1,5}([章回卷篇部节節])(?:[ \t\u3000:：][^\n]{0,40})?"
    r")(?=\n\s*\n|\n[^\n])"
)


class TextLoader:
    """Reads text as it is, in any encoding; its headings are underlined or called chapters."""

    name = "text"
    suffixes = (".txt", ".text", ".log", ".rst")
    signatures: tuple[bytes, ...] = ()

    def load(self, source: Source) -> Content:
        text = decode_text(source)
        if source.suffix == ".rst":
            return Content(text, "text/x-rst", headings=_underlined_headings(text))
        if source.suffix == ".log":
            return Content(text, "text/plain")
        return Content(text, "text/plain", headings=_chapter_headings(text))


def _underlined_headings(text: str) -> tuple[Heading, ...]:
    """Return reStructuredText headings: the marks rank in the order in which they first appear."""
    headings: list[Heading] = []
    ranks: dict[str, int] = {}
    for match in _UNDERLINE.finditer(text):
        title, underline, mark = match.groups()
        if len(underline) < len(title.rstrip()) or not any(map(str.isalnum, title)):
            continue
        level = ranks.setdefault(mark, len(ranks) + 1)
        headings.append(Heading(level, title.strip(), Span(match.start(1), match.end(2))))
    return tuple(headings)


def _chapter_headings(text: str) -> tuple[Heading, ...]:
    return tuple(
        Heading(
            2 if match.group(2) in ("节", "節") else 1,
            " ".join(match.group(1).split()),
            Span(match.start(1), match.end(1)),
        )
        for match in _CHAPTER.finditer(text)
    )
