"""Load Markdown: keep the source text, find its blocks, and read front matter as metadata.

Front matter is YAML between lines of ``---``, or TOML between lines of ``+++``. Spaces replace it
in the text, so that offsets stay valid and no answer cites a setting.
"""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, time
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from knotwork._indexing.loaders.loader import (
    FORMATS,
    Content,
    Source,
    flat_metadata,
    lead_in_sentence,
)
from knotwork._indexing.loaders.plain_text import decode_text
from knotwork._indexing.loaders.tables_and_lists import row_key
from knotwork._indexing.loaders.titles_and_captions import run_in_term
from knotwork.records import Frame, FrameKind, Heading, Span

if TYPE_CHECKING:
    from markdown_it.token import Token

_ANCHOR = re.compile(r"\{#[^}]*\}")
_BOLD = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", re.DOTALL)


class MarkdownLoader:
    """Reads Markdown; lines in code blocks are never headings."""

    name = "markdown"
    suffixes, signatures = FORMATS["markdown"]

    def load(self, source: Source) -> Content:
        text, body, metadata = read_front_matter(decode_text(source), uri=source.uri)
        markdown = MarkdownBlocks(text, start=body)
        return Content(
            text=text,
            media_type="text/markdown",
            title=metadata.pop("title", ""),
            metadata=metadata,
            headings=tuple(markdown.headings()),
            frames=tuple(markdown.frames()),
        )


class MarkdownBlocks:
    """The blocks of a Markdown text from ``start`` on: CommonMark, extended by tables."""

    def __init__(self, text: str, *, start: int = 0) -> None:
        from markdown_it import MarkdownIt

        self._parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
        self._parser.core.ruler.enableOnly(["normalize", "block"])
        lines = text[start:].split("\n")
        self._text = text
        self._starts = [start, *accumulate((len(line) + 1 for line in lines), initial=start)][1:]
        self._references: dict[str, Any] = {}
        self._tokens = self._parser.parse(text[start:], self._references)

    def headings(self) -> Iterator[Heading]:
        """Yield the headings; their spans cover their lines."""
        for token, inline in pairwise(self._tokens):
            if token.type == "heading_open" and token.map is not None:
                title = self._plain(inline.content)
                if title:
                    yield Heading(int(token.tag[1:]), title, self._span(*token.map))

    def frames(self) -> Iterator[Frame]:
        """Yield frames: code, definitions, table rows, and lists and tables with their lead-in."""
        paragraph = ""
        for index, token in enumerate(self._tokens):
            if token.type == "inline":
                paragraph = token.content.strip()
                if token.map is not None and self._tokens[index - 1].type == "paragraph_open":
                    yield from self._term_frames(paragraph, self._span(*token.map))
            elif token.map is None:
                continue
            elif token.type in ("fence", "code_block"):
                yield Frame(FrameKind.CODE, self._span(*token.map))
            elif token.type in ("bullet_list_open", "ordered_list_open", "table_open"):
                if lead := lead_in_sentence(paragraph):
                    yield Frame(FrameKind.LEAD, self._span(*token.map), self._plain(lead))
                if token.type == "table_open":
                    yield from self._table_frames(index)
            elif token.type == "heading_open":
                paragraph = ""

    def _table_frames(self, opened: int) -> Iterator[Frame]:
        """Yield a frame with the column names of a table, and one with the key of each row.

        ``opened`` is the index of the token that opens the table.
        """
        columns = ""
        rows: list[tuple[Span, list[str]]] = []
        for token in self._tokens[opened:]:
            if token.type == "table_close":
                break
            if token.type == "tr_open" and token.map is not None:
                rows.append((self._span(*token.map), []))
            elif token.type == "inline" and rows:
                rows[-1][1].append(self._plain(token.content))
            elif token.type == "thead_close":
                columns = " | ".join(name.replace("|", "/") for name in rows.pop()[1])
        if rows and columns.strip("| "):
            yield Frame(FrameKind.COLUMNS, Span(rows[0][0].start, rows[-1][0].end), columns)
        for span, cells in rows:
            if key := row_key(cells):
                yield Frame(FrameKind.ROW, span, key)

    def _span(self, first: int, after: int) -> Span:
        """Return the span of the lines from ``first`` up to ``after``, without outer blanks."""
        start, end = self._starts[first], self._starts[after] - 1
        block = self._text[start:end]
        return Span(start + len(block) - len(block.lstrip()), start + len(block.rstrip()))

    def _term_frames(self, paragraph: str, span: Span) -> Iterator[Frame]:
        """Yield a frame if a paragraph begins with a bold term."""
        bold = _BOLD.match(paragraph)
        if bold is not None:
            after = paragraph[bold.end() :]
            term = run_in_term([(self._plain(bold[2]), True), (after, False)])
            if term:
                yield Frame(FrameKind.TERM, span, term)

    def _plain(self, markup: str) -> str:
        """Return inline Markdown as plain text on one line."""
        tokens: list[Token] = []
        self._parser.inline.parse(markup, self._parser, self._references, tokens)
        text = "".join(
            "\n" if token.type.endswith("break") else token.content
            for token in tokens
            if token.type != "html_inline"
        )
        return " ".join(_ANCHOR.sub("", text).split())


