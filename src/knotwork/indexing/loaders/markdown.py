"""Markdown: kept as its source, with the headings, lists, tables and code that a parser finds.

See also front matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate, pairwise

from knotwork.indexing.loaders.base import Content, Source, lead_in
from knotwork.indexing.loaders.cues import run_in_term
from knotwork.indexing.loaders.decoding import decode_text
from knotwork.indexing.loaders.front_matter import read_front_matter
from knotwork.indexing.loaders.rows import row_key
from knotwork.records import Frame, FrameKind, Heading, Span

_MARKUP = re.compile(
    r"!?\[([^\]]*)\]\([^)]*\)|[*_`~]{1,3}(?=\S)|(?<=\S)[*_`~]{1,3}|<[^>]{1,80}>|\{#[^}]*\}"
)

_BOLD = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", re.DOTALL)


class MarkdownLoader:
    """Reads Markdown; what stands in code blocks is never a heading."""

    name = "markdown"
    suffixes = (".md", ".markdown", ".mdx", ".qmd")
    signatures: tuple[bytes, ...] = ()

    def load(self, source: Source) -> Content:
        text, body, metadata = read_front_matter(decode_text(source), uri=source.uri)
        markdown = Markdown(text, start=body)
        return Content(
            text=text,
            media_type="text/markdown",
            title=metadata.pop("title", ""),
            metadata=metadata,
            headings=tuple(markdown.headings()),
            frames=tuple(markdown.frames()),
        )


class Markdown:
    """The blocks of Markdown text after ``start``, as CommonMark with tables reads them."""

    def __init__(self, text: str, *, start: int = 0) -> None:
        from markdown_it import MarkdownIt

        parser = MarkdownIt("commonmark").enable("table")
        parser.core.ruler.enableOnly(["normalize", "block"])
        lines = text[start:].split("\n")
        self._text = text
        self._starts = [start, *accumulate((len(line) + 1 for line in lines), initial=start)][1:]
        self._tokens = parser.parse(text[start:])

    def headings(self) -> Iterator[Heading]:
        """Yield the headings, with the spans of their lines."""
        for token, inline in pairwise(self._tokens):
            if token.type == "heading_open" and token.map is not None:
                title = _plain(inline.content)
                if title:
                    yield Heading(int(token.tag[1:]), title, self._span(*token.map))

    def frames(self) -> Iterator[Frame]:
        """Yield the frames of code, terms, rows of tables, and lists and tables with a lead."""
        said = ""
        for index, token in enumerate(self._tokens):
            if token.type == "inline":
                said = token.content.strip()
                if token.map is not None and self._tokens[index - 1].type == "paragraph_open":
                    yield from _term_frames(said, self._span(*token.map))
            elif token.map is None:
                continue
            elif token.type in ("fence", "code_block"):
                yield Frame(FrameKind.CODE, self._span(*token.map))
            elif token.type in ("bullet_list_open", "ordered_list_open", "table_open"):
                if lead := lead_in(said):
                    yield Frame(FrameKind.LEAD, self._span(*token.map), _plain(lead))
                if token.type == "table_open":
                    yield from self._table_frames(index)
            elif token.type == "heading_open":
                said = ""

    def _table_frames(self, opened: int) -> Iterator[Frame]:
        """Yield the frames of the rows of a table: the names of columns, the keys of rows."""
        columns = ""
        rows: list[tuple[Span, list[str]]] = []
        for token in self._tokens[opened:]:
            if token.type == "table_close":
                break
            if token.type == "tr_open" and token.map is not None:
                rows.append((self._span(*token.map), []))
            elif token.type == "inline" and rows:
                rows[-1][1].append(_plain(token.content))
            elif token.type == "thead_close":
                columns = " | ".join(name.replace("|", "/") for name in rows.pop()[1])
        if rows and columns.strip("| "):
            yield Frame(FrameKind.COLUMNS, Span(rows[0][0].start, rows[-1][0].end), columns)
        for span, cells in rows:
            if key := row_key(cells):
                yield Frame(FrameKind.ROW, span, key)

    def _span(self, first: int, after: int) -> Span:
        start, end = self._starts[first], self._starts[after] - 1
        block = self._text[start:end]
        return Span(start + len(block) - len(block.lstrip()), start + len(block.rstrip()))


def _term_frames(paragraph: str, span: Span) -> Iterator[Frame]:
    """Yield the frame of a paragraph that begins with a term in bold."""
    bold = _BOLD.match(paragraph)
    if bold is not None:
        term = run_in_term([(_plain(bold[2]), True), (paragraph[bold.end() :], False)])
        if term:
            yield Frame(FrameKind.TERM, span, term)


def _plain(markup: str) -> str:
    return " ".join(_MARKUP.sub(lambda match: match.group(1) or "", markup).split())
