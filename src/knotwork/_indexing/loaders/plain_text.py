"""Load plain text, logs and reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterator

from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.loader import FORMATS, Content, Source
from knotwork._indexing.loaders.markdown import read_front_matter
from knotwork._indexing.loaders.text_blocks import add_plain_text, add_text

_MARKUP = re.compile(
    r"``(?P<code>[^`\n]+)``"
    r"|(?::[\w:.+-]{1,60}:)?`~?(?P<text>[^`<\n]{1,200}?)\s*(?:<[^`>\n]*>)?`_{0,2}"
    r"|\*\*(?P<bold>[^*\n]+)\*\*"
)
"""Literals, references and bold words of reStructuredText."""
_UNSEEN = re.compile(
    r"\s*\.\. (?:_[^:\n]+:|\|[^|\n]+\|\s|(?:image|index|contents|toctree|highlight)::)"
)
_ADMONITION = re.compile(r"(\s*)\.\. (?!code|sourcecode|math)[\w-]+::\s*")


class TextLoader:
    """Reads text in any encoding: its blocks, or the lines of a log."""

    name = "text"
    suffixes, signatures = FORMATS["text"]

    def load(self, source: Source) -> Content:
        text = decode_text(source)
        writer = BlockWriter(source)
        if source.suffix == ".rst":
            add_plain_text(writer, "\n".join(_without_markup(text)))
            return writer.content("text/x-rst")
        if source.suffix == ".log":
            writer.paragraph(text)
            return writer.content("text/plain")
        text, metadata = read_front_matter(text, uri=source.uri)
        add_text(writer, text)
        return writer.content("text/plain", title=metadata.pop("title", ""), metadata=metadata)


def _without_markup(text: str) -> Iterator[str]:
    """Yield the lines of reStructuredText without inline markup, which code keeps."""
    code_indent = -1  # of the line above code
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        if code_indent >= 0 and (indent > code_indent or not line.strip()):
            yield line
            continue
        shown = "" if _UNSEEN.match(line) else _ADMONITION.sub(r"\1", line)
        yield _MARKUP.sub(lambda found: found[found.lastgroup or 0], shown)
        is_above = shown.rstrip().endswith("::") or shown.lstrip().startswith(".. ")
        code_indent = indent if is_above else -1
