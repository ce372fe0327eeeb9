"""Say what is missing in the text of a document that was read in part.

A loader leaves what it could not read in the metadata of the document. The report of a run and
`knotwork documents` say it.
"""

from __future__ import annotations

from collections.abc import Mapping

from knotwork._indexing.loaders.pdf_pictures import UNREAD_PAGES, unread_note
from knotwork._indexing.loaders.pictures import UNREAD_PICTURES, unread_pictures_note
from knotwork._indexing.loaders.sound import cut_off_note

UNREAD_PARTS = "unread"
"""The key of the metadata that says which parts are not in the text, as in "2 charts, 1 shape"."""
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
    notes = [cut_off_note(uri, metadata)]
    if pages := metadata.get(UNREAD_PAGES):
        notes.append(unread_note(uri, pages))
    if parts := metadata.get(UNREAD_PARTS):
        advice = [text for kind, text in _ADVICE.items() if kind in parts]
        notes.append(" ".join([f"`{uri}` has parts that were not read: {parts}.", *advice]))
    return [note for note in notes if note]


def unread_pictures(metadata: Mapping[str, str]) -> list[int]:
    """Return the number of pictures that were not read in a document, if there are any."""
    return [int(metadata[UNREAD_PICTURES])] if UNREAD_PICTURES in metadata else []


def document_notes(uri: str, metadata: Mapping[str, str]) -> list[str]:
    """Return everything that is said of one document that was read in part."""
    notes = [*unread_notes(uri, metadata), unread_pictures_note(unread_pictures(metadata))]
    return [note for note in notes if note]