_log = logging.getLogger("knotwork.indexing")
_MAX_FRONT_MATTER = 20_000
_YAML = re.compile(
    rf"\A---[ \t]*\n(.{{0,{_MAX_FRONT_MATTER}}}?)(?<=\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)",
    re.DOTALL,
)
_TOML = re.compile(
    rf"\A\+\+\+[ \t]*\n(.{{0,{_MAX_FRONT_MATTER}}}?)(?<=\n)\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL
)
_INK = re.compile(r"\S")


class FrontMatter(NamedTuple):
    """The text with its front matter blanked, the offset of the body, and the metadata."""

    text: str
    body: int
    metadata: dict[str, str]


def read_front_matter(text: str, *, uri: str) -> FrontMatter:
    """Return a text with its front matter replaced by spaces, and the front matter's values.

    The text stays unchanged if the front matter is invalid, or if the body is blank.
    """
    match = _YAML.match(text) or _TOML.match(text)
    if match is None:
        return FrontMatter(text, 0, {})
    values = _parse_front_matter(match.group(1), is_toml=text.startswith("+"), uri=uri)
    if values is None:
        return FrontMatter(text, match.end(), {})
    if text[match.end() :].strip():
        text = _INK.sub(" ", match.group()) + text[match.end() :]
    return FrontMatter(text, match.end(), values)


def _parse_front_matter(block: str, *, is_toml: bool, uri: str) -> dict[str, str] | None:
    """Return the values of front matter by dotted names, None if it is invalid."""
    import yaml

    try:
        # The base loader keeps all values as strings, so that dates stay as they were written.
        values = (
            tomllib.loads(block) if is_toml else yaml.load(block, Loader=yaml.BaseLoader)  # noqa: S506 - makes strings only
        )
        return _flatten(values or {})
    except (yaml.YAMLError, tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        _log.info("keeping the front matter of %s as text: %s", uri, error)
        return None


def _flatten(values: object) -> dict[str, str]:
    """Return all values by dotted names, the items of a list joined by commas.

    Raises ValueError if the values are not a mapping, or if they expand to more than twice the
    maximal length of front matter: nested YAML aliases grow exponentially.
    """
    if not isinstance(values, Mapping):
        raise ValueError("it is not a mapping of names to values")  # noqa: TRY004 - of the file
    found: dict[str, list[str]] = {}
    size = 0
    for name, value in _leaves(values, ""):
        size += len(name) + len(value)
        if size > 2 * _MAX_FRONT_MATTER:
            raise ValueError("its aliases expand to too many values")
        found.setdefault(name, []).append(value)
    return flat_metadata({name: ", ".join(filter(None, items)) for name, items in found.items()})


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """Yield the dotted name and the text of every value."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item, name)
        # Yield something for empty lists too, so that nested aliases to one reach the limit.
        yield name, ""
    elif isinstance(value, bool):
        yield name, str(value).lower()
    elif isinstance(value, date | time):
        yield name, value.isoformat()
    else:
        yield name, str(value)
