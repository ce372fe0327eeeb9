"""Load pictures (PNG, JPEG, TIFF, WebP), and read those that stand in documents.

Their text is recognised, and a model may say what they show.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from knotwork._cancellation import checked
from knotwork._extensions.media.text_recognition import (
    MAX_PIXELS,
    RecognisedPage,
    flattened,
    missing_extra_error,
    recognise,
    shrunk,
)
from knotwork._extensions.pdf.page_layout import Placement, add_page
from knotwork._indexing.loaders.blocks import BlockWriter, OpenBlock
from knotwork._indexing.loaders.loader import (
    MOST_PICTURES,
    UNREAD_PICTURES,
    Content,
    DescribablePicture,
    FormatLoader,
    Source,
    broken_file_error,
    can_recognise,
    unrecognised_error,
)
from knotwork._run import report_share
from knotwork._text.languages import detect_language
from knotwork.errors import LoadError
from knotwork.records import BlockKind, BoxedSpan, Span, content_id

if TYPE_CHECKING:
    from PIL.Image import Image

_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "MPO")
_MEDIA_TYPES = {"MPO": "image/jpeg"}
_LEAST_PIXELS = 16
"""Smaller pictures have no text, and the models fail on them."""

MAX_FRAMES = 2_000
"""Pages of a TIFF, or pictures of a moving one."""

DESCRIBED_SIDE = 1_024
"""Pixels of the longer side of a picture that a model gets: the text of a figure can be read."""

_MOST_CHARACTERS = 800
"""A picture with more text is a page of text, which is not described."""
_CONTEXT = 400
"""Characters of the document before a picture that a model gets with it."""


class PictureLoader(FormatLoader, name="picture"):
    """Recognises the text of a picture, or of each page of a TIFF, and has pictures described."""

    def load(self, source: Source) -> Content:
        if not can_recognise():
            raise missing_extra_error(source)
        writer = BlockWriter(source)
        pages = 0
        media_type = ""
        for media_type, picture in checked(open_pictures(source)):  # noqa: B007 - used below
            pages += 1
            report_share(pages - 1, getattr(picture, "n_frames", 1))
            page = recognise(picture)
            add_page(writer, page, pages - 1)
            with writer.block(BlockKind.FIGURE):
                add_description(writer, source, shown_to_model(source, picture, page))
        if not writer.length:
            raise unrecognised_error(source.uri)
        return writer.content(media_type, metadata={"pages": str(pages)} if pages > 1 else None)


def shown_to_model(
    source: Source, picture: Image, recognised: RecognisedPage
) -> DescribablePicture | None:
    """Return a picture for a model; None if no model describes it.

    A picture that is ``recognised`` as a page of text is not described.
    """
    if not source.describes or recognised.characters > _MOST_CHARACTERS:
        return None
    seen = flattened(shrunk(picture, DESCRIBED_SIDE))
    file = io.BytesIO()
    seen.save(file, "JPEG", quality=85)
    # Of the pixels, since another release of the library may write other bytes.
    digest = hashlib.blake2b(seen.tobytes(), digest_size=16).hexdigest()
    return DescribablePicture(digest, file.getvalue(), "image/jpeg", *seen.size)


def add_description(
    writer: BlockWriter, source: Source, shown: DescribablePicture | None
) -> Span | None:
    """Append the placeholder of what a model will say that a picture shows, and return where."""
    if shown is None:
        return None
    context = writer.before(_CONTEXT) or source.name
    key = content_id("picture", shown.key, context)
    place = writer.placeholder()
    writer.pictures.append(replace(shown, key=key, context=context, place=place))
    return place


def open_pictures(source: Source) -> Iterator[tuple[str, Image]]:
    """Yield the media type and each page of a file, upright.

    Raises LoadError ("broken", "too_large").
    """
    from PIL import Image as Images
    from PIL import ImageOps, UnidentifiedImageError

    with warnings.catch_warnings():
        # Its own limit is lower than what a scanner makes, and ours is checked below.
        warnings.simplefilter("ignore", Images.DecompressionBombWarning)
        try:
            with Images.open(io.BytesIO(source.data), formats=_FORMATS) as opened:
                kind = str(opened.format)
                media_type = _MEDIA_TYPES.get(kind, f"image/{kind.lower()}")
                count = getattr(opened, "n_frames", 1) if kind == "TIFF" else 1
                if count > MAX_FRAMES:
                    raise LoadError(
                        "too_large",
                        f"`{source.uri}` has {count:,} pages; the limit is {MAX_FRAMES:,}.",
                        fix="Split it.",
                    )
                for number in range(count):
                    opened.seek(number)
                    width, height = opened.size
                    if width * height > MAX_PIXELS:
                        raise _too_large(source, f"{width:,} by {height:,} pixels")
                    opened.load()
                    if min(opened.size) >= _LEAST_PIXELS:
                        ImageOps.exif_transpose(opened, in_place=True)
                        yield media_type, opened
        except Images.DecompressionBombError as error:
            raise _too_large(source, str(error)) from error
        except UnidentifiedImageError as error:
            raise broken_file_error(source, "it is no picture that can be read") from error
        except (OSError, EOFError, SyntaxError, ValueError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise broken_file_error(source, reason) from error


def _too_large(source: Source, reason: str) -> LoadError:
    return LoadError(
        "too_large",
        f"`{source.uri}` is a picture with too many pixels ({reason}); the limit is "
        f"{MAX_PIXELS:,}.",
        fix="Save it with fewer dots per inch.",
    )


LEAST_BYTES = 4_000
LEAST_PIXELS = 40_000
"""Smaller pictures are icons and logos: 200 by 200 pixels."""

_FEWEST_CHARACTERS = 8
"""A picture with less text has none that a question could be about."""
_LABELS = {"en": "Text in a picture", "zh": "图中文字"}


class ReadPicture(NamedTuple):
    """A picture with the text in it, and as a model gets it."""

    page: RecognisedPage
    shown: DescribablePicture | None

    @property
    def has_text(self) -> bool:
        """True if it has text that a question could be about."""
        return self.page.characters >= _FEWEST_CHARACTERS


def read_picture(source: Source, picture: Image) -> ReadPicture:
    """Recognise the text of a picture in a document. Raises Cancelled."""
    page = recognise(picture, may_be_turned=False)
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
    with nullcontext(figure) if figure else writer.block(BlockKind.FIGURE, label):
        if read.has_text:
            add_page(writer, read.page, place=place)
        described = add_description(writer, source, read.shown)
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
        if not can_recognise() or self._read >= MOST_PICTURES:
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
