"""Open ZIP-based files safely, with limits on the number and uncompressed size of members."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

from knotwork._indexing.loaders.loader import Source, broken_file_error, format_size
from knotwork.errors import LoadError

ZIP_SIGNATURE = b"PK\x03\x04"
OLE_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
MAX_MEMBERS = 50_000
MEDIA_FACTOR = 4
"""All members together, images included, may be this many times as large as the text limit."""
_MARKUP = (".xml", ".rels", ".html", ".xhtml", ".htm", ".opf", ".ncx", ".vml")


@contextmanager
def open_archive(source: Source) -> Iterator[zipfile.ZipFile]:
    """Open a ZIP archive after checking its directory.

    Checking the declared sizes is enough, because `zipfile` never reads past them.

    Raises LoadError if the archive is encrypted ("password"), too large when decompressed
    ("too_large"), in the binary Office format ("unsupported") or not a ZIP archive ("broken").
    """
    if source.data.startswith(OLE_SIGNATURE):
        # Word, PowerPoint and Excel wrap encrypted files in the container of the old format.
        if "EncryptedPackage".encode("utf-16-le") in source.data:
            raise encrypted_file_error(source)
        raise LoadError(
            "unsupported",
            f"`{source.uri}` is in the binary Office format used before 2007.",
            fix="Save it as .docx, .pptx or .xlsx.",
        )
    try:
        archive = zipfile.ZipFile(io.BytesIO(source.data))
    except zipfile.BadZipFile as error:
        raise broken_file_error(source, f"not a whole ZIP archive ({error})") from error
    with archive:
        members = archive.infolist()
        if any(member.flag_bits & 1 for member in members):
            raise encrypted_file_error(source)
        total = sum(member.file_size for member in members)
        markup = sum(m.file_size for m in members if m.filename.lower().endswith(_MARKUP))
        if (
            len(members) > MAX_MEMBERS
            or markup > source.max_bytes
            or total > MEDIA_FACTOR * source.max_bytes
        ):
            raise LoadError(
                "too_large",
                f"`{source.uri}` decompresses to {format_size(total)} in {len(members):,} "
                f"members; the limit is {format_size(source.max_bytes)} of text and "
                f"{MAX_MEMBERS:,} members.",
                fix="Raise `index.max_file_mb` if you trust the file.",
            )
        yield archive


def check_archive(source: Source) -> None:
    """Raise LoadError if `open_archive` refuses the file."""
    with open_archive(source):
        pass


def encrypted_file_error(source: Source) -> LoadError:
    """Return the error for an encrypted file."""
    return LoadError(
        "password",
        f"`{source.uri}` is password-protected.",
        fix="Save a copy without the password.",
    )
