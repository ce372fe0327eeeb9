"""Pictures that a model may describe, and the descriptions that a document is loaded with.

A loader knows no model. It asks for the description of each picture; if some are unknown, the
document is loaded again once a model was asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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


class UndescribedPictures(Exception):
    """A document has pictures that a model may describe; ``pictures`` are in their order."""

    def __init__(self, pictures: tuple[DescribablePicture, ...]) -> None:
        super().__init__(pictures)
        self.pictures = pictures


class PictureDescriptions:
    """The descriptions of the pictures of a document, and the pictures that have none yet.

    ``known`` are descriptions by key, empty for a picture that is not to be described.
    """

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = known
        self._missing: dict[str, DescribablePicture] = {}

    def of(self, picture: DescribablePicture) -> str:
        """Return the description of a picture, "" if it has none or none is known yet."""
        if picture.key not in self._known:
            self._missing[picture.key] = picture
        return self._known.get(picture.key, "")

    def check(self) -> None:
        """Raise UndescribedPictures if a description is not known."""
        if self._missing:
            raise UndescribedPictures(tuple(self._missing.values()))
