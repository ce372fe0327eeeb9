"""Say what is missing in the text of a document that was read in part.

A loader leaves what it could not read in the metadata of the document. The report of a run and
`knotwork documents` say it. No loader is imported for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from knotwork._indexing.loaders.recognition import INSTALL, is_available

UNREAD_PARTS = "unread"
"""The key of the metadata that says which parts are not in the text, as in "2 charts, 1 shape"."""
UNREAD_PAGES = "pages_without_text"
"""The key of the metadata that says which pages are pictures that were not read."""
UNREAD_PICTURES = "pictures_without_text"
"""The key of the metadata that says how many pictures were not read."""
MOST_PICTURES = 200
"""Pictures of a document that are read."""
DURATION, DECLARED = "duration", "declared_duration"
"""Keys of the metadata: where the sound of a recording ends, and where it should end if that is
much later."""
_ADVICE = {
    "uncalculated formula": "Open the workbook in a spreadsheet program and save it.",
    "hidden sheet": "Unhide sheets that should be read.",
}


def unread_parts(counts: Mapping[str, int]) -> dict[str, str]:
    """Return the metadata of a document, given how many parts of each kind are not in its text.

    A kind is a noun in the singular that takes an "s", such as "chart". Returns {} without any.
    """
    held = [f"{n:,} {kind}{'s' * (n > 1)}" for kind, n in counts.items() if n]
    return {UNREAD_PARTS: ", ".join(held)} if held else {}


def unread_notes(uri: str, metadata: Mapping[str, str]) -> list[str]:
    """Return what a report says of a document that was read in part, but for its pictures."""
    notes = []
    if DECLARED in metadata:
        notes.append(
            f"`{uri}` was read up to {metadata[DURATION]}, but its length should be "
            f"{metadata[DECLARED]}. It was cut off or is damaged."
        )
    if pages := metadata.get(UNREAD_PAGES):
        missing = f"Install text recognition with: {INSTALL}"
        advice = "They could not be rendered." if is_available() else missing
        notes.append(
            f"`{uri}` has scanned or garbled pages whose text was not read: {pages}. {advice}"
        )
    if parts := metadata.get(UNREAD_PARTS):
        about = [text for kind, text in _ADVICE.items() if kind in parts]
        notes.append(" ".join([f"`{uri}` has parts that were not read: {parts}.", *about]))
    return notes


def unread_pictures(metadata: Mapping[str, str]) -> list[int]:
    """Return the number of pictures that were not read in a document, if there are any."""
    return [int(metadata[UNREAD_PICTURES])] if UNREAD_PICTURES in metadata else []


def unread_pictures_note(unread: Sequence[int]) -> str:
    """Return the note of a report on the numbers of pictures that documents have unread, or ""."""
    pictures, documents = sum(unread), len(unread)
    if not documents:
        return ""
    held = "1 picture" if pictures == 1 else f"{pictures:,} pictures"
    where = "a document" if documents == 1 else f"{documents:,} documents"
    verb = "was" if pictures == 1 else "were"
    limit = f": {MOST_PICTURES} are, of each."
    why = limit if is_available() else f". Install text recognition with: {INSTALL}"
    return f"The text of {held} in {where} {verb} not read{why}"


def document_notes(uri: str, metadata: Mapping[str, str]) -> list[str]:
    """Return everything that is said of one document that was read in part."""
    notes = [*unread_notes(uri, metadata), unread_pictures_note(unread_pictures(metadata))]
    return [note for note in notes if note]
