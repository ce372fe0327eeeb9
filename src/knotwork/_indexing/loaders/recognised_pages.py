"""The recognised text of pictures, kept from one load of a document to the next."""

from __future__ import annotations

import pickle
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
