"""Read the files that are attached to a mail or a note, as sections of it."""

from __future__ import annotations

import re
from mimetypes import guess_type

from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.loader import ZIP_SIGNATURE, Source, archive_names, open_archive

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
    members: dict[str, bytes] = {}
    content = None
    try:
        if inner.depth <= DEEPEST and not _SEALED.search(kind):
            members = _members(inner)
            content = None if members else load_content(inner)
    except Exception:  # noqa: BLE001, S110 - damaged bytes raise any; the file is counted
        pass
    if content is None and not members:
        source.left_out["picture" if is_picture else "attachment"] += 1
        return
    writer.heading(1, name)
    with writer.subsections():
        for member, held in members.items():
            add_attachment(writer, inner, member, guess_type(member)[0] or "", held)
        if content is not None:
            writer.include(content)
    source.left_out.update(inner.left_out)


def _members(source: Source) -> dict[str, bytes]:
    """Return the files of an archive by name; none of a document, or if they are too large."""
    from knotwork._indexing.loaders.loader_registry import is_document_archive

    if not source.data.startswith(ZIP_SIGNATURE) or is_document_archive(archive_names(source)):
        return {}
    with open_archive(source) as archive:
        held = [member for member in archive.infolist() if not member.is_dir()]
        is_small = sum(member.file_size for member in held) <= source.max_bytes
        return {member.filename: archive.read(member) for member in held} if is_small else {}
