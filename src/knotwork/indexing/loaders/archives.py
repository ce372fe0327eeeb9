"""Open ZIP-based files safely: limit the number and the uncompressed size of their members."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

from knotwork.errors import LoadError
from knotwork.indexing.loaders.loader import Source, broken_file_error, format_size

ZIP_SIGNATURE = b"PK\x03\x04"
OLE_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
MOST_MEMBERS = 50_000
MEDIA_FACTOR = 4
"""Pictures and the like may unfold to this many times what text may."""
_MARKUP = (".xml", ".rels", ".html", ".xhtml", ".htm", ".opf", ".ncx", ".vml")


@contextmanager
def open_archive(source: Source) -> Iterator[zipfile.ZipFile]:
    """Open a ZIP archive that is safe to read.

    The sizes it declares bound what is read, for `zipfile` never reads past them.

    Raises LoadError when it is encrypted ("password"), unfolds to too much ("too_large") or is no
    archive ("broken").
    """
    if source.data.startswith(OLE_SIGNATURE):
        raise _old_or_encrypted(source)
    try:
        archive = zipfile.ZipFile(io.BytesIO(source.data))
    except zipfile.BadZipFile as error:
        raise broken_file_error(source, f"it is not a whole ZIP archive ({error})") from error
    with archive:
        members = archive.infolist()
        if any(member.flag_bits & 1 for member in members):
            raise encrypted_file_error(source)
        total = sum(member.file_size for member in members)
        markup = sum(m.file_size for m in members if m.filename.lower().endswith(_MARKUP))
        if (
            len(members) > MOST_MEMBERS
            or markup > source.max_bytes
            or total > MEDIA_FACTOR * source.max_bytes
        ):
            raise LoadError(
                "too_large",
                f"`{source.uri}` unfolds to {format_size(total)} in {len(members):,} parts; "
                f"the limit is {format_size(source.max_bytes)} of text.",
                fix="Raise `index.max_file_mb` if you trust it.",
            )
        yield archive


def check_archive(source: Source) -> None:
    """Raise LoadError where `open_archive` would."""
    with open_archive(source):
        pass


def encrypted_file_error(source: Source) -> LoadError:
    """Return the error of a file that is encrypted."""
    return LoadError(
        "password",
        f"`{source.uri}` is protected by a password.",
        fix="Save a copy without the password.",
    )


def _old_or_encrypted(source: Source) -> LoadError:
    if "EncryptedPackage".encode("utf-16-le") in source.data:
        return encrypted_file_error(source)
    return LoadError(
        "unsupported",
        f"`{source.uri}` is in the binary Office format of before 2007.",
        fix="Save it as .docx, .pptx or .xlsx.",
    )
