"""Pictures that a model may describe: their descriptions and their recognised text.

A loader knows no model. It asks for the description of each picture; if some are unknown, the
document is loaded again once a model was asked. The second load may happen in another process, so
the recognised text of the pictures, which takes seconds a page, is handed to it too.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

MOST_LINES = 50_000
"""Lines of the pages that are kept for a document: about 6 MB. Further pages are recognised again.
"""


class RecognisedLine(NamedTuple):
    """A line of text and its corners, as pixels of the picture from the upper left.

    ``slope`` is that of its upper edge: 0 for a level line, positive if it falls to the right.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    slope: float = 0.0

    @property
    def width(self) -> float:
        """The width in pixels."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """The height of its characters in pixels, not of its slanted box."""
        return max(1.0, self.bottom - self.top - abs(self.slope) * self.width)

    @property
    def middle(self) -> float:
        """The height of its centre on the page."""
        return (self.top + self.bottom) / 2


class RecognisedPage(NamedTuple):
    """The lines of a picture of ``width`` by ``height`` pixels, in no order.

    To read it, the picture was turned to the left by ``turns`` right angles.
    """

    lines: tuple[RecognisedLine, ...]
    width: int
    height: int
    turns: int = 0

    @property
    def characters(self) -> int:
        """The number of characters of all lines."""
        return sum(len(line.text) for line in self.lines)


class RecognisedPages:
    """Pages by the hash of their pixels; ``packed`` are those of an earlier load."""

    def __init__(self, packed: bytes = b"") -> None:
        self._pages: dict[bytes, RecognisedPage] = {}
        if packed:
            self._pages = pickle.loads(packed)  # noqa: S301  from a worker of this run
        self._lines = sum(len(page.lines) for page in self._pages.values())

    def get(self, key: bytes) -> RecognisedPage | None:
        """Return a page, None if it is not kept."""
        return self._pages.get(key)

    def add(self, key: bytes, page: RecognisedPage) -> None:
        """Keep a page, if there is room for its lines."""
        if self._lines + len(page.lines) <= MOST_LINES:
            self._pages[key] = page
            self._lines += len(page.lines)

    def pack(self) -> bytes:
        """Return the pages as bytes, which a process passes on without unpickling them."""
        return pickle.dumps(self._pages, protocol=5)


@dataclass(frozen=True, slots=True)
class DescribablePicture:
    """A picture as a model gets it, and the ``context`` that precedes it in its document.

    Equal pictures in equal contexts have the same ``key``. Sizes are in pixels.
    """

    key: str
    data: bytes = field(repr=False)
    media_type: str
    width: int
    height: int
    context: str


@dataclass(frozen=True, slots=True)
class KnownPictures:
    """Descriptions and recognised text of a document's pictures, before it is loaded.

    ``descriptions`` are by key, empty for a picture that is not to be described. ``recognised`` are
    packed `RecognisedPages`.
    """

    descriptions: Mapping[str, str] = field(default_factory=dict)
    recognised: bytes = field(default=b"", repr=False)

    def with_descriptions(self, descriptions: Mapping[str, str]) -> KnownPictures:
        """Return the same with further descriptions."""
        return replace(self, descriptions={**self.descriptions, **descriptions})


class UndescribedPictures(Exception):
    """A document has pictures that a model may describe; ``pictures`` are in their order.

    ``known`` is for the next load.
    """

    def __init__(self, pictures: tuple[DescribablePicture, ...], known: KnownPictures) -> None:
        super().__init__(pictures, known)
        self.pictures = pictures
        self.known = known


class PictureDescriptions:
    """The descriptions of the pictures of a document, and the pictures that have none yet.

    ``recognised`` is the text of its pictures as far as it is known.
    """

    def __init__(self, known: KnownPictures) -> None:
        self.recognised = RecognisedPages(known.recognised)
        self._known = known
        self._missing: dict[str, DescribablePicture] = {}

    def of(self, picture: DescribablePicture) -> str:
        """Return the description of a picture, "" if it has none or none is known yet."""
        descriptions = self._known.descriptions
        if picture.key not in descriptions:
            self._missing[picture.key] = picture
        return descriptions.get(picture.key, "")

    def check(self) -> None:
        """Raise UndescribedPictures if a description is not known."""
        if self._missing:
            known = replace(self._known, recognised=self.recognised.pack())
            raise UndescribedPictures(tuple(self._missing.values()), known)
