"""Pictures that a model may describe, and the descriptions that a document is loaded with.

A loader knows no model. It asks for the description of each picture; if some are unknown, the
document is loaded again once a model was asked. The second load may happen in another process, so
the recognised text of the pictures, which takes seconds a page, is handed to it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from knotwork._indexing.loaders.recognised_pages import RecognisedPages


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
