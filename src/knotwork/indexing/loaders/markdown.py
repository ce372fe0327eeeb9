"""Markdown: kept as its source, with the headings that CommonMark finds; see also front matter."""

from __future__ import annotations

import re
from itertools import accumulate, pairwise

from knotwork.indexing.loaders.base import Content, Source
from knotwork.indexing.loaders.decoding import decode_text
from knotwork.indexing.loaders.front_matter import read_front_matter
from knotwork.records import Heading, Span

_MARKUP = re.compile(
    r"!?\[([^\]]*)\]\([^)]*\)|[*_`~]{1,3}(?=\S)|(?<=\S)[*_`~]{1,3}|<[^>]{1,80}>|\{#[^}]*\}"
)


class MarkdownLoader:
    """Reads Markdown; what stands in code blocks is never a heading."""

    name = "markdown"
    suffixes = (".md", ".markdown", ".mdx", ".qmd")
    signatures: tuple[bytes, ...] = ()

    def load(self, source: Source) -> Content:
        text, body, metadata = read_front_matter(decode_text(source), uri=source.uri)
        return Content(
            text=text,
            media_type="text/markdown",
            title=metadata.pop("title", ""),
            metadata=metadata,
            headings=markdown_headings(text, start=body),
        )


def markdown_headings(text: str, *, start: int = 0) -> tuple[Heading, ...]:
    """Return the headings of Markdown text after ``start``, with the spans of their lines."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    lines = text[start:].split("\n")
    starts = [start, *accumulate((len(line) + 1 for line in lines), initial=start)][1:]
    tokens = parser.parse(text[start:])
    headings: list[Heading] = []
    for token, inline in pairwise(tokens):
        if token.type != "heading_open" or token.map is None:
            continue
        first, after = token.map
        title = " ".join(_MARKUP.sub(lambda match: match.group(1) or "", inline.content).split())
        line = text[starts[first] : starts[after] - 1]
        indent = len(line) - len(line.lstrip())
        if title:
            span = Span(starts[first] + indent, starts[first] + len(line.rstrip()))
            headings.append(Heading(int(token.tag[1:]), title, span))
    return tuple(headings)
