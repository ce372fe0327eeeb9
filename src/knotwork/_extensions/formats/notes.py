"""Load notes that Evernote has exported: each is a section, with what is attached to it."""

from __future__ import annotations

import base64
import binascii
import io
import re
from typing import Any

from knotwork._extensions.formats.html import add_html
from knotwork._extensions.formats.mail import add_attachment
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.loader import Content, FormatLoader, Source, broken_file_error
from knotwork._indexing.loaders.titles_and_captions import readable_name

_DONE = re.compile(r"<en-todo\b(?=[^<>]*\bchecked=[\"']true)[^<>]*>")
_OPEN = re.compile(r"<en-todo\b[^<>]*>")
_SEALED = re.compile(r"<en-crypt\b[^<>]*>[^<]*</en-crypt>")
_DAY = re.compile(r"(\d{4})(\d\d)(\d\d)T\d{6}Z?")


class NotesLoader(FormatLoader, name="enex"):
    """Reads .enex."""

    def load(self, source: Source) -> Content:
        from lxml import etree

        writer = BlockWriter(source)
        count = 0
        # Entities are not resolved; a file may hold a picture of any size.
        events = etree.iterparse(
            io.BytesIO(source.data), tag="note", huge_tree=True, resolve_entities=False,
            no_network=True, load_dtd=False,
        )  # fmt: skip
        for _, note in events:
            _add_note(writer, source, note)
            note.clear()
            count += 1
        if not count:
            raise broken_file_error(source, "it has no notes")
        title = readable_name(source.name) if count > 1 else ""
        return writer.content("application/enex+xml", title=title)


def _add_note(writer: BlockWriter, source: Source, note: Any) -> None:  # noqa: ANN401
    writer.heading(1, note.findtext("title") or "Note")
    created = _DAY.sub(r"\1-\2-\3", note.findtext("created") or "")
    tags = ", ".join(tag.text for tag in note.findall("tag") if tag.text)
    author, page = (note.findtext(f"note-attributes/{n}") for n in ("author", "source-url"))
    fields = {"Created": created, "Author": author, "Tags": tags, "Web page": page}
    for name, value in fields.items():
        if value:
            writer.paragraph(f"{name}: {value}", term=name)
    text = _OPEN.sub("[ ] ", _DONE.sub("[x] ", note.findtext("content") or ""))
    text, sealed = _SEALED.subn("", text)
    if sealed:
        source.left_out["encrypted text"] += sealed
    with writer.subsections():
        add_html(writer, text)
        for held in note.findall("resource"):
            kind = held.findtext("mime") or ""
            name = held.findtext("resource-attributes/file-name") or kind.rpartition("/")[2]
            try:
                data = base64.b64decode(held.findtext("data") or "")
            except binascii.Error:
                source.left_out["attachment"] += 1
                continue
            add_attachment(writer, source, name, kind, data)
