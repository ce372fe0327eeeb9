"""Load pictures (PNG, JPEG, TIFF, WebP) as the text that is recognised in them."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from knotwork._cancellation import checked
from knotwork._indexing.loaders.loader import (
    FORMATS,
    Content,
    Source,
    TextBuilder,
    broken_file_error,
)
from knotwork._indexing.loaders.page_layout import add_page
from knotwork._indexing.loaders.recognition import (
    MAX_PIXELS,
    is_available,
    missing_extra_error,
    recognise,
)
from knotwork.errors import LoadError

if TYPE_CHECKING:
    from PIL.Image import Image

_FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "MPO")
_MEDIA_TYPES = {"MPO": "image/jpeg"}
_LEAST_PIXELS = 16
"""Smaller pictures have no text, and the models fail on them."""

MAX_FRAMES = 2_000
"""Pages of a TIFF, or pictures of a moving one."""


class PictureLoader:
    """Recognises the text of a picture, or of each page of a TIFF."""

    name = "picture"
    suffixes, signatures = FORMATS["picture"]

    def load(self, source: Source) -> Content:
        if not is_available():
            raise missing_extra_error(source)
        builder = TextBuilder(source)
        pages = 0
        media_type = ""
        for media_type, picture in checked(open_pictures(source)):  # noqa: B007 - used below
            pages += 1
            add_page(builder, recognise(picture), str(pages))
        if not builder.length:
            raise LoadError(
                "no_text",
                f"No text was recognised in `{source.uri}`.",
                fix="Leave it out with `exclude`, or scan it with more dots per inch.",
            )
        return builder.content(media_type, metadata={"pages": str(pages)} if pages > 1 else None)


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
                    _check_size(source, *opened.size)
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


def _check_size(source: Source, width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise _too_large(source, f"{width:,} by {height:,} pixels")


def _too_large(source: Source, reason: str) -> LoadError:
    return LoadError(
        "too_large",
        f"`{source.uri}` is a picture with too many pixels ({reason}); the limit is "
        f"{MAX_PIXELS:,}.",
        fix="Save it with fewer dots per inch.",
    )
