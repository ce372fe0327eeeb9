"""Load plain text, logs and reStructuredText."""

from __future__ import annotations

from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.loader import FORMATS, Content, Source
from knotwork._indexing.loaders.markdown import read_front_matter
from knotwork._indexing.loaders.text_blocks import add_plain_text, add_text


class TextLoader:
    """Reads text in any encoding: its blocks, or the lines of a log."""

    name = "text"
    suffixes, signatures = FORMATS["text"]

    def load(self, source: Source) -> Content:
        text = decode_text(source)
        writer = BlockWriter(source)
        if source.suffix == ".rst":
            add_plain_text(writer, text)
            return writer.content("text/x-rst")
        if source.suffix == ".log":
            writer.paragraph(text)
            return writer.content("text/plain")
        text, metadata = read_front_matter(text, uri=source.uri)
        add_text(writer, text)
        return writer.content("text/plain", title=metadata.pop("title", ""), metadata=metadata)
