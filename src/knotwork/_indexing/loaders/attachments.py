"""Read the files that are attached to a mail or a note, as sections of it."""

from __future__ import annotations

import re

from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.loader import Source
from knotwork.errors import LoadError

DEEPEST = 3
"""Attachments of attachments are read to this depth, as archives are."""
_SEALED = re.compile("pkcs7|ms-tnef")
_FEWEST_BYTES = 4_000
"""Smaller pictures are marks and icons."""


def add_attachment(writer: BlockWriter, source: Source, name: str, kind: str, data: bytes) -> None:
    """Append the text of an attached file below its name, or count it as not read.

    ``kind`` is its media type. Small pictures are ignored.
    """
    from knotwork._indexing.loaders.loader_registry import load_content

    is_picture = kind.startswith("image/")
    if not data.strip() or (is_picture and len(data) < _FEWEST_BYTES):
        return
    inner = Source(
        f"{source.uri}/{name.replace('/', '_')}",
        data,
        max_bytes=source.max_bytes,
        max_characters=source.max_characters,
        audio_model=source.audio_model,
        depth=source.depth + 1,
    )
    try:
        is_read = inner.depth <= DEEPEST and not _SEALED.search(kind)
        content = load_content(inner) if is_read else None
    except LoadError:
        content = None
    if content is None:
        source.left_out["picture" if is_picture else "attachment"] += 1
        return
    source.left_out.update(inner.left_out)
    writer.heading(1, name)
    with writer.subsections():
        writer.include(content)
