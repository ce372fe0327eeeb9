"""Read the pictures that stand in documents: their text, and what a model says that they show."""

from __future__ import annotations

import hashlib
from contextlib import nullcontext
from typing import TYPE_CHECKING, NamedTuple

from knotwork._indexing.loaders.blocks import BlockWriter, OpenBlock
from knotwork._indexing.loaders.loader import Source
from knotwork._indexing.loaders.page_layout import Placement, add_picture
from knotwork._indexing.loaders.pictures import (
    ShownPicture,
    add_description,
    open_pictures,
    shown_to_model,
)
from knotwork._indexing.loaders.recognised_pages import RecognisedPage
from knotwork._indexing.loaders.recognition import EXTRA, is_available, recognise
from knotwork._text.languages import detect_language
from knotwork.errors import LoadError
from knotwork.records import BlockKind, BoxedSpan

if TYPE_CHECKING:
    from PIL.Image import Image

UNREAD_PICTURES = "pictures_without_text"
"""The key of the metadata that says how many pictures were not read."""

LEAST_BYTES = 4_000
LEAST_PIXELS = 40_000
"""Smaller pictures are icons and logos: 200 by 200 pixels."""

MOST_PICTURES = 200
"""Pictures of a document that are read."""

_FEWEST_CHARACTERS = 8
"""A picture with less text has none that a question could be about."""
_LABELS = {"en": "Text in a picture", "zh": "图中文字"}


class ReadPicture(NamedTuple):
    """A picture with the text in it, and as a model gets it."""

    page: RecognisedPage
    shown: ShownPicture | None

    @property
    def has_text(self) -> bool:
        """True if it has text that a question could be about."""
        return self.page.characters >= _FEWEST_CHARACTERS


def read_picture(source: Source, picture: Image) -> ReadPicture:
    """Recognise the text of a picture in a document. Raises Cancelled."""
    page = recognise(picture, may_be_turned=False, known=source.recognised)
    return ReadPicture(page, shown_to_model(source, picture, page))


def add_read_picture(
    writer: BlockWriter,
    source: Source,
    read: ReadPicture,
    *,
    place: Placement | None = None,
    caption: str = "",
    figure: OpenBlock | None = None,
) -> None:
    """Append the text and the description of a picture, with boxes if its ``place`` is known.

    They are put into ``figure``, or into a block of their own.
    """
    label = caption
    if read.has_text and not label:
        said = " ".join(line.text for line in read.page.lines)
        label = _LABELS.get(detect_language(said), _LABELS["en"])
    with nullcontext(figure) if figure else writer.block(BlockKind.FIGURE, label) as shown_in:
        if read.has_text:
            add_picture(writer, read.page, place=place)
        described = add_description(writer, source, read.shown, shown_in)
    if described is not None and place is not None:
        writer.boxes.append(BoxedSpan(described, *place))


class EmbeddedPictures:
    """The pictures of one document, whose text and descriptions are appended where they stand.

    A picture that is there several times is read once. Without the extra, pictures are counted.
    """

    def __init__(self, writer: BlockWriter, source: Source) -> None:
        self._writer = writer
        self._source = source
        self._seen: set[bytes] = set()
        self._read = 0
        self._unread = 0

    def add(self, data: bytes, figure: OpenBlock | None = None) -> None:
        """Append what is read of a picture, if anything; a broken picture has nothing.

        Raises Cancelled.
        """
        digest = hashlib.sha256(data).digest()
        if len(data) < LEAST_BYTES or digest in self._seen:
            return
        self._seen.add(digest)
        if not is_available() or self._read >= MOST_PICTURES:
            self._unread += 1
            return
        try:
            for _, picture in open_pictures(Source(self._source.uri, data)):
                if picture.width * picture.height >= LEAST_PIXELS:
                    self._read += 1
                    read = read_picture(self._source, picture)
                    add_read_picture(self._writer, self._source, read, figure=figure)
        except LoadError:
            return

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of a document with pictures that were not read."""
        return {UNREAD_PICTURES: str(self._unread)} if self._unread else {}


def unread_pictures_note(pictures: int, documents: int) -> str:
    """Return the note of a report on pictures that were not read."""
    held = "1 picture" if pictures == 1 else f"{pictures:,} pictures"
    where = "a document" if documents == 1 else f"{documents:,} documents"
    verb = "was" if pictures == 1 else "were"
    if is_available():
        return f"The text of {held} in {where} {verb} not read: {MOST_PICTURES} are, of each."
    return (
        f"The text of {held} in {where} {verb} not read. Install text recognition with: "
        f"pip install 'knotwork[{EXTRA}]', then index with `--retry`."
    )
