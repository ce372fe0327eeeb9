"""Markdown: kept as its source, with the headings that CommonMark finds and the front matter."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from itertools import accumulate, pairwise

from knotwork.indexing.loaders.base import Content, Source, flat_metadata
from knotwork.indexing.loaders.decoding import decode_text
from knotwork.records import Heading, Span

_log = logging.getLogger("knotwork.indexing")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.{0,20000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_MARKUP = re.compile(
    r"!?\[([^\]]*)\]\([^)]*\)|[*_`~]{1,3}(?=\S)|(?<=\S)[*_`~]{1,3}|<[^>]{1,80}>|\{#[^}]*\}"
)


class MarkdownLoader:
    """Reads Markdown; what stands in code blocks is never a heading."""

    name = "markdown"
    suffixes = (".md", ".markdown", ".mdx", ".qmd")
    signatures: tuple[bytes, ...] = ()

    def load(self, source: Source) -> Content:
        text = decode_text(source)
        front = _FRONT_MATTER.match(text)
        metadata = _front_matter(front.group(1), source.uri) if front else {}
        return Content(
            text=text,
            media_type="text/markdown",
            title=metadata.pop("title", ""),
            metadata=metadata,
            headings=markdown_headings(text, start=front.end() if front else 0),
        )


def _front_matter(block: str, uri: str) -> dict[str, str]:
    import yaml

    try:
        # The base loader keeps all values as strings: dates stay as they were written.
        values = yaml.load(block, Loader=yaml.BaseLoader)  # noqa: S506 - makes strings only
    except (yaml.YAMLError, RecursionError) as error:
        _log.info("ignoring the front matter of %s: %s", uri, error)
        return {}
    if not isinstance(values, Mapping):
        return {}
    # Only strings and lists of strings: aliases can make nested values as large as one likes.
    lists = {key: value if isinstance(value, list) else [value] for key, value in values.items()}
    return flat_metadata(
        {
            str(key): ", ".join(value)
            for key, value in lists.items()
            if all(isinstance(item, str) for item in value)
        }
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
