"""Load plain text, logs and reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterator

from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.loader import Content, FormatLoader, Source
from knotwork._indexing.loaders.markdown import add_markdown, read_front_matter
from knotwork._indexing.loaders.text_blocks import CODE_DIRECTIVES, add_plain_text, add_text
from knotwork._registry import PARTS

_IS_ORG = re.compile(r"^(?:\*{2,6} \S|#\+(?i:title|begin_src|begin_example):?\s)", re.MULTILINE)
_MARKUP = re.compile(
    r"``(?P<code>[^`\n]+)``"
    r"|(?::[\w:.+-]{1,60}:)?`~?(?P<text>[^`<\n]{1,200}?)\s*(?:<[^`>\n]*>)?`_{0,2}"
    r"|\*\*(?P<bold>[^*\n]+)\*\*|(?<![\w*\\])\*(?P<emphasis>[^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])"
)
"""Literals, references, bold and emphasized words of reStructuredText."""
_UNSEEN = re.compile(
    r"\s*\.\. (?:_[^:\n]+:|(?:image|index|contents|toctree|highlight|meta|default-role"
    r"|literalinclude|include|plot|raw|currentmodule|testsetup|testcleanup)::"
    r"|(?![\w:.+-]+::|[\[|_])\S)|\s*\.\.$"
)
"""Targets, comments, and directives that show no text."""
_SUBSTITUTION = re.compile(r"\s*\.\. \|[^|\n]+\|\s")
_FIELD = re.compile(r"(\s*):(?!\s)([^:`\n]{1,60}):\s+(?=\S)")
_AUTO_NUMBER = re.compile(r"(\s*)#\. (?=\S)")
_LITERAL = re.compile(rf"(?!\s*\.\. ).*::\s*$|\s*\.\. (?:{'|'.join(CODE_DIRECTIVES)})::")
"""What is above code, whose markup stays."""


class TextLoader(FormatLoader, name="text"):
    """Reads text in any encoding: its blocks, or the lines of a log."""

    def load(self, source: Source) -> Content:
        text = decode_text(source)
        writer = BlockWriter(source)
        if source.suffix == ".rst":
            add_plain_text(writer, "\n".join(_without_markup(text)), has_directives=True)
            return writer.content("text/x-rst")
        if source.suffix == ".log":
            writer.paragraph(text)
            return writer.content("text/plain")
        text, metadata = read_front_matter(text, uri=source.uri)
        if len(_IS_ORG.findall(text)) > 1:
            add_markdown(writer, "\n".join(PARTS.load("org_as_markdown")(text)))
        else:
            add_text(writer, text)
        return writer.content("text/plain", title=metadata.pop("title", ""), metadata=metadata)


def _without_markup(text: str) -> Iterator[str]:
    """Yield the lines of reStructuredText without inline markup, which code keeps."""
    code = hidden = -1  # the indent of the line above code, or above what is not shown
    numbers: dict[str, int] = {}
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        code = code if indent > code or not line.strip() else -1
        hidden = hidden if indent > hidden or not line.strip() else -1
        if code >= 0 or hidden >= 0:
            yield line if hidden < 0 else ""
            continue
        if _UNSEEN.match(line) or _SUBSTITUTION.match(line):
            hidden = indent
            yield ""
            continue
        shown = _FIELD.sub(r"\1\2: ", line)
        if number := _AUTO_NUMBER.match(line):
            numbers[number[1]] = numbers.get(number[1], 0) + 1
            shown = f"{number[1]}{numbers[number[1]]}. {line[number.end() :]}"
        elif line.strip():
            numbers = {key: n for key, n in numbers.items() if len(key) < indent}
        if _LITERAL.match(line):
            code = indent
        yield _MARKUP.sub(lambda found: found[found.lastgroup or 0], shown)
